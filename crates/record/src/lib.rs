//! The record: all that a run leaves behind, as versioned JSON with a published schema (`docs/record.schema.json`).
//!
//! Everything shown about a run is computed from its record, so a report can be redrawn from any old one. Three
//! conventions hold throughout:
//!
//! - every number has its unit in its name (`p99_ns`, `size_bytes`, `messages_per_s`); one without is a count;
//! - where a number could be missing it is `null`, and `missing` beside it has the reason under the field's name;
//! - fields are added. Readers ignore unknown fields, so additions leave [`SCHEMA_VERSION`] as it is. A change that an
//!   old reader would misread raises it and renames the field; `upgrade` reads older formats.
//!
//! Left out: files (see `run`), rendering (see `report`), and the host's name.
//!
//! Start reading at [`RunRecord`].

mod agents;
mod block;
mod counts;
mod deliveries;
mod drift;
mod earlier_record;
mod entry;
mod environment;
mod errors;
mod exchanges;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
pub mod google_benchmark;
mod imported;
mod json;
mod lab;
mod last_replies;
mod live;
mod outcome;
mod plan;
mod pooling;
mod precision;
mod receiver_memory;
mod relative;
mod requirement_check;
mod requirements;
mod results;
mod run_record;
mod serde_forms;
mod server_machine;
mod sides;
mod signatures;
mod summary;
mod sweep;
mod tabs;
mod trend;
mod trust;
mod upgrade;
mod verdict;
mod watched;

pub use agents::{AgentPart, AgentTask, PartEnd, takes_all};
pub use block::{
    Block, Connections, ContextSwitches, Cpu, Fairness, Identity, Little, Neighbours, OpenLoop,
    Phases, Pushed, RateChange, Restart, Second, Sessions, Split, Stall, Stalls, TcpEvents,
    TlsSeen, Whole, Wire,
};
pub use counts::{CountError, Counts};
pub use deliveries::{
    Deliveries, DeliveryCounts, DeliveryEnds, DeliveryError, DeliveryOutcome, DeliverySecond,
    DeliverySums,
};
pub use drift::{Drift, Drifting, drifts};
pub use earlier_record::Against;
pub use entry::{Entry, EntryRow};
pub use environment::{
    Certificate, Check, Container, Environment, Limits, SocketBuffer, TimerFloor,
};
pub use errors::{Cause, ErrorClass, ErrorCount, Said, Tally};
pub use exchanges::{Exchange, ExchangeOutcome, IdsFound, Parts, PushCount, PushOutcome};
pub use imported::{ImportError, Importer, imported};
pub use json::{ReadError, schema};
pub use lab::{Class, ClientReport, Footprint, GoogleBenchmark, Lab, Subject, WarmUp};
pub use last_replies::{LastMean, LastReplies};
pub use live::{Live, LiveOpenLoop};
pub use outcome::{
    Handshakes, OpenLoopTimes, Origin, Outcome, PhaseTimes, Segments, StreamLayers, TlsParameters,
    Traffic,
};
pub use plan::{Pinning, Plan, Process, Workload};
pub use pooling::{added, cpu_of_both, figure, pooled, recovery, results};
pub use precision::{Precision, precisions};
pub use receiver_memory::ReceiverMemory;
pub use requirement_check::{Finding, Relative, Required, RequirementCheck};
pub use requirements::{checks, failure_rates};
pub use results::{Added, Comparison, Estimate, PerMetric, WorkloadResult};
pub use run_record::{Ended, Kind, RunRecord, SCHEMA_VERSION, Tool, Warning};
pub use server_machine::ServerMachine;
pub use sides::{Change, Difference, Regression, Sides, sides};
pub use signatures::signatures;
pub use spec::{
    Claim, ClaimMeasure, Layer, LeftOut, PayloadKind, Published, PublishedRow, Spacing, View,
};
pub use stats::{Histogram, Merge};
pub use summary::Summary;
pub use sweep::{
    Capacity, Interface, Knee, Memory, MemoryBefore, Sample, Sweep, SweepLine, SweepOf, SweepStep,
};
pub use tabs::TabDeliveries;
pub use trend::{Changed, RECORDS_MIN, Trend, TrendChange, trends};
pub use trust::{Level, Number, Reason, RowVerdict, Verdict};
pub use verdict::{common_zero, generator_faults, incomparable, judge, judge_sweep, partner};
pub use watched::Watched;

/// Reasons why numbers are `null`, each under the name of its field.
pub type Missing = std::collections::BTreeMap<String, String>;
