//! A property that holds for any input: a subscriber hears the same however its input is cut.

use super::{Broker, Heard, Login, Subscriber};
use crate::contract::Input;
use crate::transcript::cuts;

/// Feeds bytes to a subscriber of Redis and of NATS, with a login and without.
pub(crate) fn fuzz_broker(bytes: &[u8]) {
    for broker in [Broker::Nats, Broker::Redis] {
        for login in [None, Some(Login { user: None, password: "a".to_owned() })] {
            check_splits(bytes, &|| {
                let mut subscriber = Subscriber::new(broker, login.clone(), 64);
                let mut tx = Vec::new();
                subscriber.open(&mut tx);
                (subscriber, tx)
            });
        }
    }
}

/// Feeds subscribers `bytes` whole, byte by byte, and cut in two. Returns what all of them heard, in words, and what
/// they sent.
pub(super) fn check_splits(
    bytes: &[u8],
    made: &dyn Fn() -> (Subscriber, Vec<u8>),
) -> (String, String) {
    let whole = heard(made(), [bytes]);
    assert_eq!(heard(made(), bytes.chunks(1)), whole, "byte by byte");
    for cut in cuts(bytes) {
        let (left, right) = bytes.split_at(cut);
        assert_eq!(heard(made(), [left, right]), whole, "cut at {cut}");
    }
    whole
}

fn heard<'p>(
    (mut subscriber, mut tx): (Subscriber, Vec<u8>),
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> (String, String) {
    let mut events = Vec::new();
    'all: for piece in pieces {
        let mut piece = piece.to_vec();
        let mut input = Input::new(&mut piece);
        loop {
            match subscriber.receive(&mut input, &mut tx) {
                Ok(None) => break,
                Ok(Some(Heard::Alive)) => events.push("alive".to_owned()),
                Ok(Some(Heard::Message { channel, payload })) => {
                    events.push(format!("{}: {}", channel.escape_ascii(), payload.escape_ascii()));
                }
                Ok(Some(Heard::Open)) => events.push("open".to_owned()),
                Ok(Some(Heard::Refused { said })) => events.push(format!("refused: {said}")),
                Err(error) => {
                    events.push(format!("error: {error}"));
                    break 'all;
                }
            }
        }
        assert!(input.is_empty(), "a machine that needs more has taken all");
    }
    (events.join("; "), String::from_utf8(tx).expect("we wrote text"))
}
