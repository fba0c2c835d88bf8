//! One description of what is asked: plain data that can be read, stored, shown and repeated.
//!
//! Everything that starts a measurement builds these types, and nothing else describes a workload. They hold no socket,
//! file, clock or thread; quantities are those of `units`, written as people type them (`250ms`, `64B`, `2000/s`).

mod axis;
pub mod conversation;
mod criteria;
mod digest;
mod endpoint;
mod experiment;
pub mod file;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod limit;
pub mod lists;
mod load;
mod message;
mod metric;
mod options;
mod part;
mod problem;
mod published;
mod rate;
mod requirement;
pub mod rooms;
pub mod secrets;
pub mod stamp;
pub mod suggestions;
mod table;
mod text;
mod until;
mod workload;

pub use axis::{Axis, AxisOf, Objective};
pub use conversation::Conversation;
pub use criteria::Criteria;
pub use digest::{Sha256, Sha256Error};
pub use endpoint::{
    Address, Carries, Endpoint, EndpointError, Facts, Fallback, PROTOCOLS, Protocol, Scheme,
    SchemeError, Transport,
};
pub use experiment::{Experiment, Layer, LeftOut, Order, View, secrets_of};
pub use limit::{Factor, Limit};
pub use load::{Closing, Lifetime, Load, Phases, Spacing, Stop, Timeouts};
pub use message::{Blob, Content, Expect, Message, PayloadKind, PayloadKindError};
pub use metric::Metric;
pub use options::{Context, Environment, Options, Pack, Read, Resumption};
pub use part::{Part, PartError, Turns};
pub use problem::Problem;
pub use published::{Claim, ClaimMeasure, Published, PublishedRow};
pub use rate::{Piece, Profile, ProfileError};
pub use requirement::{Bound, Requirement};
pub use rooms::{Away, Conduct, Rooms};
pub use until::{Goal, Until};
pub use workload::{
    Answer, Bots, ClientSubject, Embedded, Header, Http, Identity, Pem, Server, ServerSubject,
    SourceRange, Started, Tls, Trust, Workload,
};
