//! permessage-deflate (RFC 7692): each message compressed as one frame, in both roles.
//!
//! An [`Offer`] is what a client asks for, an [`Accept`] what a server agrees to, [`Agreed`] the outcome. We compress
//! every message that we send, even one that grows by it: the cost of compression is measured, not left to a rule about
//! which messages are worth it. The peer's messages may be compressed or not.
//!
//! A window exists from the first compressed message in its direction on; without context takeover, only from the
//! beginning of a message to its end. Inflated bytes are checked against the limits as they grow.
//!
//! Start reading at `negotiation`. `parameters` defines the parameters and their syntax, `codec` compresses and
//! inflates.

mod codec;
mod negotiation;
mod parameters;

pub(super) use codec::Codec;
pub use negotiation::{Agreed, AnswerError, Direction};
pub(super) use negotiation::{EXTENSION, Parameters};
pub use parameters::{Accept, Offer, ParameterError};
