//! One block of a client subject: its own report, together with what was observed from outside of it and its server.

use crate::block::{Measured, Reading, Stage, Task};
use crate::block_record::{self, longest, mean};
use crate::children::processes::{Processes, Together};
use crate::client_checks::{Asked, Seen, contradiction, is_less};
use crate::intervals::RawTimes;
use crate::neighbours::Waits;
use crate::plan::{Measurement, Place};
use crate::sampling::memory;
use crate::signals::interruptibly;
use crate::subject_warm_up::Warming;
use crate::watch::CpuReading;
use lab::{Client, Moment, Report, Run, Until};
use load::{Arrival, Lifetime, Stop};
use probe::{RunQueue, TcpCounters};
use record::{
    Block, ClientReport, Connections, Counts, ErrorClass, ErrorCount, Little, Missing,
    OpenLoopTimes, Outcome, PhaseTimes, Phases, Summary, Traffic, WarmUp, Wire,
};
use stats::{ClosedLoop, Histogram, per_message};
use std::sync::atomic::AtomicUsize;
use units::{Instant, Nanos};

impl Stage<'_> {
    /// Runs one block of `client`.
    ///
    /// # Errors
    ///
    /// The reason why it failed: the client ended, or its report cannot be read, or cannot be true.
    pub(crate) fn run_client(
        &mut self,
        client: &mut Client,
        task: &Task<'_>,
        place: Place,
    ) -> Result<Block, String> {
        let run = order(task.measurement);
        let mut seen = Watching::new(self, client, task);
        let report = patiently(client, &run, seen.stage.interrupt, &mut |moment| seen.at(moment))?;
        let is_open = !task.measurement.workload.arrival.is_closed();
        let (measured, seen) = seen.finish(task, &report, is_open)?;
        match contradiction(&report, seen, asked(task.measurement)) {
            Some(reason) => Err(format!("the client's report is impossible: {reason}")),
            None => Ok(block(place, task, &measured, &report, seen)),
        }
    }

    /// Drives `client` in short windows until it and its server have reached their speed, or `limit` is over.
    ///
    /// # Errors
    ///
    /// As above.
    pub(crate) fn warm_client(
        &self,
        client: &mut Client,
        measurement: &Measurement,
        limit: Nanos,
    ) -> Result<WarmUp, String> {
        let run = Run {
            warm_up: Nanos::ZERO,
            until: Until::Time(Warming::WINDOW),
            rate: None,
            patience: patience(measurement, Warming::WINDOW),
        };
        let began = self.clock.now();
        let mut warming = Warming::new(limit);
        loop {
            let report = patiently(client, &run, self.interrupt, &mut |_| {})?;
            // A window has the length asked for, however long it takes to open connections before it.
            let per_window = f64::from(u32::try_from(report.ok).unwrap_or(u32::MAX))
                * Warming::WINDOW.as_secs_f64()
                / report.wall.as_secs_f64().max(1e-9);
            warming.add_window(per_window);
            let took = self.clock.now().since(began);
            if let Some(over) = warming.over(took) {
                return Ok(over);
            }
        }
    }
}

/// The order to a client for a block.
fn order(measurement: &Measurement) -> Run {
    let load = &measurement.workload;
    let (until, time) = match load.phases.stop {
        Stop::After(time) => (Until::Time(time), time),
        Stop::Messages(messages) => (Until::Messages(messages.get()), COUNTED_MAX),
        Stop::Clients(clients) => (Until::Clients(clients.get()), COUNTED_MAX),
    };
    let rate = match &load.arrival {
        Arrival::Open { schedule, .. } => schedule.rate.constant(),
        Arrival::Closed { .. } | Arrival::Sessions { .. } | Arrival::Think { .. } => None,
    };
    let warm_up = match load.phases.stop {
        // All of the clients are measured.
        Stop::Clients(_) => Nanos::ZERO,
        Stop::After(_) | Stop::Messages(_) => load.phases.warm_up,
    };
    Run { warm_up, until, rate, patience: patience(measurement, warm_up + time) }
}

/// The longest time to wait for a block that works for `time`.
fn patience(measurement: &Measurement, time: Nanos) -> Nanos {
    let connections = u64::from(measurement.workload.connections.get());
    let opening = Nanos(connections.saturating_mul(OPEN_MAX.0));
    time + time + measurement.workload.timeouts.reply + opening + BESIDES_MAX
}

fn asked(measurement: &Measurement) -> Asked {
    let load = &measurement.workload;
    let (messages, clients) = match load.phases.stop {
        Stop::After(_) => (None, None),
        Stop::Messages(messages) => (Some(messages.get()), None),
        Stop::Clients(clients) => (None, Some(clients.get())),
    };
    Asked {
        connections: load.connections.get().into(),
        messages,
        clients,
        is_closed: load.arrival.is_closed(),
    }
}

/// Lets the client run one block. A signal that asks us to stop ends the client.
fn patiently(
    client: &mut Client,
    run: &Run,
    interrupt: &AtomicUsize,
    tell: &mut dyn FnMut(Moment),
) -> Result<Report, String> {
    interruptibly(client, interrupt, |client| client.run(run, tell))
}

/// Observes a block from outside while the client works.
struct Watching<'a, 'b> {
    stage: &'a mut Stage<'b>,
    /// The waits for a CPU of our threads and of the client's, read when the order is given.
    ordered: [Option<RunQueue>; 2],
    client: Processes,
    client_together: Together,
    server: Option<Processes>,
    server_together: Option<Together>,
    before: Option<Reading>,
    after: Option<Reading>,
    memory: Option<record::Memory>,
    tcp: Option<TcpCounters>,
}

impl<'a, 'b> Watching<'a, 'b> {
    fn new(stage: &'a mut Stage<'b>, client: &Client, task: &Task<'_>) -> Self {
        let client = Processes::of(client.process().keeper_pid());
        let tcp = stage.tcp(task);
        Self {
            stage,
            ordered: run_queues(&client),
            client_together: client.sampler(),
            client,
            server: task.server.clone().ok(),
            server_together: task.server.as_ref().ok().map(Processes::sampler),
            before: None,
            after: None,
            memory: None,
            tcp,
        }
    }

    fn at(&mut self, moment: Moment) {
        let at = self.stage.clock.now();
        let in_all = |processes: &Processes| processes.cpu_in_all();
        let cpu = CpuReading {
            at,
            generator: in_all(&self.client).unwrap_or(Nanos::ZERO),
            server: self.server.as_ref().and_then(in_all),
        };
        // Done after CPU time is read: the client's window has begun, and opening files takes a moment.
        self.client_together.renew(&self.client.there());
        if let Some((together, server)) = self.server_together.as_mut().zip(self.server.as_ref()) {
            together.renew(&server.there());
        }
        let switches = |together: &mut Together| Some(together.sample()?.switches);
        let reading = Reading {
            cpu,
            system: self.stage.system.as_mut().and_then(|system| system.sample().ok()),
            generator: switches(&mut self.client_together),
            server: self.server_together.as_mut().and_then(switches),
            waits: Waits::of(&self.client, self.server.as_ref()),
        };
        match moment {
            Moment::Measuring => self.before = Some(reading),
            Moment::Measured => {
                self.after = Some(reading);
                if self.stage.is_weighed {
                    let server = self.server_together.as_mut();
                    self.memory = Some(memory(server, &mut self.client_together));
                }
            }
        }
    }

    fn finish(
        self,
        task: &Task<'_>,
        report: &Report,
        is_open: bool,
    ) -> Result<(Measured, Seen), String> {
        let Some((before, after)) = self.before.as_ref().zip(self.after.as_ref()) else {
            return Err("the client did not say when its window begins and ends".to_owned());
        };
        let used = Nanos(after.cpu.generator.0.saturating_sub(before.cpu.generator.0));
        let waited = run_queues(&self.client).into_iter().zip(&self.ordered);
        let waited = waited.filter_map(|(now, then)| Some(now?.since(then.as_ref()?)));
        let seen = Seen {
            window: after.cpu.at.since(before.cpu.at),
            cpu: Some(used).filter(|_| after.cpu.generator > Nanos::ZERO),
            waited: waited.fold(Nanos::ZERO, |sum, one| sum + one),
        };
        let measured = Measured {
            started: before.cpu.at,
            outcome: outcome(report, before.cpu.at, is_open),
            busiest_worker: None,
            before: self.before,
            after: self.after,
            samples: None,
            memory: self.memory,
            tcp: self.stage.tcp(task).zip(self.tcp).map(|(after, before)| after.since(before)),
            broken: None,
            rate_changes: Vec::new(),
            restart: None,
            raw_times: RawTimes::default(),
        };
        Ok((measured, seen))
    }
}

/// The waits for a CPU so far: of our threads, and of the client's.
fn run_queues(client: &Processes) -> [Option<RunQueue>; 2] {
    [Processes::one(std::process::id()).run_queue(), client.run_queue()]
}

/// The results that a client reports for a window that began at `began`.
fn outcome(report: &Report, began: Instant, is_open: bool) -> Outcome {
    let error: u64 = report.errors.iter().map(|(count, _)| count).sum();
    let sent = report.ok.saturating_add(error);
    let response = || report.responses.clone().unwrap_or_default();
    Outcome {
        planned: sent,
        measured: Counts { sent, ok: report.ok, error, ..Counts::default() },
        traffic: Traffic {
            replies: report.ok,
            round_trips: report.round_trips.clone(),
            open_loop: is_open
                .then(|| OpenLoopTimes { response: response(), ..OpenLoopTimes::default() }),
            ..Traffic::default()
        },
        times: PhaseTimes {
            connect: report.connect.clone(),
            tls_full: report.tls.clone(),
            handshake: report.handshake.clone(),
            close: report.close.clone(),
            life: report.lives.clone(),
            ..PhaseTimes::default()
        },
        window: Some((began, began + report.wall)),
        ..Outcome::default()
    }
}

/// The record of a block.
fn block(place: Place, task: &Task<'_>, measured: &Measured, report: &Report, seen: Seen) -> Block {
    let errors: u64 = report.errors.iter().map(|(count, _)| count).sum();
    let block = Block::of(&measured.outcome);
    Block {
        workload: place.workload,
        round: place.round,
        started_at_ns: measured.started.0,
        warm_up: None,
        connections: connections(task.measurement, report),
        errors: report.errors.iter().map(error).collect(),
        phases: Phases { resolve: Summary::of(&report.resolve), ..block.phases },
        pushed: None,
        cpu: cpu(task, measured, report, seen),
        wire: wire(),
        tcp: measured.tcp.map(block_record::tcp_events),
        neighbours: block_record::neighbours(measured),
        context_switches: block_record::context_switches(measured),
        little: little(task.measurement, report, errors),
        memory: measured.memory,
        client: Some(ClientReport {
            wall_ns: report.wall.0,
            cpu_ns: report.cpu.map(|cpu| cpu.0),
            cpu_seen_ns: seen.cpu.map(|cpu| cpu.0),
            open: Summary::of(&report.open),
            google_benchmark: report.google_benchmark.clone(),
        }),
        ..block
    }
}

fn error((count, words): &(u64, String)) -> ErrorCount {
    let class = ErrorClass::Client.name().to_owned();
    ErrorCount { class, count: *count, example: words.clone() }
}

/// The connections that the client opened, as far as its report counts them.
fn connections(measurement: &Measurement, report: &Report) -> Connections {
    let told = [&report.connect, &report.open, &report.handshake, &report.lives];
    let told = told.into_iter().map(Histogram::count).max().unwrap_or(0);
    let asked = match measurement.workload.lifetime {
        Lifetime::Long => u64::from(measurement.workload.connections.get()),
        Lifetime::RoundTrips(_) => told,
    };
    let opened = if told == 0 { asked } else { told.min(asked) };
    Connections { asked, opened, ..Connections::default() }
}

/// CPU time of the client as it reports it; if the report leaves out some of its processes, CPU time as observed from
/// outside.
fn cpu(task: &Task<'_>, measured: &Measured, report: &Report, seen: Seen) -> record::Cpu {
    let mut cpu = block_record::cpu(task, measured);
    let said = report.cpu.filter(|said| seen.cpu.is_none_or(|seen| !is_less(*said, seen)));
    if let Some(said) = said {
        cpu.generator_us_per_message = per_message(said.0, report.ok).map(|nanos| nanos / 1e3);
        cpu.generator_cores_used = Some(said.as_secs_f64() / report.wall.as_secs_f64());
    }
    cpu
}

fn wire() -> Wire {
    let mut missing = Missing::new();
    let fields = ["sent_bytes_per_message", "received_bytes_per_message", "sent", "received"];
    block_record::missing(
        &mut missing,
        &fields,
        "the client is a subject, and does not count them",
    );
    Wire { missing, ..Wire::default() }
}

/// Checks Little's law on the report of a closed loop. The report does not include the time between a reply and the
/// next message.
fn little(measurement: &Measurement, report: &Report, errors: u64) -> Little {
    let not_checked = |reason: &str| Little::NotChecked { reason: reason.to_owned() };
    if !measurement.workload.arrival.is_closed() {
        return not_checked("an open loop has no fixed number in flight");
    }
    if errors > 0 {
        return not_checked("messages failed");
    }
    let (replies, round_trip_mean_ns, longest) = match measurement.workload.lifetime {
        Lifetime::Long => (report.ok, mean(&report.round_trips), longest(&report.round_trips)),
        Lifetime::RoundTrips(_) if report.close.is_empty() => {
            return not_checked("the client does not say how long its connections take to close");
        }
        Lifetime::RoundTrips(_) => {
            let longest = longest(&report.lives) + longest(&report.close);
            (report.lives.count(), mean(&report.lives) + mean(&report.close), longest)
        }
    };
    let found = block_record::little_of(ClosedLoop {
        unanswered: Nanos::ZERO,
        in_flight: measurement.workload.connections.get().into(),
        replies,
        measured: report.wall,
        round_trip_mean_ns,
        longest,
    });
    match found {
        Little::Checked { deviation_fraction, holds: false, .. }
            if (GAPS_MAX..0.0).contains(&deviation_fraction) =>
        {
            let percent = 100.0 * deviation_fraction.abs();
            not_checked(&format!(
                "{percent:.1} % of the time passes between a reply and the client's next message"
            ))
        }
        Little::Checked { .. } | Little::NotChecked { .. } => found,
    }
}

/// The largest share of its time that a client may spend between a reply and its next message, as a negative fraction.
const GAPS_MAX: f64 = -0.2;
/// The longest time for a block that ends after a count of messages or clients.
const COUNTED_MAX: Nanos = Nanos::from_secs(300);
/// The longest time for one connection to be opened.
const OPEN_MAX: Nanos = Nanos::from_millis(5);
/// The longest time for everything else, such as writing its report.
const BESIDES_MAX: Nanos = Nanos::from_secs(20);
