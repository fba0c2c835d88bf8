//! The other end of a connection under test, written independently: it encodes any frame, allowed or not, and reads
//! ours.

use wire::websocket::{Limits, WebSocket};
use wire::{Event, Input, Kind, Message, Protocol, Side};

/// First bytes of frames: FIN and an opcode.
pub(super) const CONTINUATION: u8 = 0x80;
pub(super) const TEXT: u8 = 0x81;
pub(super) const BINARY: u8 = 0x82;
pub(super) const CLOSE: u8 = 0x88;
pub(super) const PING: u8 = 0x89;
pub(super) const PONG: u8 = 0x8A;
/// Cleared in the first byte if more fragments follow.
pub(super) const FIN: u8 = 0x80;

/// A frame of `sender` with `first` as its first byte; a client masks it.
pub(super) fn frame(sender: Side, first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = header(sender, first, payload.len() as u64);
    match sender {
        Side::Client => {
            frame.extend(payload.iter().zip(KEY.iter().cycle()).map(|(byte, key)| byte ^ key))
        }
        Side::Server => frame.extend_from_slice(payload),
    }
    frame
}

/// The header of such a frame, for a payload of `len` bytes.
pub(super) fn header(sender: Side, first: u8, len: u64) -> Vec<u8> {
    let mask = if sender == Side::Client { 0x80 } else { 0 };
    let mut header = match len {
        0..126 => vec![first, mask | len.to_be_bytes()[7]],
        126..65_536 => [&[first, mask | 126], &len.to_be_bytes()[6..]].concat(),
        _ => [&[first, mask | 127], &len.to_be_bytes()[..]].concat(),
    };
    if sender == Side::Client {
        header.extend_from_slice(&KEY);
    }
    header
}

/// Takes one frame of `sender` off the front of `bytes`: its first byte and its payload.
pub(super) fn take_frame(sender: Side, bytes: &mut &[u8]) -> (u8, Vec<u8>) {
    let mut take = |len: usize| {
        let (taken, rest) = bytes.split_at(len);
        *bytes = rest;
        taken.to_vec()
    };
    let start = take(2);
    assert_eq!(start[1] & 0x80 != 0, sender == Side::Client, "clients mask, servers do not");
    let len = match start[1] & 0x7F {
        126 => take(2).iter().fold(0, |len, byte| len << 8 | usize::from(*byte)),
        127 => take(8).iter().fold(0, |len, byte| len << 8 | usize::from(*byte)),
        len => usize::from(len),
    };
    let key = if sender == Side::Client { take(4) } else { vec![0; 4] };
    let payload = take(len).iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key).collect();
    (start[0], payload)
}

/// The role at the other end.
pub(super) fn other(role: Side) -> Side {
    match role {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    }
}

/// Feeds a connection of `role` one piece after the other, then the end of the connection. Returns lines: what it
/// understood, and what it sent, marked with `>`.
pub(super) fn play<'p>(
    role: Side,
    limits: Limits,
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> Vec<String> {
    play_on(WebSocket::established(role, limits, 1), role, pieces)
}

/// The same, on `connection`.
pub(super) fn play_on<'p>(
    mut connection: WebSocket,
    role: Side,
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> Vec<String> {
    let mut lines = Vec::new();
    for piece in pieces {
        let mut tx = Vec::new();
        let is_broken = feed(&mut connection, piece, &mut tx, &mut lines);
        let mut sent = &*tx;
        while !sent.is_empty() {
            let (first, payload) = take_frame(role, &mut sent);
            lines.push(format!("> {}", sent_frame(first, &payload)));
        }
        if is_broken {
            return lines;
        }
    }
    lines.push(match connection.end() {
        Ok(event) => format!("end {}", describe(&event)),
        Err(error) => format!("end {error}"),
    });
    lines
}

/// Feeds `connection` a piece and adds what it understood to `lines`. Returns true if the peer broke the protocol.
pub(super) fn feed(
    connection: &mut WebSocket,
    piece: &[u8],
    tx: &mut Vec<u8>,
    lines: &mut Vec<String>,
) -> bool {
    let mut piece = piece.to_vec();
    let mut input = Input::new(&mut piece);
    loop {
        match connection.receive(&mut input, tx) {
            Ok(Some(event)) => lines.push(describe(&event)),
            Ok(None) => {
                assert!(input.is_empty(), "a connection that needs more has taken all");
                return false;
            }
            Err(error) => {
                lines.push(format!("error {error}"));
                return true;
            }
        }
    }
}

fn describe(event: &Event<'_>) -> String {
    match event {
        Event::Closed(closed) => format!("closed {:?} {:?}", closed.code, closed.reason),
        Event::Message(Message { kind: Kind::Binary, payload }) => {
            format!("binary {}", shown(payload))
        }
        Event::Message(Message { kind: Kind::Text, payload }) => format!("text {}", shown(payload)),
        Event::Open => "open".to_owned(),
        Event::Ping(payload) => format!("ping {}", shown(payload)),
        Event::Pong(payload) => format!("pong {}", shown(payload)),
        Event::Answer(_) | Event::Part(_) | Event::Pushed(_) | Event::Redirected => {
            format!("{event:?}")
        }
        Event::Refused { code, body, .. } => format!("refused {code} {}", shown(body)),
        Event::Response(response) => format!("{response:?}"),
        Event::Secured(_) => "secured".to_owned(),
    }
}

fn sent_frame(first: u8, payload: &[u8]) -> String {
    match (first, payload) {
        (CLOSE, []) => "close".to_owned(),
        (CLOSE, [high, low, reason @ ..]) => {
            format!("close {} {}", u16::from_be_bytes([*high, *low]), shown(reason))
        }
        (PONG, payload) => format!("pong {}", shown(payload)),
        _ => format!("frame {first:#x} {}", shown(payload)),
    }
}

/// A short payload in full; a long one as its length and a checksum.
fn shown(payload: &[u8]) -> String {
    if payload.len() <= 125 {
        return payload.escape_ascii().to_string();
    }
    let sum =
        payload.iter().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(*byte)));
    format!("{} bytes {sum:08x}", payload.len())
}

const KEY: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];
