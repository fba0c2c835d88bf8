//! A client whose owner writes complete requests and is handed each response with its status and head.

use super::error::PeerError;
use super::limits::Limits;
use super::responses::{Arrived, Asked, Delivery, Responses};
use crate::contract::{Closed, Event, Input, Message, MisuseError};

/// The client's end of a connection on which every request may differ.
#[derive(Debug)]
pub(super) struct Exchanges(Responses);

impl Exchanges {
    pub(super) fn new(delivery: Delivery, limits: Limits) -> Self {
        Self(Responses::new(delivery, limits))
    }

    /// Sends a request; the payload of the message is its head and body.
    pub(super) fn send(
        &mut self,
        message: Message<'_>,
        tx: &mut Vec<u8>,
    ) -> Result<(), MisuseError> {
        self.send_in_place(tx, &mut |tx| tx.extend_from_slice(message.payload))
    }

    /// Sends the request that `append` appends.
    pub(super) fn send_in_place(
        &mut self,
        tx: &mut Vec<u8>,
        append: &mut dyn FnMut(&mut Vec<u8>),
    ) -> Result<(), MisuseError> {
        let start = tx.len();
        append(tx);
        let sent = self.asked(&tx[start..]);
        if sent.is_err() {
            tx.truncate(start);
        }
        sent
    }

    fn asked(&mut self, request: &[u8]) -> Result<(), MisuseError> {
        // Most requests have no body; only the others are searched.
        let has_head = request.ends_with(HEAD_END)
            || request.windows(HEAD_END.len()).any(|part| part == HEAD_END);
        if !has_head {
            return Err(MisuseError::Malformed { expected: "a request with a whole head" });
        }
        let is_head = request.starts_with(b"HEAD ");
        self.0.asked(Asked { closes: false, is_head, keeps_heads: true })
    }

    pub(super) fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        Ok(self.0.receive(input)?.map(event))
    }

    pub(super) fn close(&mut self) {
        self.0.close();
    }

    pub(super) fn end(&mut self) -> Result<Event<'_>, PeerError> {
        self.0.end().map(event)
    }
}

fn event(arrived: Arrived<'_>) -> Event<'_> {
    match arrived {
        Arrived::Closed => Event::Closed(Closed::default()),
        Arrived::Response(response, _) => Event::Response(response),
    }
}

/// The end of a head.
const HEAD_END: &[u8] = b"\r\n\r\n";
