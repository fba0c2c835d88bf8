//! The builder of connections: it decides which layers a connection to an endpoint has, at either end.
//!
//! Start reading at [`stack`], which has the one match over all protocols.
//!
//! Left out: the web address of a game server, where the first request decides on the protocol ([`crate::web`]).

use crate::Connection;
use crate::bayeux::{self, Comet};
use crate::conversation::{Before, Calls, Compiled, Plan, Site, Start, Talk};
use crate::framed::{self, Framed};
use crate::game::{Bot, Bots, Packing};
use crate::greeted::Greeted;
use crate::http1::{self, Following, Http1, InvalidRequest, redirect::Origin};
use crate::lines::{self, Lines};
use crate::mqtt::Mqtt;
use crate::over_http::{self, OverHttp};
use crate::raw::Raw;
use crate::socketio::{self, MakeWebSocket, Packets, SocketIo, Upgrading};
use crate::sockjs::{self, SockJs};
use crate::styx;
use crate::tls::{self, Tls};
use crate::web::{self, Web};
use crate::websocket::{self, WebSocket, deflate, handshake};
use spec::conversation::{Speaks, Status};
use spec::{Carries, Endpoint, Facts, Protocol, Scheme, Transport};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// The end of the connections that a [`Stack`] makes.
#[derive(Clone, Copy, Debug)]
pub enum Role<'a> {
    /// The end that connects.
    Client(&'a ClientOptions),
    /// The end that accepts.
    Server(&'a ServerOptions),
}

/// The options of a client. A protocol uses the fields that it needs.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// HTTP: the method of each request.
    pub method: String,
    /// HTTP: the statuses of responses that are replies, not refusals; empty: 2xx.
    pub statuses: Vec<Status>,
    /// HTTP: the most redirects of one request that are followed; 0: none.
    pub redirects: u8,
    /// HTTP and WebSocket: further header fields, by name and value.
    pub headers: Vec<(String, String)>,
    /// WebSocket: the subprotocols to offer, the best first.
    pub subprotocols: Vec<String>,
    /// WebSocket: the compression to offer.
    pub deflate: Option<deflate::Offer>,
    /// The longest message that is accepted, in bytes.
    pub message_max: usize,
    /// The length of each reply in bytes, where the protocol carries [`Carries::Bytes`]; 0 if it is not known.
    pub reply_len: usize,
    /// Streams of bytes, lines and WebSocket: the number of messages that the server says first ([`crate::greeted`]),
    /// which may be 0; `None`: what it says first is a reply, or the beginning of one.
    pub greetings: Option<u32>,
    /// HTTP: `Some` if messages are complete requests that their sender wrote ([`Http1::exchanges`]), with the way in
    /// which the bodies of the responses are handed out.
    pub exchanges: Option<http1::Delivery>,
    /// Games: the bots.
    pub bots: Bots,
    /// The conversation that connections hold.
    pub conversation: Option<Arc<Compiled>>,
    /// The TLS sessions; `Some` exactly if the endpoint is inside TLS. Connections share its tickets, so that
    /// handshakes after the first may resume.
    pub tls: Option<tls::Client>,
}

/// The options of a server. A protocol uses the fields that it needs.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// WebSocket: the subprotocols and the compression that are agreed to.
    pub handshake: handshake::ServerOptions,
    /// True if requests are messages with their heads ([`Http1::whole_requests`]): over HTTP all of them, over
    /// WebSocket those that ask for no upgrade.
    pub takes_requests: bool,
    /// The longest message that is accepted, in bytes.
    pub message_max: usize,
    /// The length of each message in bytes, where the protocol carries [`Carries::Bytes`]; `None`: whatever arrives at
    /// once is a message.
    pub message_len: Option<NonZeroUsize>,
    /// The TLS sessions; `Some` exactly if the endpoint is inside TLS.
    pub tls: Option<tls::Server>,
}

/// A maker of connections that are all alike; copies share what is large.
#[derive(Clone)]
pub struct Stack {
    scheme: Scheme,
    /// True if a layer other than framing changes the bytes of messages.
    has_layers: bool,
    is_cut: bool,
    is_probe: bool,
    make: Make,
}

/// Makes one end of a new connection from a seed and the number of a bot; `None` is a bot that only asks.
type Make = Arc<dyn Fn(u64, Option<u64>) -> Connection + Send + Sync>;

/// Prepares the connections of one end at `endpoint`.
///
/// # Errors
///
/// The request of a client cannot be written, the conversation does not run over this protocol, there is no server for
/// the protocol here, or the options have TLS sessions although the endpoint has no TLS, or none although it has.
pub fn stack(endpoint: &Endpoint, role: Role<'_>) -> Result<Stack, StackError> {
    use Role::{Client, Server};
    let (protocol, tls, max) = (endpoint.protocol, role.tls(), role.message_max());
    if endpoint.tls != tls.is_some() {
        return Err(StackError::Tls { scheme: endpoint.scheme() });
    }
    if let Client(options) = role
        && let Some(compiled) = &options.conversation
    {
        return Ok(Stack {
            scheme: endpoint.scheme(),
            has_layers: true,
            is_cut: true,
            is_probe: false,
            make: conversation(endpoint, options, compiled, tls)?,
        });
    }
    let frame_len_max = u32::try_from(max).unwrap_or(u32::MAX);
    let http = http1::Limits { body_len_max: max, ..http1::Limits::default() };
    let make: Make = match (protocol, role) {
        (Protocol::Tcp | Protocol::Unix, _) => {
            let (len, greetings) = (role.message_len(), role.greetings());
            Arc::new(move |_, _| tls.around(greeted(Raw::client(len).into(), greetings, true)))
        }
        (Protocol::TcpFramed, _) => {
            let limits = framed::Limits { frame_len_max };
            Arc::new(move |_, _| tls.around(Framed::new(limits)))
        }
        (Protocol::Lines, _) => {
            let (limits, greetings) = (lines::Limits { line_len_max: max }, role.greetings());
            Arc::new(move |_, _| tls.around(greeted(Lines::new(limits).into(), greetings, false)))
        }
        (Protocol::Styx, _) => {
            let limits = styx::Limits { frame_len_max };
            Arc::new(move |_, _| tls.around(styx::frames(limits)))
        }
        (Protocol::Http, Client(ClientOptions { exchanges: Some(delivery), .. })) => {
            let delivery = *delivery;
            Arc::new(move |_, _| tls.around(Http1::exchanges(delivery, http)))
        }
        (Protocol::Http, Client(options)) if options.redirects > 0 => {
            let followed = Arc::new(http1::Followed {
                request: request(endpoint, options)?,
                origin: origin(endpoint),
                max: options.redirects,
            });
            let make = exchanges(Arc::new(tls), max);
            Arc::new(move |_, _| Following::new(&followed, &make).into())
        }
        (Protocol::Http, Client(options)) => {
            let request = request(endpoint, options)?;
            Arc::new(move |_, _| tls.around(Http1::client(Arc::clone(&request), http)))
        }
        (Protocol::Http, Server(options)) if options.takes_requests => {
            Arc::new(move |_, _| tls.around(Http1::whole_requests(http)))
        }
        (Protocol::Http, Server(_)) => Arc::new(move |_, _| tls.around(Http1::server(http))),
        (Protocol::WebSocket, Client(options)) => {
            let open = websocket(endpoint, options, &endpoint.path)?;
            let greetings = options.greetings;
            Arc::new(move |seed, _| tls.around(greeted(open(seed).into(), greetings, false)))
        }
        (Protocol::WebSocket, Server(options)) if options.takes_requests => {
            let web = Arc::new(web::Options {
                site: None,
                http,
                handshake: Arc::new(options.handshake.clone()),
                websocket: websocket_limits(max),
            });
            Arc::new(move |_, _| tls.around(Web::new(Arc::clone(&web))))
        }
        (Protocol::WebSocket, Server(options)) => {
            let handshake = Arc::new(options.handshake.clone());
            let limits = websocket_limits(max);
            Arc::new(move |_, _| tls.around(WebSocket::server_with(Arc::clone(&handshake), limits)))
        }
        (Protocol::SockJs, Client(options)) => {
            let request = upgrade(endpoint, options, &endpoint.path)?;
            let open = session(endpoint, options, Arc::new(tls))?;
            Arc::new(move |seed, _| open(&request, seed))
        }
        (Protocol::SocketIo, Client(options)) => {
            let request = upgrade(endpoint, options, &endpoint.path)?;
            let open = session(endpoint, options, Arc::new(tls))?;
            Arc::new(move |seed, _| {
                SocketIo::speaking(Packets::at(&request.target), open(&request, seed)).into()
            })
        }
        (Protocol::Game, Client(options)) => {
            let bots = options.bots;
            Arc::new(move |_, number| {
                let inner = tls.around(styx::frames(styx::Limits::default()));
                Bot::new(inner, bots.bot(number, Packing::Binary)).into()
            })
        }
        (Protocol::GameWebSocket, Client(options)) => {
            let bots = options.bots;
            let open = websocket(endpoint, options, &endpoint.path)?;
            Arc::new(move |seed, number| {
                Bot::new(tls.around(open(seed)), bots.bot(number, Packing::Json)).into()
            })
        }
        (Protocol::GameComet, Client(options)) => {
            let bots = options.bots;
            let request = request(endpoint, options)?;
            Arc::new(move |_, number| {
                let inner = || tls.around(Http1::client(Arc::clone(&request), http));
                let comet = Comet::new(inner(), inner(), bayeux::Limits::default());
                Bot::new(Connection::from(comet), bots.bot(number, Packing::Json)).into()
            })
        }
        (
            Protocol::SockJs
            | Protocol::SocketIo
            | Protocol::Game
            | Protocol::GameWebSocket
            | Protocol::GameComet,
            Server(_),
        ) => return Err(StackError::NoServer { protocol }),
    };
    Ok(Stack {
        scheme: endpoint.scheme(),
        has_layers: endpoint.tls || protocol.facts().encodes || role.compresses(),
        is_cut: protocol.facts().carries != Carries::Bytes || role.message_len() > 0,
        is_probe: false,
        make,
    })
}

/// `inner`, with a layer for the greetings of its server if it may have any.
fn greeted(inner: Connection, greetings: Option<u32>, is_stream: bool) -> Connection {
    match greetings {
        None => inner,
        // Unsolicited messages are told apart from replies without this layer.
        Some(0) if !is_stream => inner,
        Some(count) => Greeted::client(inner, count, is_stream).into(),
    }
}

/// Makes clients that hold a conversation, after the exchanges before it if it has any.
fn conversation(
    endpoint: &Endpoint,
    options: &ClientOptions,
    compiled: &Arc<Compiled>,
    tls: Sessions,
) -> Result<Make, StackError> {
    let tls = Arc::new(tls);
    let number = |number: Option<u64>| number.and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
    let talk = talk(endpoint, options, compiled, Arc::clone(&tls))?;
    let compiled = Arc::clone(compiled);
    if !compiled.has_before() {
        return Ok(Arc::new(move |seed, client| talk(compiled.start(number(client), seed))));
    }
    let limits = http1::Limits { body_len_max: options.message_max, ..http1::Limits::default() };
    let plan = Arc::new(Plan {
        compiled: Arc::clone(&compiled),
        site: Site::new(origin(endpoint), &options.headers)?,
        http: Box::new(move || tls.around(Http1::exchanges(http1::Delivery::Whole, limits))),
        conversation: talk,
    });
    Ok(Arc::new(move |seed, client| {
        Before::new(Arc::clone(&plan), compiled.start(number(client), seed)).into()
    }))
}

/// Makes one end of a connection that holds a conversation, from what it is given when it begins.
type MakeTalk = Box<dyn Fn(Start) -> Connection + Send + Sync>;

fn talk(
    endpoint: &Endpoint,
    options: &ClientOptions,
    compiled: &Arc<Compiled>,
    tls: Arc<Sessions>,
) -> Result<MakeTalk, StackError> {
    let (compiled, max) = (Arc::clone(compiled), options.message_max);
    match (endpoint.protocol, compiled.speaks()) {
        (Protocol::Tcp | Protocol::Unix | Protocol::Lines | Protocol::TcpFramed, Speaks::Tcp) => {
            Ok(Box::new(move |start| {
                let inner = packets(&compiled, tls.around(compiled.stream(max)), max);
                Talk::started(inner, &compiled, start, max).into()
            }))
        }
        (Protocol::Http, Speaks::Http | Speaks::Sse) if !compiled.only_receives() => {
            let site = Site::new(origin(endpoint), &options.headers)?.at(&endpoint.path)?;
            let (site, make) = (Arc::new(site), exchanges(tls, max));
            Ok(Box::new(move |start| Calls::new(&make, &compiled, &site, start, max).into()))
        }
        (Protocol::WebSocket | Protocol::SockJs | Protocol::SocketIo, Speaks::Ws)
        | (Protocol::Http, Speaks::Sse | Speaks::LongPoll | Speaks::Multipart | Speaks::Chunked) => {
            let has_path = Some(&*endpoint.path) != endpoint.facts().path;
            let plain = upgrade(endpoint, options, &endpoint.path)?;
            let request = {
                let compiled = Arc::clone(&compiled);
                move |start: &mut Start| {
                    let (target, headers) = compiled.request(start);
                    let target = target.filter(|_| !has_path);
                    let target = target.unwrap_or_else(|| plain.target.clone());
                    // A field of the user replaces one of the file, and either replaces the server's cookies.
                    let mut all = plain.headers.clone();
                    all.extend(headers.into_iter().filter(|(name, _)| !has(&plain.headers, name)));
                    if !has(&all, "cookie") {
                        let cookies = start.cookies.for_path(&target);
                        all.extend(cookies.map(|cookies| ("Cookie".to_owned(), cookies)));
                    }
                    let headers = all;
                    let subprotocols = match plain.subprotocols.is_empty() {
                        true => compiled.subprotocols(start),
                        false => plain.subprotocols.clone(),
                    };
                    handshake::Request { target, headers, subprotocols, ..plain.clone() }
                }
            };
            let first = request(&mut compiled.start(0, 0));
            // What a login gives to subprotocols is not known yet, and is checked when it arrives.
            handshake::Request { subprotocols: Vec::new(), ..first.clone() }.check()?;
            if endpoint.protocol != Protocol::WebSocket {
                let open = match compiled.speaks() {
                    Speaks::LongPoll => received(over_http::Session::of_polls, tls, max),
                    Speaks::Sse => received(over_http::Session::of_events, tls, max),
                    Speaks::Multipart => received(over_http::Session::of_parts, tls, max),
                    Speaks::Chunked => received(over_http::Session::of_chunks, tls, max),
                    Speaks::Ws | Speaks::Http | Speaks::Tcp => session(endpoint, options, tls)?,
                };
                let is_socketio = endpoint.protocol == Protocol::SocketIo;
                return Ok(Box::new(move |mut start| {
                    let inner = packets(&compiled, open(&request(&mut start), start.seed), max);
                    Talk::started(inner, &compiled, start, max).over_socketio(is_socketio).into()
                }));
            }
            let is_constant = compiled.has_constant_request() && !compiled.has_before();
            let constant = is_constant.then(|| Arc::new(first));
            let limits = websocket_limits(max);
            Ok(Box::new(move |mut start| {
                let request = constant.clone().unwrap_or_else(|| Arc::new(request(&mut start)));
                let inner = tls.around(WebSocket::client(request, limits, start.seed));
                let inner = packets(&compiled, inner, max);
                Talk::started(inner, &compiled, start, max).into()
            }))
        }
        (protocol, speaks) => Err(StackError::Carrier { protocol, speaks }),
    }
}

/// Makes the client's end of a SockJS session, of a Socket.IO session whose packets are messages, or of a stream of
/// events or polls, from its opening request and a seed.
type OpenSession = Box<dyn Fn(&handshake::Request, u64) -> Connection + Send + Sync>;

fn session(
    endpoint: &Endpoint,
    options: &ClientOptions,
    tls: Arc<Sessions>,
) -> Result<OpenSession, InvalidRequest> {
    let (transport, max) = (endpoint.transport, options.message_max);
    let is_socketio = endpoint.protocol == Protocol::SocketIo;
    let unframed = move |inner: Connection| match is_socketio {
        true => inner,
        false => SockJs::client(inner).into(),
    };
    if transport == Transport::Usual {
        let limits = websocket_limits(max);
        return Ok(Box::new(move |request, seed| {
            let target = match is_socketio {
                true => socketio::websocket_target(&request.target),
                false => sockjs::websocket_target(&request.target, seed),
            };
            let session = Arc::new(handshake::Request { target, ..request.clone() });
            unframed(tls.around(WebSocket::client(session, limits, seed)))
        }));
    }
    request(endpoint, options)?; // The fields are those of every request.
    let (http, limits) = (exchanges(Arc::clone(&tls), max), over_http_limits(max));
    if transport == Transport::Upgrade {
        return Ok(Box::new(move |request, seed| {
            let handshake::Request { host, target, headers, .. } = request;
            let session = socketio::session(host, target, headers);
            let (request, tls) = (request.clone(), Arc::clone(&tls));
            let websocket: MakeWebSocket<Connection> = Arc::new(move |name| {
                let target = socketio::websocket_target(&request.target) + name;
                let session = Arc::new(handshake::Request { target, ..request.clone() });
                tls.around(WebSocket::client(session, websocket_limits(max), seed))
            });
            Upgrading::new(session, &http, websocket, limits).into()
        }));
    }
    Ok(Box::new(move |request, seed| {
        let handshake::Request { host, target, headers, .. } = request;
        let session = match is_socketio {
            true => socketio::session(host, target, headers),
            false => sockjs::session(transport, host, target, headers, seed),
        };
        unframed(OverHttp::new(session, http.clone(), limits).into())
    }))
}

/// Makes receivers that post nothing; `of` makes their sessions.
fn received(
    of: fn(&str, &str, &[(String, String)]) -> over_http::Session,
    tls: Arc<Sessions>,
    max: usize,
) -> OpenSession {
    let (http, limits) = (exchanges(tls, max), over_http_limits(max));
    Box::new(move |request, _| {
        let handshake::Request { host, target, headers, .. } = request;
        OverHttp::new(of(host, target, headers), http.clone(), limits).into()
    })
}

/// Makes HTTP connections for machines that write their own requests.
fn exchanges(tls: Arc<Sessions>, max: usize) -> http1::Maker<Connection> {
    let limits = http1::Limits { body_len_max: max, ..http1::Limits::default() };
    http1::Maker::new(move |delivery| tls.around(Http1::exchanges(delivery, limits)))
}

fn over_http_limits(max: usize) -> over_http::Limits {
    over_http::Limits { frame_len_max: max, waiting_len_max: WAITING_LEN_MAX }
}

/// True if a field of this name is among `fields`.
fn has(fields: &[(String, String)], name: &str) -> bool {
    fields.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
}

/// `inner`, inside MQTT packets if the conversation consists of them.
fn packets(compiled: &Compiled, inner: Connection, max: usize) -> Connection {
    if compiled.is_mqtt() { Mqtt::new(inner, max).into() } else { inner }
}

/// The server at `endpoint`, as redirects name it.
fn origin(endpoint: &Endpoint) -> Origin {
    Origin::new(endpoint.tls, &endpoint.authority())
}

/// The request of an HTTP/1.1 client.
fn request(
    endpoint: &Endpoint,
    options: &ClientOptions,
) -> Result<Arc<http1::Request>, InvalidRequest> {
    let parts = http1::RequestParts {
        method: options.method.clone(),
        target: endpoint.path.clone(),
        host: endpoint.authority(),
        headers: options.headers.clone(),
    };
    let request = http1::Request::new(&parts)?.accepting(options.statuses.clone());
    Ok(Arc::new(request))
}

/// The request of a client that becomes a WebSocket.
fn upgrade(
    endpoint: &Endpoint,
    options: &ClientOptions,
    target: &str,
) -> Result<handshake::Request, InvalidRequest> {
    let request = handshake::Request {
        host: endpoint.authority(),
        target: target.to_owned(),
        subprotocols: options.subprotocols.clone(),
        headers: options.headers.clone(),
        deflate: options.deflate.clone(),
    };
    request.check()?;
    Ok(request)
}

/// Makes the client's end of a WebSocket from a seed.
fn websocket(
    endpoint: &Endpoint,
    options: &ClientOptions,
    target: &str,
) -> Result<impl Fn(u64) -> WebSocket + Send + Sync + use<>, InvalidRequest> {
    let request = Arc::new(upgrade(endpoint, options, target)?);
    let limits = websocket_limits(options.message_max);
    Ok(move |seed| WebSocket::client(Arc::clone(&request), limits, seed))
}

fn websocket_limits(message_max: usize) -> websocket::Limits {
    websocket::Limits {
        frame_len_max: message_max,
        message_len_max: message_max,
        ..websocket::Limits::default()
    }
}

impl Stack {
    /// The facts about the protocol.
    pub const fn facts(&self) -> &'static Facts {
        self.scheme.facts()
    }

    /// The number of sockets that one connection takes.
    pub fn sockets(&self) -> u64 {
        self.scheme.sockets()
    }

    /// True inside TLS.
    pub const fn is_secured(&self) -> bool {
        self.scheme.tls
    }

    /// True if [`Layers`](crate::Layers) can count anything.
    pub const fn has_layers(&self) -> bool {
        self.has_layers
    }

    /// True if the bytes that arrive are cut into messages; false if whatever arrives at once is one.
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The same stack for questions before a measurement: its bots have no number of their own, and they do
    /// not hear of the lobby.
    #[must_use]
    pub fn probe(&self) -> Self {
        Self { is_probe: true, ..self.clone() }
    }

    /// One end of a new connection. `seed` determines mask keys, handshake keys and session names; `number` is that of
    /// the bot. TLS keys are drawn from the system.
    pub fn connection(&self, seed: u64, number: u64) -> Connection {
        // A server that keeps sessions for a while must not take the load for the probe that came before.
        let seed = if self.is_probe { !seed } else { seed };
        (self.make)(seed, (!self.is_probe).then_some(number))
    }
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stack({})", self.scheme)
    }
}

impl Role<'_> {
    fn message_max(self) -> usize {
        match self {
            Self::Client(options) => options.message_max,
            Self::Server(options) => options.message_max,
        }
    }

    /// The length of what arrives, where nothing in the protocol says it; 0 if it is not known.
    fn message_len(self) -> usize {
        match self {
            Self::Client(options) => options.reply_len,
            Self::Server(options) => options.message_len.map_or(0, NonZeroUsize::get),
        }
    }

    fn greetings(self) -> Option<u32> {
        match self {
            Self::Client(options) => options.greetings,
            Self::Server(_) => None,
        }
    }

    fn compresses(self) -> bool {
        match self {
            Self::Client(options) => options.deflate.is_some(),
            Self::Server(options) => options.handshake.deflate.is_some(),
        }
    }

    fn tls(self) -> Sessions {
        match self {
            Self::Client(options) => options.tls.clone().map_or(Sessions::None, Sessions::Client),
            Self::Server(options) => options.tls.clone().map_or(Sessions::None, Sessions::Server),
        }
    }
}

/// The TLS sessions at one end.
enum Sessions {
    None,
    Client(tls::Client),
    Server(tls::Server),
}

impl Sessions {
    const fn is_some(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// Puts `inner` inside TLS, if there is any.
    fn around(&self, inner: impl Into<Connection>) -> Connection {
        match self {
            Self::None => inner.into(),
            Self::Client(sessions) => Tls::client(sessions, inner.into()).into(),
            Self::Server(sessions) => Tls::server(sessions, inner.into()).into(),
        }
    }
}

impl Default for ClientOptions {
    /// `POST`, messages of 16 MiB, nothing else.
    fn default() -> Self {
        Self {
            method: "POST".to_owned(),
            statuses: Vec::new(),
            redirects: 0,
            headers: Vec::new(),
            subprotocols: Vec::new(),
            deflate: None,
            message_max: MESSAGE_MAX,
            reply_len: 0,
            greetings: None,
            exchanges: None,
            bots: Bots::default(),
            conversation: None,
            tls: None,
        }
    }
}

impl Default for ServerOptions {
    /// Messages of 16 MiB, nothing else.
    fn default() -> Self {
        Self {
            handshake: handshake::ServerOptions::default(),
            takes_requests: false,
            message_max: MESSAGE_MAX,
            message_len: None,
            tls: None,
        }
    }
}

/// The reasons why no connection can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StackError {
    /// The protocol does not carry the conversation.
    #[error("{protocol} does not carry a conversation that speaks {}", speaks.name())]
    Carrier {
        /// The protocol of the endpoint.
        protocol: Protocol,
        /// The protocol that the conversation needs.
        speaks: Speaks,
    },
    /// The request cannot be written.
    #[error(transparent)]
    InvalidRequest(#[from] InvalidRequest),
    /// Only the client's end of the protocol is implemented here.
    #[error("wirebench has no {protocol} server")]
    NoServer {
        /// The protocol.
        protocol: Protocol,
    },
    /// The options have TLS sessions although the endpoint has no TLS, or none although it has.
    #[error("the options for {scheme} {}", if scheme.tls { "have no TLS sessions" } else { "have TLS sessions" })]
    Tls {
        /// The scheme of the endpoint.
        scheme: Scheme,
    },
}

/// The most bytes of messages that wait to be posted together.
const WAITING_LEN_MAX: usize = 1 << 20;

/// The longest message that either end accepts by default, in bytes.
const MESSAGE_MAX: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layers, Protocol as _};

    fn endpoint(scheme: Scheme) -> Endpoint {
        let place = if scheme.protocol == Protocol::Unix { ":echo.sock" } else { "://server:9" };
        format!("{scheme}{place}").parse().unwrap()
    }

    #[test]
    fn a_server_is_there_exactly_for_protocols_with_an_echo() {
        for scheme in Scheme::all().filter(|scheme| !scheme.tls) {
            let client = stack(&endpoint(scheme), Role::Client(&ClientOptions::default())).unwrap();
            let fresh = client.connection(7, 0).layers();
            assert_eq!(fresh, Layers::default(), "{scheme}");
            let server = stack(&endpoint(scheme), Role::Server(&ServerOptions::default()));
            assert_eq!(server.is_ok(), scheme.facts().has_echo, "{scheme}");
        }
    }

    #[test]
    fn an_end_without_sessions_is_no_end_of_tls() {
        for scheme in Scheme::all().filter(|scheme| scheme.tls) {
            let made = stack(&endpoint(scheme), Role::Client(&ClientOptions::default()));
            assert_eq!(made.map(|_| ()), Err(StackError::Tls { scheme }));
        }
    }

    #[test]
    fn a_request_that_cannot_be_written_is_refused_before_any_connection() {
        let options = ClientOptions {
            headers: vec![("a b".to_owned(), String::new())],
            ..ClientOptions::default()
        };
        for row in &spec::PROTOCOLS {
            let made = stack(&endpoint(row.protocol.plain()), Role::Client(&options));
            assert_eq!(made.is_err(), row.path.is_some(), "{row:?}");
        }
    }

    #[test]
    fn only_bytes_without_ends_may_be_uncut() {
        for scheme in Scheme::echoes().filter(|scheme| !scheme.tls) {
            let options = ServerOptions::default();
            let whole = stack(&endpoint(scheme), Role::Server(&options)).unwrap();
            assert_eq!(whole.is_cut(), scheme.facts().carries != Carries::Bytes, "{scheme}");
            let options = ServerOptions { message_len: NonZeroUsize::new(5), ..options };
            assert!(stack(&endpoint(scheme), Role::Server(&options)).unwrap().is_cut());
        }
    }
}
