//! Brokers that `wirebench serve relay` subscribes to: their URLs, which may contain a password.

use crate::input;
use engine::Address;
use serve::relay::Feed;
use spec::{Endpoint, Protocol};
use std::net::ToSocketAddrs;
use std::path::Path;
use units::Bytes;
use wire::broker::{Broker, Login};
use wire::http1::percent_decoded;

/// The brokers whose channels are rooms.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The relay")]
pub(super) struct Brokers {
    /// Deliver what is published in channels of this Redis to the rooms of the same names
    ///
    /// `redis://HOST:PORT`. If Redis needs a password, write `redis://USER:PASSWORD@HOST:PORT` to a file, or
    /// `redis://:PASSWORD@HOST:PORT` if there is no user, and name it as @FILE. User and password are percent-encoded:
    /// `%25` is `%`.
    #[arg(long, value_name = "URL|@FILE", hide_short_help = true)]
    redis: Option<String>,
    /// The same for the subjects of this NATS server, `nats://HOST:PORT`
    ///
    /// A file may have `nats://USER:PASSWORD@HOST:PORT`, or `nats://TOKEN@HOST:PORT`, percent-encoded as well.
    #[arg(long, value_name = "URL|@FILE", hide_short_help = true)]
    nats: Option<String>,
}

impl Brokers {
    /// The name of the first option that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let all = self.all().into_iter().find(|(_, url)| url.is_some());
        all.map(|(broker, _)| option_of(broker))
    }

    /// Returns the brokers, after looking up their hosts; a message has at most `message_max` bytes.
    pub(super) fn feeds(&self, message_max: usize) -> Result<Vec<Feed>, String> {
        let given = self.all().into_iter().filter_map(|(broker, url)| Some((broker, url?)));
        given
            .map(|(broker, text)| {
                let place = Place::named(broker, text)
                    .map_err(|reason| format!("{} {reason}", option_of(broker)))?;
                place.feed(broker, message_max)
            })
            .collect()
    }

    fn all(&self) -> [(Broker, Option<&str>); 2] {
        [(Broker::Redis, self.redis.as_deref()), (Broker::Nats, self.nats.as_deref())]
    }
}

const fn option_of(broker: Broker) -> &'static str {
    match broker {
        Broker::Nats => "--nats",
        Broker::Redis => "--redis",
    }
}

const fn scheme_of(broker: Broker) -> &'static str {
    match broker {
        Broker::Nats => "nats://",
        Broker::Redis => "redis://",
    }
}

/// The parts of a URL.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    /// The host and the port, as the URL of the stream to the broker.
    stream: Endpoint,
    login: Option<Login>,
}

impl Place {
    /// Reads the place that an option names, directly or in a file. No error repeats what may be a password.
    fn named(broker: Broker, text: &str) -> Result<Self, String> {
        let Some(path) = text.strip_prefix('@') else {
            let place = Self::read(broker, text)?;
            if place.login.is_some() {
                return Err("takes no login on the command line, where everybody sees it; write the URL to a file, \
                     and name it as @FILE"
                    .to_owned());
            }
            return Ok(place);
        };
        let content = input::read(Path::new(path), FILE_MAX);
        let content = content.and_then(|bytes| input::text(bytes, "a URL"));
        let content = content.map_err(|error| format!("@{path}: {error}"))?;
        Self::read(broker, content.trim()).map_err(|reason| format!("@{path}: {reason}"))
    }

    fn read(broker: Broker, url: &str) -> Result<Self, String> {
        let scheme = scheme_of(broker);
        let form = || format!("takes {scheme}HOST:PORT, with nothing after it");
        let rest = url.strip_prefix(scheme).ok_or_else(form)?;
        // Passwords in base64 can contain slashes.
        let (login, place) = match rest.rsplit_once('@') {
            None => (None, rest),
            Some((login, place)) => (Some(read_login(broker, login)?), place),
        };
        let place = place.strip_suffix('/').unwrap_or(place);
        if place.contains(['/', '?', '#']) {
            return Err(form());
        }
        let stream = format!("{}://{place}", Protocol::Tcp.plain()).parse().map_err(|_| form())?;
        Ok(Self { stream, login })
    }

    /// Looks up the host, and returns the broker there.
    fn feed(self, broker: Broker, message_max: usize) -> Result<Feed, String> {
        let Self { stream, login } = self;
        let place = stream.authority();
        let name = format!("{}{place}", scheme_of(broker));
        let option = option_of(broker);
        let found = place.to_socket_addrs();
        let found = found.map_err(|error| format!("{option} {name}: {error}"))?;
        let addresses: Vec<_> = found.map(Address::Tcp).collect();
        if addresses.is_empty() {
            return Err(format!("{option} {name}: the host has no address"));
        }
        Ok(Feed { broker, name, addresses, login, message_max })
    }
}

/// Reads `USER:PASSWORD`, `:PASSWORD`, or a token of NATS.
fn read_login(broker: Broker, text: &str) -> Result<Login, String> {
    let plain = |text: &str| {
        let bytes = percent_decoded(text.as_bytes());
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        text.ok_or("has a login that is not percent-encoded UTF-8")
    };
    let (user, password) = match text.split_once(':') {
        Some((user, password)) => (Some(user).filter(|user| !user.is_empty()), password),
        None if broker == Broker::Nats => (None, text),
        None => return Err("has a user without a password: USER:PASSWORD@".to_owned()),
    };
    Ok(Login { user: user.map(plain).transpose()?, password: plain(password)? })
}

/// The longest file with a URL.
const FILE_MAX: Bytes = Bytes(64 << 10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_host_and_a_port_and_maybe_a_login() {
        let login = |user: Option<&str>, password: &str| {
            Some(Login { user: user.map(str::to_owned), password: password.to_owned() })
        };
        let at = |host: &str, port, login| {
            let address = spec::Address::Host { name: host.to_owned(), port };
            Ok(Place { stream: Endpoint::new(Protocol::Tcp.plain(), address), login })
        };
        #[rustfmt::skip]
        let table = [
            (Broker::Redis, "redis://127.0.0.1:6379",       at("127.0.0.1", 6379, None)),
            (Broker::Redis, "redis://[::1]:6379/",          at("::1", 6379, None)),
            (Broker::Redis, "redis://:hush@h:1",            at("h", 1, login(None, "hush"))),
            (Broker::Redis, "redis://:hu/sh?#==@h:1/",      at("h", 1, login(None, "hu/sh?#=="))),
            (Broker::Redis, "redis://:hu%2Fsh%25@h:1",      at("h", 1, login(None, "hu/sh%"))),
            (Broker::Redis, "redis://:hush@h:1/0",          Err("takes redis://HOST:PORT")),
            (Broker::Redis, "redis://a%40b:h%3Ash@h:1",     at("h", 1, login(Some("a@b"), "h:sh"))),
            (Broker::Nats,  "nats://token@h:4222",          at("h", 4222, login(None, "token"))),
            (Broker::Nats,  "nats://a:b@h:4222",            at("h", 4222, login(Some("a"), "b"))),
            (Broker::Redis, "redis://hush@h:1",             Err("without a password")),
            (Broker::Redis, "redis://a:h%zz@h:1",           Err("percent-encoded")),
            (Broker::Redis, "nats://h:1",                   Err("takes redis://HOST:PORT")),
            (Broker::Redis, "redis://h",                    Err("takes redis://HOST:PORT")),
            (Broker::Redis, "redis://h:1/0",                Err("takes redis://HOST:PORT")),
            (Broker::Redis, "redis://:1",                   Err("takes redis://HOST:PORT")),
            (Broker::Nats,  "tls://h:1",                    Err("takes nats://HOST:PORT")),
            (Broker::Nats,  "nats://h:65536",               Err("takes nats://HOST:PORT")),
        ];
        for (broker, url, expected) in table {
            match (Place::read(broker, url), expected) {
                (Err(found), Err(expected)) => {
                    assert!(found.contains(expected) && !found.contains("hush"), "{url}: {found}");
                }
                (found, expected) => assert_eq!(found, expected.map_err(str::to_owned), "{url}"),
            }
        }
    }

    #[test]
    fn a_login_comes_from_a_file_and_is_not_repeated() {
        let told = Place::named(Broker::Redis, "redis://ada:hush@h:1").unwrap_err();
        assert!(told.contains("@FILE") && !told.contains("hush"), "{told}");
    }
}
