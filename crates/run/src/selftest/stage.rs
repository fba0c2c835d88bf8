//! The measurements that the checks judge.

use super::judge::{Delays, Null, SendLag, StalledGenerator, StalledServer};
use super::null::Echo;
use super::stop::{Stoppable, wait};
use crate::children::embedded::EmbeddedServer;
use crate::children::servers::{RunningServer, Servers};
use crate::plan::Measurement;
use crate::{Commands, Event, Feed, Host, NoJournal, Phase, Plan, RunError, Speech, execute};
use engine::process::end_with_this_thread;
use engine::thread;
use lab::PrivateFolder;
use record::{Block, Ended, OpenLoop, RunRecord, Summary};
use spec::{Context, Endpoint, Experiment, Options, Protocol, Scheme, Server};
use stats::{Histogram, Stall};
use std::num::NonZeroU32;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicUsize;
use units::{Bytes, Count, Nanos, Rate};

/// The context that all checks share.
pub(super) struct Stage<'a> {
    host: &'a Host,
    interrupt: &'a AtomicUsize,
}

/// A known delay of a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    code: &'static str,
    about: &'static str,
    delay: &'static str,
}

impl Known {
    pub(super) const ALL: [Self; 3] = [
        Self { code: "delay_fixed", about: "a delay of 1 ms", delay: "fixed:1ms" },
        Self {
            code: "delay_exponential",
            about: "an exponential delay of 1 ms on average",
            delay: "exponential:1ms",
        },
        Self {
            code: "delay_bimodal",
            about: "a delay of 1 ms, for one message of ten 50 ms",
            delay: "bimodal:1ms,50ms@10%",
        },
    ];

    pub(super) const fn code(self) -> &'static str {
        self.code
    }

    pub(super) const fn about(self) -> &'static str {
        self.about
    }
}

/// A stall test: a constant rate, during which the server is stopped for a while.
#[derive(Clone, Copy, Debug)]
pub(super) struct StopTest {
    scheme: Scheme,
    measured: Nanos,
    /// The start of the stop, counted from the start of the measurement.
    after: Nanos,
    stopped: Nanos,
}

impl StopTest {
    /// A test of 10 s, the time that a p99.9 needs.
    pub(super) const fn short() -> Self {
        Self {
            scheme: Protocol::WebSocket.plain(),
            measured: Nanos::from_secs(10),
            after: Nanos::from_secs(2),
            stopped: Nanos::from_secs(1),
        }
    }

    /// A test of 20 s.
    pub(super) const fn full(scheme: Scheme) -> Self {
        Self {
            scheme,
            measured: Nanos::from_secs(20),
            after: Nanos::from_secs(5),
            stopped: Nanos::from_secs(2),
        }
    }
}

impl<'a> Stage<'a> {
    pub(super) const fn new(host: &'a Host, interrupt: &'a AtomicUsize) -> Self {
        Self { host, interrupt }
    }

    /// Measures floor and ceiling, for a second each.
    pub(super) fn null(&self) -> Result<Null, RunError> {
        let echo = Echo::start()?;
        let closed =
            |connections| Load { connections, is_closed: true, ..Load::of(Nanos::from_secs(1)) };
        let one = self.measure(&echo.url, closed(1), &Feed::default())?;
        let many = self.measure(&echo.url, closed(CONNECTIONS_MANY), &Feed::default())?;
        let floor = one.block()?.round_trip.as_ref().and_then(|times| times.p50_ns);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
        let messages_per_s = many.block()?.messages_per_s as u64;
        let failed = one.failed() + many.failed();
        Ok(Null { floor: Nanos(floor.unwrap_or(0)), messages_per_s, failed })
    }

    pub(super) fn send_lag(&self) -> Result<SendLag, RunError> {
        let echo = Echo::start()?;
        let measured = self.measure(&echo.url, Load::of(Nanos::from_secs(3)), &Feed::default())?;
        Ok(SendLag {
            lag: histogram(measured.open_loop()?.send_lag.as_ref()),
            timer_floor: measured.record.environment.timer_floor,
            failed: measured.failed(),
        })
    }

    pub(super) fn delays(&self, known: Known) -> Result<Delays, RunError> {
        let oracle = EmbeddedServer::oracle(Protocol::TcpFramed.plain(), known.delay);
        let (url, _oracle) = self.start(&mut self.servers(), &oracle)?;
        let load = Load { oracle: true, ..Load::of(Nanos::from_secs(4)) };
        let measured = self.measure(&url, load, &Feed::default())?;
        let times = measured.open_loop()?;
        Ok(Delays {
            measured: histogram(times.service.as_ref()),
            truth: histogram(times.true_delay.as_ref()),
            failed: measured.failed(),
        })
    }

    pub(super) fn stalled_server(&self, test: &StopTest) -> Result<StalledServer, RunError> {
        let embedded = EmbeddedServer::of(&test.scheme.into());
        let (url, server) = self.start(&mut self.servers(), &embedded)?;
        let pids = server.pids();
        let [pid] = pids[..] else {
            return Err(RunError::SelfTest(format!("the server has {} processes", pids.len())));
        };
        let process = Stoppable::new(pid)?;
        let feed = Feed::default();
        let mut listener = feed.listen();
        let is_measured =
            |event| matches!(event, Event::Interval(tick) if tick.phase == Phase::Measure);
        let stand_still = move || match listener.any(is_measured) {
            true => wait(test.after, self.interrupt)
                .and_then(|()| process.stand_still(test.stopped, self.interrupt)),
            false => Ok(Nanos::ZERO), // Nothing is measured; the other side reports why.
        };
        let (measured, stopped) = std::thread::scope(|scope| {
            let stopper = thread::start_scoped(scope, "stopper", stand_still)?;
            let load = Load::of(test.measured);
            let measured = self.measure_with(&url, server.speech(test.scheme), load, &feed);
            drop(feed); // This ends the listener.
            Ok::<_, RunError>((measured, stopper.join()))
        })?;
        let stopped = stopped.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let (measured, stopped) = (measured?, stopped?);
        let counts = measured.block()?.counts;
        Ok(StalledServer {
            truth: Stall {
                rate: rate(),
                measured: test.measured,
                stopped,
                drain_rate: drain_rate(),
            },
            response: histogram(measured.open_loop()?.response.as_ref()),
            planned: counts.planned,
            ok: counts.ok,
        })
    }

    /// Measures a generator that runs as its own process, started as a user would start it.
    pub(super) fn stalled_generator(&self) -> Result<StalledGenerator, RunError> {
        let embedded = EmbeddedServer::of(&Protocol::WebSocket.plain().into());
        let (url, _server) = self.start(&mut self.servers(), &embedded)?;
        let failed = |reason: String| RunError::SelfTest(format!("generator: {reason}"));
        // It keeps a journal in the folder that it runs in.
        let folder = PrivateFolder::new(&self.host.launch.scratch, "generator").map_err(failed)?;
        let mut command = Command::new(&self.host.launch.program);
        command
            .arg("run")
            .arg(url.to_string())
            .args([
                "--rate",
                "1000/s",
                "-c",
                "10",
                "-d",
                "6s",
                "--warm-up",
                "300ms",
                "-q",
                "-o",
                "-",
            ])
            // Settings for the user's own runs are not meant for this one.
            .env_clear()
            .current_dir(folder.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // It may be stopped at the moment when we are killed.
        let mut child = end_with_this_thread(&mut command)
            .spawn()
            .map_err(|error| failed(format!("{}: {error}", self.host.launch.program.display())))?;
        let process = Stoppable::new(child.id())?;
        let stand_still = move || {
            wait(GENERATOR_STOP_AFTER, self.interrupt)
                .and_then(|()| process.stand_still(Nanos::from_secs(1), self.interrupt))
        };
        let (output, stopped) = std::thread::scope(|scope| {
            let stopper = thread::start_scoped(scope, "stopper", stand_still);
            let stopper = stopper.inspect_err(|_| drop(child.kill()))?;
            Ok::<_, RunError>((child.wait_with_output(), stopper.join()))
        })?;
        let stopped = stopped.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let output = output.map_err(|error| failed(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let record = RunRecord::from_json(&text).map_err(|error| {
            failed(format!("{error}; {}", String::from_utf8_lossy(&output.stderr).trim()))
        })?;
        let measured = Measured { record };
        // A busy machine may have stalled it at other times as well.
        let stalls = &measured.block()?.stalls.first;
        let longest =
            stalls.iter().max_by_key(|stall| stall.duration_ns).copied().unwrap_or_default();
        Ok(StalledGenerator {
            stopped,
            due: stopped.0 / rate().due(1).0,
            longest: Nanos(longest.duration_ns),
            affected: longest.affected,
            is_named: measured.is_named("generator_stalled"),
            service_p99: measured
                .open_loop()?
                .service
                .as_ref()
                .and_then(|times| times.p99_ns)
                .map(Nanos),
            failed: measured.failed(),
        })
    }

    /// Runs one measurement through all stages of a run.
    fn measure(&self, url: &Endpoint, load: Load, feed: &Feed) -> Result<Measured, RunError> {
        self.measure_with(url, Speech::usual(url.scheme()), load, feed)
    }

    fn measure_with(
        &self,
        url: &Endpoint,
        speech: Speech,
        load: Load,
        feed: &Feed,
    ) -> Result<Measured, RunError> {
        let plan = load.plan(url, speech)?;
        let record =
            execute(&plan, self.host, feed, &mut NoJournal, Commands::new(self.interrupt))?;
        match record.ended {
            Ended::Interrupted { signal } => Err(RunError::Interrupted { signal }),
            Ended::Completed | Ended::Partial { .. } => Ok(Measured { record }),
        }
    }

    fn servers(&self) -> Servers {
        let launch = &self.host.launch;
        Servers::new(launch.clone(), launch.cpus.clone(), launch.clone())
    }

    /// Starts a server of ours, on any CPU; returns its URL, and the handle that ends it when dropped.
    fn start(
        &self,
        servers: &mut Servers,
        embedded: &EmbeddedServer,
    ) -> Result<(Endpoint, RunningServer), RunError> {
        let server = servers.start_embedded(embedded)?;
        let url = server.url(embedded.scheme).map_err(RunError::NotStarted)?;
        Ok((url, server))
    }
}

/// The load of a check. Everything else is the same in all checks.
#[derive(Clone, Debug)]
struct Load {
    connections: u32,
    /// True for a closed loop, false for [`rate`].
    is_closed: bool,
    time: Nanos,
    /// True if the server reports its true delay.
    oracle: bool,
}

impl Load {
    /// 1000 messages per second on 10 connections, for `time`.
    fn of(time: Nanos) -> Self {
        Self { connections: CONNECTIONS, is_closed: false, time, oracle: false }
    }

    /// The plan of one block of this load against `url`, using `speech`.
    fn plan(self, url: &Endpoint, speech: Speech) -> Result<Plan, RunError> {
        let options = Options {
            connections: Some(Count(self.connections.into())),
            rate: (!self.is_closed).then(|| rate().into()),
            in_flight_max: (!self.is_closed).then_some(Count(IN_FLIGHT_MAX.into())),
            size: Some(SIZE),
            oracle: self.oracle,
            duration: Some(self.time),
            warm_up: Some(Nanos::from_millis(300)),
            // `speech` says whom to trust.
            insecure: url.tls,
            ..Options::default()
        };
        let read = |path: &str, _| Err(format!("{path} is not read"));
        let pack = |_: &str, _: &[u8], _| Err("nothing is packed".to_owned());
        let context = Context { read: &read, environment: &|_| None, pack: &pack, seed: SEED };
        let invalid = |problem: String| RunError::SelfTest(problem);
        let workloads = options.workloads(&url.to_string(), &Server::Given(url.clone()), &context);
        let workload = workloads.map_err(|problem| invalid(problem.to_string()))?.remove(0);
        let nobody = |name: &str| Err(format!("{name} takes no part in a self-test"));
        let measurement = Measurement::new(&workload, false, &nobody);
        let measurement = measurement.map_err(|problem| invalid(problem.to_string()))?;
        let measurements = vec![Measurement { speech, ..measurement }];
        Ok(Plan { experiment: Experiment::one(workload), measurements })
    }
}

/// The record of one measurement of one block.
struct Measured {
    record: RunRecord,
}

impl Measured {
    fn block(&self) -> Result<&Block, RunError> {
        let nothing = |reason: &str| RunError::SelfTest(reason.to_owned());
        let block = self.record.blocks.first().ok_or_else(|| nothing("nothing was measured"))?;
        match &block.failed {
            Some(reason) => Err(nothing(reason)),
            None => Ok(block),
        }
    }

    fn open_loop(&self) -> Result<&OpenLoop, RunError> {
        let none = || RunError::SelfTest("the record has no open loop".to_owned());
        self.block()?.open_loop.as_ref().ok_or_else(none)
    }

    /// Messages that were due and did not get their reply.
    fn failed(&self) -> u64 {
        let counts = self.record.blocks.iter().map(|block| block.counts);
        counts.map(|counts| counts.planned.saturating_sub(counts.ok)).sum()
    }

    fn is_named(&self, code: &str) -> bool {
        let reasons = self.record.verdict.iter().flat_map(|verdict| &verdict.reasons);
        reasons.into_iter().any(|reason| reason.code == code)
    }
}

/// The distribution behind a summary; empty if there is none.
fn histogram(summary: Option<&Summary>) -> Histogram {
    summary.and_then(|summary| summary.histogram().ok()).unwrap_or_default()
}

fn rate() -> Rate {
    per_second(1000)
}

/// The lowest rate at which a server of ours works off its backlog; the windows allow for more.
fn drain_rate() -> Rate {
    per_second(20_000)
}

fn per_second(count: u32) -> Rate {
    Rate::new(nonzero(count), Nanos::from_secs(1)).expect("a second is some time")
}

const fn nonzero(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).expect("no count here is zero")
}

const CONNECTIONS: u32 = 10;
/// The number of connections of a rung of the ladder.
const CONNECTIONS_MANY: u32 = 50;
/// Far more than a stop of 2 s leaves outstanding.
const IN_FLIGHT_MAX: u32 = 20_000;
const SIZE: Bytes = Bytes(64);
const SEED: u64 = 7;

/// Time from the start of the generator to its stop: by then it has begun to measure.
const GENERATOR_STOP_AFTER: Nanos = Nanos::from_millis(2500);
