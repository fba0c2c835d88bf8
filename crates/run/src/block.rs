//! One block: some seconds of one measurement, on all its workers.

use crate::live::{LiveView, Now, TOLD_EVERY};
use crate::plan::Measurement;
use crate::processes::{Processes, Together};
use crate::progress::{News, Progress};
use crate::reach::Context;
use crate::sampling::{Sampler, Samples, memory};
use crate::setup::SetUp;
use crate::warming::Warming;
use crate::watch::{CpuReading, Returns, TOLD_MAX, Told, Watch};
use drive::{Control, Interval, OpenLoop, Outcome, Phase, Target, Worker};
use engine::clock::{Clock, sharpen_timers};
use engine::epoll::Epoll;
use engine::{ConnectionError, run};
use load::{Arrival, Phases, Stop, Workload};
use probe::{Switches, SystemSampler, SystemTimes, pin_current_thread};
use record::{Live, Memory, Second, WarmUp};
use stats::Histogram;
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, ScopedJoinHandle};
use units::{Instant, Nanos};

/// What the blocks of a run have in common.
pub(crate) struct Stage<'a> {
    pub(crate) clock: Clock,
    /// The number of the signal that asks to stop; 0 if none did.
    pub(crate) interrupt: &'a AtomicUsize,
    pub(crate) progress: &'a mut dyn Progress,
    pub(crate) system: Option<SystemSampler>,
    pub(crate) ourselves: Together,
    /// What is shorter is no stall of a worker.
    pub(crate) stall_min: Nanos,
    /// Whether the machine, both sides and the interface are looked at ten times a second.
    pub(crate) is_sampled: bool,
    /// Whether the memory of both sides is looked at when a block ends.
    pub(crate) is_weighed: bool,
    /// The warm-up that the next block is, and what it came to.
    warming: Option<Warming>,
    warmed: Option<WarmUp>,
    /// How many numbers connections of earlier blocks have: none is given twice.
    pub(crate) numbered: u64,
}

/// Which block this is.
pub(crate) struct Task<'a> {
    pub(crate) measurement: &'a Measurement,
    pub(crate) target: &'a Target,
    /// The processes of the server, if they are ours.
    pub(crate) server: Option<Processes>,
    /// The CPU of each worker; empty: the system chooses.
    pub(crate) cpus: &'a [usize],
    /// Which of how many.
    pub(crate) number: (usize, usize),
}

/// All that one block came to, before it is written down.
pub(crate) struct Measured {
    pub(crate) started: Instant,
    pub(crate) outcomes: Vec<Outcome>,
    /// The largest share of the measurement that one of the workers was busy.
    pub(crate) busiest_worker: Option<f64>,
    pub(crate) collected: Collected,
    pub(crate) before: Option<Reading>,
    pub(crate) after: Option<Reading>,
    /// Where they were asked for.
    pub(crate) samples: Option<Samples>,
    pub(crate) memory: Option<Memory>,
}

/// What workers handed over, added up.
#[derive(Default)]
pub(crate) struct Collected {
    /// Round trips of the measurement, also of replies that came in the drain; of an open loop service times.
    pub(crate) round_trips: Histogram,
    /// What an open loop measures besides; empty in a closed one.
    pub(crate) open_loop: OpenLoop,
    /// Replies that arrived while it lasted, their round trips added up, and bytes of the stream in the same time.
    pub(crate) replies: u64,
    pub(crate) round_trip_sum: Nanos,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) series: Vec<Second>,
}

/// What was used up until a boundary of the measurement. CPU time is read by the worker at the boundary itself, the
/// rest by the collector as soon as it hears of it, so that no message waits for it.
pub(crate) struct Reading {
    pub(crate) cpu: CpuReading,
    pub(crate) system: Option<SystemTimes>,
    pub(crate) generator: Option<Switches>,
    pub(crate) server: Option<Switches>,
}

impl<'a> Stage<'a> {
    /// What the blocks after this set-up have in common.
    pub(crate) fn new(
        set_up: &mut SetUp,
        context: Context<'a>,
        progress: &'a mut dyn Progress,
    ) -> Self {
        Self {
            clock: context.clock,
            interrupt: context.interrupt,
            progress,
            system: set_up.system.take(),
            ourselves: Processes::one(std::process::id()).sampler(),
            stall_min: set_up.stall_min(),
            is_sampled: false,
            is_weighed: false,
            warming: None,
            warmed: None,
            numbered: 0,
        }
    }

    /// Drives the server of `task` until it has come to its speed, or `limit` is over; `None` if nothing came of it.
    ///
    /// # Errors
    ///
    /// As below.
    pub(crate) fn warm_up(
        &mut self,
        task: &Task<'_>,
        limit: Nanos,
    ) -> Result<Option<WarmUp>, ConnectionError> {
        let workload = &task.measurement.workload;
        let phases = Phases {
            warm_up: Nanos::ZERO,
            // Longer than the limit, which ends it.
            stop: Stop::After(limit + Nanos::from_secs(1)),
            drain: Nanos::ZERO,
        };
        let arrival = Arrival::Closed { in_flight: NonZeroU32::MIN, in_flight_max: None };
        let workload = Workload { phases, arrival, ..workload.clone() };
        let measurement = Measurement { workload, ..task.measurement.clone() };
        let task = Task { measurement: &measurement, server: task.server.clone(), ..*task };
        self.warming = Some(Warming::new(limit));
        self.run(&task)?;
        self.warming = None;
        Ok(self.warmed.take())
    }

    /// Runs one block.
    ///
    /// # Errors
    ///
    /// The generator cannot be set up: no open files are left.
    pub(crate) fn run(&mut self, task: &Task<'_>) -> Result<Measured, ConnectionError> {
        let parts = task.measurement.workload.split(task.measurement.threads);
        let control = Arc::new(Control::new(u32::try_from(parts.len()).expect("threads are few")));
        let (told, hears) = sync_channel(TOLD_MAX);
        let started = self.clock.now();
        let (mut watches, mut returns) = (Vec::new(), Vec::new());
        for index in 0..parts.len() {
            let (watch, back) = Watch::new(
                index,
                told.clone(),
                task.server.clone(),
                task.measurement.workload.arrival.clone(),
            );
            watches.push(watch);
            returns.push(back);
        }
        drop(told);
        let (clock, stall_min) = (self.clock, self.stall_min);
        let (numbered, step) = (self.numbered, parts.len() as u64);
        thread::scope(|scope| {
            let workers: Vec<_> = parts
                .into_iter()
                .zip(watches)
                .enumerate()
                .map(|(index, (part, watch))| {
                    let (target, control) = (task.target.clone(), Arc::clone(&control));
                    let cpu = task.cpus.get(index).copied();
                    let busy_poll = task.measurement.busy_poll;
                    let numbers = (numbered + index as u64, step);
                    let keeping = Keeping { clock, cpu, busy_poll, stall_min, numbers };
                    scope.spawn(move || work(part, target, control, watch, keeping))
                })
                .collect();
            let mut collector = Collector::new(self, task, started, returns);
            collector.collect(&hears, &control);
            let Collector { collected, before, after, sampler, memory, .. } = collector;
            let done = workers.into_iter().map(join).collect::<Result<Vec<_>, _>>()?;
            let (outcomes, busy): (Vec<_>, Vec<_>) = done.into_iter().unzip();
            let used = outcomes.iter().map(|outcome| outcome.connections.started);
            self.numbered += used.max().unwrap_or(0) * step;
            let busiest_worker = busy.into_iter().flatten().max_by(f64::total_cmp);
            let collected = collected.finish();
            let samples = sampler.map(Sampler::finish);
            Ok(Measured {
                started,
                outcomes,
                busiest_worker,
                collected,
                before,
                after,
                samples,
                memory,
            })
        })
    }
}

/// Where a worker thread runs, what it keeps time with, and how it waits.
#[derive(Clone, Copy)]
struct Keeping {
    clock: Clock,
    cpu: Option<usize>,
    busy_poll: Nanos,
    stall_min: Nanos,
    /// The number of its first connection, and the distance to that of the next.
    numbers: (u64, u64),
}

/// The life of one worker thread; what it leaves behind, and the share of the measurement that it was busy.
fn work(
    part: Workload,
    target: Target,
    control: Arc<Control>,
    watch: Watch,
    keeping: Keeping,
) -> Result<(Outcome, Option<f64>), ConnectionError> {
    if let Some(cpu) = keeping.cpu {
        // Where it is refused the plan's pinning does not hold, which the record's environment shows.
        drop(pin_current_thread(&[cpu]));
    }
    drop(sharpen_timers());
    let (first, step) = keeping.numbers;
    // A closed loop reports no share of ours, and should not pay for it.
    let wants_stamps = !part.arrival.is_closed();
    let mut worker = Worker::new(part, target, Arc::clone(&control), watch)
        .with_stall_min(keeping.stall_min)
        .with_connection_numbers(first, step);
    match Epoll::new(keeping.clock) {
        Ok(mut engine) => {
            engine.set_busy_poll(keeping.busy_poll);
            engine.set_receive_stamps(wants_stamps);
            run(&mut engine, &mut worker);
        }
        Err(error) => {
            control.stop();
            return Err(error);
        }
    }
    let (outcome, watch) = worker.finish();
    Ok((outcome, watch.busy()))
}

fn join<T>(worker: ScopedJoinHandle<'_, T>) -> T {
    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Adds up what the workers of one block tell, and tells the progress on.
struct Collector<'a, 'b> {
    stage: &'a mut Stage<'b>,
    task: &'a Task<'a>,
    returns: Vec<Returns>,
    server: Option<Together>,
    collected: Adding,
    before: Option<Reading>,
    after: Option<Reading>,
    sampler: Option<Sampler>,
    memory: Option<Memory>,
    live: LiveView,
}

impl<'a, 'b> Collector<'a, 'b> {
    fn new(
        stage: &'a mut Stage<'b>,
        task: &'a Task<'a>,
        started: Instant,
        returns: Vec<Returns>,
    ) -> Self {
        let is_sampled = stage.is_sampled;
        Self {
            stage,
            task,
            sampler: is_sampled.then(|| Sampler::new(task.server.as_ref(), &task.target.address)),
            server: task.server.as_ref().map(Processes::sampler),
            memory: None,
            collected: Adding::default(),
            before: None,
            after: None,
            live: LiveView::new(&task.measurement.workload, returns.len(), started),
            returns,
        }
    }

    /// Listens until all workers are done.
    fn collect(&mut self, hears: &Receiver<Told>, control: &Control) {
        loop {
            if self.stage.interrupt.load(Ordering::Relaxed) != 0 {
                control.stop();
            }
            let warmed =
                self.stage.warming.as_ref().and_then(|warming| warming.over(warming.until()));
            if warmed.is_some() && self.stage.warmed.is_none() {
                self.stage.warmed = warmed;
                control.stop();
            }
            match hears.recv_timeout(TOLD_EVERY.into()) {
                Ok(Told::Interval { worker, interval }) => self.interval(worker, interval),
                Ok(Told::Boundary(phase, cpu)) => self.boundary(phase, cpu),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if let Some(sampler) = &mut self.sampler {
                sampler.tick(self.stage.clock.now());
            }
        }
    }

    fn boundary(&mut self, phase: Phase, cpu: CpuReading) {
        let besides = self.task.server.as_ref().map_or(Nanos::ZERO, Processes::cpu_besides);
        let cpu = CpuReading { server: cpu.server.map(|server| server + besides), ..cpu };
        let switches = |together: &mut Together| Some(together.sample()?.switches);
        let reading = Reading {
            cpu,
            system: self.stage.system.as_mut().and_then(|system| system.sample().ok()),
            generator: switches(&mut self.stage.ourselves),
            server: self.server.as_mut().and_then(switches),
        };
        let begins = phase == Phase::Measure;
        match &mut self.sampler {
            Some(sampler) if begins => sampler.begin(cpu.at),
            Some(sampler) => sampler.end(cpu.at),
            None => {}
        }
        if begins {
            self.before = Some(reading);
        } else {
            self.after = Some(reading);
            if self.stage.is_weighed {
                self.memory = Some(memory(self.server.as_mut(), &mut self.stage.ourselves));
            }
        }
    }

    fn interval(&mut self, worker: usize, mut interval: Box<Interval>) {
        self.collected.add(&interval);
        if let Some((warming, began)) =
            self.stage.warming.as_mut().zip(self.collected.measured_from)
            && interval.phase == Phase::Measure
        {
            let since = |instant: Instant| Nanos(instant.0.saturating_sub(began.0));
            warming.add(since(interval.start), since(interval.end), interval.replies);
        }
        if let Some(now) = self.live.add(&interval) {
            self.tell(&interval, now);
        }
        if let Some(behind) = self.live.behind(&interval) {
            self.stage.progress.report(News::Behind(behind));
        }
        interval.clear();
        // A worker that is done takes none back, and one that made new ones has enough.
        drop(self.returns[worker].try_send(interval));
    }

    fn tell(&mut self, interval: &Interval, now: Now) {
        self.stage.progress.report(News::Live(Live {
            name: &self.task.measurement.name,
            block: self.task.number,
            phase: phase_name(interval.phase),
            elapsed: interval.end.since(Instant::START),
            messages_per_s: now.numbers.messages_per_s,
            p50: now.numbers.p50,
            p99: now.numbers.p99,
            failed: now.failed,
            open_loop: now.open_loop,
        }));
    }
}

/// Adds intervals up.
#[derive(Default)]
struct Adding {
    sum: Collected,
    measured_from: Option<Instant>,
    /// The last seconds, whose intervals may still come from some worker.
    seconds: VecDeque<OpenSecond>,
}

/// A second of the series that is not complete.
struct OpenSecond {
    second: Second,
    round_trips: Histogram,
    responses: Histogram,
}

impl Adding {
    fn add(&mut self, interval: &Interval) {
        if !matches!(interval.phase, Phase::Measure | Phase::Drain) {
            return;
        }
        self.sum.round_trips.add(&interval.round_trips);
        if let Some(open_loop) = &interval.open_loop {
            let sum = &mut self.sum.open_loop;
            sum.response.add(&open_loop.response);
            sum.lag.add(&open_loop.lag);
            sum.own_share.add(&open_loop.own_share);
            sum.true_delay.add(&open_loop.true_delay);
        }
        if interval.phase == Phase::Drain {
            return;
        }
        self.sum.replies += interval.replies;
        self.sum.round_trip_sum += interval.round_trip_sum;
        self.sum.bytes_sent += interval.bytes_sent;
        self.sum.bytes_received += interval.bytes_received;
        let from = *self.measured_from.get_or_insert(interval.start);
        self.add_to_series(interval, interval.start.since(from));
    }

    fn add_to_series(&mut self, interval: &Interval, at: Nanos) {
        let at_ns = at.0 / SECOND.0 * SECOND.0;
        if !self.seconds.iter().any(|open| open.second.at_ns == at_ns) {
            self.seconds.push_back(OpenSecond {
                second: Second { at_ns, ..Second::default() },
                round_trips: Histogram::new(),
                responses: Histogram::new(),
            });
            if self.seconds.len() > SECONDS_OPEN {
                self.close_second();
            }
        }
        let found = self.seconds.iter_mut().find(|open| open.second.at_ns == at_ns);
        let Some(OpenSecond { second, round_trips, responses }) = found else { return };
        second.duration_ns =
            second.duration_ns.max((at + interval.end.since(interval.start)).0 - second.at_ns);
        second.sent += interval.counts.sent;
        second.unsent += interval.counts.unsent;
        second.ok += interval.counts.ok;
        second.error += interval.counts.error;
        second.timed_out += interval.counts.timed_out;
        round_trips.add(&interval.round_trips);
        if let Some(open_loop) = &interval.open_loop {
            responses.add(&open_loop.response);
            let lag_max = open_loop.lag.max().map(|lag| lag.0);
            second.send_lag_max_ns = second.send_lag_max_ns.max(lag_max);
        }
    }

    fn close_second(&mut self) {
        let Some(OpenSecond { mut second, round_trips, responses }) = self.seconds.pop_front()
        else {
            return;
        };
        let quantile = |times: &Histogram, q| times.quantile(q).ok().map(|time| time.0);
        let max = |times: &Histogram| times.max().map(|time| time.0);
        second.p50_ns = quantile(&round_trips, 0.5);
        second.p99_ns = quantile(&round_trips, 0.99);
        second.max_ns = max(&round_trips);
        second.response_p50_ns = quantile(&responses, 0.5);
        second.response_p99_ns = quantile(&responses, 0.99);
        second.response_max_ns = max(&responses);
        self.sum.series.push(second);
    }

    fn finish(mut self) -> Collected {
        while !self.seconds.is_empty() {
            self.close_second();
        }
        self.sum
    }
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Connect | Phase::AwaitStart => "connect",
        Phase::WarmUp => "warm-up",
        Phase::Measure => "measure",
        Phase::Drain => "drain",
        Phase::Close | Phase::Done => "close",
    }
}

const SECOND: Nanos = Nanos::from_secs(1);

/// For how many seconds at once intervals are taken; workers are never that far apart.
const SECONDS_OPEN: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use load::Arrival;
    use std::num::NonZeroU32;

    #[test]
    fn replies_of_the_drain_are_in_the_distribution_and_in_no_rate() {
        let arrival = Arrival::Closed { in_flight: NonZeroU32::MIN, in_flight_max: None };
        let mut adding = Adding::default();
        for (phase, ms) in [(Phase::WarmUp, 5), (Phase::Measure, 1), (Phase::Drain, 900)] {
            let mut interval = Interval { phase, replies: 1, ..Interval::new(&arrival) };
            interval.round_trips.record(Nanos::from_millis(ms));
            adding.add(&interval);
        }
        let sum = adding.finish();
        assert_eq!((sum.round_trips.count(), sum.replies), (2, 1));
        let longest = sum.round_trips.max().unwrap();
        assert!(longest >= Nanos::from_millis(899), "the slowest come last: {longest}");
    }
}
