//! Properties that hold for any input after the opening handshake.

use super::deflate::{Agreed, Direction};
use super::{Limits, WebSocket};
use crate::contract::Side;
use crate::transcript::{Transcript, check_splits};

/// Feeds both roles `bytes`, split in many ways. Their answer must not depend on the split, and the other role must
/// understand it.
///
/// # Panics
///
/// If they do not.
pub fn fuzz_websocket(bytes: &[u8]) {
    for (role, peer) in [(Side::Client, Side::Server), (Side::Server, Side::Client)] {
        let transcript = check_splits(bytes, &|| WebSocket::established(role, LIMITS, SEED));
        let answer = Transcript::of(
            WebSocket::established(peer, Limits::default(), SEED),
            [&*transcript.tx],
        );
        let is_understood = answer.events.iter().all(|event| !event.starts_with("error"));
        assert!(is_understood, "{role:?} was sent {}, answered {answer:?}", bytes.escape_ascii());
    }
}

/// The same with compression agreed on: the server with context takeover, the client without.
///
/// # Panics
///
/// If they do not.
pub fn fuzz_websocket_deflate(bytes: &[u8]) {
    for (role, takes_over) in [(Side::Client, false), (Side::Server, true)] {
        // The smallest window and the fastest level: a fuzzer makes many of them.
        let direction = Direction { takes_over, window_bits: 9 };
        let agreed = Agreed { level: 1, received: direction, sent: direction };
        let transcript =
            check_splits(bytes, &|| WebSocket::established_with(agreed, role, LIMITS, SEED));
        let peer = if role == Side::Client { Side::Server } else { Side::Client };
        let answer = Transcript::of(
            WebSocket::established_with(agreed, peer, Limits::default(), SEED),
            [&*transcript.tx],
        );
        let is_understood = answer.events.iter().all(|event| !event.starts_with("error"));
        assert!(is_understood, "{role:?} was sent {}, answered {answer:?}", bytes.escape_ascii());
    }
}

/// Small limits, so that short inputs reach them.
const LIMITS: Limits = Limits { fragments_max: 4, frame_len_max: 200, message_len_max: 300 };

const SEED: u64 = 7;
