//! The protocols, with everything about each of them that is not code: one row for each in [`PROTOCOLS`].

use std::fmt;
use std::str::FromStr;

/// A protocol, without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// Bytes without framing over TCP.
    Tcp,
    /// Messages with a 32-bit length before them, over TCP.
    TcpFramed,
    /// Lines of text over TCP.
    Lines,
    /// Bytes without framing over a Unix socket.
    Unix,
    /// WebSocket (RFC 6455).
    WebSocket,
    /// HTTP/1.1.
    Http,
    /// Frames of the Firebase game server, with any packets in them.
    Styx,
    /// SockJS, over WebSocket and over HTTP.
    SockJs,
    /// Socket.IO, over WebSocket and over HTTP.
    SocketIo,
    /// The game server's binary packets over TCP.
    Game,
    /// The game server's packets as JSON over WebSocket.
    GameWebSocket,
    /// The game server's packets as JSON over Comet: Bayeux long polling.
    GameComet,
}

/// The facts about one protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The protocol that this row is about.
    pub protocol: Protocol,
    /// The scheme of its URLs without TLS.
    pub name: &'static str,
    /// The scheme of its URLs inside TLS; `None` if it is never inside TLS.
    pub secured: Option<&'static str>,
    /// The port of a URL that names none, without TLS; `None` if every URL has to name one.
    pub port: Option<u16>,
    /// The port of a URL that names none, inside TLS.
    pub secured_port: Option<u16>,
    /// The path of a URL that names none; `None` if its URLs have no path. Protocols with paths open with an HTTP
    /// request, so they have header fields and speak `http/1.1` in ALPN.
    pub path: Option<&'static str>,
    /// The kind of messages that it carries.
    pub carries: Carries,
    /// The length in bytes of the shortest message that the other end can see.
    pub message_min: usize,
    /// The number of sockets that one connection uses over the usual transport; see [`Scheme::sockets`].
    pub sockets: u64,
    /// True if messages are encoded in addition to being framed, e.g. as JSON.
    pub encodes: bool,
    /// True for WebSocket and for every protocol that usually runs over it; see [`Scheme::over_websocket`].
    pub over_websocket: bool,
    /// The transports besides the usual one.
    pub fallbacks: &'static [Fallback],
    /// True if wirebench has a server for it that echoes every message.
    pub has_echo: bool,
    /// True if the relay of wirebench speaks it, over each of its transports.
    pub has_relay: bool,
    /// True if a subject's manifest may name it.
    pub has_subjects: bool,
    /// A description for lists, without TLS.
    pub about: &'static str,
}

/// The transports that protocols travel over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// The usual transport of a protocol, which its URLs do not name.
    #[default]
    Usual,
    /// An HTTP response that is a stream of server-sent events, and requests that post.
    EventSource,
    /// An HTTP response that is a page with a script for each frame, and requests that post.
    HtmlFile,
    /// HTTP responses that are scripts with one frame each, and requests that post a form.
    Jsonp,
    /// HTTP responses with all waiting packets, and requests that post some.
    Polling,
    /// The same until the session is upgraded to WebSocket.
    Upgrade,
    /// HTTP responses with one frame each, and requests that post.
    Xhr,
    /// HTTP responses that are streams of lines, and requests that post.
    XhrStreaming,
}

impl Transport {
    /// True if an HTTP response delivers what is available and ends.
    pub const fn is_poll(self) -> bool {
        matches!(self, Self::Jsonp | Self::Polling | Self::Xhr)
    }
}

/// A transport that a protocol falls back to where its usual one does not get through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// The transport.
    pub transport: Transport,
    /// The scheme of its URLs without TLS.
    pub name: &'static str,
    /// The scheme of its URLs inside TLS.
    pub secured: &'static str,
    /// A description for lists.
    pub about: &'static str,
}

/// The kind of messages that a protocol carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// Messages that are binary.
    Binary,
    /// Messages each of which is binary or text.
    BinaryOrText,
    /// Bytes without message boundaries: the reader has to know how long a message is.
    Bytes,
    /// Events of a game. The protocol makes and checks them.
    Events,
    /// Messages that are text without a line feed.
    Lines,
    /// Requests, each with one response, and one at a time on a connection.
    Requests,
    /// Messages that are text.
    Text,
    /// Messages that are text, or binary where that is asked for.
    TextOrBinary,
}

/// A row for each protocol, in the order in which they are listed to users.
#[rustfmt::skip]
pub static PROTOCOLS: [Facts; 12] = [
    Facts {
        protocol: Protocol::Tcp, name: "tcp", secured: Some("tls"), carries: Carries::Bytes, message_min: 1,
        has_echo: true, has_subjects: true,
        about: "bytes without framing", ..USUAL
    },
    Facts {
        protocol: Protocol::TcpFramed, name: "tcp-framed", secured: Some("tls-framed"),
        has_echo: true, has_subjects: true,
        about: "messages with a 32-bit length before them", ..USUAL
    },
    Facts {
        protocol: Protocol::Lines, name: "lines", secured: Some("lines-tls"), carries: Carries::Lines,
        has_echo: true,
        about: "lines of text, each ended by \\n", ..USUAL
    },
    Facts {
        protocol: Protocol::Unix, name: "unix", carries: Carries::Bytes, message_min: 1,
        has_echo: true,
        about: "bytes without framing, over a Unix socket", ..USUAL
    },
    Facts {
        protocol: Protocol::WebSocket, name: "ws", secured: Some("wss"), carries: Carries::BinaryOrText,
        over_websocket: true, has_echo: true, has_relay: true, has_subjects: true,
        about: "WebSocket, binary and text", ..WEB
    },
    Facts {
        protocol: Protocol::Http, name: "http", secured: Some("https"), carries: Carries::Requests,
        has_echo: true, has_relay: true, has_subjects: true,
        about: "HTTP/1.1: the body of each request comes back", ..WEB
    },
    Facts {
        protocol: Protocol::Styx, name: "styx", secured: Some("styx-tls"), message_min: 1,
        has_echo: true,
        about: "frames of Styx, of the Firebase game server; their packets are not read", ..USUAL
    },
    Facts {
        protocol: Protocol::SockJs, name: "sockjs", secured: Some("sockjss"), carries: Carries::Text, encodes: true,
        over_websocket: true, has_relay: true, has_subjects: true, fallbacks: &SOCKJS_FALLBACKS,
        about: "SockJS over WebSocket", ..WEB
    },
    Facts {
        protocol: Protocol::SocketIo, name: "socketio", secured: Some("socketios"), carries: Carries::TextOrBinary,
        encodes: true, over_websocket: true, has_relay: true, has_subjects: true, fallbacks: &SOCKETIO_FALLBACKS,
        about: "Socket.IO over WebSocket", ..WEB
    },
    Facts {
        protocol: Protocol::Game, name: "game", secured: Some("game-tls"), carries: Carries::Events, encodes: true,
        port: Some(4123), secured_port: Some(4123),
        about: "a game server's binary packets", ..USUAL
    },
    Facts {
        protocol: Protocol::GameWebSocket, name: "game-ws", secured: Some("game-wss"), carries: Carries::Events, encodes: true,
        path: Some("/socket"), over_websocket: true,
        about: "a game server's packets over WebSocket", ..WEB
    },
    Facts {
        protocol: Protocol::GameComet, name: "game-comet", secured: Some("game-comet-tls"), carries: Carries::Events, encodes: true,
        path: Some("/cometd"), sockets: 2,
        about: "a game server's packets over Comet", ..WEB
    },
];

/// The transports of SockJS over HTTP. One connection waits for frames, and one posts.
static SOCKJS_FALLBACKS: [Fallback; 5] = [
    Fallback {
        transport: Transport::Xhr,
        name: "sockjs+xhr",
        secured: "sockjss+xhr",
        about: "SockJS over HTTP polling",
    },
    Fallback {
        transport: Transport::XhrStreaming,
        name: "sockjs+xhr-streaming",
        secured: "sockjss+xhr-streaming",
        about: "SockJS over streams of lines of HTTP",
    },
    Fallback {
        transport: Transport::EventSource,
        name: "sockjs+eventsource",
        secured: "sockjss+eventsource",
        about: "SockJS over streams of server-sent events",
    },
    Fallback {
        transport: Transport::HtmlFile,
        name: "sockjs+htmlfile",
        secured: "sockjss+htmlfile",
        about: "SockJS over pages of HTML with a script for each frame",
    },
    Fallback {
        transport: Transport::Jsonp,
        name: "sockjs+jsonp",
        secured: "sockjss+jsonp",
        about: "SockJS over HTTP polling by scripts (JSONP)",
    },
];

/// The transports of Socket.IO that begin over HTTP. One connection waits for packets, and one posts; or one carries
/// the HTTP requests, and the other becomes a WebSocket.
static SOCKETIO_FALLBACKS: [Fallback; 2] = [
    Fallback {
        transport: Transport::Polling,
        name: "socketio+polling",
        secured: "socketios+polling",
        about: "Socket.IO over HTTP polling",
    },
    Fallback {
        transport: Transport::Upgrade,
        name: "socketio+upgrade",
        secured: "socketios+upgrade",
        about: "Socket.IO over HTTP polling, upgraded to WebSocket",
    },
];

/// The default facts of a protocol directly over TCP.
const USUAL: Facts = Facts {
    protocol: Protocol::Tcp,
    name: "",
    secured: None,
    port: None,
    secured_port: None,
    path: None,
    carries: Carries::Binary,
    message_min: 0,
    sockets: 1,
    encodes: false,
    over_websocket: false,
    fallbacks: &[],
    has_echo: false,
    has_relay: false,
    has_subjects: false,
    about: "",
};

/// The default facts of a protocol that opens with an HTTP request.
const WEB: Facts = Facts { port: Some(80), secured_port: Some(443), path: Some("/"), ..USUAL };

impl Protocol {
    /// Its row in [`PROTOCOLS`].
    pub const fn facts(self) -> &'static Facts {
        &PROTOCOLS[self as usize]
    }

    /// True if its own messages are distinct from those of the conversations that it carries: a server that holds
    /// conversations echoes as well.
    pub const fn echoes_besides(self) -> bool {
        matches!(self, Self::SocketIo)
    }

    /// Its scheme without TLS.
    pub const fn plain(self) -> Scheme {
        Scheme { protocol: self, tls: false, transport: Transport::Usual }
    }

    /// Its scheme inside TLS; `None` if it is never inside TLS.
    pub const fn secured(self) -> Option<Scheme> {
        match self.facts().secured {
            Some(_) => Some(Scheme { tls: true, ..self.plain() }),
            None => None,
        }
    }

    /// True if servers of application protocols speak it too: one that is expected to echo may send a greeting, or
    /// answer in its own way.
    pub const fn has_other_servers(self) -> bool {
        matches!(self, Self::Tcp | Self::Unix | Self::Lines | Self::WebSocket)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.facts().name)
    }
}

impl Carries {
    /// True if messages of text can be sent.
    pub const fn has_text(self) -> bool {
        self.is_text() || self.has_both()
    }

    /// True if messages of both kinds can be sent.
    pub const fn has_both(self) -> bool {
        matches!(self, Self::BinaryOrText | Self::TextOrBinary)
    }

    /// True if a message is text, unless the other kind is asked for.
    pub const fn is_usually_text(self) -> bool {
        self.is_text() || matches!(self, Self::TextOrBinary)
    }

    /// False if a byte of `payload` would end the message.
    pub fn may_hold(self, payload: &[u8]) -> bool {
        self != Self::Lines || !payload.contains(&b'\n')
    }

    /// True if every message is text.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Lines | Self::Text)
    }
}

/// A protocol over one of its transports, with or without TLS: the part of a URL before the colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scheme {
    /// The protocol.
    pub protocol: Protocol,
    /// True inside TLS.
    pub tls: bool,
    /// The transport, one of those that the protocol has.
    pub transport: Transport,
}

impl Scheme {
    /// Every scheme, in the order of [`PROTOCOLS`].
    pub fn all() -> impl Iterator<Item = Self> {
        let both = |row: &'static Facts| [Some(row.protocol.plain()), row.protocol.secured()];
        PROTOCOLS.iter().flat_map(move |row| both(row).into_iter().flatten().chain(fallbacks(row)))
    }

    /// The schemes for which wirebench has an echo server, in the same order.
    pub fn echoes() -> impl Iterator<Item = Self> {
        Self::all().filter(|scheme| scheme.facts().has_echo)
    }

    /// The schemes that a subject's manifest may name, in the same order.
    pub fn subjects() -> impl Iterator<Item = Self> {
        Self::all().filter(|scheme| scheme.facts().has_subjects)
    }

    /// True if `name` is a scheme inside TLS.
    pub fn is_secured(name: &str) -> bool {
        Self::named(name).is_some_and(|scheme| scheme.tls)
    }

    /// A line of help for each protocol: the names of its schemes, and what it carries.
    pub fn help() -> String {
        let line = |name: &str, secured: Option<&str>, about: &str| match secured {
            Some(secured) => format!("  {name}://, {secured}:// - {about}\n"),
            None => format!("  {name}:// - {about}\n"),
        };
        let lines = |row: &Facts| {
            let usual = line(row.name, row.secured, row.about);
            let fallbacks = row.fallbacks.iter();
            let others = fallbacks.map(|it| line(it.name, Some(it.secured), it.about));
            [usual].into_iter().chain(others).collect::<String>()
        };
        PROTOCOLS.iter().map(lines).collect()
    }

    /// The names of `schemes`, with commas between them.
    pub fn list(schemes: impl Iterator<Item = Self>) -> String {
        schemes.map(Self::name).collect::<Vec<_>>().join(", ")
    }

    /// The scheme that is written exactly as `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|scheme| scheme.name() == name)
    }

    /// The row of its protocol in [`PROTOCOLS`].
    pub const fn facts(self) -> &'static Facts {
        self.protocol.facts()
    }

    /// The number of sockets that one connection uses.
    pub fn sockets(self) -> u64 {
        if self.transport == Transport::Usual { self.facts().sockets } else { 2 }
    }

    /// True if it runs over WebSocket.
    pub fn over_websocket(self) -> bool {
        self.transport == Transport::Usual && self.facts().over_websocket
    }

    /// A description for lists, without TLS.
    pub fn about(self) -> &'static str {
        self.fallback().map_or_else(|| self.facts().about, |fallback| fallback.about)
    }

    /// The transport's row, if it is not the usual one.
    fn fallback(self) -> Option<&'static Fallback> {
        self.facts().fallbacks.iter().find(|fallback| fallback.transport == self.transport)
    }

    /// Its name, as written before the colon of a URL.
    pub fn name(self) -> &'static str {
        if let Some(fallback) = self.fallback() {
            return if self.tls { fallback.secured } else { fallback.name };
        }
        match (self.tls, self.facts().secured) {
            (true, Some(secured)) => secured,
            (true, None) | (false, _) => self.facts().name,
        }
    }

    /// The port of a URL that names none; `None` if every URL has to name one.
    pub const fn port(self) -> Option<u16> {
        if self.tls { self.facts().secured_port } else { self.facts().port }
    }

    /// The protocols that a client offers and a server accepts in the TLS handshake (ALPN), unless configured
    /// otherwise.
    pub fn alpn(self) -> Vec<String> {
        self.facts().path.map(|_| "http/1.1".to_owned()).into_iter().collect()
    }

    /// The scheme whose name is almost `text`.
    fn near(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let distance = |scheme: &Self| strsim::damerau_levenshtein(&text, scheme.name());
        let near = Self::all().min_by_key(distance)?;
        (distance(&near) <= TYPOS_MAX.min(near.name().len() - 1)).then_some(near)
    }
}

/// The schemes of a protocol's transports other than the usual one.
fn fallbacks(row: &'static Facts) -> impl Iterator<Item = Scheme> {
    let both = |fallback: &'static Fallback| {
        let plain = Scheme { transport: fallback.transport, ..row.protocol.plain() };
        [plain, Scheme { tls: true, ..plain }]
    };
    row.fallbacks.iter().flat_map(both)
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Scheme {
    type Err = SchemeError;

    /// Reads a name, ignoring case.
    fn from_str(text: &str) -> Result<Self, SchemeError> {
        let found = Self::all().find(|scheme| scheme.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| SchemeError { scheme: super::shown(text), near: Self::near(text) })
    }
}

/// A name that is not a scheme.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown scheme `{scheme}`; known are {}{}", Scheme::list(Scheme::all()), near_text(*near))]
pub struct SchemeError {
    /// The name, escaped and cut to a length that fits a line.
    pub scheme: String,
    /// The scheme that was probably meant.
    pub near: Option<Scheme>,
}

fn near_text(near: Option<Scheme>) -> String {
    near.map_or_else(String::new, |scheme| format!("; did you mean `{scheme}`?"))
}

/// The largest number of typing errors in a name that is still recognised.
const TYPOS_MAX: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_has_the_row_of_its_number() {
        for (number, row) in PROTOCOLS.iter().enumerate() {
            assert_eq!(row.protocol as usize, number, "{row:?}");
            assert_eq!(row.protocol.facts(), row);
            assert!(!row.name.is_empty() && !row.about.is_empty() && row.sockets > 0, "{row:?}");
            assert!(!row.over_websocket || row.path.is_some(), "{row:?}");
        }
    }

    #[test]
    fn every_name_means_one_scheme() {
        for scheme in Scheme::all() {
            let same = Scheme::all().filter(|other| other.name() == scheme.name());
            assert_eq!(same.count(), 1, "{scheme}");
            assert_eq!(Scheme::named(scheme.name()), Some(scheme));
            assert_eq!(scheme.name().to_ascii_uppercase().parse(), Ok(scheme));
        }
    }

    #[test]
    fn subjects_speak_what_is_no_protocol_of_ours() {
        let plain = Scheme::subjects().filter(|scheme| !scheme.tls).map(Scheme::name);
        let expected = [
            "tcp",
            "tcp-framed",
            "ws",
            "http",
            "sockjs",
            "sockjs+xhr",
            "sockjs+xhr-streaming",
            "sockjs+eventsource",
            "sockjs+htmlfile",
            "sockjs+jsonp",
            "socketio",
            "socketio+polling",
            "socketio+upgrade",
        ];
        assert_eq!(plain.collect::<Vec<_>>(), expected);
        let secured = Scheme::subjects().filter(|scheme| Scheme::is_secured(scheme.name()));
        assert_eq!(secured.count(), expected.len());
    }

    #[test]
    fn a_transport_stands_behind_a_plus() {
        for row in &PROTOCOLS {
            for fallback in row.fallbacks {
                let Fallback { transport, name, secured, .. } = *fallback;
                assert!(transport != Transport::Usual && row.secured.is_some(), "{name}");
                let behind = |whole: &str, usual: &str| {
                    whole.strip_prefix(usual).and_then(|rest| rest.strip_prefix('+')).is_some()
                };
                assert!(behind(name, row.name) && behind(secured, row.secured.unwrap()), "{name}");
                let scheme = Scheme::named(secured).unwrap();
                let expected = Scheme { protocol: row.protocol, tls: true, transport };
                assert_eq!((scheme, scheme.name()), (expected, secured));
                assert_eq!((scheme.sockets(), scheme.over_websocket()), (2, false), "{name}");
            }
        }
    }

    #[test]
    fn every_protocol_but_unix_has_a_scheme_inside_tls() {
        for row in &PROTOCOLS {
            let secured = row.protocol.secured();
            assert_eq!(secured.is_none(), row.protocol == Protocol::Unix, "{row:?}");
            let is_right = |secured: Scheme| secured.tls && secured.name() != row.name;
            assert!(secured.is_none_or(is_right), "{row:?}");
            assert_eq!(row.protocol.plain().name(), row.name);
        }
    }
}
