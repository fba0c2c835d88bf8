//! Clients of plain HTTP: receivers of one response of events, parts or chunks; receivers that poll; and publishers
//! that post.
//!
//! | request | answer |
//! |---|---|
//! | `GET /events?room=ROOM` | a stream of events, one for each message of the room: what was published is its data |
//! | `GET /parts?room=ROOM` | a response of parts, one for each message of the room |
//! | `GET /chunks?room=ROOM` | a response of chunks, one for each message of the room |
//! | `GET /poll?room=ROOM` | the next message of the room, once there is one; its `ETag` is for the next poll |
//! | `POST /publish?room=ROOM` | `receivers=K`; the body goes to all in the room |
//!
//! All of these work at the end of any path. Names of rooms are as in `words`, and percent-encoded. Any other path of
//! one part is taken for the address of a SockJS service, which greets.

use super::Relay;
use super::batch::Speaks;
use super::hub::Who;
use super::words::name;
use engine::{ConnectionId, Engine};
use wire::Kind;
use wire::http1::percent_decoded;
use wire::socketio::server::{POLL, new_sid};
use wire::sockjs::server::{self, Request, Stream};

/// The action that a request asks for.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// The messages of a room, from now on.
    Stream { stream: Stream, room: Vec<u8> },
    /// The greeting of a SockJS service.
    Greeting,
    /// The next message of a room.
    Poll { room: Vec<u8> },
    /// The permission for a page of another origin to use the only method of the address (CORS).
    Preflight { method: &'static str },
    /// The publication of the body in a room.
    Publish { room: Vec<u8> },
}

impl Relay {
    /// Handles a request that is not SockJS. Returns false if its connection cannot go on.
    pub(super) fn plain<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        request: &Request<'_>,
    ) -> bool {
        match Asked::read(request.method, request.target) {
            Ok(Asked::Stream { stream, room }) => self.begin_stream(engine, id, stream, &room),
            Ok(Asked::Greeting) => {
                self.write(engine, id, |machine, _origin, tx| server::greet(machine, tx))
            }
            Ok(Asked::Poll { room }) => self.poll_room(engine, id, &room, request.tag),
            Ok(Asked::Preflight { method }) => self.write(engine, id, |machine, origin, tx| {
                server::permit(machine, method, request.headers, origin, tx)
            }),
            Ok(Asked::Publish { room }) => {
                let receivers = self.publish(engine, &room, Kind::of(request.body), request.body);
                self.write(engine, id, |machine, origin, tx| {
                    server::say(machine, "200 OK", &format!("receivers={receivers}\n"), origin, tx)
                })
            }
            Err((status, words)) => self.refuse_request(engine, id, status, &format!("{words}\n")),
        }
    }

    /// Handles a poll for the next message of a room, for the receiver that `tag` names or a new one.
    fn poll_room<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        room: &[u8],
        tag: Option<&str>,
    ) -> bool {
        let known =
            tag.and_then(name_in).and_then(|name| self.sessions.named(name)).filter(|number| {
                self.sessions.find(*number).is_some_and(|session| session.plain.is_some())
            });
        let number = known.unwrap_or_else(|| {
            let name = new_sid(&mut self.entropy);
            self.sessions.begin(&name, engine.now())
        });
        let Some(session) = self.sessions.find(number) else { return false };
        if session.receiver.is_some() {
            let words = "another poll of this receiver is already waiting\n";
            return self.refuse_request(engine, id, "409 Conflict", words);
        }
        session.plain.get_or_insert_default();
        if let Err(words) = self.join(Who::session(number), room) {
            return self.refuse_request(engine, id, BAD, &format!("{words}\n"));
        }
        self.attach(engine, id, number, POLL);
        true
    }

    /// Begins a stream: from here on, the connection receives only the messages of a room.
    fn begin_stream<E: Engine>(
        &mut self,
        engine: &mut E,
        id: ConnectionId,
        stream: Stream,
        room: &[u8],
    ) -> bool {
        let has_begun = self.write(engine, id, |machine, origin, tx| {
            server::begin_stream(machine, stream, origin, tx)
        });
        let Some(peer) = self.peers.find(id).filter(|_| has_begun) else { return false };
        peer.state.speaks = Speaks::Stream(stream);
        self.join(Who::Socket(id), room).is_ok()
    }
}

impl Asked {
    /// Reads a request. The error is the status and the words of the refusal.
    fn read(method: &str, target: &str) -> Result<Self, (&'static str, &'static str)> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (own, refusal, of): (_, _, fn(Vec<u8>) -> Self) = match path.rsplit('/').next() {
            Some("events") => {
                ("GET", STREAM_ONLY, |room| Self::Stream { stream: Stream::Events, room })
            }
            Some("parts") => {
                ("GET", STREAM_ONLY, |room| Self::Stream { stream: Stream::Parts, room })
            }
            Some("chunks") => {
                ("GET", STREAM_ONLY, |room| Self::Stream { stream: Stream::Chunks, room })
            }
            Some("poll") => ("GET", POLL_ONLY, |room| Self::Poll { room }),
            Some("publish") => ("POST", PUBLISH_ONLY, |room| Self::Publish { room }),
            Some(_) | None if !is_service(path) => return Err(NOTHING),
            Some(_) | None if method == "GET" => return Ok(Self::Greeting),
            Some(_) | None => return Err(GREETING_ONLY),
        };
        if method == "OPTIONS" {
            return Ok(Self::Preflight { method: own });
        }
        if method != own {
            return Err(refusal);
        }
        let room = query.split('&').find_map(|pair| pair.strip_prefix("room="));
        let room = room.ok_or((BAD, "which room? add ?room= and its name"))?;
        let room = percent_decoded(room.as_bytes());
        let room =
            room.ok_or((BAD, "a percent sign must be followed by two hexadecimal digits"))?;
        name(&room).map_err(|words| (BAD, words))?;
        Ok(of(room))
    }
}

/// True for a path of one part, with or without a slash at the end.
fn is_service(path: &str) -> bool {
    let part = path.strip_prefix('/').map(|path| path.strip_suffix('/').unwrap_or(path));
    part.is_some_and(|part| !part.is_empty() && !part.contains('/'))
}

/// The name of the receiver in a tag, between its quotes.
pub(super) fn name_in(tag: &str) -> Option<&str> {
    tag.strip_prefix('"')?.strip_suffix('"')
}

const BAD: &str = "400 Bad Request";

const STREAM_ONLY: (&str, &str) =
    ("405 Method Not Allowed\r\nAllow: OPTIONS, GET", "use GET to receive the messages of a room");

const POLL_ONLY: (&str, &str) = (
    "405 Method Not Allowed\r\nAllow: OPTIONS, GET",
    "use GET to receive the next message of a room",
);

const GREETING_ONLY: (&str, &str) =
    ("405 Method Not Allowed\r\nAllow: GET", "this is the address of a SockJS service; use GET");

const PUBLISH_ONLY: (&str, &str) = (
    "405 Method Not Allowed\r\nAllow: OPTIONS, POST",
    "use POST to publish; the body is the message",
);

const NOTHING: (&str, &str) = (
    "404 Not Found",
    "this is a relay: WebSocket at every path, SockJS and Socket.IO below it, GET /events?room=ROOM, /parts, /chunks or \
     /poll, and POST /publish?room=ROOM",
);

#[cfg(test)]
mod tests {
    use super::*;

    type Read<'a> = Result<Asked, (&'a str, &'a str)>;

    #[test]
    fn requests_are_known_by_method_and_path_and_name_a_room() {
        let long = format!("/events?room={}", "x".repeat(257));
        let asked = |stream, room: &[u8]| Ok(Asked::Stream { stream, room: room.to_vec() });
        let events = |room: &[u8]| asked(Stream::Events, room);
        let publish = |room: &[u8]| Ok(Asked::Publish { room: room.to_vec() });
        #[rustfmt::skip]
        let table: [(&str, &str, Read<'_>); _] = [
            ("GET",     "/events?room=a",               events(b"a")),
            ("GET",     "/x/events?t=1&room=%61%2f%fF", events(b"a/\xff")),
            ("GET",     "/x/parts?room=a",              asked(Stream::Parts, b"a")),
            ("GET",     "/chunks?room=a",               asked(Stream::Chunks, b"a")),
            ("POST",    "/chunks?room=a",               Err(("405", "GET"))),
            ("GET",     "/x/poll?room=a",               Ok(Asked::Poll { room: b"a".to_vec() })),
            ("POST",    "/poll?room=a",                 Err(("405", "GET"))),
            ("POST",    "/publish?room=a+b",            publish(b"a+b")),
            ("OPTIONS", "/publish",                     Ok(Asked::Preflight { method: "POST" })),
            ("OPTIONS", "/events?room=a",               Ok(Asked::Preflight { method: "GET" })),
            ("POST",    "/events?room=a",               Err(("405", "GET"))),
            ("HEAD",    "/events?room=a",               Err(("405", "GET"))),
            ("GET",     "/publish?room=a",              Err(("405", "POST"))),
            ("GET",     "/events",                      Err(("400", "which room"))),
            ("GET",     "/events?rooms=a",              Err(("400", "which room"))),
            ("GET",     "/events?room=",                Err(("400", "must have a name"))),
            ("POST",    "/publish?room=a%20b",          Err(("400", "must not contain spaces"))),
            ("POST",    "/publish?room=a%2",            Err(("400", "percent"))),
            ("POST",    "/publish?room=a%zz",           Err(("400", "percent"))),
            ("GET",     &long,                          Err(("400", "256 bytes"))),
            ("GET",     "/a/event?room=a",              Err(("404", "GET /events?room=ROOM"))),
            ("GET",     "/",                            Err(("404", "GET /events?room=ROOM"))),
            ("GET",     "//",                           Err(("404", "GET /events?room=ROOM"))),
            ("GET",     "/a//",                         Err(("404", "GET /events?room=ROOM"))),
            ("GET",     "/event?room=a",                Ok(Asked::Greeting)),
            ("GET",     "/event/",                      Ok(Asked::Greeting)),
            ("POST",    "/event/",                      Err(("405", "SockJS"))),
            ("GET",     "",                             Err(("404", "GET /events?room=ROOM"))),
        ];
        for (method, target, expected) in table {
            match (Asked::read(method, target), expected) {
                (Err((status, words)), Err((code, part))) => {
                    assert!(status.starts_with(code), "{method} {target}: {status}");
                    assert!(words.contains(part), "{method} {target}: {words}");
                }
                (found, expected) => assert_eq!(found, expected, "{method} {target}"),
            }
        }
    }
}
