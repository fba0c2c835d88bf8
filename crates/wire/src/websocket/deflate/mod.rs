//! permessage-deflate (RFC 7692): each message compressed as one frame, in both roles.
//!
//! An [`Offer`] is what a client asks for, an [`Accept`] what a server agrees to, [`Agreed`] what comes of the two. All
//! messages that we send are compressed, also those that grow by it: what compression costs is measured, and not left
//! to a rule about which messages are worth it. Messages of the peer may be compressed or not.
//!
//! Windows exist from the first compressed message of their direction on; without context takeover, from the beginning
//! of a message to its end. Inflated bytes are held against the limits as they grow.
//!
//! Start reading at `negotiation`. `parameters` has what can be asked for and how it is written, `codec` the bytes.

mod codec;
mod negotiation;
mod parameters;

pub(super) use codec::Codec;
pub use negotiation::{Agreed, AnswerError, Direction};
pub(super) use negotiation::{EXTENSION, Parameters};
pub use parameters::{Accept, Offer, ParameterError};
