//! The limits of the protocol, each with its name.

use units::{Bytes, Nanos};

/// The most agents in a run.
pub const AGENTS_MAX: usize = 256;
/// The most blocks of a run, repeats not counted.
pub const BLOCKS_MAX: u32 = 10_000;
/// The most repeats of a block whose parts were not all measured.
pub const REPEATS_MAX: u8 = 2;
/// The largest plan.
pub const PLAN_MAX: Bytes = Bytes(256 << 10);
/// The largest step: the begin of a block on [`AGENTS_MAX`] agents, each with the weights of all.
pub const STEP_MAX: Bytes = Bytes(512 << 10);
/// The largest command: one that has a step in it.
pub const COMMAND_MAX: Bytes = Bytes(513 << 10);
/// The largest slot, as it stands in the log.
pub const SLOT_MAX: Bytes = Bytes(900 << 10);
/// The largest part of a record inside a slot, once it is inflated.
pub const INFLATED_MAX: Bytes = Bytes(8 << 20);
/// The most by which a part of a record may grow when it is inflated.
pub const INFLATION_MAX: u64 = 32;
/// The largest beat, answer and sign of a leader.
pub const TALK_MAX: Bytes = Bytes(64 << 10);

/// Time from one beat of an agent to its next.
pub const BEAT_EVERY: Nanos = Nanos::from_millis(250);
/// The same in a block, whose load has the cores that a beat needs. Five fit into [`LOST`].
pub const BEAT_EVERY_IN_BLOCK: Nanos = Nanos::from_millis(500);
/// An agent that has been silent for this long does not take part in a new block.
pub const SUSPECT: Nanos = Nanos::from_millis(1500);
/// An agent that has been silent for this long is said to be lost. Its slot stays open until the grace is over.
pub const LOST: Nanos = Nanos::from_millis(2500);
/// Time from the end of a block until the slots that are still open are decided as lost.
pub const GRACE: Nanos = Nanos::from_secs(10);
/// The longest time in which agents get ready for a block: connect, verify.
pub const PREPARE_MAX: Nanos = Nanos::from_secs(60);
/// The least time from writing the begin of a block until it begins.
pub const START_AHEAD_MIN: Nanos = Nanos::from_millis(500);
/// A begin is at least this many of the longest round trips ahead.
pub const START_AHEAD_ROUND_TRIPS: u64 = 20;
/// A leading controller says so this often.
pub const LEAD_EVERY: Nanos = Nanos::from_millis(500);
/// A controller that has not heard of another for this long leads.
pub const LEAD_SILENT: Nanos = Nanos::from_millis(1500);
/// A part that began later than this is not trusted.
pub const LATE_MAX: Nanos = Nanos::from_millis(10);
/// A bound of a clock's offset beyond this is said.
pub const CLOCK_BOUND_MAX: Nanos = Nanos::from_millis(1);
/// A process that wakes up this long after the begin of its part does not begin.
pub const START_LATE_MAX: Nanos = Nanos::from_millis(100);
/// Time from one exchange with an agent's clock to the next.
pub const CLOCK_EVERY: Nanos = Nanos::from_millis(250);
/// The same in a block, in which a clock is asked for jumps alone, and once more at its end.
pub const CLOCK_EVERY_IN_BLOCK: Nanos = Nanos::from_secs(1);
