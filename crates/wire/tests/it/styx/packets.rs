//! Packets as bytes: the published examples, and what is refused.

use super::memory::event;
use wire::styx::load_test::{LoadRequest, LoadResponse};
use wire::styx::packets::{
    GameTransport, LobbySubscribe, LobbyType, LoginRequest, Ping, TableChat, TableSnapshot,
};
use wire::styx::{DecodeError, Definition, Limits, Packet, TEXT_LEN_MAX, frames};
use wire::{Event, Input, Kind, Message, Protocol};

/// The published bytes of two packets, and a subscription worked out by hand.
#[test]
fn frames_are_what_the_server_sends() {
    let login = LoginRequest { user: "Bot_1".into(), password: "1".into(), ..Default::default() };
    let subscribe = LobbySubscribe { kind: LobbyType::Mtt, gameid: -2, address: "/".into() };
    #[rustfmt::skip]
    let table: [(Packet<'_>, &str); _] = [
        (login.into(), "000000170a0005426f745f310001310000000000000000"),
        (Ping { id: 5 }.into(), "000000090700000005"),
        (subscribe.into(), "0000000d9101fffffffe00012f"),
    ];
    for (packet, hex) in table {
        let mut tx = frame(&packet);
        let sent: String = tx.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(sent, hex, "{packet:?}");
        let mut styx = frames(Limits::default());
        let received = styx.receive(&mut Input::new(&mut tx), &mut Vec::new()).unwrap().unwrap();
        let Event::Message(message) = received else { panic!("{received:?}") };
        assert_eq!(Packet::decode(message.payload), Ok(packet));
    }
}

#[test]
fn an_event_and_its_answer_have_the_published_lengths() {
    let request = LoadRequest { pid: 1, tableid: 1, seq: 1, ..LoadRequest::default() };
    assert_eq!(frame(&event(&request.pack())).len(), 43);
    assert_eq!(frame(&event(&LoadResponse::from(&request).pack())).len(), 39);
}

#[test]
fn there_are_51_packets() {
    let definition = Definition::firebase();
    assert_eq!(definition.packets().count(), 51);
    for (class_id, name) in definition.packets() {
        let packet = Packet::empty(class_id).unwrap();
        assert_eq!((packet.class_id(), packet.name()), (class_id, name));
    }
    let unused = (0..=255).filter(|class_id| Packet::empty(*class_id).is_none());
    for class_id in unused {
        assert_eq!(Packet::decode(&[class_id]), Err(DecodeError::UnknownClass { class_id }));
    }
}

#[test]
fn payloads_that_are_no_packets_are_refused() {
    #[rustfmt::skip]
    let table: [(&[u8], DecodeError); _] = [
        (b"", DecodeError::NoClassId),
        (b"\x09", DecodeError::UnknownClass { class_id: 9 }),
        (b"\x07\0\0\0", DecodeError::Cut { needed: 4, left: 3 }),
        (b"\x07\0\0\0\x05x", DecodeError::Trailing { len: 1 }),
        (b"\x0c\x02", DecodeError::NotBool { value: 2 }),
        (b"\x23\0\0\0\x01\x03", DecodeError::UnknownOrdinal { ordinal: 3, count: 3 }),
        (b"\x50\0\0\0\x01\0\0\0\x01\0\x02\xc3(", DecodeError::NotUtf8),
        (b"\x50\0\0\0\x01\0\0\0\x01\0\x03\xed\xa0\x80", DecodeError::NotUtf8), // half of a pair
        (b"\x50\0\0\0\x01\0\0\0\x01\xff\xffa", DecodeError::Cut { needed: 65535, left: 1 }),
        (b"\x2a\0\0\0\x01\0\0\0\x02\0\0\0\x01", DecodeError::ListLen { len: 2, left: 4 }),
        (b"\x0a\0\0\0\0\0\0\0\0\0\0\0\x02a", DecodeError::ListLen { len: 2, left: 1 }),
    ];
    for (payload, error) in table {
        assert_eq!(Packet::decode(payload), Err(error), "{}", payload.escape_ascii());
        let dynamic = Definition::firebase().unpack_json(payload);
        assert_eq!(dynamic, Err(error), "{}", payload.escape_ascii());
    }
}

#[test]
fn text_that_has_no_length_is_cut_between_two_characters() {
    let chat = |message| Packet::from(TableChat { tableid: 1, pid: 1, message });
    let long = format!("a{}", "é".repeat(TEXT_LEN_MAX));
    let mut payload = Vec::new();
    chat(long.as_str().into()).encode(&mut payload);
    assert_eq!(payload.len(), 1 + 4 + 4 + 2 + TEXT_LEN_MAX);
    assert_eq!(Packet::decode(&payload), Ok(chat(long[..TEXT_LEN_MAX].into())));
}

#[test]
fn what_a_packet_holds_is_borrowed_from_its_payload() {
    let mut payload = Vec::new();
    let snapshot = TableSnapshot { address: "/a".into(), name: "b".into(), ..Default::default() };
    Packet::from(snapshot).encode(&mut payload);
    let Ok(Packet::TableSnapshot(snapshot)) = Packet::decode(&payload) else { panic!() };
    assert!(payload.as_ptr_range().contains(&snapshot.address.as_ptr()));
    payload.clear();
    event(b"gamedata").encode(&mut payload);
    let Ok(Packet::GameTransport(GameTransport { gamedata, .. })) = Packet::decode(&payload) else {
        panic!()
    };
    assert!(payload.as_ptr_range().contains(&gamedata.as_ptr()));
}

fn frame(packet: &Packet<'_>) -> Vec<u8> {
    let (mut payload, mut tx) = (Vec::new(), Vec::new());
    packet.encode(&mut payload);
    let message = Message { kind: Kind::Binary, payload: &payload };
    frames(Limits::default()).send(message, &mut tx).expect("it is short");
    tx
}
