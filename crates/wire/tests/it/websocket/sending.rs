//! The bytes that are sent for a message.

use super::peer::{BINARY, TEXT, header, take_frame};
use wire::websocket::{Limits, WebSocket};
use wire::{Kind, Message, MisuseError, Protocol, Side};

#[test]
fn a_message_is_one_frame_of_its_kind_behind_what_was_there() {
    let payload = vec![b'x'; 70_000];
    for role in [Side::Client, Side::Server] {
        let mut connection = WebSocket::established(role, Limits::default(), 1);
        for len in [0, 1, 7, 8, 63, 64, 65, 125, 126, 65_535, 65_536, 70_000] {
            for (kind, first) in [(Kind::Text, TEXT), (Kind::Binary, BINARY)] {
                let mut tx = b"before".to_vec();
                connection.send(Message { kind, payload: &payload[..len] }, &mut tx).unwrap();
                let mut sent = tx.strip_prefix(b"before").unwrap();
                assert_eq!(
                    sent.len(),
                    header(role, first, len as u64).len() + len,
                    "{role:?}, {len} bytes"
                );
                assert_eq!(
                    take_frame(role, &mut sent),
                    (first, payload[..len].to_vec()),
                    "{role:?}, {len} bytes"
                );
            }
        }
    }
}

#[test]
fn every_frame_of_a_client_has_a_fresh_mask_that_the_seed_determines() {
    let masks = |seed| {
        let mut client = WebSocket::established(Side::Client, Limits::default(), seed);
        let mut mask = || {
            let mut tx = Vec::new();
            client.send(MESSAGE, &mut tx).unwrap();
            tx[2..6].to_vec()
        };
        [mask(), mask(), mask()]
    };
    assert_eq!(masks(1), masks(1));
    let mut all = [masks(1), masks(2)].concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 6, "{all:x?}");
}

#[test]
fn what_may_not_be_sent_leaves_nothing_behind() {
    let mut tx = Vec::new();
    let not_utf8 = Message { kind: Kind::Text, payload: b"caf\xe9" };
    let mut connection = WebSocket::established(Side::Server, Limits::default(), 1);
    assert_eq!(connection.send(not_utf8, &mut tx), Err(MisuseError::NotUtf8));
    assert_eq!(
        WebSocket::server(Limits::default()).send(MESSAGE, &mut tx),
        Err(MisuseError::NotOpen)
    );
    assert_eq!(tx, b"");

    assert!(connection.close(&mut tx));
    tx.clear();
    assert_eq!(connection.send(MESSAGE, &mut tx), Err(MisuseError::NotOpen));
    assert_eq!(tx, b"");
}

const MESSAGE: Message<'static> = Message { kind: Kind::Text, payload: b"x" };
