//! `wirebench talk`: a conversation with a server, by hand or played from its file.

mod played;

use super::by_hand::ByHand;
use super::values;
use crate::exit::{Exit, Failure};
use crate::signals;
use crate::terminal::{Label, Terminal};
use engine::thread;
use run::talk::{Line, Said, Talk as Asked, Total};
use spec::{Carries, Context, Endpoint, Options, Protocol, Server, Workload};
use std::io::{BufRead, IsTerminal, stdin};
use std::sync::mpsc::{SyncSender, sync_channel};
use units::{Bytes, Nanos};
use wire::conversation::Sense;
use wire::{Kind, Response, Verdict};

/// Talk to a server by hand, and see every message with its time
///
/// Each line of stdin is a message: a text over WebSocket, the bytes with a line feed over tcp, a request over HTTP.
/// Everything that the server says is shown as it arrives, with the time since the connect began; control characters
/// are escaped, and binary messages are shown in hexadecimal digits. It ends when the server closes the connection, or
/// after the end of stdin once as many messages have arrived as were sent.
///
/// Over HTTP a line is `METHOD PATH BODY`. Without a method, a line that begins with a slash is requested with GET, and
/// any other is posted to the path of the URL; without any line that path is requested.
///
/// With --conversation nothing is typed: the conversation is played once. It logs in, opens, sends each kind of request
/// and awaits its reply, listens for pushes, and ends. Every message is shown with its time and its role, and a summary
/// follows. Nothing is measured.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
)]
pub(crate) struct Talk {
    /// The server, as in wss://127.0.0.1:8443/echo
    #[arg(value_name = "URL")]
    url: String,
    /// Play this conversation once: a name, or a TOML file, as in ./chat.toml
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "hex")]
    conversation: Option<String>,
    /// Lines are bytes in hexadecimal digits, sent as binary messages
    #[arg(long)]
    hex: bool,
    /// Time to wait for more after the end of stdin (default 2s), or after the last reply of a conversation (200ms)
    #[arg(long, value_name = "TIME", value_parser = values::some_time)]
    wait: Option<Nanos>,
    /// Add a header field for HTTP and WebSocket, or `@FILE` with one per line; repeatable
    #[arg(short = 'H', long, value_name = "NAME: VALUE|@FILE")]
    header: Vec<String>,
    /// Offer a WebSocket subprotocol; repeatable, in order of preference
    #[arg(long, hide_short_help = true, value_name = "NAME")]
    subprotocol: Vec<String>,
    #[command(flatten)]
    by_hand: ByHand,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench talk ws://127.0.0.1:8080                 type lines, Ctrl-D ends
  wirebench talk ws://127.0.0.1:8080 --conversation ./chat.toml
  echo 'GET /health' | wirebench talk http://127.0.0.1:8080";

impl Talk {
    /// Connects, sends what is typed, and shows what arrives.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let endpoint: Endpoint =
            self.url.parse().map_err(|error| Failure::usage(format!("{}: {error}", self.url)))?;
        let options = Options {
            conversation: self.conversation.clone(),
            header: self.header,
            subprotocol: self.subprotocol,
            ..self.by_hand.options()
        };
        let (read, pack) = (&values::content, &values::packed);
        let context = Context { read, environment: &values::environment, pack, seed: 0 };
        let workloads = options.workloads("talk", &Server::Given(endpoint.clone()), &context);
        let workload = workloads.map_err(Failure::usage)?.remove(0);
        let wish = signals::listen()?;
        let secrets = spec::secrets_of(std::slice::from_ref(&workload));
        let wait = match self.conversation {
            Some(_) => LISTENING,
            None => WAIT,
        };
        let wait = self.wait.unwrap_or(wait);
        let asked = Asked {
            workload: &workload,
            public_allowed: self.by_hand.i_may_load_this_target,
            wait,
        };
        let mut shown = Ok(());
        let mut tell = |at: Nanos, said: Said<'_>| {
            let text = lines_of(at, &said, &workload);
            if shown.is_ok() {
                shown = terminal.result(&secrets.cut(&text));
            }
        };
        if let Some(conversation) = &workload.conversation {
            let played = run::play::play(asked, &wish.signal, &mut tell);
            shown?;
            let played = played.map_err(|error| Failure::from(error).without(&secrets))?;
            terminal.result(&secrets.cut(&played::summary(conversation, &played)))?;
            let is_good = played.requests.iter().all(|asked| asked.verdict == Verdict::Good);
            return Ok(match is_good && played.unexpected == 0 {
                true => Exit::DONE,
                false => Exit::UNREACHABLE,
            });
        }
        let (sender, lines) = sync_channel(LINES_MAX);
        let typed = Typed { hex: self.hex, protocol: endpoint.protocol };
        thread::start("lines", move || typed.read(&sender)).map_err(anyhow::Error::from)?;
        if stdin().is_terminal() {
            terminal.say("type a line to send it; Ctrl-D ends");
        }
        let total = run::talk::talk(asked, &lines, &wish.signal, &mut tell);
        shown?;
        let total = total.map_err(|error| Failure::from(error).without(&secrets))?;
        let Total { sent, received } = total;
        if sent > 0 && received == 0 {
            let text = format!("{endpoint} said nothing within {wait}; --wait TIME waits longer");
            terminal.say_labelled(Label::Error, &text);
            return Ok(Exit::UNREACHABLE);
        }
        Ok(Exit::DONE)
    }
}

/// The lines that are typed.
#[derive(Clone, Copy)]
struct Typed {
    hex: bool,
    protocol: Protocol,
}

impl Typed {
    /// Reads stdin to its end, or until nobody listens any more.
    fn read(self, sender: &SyncSender<Line>) {
        let mut count = 0;
        for line in stdin().lock().split(b'\n') {
            let Ok(line) = line else { break };
            let line = line.strip_suffix(b"\r").map_or(&line[..], |line| line);
            let Some(line) = self.line(line) else {
                let text =
                    "error: a line is not hexadecimal digits, two for each byte; it was not sent\n";
                std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes()).ok();
                continue;
            };
            count += 1;
            if sender.send(line).is_err() {
                return;
            }
        }
        if count == 0 && self.protocol == Protocol::Http {
            sender.send(Line { kind: Kind::Text, bytes: Vec::new() }).ok();
        }
    }

    /// The message that a line stands for; `None` if it is not hexadecimal.
    fn line(self, line: &[u8]) -> Option<Line> {
        if self.hex {
            return unhex(line).map(|bytes| Line { kind: Kind::Binary, bytes });
        }
        let mut bytes = line.to_vec();
        if self.protocol.facts().carries == Carries::Bytes {
            bytes.push(b'\n');
        }
        Some(Line { kind: Kind::of(&bytes), bytes })
    }
}

/// Parses hexadecimal digits, two for each byte, and ignores blanks.
fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let byte = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    if digits.len().is_multiple_of(2) { digits.chunks(2).map(byte).collect() } else { None }
}

/// Returns the lines that show an event, each with its line break.
fn lines_of(at: Nanos, said: &Said<'_>, workload: &Workload) -> String {
    let protocol = workload.scheme().protocol;
    let is_http = protocol == Protocol::Http;
    // If a protocol does not distinguish text from bytes, what reads as text is shown as text.
    let tells = protocol.facts().carries.has_both();
    let of = |kind: &Kind| if tells { *kind } else { Kind::Text };
    let (mark, text) = match said {
        Said::Closed(Some(code), reason) => ('=', format!("closed with code {code} \"{reason}\"")),
        Said::Closed(None, _) => ('=', "closed".to_owned()),
        Said::Connected(address) => ('=', format!("connected to {address}")),
        Said::Noted(note) => {
            let mark = if note.is_heard { '<' } else { '>' };
            let part = workload.conversation.as_ref().map_or_else(String::new, |conversation| {
                played::part(conversation, note.sense, note.is_heard)
            });
            if matches!(note.sense, Sense::Before(_)) {
                return head_and_body(at, mark, &[part.as_bytes(), b": ", &note.bytes].concat());
            }
            let is_bytes = workload.conversation.as_ref().is_some_and(|it| it.has_bytes());
            let kind = if is_bytes { Kind::Binary } else { Kind::Text };
            (mark, format!("{part}: {}", shown(kind, &note.bytes)))
        }
        Said::Open => ('=', "open".to_owned()),
        Said::Ping(payload) => ('<', format!("ping {}", shown(Kind::Text, payload))),
        Said::Received(kind, payload) => ('<', shown(of(kind), payload)),
        Said::Response(response) => return response_lines(at, response),
        Said::Secured(facts) => ('=', format!("TLS {facts}")),
        Said::Sent(_, payload) if is_http => return head_and_body(at, '>', payload),
        Said::Sent(kind, payload) => ('>', shown(of(kind), payload)),
    };
    line(at, mark, &text)
}

fn response_lines(at: Nanos, response: &Response<'_>) -> String {
    let head = if response.is_first { response.head } else { &[] };
    let mut text = head_and_body(at, '<', head);
    if !response.body.is_empty() {
        text.push_str(&line(at, '<', &shown(Kind::Text, response.body)));
    }
    text
}

/// Returns the lines of a head, and the body after it.
fn head_and_body(at: Nanos, mark: char, bytes: &[u8]) -> String {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
    let (head, body) = (&bytes[..end], bytes.get(end + 4..).unwrap_or_default());
    let lines = head.split(|byte| *byte == b'\n').map(|line| line.trim_ascii_end());
    let lines = lines.filter(|line| !line.is_empty()).chain((!body.is_empty()).then_some(body));
    lines.map(|text| line(at, mark, &shown(Kind::Text, text))).collect()
}

fn line(at: Nanos, mark: char, text: &str) -> String {
    let (ms, us) = (at.0 / 1_000_000, at.0 / 1000 % 1000);
    format!("{ms:>7}.{us:03} ms {mark} {}\n", report::escape(text))
}

/// Shows a message as text, or as bytes in hexadecimal digits; only the beginning of a long one.
fn shown(kind: Kind, payload: &[u8]) -> String {
    let part = &payload[..payload.len().min(SHOWN_MAX)];
    let text = match (kind, std::str::from_utf8(part)) {
        (_, Ok(text)) if kind == Kind::Text || text.chars().all(|letter| !letter.is_control()) => {
            text.to_owned()
        }
        _ => part.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    match payload.len() > part.len() {
        true => format!("{text}… ({} in all)", Bytes(payload.len() as u64)),
        false => text,
    }
}

/// The time to wait for more after the end of stdin.
const WAIT: Nanos = Nanos::from_secs(2);

/// The time to listen for unsolicited messages after the last reply of a conversation.
const LISTENING: Nanos = Nanos::from_millis(200);

/// The most lines that wait to be sent.
const LINES_MAX: usize = 64;

/// The most bytes of a message that are shown.
const SHOWN_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_two_digits_each() {
        for (text, bytes) in [
            ("", Some(&[][..])),
            ("c0 00", Some(&[0xc0, 0])),
            ("FF", Some(&[255])),
            ("f", None),
            ("zz", None),
        ] {
            assert_eq!(unhex(text.as_bytes()).as_deref(), bytes, "{text}");
        }
    }

    #[test]
    fn a_message_is_shown_in_one_line_and_moves_no_terminal() {
        let at = Nanos(1_234_567);
        #[rustfmt::skip]
        let table: [(Said<'_>, &str); _] = [
            (Said::Received(Kind::Text, b"a\nb\x1b[2J"),  "      1.234 ms < a\\nb\\u{1b}[2J\n"),
            (Said::Received(Kind::Binary, b"\x00\xff"),   "      1.234 ms < 00ff\n"),
            (Said::Received(Kind::Binary, b"plain"),      "      1.234 ms < plain\n"),
            (Said::Received(Kind::Text, b"\xff"),         "      1.234 ms < ff\n"),
            (Said::Closed(Some(1000), "bye"),             "      1.234 ms = closed with code 1000 \"bye\"\n"),
            (Said::Sent(Kind::Text, b"hello"),            "      1.234 ms > hello\n"),
        ];
        for (said, expected) in table {
            assert_eq!(lines_of(at, &said, &to("ws://h")), expected);
        }
        let long = vec![b'x'; SHOWN_MAX + 1];
        let text = lines_of(at, &Said::Received(Kind::Text, &long), &to("ws://h"));
        assert!(text.ends_with("x… (4 KiB in all)\n"), "{text}");
    }

    #[test]
    fn a_response_is_shown_with_its_head_once() {
        let head = b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n";
        let part = |is_first| Response {
            status: 200,
            head,
            body: b"data: 1\n\n",
            is_first,
            ends_chunk: false,
            is_last: false,
        };
        let text = |is_first| lines_of(Nanos(0), &Said::Response(part(is_first)), &to("http://h"));
        let body = "      0.000 ms < data: 1\\n\\n\n";
        assert_eq!(text(false), body);
        assert_eq!(
            text(true),
            format!("      0.000 ms < HTTP/1.1 200 OK\n      0.000 ms < A: b\n{body}")
        );
    }

    /// A workload for the server at `url`.
    fn to(url: &str) -> Workload {
        let one = std::num::NonZeroU32::MIN;
        let load = spec::Load::Closed { connections: one, in_flight: one, in_flight_max: None };
        Workload::new("talk", Server::Given(url.parse().unwrap()), load)
    }
}
