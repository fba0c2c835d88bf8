//! The place of a server and the protocol that it speaks, as one URL: `ws://127.0.0.1:8080/echo`,
//! `unix:///run/echo.sock`.
//!
//! A URL is read strictly: if a part of it would be sent differently from how it was typed, or not at all, the error
//! says what to type instead. A URL that was written reads back as the same value.
//!
//! Left out: name resolution, and the parts of RFC 3986 that a load generator has no use for: users, passwords,
//! fragments.
//!
//! Start reading at [`PROTOCOLS`], then [`Endpoint::from_str`].

mod protocols;

pub use protocols::{
    Carries, Facts, Fallback, PROTOCOLS, Protocol, Scheme, SchemeError, Transport,
};

use crate::secrets::{path_without_secrets, url_without_secrets};
use core::net::{Ipv6Addr, SocketAddr};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The place of a server and the protocol that it speaks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// The protocol that is spoken, inside TLS or not.
    pub protocol: Protocol,
    /// True if the protocol is spoken inside TLS.
    pub tls: bool,
    /// The transport that the protocol travels over.
    pub transport: Transport,
    /// The address that the server listens on.
    pub address: Address,
    /// The path and query that are asked for, by default [`Facts::path`]; `/` if the protocol has no paths.
    pub path: String,
}

/// An address that a server listens on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// A name or an address, and a port.
    Host {
        /// The name, without the brackets of an IPv6 address.
        name: String,
        /// The port.
        port: u16,
    },
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Host { name: address.ip().to_string(), port: address.port() }
    }
}

impl Endpoint {
    /// A server that speaks `scheme` at `address`, with the usual path.
    pub fn new(scheme: Scheme, address: Address) -> Self {
        let Scheme { protocol, tls, transport } = scheme;
        Self { protocol, tls, transport, address, path: usual_path(protocol).to_owned() }
    }

    /// The protocol over its transport, with or without TLS.
    pub const fn scheme(&self) -> Scheme {
        Scheme { protocol: self.protocol, tls: self.tls, transport: self.transport }
    }

    /// The facts about its protocol.
    pub const fn facts(&self) -> &'static Facts {
        self.protocol.facts()
    }

    /// Host and port as in a `Host` field: without the port if it is the usual one. Empty for a Unix socket.
    pub fn authority(&self) -> String {
        let Address::Host { name, port } = &self.address else { return String::new() };
        let name = if name.contains(':') { format!("[{name}]") } else { name.clone() };
        if self.scheme().port() == Some(*port) { name } else { format!("{name}:{port}") }
    }

    /// The URL with its secrets: only for connecting to it, and never to be stored or shown.
    pub fn whole(&self) -> String {
        let shown = self.to_string();
        match shown.strip_suffix(&path_without_secrets(&self.path)) {
            Some(before) if self.facts().path.is_some() => format!("{before}{}", self.path),
            Some(_) | None => shown,
        }
    }

    /// The name or address of the host, without brackets. Empty for a Unix socket.
    pub fn host(&self) -> &str {
        match &self.address {
            Address::Host { name, .. } => name,
            Address::Unix(_) => "",
        }
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let Some((scheme, rest)) = split_scheme(text)? else {
            return Err(EndpointError::SchemeMissing { near: with_scheme(text) });
        };
        if scheme.protocol == Protocol::Unix {
            return Ok(Self::new(scheme, Address::Unix(socket_path(rest)?)));
        }
        let Some(rest) = rest.strip_prefix("//") else {
            return Err(EndpointError::SlashesMissing {
                near: format!("{scheme}://{}", shown(&url_without_secrets(rest))),
            });
        };
        let authority_len = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(authority_len);
        if authority.contains(|found: char| !found.is_ascii() && found.is_alphanumeric()) {
            return Err(EndpointError::HostBeyondAscii { host: shown(authority) });
        }
        check_characters(rest)?;
        let address = read_authority(scheme, authority)?;
        Ok(Self { path: read_path(scheme, path)?, ..Self::new(scheme, address) })
    }
}

/// The URL without its secrets; [`Endpoint::whole`] has them.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.scheme();
        match &self.address {
            Address::Unix(path) if path.is_absolute() => write!(f, "{scheme}://{}", path.display()),
            Address::Unix(path) => write!(f, "{scheme}:{}", path.display()),
            Address::Host { .. } if self.facts().path.is_some() => {
                write!(f, "{scheme}://{}{}", self.authority(), path_without_secrets(&self.path))
            }
            Address::Host { .. } => write!(f, "{scheme}://{}", self.authority()),
        }
    }
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Endpoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(|error| {
            de::Error::custom(format!("`{}` {error}", shown(&url_without_secrets(&text))))
        })
    }
}

impl JsonSchema for Endpoint {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Endpoint".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let schemes: Vec<String> =
            Scheme::all().map(|scheme| scheme.name().replace('+', "\\+")).collect();
        json_schema!({
            "type": "string",
            "description": "the URL of a server",
            "pattern": format!("^({}):", schemes.join("|")),
            "examples": ["ws://127.0.0.1:8080/echo", "unix:///run/echo.sock"],
        })
    }
}

/// The path of a URL that names none.
fn usual_path(protocol: Protocol) -> &'static str {
    protocol.facts().path.unwrap_or("/")
}

/// The scheme and what follows its colon; `None` where there is no scheme.
fn split_scheme(text: &str) -> Result<Option<(Scheme, &str)>, EndpointError> {
    if text.trim().is_empty() {
        return Err(EndpointError::Empty);
    }
    let Some((scheme, rest)) = text.split_once(':') else { return Ok(None) };
    match scheme.parse() {
        Ok(scheme) => Ok(Some((scheme, rest))),
        Err(unknown) if rest.starts_with("//") && !scheme.is_empty() => {
            Err(EndpointError::SchemeUnknown(unknown))
        }
        Err(_) => Ok(None),
    }
}

/// The path of a Unix socket: `///run/echo.sock` and `/run/echo.sock` are absolute, `echo.sock` is relative.
fn socket_path(rest: &str) -> Result<PathBuf, EndpointError> {
    let path = match rest.strip_prefix("//") {
        Some(absolute) if absolute.starts_with('/') || absolute.is_empty() => absolute,
        Some(host) => return Err(EndpointError::SocketHost { path: shown(host) }),
        None => rest,
    };
    if path.is_empty() {
        return Err(EndpointError::SocketMissing);
    }
    if let Some(found) = path.chars().find(|found| found.is_control()) {
        return Err(EndpointError::Character { found });
    }
    if path.len() > SOCKET_PATH_LEN_MAX {
        return Err(EndpointError::SocketPathLong { len: path.len() });
    }
    Ok(path.into())
}

/// Checks that a URL is printable ASCII without a fragment, and that two hexadecimal digits follow each percent sign.
fn check_characters(rest: &str) -> Result<(), EndpointError> {
    if let Some((_, fragment)) = rest.split_once('#') {
        return Err(EndpointError::Fragment { fragment: shown(fragment) });
    }
    if let Some(found) = rest.chars().find(|found| !found.is_ascii_graphic()) {
        return Err(EndpointError::Character { found });
    }
    for (at, _) in rest.match_indices('%') {
        let escape = &rest[at..rest.len().min(at + 3)];
        if escape.len() < 3 || !escape[1..].bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(EndpointError::Escape { found: escape.to_owned() });
        }
    }
    Ok(())
}

fn read_authority(scheme: Scheme, authority: &str) -> Result<Address, EndpointError> {
    if authority.contains('@') {
        return Err(EndpointError::UserInfo);
    }
    let (name, port) = match authority.strip_prefix('[') {
        Some(bracketed) => {
            let (name, port) = bracketed
                .split_once(']')
                .ok_or_else(|| EndpointError::Host { host: shown(authority) })?;
            name.parse::<Ipv6Addr>().map_err(|_| EndpointError::Host { host: shown(name) })?;
            (name, port)
        }
        None if authority.matches(':').count() > 1 => {
            return Err(EndpointError::BracketsMissing { host: shown(authority) });
        }
        None => {
            let (name, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
            check_name(name)?;
            (name, port)
        }
    };
    let port = match (port.strip_prefix(':'), scheme.port()) {
        (Some(port), _) => read_port(port)?,
        (None, _) if !port.is_empty() => {
            return Err(EndpointError::Host { host: shown(authority) });
        }
        (None, Some(port)) => port,
        (None, None) => {
            return Err(EndpointError::PortMissing { scheme, authority: shown(authority) });
        }
    };
    Ok(Address::Host { name: name.to_owned(), port })
}

fn check_name(name: &str) -> Result<(), EndpointError> {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    match name {
        "" => Err(EndpointError::HostMissing),
        name if name.len() <= NAME_LEN_MAX && name.bytes().all(fine) => Ok(()),
        name => Err(EndpointError::Host { host: shown(name) }),
    }
}

fn read_port(port: &str) -> Result<u16, EndpointError> {
    let digits = port.bytes().all(|digit| digit.is_ascii_digit());
    let number = port.parse().ok().filter(|port| *port > 0 && digits);
    number.ok_or_else(|| EndpointError::Port { port: shown(port) })
}

fn read_path(scheme: Scheme, path: &str) -> Result<String, EndpointError> {
    match path {
        "" => Ok(usual_path(scheme.protocol).to_owned()),
        "/" => Ok(path.to_owned()),
        path if scheme.facts().path.is_none() => {
            Err(EndpointError::Path { scheme, path: shown(path) })
        }
        query if query.starts_with('?') => Ok(format!("{}{query}", usual_path(scheme.protocol))),
        path => Ok(path.to_owned()),
    }
}

/// The reasons why a text is not the URL of a server. Texts in them are escaped and cut to a length that fits a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// An IPv6 address is not in brackets.
    #[error("`{host}` has several colons; an IPv6 address stands in brackets, as in `[::1]:8080`")]
    BracketsMissing {
        /// The text that was found.
        host: String,
    },
    /// A URL is printable ASCII, and the path of a socket has no control characters.
    #[error("{}", character_text(*found))]
    Character {
        /// The first other character.
        found: char,
    },
    /// The text is empty.
    #[error("is empty; try `ws://127.0.0.1:8080`")]
    Empty,
    /// A percent sign is not followed by two hexadecimal digits.
    #[error(
        "has `{found}` where two hexadecimal digits should follow the percent sign; a percent sign itself is `%25`"
    )]
    Escape {
        /// The text that was found.
        found: String,
    },
    /// The part after a `#` is never sent to a server.
    #[error(
        "has the fragment `#{fragment}`, which is never sent; leave it out, or write `#` as `%23`"
    )]
    Fragment {
        /// The fragment, without the `#`.
        fragment: String,
    },
    /// It is a name with letters beyond ASCII.
    #[error(
        "has letters beyond ASCII in the host `{host}`; write it in punycode, as DNS does: `xn--…` (idn2 converts it)"
    )]
    HostBeyondAscii {
        /// The text that was found.
        host: String,
    },
    /// It is neither a name nor an address.
    #[error("`{host}` is neither a name nor an address")]
    Host {
        /// The text that was found.
        host: String,
    },
    /// There is no host.
    #[error("has no host; try `127.0.0.1`")]
    HostMissing,
    /// The scheme has no paths.
    #[error("has the path `{path}`, but {scheme} has no paths; leave it out")]
    Path {
        /// The scheme.
        scheme: Scheme,
        /// The text that was found.
        path: String,
    },
    /// It is not a port that a server can have.
    #[error("`{port}` is not a port; ports go from 1 to 65535")]
    Port {
        /// The text that was found.
        port: String,
    },
    /// The scheme has no usual port.
    #[error(
        "has no port, and {scheme} has no usual one; add it, as in `{scheme}://{authority}:9000`"
    )]
    PortMissing {
        /// The scheme.
        scheme: Scheme,
        /// The host.
        authority: String,
    },
    /// The scheme is missing.
    #[error("does not say what the server speaks; did you mean `{near}`?")]
    SchemeMissing {
        /// The same with a scheme.
        near: String,
    },
    /// No protocol has that name.
    #[error(transparent)]
    SchemeUnknown(SchemeError),
    /// The two slashes before the host are missing.
    #[error("has no `//` before the host; did you mean `{near}`?")]
    SlashesMissing {
        /// The URL with them.
        near: String,
    },
    /// The URL names a host, and a Unix socket has none.
    #[error(
        "has a host, and a Unix socket is on none; did you mean `unix:///{path}` or `unix:{path}`?"
    )]
    SocketHost {
        /// The text that was found.
        path: String,
    },
    /// The path of the Unix socket is missing.
    #[error("has no path; try `unix:///tmp/echo.sock`")]
    SocketMissing,
    /// The path is longer than the name of a socket may be.
    #[error(
        "has a path of {len} bytes, and a Unix socket's has at most {SOCKET_PATH_LEN_MAX}; `cd` to its folder and use `unix:NAME`"
    )]
    SocketPathLong {
        /// Its length.
        len: usize,
    },
    /// Secrets do not belong on a command line.
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

/// `text`, which has no scheme, with the scheme that was most probably meant.
fn with_scheme(text: &str) -> String {
    let text = &url_without_secrets(text);
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

/// The length of the part of a text that an error repeats, in characters.
const SHOWN_CHARS_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, scheme: &str, name: &str, port: u16, path: &str, authority: &str) {
        let endpoint: Endpoint = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let address = Address::Host { name: name.to_owned(), port };
        let expected = Endpoint::new(Scheme::named(scheme).unwrap(), address);
        assert_eq!(endpoint, Endpoint { path: path.to_owned(), ..expected }, "{text}");
        assert_eq!(endpoint.authority(), authority, "{text}");
        let json = serde_json::to_string(&endpoint).unwrap();
        assert_eq!(json, format!("\"{endpoint}\""));
        assert_eq!(serde_json::from_str::<Endpoint>(&json).unwrap(), endpoint, "{text}");
    }

    #[test]
    fn a_url_says_what_is_spoken_where() {
        #[rustfmt::skip]
        let table = [
            ("ws://127.0.0.1:8080/echo", "ws", "127.0.0.1",  8080, "/echo",     "127.0.0.1:8080"),
            ("ws://example",             "ws", "example",      80, "/",         "example"),
            ("ws://example:80/",         "ws", "example",      80, "/",         "example"),
            ("WS://Example",             "ws", "Example",      80, "/",         "Example"),
            ("http://a-b_c.de?x=1&y=2",  "http",      "a-b_c.de",     80, "/?x=1&y=2", "a-b_c.de"),
            ("http://h/a%20b?q=@:/?%2F", "http",      "h",            80, "/a%20b?q=@:/?%2F", "h"),
            ("http://h//a",              "http",      "h",            80, "//a",       "h"),
            ("ws://[::1]:8080/",         "ws", "::1",        8080, "/",         "[::1]:8080"),
            ("http://[::1]",             "http",      "::1",          80, "/",         "[::1]"),
            ("tcp://[::ffff:1.2.3.4]:9", "tcp",       "::ffff:1.2.3.4", 9, "/",        "[::ffff:1.2.3.4]:9"),
            ("tcp://localhost:80",       "tcp",       "localhost",    80, "/",         "localhost:80"),
            ("tcp://h:65535/",           "tcp",       "h",         65535, "/",         "h:65535"),
            ("tcp-framed://h:9",         "tcp-framed", "h",             9, "/",         "h:9"),
            ("tls://h:9",                "tls",       "h",             9, "/",         "h:9"),
            ("tls-framed://h:9",         "tls-framed", "h",             9, "/",         "h:9"),
            ("wss://example/echo",       "wss", "example", 443, "/echo",   "example"),
            ("wss://example:80/echo",    "wss", "example", 80, "/echo",    "example:80"),
            ("game://h",                 "game",      "h",          4123, "/",         "h"),
            ("game-ws://h:8080",         "game-ws", "h",      8080, "/socket",   "h:8080"),
            ("game-ws://h/",             "game-ws", "h",        80, "/",         "h"),
            ("game-comet://h?a=b",       "game-comet", "h",            80, "/cometd?a=b", "h"),
            ("styx-tls://h:9",           "styx-tls",   "h",             9, "/",         "h:9"),
            ("sockjs://h:8/echo",        "sockjs",    "h",             8, "/echo",     "h:8"),
            ("sockjs+xhr://h/echo",      "sockjs+xhr", "h",           80, "/echo",     "h"),
            ("sockjs+jsonp://h:8",       "sockjs+jsonp", "h",            8, "/",         "h:8"),
            ("SockJSs+EventSource://h",  "sockjss+eventsource", "h", 443, "/",         "h"),
            ("socketios://h",            "socketios", "h",      443, "/",         "h"),
            ("HTTPS://[::1]:443/",       "https",     "::1",         443, "/",         "[::1]"),
        ];
        for (text, scheme, name, port, path, authority) in table {
            check(text, scheme, name, port, path, authority);
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
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!(endpoint.address, Address::Unix(path.into()), "{text}");
            assert_eq!(endpoint.to_string(), written);
            assert_eq!(written.parse(), Ok(endpoint));
        }
    }

    #[test]
    fn what_is_not_a_url_is_told_what_to_write_instead() {
        #[rustfmt::skip]
        let table = [
            ("",                   "is empty; try `ws://127.0.0.1:8080`"),
            (" ",                  "is empty; try `ws://127.0.0.1:8080`"),
            ("htps://h",           "unknown scheme `htps`; known are KNOWN; did you mean `https`?"),
            ("tls-frame://h:1",    "unknown scheme `tls-frame`; known are KNOWN; did you mean `tls-framed`?"),
            ("tls://h",            "has no port, and tls has no usual one; add it, as in `tls://h:9000`"),
            ("tpc://h:1",          "unknown scheme `tpc`; known are KNOWN; did you mean `tcp`?"),
            ("tcp_framed://h:1",   "unknown scheme `tcp_framed`; known are KNOWN; did you mean `tcp-framed`?"),
            ("x://h",              "unknown scheme `x`; known are KNOWN"),
            ("carrier-pigeon://h", "unknown scheme `carrier-pigeon`; known are KNOWN"),
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
            ("ws://münchen.test/", "has letters beyond ASCII in the host `münchen.test`; write it in punycode, as DNS does: `xn--…` (idn2 converts it)"),
            ("ws://a,b",           "`a,b` is neither a name nor an address"),
            ("tcp://h",            "has no port, and tcp has no usual one; add it, as in `tcp://h:9000`"),
            ("ws://h:",            "`` is not a port; ports go from 1 to 65535"),
            ("ws://h:0",           "`0` is not a port; ports go from 1 to 65535"),
            ("ws://h:+80",         "`+80` is not a port; ports go from 1 to 65535"),
            ("ws://h:65536",       "`65536` is not a port; ports go from 1 to 65535"),
            ("tcp://h:1/echo",     "has the path `/echo`, but tcp has no paths; leave it out"),
            ("tcp://h:1?x",        "has the path `?x`, but tcp has no paths; leave it out"),
            ("unix:",              "has no path; try `unix:///tmp/echo.sock`"),
            ("unix://",            "has no path; try `unix:///tmp/echo.sock`"),
            ("unix://run/x.sock",  "has a host, and a Unix socket is on none; did you mean `unix:///run/x.sock` or `unix:run/x.sock`?"),
            ("unix:a\nb",          "has the control character `\\n`"),
        ];
        let known = Scheme::list(Scheme::all());
        for (text, expected) in table {
            let expected = expected.replace("KNOWN", &known);
            assert_eq!(text.parse::<Endpoint>().unwrap_err().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn lengths_have_limits() {
        let socket = |len: usize| format!("unix:{}", "s".repeat(len)).parse::<Endpoint>();
        assert!(socket(SOCKET_PATH_LEN_MAX).is_ok());
        assert_eq!(
            socket(SOCKET_PATH_LEN_MAX + 1),
            Err(EndpointError::SocketPathLong { len: SOCKET_PATH_LEN_MAX + 1 })
        );
        let host = |len: usize| format!("ws://{}", "h".repeat(len)).parse::<Endpoint>();
        assert!(host(NAME_LEN_MAX).is_ok());
        let message = host(NAME_LEN_MAX + 1).unwrap_err().to_string();
        assert!(message.chars().count() < 120, "{message}");
    }

    #[test]
    fn what_was_typed_reaches_no_terminal_unescaped() {
        let message = "\u{1b}[2J://h".parse::<Endpoint>().unwrap_err().to_string();
        assert!(!message.contains('\u{1b}'), "{message}");
    }

    #[test]
    fn an_error_in_a_file_repeats_what_stands_there() {
        let error = serde_json::from_str::<Endpoint>("\"tcp://h\"").unwrap_err().to_string();
        let expected =
            "`tcp://h` has no port, and tcp has no usual one; add it, as in `tcp://h:9000`";
        assert!(error.starts_with(expected), "{error}");
    }
}
