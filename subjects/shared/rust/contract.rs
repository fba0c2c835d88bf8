//! The client's side of `docs/SUBJECTS.md`, for every client in Rust: settings, `run` lines, the report.
//!
//! A round trip belongs to the window if it was sent in it; the window ends with its last reply. Nothing is written
//! while it is open. Start reading at [`main`]; whoever includes this file provides the connections.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub(crate) type AnyError = Box<dyn Error + Send + Sync>;
pub(crate) type Result<T, E = AnyError> = std::result::Result<T, E>;

/// The program of a client on `library`, whose version is in the text of `lock`. `prepare` gets the settings and
/// returns the function that runs a block.
pub(crate) fn main<R: FnMut(Block) -> Result<()>>(
    library: &str,
    lock: &str,
    prepare: impl FnOnce(Settings) -> Result<R>,
) -> Result<()> {
    let version = lock
        .split_once(&format!("name = \"{library}\"\nversion = \""))
        .and_then(|(_, rest)| rest.split('"').next())
        .unwrap_or("?");
    if env::args().nth(1).is_some() {
        println!("{version}");
        return Ok(());
    }
    let settings = Settings::read()?;
    let is_short_lived = settings.life.is_some();
    let mut run = prepare(settings)?;
    say(&format!("ready {library} {version}"))?;
    for line in io::stdin().lock().lines() {
        match Block::read(&line?, is_short_lived) {
            Ok(block) => run(block)?,
            Err(words) => say(&format!("unsupported {words}"))?,
        }
    }
    Ok(())
}

/// The environment that wirebench starts a client with.
pub(crate) struct Settings {
    pub(crate) url: String,
    pub(crate) connections: usize,
    /// Round trips of a connection; without it, the connection stays.
    pub(crate) life: Option<u64>,
    pub(crate) is_text: bool,
    pub(crate) payload: Vec<u8>,
    pub(crate) expect: Vec<u8>,
}

impl Settings {
    fn read() -> Result<Self> {
        let bytes = |name: &str| -> Result<Vec<u8>> {
            let path = variable(name)?;
            std::fs::read(&path).map_err(|error| format!("{path}: {error}").into())
        };
        let life = env::var("WIREBENCH_LIFE").unwrap_or_else(|_| "long".to_owned());
        Ok(Self {
            url: variable("WIREBENCH_URL")?,
            connections: variable("WIREBENCH_CONNECTIONS")?.parse()?,
            life: if life == "long" { None } else { Some(life.parse()?) },
            is_text: variable("WIREBENCH_KIND")? == "text",
            payload: bytes("WIREBENCH_PAYLOAD")?,
            expect: bytes("WIREBENCH_EXPECT")?,
        })
    }
}

/// One `run` line: how long it warms up and measures, and where it is in that.
pub(crate) struct Block {
    pub(crate) warm_up: Duration,
    length: Length,
    /// A life that has begun is followed to its end.
    followed: bool,
    /// Messages or clients that may still begin.
    left: AtomicI64,
    epoch: Instant,
    /// The instant at which the window begins; [`u64::MAX`] before that is known.
    start: AtomicU64,
}

/// The length of a block's window.
#[derive(Clone, Copy, PartialEq)]
enum Length {
    Time(u64),
    Messages,
    Clients,
}

impl Block {
    /// The words of an error name what is not supported.
    fn read(line: &str, is_short_lived: bool) -> Result<Self, String> {
        let mut warm_up = 0;
        let mut lengths = Vec::new();
        for word in line.split_whitespace().skip_while(|word| *word == "run") {
            let (key, value) = word.split_once('=').ok_or(word)?;
            let value: u64 = value.parse().map_err(|_| word)?;
            match key {
                "warm_up_ns" => warm_up = value,
                "time_ns" => lengths.push((Length::Time(value), 0)),
                "messages" => lengths.push((Length::Messages, value)),
                "clients" if is_short_lived => lengths.push((Length::Clients, value)),
                _ => return Err(key.to_owned()),
            }
        }
        let [(length, left)] = lengths[..] else {
            return Err("not exactly one of time_ns, messages and clients".to_owned());
        };
        Ok(Self {
            warm_up: Duration::from_nanos(if length == Length::Clients { 0 } else { warm_up }),
            length,
            followed: is_short_lived && length != Length::Messages,
            left: AtomicI64::new(left.try_into().map_err(|_| "so large a number")?),
            epoch: Instant::now(),
            start: AtomicU64::new(u64::MAX),
        })
    }

    /// Nanoseconds since this block was read.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Opens the window; returns the CPU time until then, for [`Self::measured`].
    pub(crate) fn measure(&self) -> Result<u64> {
        say("measuring")?;
        let cpu = cpu_ns()?;
        self.start.store(self.now(), Ordering::Release);
        Ok(cpu)
    }

    /// Says that the window is over; returns the CPU time since `cpu`.
    pub(crate) fn measured(&self, cpu: u64) -> Result<u64> {
        let cpu = cpu_ns()? - cpu;
        say("measured")?;
        Ok(cpu)
    }

    /// True if what begins at this instant belongs to the window.
    pub(crate) fn counts(&self, now: u64) -> bool {
        now >= self.start.load(Ordering::Acquire)
    }

    /// True if one more message may be sent; takes one of those that are left.
    pub(crate) fn may_send(&self, now: u64) -> bool {
        self.followed || self.goes_on(now, 1)
    }

    /// True if one more short-lived client may begin.
    pub(crate) fn may_live(&self, now: u64) -> bool {
        self.goes_on(now, i64::from(self.length != Length::Messages))
    }

    fn goes_on(&self, now: u64, taken: i64) -> bool {
        let start = self.start.load(Ordering::Acquire);
        match self.length {
            _ if now < start => true,
            Length::Time(length) => now - start < length,
            Length::Messages | Length::Clients => self.left.fetch_sub(taken, Ordering::Relaxed) > 0,
        }
    }
}

/// Times in nanoseconds, and errors by their words.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) round_trips: Vec<u64>,
    pub(crate) lives: Vec<u64>,
    pub(crate) resolves: Vec<u64>,
    pub(crate) connects: Vec<u64>,
    pub(crate) tls: Vec<u64>,
    pub(crate) handshakes: Vec<u64>,
    pub(crate) closes: Vec<u64>,
    /// The instant of the last counted reply.
    pub(crate) last: u64,
    errors: BTreeMap<String, u64>,
}

impl Seen {
    pub(crate) fn failed(&mut self, error: &AnyError) {
        let words = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        *self.errors.entry(words).or_default() += 1;
    }
}

/// Reports a block in which `all` was seen and `cpu` nanoseconds of CPU time were used.
pub(crate) fn report(block: &Block, all: &[Seen], cpu: u64) -> Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let last = all.iter().map(|seen| seen.last).max().unwrap_or(0);
    let wall = last.saturating_sub(block.start.load(Ordering::Acquire));
    let ok: usize = all.iter().map(|seen| seen.round_trips.len()).sum();
    writeln!(out, "wall_ns {wall}\ncpu_ns {cpu}\nok {ok}")?;
    let mut errors = BTreeMap::<&str, u64>::new();
    for (words, count) in all.iter().flat_map(|seen| &seen.errors) {
        *errors.entry(words).or_default() += count;
    }
    for (words, count) in errors {
        writeln!(out, "error {count} {words}")?;
    }
    for seen in all {
        for (name, times) in [
            ("round_trip_ns", &seen.round_trips),
            ("life_ns", &seen.lives),
            ("resolve_ns", &seen.resolves),
            ("connect_ns", &seen.connects),
            ("tls_ns", &seen.tls),
            ("handshake_ns", &seen.handshakes),
            ("close_ns", &seen.closes),
        ] {
            for line in times.chunks(1000) {
                write!(out, "{name}")?;
                for time in line {
                    write!(out, " {time}")?;
                }
                writeln!(out)?;
            }
        }
    }
    writeln!(out, "done")?;
    Ok(out.flush()?)
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// The CPU time of this process, user and system.
fn cpu_ns() -> io::Result<u64> {
    // SAFETY: all zeroes is a value of this struct of integers, and the kernel fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) != 0 {
            return Err(io::Error::last_os_error());
        }
        usage
    };
    let nanoseconds =
        |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Ok(nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime))
}

pub(crate) fn variable(name: &str) -> Result<String> {
    env::var(name).map_err(|error| format!("{name}: {error}").into())
}
