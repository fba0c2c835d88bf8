//! A client's end of a connection whose server speaks first: its greetings are part of the opening handshake.
//!
//! A greeting is a message where the protocol inside has messages. On a stream of bytes it is a line: nothing else
//! marks its end, and bytes after the last line feed would be taken for the beginning of a reply. Each is handed out as
//! a notice; after the last one the connection is open.
//!
//! Left out: the meaning of greetings, and their number, which is determined beforehand (crate `run`).

use crate::contract::{
    Event, InPlace, Input, Kind, Layers, Message, MisuseError, Opening, PeerError, Protocol, Push,
    Pushed,
};

/// A client's end of a connection, around one that carries its messages.
#[derive(Debug)]
pub struct Greeted<C> {
    inner: C,
    /// Number of greetings that have not arrived yet.
    awaited: u32,
    /// True if the protocol inside has no messages, only bytes.
    is_stream: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The greetings are not complete, or that has yet to be reported.
    AwaitGreetings,
    /// Nothing was sent yet: whatever arrives was not asked for.
    AwaitFirst,
    /// Replies arrive.
    Open,
}

impl<C: Protocol> Greeted<C> {
    /// A client to which the server first sends `greetings` messages, over a connection without framing if `is_stream`.
    pub fn client(inner: C, greetings: u32, is_stream: bool) -> Self {
        Self { inner, awaited: greetings, is_stream, state: State::AwaitGreetings }
    }

    /// Notes that something is about to be sent: replies follow from now on.
    fn begin(&mut self) -> Result<&mut C, MisuseError> {
        if self.state == State::AwaitGreetings {
            return Err(MisuseError::NotOpen);
        }
        self.state = State::Open;
        Ok(&mut self.inner)
    }

    /// Takes the next greeting on a stream; if it is not complete, takes the part that has arrived.
    fn line<'a, 'b: 'a>(&mut self, input: &mut Input<'b>) -> Option<Event<'a>> {
        let end = input.peek().iter().position(|byte| *byte == b'\n');
        let Some(end) = end else {
            input.take_all();
            return None;
        };
        self.awaited -= 1;
        Some(Event::Pushed(Pushed::plain(Push::Notice, input.take(end + 1))))
    }
}

impl<C: Protocol> Protocol for Greeted<C> {
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening {
        let opening = self.inner.open(tx);
        if self.awaited > 0 {
            return Opening::Awaited;
        }
        self.state = State::AwaitFirst;
        opening
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        self.begin()?.send(message, tx)
    }

    #[inline]
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        match self.state {
            State::Open => return self.inner.receive(input, tx),
            State::AwaitGreetings if self.awaited == 0 => {
                self.state = State::AwaitFirst;
                return Ok(Some(Event::Open));
            }
            State::AwaitGreetings if self.is_stream => return Ok(self.line(input)),
            State::AwaitFirst if self.is_stream && !input.is_empty() => {
                let payload = input.take_all();
                return Ok(Some(Event::Message(Message { kind: Kind::Binary, payload })));
            }
            State::AwaitGreetings | State::AwaitFirst => {}
        }
        Ok(match self.inner.receive(input, tx)? {
            Some(Event::Message(Message { payload, .. })) if self.awaited > 0 => {
                self.awaited -= 1;
                Some(Event::Pushed(Pushed::plain(Push::Notice, payload)))
            }
            // It is open for us, but not for messages of our owner.
            Some(Event::Open) if self.awaited > 0 => Some(Event::Ping(b"")),
            event => event,
        })
    }

    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        self.inner.close(tx)
    }

    fn end(&mut self) -> Result<Event<'_>, PeerError> {
        self.inner.end()
    }

    fn awaits_rest(&self) -> bool {
        self.inner.awaits_rest()
    }

    fn ping(&mut self, payload: &[u8], tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        self.inner.ping(payload, tx)
    }

    fn layers(&self) -> Layers {
        self.inner.layers()
    }
}

impl<C: InPlace> InPlace for Greeted<C> {
    fn send_in_place(
        &mut self,
        kind: Kind,
        len: usize,
        tx: &mut Vec<u8>,
        append: &mut dyn FnMut(&mut Vec<u8>),
    ) -> Result<(), MisuseError> {
        self.begin()?.send_in_place(kind, len, tx, append)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::{Limits, Lines};
    use crate::raw::Raw;

    #[test]
    fn what_comes_before_the_first_message_is_no_reply() {
        #[rustfmt::skip]
        let table: [(u32, bool, &str, &[&str]); _] = [
            // greetings, is a stream, what the server says, what comes out
            (0, true,  "hi\n",       &["message hi\n"]),
            (1, true,  "hi\n",       &["notice hi\n", "open"]),
            (1, true,  "hi\nho\n",   &["notice hi\n", "open", "message ho\n"]),
            (2, true,  "hi\nho\n",   &["notice hi\n", "notice ho\n", "open"]),
            (2, true,  "hi\nho",     &["notice hi\n"]),
            (1, false, "hi\nho\n",   &["notice hi", "open", "message ho"]),
            (2, false, "hi\n",       &["notice hi"]),
        ];
        for row @ (greetings, is_stream, said, expected) in table {
            let mut client = client(greetings, is_stream);
            let opening = client.open(&mut Vec::new());
            assert_eq!(opening == Opening::Awaited, greetings > 0, "{row:?}");
            assert_eq!(events(&mut client, said), expected, "{row:?}");
        }
    }

    #[test]
    fn a_greeting_may_come_in_pieces() {
        for is_stream in [true, false] {
            let mut client = client(1, is_stream);
            client.open(&mut Vec::new());
            let heard: Vec<String> =
                ["h", "i", "\n"].iter().flat_map(|piece| events(&mut client, piece)).collect();
            assert_eq!(heard.len(), 2, "{heard:?}");
            assert_eq!(heard[1], "open");
        }
    }

    #[test]
    fn replies_come_as_the_protocol_inside_cuts_them_once_something_was_sent() {
        let message = Message { kind: Kind::Text, payload: b"echo" };
        let mut client = client(1, true);
        client.open(&mut Vec::new());
        assert_eq!(client.send(message, &mut Vec::new()), Err(MisuseError::NotOpen));
        events(&mut client, "hi\n");
        let mut tx = Vec::new();
        client.send(message, &mut tx).unwrap();
        assert_eq!(tx, b"echo");
        assert_eq!(events(&mut client, "echoec"), ["message echo"]);
        assert_eq!(events(&mut client, "ho"), ["message echo"]);
    }

    /// Replies of a stream have four bytes.
    fn client(greetings: u32, is_stream: bool) -> Greeted<crate::Connection> {
        let inner: crate::Connection = match is_stream {
            true => Raw::client(4).into(),
            false => Lines::new(Limits::default()).into(),
        };
        Greeted::client(inner, greetings, is_stream)
    }

    fn events(client: &mut Greeted<crate::Connection>, said: &str) -> Vec<String> {
        let mut bytes = said.as_bytes().to_vec();
        let mut input = Input::new(&mut bytes);
        let mut heard = Vec::new();
        while let Some(event) = client.receive(&mut input, &mut Vec::new()).unwrap() {
            let words = |payload: &[u8]| String::from_utf8_lossy(payload).into_owned();
            heard.push(if let Event::Message(message) = &event {
                format!("message {}", words(message.payload))
            } else if let Event::Pushed(pushed) = &event {
                format!("notice {}", words(pushed.payload))
            } else {
                format!("{event:?}").to_lowercase()
            });
        }
        heard
    }
}
