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
/// The largest command: one that contains a step.
pub const COMMAND_MAX: Bytes = Bytes(513 << 10);
/// The largest slot, as written in the log.
pub const SLOT_MAX: Bytes = Bytes(900 << 10);
/// The largest part of a record inside a slot, when inflated.
pub const INFLATED_MAX: Bytes = Bytes(8 << 20);
/// The largest factor by which a part of a record may grow when it is inflated.
pub const INFLATION_MAX: u64 = 32;
/// The largest beat, answer or announcement of a leader.
pub const TALK_MAX: Bytes = Bytes(64 << 10);

/// Time from one beat of an agent to its next.
pub const BEAT_EVERY: Nanos = Nanos::from_millis(250);
/// Time between beats in a block, whose load uses the cores that a beat needs. Five fit into [`LOST`].
pub const BEAT_EVERY_IN_BLOCK: Nanos = Nanos::from_millis(500);
/// The silence after which an agent takes no part in a new block.
pub const SUSPECT: Nanos = Nanos::from_millis(1500);
/// The silence after which an agent is reported as lost. Its slot stays open until the grace is over.
pub const LOST: Nanos = Nanos::from_millis(2500);
/// Time from the end of a block until the slots that are still open are decided as lost.
pub const GRACE: Nanos = Nanos::from_secs(10);
/// The longest time for agents to get ready for a block: connect, verify.
pub const PREPARE_MAX: Nanos = Nanos::from_secs(60);
/// The shortest time from writing the begin of a block until it begins.
pub const START_AHEAD_MIN: Nanos = Nanos::from_millis(500);
/// The least number of the longest round trips by which a begin is ahead.
pub const START_AHEAD_ROUND_TRIPS: u64 = 20;
/// Time from one announcement of a leading controller to its next.
pub const LEAD_EVERY: Nanos = Nanos::from_millis(500);
/// The silence of other controllers after which a controller leads.
pub const LEAD_SILENT: Nanos = Nanos::from_millis(1500);
/// The lateness of a begin above which a part is not trusted.
pub const LATE_MAX: Nanos = Nanos::from_millis(10);
/// The bound of a clock's offset above which the user is told.
pub const CLOCK_BOUND_MAX: Nanos = Nanos::from_millis(1);
/// The lateness from which on a process that wakes up for its part does not begin it.
pub const START_LATE_MAX: Nanos = Nanos::from_millis(100);
/// Time from one exchange with an agent's clock to the next.
pub const CLOCK_EVERY: Nanos = Nanos::from_millis(250);
/// Time between exchanges in a block, where they only detect jumps; one more follows at its end.
pub const CLOCK_EVERY_IN_BLOCK: Nanos = Nanos::from_secs(1);
