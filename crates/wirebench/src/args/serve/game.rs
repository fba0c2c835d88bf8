//! `wirebench serve game`: the options of the game server, and how it is run.

mod threads;

use super::listening::{cannot_listen, not_an_address};
use super::tls::Secure;
use crate::args::values;
use crate::exit::Failure;
use crate::terminal::Terminal;
use engine::epoll::Epoll;
use engine::{Address, Engine, Sharing};
use serve::game::world::{self, Flood};
use serve::game::{
    COMET_PATH, Door, GameServer, Options, Packing, SOCKET_PATH, SessionCounts, Totals,
};
use spec::{Protocol, Scheme};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Bytes, Instant, Nanos};

/// The settings of the game server; one that is not given has the server's own default.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The game server")]
pub(super) struct Game {
    /// Listen on this address for browsers and other web clients [default: 127.0.0.1:8080]
    ///
    /// WebSocket is at /socket, Comet (Bayeux long-polling) at /cometd. Binary clients connect to --listen.
    #[arg(long, value_name = "ADDRESS", hide_short_help = true)]
    web: Option<String>,
    /// Use TLS on both addresses
    #[arg(long, hide_short_help = true)]
    pub(super) tls: bool,
    /// The number of tables [default: 1000]
    #[arg(long, value_name = "COUNT", value_parser = tables, hide_short_help = true)]
    tables: Option<NonZeroU32>,
    /// The number of seats at each table [default: 5]
    #[arg(long, value_name = "COUNT", value_parser = seats, hide_short_help = true)]
    seats: Option<NonZeroU32>,
    /// The number of threads; more threads than cores do not help [default: 1]
    ///
    /// The system spreads connections over all threads. The game itself runs in the first one; the others decode what
    /// their players send, pass it on, and encode the answers.
    #[arg(long, value_name = "COUNT", value_parser = values::threads, hide_short_help = true)]
    threads: Option<NonZeroU32>,
    /// Drop a player, or a receiver of a relay, with more unsent bytes than this [default: 256KiB; a relay 1MiB]
    ///
    /// The player is treated as disconnected, so that nobody waits for a slow one. For a Comet client this includes
    /// what waits for its next connect request.
    #[arg(long, value_name = "SIZE", value_parser = values::size, hide_short_help = true)]
    pub(super) queue_max: Option<Bytes>,
    /// Log out a player who is silent for this long; pinged after a third of it [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = values::some_time, hide_short_help = true)]
    idle: Option<Nanos>,
    /// Keep the seats of a disconnected player for this long [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = values::some_time, hide_short_help = true)]
    away: Option<Nanos>,
    /// Answer a Comet client's connect request after this long if there is no news [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = values::some_time, hide_short_help = true)]
    comet_hold: Option<Nanos>,
    /// Drop a Comet client that has no connect request open for this long [default: 10s]
    ///
    /// The original server, which this one imitates, had 5s.
    #[arg(long, value_name = "DURATION", value_parser = values::some_time, hide_short_help = true)]
    comet_away: Option<Nanos>,
    /// End a connection that sends more packets than this per second [default: 10000]
    #[arg(long, value_name = "COUNT", value_parser = values::count, hide_short_help = true)]
    flood: Option<NonZeroU32>,
    /// Send changes of the lobby this often [default: 250ms]
    #[arg(long, value_name = "DURATION", value_parser = values::some_time, hide_short_help = true)]
    lobby_period: Option<Nanos>,
    /// Print statistics this often
    #[arg(long, value_name = "DURATION", value_parser = values::some_time, hide_short_help = true)]
    stats_every: Option<Nanos>,
}

impl Game {
    /// Listens, prints the addresses, serves until a signal stops it, and returns the totals.
    pub(super) fn run(
        &self,
        listening: Listening,
        mut engine: Epoll,
        stop: &Arc<AtomicBool>,
        terminal: &Terminal,
    ) -> Result<Totals, Failure> {
        let Listening { binary, message_max, memory_max, secure, cpus } = listening;
        let web = self.web_address().map_err(Failure::usage)?;
        let fronts = self.threads.map_or(0, |threads| threads.get() - 1);
        let sharing = if fronts == 0 { Sharing::Alone } else { Sharing::First };
        let mut listen = |address: &Address| {
            let got = engine.listen_shared(address, sharing);
            got.map_err(|error| cannot_listen(address, error))
        };
        let (binary, web) = (listen(&binary)?, listen(&web)?);
        let places = [(&binary, ""), (&web, SOCKET_PATH), (&web, COMET_PATH)];
        let ready: String = DOORS
            .map(|protocol| Scheme { tls: self.tls, ..protocol.plain() })
            .into_iter()
            .zip(places)
            .map(|(scheme, (address, path))| format!("ready {scheme}://{address}{path}\n"))
            .collect();
        let tls = secure.map(|secure| secure.server);
        let options = self.options(message_max, tls);
        let share = memory_max / (fronts as usize + 1);
        let mut server = GameServer::new(options.clone(), Arc::clone(stop)).with_memory_max(share);
        let plan = threads::Plan { doors: [binary, web], options, memory_max: share, cpus, stop };
        let fronts = threads::start(fronts, &plan, &mut engine)?;
        terminal.result(&ready)?;
        self.serve(&mut engine, &mut server, stop, terminal);
        fronts.end(server.totals())
    }

    /// Runs the server, and prints statistics if they were asked for.
    fn serve(
        &self,
        engine: &mut Epoll,
        server: &mut GameServer,
        stop: &AtomicBool,
        terminal: &Terminal,
    ) {
        let Some(every) = self.stats_every else { return server.run(engine) };
        let mut before = (engine.now(), server.totals_with_fronts());
        while !stop.load(Ordering::Relaxed) {
            server.pause_at(before.0 + every);
            server.run(engine);
            let after = (engine.now(), server.totals_with_fronts());
            terminal.say(&stats(before, after));
            before = after;
        }
    }

    fn options(&self, message_max: Option<Bytes>, tls: Option<wire::tls::Server>) -> Options {
        let usual = Options::default();
        let idle_max = self.idle.unwrap_or(usual.world.idle_max);
        let flood = self.flood.map(|count| Flood { packets_per_s: count, burst: count });
        Options {
            world: world::Options {
                tables: self.tables.map_or(usual.world.tables, NonZeroU32::get),
                seats: self
                    .seats
                    .and_then(|seats| u8::try_from(seats.get()).ok())
                    .unwrap_or(usual.world.seats),
                lobby_period: self.lobby_period.unwrap_or(usual.world.lobby_period),
                quiet_max: Nanos(idle_max.0 / 3),
                idle_max,
                away_max: self.away.unwrap_or(usual.world.away_max),
                flood: flood.or(usual.world.flood),
                ..usual.world
            },
            doors: [Packing::Binary, Packing::Web]
                .map(|speaks| Door { speaks, tls: tls.clone() })
                .into(),
            queue_max: self.queue_max.unwrap_or(usual.queue_max),
            message_max: message_max.unwrap_or(usual.message_max),
            hold_max: self.comet_hold.unwrap_or(usual.hold_max),
            away_max: self.comet_away.unwrap_or(usual.away_max),
            seed: values::seed_or_clock(None),
            ..usual
        }
    }

    fn web_address(&self) -> Result<Address, String> {
        let web = self.web.as_deref().unwrap_or("127.0.0.1:8080");
        let address: Result<SocketAddr, _> = web.parse();
        address.map(Address::Tcp).map_err(|_| not_an_address("--web", web))
    }

    /// The name of the first option that was given; those in `others` are ignored.
    pub(super) fn given_besides(&self, others: &[&str]) -> Option<&'static str> {
        let all = [
            ("--web", self.web.is_some()),
            ("--tls", self.tls),
            ("--tables", self.tables.is_some()),
            ("--seats", self.seats.is_some()),
            ("--threads", self.threads.is_some()),
            ("--queue-max", self.queue_max.is_some()),
            ("--idle", self.idle.is_some()),
            ("--away", self.away.is_some()),
            ("--comet-hold", self.comet_hold.is_some()),
            ("--comet-away", self.comet_away.is_some()),
            ("--flood", self.flood.is_some()),
            ("--lobby-period", self.lobby_period.is_some()),
            ("--stats-every", self.stats_every.is_some()),
        ];
        let is_found = |(name, is_given): &(&str, bool)| *is_given && !others.contains(name);
        all.into_iter().find(is_found).map(|(name, _)| name)
    }
}

/// The address for binary clients, and the settings that both addresses share.
pub(super) struct Listening {
    pub(super) binary: Address,
    pub(super) message_max: Option<Bytes>,
    /// The bytes that all threads together may hold.
    pub(super) memory_max: usize,
    pub(super) secure: Option<Secure>,
    /// The CPU of each thread, in order.
    pub(super) cpus: Vec<usize>,
}

/// The totals of the server in one line.
pub(super) fn report(totals: &Totals, is_secure: bool, as_json: bool) -> String {
    let Totals { connections, sessions, broken, slow, silent, lost_clients, .. } = *totals;
    let Totals { packets_sent, requests, bytes_received, bytes_sent, handshakes, world, .. } =
        *totals;
    let SessionCounts { binary, websocket, comet } = sessions;
    if as_json {
        let mut json = serde_json::json!({
            "connections": connections,
            "broken_connections": broken,
            "sessions": { "binary": binary, "websocket": websocket, "comet": comet },
            "slow_players": slow,
            "silent_connections": silent,
            "lost_comet_clients": lost_clients,
            "comet_requests": requests,
            "packets_received": world.packets,
            "packets_sent": packets_sent,
            "received_bytes": bytes_received,
            "sent_bytes": bytes_sent,
            "players": world.players,
            "players_away": world.away,
            "seated": world.seated,
            "logins": world.logins,
            "logins_refused": world.logins_refused,
            "logged_in_remotely": world.logged_in_remotely,
            "reconnects": world.reconnects,
            "idle_players": world.idle,
            "floods": world.floods,
            "joins": world.joins,
            "joins_denied": world.joins_denied,
            "leaves": world.leaves,
            "events": world.events,
            "deliveries": world.deliveries,
            "sequence_errors": world.sequence_errors,
            "resent_events": world.resent,
            "dropped_events": world.events_dropped,
            "bad_packets": world.bad_packets,
            "lobby_snapshots": world.lobby_snapshots,
            "lobby_updates": world.lobby_updates,
            "pings": world.pings,
        });
        if is_secure {
            json["tls_handshakes"] = serde_json::json!({
                "full": handshakes.full,
                "resumed": handshakes.resumed,
                "failed": handshakes.failed,
            });
        }
        return format!("{json}\n");
    }
    let tls = if is_secure {
        format!(
            ", TLS handshakes: {} full, {} resumed, {} failed",
            handshakes.full, handshakes.resumed, handshakes.failed
        )
    } else {
        String::new()
    };
    let world::Counters { logins, joins, events, deliveries, sequence_errors, bad_packets, .. } =
        world;
    format!(
        "served {connections} connections ({broken} broke the protocol, {slow} too slow, {silent} silent), \
         sessions: {binary} binary, {websocket} WebSocket, {comet} Comet ({lost_clients} lost), \
         {logins} logins, {joins} joins, {events} events ({sequence_errors} out of sequence), \
         {deliveries} deliveries, {bad_packets} bad packets, \
         {bytes_received} bytes in, {bytes_sent} bytes out{tls}\n"
    )
}

/// The activity between two readings of the totals in one line.
fn stats((from, before): (Instant, Totals), (until, after): (Instant, Totals)) -> String {
    let per_s = |count: fn(&Totals) -> u64| {
        let count = u128::from(count(&after) - count(&before));
        count * 1_000_000_000 / u128::from(until.since(from).0.max(1))
    };
    format!(
        "{} players, {} seated; per second: {} events, {} deliveries, {} bytes in, {} bytes out; {} connections",
        after.world.players,
        after.world.seated,
        per_s(|totals| totals.world.events),
        per_s(|totals| totals.world.deliveries),
        per_s(|totals| totals.bytes_received),
        per_s(|totals| totals.bytes_sent),
        after.world.connections,
    )
}

fn tables(text: &str) -> Result<NonZeroU32, String> {
    at_most(text, world::Options::TABLES_MAX)
}

fn seats(text: &str) -> Result<NonZeroU32, String> {
    at_most(text, world::Options::SEATS_MAX.into())
}

fn at_most(text: &str, max: u32) -> Result<NonZeroU32, String> {
    let count = values::count(text)?;
    if count.get() > max {
        return Err(format!("{count} is above the limit of {max}"));
    }
    Ok(count)
}

/// The protocols of its three ways in, in the order in which they are printed.
const DOORS: [Protocol; 3] = [Protocol::Game, Protocol::GameWebSocket, Protocol::GameComet];
