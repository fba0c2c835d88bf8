//! What is to be done, with every default resolved: printable, storable, repeatable.

use load::{PayloadKind, Stop, Workload};
use spec::{Endpoint, Scheme};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use units::{Bytes, Nanos, Random};
use wire::game::Bots;
use wire::tls::{ClientOptions, Trust};
use wire::websocket::deflate;

/// Measurements, and in which order their blocks run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is measured. One for a single run, one for each rung of a ladder.
    pub measurements: Vec<Measurement>,
    /// How many blocks each of them gets. In every round each measurement runs one block.
    pub rounds: u32,
    /// In which order the blocks of a round run.
    pub order: Order,
    /// The measurement (its index) that all others are compared with, unless they name another.
    pub baseline: Option<usize>,
    /// Which measurements are another one with a layer more.
    pub layers: Vec<record::Layer>,
    /// Determines the order of blocks, and whatever else is random.
    pub seed: u64,
    /// Whether addresses that are neither loopback nor private may be loaded.
    pub public_allowed: bool,
    /// How long a subject that compiles while it runs is brought to its speed at most, before its first block.
    pub jit_warm_up_max: Nanos,
}

impl Plan {
    /// What is usual for [`Plan::jit_warm_up_max`].
    pub const JIT_WARM_UP_MAX: Nanos = Nanos::from_secs(10);

    /// How long all of it takes, about: its blocks, and before them the start and warm-up of subjects.
    pub fn expected(&self) -> Nanos {
        let places: Vec<Place> = (0..self.measurements.len())
            .flat_map(|workload| {
                (0..self.rounds as usize).map(move |round| Place { workload, round })
            })
            .collect();
        let started = self.measurements.iter().map(starting);
        started.fold(self.expected_of(&places), |sum, one| sum + one)
    }

    /// How long these blocks take, about, once everything stands.
    pub(crate) fn expected_of(&self, blocks: &[Place]) -> Nanos {
        let blocks_of = |workload| blocks.iter().filter(|place| place.workload == workload).count();
        let of_measurement = |(workload, measurement): (usize, &Measurement)| {
            let blocks = blocks_of(workload) as u64;
            let warm_up = match measurement.compiles_while_it_runs() && blocks > 0 {
                true => Nanos(self.jit_warm_up_max.0 / 2),
                false => Nanos::ZERO,
            };
            warm_up + Nanos(expected(measurement).0.saturating_mul(blocks))
        };
        let each = self.measurements.iter().enumerate().map(of_measurement);
        each.fold(Nanos::ZERO, |sum, one| sum + one)
    }

    /// Which measurement each block of each round runs: every round has each once.
    pub fn blocks(&self) -> Vec<Vec<usize>> {
        let mut random = Random::new(self.seed);
        (0..self.rounds)
            .map(|_| {
                let mut round: Vec<usize> = (0..self.measurements.len()).collect();
                match self.order {
                    Order::AsListed => {}
                    Order::Shuffled => random.shuffle(&mut round),
                }
                round
            })
            .collect()
    }
}

/// The place of a block in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) workload: usize,
    pub(crate) round: usize,
}

/// In which order the blocks of a round run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// That of the measurements: steps, each of which may depend on what the one before it left behind.
    AsListed,
    /// Random and determined by the seed, anew in every round, so that no drift of the machine favours any of them.
    Shuffled,
}

/// One thing to measure.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// How it is called in tables, e.g. `ws-text`; the URL for a server of the user's.
    pub name: String,
    /// Who answers.
    pub peer: Peer,
    /// What it answers to every message; `None`: that message. Only where it is started by us.
    pub reply: Option<String>,
    /// Who sends; `None`: this program.
    pub client: Option<SubjectClient>,
    /// The measurement (its index) that this one is compared with; `None`: with the plan's baseline.
    pub baseline: Option<usize>,
    /// What is said besides the messages.
    pub speech: Speech,
    /// The whole load, before it is divided among threads.
    pub workload: Workload,
    /// Where the payload came from, in words: `random`, `--payload "Ping"`, `--payload @FILE`.
    pub content_source: String,
    /// What was generated; `None` for a payload that was given.
    pub payload_kind: Option<PayloadKind>,
    /// How many threads generate it at most.
    pub threads: NonZeroU32,
    /// The source addresses that connections take turns with; none: the system chooses, and on loopback we spread by
    /// ourselves when the ports of one address would run out.
    pub sources: Vec<IpAddr>,
    /// How long a worker looks for replies again and again before it sleeps; zero: not at all.
    pub busy_poll: Nanos,
}

impl Measurement {
    /// Whether one of its subjects gets faster while it runs.
    pub(crate) fn compiles_while_it_runs(&self) -> bool {
        let server = match &self.peer {
            Peer::Subject(server) => server.subject.manifest.jit,
            Peer::Embedded(_) | Peer::Given(_) => false,
        };
        server || self.client.as_ref().is_some_and(|client| client.subject.manifest.jit)
    }
}

/// How long one block of a measurement takes; about, where its end is no time.
fn expected(measurement: &Measurement) -> Nanos {
    let phases = measurement.workload.phases;
    let per = |count: u64, each: Nanos| Nanos(count.saturating_mul(each.0));
    let measured = match phases.stop {
        Stop::After(time) => time,
        Stop::Clients(clients) => per(clients.get(), LIFE),
        Stop::Messages(messages) => per(messages.get(), MESSAGE),
    };
    let besides = if measurement.client.is_some() { CLIENT } else { Nanos::ZERO };
    phases.warm_up + measured + besides
}

/// How long the subjects of a measurement take to start, about.
fn starting(measurement: &Measurement) -> Nanos {
    let is_subject = matches!(measurement.peer, Peer::Subject(_));
    let count = u64::from(is_subject) + u64::from(measurement.client.is_some());
    Nanos(count * START.0)
}

/// What a life of a client, a message, the opening and report of a client subject, and its start take, about.
const LIFE: Nanos = Nanos::from_micros(500);
const MESSAGE: Nanos = Nanos::from_micros(30);
const CLIENT: Nanos = Nanos::from_millis(200);
const START: Nanos = Nanos::from_millis(700);

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// One of our own servers, started for the run as a child process.
    Embedded(Embedded),
    /// Whoever listens there.
    Given(Endpoint),
    /// A program of others, started for the run as a child process.
    Subject(SubjectServer),
}

impl Peer {
    /// What is spoken.
    pub const fn scheme(&self) -> Scheme {
        match self {
            Self::Embedded(embedded) => embedded.scheme,
            Self::Given(url) => url.scheme(),
            Self::Subject(server) => server.scheme,
        }
    }

    /// Whether its process is started, watched and ended by us.
    pub const fn is_ours(&self) -> bool {
        match self {
            Self::Embedded(_) | Self::Subject(_) => true,
            Self::Given(_) => false,
        }
    }
}

/// A server that others wrote. Measurements that want the same one, with the same reply, share its process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectServer {
    /// Which.
    pub subject: Arc<lab::Subject>,
    /// The folder that it is installed in.
    pub installed: PathBuf,
    /// What it is to be spoken to; one of those that its manifest has.
    pub scheme: Scheme,
    /// What is asked for there in place of the path that it says, e.g. `/64` of a server that has files alone.
    pub path: Option<String>,
}

/// A client library that others wrote, with what little drives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectClient {
    /// Which.
    pub subject: Arc<lab::Subject>,
    /// The folder that it is installed in.
    pub installed: PathBuf,
    /// The host that it is to connect to in place of the one that the server says, e.g. `localhost`.
    pub host: Option<String>,
}

/// One of our own servers. Measurements that want the same one share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Embedded {
    /// What it speaks.
    pub scheme: Scheme,
    /// What stands behind that in the command that starts it, besides where it listens.
    pub options: &'static [&'static str],
}

impl From<Scheme> for Embedded {
    fn from(scheme: Scheme) -> Self {
        Self { scheme, options: &[] }
    }
}

/// What a protocol lets a client say besides its messages.
#[derive(Clone, Debug)]
pub struct Speech {
    /// HTTP: the method of each request; methods without a body (`GET`, `HEAD`) send none.
    pub method: String,
    /// HTTP and WebSocket: more header fields, by name and value.
    pub headers: Vec<(String, String)>,
    /// WebSocket: the subprotocols to offer.
    pub subprotocols: Vec<String>,
    /// WebSocket: the compression to offer.
    pub deflate: Option<deflate::Offer>,
    /// What is said inside TLS is said there in this way; `Some` where the scheme is inside TLS, and only there.
    pub tls: Option<Tls>,
    /// The longest reply that is accepted.
    pub reply_max: Bytes,
    /// Game: who the bots are and where they sit.
    pub bots: Bots,
}

impl Default for Speech {
    fn default() -> Self {
        Self {
            method: "POST".to_owned(),
            headers: Vec::new(),
            subprotocols: Vec::new(),
            deflate: None,
            tls: None,
            reply_max: Bytes(16 << 20),
            bots: Bots::default(),
        }
    }
}

/// How a client speaks TLS.
#[derive(Clone, Debug)]
pub struct Tls {
    /// Versions, suites, resumption, ALPN, who we are, and whom we trust. For an embedded server the last is not looked
    /// at: that server's own authority is trusted, and no other.
    pub options: ClientOptions,
    /// The name or address that the server's certificate is to have; `None`: that of the URL.
    pub server_name: Option<String>,
}

impl Tls {
    /// What is usual for `scheme`: everything that rustls offers by itself, tickets, and `http/1.1` over HTTP. Nobody
    /// is trusted yet. `None` where nothing is inside TLS.
    pub fn usual(scheme: Scheme, now_unix_s: u64) -> Option<Self> {
        let alpn = scheme.alpn();
        let options = ClientOptions {
            versions: Vec::new(),
            suites: Vec::new(),
            trust: Trust::Authorities { pem: Vec::new(), der: Vec::new() },
            identity: None,
            alpn,
            resumption: true,
            now_unix_s,
        };
        scheme.tls.then_some(Self { options, server_name: None })
    }
}
