//! Discovery: the order of attempts at an unknown server, and the meaning of its answers.
//!
//! Pure: [`next`] takes everything that was seen so far, and returns the next thing to try or a [`Finding`]. Nothing is
//! sent that a server did not invite: only upgrades, `GET` and silence; no message, no login, no `POST`, no path from a
//! word list. After a refusal that asks for a login or for less load, nothing more is tried.
//!
//! Left out: connecting, the times between attempts and the consent for public addresses (crate `run`).

use crate::contract::{Event, Input, Opening, Protocol as _};
use crate::excerpt::Excerpt;
use crate::http1::{Delivery, Http1, Limits as HttpLimits, Request, RequestParts};
use crate::websocket::handshake::{self, Accepted, ClientHandshake, HandshakeError};
use crate::websocket::{Limits, WebSocket};
use crate::{Kind, Message};
use serde_json::Value;
use spec::{Carries, Endpoint, Protocol};
use std::sync::Arc;
use units::Nanos;

/// One connection to the server: what is sent once it is open; after a time of listening it is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// A JSON text with an id, over the protocol of the URL: it asks for that id back.
    Ask,
    /// A `GET` request for this path.
    Get(String),
    /// Nothing is sent.
    Listen,
    /// An upgrade to WebSocket; true if it offers subprotocols.
    Upgrade(bool),
}

/// An attempt, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The attempt.
    pub attempt: Attempt,
    /// The bytes that arrived within its time.
    pub received: Vec<u8>,
    /// The time from the first of them to the end of the attempt.
    pub listened: Nanos,
    /// True if the server ended the connection within that time.
    pub ended: bool,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The server is known, as far as it can be.
    Found(Finding),
    /// One more connection is made.
    Try(Attempt),
}

/// The result of looking at a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The finding in words, with the evidence.
    pub words: String,
    /// The ready-made conversation to start from, by its name.
    pub conversation: Option<&'static str>,
    /// The advice where there is no conversation, in words; empty if there is nothing to say.
    pub advice: String,
    /// True if the server is at the path of the conversation, not at that of the URL.
    pub is_elsewhere: bool,
    /// The way in which its conversation may begin.
    pub manner: Manner,
}

/// The way in which the conversation with a server may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// No service at this URL: it wants a login, less load, or a URL of another kind.
    Closed,
    /// The server speaks first.
    Greets,
    /// The client speaks first, as far as can be seen.
    Waits,
}

impl Finding {
    /// True if the server ended every connection without an answer, so that nothing was found.
    pub fn is_nothing(&self) -> bool {
        self.words == ENDS
    }

    /// The URL at which to hold the conversation with the server found at `url`: without a path of its own if the
    /// server is not there, and over TCP if the lines of `url` would be those of the conversation.
    pub fn place(&self, url: &Endpoint) -> Endpoint {
        let own = url.facts().path.filter(|_| self.is_elsewhere);
        let path = own.map_or_else(|| url.path.clone(), str::to_owned);
        let is_of_lines = url.protocol == Protocol::Lines && self.conversation.is_some();
        let protocol = if is_of_lines { Protocol::Tcp } else { url.protocol };
        Endpoint { path, protocol, ..url.clone() }
    }
}

/// The most attempts that are made.
pub const ATTEMPTS_MAX: usize = 8;

/// The most bytes of one attempt that are looked at.
pub const RECEIVED_MAX: usize = 4096;

impl Attempt {
    /// The bytes that are sent once the connection is open.
    pub fn request(&self, url: &Endpoint) -> Vec<u8> {
        let mut tx = Vec::new();
        match self {
            Self::Ask => tx.extend_from_slice(ASKED.as_bytes()),
            Self::Listen => {}
            Self::Upgrade(offers) => {
                ClientHandshake::new(Arc::new(upgrade(url, *offers)), SEED).write(&mut tx);
            }
            Self::Get(path) => {
                let parts = RequestParts {
                    method: "GET".to_owned(),
                    target: path.clone(),
                    host: url.authority(),
                    headers: vec![("Accept".to_owned(), ACCEPT.to_owned())],
                };
                if let Ok(request) = Request::new(&parts) {
                    request.write(b"", &mut tx);
                }
            }
        }
        tx
    }

    /// The time to wait for the first byte.
    pub const fn patience(&self) -> Nanos {
        match self {
            Self::Listen => self.time(),
            // A request wants an answer, and the server may be slow.
            Self::Ask | Self::Get(_) | Self::Upgrade(_) => Nanos::from_secs(2),
        }
    }

    /// The time to listen, counted from the first byte.
    pub const fn time(&self) -> Nanos {
        match self {
            Self::Listen => Nanos::from_millis(500),
            Self::Ask | Self::Get(_) | Self::Upgrade(_) => Nanos::from_millis(700),
        }
    }
}

/// The next step for the server at `url`, given what was `seen`.
pub fn next(url: &Endpoint, seen: &[Seen]) -> Step {
    let of_requests = url.facts().carries == Carries::Requests;
    let is_web = of_requests || url.facts().over_websocket;
    let first = match (is_web, of_requests) {
        (false, _) => Attempt::Listen,
        (true, true) => Attempt::Get(url.path.clone()),
        (true, false) => Attempt::Upgrade(true),
    };
    let Some(last) = seen.last() else { return Step::Try(first) };
    if let Some(found) = found(url, last) {
        return Step::Found(found);
    }
    let tried = |attempt: &Attempt| seen.iter().any(|seen| seen.attempt == *attempt);
    let more = [
        Attempt::Upgrade(false),
        Attempt::Get(url.path.clone()),
        Attempt::Get("/socket.io/".to_owned()),
        Attempt::Get(below(&url.path, "info")),
        Attempt::Get("/.well-known/mercure".to_owned()),
        Attempt::Get(GRAPHQL.to_owned()),
        Attempt::Get(OPENAPI.to_owned()),
    ];
    let wanted = more.into_iter().filter(|attempt| {
        is_web && (!of_requests || matches!(attempt, Attempt::Get(_))) && !tried(attempt)
    });
    match wanted.take(ATTEMPTS_MAX.saturating_sub(seen.len())).next() {
        Some(attempt) => Step::Try(attempt),
        None => Step::Found(unknown(seen)),
    }
}

/// `path` without its query, with one more segment.
fn below(path: &str, segment: &str) -> String {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    format!("{}/{segment}", path.trim_end_matches('/'))
}

fn upgrade(url: &Endpoint, offers: bool) -> handshake::Request {
    let offered = OFFERED.iter().filter(|_| offers);
    handshake::Request {
        host: url.authority(),
        target: if url.path.is_empty() { "/".to_owned() } else { url.path.clone() },
        subprotocols: offered.map(|name| (*name).to_owned()).collect(),
        headers: Vec::new(),
        deflate: None,
    }
}

/// The finding from one attempt on its own; `None` if something else has to be tried.
fn found(url: &Endpoint, seen: &Seen) -> Option<Finding> {
    match &seen.attempt {
        Attempt::Ask => id_of_answer(&seen.received),
        Attempt::Listen => greeting(&seen.received),
        Attempt::Upgrade(offers) => of_upgrade(url, *offers, seen),
        Attempt::Get(path) => of_page(url, path, seen),
    }
}

/// The finding for a server on a byte stream that speaks first.
fn greeting(received: &[u8]) -> Option<Finding> {
    if received.starts_with(b"INFO {") {
        return Some(named("NATS: it greets with INFO", "nats"));
    }
    let said = (!received.is_empty()).then(|| Excerpt::new(received))?;
    Some(greets(
        format!("a server that speaks first: {said}"),
        "write a conversation whose first [[open]] expects this message",
    ))
}

/// The finding from an answer to an upgrade.
fn of_upgrade(url: &Endpoint, offers: bool, seen: &Seen) -> Option<Finding> {
    let mut client = ClientHandshake::new(Arc::new(upgrade(url, offers)), SEED);
    let accepted = match client.read(&seen.received) {
        Ok(Some(accepted)) => accepted,
        Err(HandshakeError::Status { code, .. }) => return refused(code, &seen.received),
        Ok(None) | Err(_) => return None,
    };
    let Accepted { subprotocol, .. } = &accepted;
    // A server that takes the first name offered, whatever it is, has chosen nothing.
    let chosen = subprotocol.as_deref().filter(|name| *name != OFFERED[0]);
    if let Some(name) = chosen
        && let Some((_, words, conversation)) = SPOKEN.iter().find(|(spoken, ..)| *spoken == name)
    {
        let words = format!("{words}: it chose the subprotocol {name}");
        return Some(match conversation {
            Some(conversation) => named(&words, conversation),
            None => other(words, UNWRITTEN),
        });
    }
    Some(match first_words(url, offers, seen) {
        Heard::Text(text) if text.starts_with("0{\"sid\"") => {
            named("Engine.IO 4, as used by Socket.IO: it greets with an open packet", "socketio")
        }
        Heard::Text(text) if text.contains("\"type\":\"welcome\"") => {
            named("ActionCable: it greets with welcome", "actioncable")
        }
        Heard::Text(text) if text.starts_with("INFO {") => {
            named("NATS over WebSocket: it greets with INFO", "nats-ws")
        }
        Heard::Text(text) if text == "o" => {
            closed("SockJS: it greets with o".to_owned(), "use sockjs:// instead of ws://")
        }
        Heard::Closed(Some(4406)) => named(
            "GraphQL over WebSocket: it closes with 4406 because it requires its subprotocol",
            "graphql-ws",
        ),
        Heard::Closed(Some(1002)) => closed(
            "WebSocket that closes with 1002 at once, as older GraphQL servers do".to_owned(),
            "try --subprotocol graphql-ws",
        ),
        Heard::Closed(code) => closed(
            format!(
                "WebSocket that closes at once{}",
                code.map_or_else(String::new, |code| format!(", with {code}"))
            ),
            "it may want a subprotocol (--subprotocol), a path or a login (-H @FILE)",
        ),
        Heard::Text(text) => greets(
            format!("WebSocket that speaks first: {}", Excerpt::new(text.as_bytes())),
            "write a conversation whose first [[open]] expects this message",
        ),
        Heard::Nothing => other(
            WAITS.to_owned(),
            "see what it answers with `wirebench talk`, and name its conversation; JSON-RPC, Phoenix, SignalR, \
             Centrifugo, Bayeux and STOMP servers wait like this",
        ),
    })
}

/// The first thing that arrives on an open WebSocket.
enum Heard {
    Closed(Option<u16>),
    Nothing,
    Text(String),
}

fn first_words(url: &Endpoint, offers: bool, seen: &Seen) -> Heard {
    let mut machine = WebSocket::client(Arc::new(upgrade(url, offers)), Limits::default(), SEED);
    let mut tx = Vec::new();
    let _: Opening = machine.open(&mut tx);
    let mut bytes = seen.received.clone();
    let mut input = Input::new(&mut bytes);
    loop {
        match machine.receive(&mut input, &mut tx) {
            Ok(Some(Event::Message(message))) => {
                return Heard::Text(String::from_utf8_lossy(message.payload).into_owned());
            }
            Ok(Some(Event::Closed(closed))) => return Heard::Closed(closed.code),
            Ok(Some(_)) => {}
            Ok(None) | Err(_) if seen.ended => return Heard::Closed(None),
            Ok(None) | Err(_) => return Heard::Nothing,
        }
    }
}

/// The finding from an answer to a request.
fn of_page(url: &Endpoint, path: &str, seen: &Seen) -> Option<Finding> {
    let mut machine = Http1::exchanges(Delivery::AsItArrives, HttpLimits::default());
    let mut tx = Vec::new();
    let request = seen.attempt.request(url);
    machine.send(Message { kind: Kind::Binary, payload: &request }, &mut tx).ok()?;
    let mut bytes = seen.received.clone();
    let mut input = Input::new(&mut bytes);
    let (mut head, mut body) = (None, Vec::new());
    while let Ok(Some(event)) = machine.receive(&mut input, &mut tx) {
        let Event::Response(part) = event else { break };
        let text =
            |name: &str| part.field(name).map(|value| String::from_utf8_lossy(value).into_owned());
        head.get_or_insert_with(|| {
            (part.status, text("content-type").unwrap_or_default(), text("content-length"))
        });
        body.extend_from_slice(part.body);
    }
    let (status, kind, len) = head.or_else(|| head_alone(&seen.received))?;
    let body = String::from_utf8_lossy(&body).into_owned();
    let is_own = path == url.path;
    if kind.starts_with("text/event-stream") {
        let rate = rate_of_events(&body, seen);
        return Some(named(&format!("server-sent events at {path}: {rate}"), "sse"));
    }
    if path == "/socket.io/" && body.contains("Transport unknown") {
        let found = named("Socket.IO 4: it answers at /socket.io/", "socketio");
        return Some(Finding { is_elsewhere: true, ..found });
    }
    if body.contains("\"websocket\"") && body.contains("\"entropy\"") {
        let words = format!("SockJS: {path} describes it");
        return Some(closed(words, "use sockjs:// instead of ws:// or http://"));
    }
    if path == "/.well-known/mercure" && status == 400 {
        return Some(other("Mercure: its hub wants a topic".to_owned(), UNWRITTEN));
    }
    if path == GRAPHQL && is_of_graphql(status, &body) {
        let words = "GraphQL at /graphql: it answers a query there".to_owned();
        return Some(other(
            words,
            "post a query to http://…/graphql with --method POST and --payload @FILE; over WebSocket, try that path \
             with --conversation graphql-ws",
        ));
    }
    if path == OPENAPI && status == 200 && body.contains("\"openapi\"") {
        let words = "an HTTP API described at /openapi.json".to_owned();
        return Some(closed(words, "use one of its paths in an http:// URL"));
    }
    if !is_own {
        return None;
    }
    let lower = body.to_lowercase();
    let wants_upgrade = status == 426
        || status == 400 && (lower.contains("upgrade") || lower.contains("websocket"));
    if wants_upgrade && url.facts().carries == Carries::Requests {
        let scheme = if url.tls { "wss" } else { "ws" };
        let words = format!("a WebSocket endpoint: {path} answers {status}");
        return Some(closed(words, &format!("use {scheme}:// instead of http:// or https://")));
    }
    if url.facts().carries != Carries::Requests {
        return None;
    }
    if let Some(refused) = refused(status, &seen.received) {
        return Some(refused);
    }
    let is_page = matches!(status, 200..=299);
    let len = len.map_or_else(String::new, |len| format!(", {len} bytes"));
    let kind = if kind.is_empty() { String::new() } else { format!(" of {kind}") };
    is_page.then(|| {
        closed(
            format!("HTTP {status}{len}{kind}"),
            "it can be loaded as is: any 2xx response to a GET counts",
        )
    })
}

/// The rate of events of a stream that has begun, in words: by those that were complete within the attempt.
fn rate_of_events(body: &str, seen: &Seen) -> String {
    let lines = body.replace("\r\n", "\n");
    // A block without data, such as a comment that keeps the connection alive, is not an event.
    let events = lines.split_inclusive("\n\n").filter(|block| {
        block.ends_with("\n\n") && block.lines().any(|line| line.starts_with("data"))
    });
    let (count, time) = (events.count() as u64, seen.listened);
    let events = if count == 1 { "event" } else { "events" };
    if seen.ended {
        return format!("{count} {events}, and it ended after {time}");
    }
    if count < 2 || time < RATED_MIN {
        return format!("{count} {events} in the first {time}");
    }
    let rate = (count * 1_000_000_000 + time.0 / 2) / time.0;
    format!("{rate} events/s ({count} in the first {time})")
}

/// True for an answer to the query for the name of the root's type: that name, or errors as GraphQL writes them.
fn is_of_graphql(status: u16, body: &str) -> bool {
    let answer: Value = serde_json::from_str(body).unwrap_or_default();
    let is_refused = matches!(status, 400 | 405) && answer["errors"][0]["message"].is_string();
    is_refused || answer["data"]["__typename"].is_string()
}

/// Status, type and length from a head without its body.
fn head_alone(received: &[u8]) -> Option<(u16, String, Option<String>)> {
    let mut slots = crate::http1::head::slots();
    let limits = HttpLimits::default();
    let limits = crate::http1::head::HeadLimits {
        head_len_max: limits.head_len_max as usize,
        headers_max: limits.headers_max as usize,
    };
    let head = crate::http1::head::response(received, &mut slots, limits).ok()??;
    let field = |name: &str| {
        let found = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        Some(String::from_utf8_lossy(found.value).into_owned())
    };
    Some((head.status, field("content-type").unwrap_or_default(), field("content-length")))
}

/// The finding from a reply that begins with `beginning`, to a message that was to be echoed; `None` if something else
/// has to be tried.
pub fn reply(url: &Endpoint, beginning: &[u8]) -> Option<Finding> {
    let text: Vec<u8> =
        beginning.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let text = String::from_utf8_lossy(&text);
    let is_json_rpc = text.starts_with(['{', '[']) && text.contains(r#""jsonrpc":"2.0""#);
    let conversation = if url.facts().over_websocket { "json-rpc" } else { "ndjson" };
    is_json_rpc.then(|| named("JSON-RPC 2.0: it answers with a JSON-RPC error", conversation))
}

/// True if a server of which only `found` is known, and whose reply to a message that was to be echoed begins with
/// `beginning`, may be asked for an id ([`Attempt::Ask`]): it has messages, and answers with JSON.
pub fn may_know_ids(url: &Endpoint, found: &Finding, beginning: &[u8]) -> bool {
    let has_messages = url.facts().over_websocket || url.protocol == Protocol::Lines;
    let mut letters = beginning.iter().filter(|byte| !byte.is_ascii_whitespace());
    let is_object = letters.next() == Some(&b'{') && letters.next() == Some(&b'"');
    has_messages && is_object && [WAITS, SILENT].contains(&&*found.words)
}

/// The finding from the answer to [`Attempt::Ask`]; `None` if the id is not in it.
pub fn id_of_answer(received: &[u8]) -> Option<Finding> {
    let messages = serde_json::Deserializer::from_slice(received).into_iter();
    let place = messages.map_while(Result::ok).find_map(|message| place_of_id(&message, "$"))?;
    let place = Excerpt::new(place.as_bytes());
    Some(other(
        format!("JSON that returns the id of a request: {ASKED} was answered with it at {place}"),
        &format!("write a conversation whose replies have id = {place}"),
    ))
}

/// The place of the id of [`ASKED`] in `value`, which is at `place` itself.
fn place_of_id(value: &Value, place: &str) -> Option<String> {
    match value {
        Value::String(text) => (text == ASKED_ID).then(|| place.to_owned()),
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(index, item)| place_of_id(item, &format!("{place}[{index}]")))
        }
        Value::Object(members) => {
            members.iter().find_map(|(key, item)| place_of_id(item, &format!("{place}.{key}")))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The finding for a status after which nothing more is tried; `received` is the response, or the beginning of it.
fn refused(status: u16, received: &[u8]) -> Option<Finding> {
    let asks_for_login = || {
        let said = String::from_utf8_lossy(received).to_lowercase();
        LOGIN.iter().any(|words| said.contains(words))
    };
    match status {
        403 if !asks_for_login() => Some(closed(
            "HTTP 403".to_owned(),
            "access is denied without a reason: check the path, or pass a login or an Origin with -H @FILE",
        )),
        401 | 403 => Some(closed(
            format!("a server that wants a login: it answers {status}"),
            "give it with -H @FILE, a file with a line such as `Authorization: Bearer …`",
        )),
        429 => Some(closed(
            "a server that limits requests: it answers 429".to_owned(),
            "wait, and load it only with the consent of whoever runs it",
        )),
        _ => None,
    }
}

/// Words of a response that asks for a login, in lower case: a field, and a form.
const LOGIN: [&str; 3] = ["\nwww-authenticate:", "type=\"password\"", "type='password'"];

fn named(words: &str, conversation: &'static str) -> Finding {
    Finding {
        words: words.to_owned(),
        conversation: Some(conversation),
        advice: String::new(),
        is_elsewhere: false,
        manner: Manner::Waits,
    }
}

fn other(words: String, advice: &str) -> Finding {
    let advice = advice.to_owned();
    Finding { words, conversation: None, advice, is_elsewhere: false, manner: Manner::Waits }
}

fn greets(words: String, advice: &str) -> Finding {
    Finding { manner: Manner::Greets, ..other(words, advice) }
}

fn closed(words: String, advice: &str) -> Finding {
    Finding { manner: Manner::Closed, ..other(words, advice) }
}

/// The finding where nothing was understood.
fn unknown(seen: &[Seen]) -> Finding {
    let silent = seen.iter().all(|seen| seen.received.is_empty());
    if silent && seen.iter().all(|seen| seen.ended) {
        return closed(ENDS.to_owned(), "check the server's log for the reason");
    }
    match silent {
        true => other(
            SILENT.to_owned(),
            "see what it answers with `wirebench talk`, and name its conversation; Redis (resp), MQTT (mqtt), STOMP \
             (stomp-tcp) and JSON-RPC in lines (ndjson) servers wait like this",
        ),
        false => other(
            "a server with an unknown protocol".to_owned(),
            "see what it answers with `wirebench talk`, and name its conversation",
        ),
    }
}

/// The description of a WebSocket when nothing else is known.
const WAITS: &str = "WebSocket that waits for the client to speak first";

/// The description of a server without WebSocket when nothing else is known.
const SILENT: &str = "a server that sends nothing on its own";

/// The description of a server that ends every connection.
const ENDS: &str = "a server that ends each connection without an answer";

/// The subprotocols that are offered, in 110 bytes: mosquitto drops an upgrade whose list has 130 or more. The first is
/// nobody's: a server that chooses it takes whatever is offered first.
const OFFERED: [&str; 8] = [
    "wb-probe",
    "graphql-transport-ws",
    "graphql-ws",
    "wamp.2.json",
    "mqtt",
    "v12.stomp",
    "actioncable-v1-json",
    "centrifuge-json",
];

/// The protocol of a server that chooses a subprotocol, and the conversation to start from.
const SPOKEN: [(&str, &str, Option<&str>); 7] = [
    ("graphql-transport-ws", "GraphQL over WebSocket", Some("graphql-ws")),
    ("graphql-ws", "GraphQL over WebSocket, the older protocol", None),
    ("wamp.2.json", "WAMP", Some("wamp")),
    ("mqtt", "MQTT over WebSocket", Some("mqtt-ws")),
    ("v12.stomp", "STOMP over WebSocket", Some("stomp")),
    ("actioncable-v1-json", "ActionCable", Some("actioncable")),
    ("centrifuge-json", "Centrifugo", Some("centrifugo")),
];

/// The advice about a protocol without a ready-made conversation.
const UNWRITTEN: &str = "write a conversation for it in TOML, and pass it with --conversation";

const ACCEPT: &str = "text/event-stream, application/json;q=0.9, */*;q=0.5";

/// The shortest time over which events make a rate; what arrived at once was a burst.
const RATED_MIN: Nanos = Nanos::from_millis(100);

/// The usual path of GraphQL, with a query that any of its servers answers: for the name of its root type.
const GRAPHQL: &str = "/graphql?query=%7B__typename%7D";

/// The usual path of the description of an API.
const OPENAPI: &str = "/openapi.json";

/// The text that asks for an id: nothing else is in it, so that it calls nothing.
const ASKED: &str = r#"{"id":"wb-1"}"#;
const ASKED_ID: &str = "wb-1";

/// The seed of the key of an upgrade.
const SEED: u64 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sha1::{Digest, Sha1};

    /// A server: what it answers to each attempt, and whether it then ends the connection.
    type Server = fn(&Attempt) -> (String, bool);

    #[test]
    fn servers_are_known_by_what_they_say() {
        #[rustfmt::skip]
        let table: [(&str, Server, &str, Option<&str>, usize); _] = [
            // URL, server, what is found, the conversation, the attempts that it takes
            ("tcp://h:1", |_| ("INFO {\"server_id\":1}\r\n".into(), false), "NATS: it greets", Some("nats"), 1),
            ("tcp://h:1", |_| (String::new(), false), "sends nothing on its own", None, 1),
            ("tcp://h:1", |_| ("220 mail\r\n".into(), false), "speaks first: \"220 mail\\r\\n\"", None, 1),
            ("ws://h/graphql", |_| (open("graphql-transport-ws", &[]), false), "GraphQL over WebSocket", Some("graphql-ws"), 1),
            ("ws://h/ws", |_| (open("wamp.2.json", &[]), false), "WAMP", Some("wamp"), 1),
            ("ws://h/", |_| (open("mqtt", &[]), false), "MQTT over WebSocket", Some("mqtt-ws"), 1),
            ("ws://h/ws", |_| (open("v12.stomp", &[]), false), "STOMP over WebSocket", Some("stomp"), 1),
            ("ws://h/cable", |_| (open("actioncable-v1-json", &text("{\"type\":\"welcome\"}")), false), "ActionCable: it chose", Some("actioncable"), 1),
            ("ws://h/cable", |_| (open("", &text("{\"type\":\"welcome\"}")), false), "ActionCable: it greets", Some("actioncable"), 1),
            ("ws://h/connection/websocket", |_| (open("centrifuge-json", &[]), false), "Centrifugo", Some("centrifugo"), 1),
            // A server that takes the first name has chosen nothing: rpc-websockets does that.
            ("ws://h/", |_| (open("wb-probe", &[]), false), "waits for the client to speak first", None, 1),
            ("ws://h/socket.io/?EIO=4&transport=websocket", |_| (open("wb-probe", &text("0{\"sid\":\"x\"}")), false), "Engine.IO 4", Some("socketio"), 1),
            ("ws://h/", |_| (open("", &text("INFO {\"x\":1}")), false), "NATS over WebSocket", Some("nats-ws"), 1),
            ("ws://h/sockjs/websocket", |_| (open("", &text("o")), false), "SockJS", None, 1),
            ("ws://h/graphql", |_| (open("", &close(4406)), true), "it closes with 4406", Some("graphql-ws"), 1),
            ("ws://h/graphql", |_| (open("", &close(1002)), true), "closes with 1002 at once", None, 1),
            ("ws://h/ws", |_| (open("", &[]), true), "closes at once", None, 1),
            ("ws://h/ws", |_| (open("", &text("hello")), false), "speaks first: \"hello\"", None, 1),
            ("ws://h/ws", |_| (page(401, "", ""), true), "wants a login: it answers 401", None, 1),
            ("ws://h/ws", |_| (page(403, "", ""), true), "HTTP 403", None, 1),
            ("ws://h/ws", |_| (page(403, "", "<input type=\"password\">"), true), "wants a login: it answers 403", None, 1),
            ("http://h/", |_| ("HTTP/1.1 403 No\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n".into(), true), "wants a login: it answers 403", None, 1),
            ("http://h/", |_| (page(403, "text/html", "403 Forbidden"), true), "HTTP 403", None, 1),
            ("ws://h/ws", |_| (page(429, "", ""), true), "a server that limits requests", None, 1),
            // A broker that drops an upgrade with names that it does not know, and accepts one without names.
            ("ws://h/", |attempt| match attempt {
                Attempt::Upgrade(false) => (open("", &[]), false),
                Attempt::Ask | Attempt::Get(_) | Attempt::Listen | Attempt::Upgrade(true) => (String::new(), true),
            }, "waits for the client", None, 2),
            // Socket.IO at a path other than that of the URL.
            ("ws://h/", |attempt| match attempt {
                Attempt::Get(path) if path == "/socket.io/" => (page(400, "application/json", "{\"code\":0,\"message\":\"Transport unknown\"}"), false),
                Attempt::Get(_) => (page(404, "text/html", "no"), false),
                Attempt::Ask | Attempt::Listen | Attempt::Upgrade(_) => (String::new(), true),
            }, "Socket.IO 4: it answers at /socket.io/", Some("socketio"), 4),
            ("ws://h/echo", |attempt| match attempt {
                Attempt::Get(path) if path == "/echo/info" => (page(200, "application/json", "{\"websocket\":true,\"origins\":[],\"entropy\":7}"), false),
                Attempt::Ask | Attempt::Get(_) | Attempt::Listen | Attempt::Upgrade(_) => (page(404, "", "no"), false),
            }, "SockJS: /echo/info", None, 5),
            ("http://h/events", |_| ("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n".into(), false), "server-sent events at /events: 0 events in the first 700 ms", Some("sse"), 1),
            ("http://h/events", |_| ("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\ndata: 1\n\n".into(), false), "1 event in the first 700 ms", Some("sse"), 1),
            // The last event is incomplete, and a comment is not an event.
            ("http://h/events", |_| ("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hi\n\n".to_owned() + &"id: 1\ndata: 1\n\n".repeat(14) + "data: 2", false), "server-sent events at /events: 20 events/s (14 in the first 700 ms)", Some("sse"), 1),
            ("http://h/events", |_| ("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n".into(), true), "2 events, and it ended after 700 ms", Some("sse"), 1),
            ("ws://h/api", |attempt| match attempt {
                Attempt::Get(path) if path.starts_with("/graphql?") => (page(200, "application/json", "{\"data\":{\"__typename\":\"Query\"}}"), false),
                Attempt::Ask | Attempt::Get(_) | Attempt::Listen | Attempt::Upgrade(_) => (page(404, "", "no \"__typename\""), false),
            }, "GraphQL at /graphql", None, 7),
            ("http://h/api", |attempt| match attempt {
                Attempt::Get(path) if path.starts_with("/graphql?") => (page(400, "application/json", "{\"errors\":[{\"message\":\"Must provide query\"}]}"), false),
                Attempt::Ask | Attempt::Get(_) | Attempt::Listen | Attempt::Upgrade(_) => (page(404, "", "no"), false),
            }, "GraphQL at /graphql", None, 5),
            ("http://h/api", |attempt| match attempt {
                Attempt::Get(path) if path == "/openapi.json" => (page(200, "application/json", "{\"openapi\":\"3.1.0\",\"paths\":{\"/items\":{}}}"), false),
                // Neither a page that repeats the query nor errors of another kind are GraphQL.
                Attempt::Get(path) if path.starts_with("/graphql?") => (page(404, "application/json", "{\"errors\":[{\"message\":\"__typename\"}]}"), false),
                Attempt::Ask | Attempt::Get(_) | Attempt::Listen | Attempt::Upgrade(_) => (page(404, "", ""), false),
            }, "described at /openapi.json", None, 6),
            ("http://h/", |attempt| match attempt {
                Attempt::Get(path) if path == "/.well-known/mercure" => (page(400, "text/plain", "Missing \"topic\" parameter."), false),
                Attempt::Ask | Attempt::Get(_) | Attempt::Listen | Attempt::Upgrade(_) => (page(404, "", ""), false),
            }, "Mercure", None, 4),
            ("http://h/ws", |_| (page(426, "", "Upgrade Required"), false), "a WebSocket endpoint: /ws answers 426", None, 1),
            ("http://h/ws", |_| (page(400, "", "Can \"Upgrade\" only to \"WebSocket\"."), false), "a WebSocket endpoint", None, 1),
            ("http://h/page", |_| (page(200, "text/html", "hello"), false), "HTTP 200, 5 bytes of text/html", None, 1),
            ("http://h/", |_| (page(401, "", ""), false), "wants a login", None, 1),
            ("http://h/", |_| ("SSH-2.0-x\r\n".into(), false), "a server with an unknown protocol", None, 6),
        ];
        for (url, server, words, conversation, attempts) in table {
            let url: Endpoint = url.parse().unwrap();
            let mut seen = Vec::new();
            let finding = loop {
                match next(&url, &seen) {
                    Step::Found(finding) => break finding,
                    Step::Try(attempt) => {
                        let (received, ended) = server(&attempt);
                        let received = received.chars().map(|letter| letter as u8).collect();
                        let listened = Nanos::from_millis(700);
                        seen.push(Seen { attempt, received, listened, ended });
                    }
                }
            };
            assert!(finding.words.contains(words), "{url}: {finding:?}");
            assert_eq!(finding.conversation, conversation, "{url}: {finding:?}");
            let is_ready =
                |name| spec::conversation::READY_MADE.iter().any(|(made, _)| *made == name);
            assert!(conversation.is_none_or(is_ready), "{finding:?}");
            assert_eq!(conversation.is_none(), !finding.advice.is_empty(), "{finding:?}");
            assert_eq!(seen.len(), attempts, "{url}: {seen:?}");
        }
    }

    #[test]
    fn json_rpc_is_known_by_its_error_wherever_its_version_stands() {
        let ws: Endpoint = "ws://h/".parse().unwrap();
        let found = |url: &Endpoint, said: &str| {
            reply(url, said.as_bytes()).and_then(|found| found.conversation)
        };
        for said in [
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}"#,
            r#"{"error": {"code": -32700, "message": "Parse error"}, "id": null, "jsonrpc": "2.0"}"#,
            "{\n  \"jsonrpc\": \"2.0\",\n  \"error\": {\"code\": -32600",
            r#"[{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"},"id":null}]"#,
        ] {
            assert_eq!(found(&ws, said), Some("json-rpc"), "{said}");
            assert_eq!(found(&"tcp://h:1".parse().unwrap(), said), Some("ndjson"), "{said}");
        }
        for said in ["", "{}", r#"{"error":"parse"}"#, r#"say "jsonrpc":"2.0""#] {
            assert_eq!(found(&ws, said), None, "{said}");
        }
    }

    #[test]
    fn an_id_that_comes_back_is_found_wherever_it_is() {
        let url: Endpoint = "ws://h/".parse().unwrap();
        for (answer, place) in [
            (r#"{"id":"wb-1","error":"what?"}"#, Some("$.id")),
            (r#"{"hello":1} {"to":[1,{"ref":"wb-1"}]}"#, Some("$.to[1].ref")),
            (r#"{"id":1}"#, None),
            (r#"{"error":"no wb-1"}"#, None),
            ("wb-1", None),
            ("", None),
        ] {
            let found = id_of_answer(answer.as_bytes()).map(|found| found.words);
            let is_right = match place {
                Some(place) => {
                    found.as_ref().is_some_and(|words| words.ends_with(&format!("\"{place}\"")))
                }
                None => found.is_none(),
            };
            assert!(is_right, "{answer}: {found:?}");
        }
        let waits = other(WAITS.to_owned(), "");
        assert!(may_know_ids(&url, &waits, b"{ \"error\":"));
        assert!(!may_know_ids(&url, &waits, b"[1]"));
        assert!(!may_know_ids(&url, &named("WAMP", "wamp"), b"{\"error\":"));
        let bytes: Endpoint = "tcp://h:1".parse().unwrap();
        assert!(!may_know_ids(&bytes, &other(SILENT.to_owned(), ""), b"{\"error\":"));
    }

    #[test]
    fn nothing_is_sent_that_was_not_invited() {
        for url in ["tcp://h:1", "ws://h/a?b", "http://h/a?b", "sockjs://h/a", "lines://h:1"] {
            let url: Endpoint = url.parse().unwrap();
            let mut seen = Vec::new();
            while let Step::Try(attempt) = next(&url, &seen) {
                let sent = String::from_utf8(attempt.request(&url)).unwrap();
                let is_web = url.facts().path.is_some();
                assert_eq!(sent.is_empty(), !is_web, "{sent}");
                assert!(sent.is_empty() || sent.starts_with("GET /"), "{sent}");
                assert!(sent.is_empty() || sent.ends_with("\r\n\r\n"), "{sent}");
                let offered =
                    sent.lines().find(|line| line.starts_with("Sec-WebSocket-Protocol: "));
                assert!(offered.is_none_or(|line| line.len() - 24 < 130), "{offered:?}");
                let listened = Nanos::ZERO;
                seen.push(Seen { attempt, received: Vec::new(), listened, ended: true });
                assert!(seen.len() <= ATTEMPTS_MAX);
            }
            let tries: Vec<&Attempt> = seen.iter().map(|seen| &seen.attempt).collect();
            let different = tries.iter().enumerate().all(|(at, one)| !tries[..at].contains(one));
            assert!(different, "{tries:?}");
        }
    }

    #[test]
    fn whatever_a_server_says_is_looked_at_without_harm() {
        const LETTERS: &[u8] = b"HTP/1. 2\r\n:\x81\x00{}";
        let mut random = units::Random::new(7);
        for url in ["tcp://h:1", "ws://h/", "http://h/"] {
            let url: Endpoint = url.parse().unwrap();
            for _ in 0..500 {
                let len = random.below(200);
                let mut received: Vec<u8> =
                    (0..len).map(|_| LETTERS[random.below(LETTERS.len())]).collect();
                if random.below(2) == 0 {
                    received.splice(0..0, open("mqtt", &[]).bytes());
                }
                let Step::Try(attempt) = next(&url, &[]) else { panic!("nothing is known yet") };
                let (listened, ended) = (Nanos::ZERO, random.below(2) == 0);
                next(&url, &[Seen { attempt, received, listened, ended }]);
            }
        }
    }

    /// The answer that opens a WebSocket with the probe's key, followed by `frames`.
    fn open(subprotocol: &str, frames: &[u8]) -> String {
        let url: Endpoint = "ws://h/".parse().unwrap();
        let request = String::from_utf8(Attempt::Upgrade(true).request(&url)).unwrap();
        let key =
            request.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap();
        let digest = Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
        let accept = STANDARD.encode(digest);
        let chosen = match subprotocol {
            "" => String::new(),
            name => format!("Sec-WebSocket-Protocol: {name}\r\n"),
        };
        let frames: String = frames.iter().map(|byte| char::from(*byte)).collect();
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {accept}\r\n{chosen}\r\n{frames}"
        )
    }

    fn text(text: &str) -> Vec<u8> {
        let len = u8::try_from(text.len()).unwrap();
        [&[0x81, len][..], text.as_bytes()].concat()
    }

    fn close(code: u16) -> Vec<u8> {
        [&[0x88, 2][..], &code.to_be_bytes()].concat()
    }

    fn page(status: u16, kind: &str, body: &str) -> String {
        let len = body.len();
        format!(
            "HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nContent-Length: {len}\r\n\r\n{body}"
        )
    }
}
