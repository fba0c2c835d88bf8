//! Packets and the memory that they take, or must not take.

use crate::websocket::allocation::memory_of;
use wire::styx::load_test::{LoadRequest, LoadResponse};
use wire::styx::packets::GameTransport;
use wire::styx::{DecodeError, Packet};

/// A packet of the load-test game.
pub(super) fn event(gamedata: &[u8]) -> Packet<'_> {
    let gamedata = gamedata.into();
    GameTransport { tableid: 1, pid: 1, gamedata, attributes: Vec::new() }.into()
}

#[test]
fn an_event_and_its_answer_take_no_memory_as_bytes() {
    let mut payload = Vec::new();
    event(&LoadRequest { pid: 1, ..LoadRequest::default() }.pack()).encode(&mut payload);
    let mut out = Vec::with_capacity(payload.len());
    let (answered, peak, _) = memory_of(|| {
        let Ok(Packet::GameTransport(transport)) = Packet::decode(&payload) else { return false };
        let Ok(request) = LoadRequest::unpack(&transport.gamedata) else { return false };
        event(&LoadResponse::from(&request).pack()).encode(&mut out);
        true
    });
    assert_eq!((answered, peak), (true, 0));
}

#[test]
fn an_event_as_json_takes_the_memory_of_its_gamedata() {
    let mut text = Vec::new();
    event(&LoadRequest { pid: 1, ..LoadRequest::default() }.pack()).write_json(&mut text);
    let mut out = Vec::with_capacity(text.len());
    let (read, peak, _) = memory_of(|| {
        let Ok(packet) = Packet::read_json(&text) else { return false };
        packet.write_json(&mut out);
        true
    });
    assert_eq!((read, &out), (true, &text));
    // Base64 reserves for the most that the text could hold, before it knows the padding.
    assert!((LoadRequest::LEN..=24).contains(&peak), "{peak} bytes");
}

/// A list of `i32`, one of text, one of structs, and bytes, each with a negative length and with the largest one.
#[test]
fn lists_that_cannot_come_take_no_memory() {
    for len in [i32::MIN, i32::MAX, -1] {
        for before in [
            &b"\x2a\0\0\0\x01"[..],
            b"\x90\0\0\0\x01\0\0\0\0\0\0",
            b"\x99",
            b"\x0a\0\0\0\0\0\0\0\0",
        ] {
            let payload = [before, &len.to_be_bytes(), b"left"].concat();
            let (decoded, peak, _) = memory_of(|| Packet::decode(&payload).map(drop));
            assert_eq!(decoded, Err(DecodeError::ListLen { len, left: 4 }), "{before:?}");
            assert_eq!(peak, 0, "{before:?}");
        }
    }
}

/// Elements are larger in memory than as bytes, but not by more than this.
#[test]
fn a_list_takes_memory_in_proportion_to_its_bytes() {
    const ELEMENTS: u32 = 8000;
    // Texts of no bytes: 2 bytes each.
    let mut payload = b"\x90\0\0\0\x01\0\0\0\0\0\0".to_vec();
    payload.extend_from_slice(&ELEMENTS.to_be_bytes());
    payload.resize(payload.len() + 2 * ELEMENTS as usize, 0);
    let (decoded, peak, _) = memory_of(|| Packet::decode(&payload).is_ok());
    assert!(decoded && peak <= 12 * payload.len(), "{peak} bytes");
}

/// An empty object is 3 bytes of text, and a whole struct in memory; the list doubles as it grows.
#[test]
fn a_list_in_json_takes_memory_in_proportion_to_its_text() {
    let lists = [
        (39, "seats"),
        (100, "attributes"),
        (153, "snapshots"),
        (154, "updates"),
        (155, "snapshots"),
        (170, "params"),
    ];
    for (class_id, list) in lists {
        let elements = "{},".repeat(10_000);
        let text = format!(r#"{{"{list}":[{elements}{{}}],"classId":{class_id}}}"#);
        let (read, peak, _) = memory_of(|| Packet::read_json(text.as_bytes()).is_ok());
        assert!(read && peak <= 128 * text.len(), "{list} of {class_id}: {peak} bytes");
    }
}
