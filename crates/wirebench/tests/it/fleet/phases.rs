//! Signals in every phase of a block: to an agent, to the controller, and to the NATS server.

use super::{Coordination, Ear, check_complete, check_sums, nats_server, of_log};
use crate::harness::{Running, pause};
use record::{PartEnd, RunRecord};
use rustix::process::Signal;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use units::Nanos;

#[test]
fn whatever_is_killed_or_stands_still_in_any_phase_the_run_ends_and_its_record_is_exact() {
    if nats_server().is_none() {
        return;
    }
    let of_phase = |phase| {
        let of_role = move |role| SIGNALS.map(move |signal| Cell { role, signal, phase });
        [Role::Agent, Role::Controller, Role::Server].into_iter().flat_map(of_role)
    };
    let phases = [Phase::Preparing, Phase::Measuring, Phase::Draining, Phase::Committing];
    let mut cells: VecDeque<Cell> = phases.into_iter().flat_map(of_phase).collect();
    assert_eq!(cells.len(), 24);
    // The slowest ones first: a run waits for the part of a killed agent.
    cells.make_contiguous().sort_by_key(|cell| !cell.loses_a_part());
    let cells = Mutex::new(cells);
    let measured = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(cell) = cells.lock().unwrap().pop_front() else { return };
                    // A failure is reported with the name of its thread.
                    let named = std::thread::Builder::new().name(cell.to_string());
                    let parts = named.spawn(move || cell.check()).unwrap().join().unwrap();
                    if cell.phase == Phase::Preparing {
                        measured.fetch_add(parts, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    // One agent that begins late is not a failure; all of them would be.
    assert!(measured.into_inner() > 0, "no agent began after a signal while it was prepared");
}

/// A signal, its receiver, and its time.
#[derive(Clone, Copy, Debug)]
struct Cell {
    role: Role,
    signal: Signal,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Agent,
    Controller,
    Server,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Between the plan and the begin.
    Preparing,
    Measuring,
    /// The last replies are awaited.
    Draining,
    /// The block is over, but not yet in the log.
    Committing,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { role, phase, .. } = self;
        let signal = if self.kills() { "SIGKILL" } else { "SIGSTOP" };
        write!(f, "{signal} of {role:?} while {phase:?}")
    }
}

impl Cell {
    fn kills(self) -> bool {
        self.signal == Signal::KILL
    }

    /// True if the signal costs the part of an agent.
    fn loses_a_part(self) -> bool {
        self.role == Role::Agent && self.kills() && self.phase != Phase::Committing
    }

    /// Returns the number of parts that were measured.
    fn check(self) -> usize {
        let Some(mut coordination) = Coordination::up("nats") else { return 0 };
        let mut agents = [coordination.agent(0), coordination.agent(1)];
        let ear = coordination.ear();
        let mut run = coordination.start(LOAD);
        let told = run.wait_for_word("continues it elsewhere");
        let name = told.split_whitespace().nth(1).unwrap().to_owned();
        self.phase.reach(&coordination, &ear, &name);
        match self.role {
            Role::Agent => agents[0].send(self.signal),
            Role::Controller => run.send(self.signal),
            Role::Server => coordination.server.send(self.signal),
        }
        match self.phase {
            Phase::Preparing | Phase::Measuring => {}
            Phase::Draining => coordination.target.process.send(Signal::CONT),
            Phase::Committing if self.role == Role::Server => {}
            Phase::Committing => coordination.server.send(Signal::CONT),
        }
        let resume = || {
            let line = format!("fleet resume {name} --fleet keys/controller.join");
            Running::start(coordination.sandbox.command(&line))
        };
        let mut ends = Vec::new();
        match (self.role, self.kills()) {
            (Role::Agent, true) => {
                run.wait_for_one_of(&["a0 is gone", OVER]);
                agents[0] = coordination.agent(0);
                ends.push(run.wait());
            }
            (Role::Agent, false) => {
                run.wait_for_one_of(&["a0 has been silent for ", OVER]);
                agents[0].send(Signal::CONT);
                ends.push(run.wait());
            }
            (Role::Controller, true) => {
                drop(run);
                ends.push(resume().wait());
            }
            (Role::Controller, false) => {
                // Another controller notices that nobody leads.
                let mut second = resume();
                second.wait_for_word("this controller leads the run");
                run.send(Signal::CONT);
                ends.extend([second.wait(), run.wait()]);
            }
            (Role::Server, kills) => {
                run.wait_for_word("lost the coordination server");
                if kills {
                    coordination.restart();
                } else {
                    coordination.server.send(Signal::CONT);
                }
                ends.push(run.wait());
            }
        }
        let line = format!("fleet resume {name} --fleet keys/controller.join");
        ends.push(coordination.sandbox.run(&line));
        ends.iter().for_each(check_complete);
        let records = coordination.sandbox.records();
        assert_eq!(records.len(), ends.len());
        records.iter().for_each(|record| self.check_record(record));
        records.windows(2).for_each(|pair| assert_eq!(of_log(&pair[0]), of_log(&pair[1])));
        let parts = &records[0].blocks[0].agents;
        parts.iter().filter(|part| part.end == PartEnd::Measured).count()
    }

    /// Checks that the record has one block, with the planned messages of its parts, that names the missing parts.
    fn check_record(self, record: &RunRecord) {
        assert!(record.verdict.is_some());
        let [block] = &record.blocks[..] else { panic!("{} blocks", record.blocks.len()) };
        assert_eq!(block.failed, None);
        check_sums(block);
        let names: Vec<&str> = block.agents.iter().map(|part| part.agent.as_str()).collect();
        assert_eq!(names, ["a0", "a1"]);
        let (missing, there): (Vec<_>, Vec<_>) =
            block.agents.iter().partition(|part| part.end != PartEnd::Measured);
        assert!(there.iter().all(|part| part.planned == Some(PLANNED_EACH)), "{there:?}");
        let missing: Vec<&str> = missing.iter().map(|part| part.agent.as_str()).collect();
        let words = (!missing.is_empty())
            .then(|| format!("{} of 2 parts missing: {}", missing.len(), missing.join(", ")));
        assert_eq!(block.cut_short, words);
        let ends: Vec<PartEnd> = block.agents.iter().map(|part| part.end).collect();
        // Unless an agent is known to have begun, a busy machine may have kept it from beginning.
        let [first, second] = match self.phase {
            _ if self.loses_a_part() && self.phase != Phase::Preparing => {
                [&[PartEnd::Lost][..], &[PartEnd::Measured, PartEnd::NotStarted]]
            }
            // A new process may have had time to take its place.
            Phase::Preparing if self.loses_a_part() => {
                [&[PartEnd::Lost, PartEnd::Measured, PartEnd::NotStarted][..], &MAY_BE_LATE]
            }
            Phase::Preparing => [&MAY_BE_LATE[..], &MAY_BE_LATE],
            Phase::Measuring | Phase::Draining => [&[PartEnd::Measured][..], &MAY_BE_LATE],
            Phase::Committing => [&[PartEnd::Measured][..], &[PartEnd::Measured]],
        };
        assert!(first.contains(&ends[0]) && second.contains(&ends[1]), "{ends:?}");
    }
}

impl Phase {
    /// Waits until a0 is in this phase of block 0-0 of a run, according to what members publish and to their disks. A
    /// stopped target delays the end of the block, and a stopped server the log.
    fn reach(self, coordination: &Coordination, ear: &Ear, run: &str) {
        let says = |phases: &[&str]| {
            ear.wait_for("a phase", |subject, beat| {
                subject == "wb.hb.a0"
                    && beat["phase"].as_str().is_some_and(|it| phases.contains(&it))
            });
        };
        if self == Self::Preparing {
            return says(&["preparing", "ready", "armed"]);
        }
        let is_begin = |subject: &str| subject == format!("wb.log.{run}.step.0");
        let go = ear.wait_for("the begin", |subject, _| is_begin(subject));
        let lasts: Nanos = go["step"]["go"]["work"]["lasts"].as_str().unwrap().parse().unwrap();
        assert!(lasts >= LASTS, "an agent has time for all of its phases: {lasts}");
        says(&["running"]);
        if self == Self::Measuring {
            return;
        }
        let target = &coordination.target.process;
        target.send(Signal::STOP);
        // The first second of a block that measures for less than that.
        ear.wait_for("a second", |subject, _| subject == "wb.live.a0");
        if self == Self::Draining {
            return;
        }
        coordination.server.send(Signal::STOP);
        target.send(Signal::CONT);
        for agent in ["a0", "a1"] {
            let slot = format!("{agent}/wb.log.{run}.slot.0-0.{agent}.slot");
            while !coordination.sandbox.path().join(&slot).exists() {
                pause();
            }
        }
    }
}

/// Also ends the wait for an agent to be missed: a result that was on its way arrives without its sender.
const OVER: &str = "block 0-0 is over";
const SIGNALS: [Signal; 2] = [Signal::KILL, Signal::STOP];
const MAY_BE_LATE: [PartEnd; 2] = [PartEnd::Measured, PartEnd::NotStarted];
/// A block that measures for less than a second, with time for its last replies.
const LOAD: &str = "-d 900ms --warm-up 0s --drain 2s --timeout 3s --agents 2";
/// Its phases and the close.
const LASTS: Nanos = Nanos::from_millis(900 + 2000 + 3000);
/// The messages of one agent: half of all.
const PLANNED_EACH: u64 = 45;
/// Cells that run at a time.
const AT_ONCE: usize = 12;
