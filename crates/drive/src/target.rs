//! To whom a worker talks, and in which protocol.

use engine::Address;
use std::net::IpAddr;
use std::sync::Arc;
use wire::{bayeux, framed, game, http1, raw, socketio, sockjs, styx, tls, websocket};

/// The other end of every connection of a worker.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where it listens.
    pub address: Address,
    /// The source addresses that connections take turns with; none: the system chooses.
    pub sources: Vec<IpAddr>,
    /// How it is talked to.
    pub transport: Transport,
    /// What is around that, if anything. Connections share its tickets, so that handshakes after the first may resume.
    pub tls: Option<tls::Client>,
}

impl Target {
    /// The client end of connection `number` of all workers together. `seed` determines its mask keys and handshake
    /// key; the keys of TLS are drawn from the system.
    pub fn client(&self, seed: u64, number: u64) -> wire::Connection {
        let secured = |inner: wire::Connection| match &self.tls {
            None => inner,
            Some(tls) => tls::Tls::client(tls, inner).into(),
        };
        match &self.transport {
            Transport::Framed(limits) => secured(framed::Framed::new(*limits).into()),
            Transport::Game(bots) => bots.client(seed, number, secured),
            Transport::Http(request, limits) => {
                secured(http1::Http1::client(Arc::clone(request), *limits).into())
            }
            Transport::Raw { reply_len } => secured(raw::Raw::client(*reply_len).into()),
            Transport::SocketIo(request, limits) => {
                let inner = websocket::WebSocket::client(Arc::clone(request), *limits, seed);
                socketio::SocketIo::client(secured(inner.into())).into()
            }
            Transport::SockJs(request, limits) => {
                let target = sockjs::session_target(&request.target, seed);
                let request = websocket::handshake::Request { target, ..(**request).clone() };
                let inner = websocket::WebSocket::client(Arc::new(request), *limits, seed);
                sockjs::SockJs::client(secured(inner.into())).into()
            }
            Transport::Styx(limits) => secured(styx::Styx::new(*limits).into()),
            Transport::WebSocket(request, limits) => {
                secured(websocket::WebSocket::client(Arc::clone(request), *limits, seed).into())
            }
        }
    }

    /// Whether there is anything but framing around payloads.
    pub(crate) fn has_layers(&self) -> bool {
        let encodes = match &self.transport {
            Transport::Game(_) | Transport::SocketIo(..) | Transport::SockJs(..) => true,
            Transport::WebSocket(request, _) => request.deflate.is_some(),
            Transport::Framed(_)
            | Transport::Http(..)
            | Transport::Raw { .. }
            | Transport::Styx(_) => false,
        };
        self.tls.is_some() || encodes
    }
}

/// A protocol and all that a client needs to know to speak it. Copies share what is large.
#[derive(Clone, Debug)]
pub enum Transport {
    /// Length-prefixed messages.
    Framed(framed::Limits),
    /// Each connection is a bot of the load-test game.
    Game(Arc<Bots>),
    /// HTTP/1.1: a request for each message, its response is the reply. A server may end the connection after any
    /// response; it is then opened anew.
    Http(Arc<http1::Request>, http1::Limits),
    /// Bytes without framing: so many bytes are a reply.
    Raw {
        /// How many.
        reply_len: usize,
    },
    /// Socket.IO over WebSocket; the target of the request is where [`socketio::target`] found it.
    SocketIo(Arc<websocket::handshake::Request>, websocket::Limits),
    /// SockJS over WebSocket; the target of the request is that of the service, where each connection has a session.
    SockJs(Arc<websocket::handshake::Request>, websocket::Limits),
    /// Frames of Styx; a payload is a packet of whatever definition, as it is packed.
    Styx(styx::Limits),
    /// WebSocket.
    WebSocket(Arc<websocket::handshake::Request>, websocket::Limits),
}

/// Bots of the load-test game: who they are, and how their packets travel.
#[derive(Clone, Debug)]
pub struct Bots {
    /// How packets travel.
    pub packets: Packets,
    /// The player id of connection number 0; each next one has the next.
    pub first_player: i32,
    /// How many of a million bots subscribe to the lobby; they are spread evenly over the numbers.
    pub lobby_millionths: u32,
    /// The operator that all of them log in with.
    pub operator: i32,
    /// Where they sit down.
    pub seat: game::Seat,
}

/// How the packets of a bot travel.
#[derive(Clone, Debug)]
pub enum Packets {
    /// Binary, as frames of Styx.
    Binary(styx::Limits),
    /// As JSON by long-polling, on two connections.
    Comet {
        /// What is posted.
        request: Arc<http1::Request>,
        /// Of its responses.
        http: http1::Limits,
        /// Of the batches in them.
        bayeux: bayeux::Limits,
    },
    /// As JSON in text messages.
    WebSocket(Arc<websocket::handshake::Request>, websocket::Limits),
}

impl Bots {
    fn client(
        &self,
        seed: u64,
        number: u64,
        secured: impl Fn(wire::Connection) -> wire::Connection,
    ) -> wire::Connection {
        let (packing, inner) = match &self.packets {
            Packets::Binary(limits) => {
                (game::Packing::Binary, secured(styx::Styx::new(*limits).into()))
            }
            Packets::Comet { request, http, bayeux } => {
                let http = || secured(http1::Http1::client(Arc::clone(request), *http).into());
                (game::Packing::Json, bayeux::Comet::new(http(), http(), *bayeux).into())
            }
            Packets::WebSocket(request, limits) => {
                let inner = websocket::WebSocket::client(Arc::clone(request), *limits, seed);
                (game::Packing::Json, secured(inner.into()))
            }
        };
        let options = game::Options {
            player: self.player(number),
            packing,
            operator: self.operator,
            lobby: self.is_in_lobby(number),
            seat: self.seat,
        };
        game::Bot::new(inner, options).into()
    }

    /// The player id of connection `number`. Beyond the largest id all have that.
    pub fn player(&self, number: u64) -> i32 {
        self.first_player.saturating_add(i32::try_from(number).unwrap_or(i32::MAX))
    }

    /// Whether connection `number` subscribes to the lobby.
    pub fn is_in_lobby(&self, number: u64) -> bool {
        let before = |number: u64| {
            u128::from(number) * u128::from(self.lobby_millionths) / u128::from(MILLION)
        };
        before(number + 1) > before(number)
    }
}

impl Transport {
    /// Whether it takes two connections to the same server.
    pub(crate) fn uses_two(&self) -> bool {
        match self {
            Self::Game(bots) => matches!(bots.packets, Packets::Comet { .. }),
            Self::Framed(_)
            | Self::Http(..)
            | Self::Raw { .. }
            | Self::SocketIo(..)
            | Self::SockJs(..)
            | Self::Styx(_)
            | Self::WebSocket(..) => false,
        }
    }

    /// Whether messages of one connection are answered on others too.
    pub(crate) fn pushes(&self) -> bool {
        matches!(self, Self::Game(_))
    }

    /// Whether a proper end by the peer is part of the protocol's normal course, so that the connection is opened anew.
    pub(crate) fn reopens(&self) -> bool {
        matches!(self, Self::Http(..))
    }
}

/// What [`Bots::lobby_millionths`] are parts of.
const MILLION: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn bots(first_player: i32, lobby_millionths: u32) -> Bots {
        let packets = Packets::Binary(styx::Limits::default());
        Bots { packets, first_player, lobby_millionths, operator: 0, seat: game::Seat::Any }
    }

    #[test]
    fn bots_in_the_lobby_are_as_many_as_asked_for_and_spread_evenly() {
        #[rustfmt::skip]
        let table = [
            // share,    of the first 10, of the first 1000
            (0,          0,               0),
            (1,          0,               0),
            (100_000,    1,               100),
            (333_333,    3,               333),
            (1_000_000,  10,              1000),
        ];
        for (millionths, of_ten, of_thousand) in table {
            let bots = bots(1, millionths);
            let among = |count: u64| (0..count).filter(|number| bots.is_in_lobby(*number)).count();
            assert_eq!((among(10), among(1000)), (of_ten, of_thousand), "{millionths}");
        }
    }

    #[test]
    fn players_follow_one_another_and_never_become_negative() {
        assert_eq!(bots(1001, 0).player(0), 1001);
        assert_eq!(bots(1001, 0).player(5), 1006);
        assert_eq!(bots(1001, 0).player(u64::MAX), i32::MAX);
    }
}
