//! A server on this machine, observed while other machines load it: the work of a watch in a fleet.
//!
//! It is observed like a server that this machine loads itself: its processes are found by their socket and sampled ten
//! times per second, during exactly the window in which the load is measured, whose start is an instant of this clock.
//!
//! Left out: the interface, because it is not known which one the agents' traffic uses.

use crate::Commands;
use crate::children::processes::{Processes, Together};
use crate::found_server::FoundServer;
use crate::part::Starter;
use crate::sampling::{Sampler, Samples};
use engine::clock::{Clock, sleep};
use load::{Phases, Stop};
use probe::{RunQueue, Switches, SystemSampler, SystemTimes, TcpCounters, TcpSampler, Unseen};
use record::{Memory, Sample, ServerMachine, Watched};
use std::sync::atomic::Ordering;
use units::{Instant, Nanos};

/// The server that a watch observes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watching {
    /// This process, with all its descendants.
    Pid(u32),
    /// The processes that listen at this TCP port.
    Port(u16),
}

/// The window of a block as observed by a watch.
#[derive(Clone, Debug)]
pub struct Looked {
    /// The values that were read.
    pub watched: Watched,
    /// Time from the planned start of the window to the first reading.
    pub late: Nanos,
    /// False if the watch was ended before the window was over.
    pub is_whole: bool,
}

impl Watching {
    /// The current processes of the server, as in `nginx (77), nginx (78)`.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be seen, with the next thing to do.
    pub fn processes(self) -> Result<String, String> {
        let found = self.find()?;
        let each = found.listeners.iter().map(|one| format!("{} ({})", one.name, one.pid));
        Ok(each.collect::<Vec<_>>().join(", "))
    }

    fn find(self) -> Result<FoundServer, String> {
        let found = match self {
            Self::Pid(pid) => {
                let gone = || format!("--pid {pid}: there is no such process");
                vec![probe::listener(pid).ok_or_else(gone)?]
            }
            Self::Port(port) => probe::port_listeners(port).map_err(|unseen| match unseen {
                Unseen::Hidden => format!(
                    "--port {port}: the process that listens there belongs to another user: run as that user or root"
                ),
                Unseen::Elsewhere | Unseen::NoSocket => format!(
                    "--port {port}: no process of this network namespace listens there; start the server first, or name \
                     its process with --pid"
                ),
            })?,
        };
        FoundServer::of(found)
    }

    /// Finds the server, calls `ready`, waits for the start of the block, calls `begins`, and observes the server in
    /// the measured window of `phases`. `None` if it was ended before a start was given.
    ///
    /// # Errors
    ///
    /// The server cannot be seen, or the block does not end after a set time.
    pub fn look(
        self,
        phases: Phases,
        clock: Clock,
        commands: Commands<'_>,
        ready: impl FnOnce(Starter),
        begins: impl FnOnce(),
    ) -> Result<Option<Looked>, String> {
        let Stop::After(time) = phases.stop else {
            return Err(
                "a watch needs a set time, but this load ends after a number of messages: give it a duration (-d)"
                    .to_owned(),
            );
        };
        let server = self.find()?;
        let is_stopped = || commands.stop_flag().load(Ordering::Relaxed) != 0;
        let starter = Starter::alone();
        ready(starter.clone());
        let from = loop {
            if is_stopped() {
                return Ok(None);
            }
            match starter.begins() {
                Some(at) => break at + phases.warm_up,
                None => sleep(LOOK_EVERY),
            }
        };
        begins();
        let until = from + time;
        if !wait_until(from, clock, &is_stopped) {
            let (watched, late) = Default::default();
            return Ok(Some(Looked { watched, late, is_whole: false }));
        }
        let mut window = Window::open(&server.processes, clock);
        let (mut at, mut is_whole) = (from, true);
        while at < until && is_whole {
            at = (at + SAMPLE_EVERY).min(until);
            is_whole = wait_until(at, clock, &is_stopped);
            if is_whole && at < until {
                window.sampler.tick(clock.now());
            }
        }
        let late = window.before.at.since(from);
        let cpus_allowed = u32::try_from(server.cpus().len()).ok().filter(|cpus| *cpus > 0);
        let mut watched = window.close(&server.processes, clock);
        watched.machine.cpus_allowed = cpus_allowed;
        Ok(Some(Looked { watched, late, is_whole }))
    }
}

/// Waits for an instant; false if stopped before.
fn wait_until(at: Instant, clock: Clock, is_stopped: &dyn Fn() -> bool) -> bool {
    loop {
        let now = clock.now();
        if now >= at {
            return true;
        }
        if is_stopped() {
            return false;
        }
        sleep(at.since(now).min(LOOK_EVERY));
    }
}

/// The measured window, from its first reading on.
struct Window {
    sampler: Sampler,
    together: Together,
    system: Option<SystemSampler>,
    tcp: Option<TcpSampler>,
    before: Reading,
}

/// Usage up to one end of the window.
struct Reading {
    at: Instant,
    cpu: Option<Nanos>,
    switches: Option<Switches>,
    waits: Option<RunQueue>,
    tcp: Option<TcpCounters>,
    system: Option<SystemTimes>,
}

impl Window {
    fn open(server: &Processes, clock: Clock) -> Self {
        let mut sampler = Sampler::new(Some(server), None);
        let (mut together, mut system) = (server.sampler(), SystemSampler::open().ok());
        let mut tcp = server.tcp();
        let before = Reading::now(server, &mut together, &mut system, &mut tcp, clock);
        sampler.begin(before.at);
        Self { sampler, together, system, tcp, before }
    }

    fn close(self, server: &Processes, clock: Clock) -> Watched {
        let Self { mut sampler, mut together, mut system, mut tcp, before } = self;
        let after = Reading::now(server, &mut together, &mut system, &mut tcp, clock);
        sampler.end(after.at);
        let Samples { samples, memory, cost, .. } = sampler.finish();
        let Memory { server_rss_bytes, server_pss_bytes, .. } = memory.unwrap_or_default();
        let window = after.at.since(before.at);
        let cpu = after.cpu.zip(before.cpu).map(|(now, then)| now.0.saturating_sub(then.0));
        let switches = after.switches.zip(before.switches).map(|(now, then)| {
            let Switches { voluntary, involuntary } = now.since(then);
            (voluntary, involuntary)
        });
        let waited = after.waits.as_ref().zip(before.waits.as_ref());
        let tcp = after.tcp.zip(before.tcp).map(|(now, then)| now.since(then));
        let machine = after.system.as_ref().zip(before.system.as_ref());
        Watched {
            window_ns: window.0,
            cpu_ns: cpu,
            switches,
            wait_fraction: waited
                .filter(|_| window > Nanos::ZERO)
                .map(|(now, then)| now.since(then).as_secs_f64() / window.as_secs_f64()),
            rss_bytes: server_rss_bytes,
            pss_bytes: server_pss_bytes,
            machine: ServerMachine {
                idle_fraction: machine
                    .and_then(|(now, then)| now.since(then).machine.idle_fraction()),
                cpus_allowed: None,
                retransmitted_segments: tcp.and_then(|tcp| tcp.retransmitted_segments),
                listen_overflows: tcp.and_then(|tcp| tcp.listen_overflows),
            },
            // The generator is elsewhere: this program only observes.
            samples: samples
                .into_iter()
                .map(|sample| Sample { generator_cores_used: None, ..sample })
                .collect(),
            cost_ns: cost.0,
        }
    }
}

impl Reading {
    fn now(
        server: &Processes,
        together: &mut Together,
        system: &mut Option<SystemSampler>,
        tcp: &mut Option<TcpSampler>,
        clock: Clock,
    ) -> Self {
        Self {
            at: clock.now(),
            cpu: server.cpu_in_all(),
            switches: together.sample().map(|sample| sample.switches),
            waits: server.run_queue(),
            tcp: tcp.as_mut().and_then(|tcp| tcp.sample().ok()),
            system: system.as_mut().and_then(|system| system.sample().ok()),
        }
    }
}

/// The longest time between two checks for a request to stop.
const LOOK_EVERY: Nanos = Nanos::from_millis(10);
/// The time between two samples.
const SAMPLE_EVERY: Nanos = Nanos::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::process::{Child, Command, Stdio};
    use std::sync::atomic::AtomicUsize;

    /// A process that uses one CPU until it is dropped.
    struct Busy(Child);

    impl Busy {
        fn start() -> Self {
            let mut shell = Command::new("sh");
            let shell = shell.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
            Self(shell.spawn().unwrap())
        }
    }

    impl Drop for Busy {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    fn phases(stop: Stop) -> Phases {
        Phases { warm_up: Nanos::from_millis(50), stop, drain: Nanos::ZERO }
    }

    #[test]
    fn a_server_is_looked_at_in_the_measured_window_and_ten_times_a_second() {
        let (busy, stop, clock) = (Busy::start(), AtomicUsize::new(0), Clock::start());
        let begun = Cell::new(false);
        let begin = |starter: Starter| starter.begin(clock.now(), Instant::NEVER);
        let looked = Watching::Pid(busy.0.id())
            .look(
                phases(Stop::After(Nanos::from_millis(300))),
                clock,
                Commands::new(&stop),
                begin,
                || begun.set(true),
            )
            .unwrap()
            .unwrap();
        let Watched { window_ns, cpu_ns, rss_bytes, samples, machine, switches, .. } =
            looked.watched;
        assert!(begun.get() && looked.is_whole && window_ns >= 300_000_000 - looked.late.0);
        assert!(cpu_ns.unwrap() > 0 && rss_bytes.unwrap() > 0 && switches.is_some());
        assert!((1..=3).contains(&samples.len()), "{samples:?}");
        let last = samples.last().unwrap();
        assert!(last.server_cores_used.unwrap() > 0.0 && last.generator_cores_used.is_none());
        assert!(last.server_switches.is_some() && last.server_listen_overflows.is_some());
        assert!(machine.cpus_allowed.unwrap() > 0 && machine.listen_overflows.is_some());
    }

    #[test]
    fn a_server_that_is_not_there_and_a_load_without_a_duration_are_refused_in_words() {
        let (stop, clock) = (AtomicUsize::new(0), Clock::start());
        let look = |watching: Watching, stop_after: Stop| {
            let never = |_: Starter| panic!("it is not ready");
            let looked =
                watching.look(phases(stop_after), clock, Commands::new(&stop), never, || ());
            looked.unwrap_err()
        };
        let second = Stop::After(Nanos::from_secs(1));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(look(Watching::Port(port), second), "the server is a part of this program");
        drop(listener);
        let reason = look(Watching::Port(port), second);
        assert!(reason.contains("no process") && reason.contains("--pid"), "{reason}");
        let gone = look(Watching::Pid(u32::MAX), second);
        assert!(gone.contains("there is no such process"), "{gone}");
        let messages = Stop::Messages(9.try_into().unwrap());
        let endless = look(Watching::Pid(std::process::id()), messages);
        assert!(endless.contains("give it a duration (-d)"), "{endless}");
    }

    #[test]
    fn a_watch_that_is_stopped_before_the_window_has_nothing_to_say() {
        let (busy, stop, clock) = (Busy::start(), AtomicUsize::new(0), Clock::start());
        let (watching, long) =
            (Watching::Pid(busy.0.id()), phases(Stop::After(Nanos::from_secs(9))));
        let end = |_: Starter| stop.store(15, Ordering::Relaxed);
        let never = || panic!("it has not begun");
        let looked = watching.look(long, clock, Commands::new(&stop), end, never).unwrap();
        assert!(looked.is_none(), "nobody told it a begin");
        stop.store(0, Ordering::Relaxed);
        let begin = |starter: Starter| starter.begin(clock.now(), Instant::NEVER);
        let end = || stop.store(15, Ordering::Relaxed);
        let looked = watching.look(long, clock, Commands::new(&stop), begin, end).unwrap().unwrap();
        assert!(!looked.is_whole && looked.watched == Watched::default());
    }
}
