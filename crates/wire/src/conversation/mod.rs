//! Conversations: application protocols that a description ([`spec::Conversation`]) makes into a machine.
//!
//! [`Compiled`] is a conversation made ready, once for all connections of a workload. [`Talk`] is a connection that
//! holds it over WebSocket, or over a byte stream that [`Stream`] cuts into messages; [`Calls`] is one that holds it
//! over HTTP, with responses or streams of events; [`Before`] is the connection while it logs in.
//!
//! ```text
//! a cue -> template: bytes with slots     -> cut: framing -> the connection inside
//! event <- mind: step, reply, push, beat  <- rules, learnt: what is it, and its id  <- cut <- the connection inside
//! ```
//!
//! Start reading at [`Talk`]; `mind` gives messages their meaning, `rules` decides which kind a message is, `places`
//! finds ids in JSON.
//!
//! Left out: the file that describes a conversation (crate `spec`), and time: the owner of the machine times steps and
//! heartbeats.

mod asking;
mod awaited;
mod before;
mod call;
mod calls;
mod compiled;
mod cookies;
mod cut;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzz;
mod json;
mod learnt;
mod mind;
mod offered;
mod places;
mod reading;
mod request;
mod resp;
mod response;
mod rules;
#[cfg(any(test, feature = "fuzzing"))]
mod sample;
mod show;
mod stream;
mod taking;
mod talk;
mod tape;
mod template;
mod text;

pub use before::Before;
pub(crate) use before::{Next, Plan};
pub use calls::Calls;
pub use compiled::Compiled;
pub(crate) use compiled::Start;
pub(crate) use cut::{Cut, Held};
pub use error::{CompileError, PeerError};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use fuzz::{
    fuzz_conversation, fuzz_conversation_http, fuzz_conversation_matcher,
    fuzz_conversation_template,
};
pub(crate) use request::Site;
pub use rules::Hits;
pub use show::{matcher as matcher_text, place as place_text};
pub use stream::Stream;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use stream::packets;
pub use talk::Talk;
pub use tape::{Note, Sense};
