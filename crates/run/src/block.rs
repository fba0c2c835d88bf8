//! One block: some seconds of one measurement, on all its workers.

use crate::RunError;
use crate::behind_schedule::{Pursuit, due_per_s, flows};
use crate::breaker::{Breaker, Broken};
use crate::children::processes::{Processes, Together};
use crate::feed::{Cores, Event, Feed, RateWish, Tick};
use crate::intervals::{Intervals, RawTimes};
use crate::memory::unsent_max;
use crate::neighbours::Waits;
use crate::other_machines::Elsewhere;
use crate::plan::Measurement;
use crate::reach::Context;
use crate::restart::{Restart, Restarted};
use crate::sampling::{Sampler, Samples, memory};
use crate::setup::SetUp;
use crate::subject_warm_up::Warming;
use crate::watch::{CpuReading, Returns, TOLD_MAX, Told, Watch};
use drive::{Control, Interval, Observer, Phase, Target, Worker};
use engine::clock::{Clock, own_cpu, sharpen_timers};
use engine::epoll::Epoll;
use engine::thread::{self, ThreadError};
use engine::{Address, ConnectionError};
use load::{Arrival, Phases, Stop, Workload};
use probe::{Switches, SystemSampler, SystemTimes, TcpCounters, TcpSampler, pin_current_thread};
use record::{Block, Counts, Memory, Merge, Origin, Outcome, RateChange, Traffic, WarmUp};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::ScopedJoinHandle;
use units::{Bytes, Instant, Nanos};

/// The state that the blocks of a run have in common.
pub(crate) struct Stage<'a> {
    pub(crate) clock: Clock,
    /// The number of the signal that asks to stop; 0 if none did.
    pub(crate) interrupt: &'a AtomicUsize,
    pub(crate) feed: &'a Feed,
    pub(crate) system: Option<SystemSampler>,
    tcp: Option<TcpSampler>,
    pub(crate) ourselves: Together,
    /// The shortest gap that counts as a stall of a worker.
    pub(crate) stall_min: Nanos,
    /// The instant at which a block is cut off, if there is one.
    pub(crate) until: Option<Instant>,
    /// True if the machine, both sides and the interface are sampled ten times a second.
    pub(crate) is_sampled: bool,
    /// True if the memory of both sides is read when a block ends.
    pub(crate) is_weighed: bool,
    /// The warm-up as which the next block runs; its result goes into `warmed`.
    warming: Option<Warming>,
    warmed: Option<WarmUp>,
    /// The wish for another rate than that of the block.
    pub(crate) rate_wish: Option<&'a RateWish>,
    /// The connection numbers that earlier blocks have used up: no number is given twice.
    pub(crate) numbered: u64,
    /// True if workers keep every single time in addition to the histograms.
    pub(crate) keeps_raw_times: bool,
    /// The gate that decides when a block begins; if `None`, it begins when it is ready.
    pub(crate) gate: Option<&'a dyn Gate>,
    /// The machines that measure instead of this one.
    pub(crate) elsewhere: Option<&'a mut dyn Elsewhere>,
}

/// Decides when a block begins.
pub(crate) trait Gate {
    /// All connections are open and waiting; called once per block.
    fn is_ready(&self, control: &Arc<Control>);
}

/// The task of a block.
pub(crate) struct Task<'a> {
    pub(crate) measurement: &'a Measurement,
    pub(crate) target: &'a Target,
    /// The processes of the server, or the reason why they cannot be seen.
    pub(crate) server: Result<Processes, String>,
    /// The CPU of each worker; if empty, the system chooses.
    pub(crate) cpus: &'a [usize],
    /// The memory that all workers together may take.
    pub(crate) memory: Bytes,
    /// True if workers may poll for due messages instead of sleeping.
    pub(crate) looks: bool,
    /// The index of the block, and the number of blocks.
    pub(crate) number: (usize, usize),
}

/// The results of one block, before they go into the record.
pub(crate) struct Measured {
    pub(crate) started: Instant,
    /// The outcome of all workers, merged.
    pub(crate) outcome: Outcome,
    /// The busy share of the measurement of the busiest worker.
    pub(crate) busiest_worker: Option<f64>,
    pub(crate) before: Option<Reading>,
    pub(crate) after: Option<Reading>,
    /// The samples, where they were asked for.
    pub(crate) samples: Option<Samples>,
    pub(crate) memory: Option<Memory>,
    /// TCP's counters over the whole block, where connections use TCP.
    pub(crate) tcp: Option<TcpCounters>,
    /// The reason why the load ended early because nearly everything failed, if it did.
    pub(crate) broken: Option<Broken>,
    /// The rate changes that were requested while it ran.
    pub(crate) rate_changes: Vec<RateChange>,
    /// The restart of the server, if it was killed, or the reason why it did not start again.
    pub(crate) restart: Option<Result<Restarted, String>>,
    /// The individual times behind the outcome's histograms, where they are kept.
    pub(crate) raw_times: RawTimes,
}

/// Usage up to a boundary of the measurement. The worker reads CPU time at the boundary itself; the collector reads the
/// rest as soon as it is notified, so that no message waits for it.
pub(crate) struct Reading {
    pub(crate) cpu: CpuReading,
    pub(crate) system: Option<SystemTimes>,
    pub(crate) generator: Option<Switches>,
    pub(crate) server: Option<Switches>,
    pub(crate) waits: Waits,
}

impl<'a> Stage<'a> {
    /// The common state of the blocks after this set-up.
    pub(crate) fn new(set_up: &mut SetUp, context: Context<'a>, feed: &'a Feed) -> Self {
        Self {
            clock: context.clock,
            interrupt: context.interrupt,
            feed,
            system: set_up.system.take(),
            tcp: TcpSampler::open().ok(),
            ourselves: Processes::one(std::process::id()).sampler(),
            stall_min: set_up.stall_min(),
            until: None,
            is_sampled: false,
            is_weighed: false,
            warming: None,
            warmed: None,
            rate_wish: None,
            numbered: 0,
            keeps_raw_times: false,
            gate: None,
            elsewhere: None,
        }
    }

    /// TCP's current counters, if the target is reached over TCP.
    pub(crate) fn tcp(&mut self, task: &Task<'_>) -> Option<TcpCounters> {
        match task.target.address {
            Address::Tcp(_) => self.tcp.as_mut()?.sample().ok(),
            Address::Unix(_) => None,
        }
    }

    /// Announces on the feed that a block is done, with its index and the number of blocks.
    pub(crate) fn tell_block(
        &self,
        measurement: &Measurement,
        block: &Block,
        (index, total): (usize, usize),
    ) {
        if self.feed.is_heard() {
            let (name, block) = (measurement.spec.name.as_str().into(), Arc::new(block.clone()));
            self.feed.tell(&Event::Block { name, block, index, total });
        }
    }

    /// Drives the server of `task` until it has reached its speed, or `limit` is over; `None` if there is no result.
    ///
    /// # Errors
    ///
    /// As below.
    pub(crate) fn warm_up(
        &mut self,
        task: &Task<'_>,
        limit: Nanos,
    ) -> Result<Option<WarmUp>, RunError> {
        let workload = &task.measurement.workload;
        let phases = Phases {
            warm_up: Nanos::ZERO,
            // Longer than the limit, which ends the warm-up.
            stop: Stop::After(limit + Nanos::from_secs(1)),
            drain: Nanos::ZERO,
        };
        let arrival = match workload.rooms {
            // Receivers send nothing, and publishers wait for no reply.
            Some(_) => workload.arrival.clone(),
            None => Arrival::Closed { in_flight: NonZeroU32::MIN, in_flight_max: None },
        };
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
    /// The generator cannot be set up: no open files are left, or no thread can be started.
    pub(crate) fn run(&mut self, task: &Task<'_>) -> Result<Measured, RunError> {
        self.run_restarting(task, None)
    }

    /// Like [`Self::run`], but the server may be killed and started again in the middle of the block.
    ///
    /// # Errors
    ///
    /// As above.
    pub(crate) fn run_restarting(
        &mut self,
        task: &Task<'_>,
        restart: Option<Restart<'_>>,
    ) -> Result<Measured, RunError> {
        let parts = task.measurement.workload.split(task.measurement.spec.threads);
        let workers = u32::try_from(parts.len()).expect("threads are few");
        let control = Arc::new(match self.gate {
            Some(_) => Control::waiting(workers),
            None => Control::new(workers),
        });
        let (told, hears) = sync_channel(TOLD_MAX);
        let started = self.clock.now();
        let (mut watches, mut returns) = (Vec::new(), Vec::new());
        for index in 0..parts.len() {
            let (watch, back) = Watch::new(
                index,
                told.clone(),
                task.server.clone().ok(),
                task.measurement.workload.arrival.clone(),
            );
            watches.push(watch);
            returns.push(back);
        }
        drop(told);
        let tcp_before = self.tcp(task);
        let (clock, stall_min) = (self.clock, self.stall_min);
        let unsent_max = match task.measurement.spec.publish_with {
            Some(_) => 0, // What the program does not read is not queued.
            None => unsent_max(task.memory, parts.len()),
        };
        let (numbered, step) = (self.numbered, parts.len() as u64);
        let keeps_raw_times = self.keeps_raw_times;
        std::thread::scope(|scope| {
            let start = |(index, (part, watch)): (usize, (Workload, Watch))| {
                let (target, control) = (task.target.clone(), Arc::clone(&control));
                let cpu = task.cpus.get(index).copied();
                let (busy_poll, looks) = (task.measurement.spec.busy_poll, task.looks);
                let numbers = (numbered + index as u64, step);
                let keeping = Keeping {
                    clock,
                    cpu,
                    busy_poll,
                    looks,
                    unsent_max,
                    stall_min,
                    numbers,
                    keeps_raw_times,
                };
                let work = move || work(part, target, control, watch, keeping);
                thread::start_scoped(scope, "worker", work)
            };
            let workers = parts.into_iter().zip(watches).enumerate().map(start);
            let workers: Vec<_> = workers
                .collect::<Result<_, _>>()
                // Workers that were started wait for the others.
                .inspect_err(|_: &ThreadError| control.stop())?;
            let restart = restart.map(|restart| {
                let (control, server) = (Arc::clone(&control), task.server.as_ref().ok());
                thread::start_scoped(scope, "restart", move || restart.when_due(&control, server))
            });
            let restart = restart.transpose().inspect_err(|_| control.stop())?;
            let mut collector = Collector::new(self, task, started, returns);
            collector.collect(&hears, &control);
            control.stop(); // The thread that is to kill the server stops waiting.
            let Collector { intervals, before, after, sampler, memory, broken, .. } = collector;
            let rate_changes = collector.rate_changes;
            let done =
                workers.into_iter().map(join).collect::<Result<Vec<_>, ConnectionError>>()?;
            let restart = restart.and_then(join);
            let (outcomes, busy): (Vec<_>, Vec<_>) = done.into_iter().unzip();
            let used = outcomes.iter().map(|outcome: &Outcome| outcome.connections.started);
            self.numbered += used.max().unwrap_or(0) * step;
            let busiest_worker = busy.into_iter().flatten().max_by(f64::total_cmp);
            let (traffic, series, raw_times) = intervals.finish();
            let series = [(Origin::default(), series.into_iter().collect())].into();
            let outcome = Outcome { traffic, series, ..Outcome::merged(&outcomes) };
            let samples = sampler.map(Sampler::finish);
            let tcp = self.tcp(task).zip(tcp_before).map(|(after, before)| after.since(before));
            Ok(Measured {
                started,
                outcome,
                busiest_worker,
                before,
                after,
                samples,
                memory,
                tcp,
                broken,
                rate_changes,
                restart,
                raw_times,
            })
        })
    }
}

/// The CPU of a worker thread, its clock, and its way of waiting.
#[derive(Clone, Copy)]
struct Keeping {
    clock: Clock,
    cpu: Option<usize>,
    busy_poll: Nanos,
    looks: bool,
    unsent_max: usize,
    stall_min: Nanos,
    /// The number of its first connection, and the step to the next number.
    numbers: (u64, u64),
    keeps_raw_times: bool,
}

/// Runs one worker thread; returns its outcome and the share of the measurement during which it was busy.
fn work(
    part: Workload,
    target: Target,
    control: Arc<Control>,
    mut watch: Watch,
    keeping: Keeping,
) -> Result<(Outcome, Option<f64>), ConnectionError> {
    if let Some(cpu) = keeping.cpu {
        // If pinning is refused, the plan's placement does not apply, which the record's environment shows.
        drop(pin_current_thread(&[cpu]));
    }
    drop(sharpen_timers());
    let (first, step) = keeping.numbers;
    // A closed loop reports no own share, and should not pay for measuring it.
    let wants_stamps = !part.arrival.is_closed();
    let mut worker =
        Worker::new(part, target, Arc::clone(&control), &mut watch as &mut dyn Observer)
            .with_stall_min(keeping.stall_min)
            .that_looks(keeping.looks)
            .with_unsent_max(keeping.unsent_max)
            .with_connection_numbers(first, step)
            .that_keeps_raw_times(keeping.keeps_raw_times);
    match Epoll::new(keeping.clock) {
        Ok(mut engine) => {
            engine.set_busy_poll(keeping.busy_poll);
            engine.set_receive_stamps(wants_stamps);
            worker.run(&mut engine);
        }
        Err(error) => {
            control.stop();
            return Err(error);
        }
    }
    let (outcome, _) = worker.finish();
    let looked = outcome.looked.as_secs_f64() / outcome.measured_time().as_secs_f64();
    // A worker that polls still has that time for whatever arrives.
    let busy = watch.busy().map(|busy| if looked > 0.0 { (busy - looked).max(0.0) } else { busy });
    Ok((outcome, busy))
}

fn join<T>(worker: ScopedJoinHandle<'_, T>) -> T {
    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Adds up what the workers of one block report, and passes the progress on to the feed.
struct Collector<'a, 'b> {
    stage: &'a mut Stage<'b>,
    task: &'a Task<'a>,
    returns: Vec<Returns>,
    server: Option<Together>,
    intervals: Intervals,
    before: Option<Reading>,
    after: Option<Reading>,
    sampler: Option<Sampler>,
    memory: Option<Memory>,
    ticking: Ticking,
    usage: Usage,
    /// Only for open loops.
    pursuit: Option<Pursuit>,
    breaker: Breaker,
    broken: Option<Broken>,
    rate_changes: Vec<RateChange>,
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
            sampler: is_sampled
                .then(|| Sampler::new(task.server.as_ref().ok(), Some(&task.target.address))),
            server: task.server.as_ref().ok().map(Processes::sampler),
            memory: None,
            intervals: Intervals::default(),
            before: None,
            after: None,
            ticking: Ticking::new(task, started),
            usage: Usage { at: started, generator: own_cpu(), server: None },
            pursuit: Pursuit::of(&task.measurement.workload, returns.len()),
            breaker: Breaker::default(),
            broken: None,
            rate_changes: Vec::new(),
            returns,
        }
    }

    /// Listens until all workers are done.
    fn collect(&mut self, hears: &Receiver<Told>, control: &Arc<Control>) {
        let mut gate = self.stage.gate;
        loop {
            if let Some(gate) = gate.take_if(|_| control.is_ready()) {
                gate.is_ready(control);
            }
            let is_over = self.stage.until.is_some_and(|until| self.stage.clock.now() >= until);
            if is_over || self.broken.is_some() || self.stage.interrupt.load(Ordering::Relaxed) != 0
            {
                control.stop();
            }
            let warmed =
                self.stage.warming.as_ref().and_then(|warming| warming.over(warming.until()));
            if warmed.is_some() && self.stage.warmed.is_none() {
                self.stage.warmed = warmed;
                control.stop();
            }
            self.change_rate(control);
            match hears.recv_timeout(LOOKED_EVERY.into()) {
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

    /// Passes a requested rate on to the workers, if this block can change its rate now.
    fn change_rate(&mut self, control: &Control) {
        let Some(rate) = self.stage.rate_wish.and_then(RateWish::take) else { return };
        let follows = has_rate(self.task.measurement);
        if !follows || self.stage.warming.is_some() || !flows(self.ticking.tick.phase) {
            return;
        }
        let at = self.stage.clock.now() + CHANGED_AFTER;
        control.change_rate(drive::RateChange { at, rate });
        self.rate_changes.push(RateChange { at_ns: at.0, rate });
        self.ticking.tick.due_per_s = Some(rate.per_second());
        if let Some(pursuit) = &mut self.pursuit {
            pursuit.change_rate(rate.per_second());
        }
    }

    fn boundary(&mut self, phase: Phase, cpu: CpuReading) {
        let server = self.task.server.as_ref().ok();
        let there = server.map(Processes::there).unwrap_or_default();
        let besides = server.map_or(Nanos::ZERO, |server| server.cpu_besides(&there));
        let cpu = CpuReading { server: cpu.server.map(|server| server + besides), ..cpu };
        let has_lost = self.server.as_mut().is_some_and(|together| together.renew(&there));
        let begins = phase == Phase::Measure;
        // Otherwise switches and waits would be those of different processes.
        let is_same = begins || !has_lost;
        let server = server.filter(|_| is_same);
        let switches = |together: &mut Together| Some(together.sample()?.switches);
        let reading = Reading {
            cpu,
            system: self.stage.system.as_mut().and_then(|system| system.sample().ok()),
            generator: switches(&mut self.stage.ourselves),
            server: self.server.as_mut().filter(|_| is_same).and_then(switches),
            waits: Waits::of(&Processes::one(std::process::id()), server),
        };
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
        if self.stage.feed.is_heard()
            && let Some(mut tick) = self.ticking.add(&interval)
        {
            let now = self.stage.clock.now();
            tick.cores = self.usage.cores(now, self.task.server.as_ref().ok());
            self.stage.feed.tell(&Event::Interval(Arc::new(tick)));
        }
        if !self.task.measurement.spec.keep_going {
            let broken = self.breaker.add(&interval);
            self.broken = self.broken.or(broken);
        }
        let behind = self.pursuit.as_mut().and_then(|pursuit| pursuit.add(&interval));
        if let Some(behind) = behind {
            self.stage.feed.tell(&Event::Behind(behind));
        }
        self.intervals.add(&mut interval);
        if let Some((warming, began)) =
            self.stage.warming.as_mut().zip(self.intervals.measured_from())
            && interval.phase == Phase::Measure
        {
            let since = |instant: Instant| instant.since(began);
            warming.add(since(interval.start), since(interval.end), interval.traffic.replies);
        }
        interval.traffic.clear();
        interval.raw_times.clear();
        // A worker that is done takes no interval back, and one that made new ones has enough.
        drop(self.returns[worker].try_send(interval));
    }
}

/// CPU time used up to an instant; the usage of the next tick is the difference from it.
struct Usage {
    at: Instant,
    generator: Nanos,
    /// `None` before the first look.
    server: Option<Nanos>,
}

impl Usage {
    /// The cores that were busy since the last look.
    fn cores(&mut self, now: Instant, server: Option<&Processes>) -> Cores {
        let next = Self { at: now, generator: own_cpu(), server: server.and_then(Processes::cpu) };
        let before = std::mem::replace(self, next);
        let time = now.since(before.at).as_secs_f64();
        let busy = |now: Nanos, then: Nanos| {
            (time > 0.0).then(|| Nanos(now.0.saturating_sub(then.0)).as_secs_f64() / time)
        };
        Cores {
            generator: busy(self.generator, before.generator),
            server: self.server.zip(before.server).and_then(|(now, then)| busy(now, then)),
        }
    }
}

/// The feed's next tick, assembled from the intervals of all workers.
struct Ticking {
    /// The traffic so far, since the start of its first interval.
    tick: Tick,
    /// The end of the tick sent last.
    told: Instant,
}

impl Ticking {
    fn new(task: &Task<'_>, started: Instant) -> Self {
        let tick = Tick {
            name: task.measurement.spec.name.as_str().into(),
            block: task.number,
            phase: Phase::Connect,
            start: started,
            end: started,
            due_per_s: due_per_s(&task.measurement.workload),
            has_rate: has_rate(task.measurement),
            traffic: Traffic::default(),
            cores: Cores::default(),
        };
        Self { tick, told: started }
    }

    /// Adds an interval of a worker, and returns a tick when it is complete: after a fifth of a second, and when a new
    /// phase begins, unless nothing happened in it.
    fn add(&mut self, interval: &Interval) -> Option<Tick> {
        if interval.phase > self.tick.phase {
            let next = Tick { phase: interval.phase, ..self.next(interval.start) };
            let over = std::mem::replace(&mut self.tick, next);
            (self.told, self.tick.end) = (interval.start, interval.end);
            self.tick.traffic.merge(&interval.traffic);
            let is_empty = over.traffic.counts == Counts::default() && over.traffic.replies == 0;
            return Some(over).filter(|_| !is_empty);
        }
        self.tick.end = self.tick.end.max(interval.end);
        self.tick.traffic.merge(&interval.traffic);
        let is_over = self.tick.end.since(self.told) >= TOLD_EVERY;
        is_over.then(|| {
            self.told = self.tick.end;
            let next = self.next(self.tick.end);
            std::mem::replace(&mut self.tick, next)
        })
    }

    /// An empty tick that starts at `start`.
    fn next(&self, start: Instant) -> Tick {
        let Tick { ref name, block, phase, due_per_s, has_rate, .. } = self.tick;
        let (name, traffic, cores) = (Arc::clone(name), Traffic::default(), Cores::default());
        Tick { name, block, phase, start, end: start, due_per_s, has_rate, traffic, cores }
    }
}

/// True if the messages of `measurement` are due at one rate for all connections together, not at a rate per
/// connection.
fn has_rate(measurement: &Measurement) -> bool {
    matches!(measurement.spec.load, spec::Load::Open { .. })
}

/// The time until a new rate takes effect: all workers have received it by then.
const CHANGED_AFTER: Nanos = Nanos::from_millis(250);

/// The time between two ticks of the feed: as often as a screen is drawn, because for each tick a listener scans its
/// histograms.
const TOLD_EVERY: Nanos = Nanos::from_millis(200);

/// The longest time between two checks for a request to stop.
const LOOKED_EVERY: Nanos = Nanos::from_millis(100);
