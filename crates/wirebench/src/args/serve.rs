//! `wirebench serve`: starts one of the embedded servers by hand. Runs start them in the same way.

mod brokers;
mod game;
mod listening;
mod oracle;
mod relay;
mod tls;

use crate::args::values;
use crate::exit::{Exit, Failure};
use crate::signals;
use crate::terminal::Terminal;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use engine::clock::{self, Clock};
use engine::epoll::Epoll;
use engine::{Address, Engine};
use listening::{cannot_listen, not_an_address};
use serve::{Behaviour, Faults, Handshakes, MisfitError, Patience, Server, Totals};
use spec::{Carries, Endpoint, Facts, Protocol, Scheme};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use units::{Bytes, Nanos};
use wire::websocket::deflate::Accept;
use wire::websocket::handshake;
use wire::{Role, ServerOptions, Stack};

/// Run a server: an echo, an oracle, a relay or a game
///
/// Prints one line, `ready URL`, once it listens (a game server prints three, one for each way in). It ends on SIGINT
/// or SIGTERM, and then prints its totals.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
)]
pub(crate) struct Serve {
    /// Server to run
    #[arg(value_name = "KIND", value_parser = kinds())]
    kind: Kind,
    /// The transport of an oracle or a relay
    #[arg(value_parser = transports())]
    transport: Option<Scheme>,
    /// Address with a port, or a path [default: 127.0.0.1:0; a game 127.0.0.1:4123]
    ///
    /// With port 0 the system chooses a free one. `serve unix` takes the path of the socket.
    #[arg(long, value_name = "ADDRESS|PATH")]
    listen: Option<String>,
    /// The longest message [default: 16MiB; a game 32KiB]
    #[arg(long, value_name = "SIZE", value_parser = message_size)]
    message_max: Option<Bytes>,
    /// Memory for incomplete messages and unread answers; beyond it connections that hold much are ended [default: a
    /// quarter of the machine's, at most 1GiB]
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    memory_max: Option<Bytes>,
    /// Agree to a WebSocket subprotocol; repeatable
    #[arg(long, value_name = "NAME")]
    subprotocol: Vec<String>,
    /// Agree to compress WebSocket messages (RFC 7692)
    ///
    /// Without a value the server accepts whatever the client offers. A value is a list of limits, separated by commas:
    /// server_no_context_takeover, client_no_context_takeover, server_max_window_bits=9..15,
    /// client_max_window_bits=8..15 (declines clients that do not offer to limit theirs), and level=1..9, the effort of
    /// compression.
    #[arg(
        long,
        value_name = "PARAMETERS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    deflate: Option<Accept>,
    /// Answer every message with this text instead of an echo
    ///
    /// The answer is a message of the same kind. Over tcp, tls and unix, where messages have no length, every message
    /// is taken to be as long as this text.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, hide_short_help = true)]
    reply: Option<String>,
    /// Keep the processor busy this long for each message, before its reply is sent
    ///
    /// A computation of known length, on the thread that serves. Over tcp, tls and unix, where messages have no length,
    /// an echo server computes for each read, and an oracle for each message.
    #[arg(long, value_name = "DURATION", hide_short_help = true)]
    work: Option<Nanos>,
    /// Close a connection that takes longer than this to finish what it began [default: 10s]
    ///
    /// A TLS or WebSocket handshake, an HTTP header with its body, or a message. `none` never closes one.
    #[arg(long, value_name = "DURATION", value_parser = values::time_limit, hide_short_help = true)]
    receive_timeout: Option<Nanos>,
    /// Close a connection on which nothing arrives for this long; `none` never closes one [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = values::time_limit, hide_short_help = true)]
    idle_timeout: Option<Nanos>,
    /// Print the totals as JSON
    #[arg(long)]
    json: bool,
    /// Stay on this CPU; of a game's threads, each on its own if there are several, in turn
    #[arg(long, hide = true, value_name = "NUMBER")]
    cpu: Vec<usize>,
    #[command(flatten)]
    tls: tls::Tls,
    #[command(flatten)]
    oracle: oracle::Oracle,
    #[command(flatten)]
    brokers: brokers::Brokers,
    /// Let disconnected Socket.IO clients resume within this time and get what they missed
    ///
    /// The messages of all rooms, and the rooms of such clients, are kept for that: at most 64 MiB together.
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = values::some_time,
        hide_short_help = true,
        help_heading = "The relay"
    )]
    recovery: Option<Nanos>,
    #[command(flatten)]
    game: game::Game,
}

/// The servers that can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The plain server of a transport.
    Echo(Scheme),
    /// The game server.
    Game,
    /// A server whose delays and faults are known.
    Oracle,
    /// Rooms: what one publishes goes to all others.
    Relay,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench serve ws                     on a port that the system chooses
  wirebench serve oracle ws --delay exponential:1ms --drop 1%
  wirebench serve game                   players, tables; on ports 4123 and 8080";

impl Serve {
    /// Listens, prints its URL, serves until a signal arrives, and prints its totals.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        self.settle_down()?;
        let scheme = self.scheme().map_err(Failure::usage)?;
        let address = self.address(scheme).map_err(Failure::usage)?;
        self.check_websocket(scheme).map_err(Failure::usage)?;
        self.check_reply(scheme).map_err(Failure::usage)?;
        self.check_patience().map_err(Failure::usage)?;
        self.check_work().map_err(Failure::usage)?;
        if self.kind == Kind::Game {
            return self.run_game(scheme, address, terminal);
        }
        let options = self.options(scheme).map_err(Failure::usage)?;
        let feeds = self.brokers.feeds(options.message_max).map_err(Failure::usage)?;
        let secure = self.tls.secure(scheme, &address)?;
        let tls = secure.as_ref().map(|secure| secure.server.clone());
        let options = ServerOptions { tls, ..options };
        let stack =
            wire::stack(&url(scheme, &address), Role::Server(&options)).map_err(Failure::usage)?;
        if self.kind == Kind::Oracle {
            self.behaviour().check(&stack).map_err(Failure::usage)?;
        }
        let wish = signals::listen()?;
        let mut engine = Epoll::new(Clock::start()).map_err(anyhow::Error::from)?;
        let address = engine.listen(&address).map_err(|error| cannot_listen(&address, error))?;
        if let Some(secure) = &secure {
            self.tls.publish(secure, terminal)?;
        }
        terminal.result(&format!("ready {}\n", url(scheme, &address)))?;
        if self.kind == Kind::Relay {
            let words = terminal.clone();
            let relay = self.relay(stack, wish.asked);
            let mut relay = relay.with_feeds(feeds, move |line| words.say(line));
            relay.run(&mut engine);
            terminal.result(&self.relay_report(scheme, relay.totals()))?;
            return Ok(Exit::DONE);
        }
        let totals = self.serve(&mut engine, stack, wish.asked).map_err(Failure::usage)?;
        if let Address::Unix(path) = &address {
            std::fs::remove_file(path).ok();
        }
        terminal.result(&self.report(scheme, totals))?;
        Ok(Exit::DONE)
    }

    /// Does the same for the game server, which has two addresses.
    fn run_game(
        self,
        scheme: Scheme,
        binary: Address,
        terminal: &Terminal,
    ) -> Result<Exit, Failure> {
        let wish = signals::listen()?;
        let secure = self.tls.secure(scheme, &binary)?;
        if let Some(secure) = &secure {
            self.tls.publish(secure, terminal)?;
        }
        let engine = Epoll::new(Clock::start()).map_err(anyhow::Error::from)?;
        let (message_max, memory_max) = (self.message_max, self.memory_max());
        let listening = game::Listening { binary, message_max, memory_max, secure, cpus: self.cpu };
        let totals = self.game.run(listening, engine, &wish.asked, terminal)?;
        terminal.result(&game::report(&totals, scheme.tls, self.json))?;
        Ok(Exit::DONE)
    }

    /// Serves until it is asked to stop.
    fn serve(
        &self,
        engine: &mut Epoll,
        stack: Stack,
        stop: Arc<AtomicBool>,
    ) -> Result<Totals, MisfitError> {
        let memory = self.memory_max();
        if self.kind == Kind::Oracle {
            clock::sharpen_timers().ok(); // Blunt timers make it late, and it says how late.
            let oracle = serve::Oracle::new(stack, self.behaviour(), stop)?;
            let mut oracle = oracle.with_memory_max(memory).patient(self.patience());
            oracle.run(engine);
            return Ok(oracle.totals());
        }
        let server = Server::new(stack, stop).with_memory_max(memory);
        let mut server = server.patient(self.patience()).working(self.work.unwrap_or_default());
        if let Some(reply) = &self.reply {
            server = server.replying(reply.as_bytes());
        }
        server.run(engine);
        Ok(server.totals())
    }

    /// The bytes that its connections may hold.
    fn memory_max(&self) -> usize {
        let budget = run::memory_budget(self.memory_max, &probe::machine());
        usize::try_from(budget.0).unwrap_or(usize::MAX)
    }

    /// Pins this thread to the named CPUs.
    fn settle_down(&self) -> anyhow::Result<()> {
        let all = if self.kind == Kind::Game { 1 } else { self.cpu.len() };
        if let Some(cpus @ [_, ..]) = self.cpu.get(..all) {
            probe::pin_current_thread(cpus)?;
        }
        Ok(())
    }

    /// Returns the transport, if the options fit together.
    fn scheme(&self) -> Result<Scheme, String> {
        let shared: &[&str] = if self.kind == Kind::Relay { &["--queue-max"] } else { &[] };
        let of_game = self.game.given_besides(shared);
        if let Some(option) = of_game.filter(|_| self.kind != Kind::Game) {
            return Err(format!(
                "{option} is only for the game server; leave it out, or use serve game"
            ));
        }
        let recovery = self.recovery.map(|_| "--recovery");
        let of_relay = self.brokers.given().or(recovery);
        if let Some(option) = of_relay.filter(|_| self.kind != Kind::Relay) {
            return Err(format!("{option} is only for serve relay; leave it out"));
        }
        match (self.kind, self.transport, self.oracle.given()) {
            (Kind::Relay, ..) => self.relay_scheme(),
            (Kind::Echo(scheme), None, None) => Ok(scheme),
            (Kind::Game, None, None) => Ok(Scheme { tls: self.game.tls, ..Protocol::Game.plain() }),
            (Kind::Echo(_) | Kind::Game, Some(transport), _) => Err(format!(
                "serve {} takes no second transport; leave {transport} out, or use serve oracle {transport}",
                self.kind
            )),
            (Kind::Game, None, Some(option)) => {
                Err(format!("{option} is only for an oracle; leave it out"))
            }
            (Kind::Echo(scheme), None, Some(option)) => Err(format!(
                "{option} is only for an oracle; leave it out, or use serve oracle {scheme}"
            )),
            (Kind::Oracle, Some(transport), _) => Ok(transport),
            (Kind::Oracle, None, _) => {
                let names = Scheme::list(Scheme::echoes());
                Err(format!(
                    "serve oracle needs a transport, as in serve oracle ws; use one of {names}"
                ))
            }
        }
    }

    /// The address to listen on.
    fn address(&self, scheme: Scheme) -> Result<Address, String> {
        let is_unix = scheme.protocol == Protocol::Unix;
        let listen = match &self.listen {
            Some(listen) => listen,
            None if is_unix => {
                return Err("serve unix needs a path: --listen /tmp/echo.sock".to_owned());
            }
            None => {
                let port = if self.kind == Kind::Game { 4123 } else { 0 };
                return Ok(Address::Tcp(SocketAddr::from(([127, 0, 0, 1], port))));
            }
        };
        if is_unix {
            // Parsed like a URL, so that the address can be printed as one.
            let url: Endpoint =
                format!("unix:{listen}").parse().map_err(|error| format!("--listen {error}"))?;
            return match url.address {
                spec::Address::Unix(path) => Ok(Address::Unix(path)),
                spec::Address::Host { .. } => Err("--listen takes a path".to_owned()),
            };
        }
        listen.parse().map(Address::Tcp).map_err(|_| not_an_address("--listen", listen))
    }

    /// Checks that WebSocket options were given only for an echo, oracle or relay over WebSocket.
    fn check_websocket(&self, scheme: Scheme) -> Result<(), String> {
        let of_websocket = [
            ("--subprotocol", !self.subprotocol.is_empty()),
            ("--deflate", self.deflate.is_some()),
        ];
        match of_websocket.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) if scheme.protocol != Protocol::WebSocket => {
                Err(format!("{option} is only for ws and wss; leave it out"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Checks that the server can send the fixed reply.
    fn check_reply(&self, scheme: Scheme) -> Result<(), String> {
        let Some(reply) = &self.reply else { return Ok(()) };
        match self.kind {
            Kind::Game | Kind::Oracle | Kind::Relay => Err(format!(
                "--reply does not apply to serve {}; leave it out, or use serve ws",
                self.kind
            )),
            Kind::Echo(_) if !scheme.facts().carries.may_hold(reply.as_bytes()) => Err(format!(
                "--reply has a line feed in it, which no reply over {scheme} has; leave it out"
            )),
            Kind::Echo(_) if reply.len() < scheme.facts().message_min => Err(format!(
                "--reply: a reply of 0 bytes cannot be seen over {scheme}; use tcp-framed"
            )),
            Kind::Echo(_) => Ok(()),
        }
    }

    /// Checks that no time-out was given to a game server, which has its own.
    fn check_patience(&self) -> Result<(), String> {
        let ours = [
            ("--receive-timeout", self.receive_timeout, "leave it out"),
            ("--idle-timeout", self.idle_timeout, "use --idle"),
        ];
        match ours.into_iter().find(|(_, given, _)| given.is_some()) {
            Some((option, _, cure)) if self.kind == Kind::Game => {
                Err(format!("{option} does not apply to serve game; {cure}"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Checks that no work was given to a relay, or to a game server, whose work is the game.
    fn check_work(&self) -> Result<(), String> {
        match self.work {
            Some(_) if matches!(self.kind, Kind::Game | Kind::Relay) => Err(format!(
                "--work does not apply to serve {}; leave it out, or use serve ws",
                self.kind
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// The behaviour of an oracle.
    fn behaviour(&self) -> Behaviour {
        Behaviour { work: self.work.unwrap_or_default(), ..self.oracle.behaviour() }
    }

    /// The time limits for peers.
    fn patience(&self) -> Patience {
        let usual = Patience::default();
        Patience {
            receive_max: self.receive_timeout.unwrap_or(usual.receive_max),
            idle_max: self.idle_timeout.unwrap_or(usual.idle_max),
        }
    }

    /// The options of the server's side, except TLS.
    fn options(&self, scheme: Scheme) -> Result<ServerOptions, String> {
        let is_cut_here = scheme.facts().carries == Carries::Bytes;
        if !is_cut_here && self.oracle.size.is_some() {
            return Err(format!(
                "--size does not apply to {scheme}, which delimits its messages itself; leave it out"
            ));
        }
        let reply_len = self.reply.as_ref().and_then(|reply| NonZeroUsize::new(reply.len()));
        let message_len = if is_cut_here && self.kind == Kind::Oracle {
            let size = self.oracle.size.unwrap_or(ORACLE_SIZE);
            let len = usize::try_from(size.0).ok().and_then(NonZeroUsize::new);
            Some(len.ok_or("--size 0: a message of no bytes cannot be seen; use tcp-framed")?)
        } else {
            reply_len
        };
        Ok(ServerOptions {
            handshake: handshake::ServerOptions {
                subprotocols: self.subprotocol.clone(),
                deflate: self.deflate.clone(),
            },
            message_max: usize::try_from(self.message_max.unwrap_or(ECHO_MAX).0)
                .unwrap_or(usize::MAX),
            message_len,
            takes_requests: self.kind == Kind::Relay || self.oracle.has_streams(),
            tls: None,
        })
    }

    /// The server's counts, as one line of text or JSON.
    fn report(&self, scheme: Scheme, totals: Totals) -> String {
        let Totals { connections, broken, timed_out, messages, bytes_received, .. } = totals;
        let Totals { bytes_sent, handshakes: Handshakes { full, resumed, failed }, faults, .. } =
            totals;
        let Faults { dropped, duplicated, reordered, refused, pushed, asked, corrupted, .. } =
            faults;
        let Faults { closed, broken_off, leaked_bytes, .. } = faults;
        let is_oracle = self.kind == Kind::Oracle;
        if self.json {
            let mut json = serde_json::json!({
                "connections": connections,
                "broken_connections": broken,
                "timed_out_connections": timed_out,
                "messages": messages,
                "received_bytes": bytes_received,
                "sent_bytes": bytes_sent,
            });
            if scheme.tls {
                json["tls_handshakes"] = serde_json::json!({
                    "full": full,
                    "resumed": resumed,
                    "failed": failed,
                });
            }
            if is_oracle {
                json["faults"] = serde_json::json!({
                    "dropped": dropped,
                    "duplicated": duplicated,
                    "reordered": reordered,
                    "refused": refused,
                    "pushed": pushed,
                    "asked": asked,
                    "corrupted": corrupted,
                    "closed_connections": closed,
                    "broken_off_streams": broken_off,
                    "leaked_bytes": leaked_bytes,
                });
            }
            return format!("{json}\n");
        }
        let handshakes = if scheme.tls {
            format!(", TLS handshakes: {full} full, {resumed} resumed, {failed} failed")
        } else {
            String::new()
        };
        let spoken = if refused + pushed + asked > 0 {
            format!(", {refused} refused, {pushed} pushed, {asked} asked")
        } else {
            String::new()
        };
        let broken_off = match broken_off {
            0 => String::new(),
            _ => format!(", {broken_off} streams broken off"),
        };
        let leaked = match leaked_bytes {
            0 => String::new(),
            _ => format!(", {leaked_bytes} bytes leaked"),
        };
        let faults = if is_oracle {
            format!(
                ", {dropped} dropped, {duplicated} duplicated, {reordered} reordered, \
                 {corrupted} corrupted, {closed} connections closed{broken_off}{spoken}{leaked}"
            )
        } else {
            String::new()
        };
        format!(
            "served {connections} connections ({broken} broke the protocol, {timed_out} timed out), \
             {messages} messages, {bytes_received} bytes in, {bytes_sent} bytes out{handshakes}{faults}\n"
        )
    }
}

/// The URL to pass to `wirebench run`.
fn url(scheme: Scheme, address: &Address) -> Endpoint {
    let address = match address {
        Address::Tcp(address) => (*address).into(),
        Address::Unix(path) => spec::Address::Unix(path.clone()),
    };
    Endpoint::new(scheme, address)
}

fn message_size(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error: units::ParseError| error.to_string())?;
    if size > MESSAGE_MAX {
        return Err(format!("{size} is too large; messages have at most {MESSAGE_MAX}"));
    }
    Ok(size)
}

fn kinds() -> impl TypedValueParser<Value = Kind> {
    let echoes = Scheme::echoes().map(|scheme| {
        let Facts { name, about, .. } = scheme.facts();
        let about = if scheme.tls { format!("{name} inside TLS") } else { (*about).to_owned() };
        PossibleValue::new(scheme.name()).help(about)
    });
    let oracle =
        PossibleValue::new(ORACLE).help("a TRANSPORT with delays and faults that are known");
    let game = PossibleValue::new(GAME).help("tables with players, over Styx, WebSocket and Comet");
    let relay =
        PossibleValue::new(RELAY).help("rooms: what one connection publishes goes to others");
    let kinds: Vec<PossibleValue> = echoes.chain([game, oracle, relay]).collect();
    PossibleValuesParser::new(kinds).try_map(|name| match name.as_str() {
        GAME => Ok(Kind::Game),
        ORACLE => Ok(Kind::Oracle),
        RELAY => Ok(Kind::Relay),
        scheme => scheme.parse().map(Kind::Echo),
    })
}

fn transports() -> impl TypedValueParser<Value = Scheme> {
    PossibleValuesParser::new(Scheme::echoes().map(Scheme::name)).try_map(|name| name.parse())
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Echo(scheme) => scheme.fmt(f),
            Self::Game => f.write_str(GAME),
            Self::Oracle => f.write_str(ORACLE),
            Self::Relay => f.write_str(RELAY),
        }
    }
}

/// The names of the servers as they are typed.
const GAME: &str = "game";
const ORACLE: &str = "oracle";
const RELAY: &str = "relay";

/// The longest message that an echo server answers by default.
const ECHO_MAX: Bytes = Bytes(16 << 20);

/// The length of a message to an oracle without framing, as in a run.
const ORACLE_SIZE: Bytes = Bytes(64);

/// The longest message that a server can be asked to answer; a connection may hold that much.
const MESSAGE_MAX: Bytes = Bytes(1 << 30);
