//! Advice about a server that did not answer as expected: the next thing to try, as text.
//!
//! The advice follows from the class and the cause of an error, never from its text, except for TLS errors, which are
//! told apart by their text alone. Left out: looking at the server (`recognition`), and probing it over TLS (`reach`).
//!
//! Start reading at [`next_at_once`] and [`next_of_protocol`].

use crate::plan::{Measurement, Peer};
use load::Expect;
use record::{Cause, ErrorClass, Tally};
use spec::{Carries, Endpoint, Protocol};
use wire::discovery::Finding;

/// The error of the earliest step of a connection.
pub(crate) type FirstError<'a> = Option<(&'a ErrorClass, &'a Tally)>;

/// Advice that needs no look at the server: the server asks for less load, or for a login.
pub(crate) fn next_at_once(error: FirstError<'_>) -> Option<&'static str> {
    let (class, Tally { cause, .. }) = error?;
    if asks_for_less(cause) {
        return Some(ASKS_FOR_LESS);
    }
    next_of_upgrade(*class, cause)
}

/// Advice about a server that was looked at.
pub(crate) fn next_of_finding(url: &Endpoint, found: &Finding) -> String {
    let Finding { words, conversation, advice, .. } = found;
    let next = match conversation {
        Some(name) => next_of_conversation(&found.place(url), name),
        None => advice.clone(),
    };
    let scheme = url.scheme();
    let usual = match url.facts().carries {
        Carries::Requests => "whole responses, and with --expect-status 200 those of streams too",
        Carries::Binary
        | Carries::BinaryOrText
        | Carries::Bytes
        | Carries::Events
        | Carries::Lines
        | Carries::Text
        | Carries::TextOrBinary => {
            "an echo; if it answers with a fixed reply, name that with --expect"
        }
    };
    format!("Is it {words}? Then {next}. By default, {scheme}:// expects {usual}")
}

/// The commands that use a ready-made conversation with `url`.
fn next_of_conversation(url: &Endpoint, name: &str) -> String {
    let url = quoted(url);
    format!(
        "start from the ready-made conversation: `wirebench talk {url} --conversation {name}` plays it once, and \
         `wirebench run {url} --conversation {name}` measures"
    )
}

/// A URL quoted for a shell.
fn quoted(url: &Endpoint) -> String {
    let url = url.to_string();
    if url.contains(['&', '?', '*', '\'']) {
        format!("'{}'", url.replace('\'', "%27"))
    } else {
        url
    }
}

/// Advice for a server that is overloaded already.
const ASKS_FOR_LESS: &str =
    "The server asks for less load: wait, and load it only with the consent of whoever runs it";

/// True if the server says that it is overloaded: 429 (Too Many Requests, RFC 6585), 503 (Service Unavailable, RFC
/// 9110), or any refusal with a time to retry at.
fn asks_for_less(cause: &Cause) -> bool {
    match cause {
        Cause::Before { code } => matches!(code, 429 | 503),
        Cause::Status { code, is_later, .. } => *is_later || matches!(code, 429 | 503),
        Cause::Closed(_)
        | Cause::Compression
        | Cause::NoClose
        | Cause::Said(_)
        | Cause::Unasked(_)
        | Cause::Unknown => false,
    }
}

/// Advice for a server that wants a login.
const WANTS_LOGIN: &str =
    "It wants a login: give it with -H @FILE, a file with a line such as `Authorization: Bearer …`";

/// Advice for a server that denies access.
const FORBIDS: &str = "Access is denied without a reason: check the path, or pass a login or an Origin with -H @FILE, \
                       a file with a line such as `Authorization: Bearer …`";

/// Advice for an upgrade that was refused to this client; it is not tried a second time.
fn next_of_upgrade(class: ErrorClass, cause: &Cause) -> Option<&'static str> {
    let Cause::Status { code, .. } = cause else { return None };
    let advice = [(401, WANTS_LOGIN), (403, FORBIDS)];
    let found = advice.iter().find(|(refusal, _)| refusal == code && class == ErrorClass::Protocol);
    found.map(|(_, advice)| *advice)
}

/// Advice about a wrong answer from a server that was spoken to over TLS.
pub(crate) fn next_inside_tls(
    url: &Endpoint,
    measurement: &Measurement,
    error: FirstError<'_>,
) -> String {
    let plain = Endpoint { tls: false, ..url.clone() };
    match error {
        Some((ErrorClass::TlsTimedOut, _)) => {
            format!("If it does not speak TLS at all: {plain}")
        }
        Some((ErrorClass::Tls, Tally { example, .. })) => {
            let found = TLS_NEXT.iter().find(|(words, _)| example.contains(words));
            found.map_or_else(|| format!("Did you mean {plain}?"), |(_, next)| (*next).to_owned())
        }
        _ => next_of_protocol(measurement, error),
    }
}

/// Advice about a wrong answer from a server that speaks the protocol, as far as can be seen.
pub(crate) fn next_of_protocol(measurement: &Measurement, error: FirstError<'_>) -> String {
    if let Some(requests) = &measurement.workload.requests {
        let name = &requests.conversation().name;
        return match error.map(|(class, _)| class) {
            Some(ErrorClass::Unexpected) => format!(
                "Describe an unsolicited message in a [push.NAME] or an [answer.NAME] of `{name}`, and an answer in \
                 the reply of its request"
            ),
            Some(ErrorClass::ReplyTimedOut) => format!(
                "No message matched a reply of `{name}`: most servers answer a mistake with silence, so compare the \
                 message with their documentation"
            ),
            _ => format!("Compare `{name}` with what the server expects"),
        };
    }
    let is_compression = error.is_some_and(|(_, tally)| tally.cause == Cause::Compression);
    if is_compression {
        return "Its documentation says which compression it supports: offer that with --deflate=…, or leave --deflate out"
            .to_owned();
    }
    if measurement.peer.scheme().facts().carries == Carries::Events {
        return "A game server speaks game:// on its binary port, game-ws:// and game-comet:// on its web port"
            .to_owned();
    }
    if let Some((ErrorClass::Cut | ErrorClass::ClosedByPeer, _)) = error {
        let is_of_bytes = measurement.peer.scheme().protocol == Protocol::Tcp;
        let others =
            if is_of_bytes { " MQTT brokers do this: use --conversation mqtt" } else { "" };
        return format!(
            "It ended the connection without an answer: is it a server of this protocol, and does it admit this path, \
             host and client? Check its log for the reason.{others}"
        );
    }
    if measurement.peer.scheme().facts().carries == Carries::Requests {
        let refusal = error.and_then(|(_, tally)| next_of_refusal(&measurement.peer, &tally.cause));
        return refusal.unwrap_or_else(|| next_of_reply(measurement));
    }
    "If it answers with a fixed reply, name that with --expect".to_owned()
}

/// Advice about an HTTP reply that is not the expected one.
fn next_of_reply(measurement: &Measurement) -> String {
    match measurement.workload.expect {
        Expect::Echo => format!(
            "It was sent a {}, whose body should have come back; leave --echo out to ask for a page, or name a fixed \
             reply with --expect",
            measurement.speech.options.method
        ),
        Expect::Contains(_) | Expect::Exactly(_) | Expect::Sha256(_) => {
            "Without --expect and --expect-body, any reply with a status of 2xx counts".to_owned()
        }
        Expect::Anything | Expect::InSequence | Expect::Oracle => {
            "Is it an HTTP/1.1 server? Check its log for the reason".to_owned()
        }
    }
}

/// Advice about a status that does not count as a reply; `None` if `cause` is not a status.
fn next_of_refusal(peer: &Peer, cause: &Cause) -> Option<String> {
    let Cause::Status { code, said, .. } = cause else { return None };
    let code = *code;
    if let (Some(url), 400 | 404 | 405 | 422) = (peer.url(), code)
        && url.path.ends_with(COMPLETIONS)
    {
        return Some(format!(
            "That is the path of chat completions: {}",
            next_of_conversation(url, "openai-stream")
        ));
    }
    Some(match code {
        200..=299 => format!(
            "It answers with a stream of server-sent events: {}; or take all of its bytes for a reply with \
             --expect-status {code}",
            next_of_conversation(peer.url()?, "sse")
        ),
        300..=399 => {
            let place = said.whole().and_then(|place| redirected(peer, place));
            let next = place.map_or_else(
                || "name the place that it points to as the URL".to_owned(),
                |place| format!("try {place}"),
            );
            format!(
                "It redirects, and redirects are not followed: {next}, or follow it with --redirects 1; or take that for a \
                 reply with --expect-status {code}"
            )
        }
        401 => format!("{WANTS_LOGIN}; or take that for a reply with --expect-status {code}"),
        403 => format!("{FORBIDS}; or take that for a reply with --expect-status {code}"),
        404 => "Nothing is there: name the path in the URL, as in http://127.0.0.1:8080/health; or take that for a \
                reply with --expect-status 404"
            .to_owned(),
        426 => {
            let url = peer.url()?;
            let socket = Endpoint { protocol: Protocol::WebSocket, ..url.clone() };
            format!("It is a WebSocket endpoint: try {socket}")
        }
        405 => "It wants another method: name it with --method, and a body with --payload".to_owned(),
        _ => format!("To take that for a reply: --expect-status {code}"),
    })
}

/// The URL that a redirect points to; `None` if it cannot be shown.
fn redirected(peer: &Peer, place: &[u8]) -> Option<Endpoint> {
    let url = peer.url()?;
    let place = str::from_utf8(place).ok()?;
    if !place.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    match place.starts_with('/') && !place.starts_with("//") {
        true => Some(Endpoint { path: place.to_owned(), ..url.clone() }),
        false => place.parse().ok(),
    }
}

/// Advice about TLS errors that contain these words: the first match counts; if none matches, the server may speak
/// something else.
const TLS_NEXT: [(&str, &str); 6] = [
    (
        "it requires a client certificate",
        "Present a certificate with --client-cert FILE --client-key FILE",
    ),
    (
        "issuer of our certificate",
        "Present one that it knows with --client-cert FILE --client-key FILE",
    ),
    (
        "the certificate of",
        "Trust its issuer with --ca FILE, name its host with --server-name NAME, or skip the check with --insecure",
    ),
    ("ALPN", "Offer another protocol with --alpn"),
    ("in common", "Offer more with --tls-version and --tls-suite"),
    ("alert", "--tls-version, --tls-suite and --server-name decide what is offered to it"),
];

/// The end of the path for chat completions of language model servers, as OpenAI defined it.
const COMPLETIONS: &str = "/chat/completions";
