//! Lines of NATS in both directions, as far as a subscriber needs them (docs.nats.io, "Client Protocol").

use super::login::Login;
use std::ops::Range;

/// A line of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A command was carried out.
    Done,
    /// A command was refused; the reason follows the first word.
    Error,
    /// The facts about the server.
    Info {
        needs_login: bool,
        needs_tls: bool,
    },
    /// Somebody published a message, which follows.
    Message {
        subject: Range<usize>,
        len: usize,
    },
    /// It asks for a sign of life.
    Ping,
    Pong,
}

/// Reads a line without its end; `None` for one that subscribers do not get.
pub(super) fn read(line: &[u8]) -> Option<Line> {
    if let Some(facts) = line.strip_prefix(b"INFO ") {
        let facts: Facts = serde_json::from_slice(facts).ok()?;
        let Facts { auth_required: needs_login, tls_required: needs_tls } = facts;
        return Some(Line::Info { needs_login, needs_tls });
    }
    if let Some(arguments) = line.strip_prefix(b"MSG ") {
        let arguments = arguments.trim_ascii_start();
        let start = line.len() - arguments.len(); // The subject is the first of them.
        let mut words = arguments.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        let (subject, _number) = (words.next()?, words.next()?);
        let (last, more) = (words.next()?, words.next());
        // The address for a reply precedes the length.
        let len = str::from_utf8(more.unwrap_or(last)).ok()?.parse().ok()?;
        return words
            .next()
            .is_none()
            .then_some(Line::Message { subject: start..start + subject.len(), len });
    }
    match line {
        b"+OK" => Some(Line::Done),
        b"PING" => Some(Line::Ping),
        b"PONG" => Some(Line::Pong),
        _ => line.starts_with(b"-ERR").then_some(Line::Error),
    }
}

/// The reason in an error line, without its quotes.
pub(super) fn reason(line: &[u8]) -> &[u8] {
    let reason = line.strip_prefix(b"-ERR").unwrap_or(line).trim_ascii();
    reason.strip_prefix(b"'").and_then(|it| it.strip_suffix(b"'")).unwrap_or(reason)
}

/// True for an error that is about one subscription: the connection continues with the others.
pub(super) fn is_of_one_subscription(line: &[u8]) -> bool {
    let reason = reason(line).to_ascii_lowercase();
    [&b"permissions violation for subscription"[..], b"maximum subscriptions exceeded"]
        .iter()
        .any(|start| reason.starts_with(start))
}

/// The facts about a server that matter before anything is said to it.
#[derive(serde::Deserialize)]
struct Facts {
    #[serde(default)]
    auth_required: bool,
    #[serde(default)]
    tls_required: bool,
}

/// True for the name of one subject: words with dots between them, and no wildcard among them.
pub(super) fn is_subject(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'.').all(|word| {
        let is_wildcard = matches!(word, b"" | b"*" | b">");
        !is_wildcard && word.iter().all(|byte| *byte > b' ' && *byte != 0x7f)
    })
}

/// Appends the login, and a ping, whose answer says that the login is good.
pub(super) fn append_connect(login: Option<&Login>, tx: &mut Vec<u8>) {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let login = match login {
        None => String::new(),
        Some(Login { user: Some(user), password }) => {
            format!(",\"user\":{},\"pass\":{}", quoted(user), quoted(password))
        }
        Some(Login { user: None, password }) => format!(",\"auth_token\":{}", quoted(password)),
    };
    let connect = format!(
        "CONNECT {{\"verbose\":false,\"pedantic\":false,\"lang\":\"wirebench\",\"version\":\"1\",\
         \"protocol\":1{login}}}\r\n"
    );
    tx.extend_from_slice(connect.as_bytes());
    tx.extend_from_slice(PING);
}

/// Appends a subscription, whose number the client chooses.
pub(super) fn append_sub(subject: &[u8], number: u64, tx: &mut Vec<u8>) {
    tx.extend_from_slice(b"SUB ");
    tx.extend_from_slice(subject);
    tx.extend_from_slice(format!(" {number}\r\n").as_bytes());
}

/// Appends the end of a subscription.
pub(super) fn append_unsub(number: u64, tx: &mut Vec<u8>) {
    tx.extend_from_slice(format!("UNSUB {number}\r\n").as_bytes());
}

pub(super) const PING: &[u8] = b"PING\r\n";
pub(super) const PONG: &[u8] = b"PONG\r\n";
