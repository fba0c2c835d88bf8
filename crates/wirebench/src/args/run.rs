//! `wirebench run URL`: drives any server.

mod game;
mod tls;

use super::open_loop::{self, Besides, OpenLoop, Step};
use super::outcome::{self, Output};
use super::{Program, values};
use crate::config::{Conflict, Layers, Settings};
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory, FromArgMatches};
use load::{
    Arrival, Closing, Content, Expect, Lifetime, PayloadKind, Phases, Stop, Timeouts, TrueDelay,
    Workload,
};
use run::{Measurement, Order, Peer, Plan, Speech};
use spec::{Carries, Endpoint, Protocol, Scheme};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::{NonZeroU32, NonZeroU64};
use std::str::FromStr;
use units::{Bytes, Nanos, Rate};
use wire::websocket::deflate;

/// As it is typed.
pub(crate) const NAME: &str = "run";

/// Load a server and measure how long its replies take
///
/// Without a rate every connection sends a message and waits for the reply before it sends the next one: a closed loop,
/// which measures round trips. With --rate or --bots messages are due by a schedule: an open loop, which measures
/// response times, from the instant at which a message was due. Replies are held byte for byte against what was sent. A
/// server is asked once before anything is timed.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_help = "`--help` has all options: payloads, short-lived clients, sessions, headers, …",
    after_long_help = super::exit_codes(),
    help_template = super::TEMPLATE,
)]
pub(crate) struct Run {
    /// The server, as in wss://127.0.0.1:8443/echo
    #[arg(value_name = "URL", long_help = url_help())]
    url: Endpoint,
    /// How many connections are held
    #[arg(short, long, value_name = "COUNT", default_value = "50", value_parser = values::count)]
    connections: NonZeroU32,
    /// How long to measure
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = values::some_time)]
    duration: Nanos,
    /// How many messages to measure, in place of a time
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = values::large_count)]
    messages: Option<NonZeroU64>,
    #[command(flatten)]
    open_loop: OpenLoop,
    /// How long each message is
    ///
    /// Its content is of a --payload-kind, and follows from the seed.
    #[arg(long, value_name = "SIZE", default_value = "64B", value_parser = values::size)]
    size: Bytes,
    /// What each message is, in place of random content
    ///
    /// `@FILE` is what the file holds, `@-` what stdin does; a text that begins with `@` is written `@@…`.
    /// Over WebSocket a text is sent as text and a file as binary, unless --text or --binary says otherwise.
    #[arg(long, value_name = "TEXT|@FILE", hide_short_help = true)]
    payload: Option<String>,
    /// What is generated, and how well that compresses
    ///
    /// Over WebSocket json and text are sent as text, unless --binary says otherwise. With --deflate messages are many
    /// different ones in turn, so that none is met again within what a compressor remembers.
    #[arg(long, value_name = "KIND", default_value = "random", value_parser = payload_kind(), hide_short_help = true)]
    payload_kind: PayloadKind,
    /// Compress WebSocket messages (permessage-deflate, RFC 7692), with PARAMS as in RFC 7692
    ///
    /// PARAMS are any of server_no_context_takeover, client_no_context_takeover, server_max_window_bits=8..15 and
    /// client_max_window_bits[=9..15], with commas between, and level=1..9, which is ours alone and not sent. Every
    /// message is compressed, also a short one. A server that does not agree ends the run.
    #[arg(long, value_name = "PARAMS", num_args = 0..=1, require_equals = true, default_missing_value = "", hide_short_help = true)]
    deflate: Option<deflate::Offer>,
    /// Send WebSocket messages as text
    #[arg(long, hide_short_help = true)]
    text: bool,
    /// Send WebSocket messages as binary
    #[arg(long, hide_short_help = true)]
    binary: bool,
    /// How many messages are in flight on each connection
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = values::in_flight, hide_short_help = true)]
    in_flight: NonZeroU32,
    /// How many messages are in flight on all connections together [default: no bound]
    ///
    /// With many connections and few messages in flight the connections take turns of 32 messages. In an open loop: how
    /// many may be outstanding, that is due and neither answered nor given up; what is due beyond that is not sent, and
    /// counted as unsent. By default that is what would be outstanding if the server fell silent for as long as
    /// --timeout allows, at least one for each connection, and at most 1 Mi.
    #[arg(long, value_name = "COUNT", value_parser = values::count, hide_short_help = true)]
    in_flight_max: Option<NonZeroU32>,
    /// How long to look for replies again and again before sleeping
    ///
    /// Spares a server on the same machine the CPU time of waking us, and costs ours: for servers on other cores.
    #[arg(long, value_name = "TIME", default_value = "0s", hide_short_help = true)]
    busy_poll: Nanos,
    /// Short-lived clients: how many in all
    ///
    /// Each connects, makes its --round-trips, and closes; --concurrency of them at the same time. With --duration in
    /// place of --clients there is no end to them before that.
    #[arg(long, value_name = "COUNT", value_parser = values::count, hide_short_help = true)]
    clients: Option<NonZeroU32>,
    /// Short-lived clients: how many at the same time [default: 10]
    #[arg(long, value_name = "COUNT", value_parser = values::count, hide_short_help = true)]
    concurrency: Option<NonZeroU32>,
    /// Short-lived clients: how many round trips each makes [default: 1]
    #[arg(long, value_name = "COUNT", value_parser = values::count, hide_short_help = true)]
    round_trips: Option<NonZeroU32>,
    /// How WebSocket connections are ended
    #[arg(
        long,
        value_name = "HOW",
        value_enum,
        default_value = "complete",
        hide_short_help = true
    )]
    close: Close,
    /// One more header field for HTTP and WebSocket, e.g. `Origin: http://a.example`; repeatable
    ///
    /// `@FILE` is a file with one field on each line: the place for secrets, which a command line shows to everyone who
    /// lists processes. Values of headers are never recorded.
    #[arg(short = 'H', long, value_name = "NAME: VALUE|@FILE", hide_short_help = true)]
    header: Vec<String>,
    /// Offer a WebSocket subprotocol; repeatable, the best first
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    subprotocol: Vec<String>,
    /// The method of HTTP requests [default: POST]
    ///
    /// GET and HEAD send no body, and any answer of the 2xx kind counts as a reply unless --expect says more.
    #[arg(long, value_name = "METHOD", hide_short_help = true)]
    method: Option<String>,
    /// What each reply must be [default: what was sent]
    ///
    /// `@FILE` is what the file holds. On tcp:// and unix:// its length is the length of a reply.
    #[arg(long, value_name = "TEXT|@FILE", hide_short_help = true)]
    expect: Option<String>,
    /// How many connections are opened a second at most [default: as fast as it goes]
    #[arg(long, value_name = "RATE", hide_short_help = true)]
    connect_rate: Option<Rate>,
    /// Where connections come from: an address of this machine, or a range A-B; repeatable
    ///
    /// Connections take turns with the addresses. Without it the system chooses; towards 127.0.0.1 connections come
    /// from as many loopback addresses as their ports make necessary.
    #[arg(long, value_name = "ADDRESS|A-B", hide_short_help = true)]
    source_ip: Vec<SourceRange>,
    /// How many threads send
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = values::threads, hide_short_help = true)]
    threads: NonZeroU32,
    /// How long messages are exchanged before any is measured; none with --messages or --clients
    #[arg(long, value_name = "TIME", default_value = "1s", hide_short_help = true)]
    warm_up: Nanos,
    /// How long a name, a connection, a handshake, a reply and a close may take, each
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = values::some_time, hide_short_help = true)]
    timeout: Nanos,
    /// How long replies are awaited after the last message was sent
    #[arg(long, value_name = "TIME", default_value = "1s", hide_short_help = true)]
    drain: Nanos,
    /// What payload, mask keys and handshake keys follow from [default: from the clock]
    #[arg(long, value_name = "NUMBER", hide_short_help = true)]
    seed: Option<u64>,
    /// Load a public address; do so only with those that are yours to load
    #[arg(long, hide_short_help = true)]
    i_may_load_this_target: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    game: game::Game,
    #[command(flatten)]
    tls: tls::Tls,
}

/// How WebSocket connections are ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Close {
    /// By the closing handshake: the server's answer is awaited
    Complete,
    /// Right behind our own Close, as clients do that leave
    AtOnce,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench ws://127.0.0.1:8080 --rate 2000/s -c 100 -d 30s     an open loop
  wirebench ws://127.0.0.1:8080 --bots 1k,2k,5k --every 1s      three of them
  wirebench http://127.0.0.1:8080/echo --size 4KiB --json       a closed loop";

/// Which options exclude each other.
pub(crate) fn conflicts() -> Vec<Conflict> {
    [CONFLICTS, open_loop::CONFLICTS, game::CONFLICTS, tls::CONFLICTS].concat()
}

/// Those besides the ones of open loops.
#[rustfmt::skip]
const CONFLICTS: &[Conflict] = &[
    Conflict { between: ["duration", "messages"],    cure: "a run ends after a time or after so many messages; leave one out" },
    Conflict { between: ["duration", "clients"],     cure: "a run ends after a time or after so many clients; leave one out" },
    Conflict { between: ["messages", "clients"],     cure: "clients send --round-trips messages each; leave --messages out" },
    Conflict { between: ["messages", "concurrency"], cure: "short-lived clients are counted by --clients, not by their messages" },
    Conflict { between: ["messages", "round-trips"], cure: "short-lived clients are counted by --clients, not by their messages" },
    Conflict { between: ["connections", "clients"],     cure: "--concurrency says how many short-lived clients there are at the same time" },
    Conflict { between: ["connections", "concurrency"], cure: "--concurrency is for short-lived clients, --connections for lasting ones; leave one out" },
    Conflict { between: ["connections", "round-trips"], cure: "--round-trips is for short-lived clients, and --concurrency says how many there are at the same time" },
    Conflict { between: ["warm-up", "clients"],      cure: "all of so many clients are measured; leave --warm-up out, or --duration in place of --clients" },
    Conflict { between: ["size", "payload"],         cure: "a payload has its own size; leave one out" },
    Conflict { between: ["payload-kind", "payload"], cure: "a payload is what it is; leave one out" },
    Conflict { between: ["text", "binary"],          cure: "messages are one or the other; leave one out" },
];

impl Run {
    /// Measures the server, keeps the record, shows it.
    pub(crate) fn run(self, settings: &Settings, terminal: &Terminal) -> Result<Exit, Failure> {
        let seed = values::seed_or_clock(self.seed);
        let plan = self.plan(settings, seed).map_err(Failure::usage)?;
        let repeat = outcome::Repeat::new(NAME, Some(self.url.to_string()), settings, seed);
        outcome::carry_out(&plan, record::Kind::Run, &repeat, &self.output, terminal)
    }

    /// What is to be done; whatever makes no sense together is an error that says what would.
    fn plan(&self, settings: &Settings, seed: u64) -> Result<Plan, String> {
        let speech = self.speech()?;
        self.check_game(settings)?;
        let payload = self.payload(settings, &speech, seed)?;
        let expect = self.expectation(&speech)?;
        let sources = self.sources()?;
        let timeout = self.timeout;
        let measurement = |step: Step| Measurement {
            name: step.name.unwrap_or_else(|| self.url.to_string()),
            peer: Peer::Given(self.url.clone()),
            reply: None,
            client: None,
            baseline: None,
            speech: speech.clone(),
            workload: Workload {
                connections: step.connections,
                connect_rate: self.connect_rate,
                lifetime: step.lifetime,
                closing: self.closing(),
                arrival: step.arrival,
                expect: expect.clone(),
                content: payload.content.clone(),
                phases: self.phases(settings),
                timeouts: Timeouts::all(timeout),
                last_replies: self.game.last_replies,
                seed,
            },
            content_source: payload.source.clone(),
            payload_kind: payload.kind,
            threads: self.threads,
            sources: sources.clone(),
            busy_poll: self.busy_poll,
        };
        Ok(Plan {
            measurements: self.steps(settings)?.into_iter().map(measurement).collect(),
            rounds: 1,
            order: Order::AsListed,
            baseline: None,
            layers: Vec::new(),
            seed,
            public_allowed: self.i_may_load_this_target,
            jit_warm_up_max: Plan::JIT_WARM_UP_MAX,
        })
    }

    /// How connections are ended.
    fn closing(&self) -> Closing {
        match self.close {
            Close::Complete => Closing::Complete,
            Close::AtOnce => Closing::AtOnce,
        }
    }

    /// When messages are sent, and on what: by a schedule, or else as soon as replies come.
    fn steps(&self, settings: &Settings) -> Result<Vec<Step>, String> {
        let besides = Besides {
            connections: self.connections,
            in_flight_max: self.in_flight_max,
            duration: self.duration,
            timeout: self.timeout,
        };
        let steps = self.open_loop.steps(settings, besides)?;
        if !steps.is_empty() {
            return Ok(steps);
        }
        let (lifetime, connections) = self.lives();
        Ok(vec![Step { name: None, connections, lifetime, arrival: self.closed_loop()? }])
    }

    /// How long connections of a closed loop live, and how many there are at a time.
    fn lives(&self) -> (Lifetime, NonZeroU32) {
        if self.clients.is_none() && self.concurrency.is_none() && self.round_trips.is_none() {
            return (Lifetime::Long, self.connections);
        }
        let round_trips = self.round_trips.unwrap_or(NonZeroU32::MIN);
        (Lifetime::RoundTrips(round_trips), self.concurrency.unwrap_or(CONCURRENCY_USUAL))
    }

    fn closed_loop(&self) -> Result<Arrival, String> {
        let Self { in_flight, in_flight_max, .. } = *self;
        let scheme = self.url.scheme();
        if scheme.protocol == Protocol::Http && in_flight > NonZeroU32::MIN {
            return Err(format!(
                "--in-flight {in_flight} is not possible over {scheme}://, where a connection carries one request at a \
                 time; use more --connections"
            ));
        }
        Ok(Arrival::Closed { in_flight, in_flight_max })
    }

    /// What is measured, and what comes before and after. Who counts messages or clients wants no others.
    fn phases(&self, settings: &Settings) -> Phases {
        let stop = match (self.messages, self.clients) {
            (Some(messages), _) => Stop::Messages(messages),
            (None, Some(clients)) => Stop::Clients(clients.into()),
            (None, None) => Stop::After(self.duration),
        };
        let is_counted = matches!(stop, Stop::Messages(_) | Stop::Clients(_));
        let no_warm_up = is_counted && !settings.is_set("warm-up");
        let warm_up = if no_warm_up { Nanos::ZERO } else { self.warm_up };
        Phases { warm_up, stop, drain: self.drain }
    }

    /// What is said besides the messages.
    fn speech(&self) -> Result<Speech, String> {
        let scheme = self.url.scheme();
        let speaks_text = scheme.facts().carries.has_text();
        let is_websocket = scheme.facts().over_websocket;
        let is_http = scheme.protocol == Protocol::Http;
        let has_headers = scheme.facts().path.is_some();
        let websocket = "ws:// and wss://, and what travels over them";
        #[rustfmt::skip]
        let all = [
            ("--header",      "schemes over HTTP and WebSocket", !has_headers && !self.header.is_empty()),
            ("--subprotocol", websocket, !is_websocket && !self.subprotocol.is_empty()),
            ("--deflate",     websocket, !is_websocket && self.deflate.is_some()),
            ("--close",       websocket, !is_websocket && self.close == Close::AtOnce),
            ("--text",        websocket, !speaks_text && self.text),
            ("--method",      "http:// and https://", !is_http && self.method.is_some()),
        ];
        if scheme.facts().carries.is_text() && self.binary {
            return Err(format!(
                "--binary is not possible over {scheme}://, where messages are text; leave it out, or use ws://"
            ));
        }
        for (option, schemes, is_misplaced) in all {
            if is_misplaced {
                return Err(format!(
                    "{option} means nothing to {scheme}://, only to {schemes}; leave it out"
                ));
            }
        }
        let mut headers = Vec::new();
        for text in &self.header {
            if let Some(path) = text.strip_prefix('@') {
                headers.extend(headers_of_file(path)?);
            } else {
                headers.push(header(text).map_err(|problem| format!("--header: {problem}"))?);
            }
        }
        let method = self.method.as_ref().map_or("POST", |method| method);
        Ok(Speech {
            method: method.to_ascii_uppercase(),
            headers,
            subprotocols: self.subprotocol.clone(),
            deflate: self.deflate.clone(),
            tls: self.tls.speak(&self.url)?,
            bots: self.game.bots(scheme)?,
            ..Speech::default()
        })
    }

    /// That nothing is asked of bots which their game decides.
    fn check_game(&self, settings: &Settings) -> Result<(), String> {
        let scheme = self.url.scheme();
        let decided =
            ["payload", "payload-kind", "size", "text", "binary", "expect", "oracle", "codec"];
        match decided
            .into_iter()
            .find(|it| scheme.facts().carries == Carries::Events && settings.is_flag(it))
        {
            None => Ok(()),
            Some(option) => Err(format!(
                "--{option} means nothing to {scheme}://, where each message is an event of the game, and its reply what \
                 the game makes of it; leave it out"
            )),
        }
    }

    /// What messages hold.
    fn payload(&self, settings: &Settings, speech: &Speech, seed: u64) -> Result<Payload, String> {
        let scheme = self.url.scheme();
        if scheme.facts().carries == Carries::Events {
            let (content, source) = self.game.event();
            return Ok(Payload { content, source, kind: None });
        }
        if scheme.protocol == Protocol::Http && has_no_body(&speech.method) {
            let method = &speech.method;
            if self.open_loop.oracle {
                return Err(format!(
                    "--oracle needs messages, and --method {method} has no body; leave one out"
                ));
            }
            let set =
                ["payload", "payload-kind", "size"].into_iter().find(|it| settings.is_set(it));
            if let Some(option) = set {
                return Err(format!(
                    "--{option} cannot be sent with --method {method}, which has no body; leave one out"
                ));
            }
            return Ok(Payload {
                content: Content::exactly(b"", false),
                source: "none".to_owned(),
                kind: None,
            });
        }
        let payload = match &self.payload {
            None => {
                self.game.packet(scheme, None)?;
                self.generated(seed)
            }
            Some(typed) => {
                let bytes =
                    values::bytes(typed).map_err(|problem| format!("--payload: {problem}"))?;
                let is_file = typed.starts_with('@') && !typed.starts_with("@@");
                let as_text = scheme.facts().carries.is_text()
                    || scheme.facts().carries.has_text() && !self.binary && (self.text || !is_file);
                if as_text && std::str::from_utf8(&bytes).is_err() {
                    let cure = match scheme.facts().carries.is_text() {
                        true => format!("over {scheme}:// messages are text"),
                        false => "use --binary".to_owned(),
                    };
                    return Err(format!("--payload {typed} is not UTF-8, and text is; {cure}"));
                }
                let packet = self.game.packet(scheme, Some(&bytes))?;
                let packed = if packet.is_some() { ", packed by --codec" } else { "" };
                let content = packet.unwrap_or_else(|| Content::exactly(&bytes, as_text));
                Payload { content, source: format!("--payload {typed}{packed}"), kind: None }
            }
        };
        if payload.content.payload().is_empty() && scheme.facts().carries == Carries::Bytes {
            return Err(format!(
                "a message of 0 bytes cannot be seen on {scheme}://; use tcp-framed://, or a --size from 1 B on"
            ));
        }
        if payload.content.payload().is_empty() && scheme.protocol == Protocol::Styx {
            return Err(format!(
                "a packet of {scheme}:// has a class id at least; use a --size from 1 B on"
            ));
        }
        if !self.open_loop.oracle {
            return Ok(payload);
        }
        let content = payload.content.for_oracle().ok_or_else(|| {
            let needed = TrueDelay::span(payload.content.is_text()).end;
            format!(
                "--oracle needs {needed} bytes of a message for itself; use a --size from {needed}B on, and neither \
                 --payload nor --payload-kind json"
            )
        })?;
        Ok(Payload { content, ..payload })
    }

    /// What is made of the seed, for lack of a payload.
    fn generated(&self, seed: u64) -> Payload {
        let kind = self.payload_kind;
        // Without compression it does not matter what came before, and one message is easier on caches.
        let content = match self.deflate {
            Some(_) => Content::varied(kind, self.size, seed),
            None => Content::generated(kind, self.size, seed),
        };
        let scheme = self.url.scheme();
        let as_text = self.text
            || scheme.facts().carries.is_text()
            || (kind.is_text() && scheme.facts().carries.has_text() && !self.binary);
        let content = if as_text { content.as_text() } else { content.as_binary() };
        let what = match kind {
            PayloadKind::Random if as_text => "random text",
            PayloadKind::Random => "random bytes",
            PayloadKind::Zero | PayloadKind::Json | PayloadKind::Text => kind.name(),
        };
        Payload { content, source: format!("{what}, from seed {seed}"), kind: Some(kind) }
    }

    /// What replies must be.
    fn expectation(&self, speech: &Speech) -> Result<Expect, String> {
        let scheme = self.url.scheme();
        let method = (scheme.protocol == Protocol::Http).then_some(speech.method.as_str());
        if scheme.facts().carries == Carries::Events {
            return Ok(Expect::InSequence);
        }
        let Some(typed) = &self.expect else {
            return Ok(match method {
                Some(method) if has_no_body(method) => Expect::Anything,
                Some(_) | None if self.open_loop.oracle => Expect::Oracle,
                Some(_) | None => Expect::Echo,
            });
        };
        if method == Some("HEAD") {
            return Err(
                "--expect cannot be met with --method HEAD, whose replies are empty; use GET"
                    .to_owned(),
            );
        }
        let reply = values::bytes(typed).map_err(|problem| format!("--expect: {problem}"))?;
        if reply.is_empty() && scheme.facts().carries == Carries::Bytes {
            return Err(format!("a reply of 0 bytes cannot be seen on {scheme}://; --expect more"));
        }
        Ok(Expect::Exactly(reply.into()))
    }

    /// The addresses that connections come from.
    fn sources(&self) -> Result<Vec<IpAddr>, String> {
        if self.url.scheme() == Protocol::Unix.plain() && !self.source_ip.is_empty() {
            return Err(
                "--source-ip means nothing to unix://, which has no addresses; leave it out"
                    .to_owned(),
            );
        }
        let sources: Vec<IpAddr> = self.source_ip.iter().flat_map(SourceRange::addresses).collect();
        if sources.len() > SOURCES_MAX {
            return Err(format!(
                "--source-ip: {} addresses are too many; at most {SOURCES_MAX} are used",
                sources.len()
            ));
        }
        Ok(sources)
    }
}

/// The long help of URL, with every scheme.
fn url_help() -> String {
    format!(
        "The server, as in wss://127.0.0.1:8443/echo\n\nThe protocols, without TLS and inside TLS:\n{}\
         A connection to a game server is a bot that logs in, sits down at a table and plays.",
        Scheme::help()
    )
}

/// The one measurement of `wirebench run` with these words as its arguments.
pub(super) fn measurement(words: &[String]) -> Result<Measurement, String> {
    let program = Program::command();
    let words = ["wirebench", NAME].into_iter().chain(words.iter().map(String::as_str));
    let told = |error: clap::Error| error.render().to_string().trim_end().to_owned();
    let matches = program.clone().try_get_matches_from(words).map_err(told)?;
    let given = matches.subcommand_matches(NAME).expect("it was named");
    let command = program.find_subcommand(NAME).expect("it is there");
    let settings = Layers::default().settle(command, given, &conflicts());
    let settings = settings.map_err(|failure| failure.to_string())?;
    let run = Run::from_arg_matches(given).map_err(told)?;
    // Its own seed, of which the caller says something.
    let seed = values::seed_or_clock(run.seed);
    let mut all = run.plan(&settings, seed)?.measurements;
    match all.len() {
        1 => Ok(all.remove(0)),
        count => Err(format!("{count} measurements in place of one")),
    }
}

/// What messages hold, and where that came from.
struct Payload {
    content: Content,
    source: String,
    /// What was generated, if it was.
    kind: Option<PayloadKind>,
}

/// Whether requests of this method have no body.
fn has_no_body(method: &str) -> bool {
    matches!(method, "GET" | "HEAD")
}

/// Reads `Name: value`. A line end in it would let one field become several.
fn header(text: &str) -> Result<(String, String), String> {
    if let Some(control) = text.chars().find(|letter| letter.is_control() && *letter != '\t') {
        return Err(format!("a header field cannot have `{}` in it", control.escape_default()));
    }
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| format!("`{text}` has no colon; a header field is `Name: value`"))?;
    if name.is_empty() || name.contains([' ', '\t']) {
        return Err(format!("`{name}` is not the name of a header field"));
    }
    Ok((name.to_owned(), value.trim_matches([' ', '\t']).to_owned()))
}

fn headers_of_file(path: &str) -> Result<Vec<(String, String)>, String> {
    let problem = |problem: String| format!("--header @{path}: {problem}");
    let bytes = values::bytes(&format!("@{path}")).map_err(problem)?;
    let text = String::from_utf8(bytes).map_err(|_| problem("is not UTF-8".to_owned()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            // The line itself may be a secret.
            header(line).map_err(|_| problem(format!("line {} is not `Name: value`", index + 1)))
        })
        .collect()
}

/// One source address, or all from one to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SourceRange {
    V4(Ipv4Addr, Ipv4Addr),
    V6(Ipv6Addr, Ipv6Addr),
}

impl SourceRange {
    fn addresses(&self) -> impl Iterator<Item = IpAddr> + use<> {
        let (v4, v6) = match *self {
            Self::V4(first, last) => (Some(u32::from(first)..=u32::from(last)), None),
            Self::V6(first, last) => (None, Some(u128::from(first)..=u128::from(last))),
        };
        let v4 = v4.into_iter().flatten().map(|bits| IpAddr::V4(bits.into()));
        let v6 = v6.into_iter().flatten().map(|bits| IpAddr::V6(bits.into()));
        // One more than are used, so that too many are seen to be too many.
        v4.chain(v6).take(SOURCES_MAX + 1)
    }
}

impl FromStr for SourceRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = |text: &str| {
            text.parse::<IpAddr>().map_err(|_| {
                format!("`{text}` is not an address; try 127.0.0.2, or 127.0.0.2-127.0.0.9")
            })
        };
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (address(first)?, address(last)?) {
            (first, last) if first.is_ipv4() == last.is_ipv4() && first > last => {
                Err(format!("`{text}` goes backwards; did you mean {last}-{first}?"))
            }
            (IpAddr::V4(first), IpAddr::V4(last)) => Ok(Self::V4(first, last)),
            (IpAddr::V6(first), IpAddr::V6(last)) => Ok(Self::V6(first, last)),
            _ => Err(format!("`{text}` begins in one family of addresses and ends in another")),
        }
    }
}

/// The name of a kind of payload.
fn payload_kind() -> impl TypedValueParser<Value = PayloadKind> {
    let about = |kind| match kind {
        PayloadKind::Zero => "zeros, of which nothing remains",
        PayloadKind::Json => "records as a game sends them, as JSON",
        PayloadKind::Text => "words, as frequent as in a language",
        PayloadKind::Random => "bytes that no compression makes smaller",
    };
    let value = |kind: PayloadKind| PossibleValue::new(kind.name()).help(about(kind));
    PossibleValuesParser::new(PayloadKind::ALL.map(value)).try_map(|name| name.parse())
}

/// Short-lived clients at the same time.
const CONCURRENCY_USUAL: NonZeroU32 = NonZeroU32::new(10).expect("it is not zero");

/// More source addresses have more ports than a machine has memory for connections.
const SOURCES_MAX: usize = 65_536;

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::args::{Program, Subcommand};
    use crate::config::Layers;
    use clap::{CommandFactory, FromArgMatches};

    /// The plan of `wirebench run` with `line` as its arguments.
    pub(in crate::args) fn plan(line: &str) -> Result<Plan, String> {
        let program = Program::command();
        let words = ["wirebench", "run"].into_iter().chain(line.split(' '));
        let matches = program.clone().try_get_matches_from(words).unwrap();
        let command = program.find_subcommand(NAME).unwrap();
        let given = matches.subcommand_matches(NAME).unwrap();
        let settings = Layers::default().settle(command, given, &conflicts()).unwrap();
        let Subcommand::Run(run) = Program::from_arg_matches(&matches).unwrap().command else {
            panic!("{line} is not a run");
        };
        run.plan(&settings, 7)
    }

    fn workload(line: &str) -> Workload {
        plan(line).unwrap().measurements.remove(0).workload
    }

    #[test]
    fn a_run_ends_after_a_time_or_after_so_many_messages_or_clients() {
        let long = Lifetime::Long;
        let short = |round_trips| Lifetime::RoundTrips(NonZeroU32::new(round_trips).unwrap());
        let messages = |count| Stop::Messages(NonZeroU64::new(count).unwrap());
        let clients = |count| Stop::Clients(NonZeroU64::new(count).unwrap());
        let seconds = |count| Stop::After(Nanos::from_secs(count));
        #[rustfmt::skip]
        let table = [
            // options,                                    lifetime, connections, stop,       warm-up in ms
            ("ws://h",                                     long,     50, seconds(10),   1000),
            ("ws://h -c 3 -d 2s --warm-up 0s",             long,      3, seconds(2),       0),
            ("ws://h -n 5",                                long,     50, messages(5),      0),
            ("ws://h -n 5 --warm-up 1ms",                  long,     50, messages(5),      1),
            ("ws://h --clients 20k",                       short(1), 10, clients(20_000),  0),
            ("ws://h --clients 9 --concurrency 2 --round-trips 5", short(5), 2, clients(9), 0),
            ("ws://h --round-trips 5",                     short(5), 10, seconds(10),   1000),
            ("ws://h --concurrency 5 -d 3s",               short(1),  5, seconds(3),    1000),
        ];
        for (line, lifetime, connections, stop, warm_up) in table {
            let found = workload(line);
            assert_eq!(
                (found.lifetime, found.connections.get()),
                (lifetime, connections),
                "{line}"
            );
            assert_eq!(found.phases.stop, stop, "{line}");
            assert_eq!(found.phases.warm_up, Nanos::from_millis(warm_up), "{line}");
        }
    }

    #[test]
    fn messages_are_what_was_asked_for() {
        #[rustfmt::skip]
        let table: [(&str, usize, bool, Expect); 16] = [
            // options,                    length, text,  the reply
            ("ws://h",                         64, false, Expect::Echo),
            ("ws://h --text --size 1KiB",    1024, true,  Expect::Echo),
            ("ws://h --payload Ping",           4, true,  Expect::Echo),
            ("ws://h --payload Ping --binary",  4, false, Expect::Echo),
            ("tcp://h:1 --payload Ping",        4, false, Expect::Echo),
            ("tcp-framed://h:1 --size 0",       0, false, Expect::Echo),
            ("ws://h --payload Ping --expect Pong", 4, true, Expect::Exactly(b"Pong".as_slice().into())),
            ("http://h --method GET",           0, false, Expect::Anything),
            ("https://h --method GET --insecure", 0, false, Expect::Anything),
            ("ws://h --payload-kind json",     64, true,  Expect::Echo),
            ("ws://h --payload-kind text --binary", 64, false, Expect::Echo),
            ("http://h --payload-kind text",   64, false, Expect::Echo),
            ("ws://h --payload-kind zero",     64, false, Expect::Echo),
            ("ws://h --payload-kind zero --text", 64, true, Expect::Echo),
            ("wss://h --insecure --deflate --payload-kind json --size 1KiB", 1024, true, Expect::Echo),
            ("http://h --method GET --expect x", 0, false, Expect::Exactly(b"x".as_slice().into())),
        ];
        for (line, len, text, expect) in table {
            let found = workload(line);
            let content = (found.content.payload().len(), found.content.is_text());
            assert_eq!(content, (len, text), "{line}");
            assert_eq!(found.expect, expect, "{line}");
        }
    }

    #[test]
    fn messages_vary_where_they_are_compressed() {
        let count = |line: &str| workload(line).content.count();
        assert_eq!(count("ws://h --size 1KiB --payload-kind json"), 1);
        assert_eq!(count("ws://h --size 1KiB --payload-kind json --deflate"), 65);
        assert_eq!(count("ws://h --size 1KiB --deflate=level=1"), 65);
    }

    #[test]
    fn what_is_said_of_tls_and_compression_reaches_the_plan() {
        let speech = |line: &str| plan(line).unwrap().measurements.remove(0).speech;
        let plain = speech("ws://h");
        assert!(plain.tls.is_none() && plain.deflate.is_none());
        assert_eq!(speech("ws://h --deflate").deflate, Some(deflate::Offer::default()));
        let offer =
            speech("wss://h --insecure --deflate=client_max_window_bits=12,level=1").deflate;
        let offer = offer.unwrap();
        assert_eq!((offer.client_max_window_bits, offer.level), (Some(Some(12)), 1));

        let usual = speech("wss://h --insecure").tls.unwrap();
        assert_eq!(usual.options.alpn, ["http/1.1"]);
        assert!(usual.options.resumption && usual.options.versions.is_empty());
        assert!(matches!(usual.options.trust, wire::tls::Trust::Anyone));
        let tls = speech(
            "tls://h:1 --insecure --tls-version 1.2 --tls-resumption none --alpn a --alpn b --server-name x",
        );
        let tls = tls.tls.unwrap();
        assert_eq!(tls.options.versions, [wire::tls::Version::Tls12]);
        assert_eq!(tls.options.alpn, ["a", "b"]);
        assert!(!tls.options.resumption);
        assert_eq!(tls.server_name.as_deref(), Some("x"));
    }

    #[test]
    fn source_addresses_are_single_or_ranges() {
        let plan =
            plan("tcp://h:1 --source-ip 127.0.0.2 --source-ip 127.0.0.254-127.0.1.1").unwrap();
        let sources: Vec<String> =
            plan.measurements[0].sources.iter().map(ToString::to_string).collect();
        assert_eq!(sources, ["127.0.0.2", "127.0.0.254", "127.0.0.255", "127.0.1.0", "127.0.1.1"]);
        for (text, problem) in [
            ("localhost", "`localhost` is not an address"),
            ("::1-127.0.0.1", "begins in one family"),
            ("127.0.0.2-127.0.0.1", "did you mean 127.0.0.1-127.0.0.2?"),
        ] {
            assert!(text.parse::<SourceRange>().unwrap_err().contains(problem), "{text}");
        }
    }

    #[test]
    fn header_fields_keep_their_values_and_nothing_that_ends_a_line() {
        let field = |text| header(text).map(|(name, value)| format!("{name}={value}"));
        assert_eq!(field("A: b: c "), Ok("A=b: c".to_owned()));
        assert_eq!(field("A:"), Ok("A=".to_owned()));
        for text in ["A: b\nC: d", "A: b\r", "A: \0", "A", ": b", "A B: c"] {
            assert!(header(text).is_err(), "{text:?}");
        }
    }
}
