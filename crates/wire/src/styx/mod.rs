//! The Styx protocol of the Firebase game server: its framing, its packets, and definitions of other packets.
//!
//! A frame is a 32-bit big-endian length, which counts itself, a class id of one byte, and the fields of a packet in
//! the order of its declaration. The same packets travel as JSON objects over WebSocket and Comet. This module was
//! written from facts about that protocol (ids, the order of fields, sizes, bytes of examples), not from its code.
//!
//! Start reading at [`packets`]: the table in which each packet is written once. [`frames`] is the framing, [`Packet`]
//! is what is inside it, [`Definition`] the same for packets that are known only at run time, [`load_test`] what the
//! published measurement sent inside [`packets::GameTransport`].
//!
//! Left out: the packets that neither a bot nor the game server of crate `serve` uses (tournaments, services, chat
//! channels, probes, the protocol's own encryption), the optional signature before the first frame, and what a packet
//! means (crate `serve`).
//!
//! Packets are those of version 1.8 and later, in which transports have attributes.
//!
//! The facts leave some points open. There we chose: text is plain UTF-8 (not Java's modified kind), a boolean is only
//! 0 or 1, the lists of the list packets are called `snapshots` and `updates`, and `FilteredJoinTableRequest` holds
//! `ParamFilter`s.

mod definition;
mod dynamic;
mod fault;
mod field;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzz;
mod json;
pub mod load_test;
pub mod packets;
mod table;
#[cfg(test)]
mod tests;
mod value;
mod xml;

pub use definition::Definition;
pub use dynamic::PackError;
pub use fault::{XmlError, XmlFault};
pub use field::DecodeError;
#[cfg(any(test, feature = "fuzzing"))]
pub use fuzz::{fuzz_styx_definition, fuzz_styx_frames, fuzz_styx_json, fuzz_styx_packet};
pub use json::{JsonError, json_packets};
pub use packets::Packet;
pub(crate) use value::{append_base64, decode_base64, write_text};

use crate::framed::Framed;

/// Either end of a connection of Styx. The payload of a message is a frame without its length: the class id, and the
/// fields of its packet.
pub fn frames(limits: Limits) -> Framed {
    Framed::counting_itself(limits.frame_len_max)
}

/// The longest frame that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest frame in bytes, its length field included; sent and received.
    pub frame_len_max: u32,
}

impl Default for Limits {
    /// 32 KiB, the limit of the Firebase server.
    fn default() -> Self {
        Self { frame_len_max: 32 << 10 }
    }
}

/// The longest text in bytes: its length field has 16 bits.
pub const TEXT_LEN_MAX: usize = u16::MAX as usize;
