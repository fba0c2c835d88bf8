//! The numbers of the screen, from the events of a run. Nothing here knows a terminal.

use record::{Block, LiveOpenLoop};
use run::{Board, Event, Tick};
use std::num::NonZeroU32;
use std::sync::Arc;
use units::{Nanos, Rate};

/// Everything that is drawn.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// The command, and what it measures.
    pub(super) heading: String,
    /// True if each block has a row of its own; otherwise each measurement has one.
    has_row_each: bool,
    /// True in a sweep, which overloads the server on purpose: falling behind is then not a warning.
    expects_lag: bool,
    /// The expected end of the run, and the latest instant of it, both counted from its start.
    pub(super) expected: Option<Nanos>,
    pub(super) elapsed: Nanos,
    pub(super) now: Option<Now>,
    pub(super) board: Board,
    pub(super) rows: Vec<Row>,
    /// The warnings, each in one line, oldest first.
    pub(super) warnings: Vec<String>,
    /// The thing that the set-up waits for.
    pub(super) waits_for: Option<Arc<str>>,
}

/// The numbers of the moment.
#[derive(Clone, Debug)]
pub(super) struct Now {
    pub(super) name: Arc<str>,
    /// The index of the block, from 0, and the number of blocks.
    pub(super) block: (usize, usize),
    pub(super) phase: String,
    pub(super) messages_per_s: f64,
    pub(super) p50: Option<Nanos>,
    pub(super) p99: Option<Nanos>,
    pub(super) failed: u64,
    pub(super) open_loop: Option<LiveOpenLoop>,
    /// True if another rate can be asked for.
    pub(super) has_rate: bool,
}

/// The last block of a measurement; in a sweep, a step.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: Arc<str>,
    pub(super) blocks: usize,
    pub(super) messages_per_s: f64,
    pub(super) p50: Option<Nanos>,
    pub(super) p99: Option<Nanos>,
    /// Messages that failed in all its blocks.
    pub(super) failed: u64,
    /// The reason why the last block has no numbers.
    pub(super) reason: Option<String>,
}

impl State {
    /// The screen of a run that has not begun; in a sweep each block is a step with a row of its own.
    pub(super) fn new(heading: &str, is_sweep: bool) -> Self {
        Self {
            heading: heading.to_owned(),
            has_row_each: is_sweep,
            expects_lag: is_sweep,
            expected: None,
            elapsed: Nanos::ZERO,
            now: None,
            board: Board::default(),
            rows: Vec::new(),
            warnings: Vec::new(),
            waits_for: None,
        }
    }

    /// Takes an event of the run, `elapsed` after its start.
    pub(super) fn take(&mut self, event: &Event, elapsed: Nanos) {
        self.elapsed = elapsed;
        match event {
            Event::Begin { expected } => {
                self.expected = Some(elapsed + *expected);
                self.waits_for = None;
            }
            Event::Interval(tick) => self.tick(tick),
            Event::Block { name, block, .. } => self.block(name, block),
            Event::Warning(warning) => {
                self.warnings.push(format!("{} ({})", warning.message, warning.evidence));
            }
            Event::Waiting(what) => self.waits_for = Some(Arc::clone(what)),
            Event::Behind(behind) if !self.expects_lag => {
                self.warnings.push(behind.to_string());
            }
            Event::Machine(_) | Event::Behind(_) => {}
        }
    }

    /// Returns a rate a tenth above or below the current one, in full messages a second and at least one more or less;
    /// `None` if no other rate can be asked for.
    pub(super) fn other_rate(&self, is_more: bool) -> Option<Rate> {
        let now = self.now.as_ref().filter(|now| now.has_rate)?;
        let due = now.open_loop.as_ref()?.due_per_s;
        let wanted = if is_more { (due * 1.1).max(due + 1.0) } else { (due / 1.1).min(due - 1.0) };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float that does not fit becomes the largest or smallest number"
        )]
        let count = NonZeroU32::new(wanted.round() as u32)?;
        Rate::new(count, Nanos::from_secs(1))
    }

    fn tick(&mut self, tick: &Tick) {
        let live = self.board.add(tick);
        self.now = Some(Now {
            name: Arc::clone(&tick.name),
            block: live.block,
            phase: live.phase.to_owned(),
            messages_per_s: live.messages_per_s,
            p50: live.p50,
            p99: live.p99,
            failed: live.failed,
            open_loop: live.open_loop,
            has_rate: tick.has_rate,
        });
    }

    fn block(&mut self, name: &Arc<str>, block: &Block) {
        let known = self.rows.iter().position(|row| row.name == *name && !self.has_row_each);
        let before = known.map(|index| self.rows.remove(index));
        let (blocks, failed) = before.map_or((0, 0), |row| (row.blocks, row.failed));
        let times = block.times();
        let row = Row {
            name: Arc::clone(name),
            blocks: blocks + 1,
            messages_per_s: block.messages_per_s,
            p50: times.and_then(|times| times.p50_ns).map(Nanos),
            p99: times.and_then(|times| times.p99_ns).map(Nanos),
            failed: failed + block.counts.failed(),
            reason: block.failed.clone(),
        };
        self.rows.insert(known.unwrap_or(self.rows.len()), row);
    }
}
