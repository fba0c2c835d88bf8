//! The client's side of `docs/SUBJECTS.md` for WebSocket libraries on tokio: one thread, a task for each connection.
//!
//! A block for each `run` line. A round trip is of the window if it was sent in it; the window ends with the last reply
//! that is of it. Nothing is written while it is open. Chosen: `TCP_NODELAY`. Start reading at [`main`].

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::error::Error;
use std::future::Future;
use std::io::{self, BufRead, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local};

pub(crate) type AnyError = Box<dyn Error + Send + Sync>;
type Result<T, E = AnyError> = std::result::Result<T, E>;

/// A message or a reply.
#[derive(Clone, PartialEq)]
pub(crate) struct Message {
    pub(crate) is_text: bool,
    pub(crate) payload: Bytes,
}

/// A WebSocket connection of some library.
pub(crate) trait Connection: Sized + 'static {
    /// Upgrades `stream`.
    fn upgrade(url: &str, stream: TcpStream) -> impl Future<Output = Result<Self>>;
    /// Sends `message` and gives back the reply.
    fn round_trip(&mut self, message: Message) -> impl Future<Output = Result<Message>>;
    /// Closes properly: until the other end has closed too.
    fn close(self) -> impl Future<Output = Result<()>>;
}

/// The whole program of one library, whose version the lock file has.
pub(crate) fn main<C: Connection>(library: &str, lock: &str) -> Result<()> {
    let version = lock
        .split_once(&format!("name = \"{library}\"\nversion = \""))
        .and_then(|(_, rest)| rest.split('"').next())
        .unwrap_or("?");
    if std::env::args().nth(1).is_some() {
        println!("{version}");
        return Ok(());
    }
    let settings = Rc::new(Settings::read()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    say(&format!("ready {library} {version}"))?;
    for line in io::stdin().lock().lines() {
        match Block::read(&line?, settings.life.is_some()) {
            Ok(block) => {
                let run = run::<C>(Rc::clone(&settings), Rc::new(block));
                LocalSet::new().block_on(&runtime, run)?;
            }
            Err(words) => say(&format!("unsupported {words}"))?,
        }
    }
    Ok(())
}

/// The environment that wirebench starts a client with.
struct Settings {
    url: String,
    address: SocketAddr,
    connections: usize,
    /// Round trips of a connection; without, it stays.
    life: Option<u64>,
    message: Message,
    expect: Message,
}

impl Settings {
    fn read() -> Result<Self> {
        let url = variable("WIREBENCH_URL")?;
        let authority = url.strip_prefix("ws://").ok_or("not ws")?;
        let authority = authority.split('/').next().unwrap_or_default();
        let is_text = variable("WIREBENCH_KIND")? == "text";
        let message = |name: &str| -> Result<Message> {
            let path = variable(name)?;
            let payload = std::fs::read(&path).map_err(|error| format!("{path}: {error}"))?;
            Ok(Message { is_text, payload: payload.into() })
        };
        let life = std::env::var("WIREBENCH_LIFE").unwrap_or_else(|_| "long".to_owned());
        Ok(Self {
            address: authority.to_socket_addrs()?.next().ok_or("a host without an address")?,
            connections: variable("WIREBENCH_CONNECTIONS")?.parse()?,
            life: if life == "long" { None } else { Some(life.parse()?) },
            message: message("WIREBENCH_PAYLOAD")?,
            expect: message("WIREBENCH_EXPECT")?,
            url,
        })
    }
}

/// The length of a block's window.
#[derive(Clone, Copy, PartialEq)]
enum Length {
    Time(u64),
    Messages,
    Clients,
}

/// One `run` line, and what has been seen since; one thread, so plain cells.
struct Block {
    warm_up: Duration,
    length: Length,
    /// A life that has begun is followed to its end.
    followed: bool,
    /// Messages or clients that may still begin.
    left: Cell<u64>,
    epoch: Instant,
    /// The instant at which the window begins; [`u64::MAX`] before that is known.
    start: Cell<u64>,
    seen: RefCell<Seen>,
}

/// Times in nanoseconds, and errors by their words.
#[derive(Default)]
struct Seen {
    round_trips: Vec<u64>,
    lives: Vec<u64>,
    connects: Vec<u64>,
    handshakes: Vec<u64>,
    closes: Vec<u64>,
    errors: BTreeMap<String, u64>,
    /// The instant of the last counted reply.
    last: u64,
}

impl Block {
    /// An error says in words what is not supported.
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
            left: Cell::new(left),
            epoch: Instant::now(),
            start: Cell::new(u64::MAX),
            seen: RefCell::default(),
        })
    }

    /// Nanoseconds since this block was read.
    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// True if what begins at this instant is of the window.
    fn counts(&self, now: u64) -> bool {
        now >= self.start.get()
    }

    /// True if one more message may be sent; takes one of those that are left.
    fn may_send(&self, now: u64) -> bool {
        self.followed || self.goes_on(now, 1)
    }

    /// True if one more short-lived client may begin.
    fn may_live(&self, now: u64) -> bool {
        self.goes_on(now, u64::from(self.length != Length::Messages))
    }

    fn goes_on(&self, now: u64, taken: u64) -> bool {
        match self.length {
            _ if !self.counts(now) => true,
            Length::Time(length) => now - self.start.get() < length,
            Length::Messages | Length::Clients => {
                let left = self.left.get();
                self.left.set(left.saturating_sub(taken));
                left > 0
            }
        }
    }

    fn failed(&self, error: &AnyError) {
        let words = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        *self.seen.borrow_mut().errors.entry(words).or_default() += 1;
    }
}

/// One block: opens, warms up, measures, closes, reports.
async fn run<C: Connection>(settings: Rc<Settings>, block: Rc<Block>) -> Result<()> {
    let mut opened = Vec::new();
    for _ in 0..settings.connections {
        opened.push(match settings.life {
            Some(_) => None,
            None => {
                connect::<C>(&settings, &block, true).await.inspect_err(|e| block.failed(e)).ok()
            }
        });
    }
    let lane = |peer| spawn_local(drive::<C>(Rc::clone(&settings), Rc::clone(&block), peer));
    let tasks: Vec<_> = opened.into_iter().map(lane).collect();
    if !block.warm_up.is_zero() {
        tokio::time::sleep(block.warm_up).await;
    }
    say("measuring")?;
    let cpu = cpu_ns()?;
    let start = block.now();
    block.start.set(start);
    let mut open = Vec::new();
    for task in tasks {
        open.extend(task.await?);
    }
    let cpu = cpu_ns()? - cpu;
    say("measured")?;
    for peer in open {
        close(&block, peer, true).await;
    }
    Ok(report(&block.seen.borrow(), start, cpu)?)
}

/// One of the places for a connection, until the block is over; gives back the connection that stayed.
async fn drive<C: Connection>(
    settings: Rc<Settings>,
    block: Rc<Block>,
    mut peer: Option<C>,
) -> Option<C> {
    let Some(life) = settings.life else {
        let stayed = peer.as_mut()?;
        return match exchange(&settings, &block, stayed, u64::MAX).await {
            Ok(_) => peer,
            Err(error) => {
                block.failed(&error);
                None
            }
        };
    };
    let mut lost = 0;
    while lost < LOST_MAX && block.may_live(block.now()) {
        if let Err(error) = live::<C>(&settings, &block, life).await {
            block.failed(&error);
            lost += 1;
        }
    }
    None
}

async fn live<C: Connection>(settings: &Settings, block: &Block, life: u64) -> Result<()> {
    let began = block.now();
    let counts = block.counts(began);
    let mut peer = connect::<C>(settings, block, counts).await?;
    let is_whole = exchange(settings, block, &mut peer, life).await?;
    if counts && is_whole {
        let time = block.now() - began;
        block.seen.borrow_mut().lives.push(time);
    }
    close(block, peer, counts).await;
    Ok(())
}

/// Makes `count` round trips, one after the other; false: the block was over before.
async fn exchange<C: Connection>(
    settings: &Settings,
    block: &Block,
    peer: &mut C,
    count: u64,
) -> Result<bool> {
    for _ in 0..count {
        let sent = block.now();
        if !block.may_send(sent) {
            return Ok(false);
        }
        let reply = peer.round_trip(settings.message.clone()).await?;
        let received = block.now();
        if reply != settings.expect {
            return Err("another reply than was expected".into());
        }
        if block.counts(sent) {
            let mut seen = block.seen.borrow_mut();
            seen.round_trips.push(received - sent);
            seen.last = received;
        }
    }
    Ok(true)
}

async fn connect<C: Connection>(settings: &Settings, block: &Block, counts: bool) -> Result<C> {
    let before = block.now();
    let stream = TcpStream::connect(settings.address).await?;
    stream.set_nodelay(true)?;
    let connected = block.now();
    let peer = C::upgrade(&settings.url, stream).await?;
    if counts {
        let mut seen = block.seen.borrow_mut();
        seen.connects.push(connected - before);
        seen.handshakes.push(block.now() - connected);
    }
    Ok(peer)
}

async fn close<C: Connection>(block: &Block, peer: C, counts: bool) {
    let before = block.now();
    let closed = tokio::time::timeout(CLOSE_MAX, peer.close()).await;
    match closed.map_err(AnyError::from).and_then(|closed| closed) {
        Ok(()) if counts => block.seen.borrow_mut().closes.push(block.now() - before),
        Ok(()) => {}
        Err(error) => block.failed(&error),
    }
}

fn report(seen: &Seen, start: u64, cpu: u64) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    writeln!(out, "wall_ns {}\ncpu_ns {cpu}", seen.last.saturating_sub(start))?;
    writeln!(out, "ok {}", seen.round_trips.len())?;
    for (words, count) in &seen.errors {
        writeln!(out, "error {count} {words}")?;
    }
    for (name, times) in [
        ("round_trip_ns", &seen.round_trips),
        ("life_ns", &seen.lives),
        ("connect_ns", &seen.connects),
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
    writeln!(out, "done")?;
    out.flush()
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

fn variable(name: &str) -> Result<String> {
    std::env::var(name).map_err(|error| format!("{name}: {error}").into())
}

/// Clients in a row that may fail before a place gives up.
const LOST_MAX: u32 = 100;
/// The longest wait for the other end's Close.
const CLOSE_MAX: Duration = Duration::from_secs(5);
