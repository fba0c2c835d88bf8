//! Properties that hold for any input: a client answers the same however its input is cut, and it can write what it
//! reads.

use super::message::{self, Writer};
use super::{Comet, Limits};
use crate::contract::{Event, Input, Kind, Message, Protocol, Second};
use crate::http1::{self, Http1, Request, RequestParts};
use crate::transcript::{On, check_splits_of_replies};
use std::sync::{Arc, LazyLock};

static REQUEST: LazyLock<Arc<Request>> = LazyLock::new(|| {
    let parts = RequestParts {
        method: "POST".to_owned(),
        target: "/".to_owned(),
        host: "h".to_owned(),
        headers: Vec::new(),
    };
    Arc::new(Request::new(&parts).expect("the parts are well-formed"))
});

/// Feeds bytes to the first connection of a client that was just opened, and to the second of one that publishes.
pub fn fuzz_bayeux_session(bytes: &[u8]) {
    check_splits_of_replies(bytes, &opened);
    check_splits_of_replies(bytes, &publishing);
}

/// Checks that a batch that is read and written again reads as the same batch.
pub fn fuzz_bayeux_batch(bytes: &[u8]) {
    let limits = message::Limits { messages_max: 16 };
    let Ok(batch) = message::read(bytes, &limits) else { return };
    let write = |batch: &[message::Envelope<'_>]| {
        let mut written = Vec::new();
        let mut writer = Writer::new(&mut written);
        batch.iter().for_each(|message| writer.push(message));
        writer.finish();
        written
    };
    let written = write(&batch);
    let again = message::read(&written, &limits).expect("what was written can be read");
    assert_eq!(write(&again), written);
}

fn opened() -> Comet<Http1> {
    let http = || Http1::client(Arc::clone(&REQUEST), http1::Limits::default());
    let mut comet = Comet::new(http(), http(), Limits::default());
    comet.open(&mut Vec::new());
    comet
}

fn publishing() -> On<Second, Comet<Http1>> {
    let mut comet = opened();
    let mut bytes = OPENING.as_bytes().to_vec();
    let mut input = Input::new(&mut bytes);
    let opened = comet.receive(&mut input, &mut Vec::new());
    assert!(matches!(opened, Ok(Some(Event::Open))), "{opened:?}");
    let message = Message { kind: Kind::Text, payload: b"0" };
    comet.send(message, &mut Vec::new()).expect("the session is open");
    On::new(comet)
}

/// Two answers that open a session.
const OPENING: &str = concat!(
    "HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n",
    r#"[{"channel":"/meta/handshake","successful":true,"clientId":"a"}]"#,
    "HTTP/1.1 200 OK\r\nContent-Length: 49\r\n\r\n",
    r#"[{"channel":"/meta/subscribe","successful":true}]"#,
);
