//! One type for the connections of all protocols.

use crate::bayeux::Comet;
use crate::contract::{
    Event, InPlace, Input, Kind, Layers, Message, MisuseError, Opening, PeerError, Protocol,
    TwoSockets,
};
use crate::conversation::{Before, Calls, Next, Note, Stream, Talk};
use crate::framed::Framed;
use crate::game::Bot;
use crate::greeted::Greeted;
use crate::http1::{Following, Http1, StreamPiece};
use crate::lines::Lines;
use crate::mqtt::Mqtt;
use crate::over_http::OverHttp;
use crate::raw::Raw;
use crate::socketio::{SocketIo, Upgrading};
use crate::sockjs::SockJs;
use crate::tls::Tls;
use crate::web::{Spoken, Web};
use crate::websocket::WebSocket;
use units::Nanos;

/// One end of a connection of any protocol, for owners who learn its kind at run time.
#[derive(Debug)]
pub enum Connection {
    /// The HTTP exchanges before a conversation.
    Before(Box<Before<Self>>),
    /// A client that holds a conversation over HTTP, inside TLS or not.
    Calls(Box<Calls<Self>>),
    /// Bayeux over two HTTP connections.
    Comet(Box<Comet<Self>>),
    /// HTTP/1.1 that follows redirects, inside TLS or not.
    Following(Box<Following<Self>>),
    /// Length-prefixed messages; Styx, too.
    Framed(Framed),
    /// A bot of a game, on any connection that carries its packets.
    Game(Box<Bot<Self>>),
    /// A client whose server speaks first, inside TLS or not.
    Greeted(Box<Greeted<Self>>),
    /// HTTP/1.1.
    Http1(Http1),
    /// Lines of text.
    Lines(Lines),
    /// An MQTT client, on any connection that carries its packets.
    Mqtt(Box<Mqtt<Self>>),
    /// Texts over one or two HTTP connections.
    OverHttp(Box<OverHttp<Self>>),
    /// No framing.
    Raw(Raw),
    /// Socket.IO over WebSocket.
    SocketIo(Box<SocketIo<Self>>),
    /// SockJS, on any connection that carries its frames.
    SockJs(Box<SockJs<Self>>),
    /// Messages of a conversation on a byte stream.
    Stream(Stream),
    /// A client that holds a conversation, on any connection that carries its messages.
    Talk(Box<Talk<Self>>),
    /// Any of them inside TLS.
    Tls(Box<Tls<Self>>),
    /// Engine.IO packets over HTTP, and then over WebSocket.
    Upgrading(Box<Upgrading<Self>>),
    /// WebSocket or HTTP, depending on the first request.
    Web(Box<Web>),
    /// WebSocket.
    WebSocket(WebSocket),
}

/// Calls the same method of the protocol that the connection has.
macro_rules! each {
    ($connection:expr, $protocol:ident => $call:expr) => {
        match $connection {
            Connection::Before($protocol) => $call,
            Connection::Calls($protocol) => $call,
            Connection::Comet($protocol) => $call,
            Connection::Following($protocol) => $call,
            Connection::Framed($protocol) => $call,
            Connection::Game($protocol) => $call,
            Connection::Greeted($protocol) => $call,
            Connection::Http1($protocol) => $call,
            Connection::Lines($protocol) => $call,
            Connection::Mqtt($protocol) => $call,
            Connection::OverHttp($protocol) => $call,
            Connection::Raw($protocol) => $call,
            Connection::SocketIo($protocol) => $call,
            Connection::SockJs($protocol) => $call,
            Connection::Stream($protocol) => $call,
            Connection::Talk($protocol) => $call,
            Connection::Tls($protocol) => $call,
            Connection::Upgrading($protocol) => $call,
            Connection::Web($protocol) => $call,
            Connection::WebSocket($protocol) => $call,
        }
    };
}

impl Protocol for Connection {
    #[inline]
    fn open(&mut self, tx: &mut Vec<u8>) -> Opening {
        each!(self, protocol => protocol.open(tx))
    }

    #[inline]
    fn send(&mut self, message: Message<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        each!(self, protocol => protocol.send(message, tx))
    }

    #[inline]
    fn receive<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        each!(self, protocol => protocol.receive(input, tx))
    }

    #[inline]
    fn close(&mut self, tx: &mut Vec<u8>) -> bool {
        each!(self, protocol => protocol.close(tx))
    }

    #[inline]
    fn end(&mut self) -> Result<Event<'_>, PeerError> {
        each!(self, protocol => protocol.end())
    }

    #[inline]
    fn awaits_rest(&self) -> bool {
        each!(self, protocol => protocol.awaits_rest())
    }

    fn ping(&mut self, payload: &[u8], tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        each!(self, protocol => protocol.ping(payload, tx))
    }

    fn layers(&self) -> Layers {
        each!(self, protocol => protocol.layers())
    }
}

impl Connection {
    /// The conversation that the connection holds, if it holds one.
    pub fn talk(&mut self) -> Option<&mut Talk<Self>> {
        if let Self::Talk(talk) = self { Some(talk) } else { None }
    }

    /// Notes every message from here on, for [`Self::notes`], if the connection holds a conversation.
    pub fn note(&mut self) {
        if let Self::Before(before) = self {
            before.note();
        } else if let Self::Talk(talk) = self {
            talk.note();
        } else if let Self::Calls(calls) = self {
            calls.note();
        }
    }

    /// The messages of a conversation sent and received since the last call, oldest first, if they are noted.
    pub fn notes(&mut self) -> Vec<Note> {
        if let Self::Before(before) = self {
            before.notes()
        } else if let Self::Calls(calls) = self {
            calls.notes()
        } else {
            self.talk().map(Talk::notes).unwrap_or_default()
        }
    }

    /// The step of opening that is under way, or the exchange before it, and what it expects, in words.
    pub fn step(&self) -> Option<(String, String)> {
        if let Self::Before(before) = self {
            before.step()
        } else if let Self::Talk(talk) = self {
            talk.step()
        } else {
            None
        }
    }

    /// True until the exchanges before a conversation are answered.
    pub fn is_before(&self) -> bool {
        matches!(self, Self::Before(_))
    }

    /// The kind of its messages, if it is a server's end of WebSocket whose first request decides on the protocol
    /// ([`Web`]).
    pub fn spoken(&self) -> Spoken {
        if let Self::Web(web) = self {
            web.spoken()
        } else if let Self::Tls(tls) = self {
            tls.inner().spoken()
        } else {
            Spoken::Messages
        }
    }

    /// The head of the request whose body has not arrived in full, if it is a server's end of HTTP/1.1 that hands out
    /// whole requests.
    pub fn begun(&self) -> Option<&[u8]> {
        if let Self::Http1(http) = self {
            http.begun()
        } else if let Self::Tls(tls) = self {
            tls.inner().begun()
        } else if let Self::Web(web) = self {
            web.begun()
        } else {
            None
        }
    }

    /// Sends a piece of a stream as a server's answer to the next request in line: first its head, last its end.
    /// Between the two no message can be sent.
    ///
    /// # Errors
    ///
    /// [`MisuseError::NotOpen`] if no request of HTTP/1.1 waits for an answer.
    pub fn stream(&mut self, piece: StreamPiece<'_>, tx: &mut Vec<u8>) -> Result<(), MisuseError> {
        match self {
            Self::Http1(http) => http.stream(piece, tx),
            Self::Tls(tls) => tls.send_by(tx, |inner, tx| inner.stream(piece, tx)),
            Self::Web(web) => web.stream(piece, tx),
            Self::Before(_)
            | Self::Calls(_)
            | Self::Comet(_)
            | Self::Following(_)
            | Self::Framed(_)
            | Self::Game(_)
            | Self::Greeted(_)
            | Self::Lines(_)
            | Self::Mqtt(_)
            | Self::OverHttp(_)
            | Self::Raw(_)
            | Self::SocketIo(_)
            | Self::SockJs(_)
            | Self::Stream(_)
            | Self::Talk(_)
            | Self::Upgrading(_)
            | Self::WebSocket(_) => Err(MisuseError::NotOpen),
        }
    }

    /// Starts a proper end as [`Protocol::close`] does, for a server that goes down: over WebSocket with the code 1001
    /// (RFC 6455 §7.4.1).
    pub fn go_away(&mut self, tx: &mut Vec<u8>) -> bool {
        if let Self::Tls(tls) = self {
            tls.close_by(tx, Self::go_away)
        } else if let Self::Web(web) = self {
            web.go_away(tx)
        } else if let Self::WebSocket(websocket) = self {
            websocket.go_away(tx)
        } else {
            self.close(tx)
        }
    }

    /// Goes on over another connection to the same server, if [`Event::Closed`] or the end of this one, proper or not,
    /// calls for that: after the exchanges before a conversation, within a stream of events that is resumed, and after
    /// a redirect. If `Some`, the owner sends what is in `tx`, closes the connection, reconnects after that time, and
    /// calls [`Protocol::open`] again.
    pub fn go_on(&mut self, tx: &mut Vec<u8>) -> Option<Nanos> {
        if let Self::Calls(calls) = self {
            return calls.go_on();
        }
        if let Self::Following(following) = self {
            return following.go_on();
        }
        let Self::Before(before) = self else { return None };
        match before.go_on(tx) {
            Next::Nothing => return None,
            Next::Same => {}
            Next::Conversation(conversation) => *self = conversation,
        }
        Some(Nanos::ZERO)
    }
}

impl InPlace for Connection {
    #[inline]
    fn send_in_place(
        &mut self,
        kind: Kind,
        len: usize,
        tx: &mut Vec<u8>,
        append: &mut dyn FnMut(&mut Vec<u8>),
    ) -> Result<(), MisuseError> {
        match self {
            Self::Mqtt(mqtt) => mqtt.send_in_place(len, tx, append),
            Self::Stream(stream) => stream.send_in_place(tx, append),
            Self::Tls(tls) => {
                tls.send_by(tx, |inner, tx| inner.send_in_place(kind, len, tx, append))
            }
            Self::Upgrading(upgrading) => upgrading.send_in_place(kind, len, tx, append),
            Self::WebSocket(websocket) => websocket.send_in_place(kind, len, tx, append),
            Self::Greeted(greeted) => greeted.send_in_place(kind, len, tx, append),
            Self::Http1(http) => http.send_in_place(kind, tx, append),
            Self::Before(_)
            | Self::Calls(_)
            | Self::Comet(_)
            | Self::Following(_)
            | Self::Framed(_)
            | Self::Game(_)
            | Self::Lines(_)
            | Self::OverHttp(_)
            | Self::Raw(_)
            | Self::SocketIo(_)
            | Self::SockJs(_)
            | Self::Talk(_)
            | Self::Web(_) => {
                let mut payload = Vec::new();
                append(&mut payload);
                self.send(Message { kind, payload: &payload }, tx)
            }
        }
    }
}

impl TwoSockets for Connection {
    fn inside(&mut self) -> Option<&mut dyn TwoSockets> {
        match self {
            Self::Comet(comet) => Some(&mut **comet),
            Self::Game(bot) => Some(&mut **bot),
            Self::OverHttp(over_http) => Some(&mut **over_http),
            Self::SocketIo(socketio) => Some(&mut **socketio),
            Self::SockJs(sockjs) => Some(&mut **sockjs),
            Self::Talk(talk) => Some(&mut **talk),
            Self::Upgrading(upgrading) => Some(&mut **upgrading),
            Self::Before(_)
            | Self::Calls(_)
            | Self::Following(_)
            | Self::Framed(_)
            | Self::Greeted(_)
            | Self::Http1(_)
            | Self::Lines(_)
            | Self::Mqtt(_)
            | Self::Raw(_)
            | Self::Stream(_)
            | Self::Tls(_)
            | Self::Web(_)
            | Self::WebSocket(_) => None,
        }
    }

    fn receive_second<'a, 'b: 'a>(
        &'a mut self,
        input: &mut Input<'b>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, PeerError> {
        match self.inside() {
            Some(protocol) => protocol.receive_second(input, tx),
            None => {
                input.take_all();
                Ok(None)
            }
        }
    }
}

impl From<Before<Self>> for Connection {
    fn from(protocol: Before<Self>) -> Self {
        Self::Before(Box::new(protocol))
    }
}

impl From<Calls<Self>> for Connection {
    fn from(protocol: Calls<Self>) -> Self {
        Self::Calls(Box::new(protocol))
    }
}

impl From<Comet<Self>> for Connection {
    fn from(protocol: Comet<Self>) -> Self {
        Self::Comet(Box::new(protocol))
    }
}

impl From<Following<Self>> for Connection {
    fn from(protocol: Following<Self>) -> Self {
        Self::Following(Box::new(protocol))
    }
}

impl From<Framed> for Connection {
    fn from(protocol: Framed) -> Self {
        Self::Framed(protocol)
    }
}

impl From<Bot<Self>> for Connection {
    fn from(protocol: Bot<Self>) -> Self {
        Self::Game(Box::new(protocol))
    }
}

impl From<Greeted<Self>> for Connection {
    fn from(protocol: Greeted<Self>) -> Self {
        Self::Greeted(Box::new(protocol))
    }
}

impl From<Http1> for Connection {
    fn from(protocol: Http1) -> Self {
        Self::Http1(protocol)
    }
}

impl From<Lines> for Connection {
    fn from(protocol: Lines) -> Self {
        Self::Lines(protocol)
    }
}

impl From<Mqtt<Self>> for Connection {
    fn from(protocol: Mqtt<Self>) -> Self {
        Self::Mqtt(Box::new(protocol))
    }
}

impl From<OverHttp<Self>> for Connection {
    fn from(protocol: OverHttp<Self>) -> Self {
        Self::OverHttp(Box::new(protocol))
    }
}

impl From<Raw> for Connection {
    fn from(protocol: Raw) -> Self {
        Self::Raw(protocol)
    }
}

impl From<SocketIo<Self>> for Connection {
    fn from(protocol: SocketIo<Self>) -> Self {
        Self::SocketIo(Box::new(protocol))
    }
}

impl From<SockJs<Self>> for Connection {
    fn from(protocol: SockJs<Self>) -> Self {
        Self::SockJs(Box::new(protocol))
    }
}

impl From<Stream> for Connection {
    fn from(protocol: Stream) -> Self {
        Self::Stream(protocol)
    }
}

impl From<Talk<Self>> for Connection {
    fn from(protocol: Talk<Self>) -> Self {
        Self::Talk(Box::new(protocol))
    }
}

impl From<Tls<Self>> for Connection {
    fn from(protocol: Tls<Self>) -> Self {
        Self::Tls(Box::new(protocol))
    }
}

impl From<Upgrading<Self>> for Connection {
    fn from(protocol: Upgrading<Self>) -> Self {
        Self::Upgrading(Box::new(protocol))
    }
}

impl From<Web> for Connection {
    fn from(protocol: Web) -> Self {
        Self::Web(Box::new(protocol))
    }
}

impl From<WebSocket> for Connection {
    fn from(protocol: WebSocket) -> Self {
        Self::WebSocket(protocol)
    }
}

#[cfg(test)]
mod tests {
    use super::Connection;

    #[test]
    fn an_idle_connection_is_small() {
        assert!(size_of::<Connection>() <= 128, "{} bytes", size_of::<Connection>());
    }
}
