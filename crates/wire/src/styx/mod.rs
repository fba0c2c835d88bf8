//! The Styx protocol of the Firebase game server: its framing, its 78 packets, and definitions of other packets.
//!
//! A frame is a 32-bit big-endian length, which counts itself, a class id of one byte, and the fields of a packet in
//! the order of its declaration. The same packets travel as JSON objects over WebSocket and Comet. What is here was
//! written from facts about that protocol (ids, the order of fields, sizes, bytes of examples), not from its code.
//!
//! Start reading at [`packets`]: the table in which each packet is written once. [`Styx`] is the framing, [`Packet`]
//! what is inside it, [`Definition`] the same for packets that are known at run time only, [`load_test`] what the
//! published measurement sent inside [`packets::GameTransport`].
//!
//! Left out: the optional signature before the first frame, the protocol's own encryption (TLS is there for that), and
//! what a packet means (crate `serve`).
//!
//! Where the facts are silent, we chose: text is plain UTF-8 (not Java's modified kind), a boolean is 0 or 1 and nothing
//! else, the property of `NotifyRegistered` is called `tournaments`, the lists of the list packets `snapshots` and
//! `updates`, `FilteredJoinTableRequest` holds `ParamFilter`s, and the answers to `Mtt…` requests have a
//! `ResponseStatus`.

#![allow(dead_code, reason = "the tables of types wait for definitions")]

mod field;
mod framing;
mod json;
pub mod load_test;
pub mod packets;
mod table;

pub use field::DecodeError;
pub use framing::{Limits, PeerError, Styx};
pub use json::{JsonError, json_packets};
pub use packets::Packet;

/// The longest text in bytes: its length field has 16 bits.
pub const TEXT_LEN_MAX: usize = u16::MAX as usize;

#[cfg(test)]
mod tests {
    use super::Packet;
    use super::packets::{GameTransport, LoginRequest, Ping};

    /// Bytes of the facts: `LoginRequest` of player 1, and a ping; without their lengths.
    #[test]
    fn packets_are_packed_as_the_server_packs_them() {
        let login =
            LoginRequest { user: "Bot_1".into(), password: "1".into(), ..Default::default() };
        check(&login.into(), "0a0005426f745f310001310000000000000000");
        check(&Ping { id: 5 }.into(), "0700000005");
    }

    #[test]
    fn packets_are_json_as_the_server_writes_it() {
        let event = GameTransport {
            tableid: 1,
            pid: 1,
            gamedata: b"\0\0\0\x16\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\0\0".into(),
            attributes: Vec::new(),
        };
        let text = r#"{"tableid":1,"pid":1,"gamedata":"AAAAFgEAAAABAAAAAQAAAAEAAAAAAA==","attributes":[],"classId":100}"#;
        let packet = Packet::from(event);
        let mut written = Vec::new();
        packet.write_json(&mut written);
        assert_eq!(written.escape_ascii().to_string(), text.as_bytes().escape_ascii().to_string());
        assert_eq!(Packet::read_json(text.as_bytes()), Ok(packet));
    }

    fn check(packet: &Packet<'_>, hex: &str) {
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        let written: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written, hex);
        assert_eq!(Packet::decode(&bytes).as_ref(), Ok(packet));
    }
}
