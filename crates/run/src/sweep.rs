//! Raises the load in steps until each line's knee, and its capacity within an objective, are known.
//!
//! In every round, each line that is not done runs one block, in random order, at the load that its search asks for, so
//! that drift of the machine affects all lines alike. Each step does what `wirebench run` would do at that load.
//!
//! Left out: choosing the loads (`stats::knee`), and the results of steps (`steps`).
//!
//! Start reading at [`sweep`].

mod line;
mod loads;
mod steps;

use crate::block::Stage;
use crate::block_record;
use crate::breaker::PATIENCE;
use crate::ending;
use crate::plan::{Measurement, Place, Plan};
use crate::reach::{Context, Ready, ask};
use crate::results::Kept;
use crate::setup::SetUp;
use crate::{Commands, Elsewhere, Entry, Event, Feed, Host, Journal, RunError, one_block};
use engine::clock::Clock;
use line::{Asked, Line};
use load::Stop;
use loads::Sweep;
use record::{Block, Ended, RunRecord};
use spec::Axis;
use stats::knee::Range;
use std::sync::atomic::Ordering;
use units::{Instant, Nanos, Random};

/// Sweeps and returns the record, which has the results known when the sweep ended or `commands` stopped it. Listeners
/// of `feed` receive the progress; `journal` keeps the blocks, and with each the results so far.
///
/// # Errors
///
/// Nothing could be measured; see [`RunError`].
pub(crate) fn sweep<'a>(
    plan: &Plan,
    axis: &Axis,
    host: &Host,
    feed: &'a Feed,
    journal: &mut dyn Journal,
    commands: Commands<'a>,
    elsewhere: Option<&'a mut dyn Elsewhere>,
) -> Result<RunRecord, RunError> {
    let context = Context { clock: Clock::start(), interrupt: commands.stop_flag() };
    let sweep = Sweep { experiment: &plan.experiment, axis };
    let plan = first_steps(sweep, plan)?;
    let mut set_up = SetUp::new(&plan, host, context, &|_| true, feed, elsewhere.is_some())?;
    let mut stage = Stage::new(&mut set_up, context, feed);
    stage.is_sampled = true;
    stage.elsewhere = elsewhere;
    let lines = Line::all(sweep, &plan, &set_up);
    let (kept, rounds) = (Vec::new(), Vec::new());
    let mut run = Run { sweep, host, journal, plan, set_up, stage, lines, kept, rounds };
    let expected = run.expected();
    feed.tell(&Event::Begin { expected });
    let mut random = Random::new(sweep.experiment.seed);
    let mut over = None;
    while ending::unless_over(run.round(&mut random), &mut over)?.unwrap_or(false) {}
    run.finish(over)
}

/// The plan of the first load on every line; later loads are added to it.
fn first_steps(sweep: Sweep<'_>, plan: &Plan) -> Result<Plan, RunError> {
    let lines = plan.measurements.iter().enumerate();
    let first = lines.map(|(line, measurement)| sweep.at(line, sweep.axis.from, measurement));
    let measurements = first.collect::<Result<_, _>>().map_err(RunError::InvalidRequest)?;
    Ok(Plan { experiment: plan.experiment.clone(), measurements })
}

/// A sweep in progress.
struct Run<'a, 'b> {
    sweep: Sweep<'a>,
    host: &'a Host,
    journal: &'a mut dyn Journal,
    plan: Plan,
    set_up: SetUp,
    stage: Stage<'b>,
    lines: Vec<Line<'a>>,
    kept: Vec<Kept>,
    /// The workloads that ran in each round, in their order.
    rounds: Vec<Vec<usize>>,
}

impl Run<'_, '_> {
    /// Runs one block on each line that is not done; true if there was one.
    fn round(&mut self, random: &mut Random) -> Result<bool, RunError> {
        let mut order: Vec<usize> = (0..self.lines.len()).collect();
        random.shuffle(&mut order);
        let before = self.kept.len();
        self.rounds.push(Vec::new());
        for line in order {
            if self.stage.interrupt.load(Ordering::Relaxed) != 0 {
                return Ok(false);
            }
            if let Some(asked) = self.next_of(line) {
                self.block(line, asked)?;
            }
        }
        Ok(self.kept.len() > before)
    }

    /// The next load of a line, if there is one; the machine allows its connections.
    fn next_of(&mut self, line: usize) -> Option<Asked> {
        loop {
            let load = self.lines[line].next()?;
            if let Some(workload) = self.lines[line].workload(load) {
                return self.within_budget(line, Asked { load, workload });
            }
            match self.add(line, load) {
                Ok(workload) => return self.within_budget(line, Asked { load, workload }),
                Err(reason) => {
                    let possible = self.largest_possible(line, load);
                    self.lines[line].limit(possible + 1, reason);
                }
            }
        }
    }

    /// Adds the step of a line at a load to the plan.
    fn add(&mut self, line: usize, load: u64) -> Result<usize, String> {
        let measurement = self.sweep.at(line, load, &self.plan.measurements[line])?;
        let workload = self.set_up.add(line, &measurement).map_err(|error| error.to_string())?;
        self.plan.measurements.push(measurement);
        self.lines[line].know(load, workload);
        Ok(workload)
    }

    /// The largest possible load below `load`, which is not possible; found by bisection.
    fn largest_possible(&self, line: usize, load: u64) -> u64 {
        let is_possible = |load| {
            let measurement = self.sweep.at(line, load, &self.plan.measurements[line]).ok();
            measurement.is_some_and(|measurement| self.set_up.check(line, &measurement).is_ok())
        };
        let (mut possible, mut impossible) = (self.lines[line].largest_known(), load);
        while impossible - possible > 1 {
            let middle = possible + (impossible - possible) / 2;
            if is_possible(middle) { possible = middle } else { impossible = middle }
        }
        possible
    }

    fn within_budget(&mut self, line: usize, asked: Asked) -> Option<Asked> {
        let elapsed = self.stage.clock.now().since(Instant::START);
        let needed = block_time(&self.plan.measurements[asked.workload]);
        if elapsed + needed <= self.sweep.axis.budget || self.kept.is_empty() {
            return Some(asked);
        }
        self.stop_for_budget(line);
        None
    }

    fn stop_for_budget(&mut self, line: usize) {
        self.lines[line].stop(format!("the budget of {} was used up", self.sweep.axis.budget));
    }

    /// The end of the budget.
    fn until(&self) -> Instant {
        Instant::START + self.sweep.axis.budget
    }

    fn block(&mut self, line: usize, Asked { load, workload }: Asked) -> Result<(), RunError> {
        let index = self.kept.len();
        let total = self.expected_blocks().max(index + 1);
        let round = self.rounds.len() - 1;
        let place = Place { workload, round };
        self.stage.until = (!self.kept.is_empty()).then(|| self.until());
        let one = one_block(&mut self.stage, &self.plan, &mut self.set_up, place, (index, total))?;
        if self.stage.interrupt.load(Ordering::Relaxed) != 0 && one.block.failed.is_some() {
            return Ok(()); // The block failed because of the interruption.
        }
        if self.stage.until.is_some_and(|until| self.stage.clock.now() >= until) {
            self.stop_for_budget(line); // The block was cut off, or may have been.
            return Ok(());
        }
        let one = match self.silence(&one.block, workload)? {
            Some(reason) => Kept { block: block_record::failed_midway(one.block, reason), ..one },
            None => one,
        };
        if self.stage.interrupt.load(Ordering::Relaxed) == 0 {
            self.lines[line].learn(
                load,
                self.plan.measurements[workload].spec.load.replies_each(),
                &one,
            );
        }
        self.rounds[round].push(workload);
        let (server, client) = self.set_up.subjects(&self.plan.measurements[workload], workload);
        let entry = Entry { block: one.block.clone(), server, client };
        self.kept.push(one);
        // The frame comes first, because a block whose step is in no frame could not be recovered.
        let frame = self.frame();
        self.journal.begin(&frame);
        self.journal.keep(&entry);
        let measurement = &self.plan.measurements[workload];
        self.stage.tell_block(measurement, &entry.block, (index, total));
        Ok(())
    }

    /// The reason to give up on the server after this block because nothing succeeds any more, if there is one.
    fn silence(&mut self, block: &Block, workload: usize) -> Result<Option<String>, RunError> {
        let each = self.plan.measurements[workload].spec.load.replies_each();
        if block.failed.is_some() || line::is_kept(block, each) {
            return Ok(None);
        }
        // Under overload nearly everything may fail although the server is well, so it is asked.
        if block.cut_short.is_some() && block.counts.ok == 0 {
            return Ok(block.cut_short.clone());
        }
        let silent = self.recover(workload)?.err();
        Ok(silent.map(|error| format!("nothing was answered in the {PATIENCE} after it: {error}")))
    }

    /// Waits until the server answers again: the next block would otherwise measure the rest of an overload. Fails with
    /// the last error if there is no answer within [`PATIENCE`]; the end of the budget, or a signal, is not a failure.
    fn recover(&mut self, workload: usize) -> Result<Result<(), String>, RunError> {
        let until = self.until();
        let Self { stage, set_up, plan, .. } = self;
        let context = Context { clock: stage.clock, interrupt: stage.interrupt };
        let Ok(Ready { target, .. }) = &set_up.ready[workload] else { return Ok(Ok(())) };
        let measurement = &plan.measurements[workload];
        if let Some(server) = set_up.servers.of(measurement) {
            server.resume();
        }
        let given_up = stage.clock.now() + PATIENCE;
        let recovered = loop {
            let left = given_up.min(until).since(stage.clock.now());
            let answer = ask(target, measurement, left.max(ASKED_MIN), context)?;
            let now = stage.clock.now();
            let is_ended = now >= until || stage.interrupt.load(Ordering::Relaxed) != 0;
            if answer.is_ok() || is_ended {
                break Ok(());
            }
            if now >= given_up {
                break answer;
            }
            engine::clock::sleep(ASKED_EVERY);
        };
        set_up.rest(measurement, workload);
        Ok(recovered)
    }

    /// The record so far, without its blocks.
    fn frame(&self) -> RunRecord {
        let found = steps::sweep(self.sweep, &self.plan, &self.lines, &self.kept);
        let frame = ending::frame(&self.plan, self.host, &self.rounds, &self.set_up);
        RunRecord { sweep: Some(found), ..frame }
    }

    /// The record of all results; `over` is the reason if the machines that measure instead of this one ended the
    /// sweep.
    fn finish(mut self, over: Option<String>) -> Result<RunRecord, RunError> {
        let signal = self.stage.interrupt.load(Ordering::Relaxed);
        if self.kept.is_empty() {
            return Err(ending::nothing(signal, over));
        }
        self.rounds.retain(|round| !round.is_empty());
        let took = self.stage.clock.now().since(Instant::START);
        let record = ending::with_blocks(self.frame(), self.kept);
        let mut record = ending::ended(record, signal, None, took);
        if signal == 0 {
            record.ended = match over {
                Some(reason) => Ended::Partial { reason },
                None => ended(&self.lines),
            };
        }
        Ok(ending::judge(record, None, self.stage.feed))
    }

    /// The approximate time that the sweep will take.
    fn expected(&self) -> Nanos {
        let block = self.plan.measurements.iter().map(block_time).max().unwrap_or(Nanos::ZERO);
        Nanos(block.0.saturating_mul(self.expected_blocks() as u64)).min(self.sweep.axis.budget)
    }

    /// The approximate number of its blocks: half of the way up, the bisection, and the confirmation.
    fn expected_blocks(&self) -> usize {
        let Range { from, to, factor } = self.sweep.range();
        let log = |value: f64| value.ln() / factor.max(1.01).ln();
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a few dozen at most"
        )]
        let (up, halving) = (
            log(to as f64 / from.max(1) as f64).clamp(1.0, 24.0) as usize / 2 + 2,
            (factor.ln() / stats::knee::WIDTH_MAX.ln()).log2().ceil().max(0.0) as usize,
        );
        (up + halving) * self.sweep.axis.repeats as usize * self.lines.len() + 4 * self.lines.len()
    }
}

/// The end of the sweep: partial if the server of a line did not answer, or stopped answering.
fn ended(lines: &[Line<'_>]) -> Ended {
    let failed: Vec<String> = lines
        .iter()
        .filter_map(|line| Some(format!("{}: {}", line.name(), line.failed()?)))
        .collect();
    if failed.is_empty() { Ended::Completed } else { Ended::Partial { reason: failed.join("; ") } }
}

/// The approximate time of a block.
fn block_time(measurement: &Measurement) -> Nanos {
    let phases = measurement.workload.phases;
    match phases.stop {
        Stop::After(time) => phases.warm_up + time + BESIDES,
        Stop::Clients(_) | Stop::Messages(_) => phases.warm_up + BESIDES,
    }
}

/// The pause before a server that has not answered is asked again.
const ASKED_EVERY: Nanos = Nanos::from_millis(50);
/// The shortest time that the server is given for an answer.
const ASKED_MIN: Nanos = Nanos::from_millis(10);
/// The time of connecting, draining and closing.
const BESIDES: Nanos = Nanos::from_millis(300);
