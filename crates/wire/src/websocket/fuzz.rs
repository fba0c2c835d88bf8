//! What must hold for any bytes at all that come after the opening handshake.

use super::{Limits, WebSocket};
use crate::contract::Role;
use crate::fuzz::{Transcript, check_splits};

/// Feeds both roles `bytes`, split in many ways. They must answer the same, and only what the other role understands.
///
/// # Panics
///
/// If they do not.
pub fn fuzz_websocket(bytes: &[u8]) {
    for (role, peer) in [(Role::Client, Role::Server), (Role::Server, Role::Client)] {
        let transcript = check_splits(bytes, &|| WebSocket::established(role, LIMITS, SEED));
        let answer = Transcript::of(
            WebSocket::established(peer, Limits::default(), SEED),
            [&*transcript.tx],
        );
        let is_understood = answer.events.iter().all(|event| !event.starts_with("error"));
        assert!(is_understood, "{role:?} was sent {}, answered {answer:?}", bytes.escape_ascii());
    }
}

/// Small, so that short inputs reach them.
const LIMITS: Limits = Limits { fragments_max: 4, frame_len_max: 200, message_len_max: 300 };

const SEED: u64 = 7;
