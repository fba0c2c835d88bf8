//! One description of what is asked: plain data that can be read, stored, shown and repeated.
//!
//! Everything that starts a measurement builds these types, and nothing else describes a workload. They hold no socket,
//! file, clock or thread; quantities are those of `units`, written as people type them (`250ms`, `64B`, `2000/s`).

mod endpoint;
mod load;
mod message;
mod rate;

pub use endpoint::{
    Address, Carries, Endpoint, EndpointError, Facts, PROTOCOLS, Protocol, Scheme, SchemeError,
};
pub use load::{Closing, Lifetime, Load, Phases, Spacing, Stop, Timeouts};
pub use message::{Blob, Content, Expect, Message, PayloadKind, PayloadKindError};
pub use rate::{Piece, Profile, ProfileError};
