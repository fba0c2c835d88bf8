//! The opening handshake while it is awaited: collects the head and feeds it to [`super::handshake`].

use super::handshake::{
    Accepted, ClientHandshake, HEAD_LEN_MAX, HandshakeError, Request, ServerHandshake,
    ServerOptions,
};
use crate::contract::Input;
use crate::http1::HeadError;
use std::sync::Arc;

/// An opening handshake that is not complete.
#[derive(Debug)]
pub(super) struct Handshake {
    /// The bytes that have arrived so far, if they did not arrive in one piece; at most [`HEAD_LEN_MAX`] bytes.
    head: Vec<u8>,
    side: Side,
}

/// Our side of the handshake: each role awaits the head of the other.
#[derive(Debug)]
enum Side {
    /// We are the client and await the response.
    Client(ClientHandshake),
    /// We are the server and await the request.
    Server(ServerHandshake),
}

impl Handshake {
    /// Sends `request` with a key from `seed`, and awaits the response.
    pub(super) fn client(request: Arc<Request>, seed: u64) -> Self {
        Self { head: Vec::new(), side: Side::Client(ClientHandshake::new(request, seed)) }
    }

    /// Awaits a request.
    pub(super) fn server(options: Arc<ServerOptions>) -> Self {
        Self { head: Vec::new(), side: Side::Server(ServerHandshake::new(options)) }
    }

    /// Appends the request to `tx`, if we are the client.
    pub(super) fn write(&self, tx: &mut Vec<u8>) {
        match &self.side {
            Side::Client(handshake) => handshake.write(tx),
            Side::Server(_) => {}
        }
    }

    /// Takes the head off the front of `input`, and no byte that follows it; the answer of a server is appended to
    /// `tx`. Returns the agreed parameters, once the handshake is complete.
    ///
    /// # Errors
    ///
    /// As [`ClientHandshake::read`] and [`ServerHandshake::read`]; `OverLimit` also if the interim responses before the
    /// final one are too long in total.
    pub(super) fn read(
        &mut self,
        input: &mut Input<'_>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Accepted>, HandshakeError> {
        let seen_len = self.head.len();
        let part = &input.peek()[..input.len().min(HEAD_LEN_MAX - seen_len)];
        let head = if seen_len == 0 {
            part
        } else {
            self.head.extend_from_slice(part);
            &self.head
        };
        let accepted = match &mut self.side {
            Side::Client(handshake) => handshake.read(head)?,
            Side::Server(handshake) => handshake.read(head, tx)?,
        };
        if let Some(accepted) = accepted {
            input.take(accepted.head_len - seen_len);
            return Ok(Some(accepted));
        }
        if head.len() == HEAD_LEN_MAX {
            return Err(HeadError::OverLimit { max: HEAD_LEN_MAX }.into());
        }
        if seen_len == 0 {
            self.head.extend_from_slice(part);
        }
        input.take_all();
        Ok(None)
    }

    /// The error for a connection that ends now.
    pub(super) fn cut_off(&self) -> HandshakeError {
        match &self.side {
            Side::Client(handshake) => handshake.cut_off(&self.head),
            Side::Server(handshake) => handshake.cut_off(&self.head),
        }
    }
}
