//! Properties of any stream of events.

use super::{Event, Limits, MARK, Parser, PeerError};
use crate::contract::Input;

/// Compares a stream with its definition, and with itself split in other ways.
pub(crate) fn fuzz_sse(bytes: &[u8]) {
    let limits = Limits { event_len_max: 1 << 10 };
    let whole = events_of([bytes], limits);
    assert_eq!(events_of(bytes.chunks(1), limits), whole, "byte by byte");
    for cut in crate::transcript::cuts(bytes) {
        assert_eq!(events_of(<[_; 2]>::from(bytes.split_at(cut)), limits), whole, "cut at {cut}");
    }
    if let (events, Ok(last)) = &whole {
        let (expected, last_id) = by_definition(bytes);
        assert_eq!((events, last), (&expected, &last_id));
    }
}

/// The name, the data and the id of an event.
pub(super) type Found = (Vec<u8>, Vec<u8>, Vec<u8>);

/// The events of a stream in pieces, and then the last id or the error.
pub(super) fn events_of<'p>(
    pieces: impl IntoIterator<Item = &'p [u8]>,
    limits: Limits,
) -> (Vec<Found>, Result<Vec<u8>, PeerError>) {
    let mut parser = Parser::new(limits);
    let mut events = Vec::new();
    for piece in pieces {
        let mut bytes = piece.to_vec();
        let mut input = Input::new(&mut bytes);
        loop {
            match parser.next(&mut input) {
                Ok(Some(Event { name, data, id })) => {
                    events.push((name.to_vec(), data.to_vec(), id.to_vec()));
                }
                Ok(None) => break,
                Err(error) => return (events, Err(error)),
            }
        }
        assert!(input.is_empty(), "a reader that needs more has taken all");
    }
    (events, Ok(parser.last_id().to_vec()))
}

/// The same for a whole stream, line by line as in the definition.
fn by_definition(bytes: &[u8]) -> (Vec<Found>, Vec<u8>) {
    let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
    let one_end: Vec<u8> = bytes
        .iter()
        .enumerate()
        .filter(|(at, byte)| **byte != b'\n' || *at == 0 || bytes[at - 1] != b'\r')
        .map(|(_, byte)| if *byte == b'\r' { b'\n' } else { *byte })
        .collect();
    let (mut events, mut name, mut data, mut id) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut last_id = Vec::new();
    let mut lines: Vec<&[u8]> = one_end.split(|byte| *byte == b'\n').collect();
    lines.pop(); // It has no end.
    for line in lines {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (field, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let value = value.strip_prefix(b" ").unwrap_or(value).to_vec();
        match field {
            _ if line.is_empty() => {
                let lines: Vec<Vec<u8>> = std::mem::take(&mut data);
                let name = std::mem::take(&mut name);
                last_id.clone_from(&id);
                if !lines.is_empty() {
                    events.push((name, lines.join(&b'\n'), Vec::clone(&id)));
                }
            }
            b"data" => data.push(value),
            b"event" => name = value,
            b"id" if !value.contains(&0) => id = value,
            _ => {}
        }
    }
    (events, last_id)
}
