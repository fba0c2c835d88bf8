//! A subscriber at a broker, which hands out what others publish: Redis 2.8 and later (RESP 2), or NATS 2.
//!
//! ```text
//! Redis: AUTH, if there is a login -> +OK    PING -> +PONG: Heard::Open    SUBSCRIBE c -> message c …
//! NATS:  INFO -> CONNECT, PING -> PONG: Heard::Open                         SUB c 1     -> MSG c 1 …
//! ```
//!
//! [`Subscriber`] is the machine; `redis` and `nats` have the bytes of each.
//!
//! Left out: publishing, TLS, patterns (`PSUBSCRIBE`, wildcards), headers of NATS, clusters, and time: the owner of the
//! machine sends pings, and gives up on a silent broker.

mod error;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzz;
mod kind;
mod login;
mod nats;
mod redis;

pub use error::PeerError;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use fuzz::fuzz_broker;
pub use kind::Broker;
pub use login::Login;

use crate::contract::Input;
use crate::conversation::{self, Cut};
use crate::excerpt::Excerpt;
use nats::Line;
use redis::Reply;
use spec::conversation::Frame;
use std::collections::HashMap;
use std::ops::Range;

/// A client's end of a connection to a broker.
#[derive(Debug)]
pub struct Subscriber {
    broker: Broker,
    login: Option<Login>,
    message_max: usize,
    state: State,
    /// The bytes that have arrived: first those that were understood, which are dropped by a later call.
    bytes: Vec<u8>,
    /// The number of bytes that were understood.
    start: usize,
    /// The number of bytes after them that are known to contain no NATS line end.
    searched: usize,
    /// The channels that are subscribed to, each with the number that NATS knows it by.
    channels: HashMap<Box<[u8]>, u64>,
    /// The number of the next subscription.
    next: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The INFO of NATS is awaited.
    AwaitInfo,
    /// Redis has yet to accept the login.
    AwaitLogin,
    AwaitPong,
    Open,
}

/// Something that a broker says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard<'a> {
    /// A sign of life, if it was not [`Self::Open`].
    Alive,
    /// Somebody published a message.
    Message {
        /// The channel, or subject.
        channel: &'a [u8],
        /// The published message.
        payload: &'a [u8],
    },
    /// The broker takes subscriptions.
    Open,
    /// The broker refuses a subscription, and keeps the others.
    Refused {
        /// Its reason.
        said: Excerpt,
    },
}

/// The same, with ranges of the bytes that have arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Found {
    Alive,
    Message { channel: Range<usize>, payload: Range<usize> },
    Nothing,
    Open,
    Refused { said: Excerpt },
}

impl Subscriber {
    /// A client whose broker may send messages of at most `message_max` bytes.
    pub fn new(broker: Broker, login: Option<Login>, message_max: usize) -> Self {
        let state = match (broker, &login) {
            (Broker::Nats, _) => State::AwaitInfo,
            (Broker::Redis, Some(_)) => State::AwaitLogin,
            (Broker::Redis, None) => State::AwaitPong,
        };
        Self {
            broker,
            login,
            message_max,
            state,
            bytes: Vec::new(),
            start: 0,
            searched: 0,
            channels: HashMap::new(),
            next: 1,
        }
    }

    /// Starts the conversation on a new connection.
    pub fn open(&mut self, tx: &mut Vec<u8>) {
        if self.broker == Broker::Nats {
            return; // The server speaks first.
        }
        if let Some(Login { user, password }) = &self.login {
            let user = user.iter().map(String::as_bytes);
            let words: Vec<&[u8]> = [&b"AUTH"[..]].into_iter().chain(user).collect();
            redis::append_command(&[&words[..], &[password.as_bytes()]].concat(), tx);
        }
        self.ping(tx);
    }

    /// Subscribes to a channel, once the broker takes subscriptions. Returns false for a name that is not that of a
    /// single channel (NATS has rules for names, and wildcards). Sends nothing then, or if the channel is subscribed to
    /// already.
    pub fn subscribe(&mut self, channel: &[u8], tx: &mut Vec<u8>) -> bool {
        if self.broker == Broker::Nats && !nats::is_subject(channel) {
            return false;
        }
        if self.channels.contains_key(channel) {
            return true;
        }
        match self.broker {
            Broker::Nats => nats::append_sub(channel, self.next, tx),
            Broker::Redis => redis::append_command(&[b"SUBSCRIBE", channel], tx),
        }
        self.channels.insert(channel.into(), self.next);
        self.next += 1;
        true
    }

    /// Ends a subscription, if there is one.
    pub fn unsubscribe(&mut self, channel: &[u8], tx: &mut Vec<u8>) {
        let Some(number) = self.channels.remove(channel) else { return };
        match self.broker {
            Broker::Nats => nats::append_unsub(number, tx),
            Broker::Redis => redis::append_command(&[b"UNSUBSCRIBE", channel], tx),
        }
    }

    /// Asks for a sign of life.
    pub fn ping(&self, tx: &mut Vec<u8>) {
        match self.broker {
            Broker::Nats => tx.extend_from_slice(nats::PING),
            Broker::Redis => redis::append_command(&[b"PING"], tx),
        }
    }

    /// Reads bytes that have arrived; `None` once all of them are read. Appends answers to `tx`.
    ///
    /// # Errors
    ///
    /// The broker refuses something, or is not a broker.
    pub fn receive(
        &mut self,
        input: &mut Input<'_>,
        tx: &mut Vec<u8>,
    ) -> Result<Option<Heard<'_>>, PeerError> {
        // Bytes are moved only if at least as many were understood.
        if self.start > 0 && self.start >= self.bytes.len() - self.start {
            self.bytes.drain(..self.start);
            self.bytes.shrink_to(KEPT_LEN_MAX);
            self.start = 0;
        }
        self.bytes.extend_from_slice(input.take_all());
        loop {
            let found = match self.broker {
                Broker::Nats => self.line(tx)?,
                Broker::Redis => self.reply()?,
            };
            return Ok(match found {
                None => None,
                Some(Found::Nothing) => continue,
                Some(Found::Alive) => Some(Heard::Alive),
                Some(Found::Open) => Some(Heard::Open),
                Some(Found::Refused { said }) => Some(Heard::Refused { said }),
                Some(Found::Message { channel, payload }) => {
                    let (channel, payload) = (&self.bytes[channel], &self.bytes[payload]);
                    Some(Heard::Message { channel, payload })
                }
            });
        }
    }

    /// Reads the next Redis reply.
    fn reply(&mut self) -> Result<Option<Found>, PeerError> {
        let rest = &self.bytes[self.start..];
        let cut = Cut::new(Frame::Resp, self.message_max.saturating_add(HEAD_LEN_MAX));
        let found = cut.first(rest).map_err(|error| {
            if let conversation::PeerError::Resp { said } = error {
                self.unexpected(said.as_bytes(), "a reply of Redis")
            } else {
                self.over_limit()
            }
        })?;
        let Some(found) = found else { return Ok(None) };
        let reply = &rest[found.message];
        let behind = |range: Range<usize>| self.start + range.start..self.start + range.end;
        let heard = match (self.state, redis::read(reply)) {
            (State::Open, Some(Reply::Error)) if redis::is_of_one_channel(&reply[1..]) => {
                Found::Refused { said: self.excerpt(&reply[1..]) }
            }
            (_, Some(Reply::Error)) => return Err(self.refused(&reply[1..])),
            (State::AwaitLogin, Some(Reply::Done)) => {
                self.state = State::AwaitPong;
                Found::Nothing
            }
            (State::AwaitPong, Some(Reply::Pong)) => {
                self.state = State::Open;
                Found::Open
            }
            (State::Open, Some(Reply::Pong)) => Found::Alive,
            (State::Open, Some(Reply::Subscribed)) => Found::Nothing,
            (State::Open, Some(Reply::Message { payload, .. }))
                if payload.len() > self.message_max =>
            {
                return Err(self.over_limit());
            }
            (State::Open, Some(Reply::Message { channel, payload })) => {
                Found::Message { channel: behind(channel), payload: behind(payload) }
            }
            (state, _) => return Err(self.unexpected(reply, state.awaited())),
        };
        self.start += found.next;
        Ok(Some(heard))
    }

    /// Reads the next NATS line, with the message after it.
    fn line(&mut self, tx: &mut Vec<u8>) -> Result<Option<Found>, PeerError> {
        let rest = &self.bytes[self.start..];
        let searched = self.searched.min(rest.len());
        let found = rest[searched..].iter().position(|byte| *byte == b'\n');
        let Some(end) = found.map(|at| searched + at).filter(|end| *end < LINE_LEN_MAX) else {
            let is_over = rest.len() >= LINE_LEN_MAX;
            if is_over {
                return Err(self.unexpected(rest, "a line of NATS"));
            }
            self.searched = rest.len();
            return Ok(None);
        };
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        let mut next = end + 1;
        let heard = match (self.state, nats::read(line)) {
            (State::Open, Some(Line::Error)) if nats::is_of_one_subscription(line) => {
                Found::Refused { said: self.excerpt(nats::reason(line)) }
            }
            (_, Some(Line::Error)) => return Err(self.refused(nats::reason(line))),
            (State::AwaitInfo, Some(Line::Info { needs_login, needs_tls })) => {
                if needs_tls {
                    return Err(PeerError::NeedsTls { broker: self.broker });
                }
                if needs_login && self.login.is_none() {
                    return Err(PeerError::NeedsLogin { broker: self.broker });
                }
                nats::append_connect(self.login.as_ref(), tx);
                self.state = State::AwaitPong;
                Found::Nothing
            }
            (State::AwaitInfo, _) => return Err(self.unexpected(line, self.state.awaited())),
            (_, Some(Line::Info { .. } | Line::Done)) => Found::Nothing,
            (_, Some(Line::Ping)) => {
                tx.extend_from_slice(nats::PONG);
                Found::Alive
            }
            (State::AwaitPong, Some(Line::Pong)) => {
                self.state = State::Open;
                Found::Open
            }
            (State::Open, Some(Line::Pong)) => Found::Alive,
            (State::Open, Some(Line::Message { subject, len })) => {
                if len > self.message_max {
                    return Err(self.over_limit());
                }
                let payload = next..next + len;
                next = payload.end + LINE_END.len();
                match rest.get(payload.end..next) {
                    None => return Ok(None),
                    Some(LINE_END) => {}
                    Some(other) => {
                        return Err(self.unexpected(other, "the line end after a message"));
                    }
                }
                let behind = |range: Range<usize>| self.start + range.start..self.start + range.end;
                Found::Message { channel: behind(subject), payload: behind(payload) }
            }
            (state, _) => return Err(self.unexpected(line, state.awaited())),
        };
        self.start += next;
        self.searched = 0;
        Ok(Some(heard))
    }

    fn over_limit(&self) -> PeerError {
        PeerError::OverLimit { broker: self.broker, max: self.message_max }
    }

    fn unexpected(&self, said: &[u8], awaited: &'static str) -> PeerError {
        PeerError::Unexpected { broker: self.broker, said: self.excerpt(said), awaited }
    }

    fn refused(&self, said: &[u8]) -> PeerError {
        match self.login {
            None if said.starts_with(b"NOAUTH") => PeerError::NeedsLogin { broker: self.broker },
            _ => PeerError::Refused { broker: self.broker, said: self.excerpt(said) },
        }
    }

    /// The beginning of what the broker said, without the password, which some brokers repeat.
    fn excerpt(&self, said: &[u8]) -> Excerpt {
        let secret = self.login.as_ref().map_or(&[][..], |login| login.password.as_bytes());
        let secret = &secret[..secret.len().min(SECRET_LEN)]; // A broker may have cut off the rest.
        let is_quoted = !secret.is_empty() && said.windows(secret.len()).any(|part| part == secret);
        if is_quoted { Excerpt::new(b"***") } else { Excerpt::new(said) }
    }
}

impl State {
    const fn awaited(self) -> &'static str {
        match self {
            Self::AwaitInfo => "INFO",
            Self::AwaitLogin => "+OK",
            Self::AwaitPong => "PONG",
            Self::Open => "a message of a channel",
        }
    }
}

const LINE_END: &[u8] = b"\r\n";

/// The longest line of NATS: its INFO has the addresses of a cluster.
const LINE_LEN_MAX: usize = 64 << 10;

/// The bytes of a reply of Redis around the message in it: the lines of lengths, and the channel.
const HEAD_LEN_MAX: usize = 1 << 10;

/// Length of the beginning of a password that hides any text containing it, in bytes.
const SECRET_LEN: usize = 8;

/// Most memory that a quiet connection keeps, in bytes: there are few of them, and input is read in pieces of this
/// size.
const KEPT_LEN_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// The events of a broker, in words, and the bytes that it is sent.
    fn heard(broker: Broker, login: Option<&Login>, bytes: &[u8]) -> (String, String) {
        fuzz::check_splits(bytes, &|| {
            let mut subscriber = Subscriber::new(broker, login.cloned(), 8);
            let mut tx = Vec::new();
            subscriber.open(&mut tx);
            (subscriber, tx)
        })
    }

    fn login(user: Option<&str>) -> Login {
        Login { user: user.map(str::to_owned), password: "hush".to_owned() }
    }

    #[test]
    fn what_redis_may_say_and_what_it_may_not() {
        let ping = "*1\r\n$4\r\nPING\r\n";
        let message = "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n";
        let subscribed = "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n";
        let left = "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n";
        #[rustfmt::skip]
        let table = [
            ("+PONG\r\n".to_owned(),                       "open"),
            (format!("+PONG\r\n{subscribed}{message}{left}"), "open; a: hi"),
            (format!("+PONG\r\n{}", message.replace('*', ">")), "open; a: hi"),
            ("+PONG\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n+PONG\r\n".to_owned(), "open; alive; alive"),
            ("-NOAUTH Authentication required.\r\n".to_owned(), "error: Redis requires a login, and none was given"),
            ("-DENIED Redis is running in protected mode\r\n".to_owned(),
                "error: Redis refuses: \"DENIED Redis is running in protected mode\""),
            (format!("+PONG\r\n-NOPERM No permissions to access a channel\r\n{message}"),
                "open; refused: \"NOPERM No permissions to access a channel\"; a: hi"),
            ("-NOPERM User a has no permissions to run the 'ping' command\r\n".to_owned(),
                "error: Redis refuses: \"NOPERM User a has no"),
            ("+PONG\r\n-ERR unknown command\r\n".to_owned(), "open; error: Redis refuses: \"ERR unknown command\""),
            ("-ERR max number of clients reached\r\n".to_owned(), "error: Redis refuses: \"ERR max number of clients reached\""),
            ("HTTP/1.1 400 Bad Request\r\n".to_owned(),    "error: Redis: got \"H\", expected a reply of Redis"),
            ("+OK\r\n".to_owned(),                         "error: Redis: got \"+OK\", expected PONG"),
            (message.to_owned(),                           "error: Redis: got \"*3"),
            ("+PONG\r\n:1\r\n".to_owned(),                 "open; error: Redis: got \":1\", expected a message of a channel"),
            ("+PONG\r\n*3\r\n$7\r\nmessage\r\n:1\r\n$1\r\na\r\n".to_owned(), "open; error: Redis: got \"*3"),
            ("+PONG\r\n*2\r\n$7\r\nmessage\r\n$1\r\na\r\n".to_owned(), "open; error: Redis: got \"*2"),
            ("+PONG\r\n*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$99999\r\n".to_owned(),
                "open; error: Redis: a message of more than 8 bytes"),
            ("+PONG\r\n*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$9\r\n123456789\r\n".to_owned(),
                "open; error: Redis: a message of more than 8 bytes"),
            ("+PONG\r\n*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$8\r\n12345678\r\n".to_owned(), "open; a: 12345678"),
            (String::new(),                                ""),
        ];
        for (said, expected) in table {
            let (events, tx) = heard(Broker::Redis, None, said.as_bytes());
            assert!(events.starts_with(expected), "{said:?}: {events}");
            assert_eq!(tx, ping, "{said:?}");
        }
    }

    #[test]
    fn a_login_comes_first_and_is_never_shown() {
        for (user, auth) in [
            (Some("ada"), "*3\r\n$4\r\nAUTH\r\n$3\r\nada\r\n$4\r\nhush\r\n"),
            (None, "*2\r\n$4\r\nAUTH\r\n$4\r\nhush\r\n"),
        ] {
            let login = login(user);
            let (events, tx) = heard(Broker::Redis, Some(&login), b"+OK\r\n+PONG\r\n");
            assert_eq!((&*events, tx), ("open", format!("{auth}*1\r\n$4\r\nPING\r\n")));
            let wrong = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n";
            let (events, _) = heard(Broker::Redis, Some(&login), wrong);
            assert!(events.starts_with("error: Redis refuses: \"WRONGPASS"), "{events}");
            let echo = b"-ERR unknown command `AUTH`, with args beginning with: `hush`\r\n";
            let (events, _) = heard(Broker::Redis, Some(&login), echo);
            assert_eq!(events, "error: Redis refuses: \"***\"");
            assert!(!format!("{login:?}").contains("hush"));
        }
        // Redis shows at most 128 bytes of a command that it does not know.
        let long = Login { user: None, password: "hush-hush".repeat(20) };
        let echo = format!("-ERR unknown command 'AUTH', args: '{}'\r\n", &long.password[..99]);
        let (events, _) = heard(Broker::Redis, Some(&long), echo.as_bytes());
        assert_eq!(events, "error: Redis refuses: \"***\"");
        let connect = "CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"wirebench\",\"version\":\"1\",\"protocol\":1";
        for (user, fields) in [
            (Some("ada"), ",\"user\":\"ada\",\"pass\":\"hush\""),
            (None, ",\"auth_token\":\"hush\""),
        ] {
            let info = b"INFO {\"auth_required\":true}\r\n";
            let (events, tx) = heard(Broker::Nats, Some(&login(user)), info);
            assert_eq!((&*events, tx), ("", format!("{connect}{fields}}}\r\nPING\r\n")));
        }
    }

    #[test]
    fn what_nats_may_say_and_what_it_may_not() {
        let info = "INFO {\"server_id\":\"a\",\"max_payload\":1048576}\r\n";
        let open = format!("{info}PONG\r\n");
        #[rustfmt::skip]
        let table = [
            (open.clone(),                                 "open"),
            (format!("{open}MSG a.b 1 2\r\nhi\r\nMSG a.b 1 _INBOX.x 0\r\n\r\n"), "open; a.b: hi; a.b: "),
            (format!("{open}+OK\r\n{info}MSG a 1 3\r\n\r\n!\r\nPONG\r\n"), "open; a: \\r\\n!; alive"),
            (format!("{open}PING\r\n"),                    "open; alive"),
            ("INFO {\"auth_required\":true}\r\n".to_owned(), "error: NATS requires a login, and none was given"),
            ("INFO {\"tls_required\":true}\r\n".to_owned(), "error: NATS requires TLS, which wirebench does not support for it"),
            ("INFO {\r\n".to_owned(),                      "error: NATS: got \"INFO {\", expected INFO"),
            ("PONG\r\n".to_owned(),                        "error: NATS: got \"PONG\", expected INFO"),
            (format!("{info}-ERR 'Authorization Violation'\r\n"), "error: NATS refuses: \"Authorization Violation\""),
            (format!("{open}-ERR 'Permissions Violation for Subscription to \"$SYS.x\"'\r\nPING\r\n"),
                "open; refused: \"Permissions Violation for Subscription to \\\"$SYS.x\\\"\"; alive"),
            (format!("{open}-ERR 'maximum subscriptions exceeded'\r\nPING\r\n"),
                "open; refused: \"maximum subscriptions exceeded\"; alive"),
            (format!("{open}-ERR 'Slow Consumer'\r\n"), "open; error: NATS refuses: \"Slow Consumer\""),
            (format!("{info}-ERR 'maximum subscriptions exceeded'\r\n"),
                "error: NATS refuses: \"maximum subscriptions exceeded\""),
            (format!("{info}MSG a 1 2\r\nhi\r\n"),         "error: NATS: got \"MSG a 1 2\", expected PONG"),
            (format!("{open}MSG a 1 9\r\n"),               "open; error: NATS: a message of more than 8 bytes"),
            (format!("{open}MSG a 1 x\r\n"),               "open; error: NATS: got \"MSG a 1 x\""),
            (format!("{open}MSG a 1\r\n"),                 "open; error: NATS: got \"MSG a 1\""),
            (format!("{open}MSG a 1 2\r\nhi!!"),           "open; error: NATS: got \"!!\", expected the line end after a message"),
            (format!("{open}HTTP/1.1 200 OK\r\n"),         "open; error: NATS: got \"HTTP/1.1 200 OK\""),
            (format!("{open}MSG a 1 2\r\nh"),              "open"),
            ("x".repeat(LINE_LEN_MAX),                     "error: NATS: got \"xxxx"),
        ];
        for (said, expected) in table {
            let (events, tx) = heard(Broker::Nats, None, said.as_bytes());
            assert!(events.starts_with(expected), "{said:?}: {events}");
            assert_eq!(tx.matches("CONNECT {").count(), usize::from(said.starts_with(info)));
            assert_eq!(tx.matches("PONG\r\n").count(), said.matches("PING").count());
        }
    }

    #[test]
    fn a_channel_is_subscribed_to_once() {
        let mut tx = Vec::new();
        let mut redis = Subscriber::new(Broker::Redis, None, 8);
        assert!(redis.subscribe(b"a b*", &mut tx) && redis.subscribe(b"a b*", &mut tx));
        redis.unsubscribe(b"a b*", &mut tx);
        redis.unsubscribe(b"a b*", &mut tx);
        let expected =
            "*2\r\n$9\r\nSUBSCRIBE\r\n$4\r\na b*\r\n*2\r\n$11\r\nUNSUBSCRIBE\r\n$4\r\na b*\r\n";
        assert_eq!(String::from_utf8(tx).unwrap(), expected);
        let (mut nats, mut tx) = (Subscriber::new(Broker::Nats, None, 8), Vec::new());
        assert!(nats.subscribe(b"a.b", &mut tx) && nats.subscribe(b"c", &mut tx));
        for none in [&b""[..], b"*", b"a.>", b"a..b", b".a", b"a.", b"a b", b"a\r\nb"] {
            assert!(!nats.subscribe(none, &mut tx), "{}", none.escape_ascii());
        }
        assert!(nats.subscribe(b"a*b.c>", &mut tx), "there they are letters");
        nats.unsubscribe(b"c", &mut tx);
        nats.unsubscribe(b"none", &mut tx);
        let expected = "SUB a.b 1\r\nSUB c 2\r\nSUB a*b.c> 3\r\nUNSUB 2\r\n";
        assert_eq!(String::from_utf8(tx).unwrap(), expected);
    }
}
