//! Where a server is and what it speaks, as one text: `ws://127.0.0.1:8080/echo`, `unix:///run/echo.sock`.
//!
//! Read strictly: what would be sent differently from how it was typed, or not at all, is an error that says what to
//! type instead. Written so that it reads back as the same value.
//!
//! Left out: looking names up (see `reach`), and the parts of RFC 3986 that a load generator has no use for: users,
//! passwords, fragments.
//!
//! Start reading at [`Url::from_str`].

use std::fmt;
use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::str::FromStr;

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    /// The game server's binary packets over TCP.
    Game,
    /// The game server's packets as JSON over Comet: Bayeux long-polling.
    GameComet,
    /// The same inside TLS.
    GameCometTls,
    /// The game server's binary packets inside TLS.
    GameTls,
    /// The game server's packets as JSON over WebSocket.
    GameWebSocket,
    /// The same inside TLS.
    GameWebSocketSecure,
    /// HTTP/1.1.
    Http,
    /// HTTP/1.1 inside TLS.
    Https,
    /// Socket.IO over WebSocket.
    SocketIo,
    /// The same inside TLS.
    SocketIoSecure,
    /// SockJS over WebSocket.
    SockJs,
    /// The same inside TLS.
    SockJsSecure,
    /// Frames of Styx over TCP, each of which is echoed.
    Styx,
    /// The same inside TLS.
    StyxTls,
    /// Bytes without framing over TCP.
    Tcp,
    /// Messages with a 32-bit length before them, over TCP.
    TcpFramed,
    /// Bytes without framing inside TLS.
    Tls,
    /// Messages with a 32-bit length before them, inside TLS.
    TlsFramed,
    /// Bytes without framing over a Unix socket.
    Unix,
    /// WebSocket.
    WebSocket,
    /// WebSocket inside TLS.
    WebSocketSecure,
}

impl Scheme {
    /// All of them, in the order in which they are listed to people.
    pub const ALL: [Self; 21] = [
        Self::Tcp,
        Self::TcpFramed,
        Self::Unix,
        Self::WebSocket,
        Self::Http,
        Self::Styx,
        Self::Tls,
        Self::TlsFramed,
        Self::WebSocketSecure,
        Self::Https,
        Self::StyxTls,
        Self::SockJs,
        Self::SockJsSecure,
        Self::SocketIo,
        Self::SocketIoSecure,
        Self::Game,
        Self::GameWebSocket,
        Self::GameComet,
        Self::GameTls,
        Self::GameWebSocketSecure,
        Self::GameCometTls,
    ];

    /// Those of our own servers that send every message back, in the same order.
    pub const ECHOES: [Self; 11] = *Self::ALL.first_chunk().expect("they are listed first");

    /// As it stands in front of a URL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Game => "game",
            Self::GameComet => "game-comet",
            Self::GameCometTls => "game-comet-tls",
            Self::GameTls => "game-tls",
            Self::GameWebSocket => "game-ws",
            Self::GameWebSocketSecure => "game-wss",
            Self::Http => "http",
            Self::Https => "https",
            Self::SocketIo => "socketio",
            Self::SocketIoSecure => "socketios",
            Self::SockJs => "sockjs",
            Self::SockJsSecure => "sockjss",
            Self::Styx => "styx",
            Self::StyxTls => "styx-tls",
            Self::Tcp => "tcp",
            Self::TcpFramed => "tcp-framed",
            Self::Tls => "tls",
            Self::TlsFramed => "tls-framed",
            Self::Unix => "unix",
            Self::WebSocket => "ws",
            Self::WebSocketSecure => "wss",
        }
    }

    /// The port that is meant where none is written.
    pub const fn default_port(self) -> Option<u16> {
        match self {
            Self::Game | Self::GameTls => Some(4123),
            Self::GameComet
            | Self::GameWebSocket
            | Self::Http
            | Self::SocketIo
            | Self::SockJs
            | Self::WebSocket => Some(80),
            Self::GameCometTls
            | Self::GameWebSocketSecure
            | Self::Https
            | Self::SocketIoSecure
            | Self::SockJsSecure
            | Self::WebSocketSecure => Some(443),
            Self::Styx | Self::StyxTls => None,
            Self::Tcp | Self::TcpFramed | Self::Tls | Self::TlsFramed | Self::Unix => None,
        }
    }

    /// Whether a path says which service of the server is meant.
    pub const fn has_paths(self) -> bool {
        matches!(self.plain(), Self::GameComet | Self::Http) || self.is_over_websocket()
    }

    /// Whether it is WebSocket, or travels over that.
    pub const fn is_over_websocket(self) -> bool {
        matches!(self.plain(), Self::GameWebSocket | Self::WebSocket) || self.is_enveloped()
    }

    /// Whether messages travel over WebSocket in texts of another protocol, so that they are text themselves.
    pub const fn is_enveloped(self) -> bool {
        matches!(self.plain(), Self::SocketIo | Self::SockJs)
    }

    /// The path that is meant where none is written.
    pub const fn default_path(self) -> &'static str {
        if matches!(self, Self::GameComet | Self::GameCometTls) {
            "/cometd"
        } else if matches!(self, Self::GameWebSocket | Self::GameWebSocketSecure) {
            "/socket"
        } else {
            "/"
        }
    }

    /// Whether connections are bots at tables of a game server.
    pub const fn is_game(self) -> bool {
        matches!(self.plain(), Self::Game | Self::GameComet | Self::GameWebSocket)
    }

    /// How many connections of the system each connection of ours takes.
    pub const fn connections_each(self) -> u64 {
        if matches!(self, Self::GameComet | Self::GameCometTls) { 2 } else { 1 }
    }

    /// Whether it is spoken inside TLS.
    pub const fn is_secure(self) -> bool {
        matches!(
            self,
            Self::GameCometTls
                | Self::GameTls
                | Self::GameWebSocketSecure
                | Self::Https
                | Self::SocketIoSecure
                | Self::SockJsSecure
                | Self::StyxTls
                | Self::Tls
                | Self::TlsFramed
                | Self::WebSocketSecure
        )
    }

    /// What is spoken inside TLS; itself where there is none.
    pub const fn plain(self) -> Self {
        match self {
            Self::Game | Self::GameTls => Self::Game,
            Self::GameComet | Self::GameCometTls => Self::GameComet,
            Self::GameWebSocket | Self::GameWebSocketSecure => Self::GameWebSocket,
            Self::Http | Self::Https => Self::Http,
            Self::SocketIo | Self::SocketIoSecure => Self::SocketIo,
            Self::SockJs | Self::SockJsSecure => Self::SockJs,
            Self::Styx | Self::StyxTls => Self::Styx,
            Self::Tcp | Self::Tls => Self::Tcp,
            Self::TcpFramed | Self::TlsFramed => Self::TcpFramed,
            Self::Unix => Self::Unix,
            Self::WebSocket | Self::WebSocketSecure => Self::WebSocket,
        }
    }

    /// The same inside TLS; `None` where there is no such thing.
    pub const fn secure(self) -> Option<Self> {
        match self {
            Self::Game | Self::GameTls => Some(Self::GameTls),
            Self::GameComet | Self::GameCometTls => Some(Self::GameCometTls),
            Self::GameWebSocket | Self::GameWebSocketSecure => Some(Self::GameWebSocketSecure),
            Self::Http | Self::Https => Some(Self::Https),
            Self::SocketIo | Self::SocketIoSecure => Some(Self::SocketIoSecure),
            Self::SockJs | Self::SockJsSecure => Some(Self::SockJsSecure),
            Self::Styx | Self::StyxTls => Some(Self::StyxTls),
            Self::Tcp | Self::Tls => Some(Self::Tls),
            Self::TcpFramed | Self::TlsFramed => Some(Self::TlsFramed),
            Self::Unix => None,
            Self::WebSocket | Self::WebSocketSecure => Some(Self::WebSocketSecure),
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Scheme {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let found = Self::ALL.into_iter().find(|scheme| scheme.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| UrlError::SchemeUnknown { scheme: shown(text), near: near(text) })
    }
}

/// Where a server is and what it speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// What it speaks.
    pub scheme: Scheme,
    /// Where it listens.
    pub place: Place,
    /// The path and query asked for, by default [`Scheme::default_path`]; only where the scheme has paths.
    pub path: String,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A name or an address, and a port.
    Host {
        /// Without the brackets of an IPv6 address.
        name: String,
        /// The port.
        port: u16,
    },
    /// The path of a Unix socket.
    Path(PathBuf),
}

impl Url {
    /// Host and port as they stand in a `Host` field: without the port if it is the usual one. Empty for a Unix socket.
    pub fn authority(&self) -> String {
        let Place::Host { name, port } = &self.place else { return String::new() };
        let name = if name.contains(':') { format!("[{name}]") } else { name.clone() };
        if self.scheme.default_port() == Some(*port) { name } else { format!("{name}:{port}") }
    }

    /// The name or address of the host, without brackets. Empty for a Unix socket.
    pub fn host(&self) -> &str {
        match &self.place {
            Place::Host { name, .. } => name,
            Place::Path(_) => "",
        }
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let Some((scheme, rest)) = split_scheme(text)? else {
            return Err(UrlError::SchemeMissing { near: with_scheme(text) });
        };
        if scheme == Scheme::Unix {
            let place = Place::Path(socket_path(rest)?);
            return Ok(Self { scheme, place, path: "/".to_owned() });
        }
        let Some(rest) = rest.strip_prefix("//") else {
            return Err(UrlError::SlashesMissing { near: format!("{scheme}://{}", shown(rest)) });
        };
        check_characters(rest)?;
        let authority_len = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(authority_len);
        let place = read_authority(scheme, authority)?;
        Ok(Self { scheme, place, path: read_path(scheme, path)? })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.scheme;
        match &self.place {
            Place::Path(path) if path.is_absolute() => write!(f, "{scheme}://{}", path.display()),
            Place::Path(path) => write!(f, "{scheme}:{}", path.display()),
            Place::Host { .. } if scheme.has_paths() => {
                write!(f, "{scheme}://{}{}", self.authority(), self.path)
            }
            Place::Host { .. } => write!(f, "{scheme}://{}", self.authority()),
        }
    }
}

/// The scheme and what follows its colon; `None` where there is no scheme.
fn split_scheme(text: &str) -> Result<Option<(Scheme, &str)>, UrlError> {
    if text.trim().is_empty() {
        return Err(UrlError::Empty);
    }
    let Some((scheme, rest)) = text.split_once(':') else { return Ok(None) };
    match scheme.parse() {
        Ok(scheme) => Ok(Some((scheme, rest))),
        Err(unknown) if rest.starts_with("//") && !scheme.is_empty() => Err(unknown),
        Err(_) => Ok(None),
    }
}

/// The path of a Unix socket: `///run/echo.sock` and `/run/echo.sock` are absolute, `echo.sock` is relative.
fn socket_path(rest: &str) -> Result<PathBuf, UrlError> {
    let path = match rest.strip_prefix("//") {
        Some(absolute) if absolute.starts_with('/') || absolute.is_empty() => absolute,
        Some(host) => return Err(UrlError::SocketHost { path: shown(host) }),
        None => rest,
    };
    if path.is_empty() {
        return Err(UrlError::SocketMissing);
    }
    if let Some(found) = path.chars().find(|found| found.is_control()) {
        return Err(UrlError::Character { found });
    }
    if path.len() > SOCKET_PATH_LEN_MAX {
        return Err(UrlError::SocketPathLong { len: path.len() });
    }
    Ok(path.into())
}

/// Everything in a URL is printable ASCII; percent signs are followed by two hexadecimal digits.
fn check_characters(rest: &str) -> Result<(), UrlError> {
    if let Some((_, fragment)) = rest.split_once('#') {
        return Err(UrlError::Fragment { fragment: shown(fragment) });
    }
    if let Some(found) = rest.chars().find(|found| !found.is_ascii_graphic()) {
        return Err(UrlError::Character { found });
    }
    for (at, _) in rest.match_indices('%') {
        let escape = &rest[at..rest.len().min(at + 3)];
        if escape.len() < 3 || !escape[1..].bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(UrlError::Escape { found: escape.to_owned() });
        }
    }
    Ok(())
}

fn read_authority(scheme: Scheme, authority: &str) -> Result<Place, UrlError> {
    if authority.contains('@') {
        return Err(UrlError::UserInfo);
    }
    let (name, port) = match authority.strip_prefix('[') {
        Some(bracketed) => {
            let (name, port) = bracketed
                .split_once(']')
                .ok_or_else(|| UrlError::Host { host: shown(authority) })?;
            name.parse::<Ipv6Addr>().map_err(|_| UrlError::Host { host: shown(name) })?;
            (name, port)
        }
        None if authority.matches(':').count() > 1 => {
            return Err(UrlError::BracketsMissing { host: shown(authority) });
        }
        None => {
            let (name, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
            check_name(name)?;
            (name, port)
        }
    };
    let port = match (port.strip_prefix(':'), scheme.default_port()) {
        (Some(port), _) => read_port(port)?,
        (None, _) if !port.is_empty() => return Err(UrlError::Host { host: shown(authority) }),
        (None, Some(port)) => port,
        (None, None) => return Err(UrlError::PortMissing { scheme, authority: shown(authority) }),
    };
    Ok(Place::Host { name: name.to_owned(), port })
}

fn check_name(name: &str) -> Result<(), UrlError> {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    match name {
        "" => Err(UrlError::HostMissing),
        name if name.len() <= NAME_LEN_MAX && name.bytes().all(fine) => Ok(()),
        name => Err(UrlError::Host { host: shown(name) }),
    }
}

fn read_port(port: &str) -> Result<u16, UrlError> {
    let digits = port.bytes().all(|digit| digit.is_ascii_digit());
    let number = port.parse().ok().filter(|port| *port > 0 && digits);
    number.ok_or_else(|| UrlError::Port { port: shown(port) })
}

fn read_path(scheme: Scheme, path: &str) -> Result<String, UrlError> {
    match path {
        "" => Ok(scheme.default_path().to_owned()),
        "/" => Ok(path.to_owned()),
        path if !scheme.has_paths() => Err(UrlError::Path { scheme, path: shown(path) }),
        query if query.starts_with('?') => Ok(format!("{}{query}", scheme.default_path())),
        path => Ok(path.to_owned()),
    }
}

/// Why a text is not the URL of a server. What was typed is escaped and cut to a length that fits a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// An IPv6 address stands without brackets.
    #[error("`{host}` has several colons; an IPv6 address stands in brackets, as in `[::1]:8080`")]
    BracketsMissing {
        /// What stands there.
        host: String,
    },
    /// A URL is printable ASCII, and the path of a socket has no control characters.
    #[error("{}", character_text(*found))]
    Character {
        /// The first other character.
        found: char,
    },
    /// There is nothing.
    #[error("is empty; try `ws://127.0.0.1:8080`")]
    Empty,
    /// A percent sign is not followed by two hexadecimal digits.
    #[error(
        "has `{found}` where two hexadecimal digits should follow the percent sign; a percent sign itself is `%25`"
    )]
    Escape {
        /// What stands there.
        found: String,
    },
    /// What follows a `#` is never sent to a server.
    #[error(
        "has the fragment `#{fragment}`, which is never sent; leave it out, or write `#` as `%23`"
    )]
    Fragment {
        /// Without the `#`.
        fragment: String,
    },
    /// It is neither a name nor an address.
    #[error("`{host}` is neither a name nor an address")]
    Host {
        /// What stands there.
        host: String,
    },
    /// There is no host.
    #[error("has no host; try `127.0.0.1`")]
    HostMissing,
    /// The scheme has no paths.
    #[error("has the path `{path}`, and there are none in {scheme}; leave it out")]
    Path {
        /// What is spoken.
        scheme: Scheme,
        /// What stands there.
        path: String,
    },
    /// It is not a port that a server can have.
    #[error("`{port}` is not a port; ports go from 1 to 65535")]
    Port {
        /// What stands there.
        port: String,
    },
    /// The scheme has no usual port.
    #[error(
        "has no port, and {scheme} has no usual one; add it, as in `{scheme}://{authority}:9000`"
    )]
    PortMissing {
        /// What is spoken.
        scheme: Scheme,
        /// The host.
        authority: String,
    },
    /// It does not say what is spoken.
    #[error("does not say what the server speaks; did you mean `{near}`?")]
    SchemeMissing {
        /// A URL that does.
        near: String,
    },
    /// Nothing here speaks that.
    #[error("unknown scheme `{scheme}`; known are {}{}", known_text(), near_text(*near))]
    SchemeUnknown {
        /// What stands there.
        scheme: String,
        /// What was probably meant.
        near: Option<Scheme>,
    },
    /// The two slashes before the host are missing.
    #[error("has no `//` before the host; did you mean `{near}`?")]
    SlashesMissing {
        /// With them.
        near: String,
    },
    /// A Unix socket is on no host.
    #[error(
        "has a host, and a Unix socket is on none; did you mean `unix:///{path}` or `unix:{path}`?"
    )]
    SocketHost {
        /// What stands there.
        path: String,
    },
    /// The path of the Unix socket is missing.
    #[error("has no path; try `unix:///tmp/echo.sock`")]
    SocketMissing,
    /// The system's names of sockets are short.
    #[error(
        "has a path of {len} bytes, and a Unix socket's has at most {SOCKET_PATH_LEN_MAX}; `cd` to its folder and use `unix:NAME`"
    )]
    SocketPathLong {
        /// Its length.
        len: usize,
    },
    /// Secrets do not belong into a command line.
    #[error(
        "has a user name, which would be seen by everyone who lists processes; use `--header @FILE`"
    )]
    UserInfo,
}

fn character_text(found: char) -> String {
    if found.is_control() {
        return format!("has the control character `{}`", found.escape_default());
    }
    let mut buffer = [0; 4];
    let escape: String =
        found.encode_utf8(&mut buffer).bytes().map(|byte| format!("%{byte:02X}")).collect();
    let name =
        if found == ' ' { "a space".to_owned() } else { format!("`{}`", found.escape_debug()) };
    format!("has {name} in it; in a path write it as `{escape}`")
}

fn known_text() -> String {
    Scheme::ALL.map(Scheme::name).join(", ")
}

fn near_text(near: Option<Scheme>) -> String {
    near.map_or_else(String::new, |scheme| format!("; did you mean `{scheme}`?"))
}

/// The scheme whose name is almost `text`.
fn near(text: &str) -> Option<Scheme> {
    let text = text.to_ascii_lowercase();
    let distance = |scheme: &Scheme| strsim::damerau_levenshtein(&text, scheme.name());
    let near = Scheme::ALL.into_iter().min_by_key(distance)?;
    (distance(&near) <= TYPOS_MAX.min(near.name().len() - 1)).then_some(near)
}

/// `text`, which has no scheme, with the one that was most probably meant.
fn with_scheme(text: &str) -> String {
    let text = text.trim_start_matches(':');
    if text.starts_with(['/', '.']) && !text.starts_with("//") {
        format!("unix:{}", shown(text))
    } else {
        format!("ws://{}", shown(text.trim_start_matches('/')))
    }
}

fn shown(text: &str) -> String {
    let mut shown: String =
        text.chars().take(SHOWN_CHARS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// The longest path that fits a `sockaddr_un`, with the zero byte that ends it.
const SOCKET_PATH_LEN_MAX: usize = 107;

/// The longest name of a host (RFC 1035 §2.3.4).
const NAME_LEN_MAX: usize = 253;

/// A name that is further away was not meant.
const TYPOS_MAX: usize = 2;

/// How much of a text an error repeats.
const SHOWN_CHARS_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, scheme: Scheme, name: &str, port: u16, path: &str, authority: &str) {
        let url: Url = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let place = Place::Host { name: name.to_owned(), port };
        assert_eq!(url, Url { scheme, place, path: path.to_owned() }, "{text}");
        assert_eq!(url.authority(), authority, "{text}");
        assert_eq!(url.to_string().parse(), Ok(url), "{text}");
    }

    #[test]
    fn our_echo_servers_are_listed_before_what_has_none() {
        let (echoes, others) = Scheme::ALL.split_at(Scheme::ECHOES.len());
        assert_eq!(echoes, Scheme::ECHOES);
        assert!(echoes.iter().all(|scheme| !scheme.is_game() && !scheme.is_enveloped()));
        assert!(others.iter().all(|scheme| scheme.is_game() || scheme.is_enveloped()));
    }

    #[test]
    fn a_url_says_what_is_spoken_where() {
        use Scheme::{Game, GameComet, GameWebSocket, SockJs, SocketIoSecure, StyxTls};
        use Scheme::{Http, Https, Tcp, TcpFramed, Tls, TlsFramed, WebSocket, WebSocketSecure};
        #[rustfmt::skip]
        let table = [
            ("ws://127.0.0.1:8080/echo", WebSocket, "127.0.0.1",  8080, "/echo",     "127.0.0.1:8080"),
            ("ws://example",             WebSocket, "example",      80, "/",         "example"),
            ("ws://example:80/",         WebSocket, "example",      80, "/",         "example"),
            ("WS://Example",             WebSocket, "Example",      80, "/",         "Example"),
            ("http://a-b_c.de?x=1&y=2",  Http,      "a-b_c.de",     80, "/?x=1&y=2", "a-b_c.de"),
            ("http://h/a%20b?q=@:/?%2F", Http,      "h",            80, "/a%20b?q=@:/?%2F", "h"),
            ("http://h//a",              Http,      "h",            80, "//a",       "h"),
            ("ws://[::1]:8080/",         WebSocket, "::1",        8080, "/",         "[::1]:8080"),
            ("http://[::1]",             Http,      "::1",          80, "/",         "[::1]"),
            ("tcp://[::ffff:1.2.3.4]:9", Tcp,       "::ffff:1.2.3.4", 9, "/",        "[::ffff:1.2.3.4]:9"),
            ("tcp://localhost:80",       Tcp,       "localhost",    80, "/",         "localhost:80"),
            ("tcp://h:65535/",           Tcp,       "h",         65535, "/",         "h:65535"),
            ("tcp-framed://h:9",         TcpFramed, "h",             9, "/",         "h:9"),
            ("tls://h:9",                Tls,       "h",             9, "/",         "h:9"),
            ("tls-framed://h:9",         TlsFramed, "h",             9, "/",         "h:9"),
            ("wss://example/echo",       WebSocketSecure, "example", 443, "/echo",   "example"),
            ("wss://example:80/echo",    WebSocketSecure, "example", 80, "/echo",    "example:80"),
            ("game://h",                 Game,      "h",          4123, "/",         "h"),
            ("game-ws://h:8080",         GameWebSocket, "h",      8080, "/socket",   "h:8080"),
            ("game-ws://h/",             GameWebSocket, "h",        80, "/",         "h"),
            ("game-comet://h?a=b",       GameComet, "h",            80, "/cometd?a=b", "h"),
            ("styx-tls://h:9",           StyxTls,   "h",             9, "/",         "h:9"),
            ("sockjs://h:8/echo",        SockJs,    "h",             8, "/echo",     "h:8"),
            ("socketios://h",            SocketIoSecure, "h",      443, "/",         "h"),
            ("HTTPS://[::1]:443/",       Https,     "::1",         443, "/",         "[::1]"),
        ];
        for (text, scheme, name, port, path, authority) in table {
            check(text, scheme, name, port, path, authority);
        }
    }

    #[test]
    fn every_scheme_but_unix_has_a_twin_inside_tls() {
        for scheme in Scheme::ALL {
            assert_eq!(scheme.plain().plain(), scheme.plain(), "{scheme}");
            assert_eq!(scheme.is_secure(), scheme != scheme.plain(), "{scheme}");
            let twin = scheme.secure();
            assert_eq!(twin.is_none(), scheme == Scheme::Unix);
            assert!(twin.is_none_or(|twin| twin.is_secure() && twin.plain() == scheme.plain()));
        }
    }

    #[test]
    fn the_path_of_a_unix_socket_is_taken_as_it_stands() {
        for (text, path, written) in [
            ("unix:///run/echo.sock", "/run/echo.sock", "unix:///run/echo.sock"),
            ("unix:/run/echo.sock", "/run/echo.sock", "unix:///run/echo.sock"),
            ("unix:echo.sock", "echo.sock", "unix:echo.sock"),
            ("unix:./a b#c%zz?", "./a b#c%zz?", "unix:./a b#c%zz?"),
        ] {
            let url: Url = text.parse().unwrap();
            assert_eq!(url.place, Place::Path(path.into()), "{text}");
            assert_eq!(url.to_string(), written);
            assert_eq!(written.parse(), Ok(url));
        }
    }

    #[test]
    fn what_is_not_a_url_is_told_what_to_write_instead() {
        #[rustfmt::skip]
        let table = [
            ("",                   "is empty; try `ws://127.0.0.1:8080`"),
            (" ",                  "is empty; try `ws://127.0.0.1:8080`"),
            ("htps://h",           "unknown scheme `htps`; known are tcp, tcp-framed, unix, ws, http, styx, tls, tls-framed, wss, https, styx-tls, sockjs, sockjss, socketio, socketios, game, game-ws, game-comet, game-tls, game-wss, game-comet-tls; did you mean `https`?"),
            ("tls-frame://h:1",    "unknown scheme `tls-frame`; known are tcp, tcp-framed, unix, ws, http, styx, tls, tls-framed, wss, https, styx-tls, sockjs, sockjss, socketio, socketios, game, game-ws, game-comet, game-tls, game-wss, game-comet-tls; did you mean `tls-framed`?"),
            ("tls://h",            "has no port, and tls has no usual one; add it, as in `tls://h:9000`"),
            ("tpc://h:1",          "unknown scheme `tpc`; known are tcp, tcp-framed, unix, ws, http, styx, tls, tls-framed, wss, https, styx-tls, sockjs, sockjss, socketio, socketios, game, game-ws, game-comet, game-tls, game-wss, game-comet-tls; did you mean `tcp`?"),
            ("tcp_framed://h:1",   "unknown scheme `tcp_framed`; known are tcp, tcp-framed, unix, ws, http, styx, tls, tls-framed, wss, https, styx-tls, sockjs, sockjss, socketio, socketios, game, game-ws, game-comet, game-tls, game-wss, game-comet-tls; did you mean `tcp-framed`?"),
            ("x://h",              "unknown scheme `x`; known are tcp, tcp-framed, unix, ws, http, styx, tls, tls-framed, wss, https, styx-tls, sockjs, sockjss, socketio, socketios, game, game-ws, game-comet, game-tls, game-wss, game-comet-tls"),
            ("carrier-pigeon://h", "unknown scheme `carrier-pigeon`; known are tcp, tcp-framed, unix, ws, http, styx, tls, tls-framed, wss, https, styx-tls, sockjs, sockjss, socketio, socketios, game, game-ws, game-comet, game-tls, game-wss, game-comet-tls"),
            ("localhost:8080/a",   "does not say what the server speaks; did you mean `ws://localhost:8080/a`?"),
            ("//localhost:8080",   "does not say what the server speaks; did you mean `ws://localhost:8080`?"),
            ("://h",               "does not say what the server speaks; did you mean `ws://h`?"),
            ("/run/echo.sock",     "does not say what the server speaks; did you mean `unix:/run/echo.sock`?"),
            ("ws:localhost:8080",  "has no `//` before the host; did you mean `ws://localhost:8080`?"),
            ("ws://",              "has no host; try `127.0.0.1`"),
            ("ws:///echo",         "has no host; try `127.0.0.1`"),
            ("ws://:8080",         "has no host; try `127.0.0.1`"),
            ("ws://me:pw@h",       "has a user name, which would be seen by everyone who lists processes; use `--header @FILE`"),
            ("ws://h/a b",         "has a space in it; in a path write it as `%20`"),
            ("ws://h/é",           "has `é` in it; in a path write it as `%C3%A9`"),
            ("ws://h/\r\nX: y",    "has the control character `\\r`"),
            ("ws://h/50%",         "has `%` where two hexadecimal digits should follow the percent sign; a percent sign itself is `%25`"),
            ("ws://h/%4x",         "has `%4x` where two hexadecimal digits should follow the percent sign; a percent sign itself is `%25`"),
            ("ws://h/a#b",         "has the fragment `#b`, which is never sent; leave it out, or write `#` as `%23`"),
            ("ws://::1:8080",      "`::1:8080` has several colons; an IPv6 address stands in brackets, as in `[::1]:8080`"),
            ("ws://[::1",          "`[::1` is neither a name nor an address"),
            ("ws://[localhost]",   "`localhost` is neither a name nor an address"),
            ("ws://[::1]8080",     "`[::1]8080` is neither a name nor an address"),
            ("ws://a,b",           "`a,b` is neither a name nor an address"),
            ("tcp://h",            "has no port, and tcp has no usual one; add it, as in `tcp://h:9000`"),
            ("ws://h:",            "`` is not a port; ports go from 1 to 65535"),
            ("ws://h:0",           "`0` is not a port; ports go from 1 to 65535"),
            ("ws://h:+80",         "`+80` is not a port; ports go from 1 to 65535"),
            ("ws://h:65536",       "`65536` is not a port; ports go from 1 to 65535"),
            ("tcp://h:1/echo",     "has the path `/echo`, and there are none in tcp; leave it out"),
            ("tcp://h:1?x",        "has the path `?x`, and there are none in tcp; leave it out"),
            ("unix:",              "has no path; try `unix:///tmp/echo.sock`"),
            ("unix://",            "has no path; try `unix:///tmp/echo.sock`"),
            ("unix://run/x.sock",  "has a host, and a Unix socket is on none; did you mean `unix:///run/x.sock` or `unix:run/x.sock`?"),
            ("unix:a\nb",          "has the control character `\\n`"),
        ];
        for (text, expected) in table {
            assert_eq!(text.parse::<Url>().unwrap_err().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn lengths_have_limits() {
        let socket = |len: usize| format!("unix:{}", "s".repeat(len)).parse::<Url>();
        assert!(socket(SOCKET_PATH_LEN_MAX).is_ok());
        assert_eq!(
            socket(SOCKET_PATH_LEN_MAX + 1),
            Err(UrlError::SocketPathLong { len: SOCKET_PATH_LEN_MAX + 1 })
        );
        let host = |len: usize| format!("ws://{}", "h".repeat(len)).parse::<Url>();
        assert!(host(NAME_LEN_MAX).is_ok());
        let message = host(NAME_LEN_MAX + 1).unwrap_err().to_string();
        assert!(message.chars().count() < 120, "{message}");
    }

    #[test]
    fn what_was_typed_reaches_no_terminal_unescaped() {
        let message = "\u{1b}[2J://h".parse::<Url>().unwrap_err().to_string();
        assert!(!message.contains('\u{1b}'), "{message}");
    }
}
