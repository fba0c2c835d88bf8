//! Conversations for tests and fuzz targets, in few words.

#[cfg(test)]
use crate::contract::Response;
use spec::Conversation;
use spec::conversation::{
    AnswerRule, Condition, Frame, HttpRequest, Matcher, Medium, Place, PushRule, Reply, Request,
    Resume, Scalar, Send, Speaks, Step, Take, TakeFrom, Template, Var,
};
use units::Nanos;

/// A conversation without parts.
pub(crate) fn conversation(speaks: Speaks, frame: Frame) -> Conversation {
    Conversation {
        name: "sample".to_owned(),
        about: String::new(),
        speaks,
        path: None,
        subprotocols: Vec::new(),
        headers: Vec::new(),
        frame,
        vars: Vec::<Var>::new(),
        before: Vec::new(),
        open: Vec::new(),
        requests: Vec::new(),
        pushes: Vec::new(),
        answers: Vec::new(),
        beat: None,
        publishers: None,
        close: None,
    }
}

/// The template of a message; after `0x`, of a message of bytes.
pub(crate) fn template(text: &str) -> Template {
    let parsed = match text.strip_prefix("0x") {
        Some(bytes) => Template::parse_bytes(bytes),
        None => Template::parse(text, Medium::Message),
    };
    parsed.expect("it is a template")
}

/// A matcher of words: `$.a=1`, `$.a="x"`, `has $.a`, `lacks $.a`, `is x`, `starts x`, `contains x`, `sha256 DIGEST`,
/// `id $.a`, `id @4:u32le`, `id BEFORE|AFTER`, and `@4 01 ff`.
pub(crate) fn matcher(words: &[&str]) -> Matcher {
    let mut matcher = Matcher { conditions: Vec::new(), id: None };
    let path = |path: &str| path.parse().expect("it is a path");
    for word in words {
        let (verb, rest) = word.split_once(' ').unwrap_or((word, ""));
        matcher.conditions.push(match verb {
            "has" => Condition::Has(path(rest)),
            "lacks" => Condition::Lacks(path(rest)),
            "is" => Condition::Is(rest.to_owned()),
            "starts" => Condition::Starts(rest.to_owned()),
            "contains" => Condition::Contains(rest.to_owned()),
            _ if verb.starts_with('@') => Condition::Bytes {
                at: verb[1..].parse().expect("it is a number"),
                bytes: rest.parse().expect("they are bytes"),
            },
            "sha256" => Condition::Sha256(rest.parse().expect("it is a digest")),
            "id" => {
                matcher.id = Some(place(rest));
                continue;
            }
            _ => {
                let (place, value) = word.split_once('=').expect("it is a condition");
                let value = match (value, value.parse()) {
                    ("true" | "false", _) => Scalar::Bool(value == "true"),
                    (_, Ok(value)) => Scalar::Integer(value),
                    (_, Err(_)) => Scalar::Text(value.trim_matches('"').to_owned()),
                };
                Condition::Equals { path: path(place), value }
            }
        });
    }
    matcher
}

/// A place: a path, one in bytes, or `BEFORE|AFTER`.
pub(crate) fn place(text: &str) -> Place {
    match text.split_once('|') {
        Some((before, after)) => Place::Text { before: before.to_owned(), after: after.to_owned() },
        None if text.starts_with('@') => Place::Bytes(text.parse().expect("it is a place")),
        None => Place::Json(text.parse().expect("it is a path")),
    }
}

/// A step that sends `send` and expects `expect`, each unless it is empty.
pub(crate) fn step(send: &str, expect: &[&str]) -> Step {
    Step {
        by: None,
        send: (!send.is_empty()).then(|| template(send)),
        expect: (!expect.is_empty()).then(|| matcher(expect)),
        refused: None,
        take: Vec::new(),
    }
}

pub(crate) fn take(var: &str, from: &str) -> Take {
    Take { var: var.to_owned(), from: TakeFrom::Message(place(from)) }
}

pub(crate) fn request(send: &str, reply: Reply) -> Request {
    Request {
        name: "request".to_owned(),
        weight: 1,
        send: Send::Message(template(send)),
        reply,
        refused: None,
    }
}

/// A request that is answered, or refused.
pub(crate) fn asked(send: &str, reply: &[&str], refused: &[&str]) -> Request {
    let refused = (!refused.is_empty()).then(|| matcher(refused));
    Request { refused, ..request(send, Reply::Match(matcher(reply))) }
}

pub(crate) fn push(when: &[&str], sent: Option<&str>) -> PushRule {
    PushRule { name: "push".to_owned(), when: matcher(when), sent: sent.map(place), header: None }
}

pub(crate) fn answer(when: &[&str], send: &str) -> AnswerRule {
    AnswerRule {
        name: "answer".to_owned(),
        when: matcher(when),
        take: Vec::new(),
        send: template(send),
    }
}

/// An HTTP request: `GET /path`, and a body.
pub(crate) fn http(line: &str, body: Option<&str>) -> HttpRequest {
    let (method, path) = line.split_once(' ').expect("it is a method and a path");
    HttpRequest {
        method: method.to_owned(),
        path: Template::parse(path, Medium::Url).expect("it is a path"),
        headers: Vec::new(),
        body: body.map(template),
        redirects: 0,
    }
}

/// A kind of HTTP request without a body: `GET /path`.
pub(crate) fn called(line: &str, reply: Reply, refused: &[&str]) -> Request {
    Request {
        name: "get".to_owned(),
        weight: 1,
        send: Send::Http(http(line, None)),
        reply,
        refused: (!refused.is_empty()).then(|| matcher(refused)),
    }
}

/// Receivers of one stream of events, which others publish.
pub(crate) fn one_stream() -> Conversation {
    Conversation {
        path: Some(Template::parse("/events", Medium::Url).expect("it is a path")),
        pushes: vec![push(&["contains push"], None), push(&[], None)],
        publishers: Some(Box::new(over_http())),
        ..conversation(Speaks::Sse, Frame::Message)
    }
}

/// Two kinds of HTTP requests; the second has an id in its reply, and may be refused.
pub(crate) fn over_http() -> Conversation {
    let reply = |words: &[&str]| Reply::Match(matcher(words));
    Conversation {
        requests: vec![
            called("GET /a", reply(&[]), &[]),
            called("GET /b?id=${id}", reply(&["id $.id"]), &["has $.error"]),
        ],
        ..conversation(Speaks::Http, Frame::Message)
    }
}

/// An HTTP request whose response is a stream of events.
pub(crate) fn stream(first: &[&str], each: &[&str], last: Option<&[&str]>) -> Conversation {
    let (first, each, last) = (matcher(first), matcher(each), last.map(matcher));
    let reply = Reply::Stream { first, each, last, may_end: false, resume: None };
    Conversation {
        requests: vec![called("GET /", reply, &["has $.error"])],
        ..conversation(Speaks::Sse, Frame::Message)
    }
}

/// The same, where streams that break off are resumed.
pub(crate) fn resumable(mut stream: Conversation, times: u32, wait: Nanos) -> Conversation {
    for request in &mut stream.requests {
        if let Reply::Stream { resume, .. } = &mut request.reply {
            *resume = Some(Resume { times, wait });
        }
    }
    stream
}

/// An HTTP response.
#[cfg(test)]
pub(crate) struct Said {
    status: u16,
    head: Vec<u8>,
    body: Vec<u8>,
}

/// The response with this status, these fields, each with its line end, and this body.
#[cfg(test)]
pub(crate) fn response(status: u16, fields: &str, body: &[u8]) -> Said {
    let head = format!("HTTP/1.1 {status} Status\r\n{fields}\r\n").into_bytes();
    Said { status, head, body: body.to_vec() }
}

#[cfg(test)]
impl Said {
    pub(crate) fn as_response(&self) -> Response<'_> {
        let Self { status, head, body } = self;
        Response { status: *status, head, body, is_first: true, ends_chunk: false, is_last: true }
    }
}

/// JSON-RPC 2.0 over WebSocket.
pub(crate) fn json_rpc() -> Conversation {
    Conversation {
        requests: vec![asked(
            r#"{"jsonrpc":"2.0","id":${id},"method":"echo","params":["a"]}"#,
            &["has $.result", "id $.id"],
            &["has $.error", "id $.id"],
        )],
        pushes: vec![push(&["has $.method", "lacks $.id"], None)],
        ..conversation(Speaks::Ws, Frame::Message)
    }
}

/// Socket.IO 4, with a room, messages that carry our instant, and pings.
pub(crate) fn socket_io() -> Conversation {
    Conversation {
        open: vec![
            step("", &["starts 0{"]),
            Step { take: vec![take("sid", "\"sid\":\"|\"")], ..step("40", &["starts 40{"]) },
            step(r#"42${id}["join","r"]"#, &["id 43|["]),
        ],
        requests: vec![
            asked(r#"42${id}["echo","a"]"#, &["id 43|["], &[]),
            request(r#"42["say",{"at":${now}}]"#, Reply::Nothing),
        ],
        pushes: vec![push(&[r#"starts 42["said","#], Some("\"at\":|}"))],
        answers: vec![answer(&["is 2"], "3")],
        ..conversation(Speaks::Ws, Frame::Message)
    }
}
