//! A worker on a simulated network, what it reported while it ran, and the identities that hold on every run.

use drive::{Control, Interval, Observer, Phase, Target, Worker};
use engine::sim::{Conditions, Network, Outcome as Ended, Party, Sim};
use engine::{Address, Engine, Node};
use load::{
    Arrival, Content, Expect, Lifetime, PayloadKind, Phases, Pick, Schedule, Spacing, Stop,
    Timeouts, Workload,
};
use record::{Connections, Counts, ErrorClass, Merge, Outcome, StreamLayers, Traffic};
use spec::{Endpoint, Scheme};
use stats::Histogram;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use units::{Bytes, Instant, Nanos};
use wire::{ClientOptions, Role, ServerOptions, Stack, tls};

/// A protocol, as both ends know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speech {
    Framed,
    Http,
    Raw,
    WebSocket,
    WebSocketText,
}

impl Speech {
    pub(crate) const ALL: [Self; 5] =
        [Self::Framed, Self::Http, Self::Raw, Self::WebSocket, Self::WebSocketText];

    /// A server's end of it, inside TLS if `tls` is given.
    pub(crate) fn server(self, tls: Option<tls::Server>) -> Stack {
        self.server_with(ServerOptions { tls, ..ServerOptions::default() })
    }

    /// A server's end of it with these options.
    pub(crate) fn server_with(self, options: ServerOptions) -> Stack {
        let endpoint = Endpoint { tls: options.tls.is_some(), ..self.endpoint() };
        wire::stack(&endpoint, Role::Server(&options)).unwrap()
    }

    fn endpoint(self) -> Endpoint {
        let url = match self {
            Self::Framed => "tcp-framed://server.example:9",
            Self::Http => "http://server.example",
            Self::Raw => "tcp://server.example:9",
            Self::WebSocket | Self::WebSocketText => "ws://server.example",
        };
        url.parse().unwrap()
    }

    /// True if there is an opening handshake, and an answer to a close.
    pub(crate) fn shakes_hands(self) -> bool {
        matches!(self, Self::WebSocket | Self::WebSocketText)
    }
}

/// Header fields by name and value.
pub(crate) fn headers(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The description of a run; tests change the parts that they are about.
#[derive(Clone, Debug)]
pub(crate) struct Play {
    pub(crate) conditions: Conditions,
    pub(crate) seed: u64,
    pub(crate) target: Address,
    pub(crate) endpoint: Endpoint,
    pub(crate) options: ClientOptions,
    /// Rooms: the options of connections that publish, if they differ.
    pub(crate) publishers: Option<ClientOptions>,
    /// Rooms: receivers, or publishers, are not connected to what is killed.
    pub(crate) receivers_live_on: bool,
    pub(crate) publishers_live_on: bool,
    pub(crate) workload: Workload,
}

impl Play {
    /// Ten messages on one connection, over a network where everything takes [`DELAY`].
    pub(crate) fn new(speech: Speech) -> Self {
        let size = Bytes(PAYLOAD_LEN as u64);
        let content = match speech {
            Speech::WebSocketText => Content::text(size, 7),
            Speech::Framed | Speech::Http | Speech::Raw | Speech::WebSocket => {
                Content::binary(size, 7)
            }
        };
        let workload = Workload {
            connections: NonZeroU32::MIN,
            rooms: None,
            connect_rate: None,
            lifetime: Lifetime::Long,
            closing: load::Closing::Complete,
            arrival: Arrival::Closed { in_flight: NonZeroU32::MIN, in_flight_max: None },
            content,
            expect: Expect::Echo,
            requests: None,
            phases: Phases {
                warm_up: Nanos::ZERO,
                stop: Stop::Messages(NonZeroU64::new(10).unwrap()),
                drain: ms(900),
            },
            timeouts: Timeouts {
                resolve: Nanos::ZERO,
                connect: ms(100),
                handshake: ms(200),
                reply: ms(300),
                close: ms(400),
            },
            last_replies: false,
            seed: 7,
        };
        Self {
            conditions: Conditions { delay: DELAY, ..Conditions::default() },
            seed: 7,
            target: address(),
            endpoint: speech.endpoint(),
            options: ClientOptions { reply_len: PAYLOAD_LEN, ..ClientOptions::default() },
            publishers: None,
            receivers_live_on: false,
            publishers_live_on: false,
            workload,
        }
    }

    pub(crate) fn connections(mut self, connections: u32) -> Self {
        self.workload.connections = NonZeroU32::new(connections).unwrap();
        self
    }

    pub(crate) fn in_flight(mut self, each: u32, max: Option<u32>) -> Self {
        self.workload.arrival = Arrival::Closed {
            in_flight: NonZeroU32::new(each).unwrap(),
            in_flight_max: max.and_then(NonZeroU32::new),
        };
        self
    }

    pub(crate) fn messages(mut self, messages: u64) -> Self {
        self.workload.phases.stop = Stop::Messages(NonZeroU64::new(messages).unwrap());
        self
    }

    pub(crate) fn duration(mut self, duration: Nanos) -> Self {
        self.workload.phases.stop = Stop::After(duration);
        self
    }

    pub(crate) fn warm_up(mut self, warm_up: Nanos) -> Self {
        self.workload.phases.warm_up = warm_up;
        self
    }

    /// Short-lived clients: their number in all, and the number of round trips of each.
    pub(crate) fn clients(mut self, clients: u64, round_trips: u32) -> Self {
        self.workload.lifetime = Lifetime::RoundTrips(NonZeroU32::new(round_trips).unwrap());
        self.workload.phases.stop = Stop::Clients(NonZeroU64::new(clients).unwrap());
        self
    }

    /// With a payload of `len` bytes.
    pub(crate) fn payload(mut self, len: usize) -> Self {
        let size = Bytes(len as u64);
        self.workload.content = match self.workload.content.is_text() {
            true => Content::text(size, 7),
            false => Content::binary(size, 7),
        };
        self.options.reply_len = len;
        self
    }

    /// With payloads that differ from message to message, of the same length as now.
    pub(crate) fn varied(mut self, kind: PayloadKind) -> Self {
        let content = &self.workload.content;
        let (size, is_text) = (Bytes(content.payload().len() as u64), content.is_text());
        let varied = Content::varied(kind, size, 7);
        self.workload.content = if is_text { varied.as_text() } else { varied.as_binary() };
        self
    }

    /// Inside TLS.
    pub(crate) fn inside(mut self, client: &tls::Client) -> Self {
        self.options.tls = Some(client.clone());
        self
    }

    /// Against an oracle, which writes its true delay into every reply.
    pub(crate) fn asks_for_delay(self) -> Self {
        let mut play = self.payload(ORACLE_LEN);
        play.workload.content = play.workload.content.for_oracle().unwrap();
        play.workload.expect = Expect::Oracle;
        play
    }

    /// An open loop at `rate`, on connections that take turns.
    pub(crate) fn rate(mut self, rate: &str) -> Self {
        let connections = self.workload.connections;
        self.workload.arrival = Arrival::Open {
            schedule: Schedule::new(rate.parse().unwrap(), Spacing::Uniform, connections),
            pick: Pick::Any,
            in_flight_max: NonZeroU32::new(100_000).unwrap(),
        };
        self
    }

    /// Changes the open loop.
    pub(crate) fn paced(mut self, change: impl FnOnce(&mut Schedule, &mut Pick, &mut u32)) -> Self {
        let Arrival::Open { schedule, pick, in_flight_max } = &mut self.workload.arrival else {
            panic!("no open loop")
        };
        let mut max = in_flight_max.get();
        change(schedule, pick, &mut max);
        *in_flight_max = NonZeroU32::new(max).unwrap();
        self
    }

    pub(crate) fn poisson(self) -> Self {
        self.paced(|schedule, _, _| schedule.spacing = Spacing::Poisson)
    }

    /// Each message on the connection that the schedule names.
    pub(crate) fn own(self) -> Self {
        self.paced(|_, pick, _| *pick = Pick::Own)
    }

    pub(crate) fn outstanding_max(self, max: u32) -> Self {
        self.paced(|_, _, in_flight_max| *in_flight_max = max)
    }

    pub(crate) fn reply_timeout(mut self, timeout: Nanos) -> Self {
        self.workload.timeouts.reply = timeout;
        self
    }

    pub(crate) fn drain(mut self, drain: Nanos) -> Self {
        self.workload.phases.drain = drain;
        self
    }

    /// The client's end.
    pub(crate) fn stack(&self) -> Stack {
        let scheme = Scheme { tls: self.options.tls.is_some(), ..self.endpoint.scheme() };
        let name = self.endpoint.host().to_owned();
        let address = spec::Address::Host { name, port: scheme.port().unwrap_or(9) };
        let endpoint = Endpoint { tls: scheme.tls, address, ..self.endpoint.clone() };
        wire::stack(&endpoint, Role::Client(&self.options)).unwrap()
    }

    /// Runs to the end against `peer`.
    pub(crate) fn against(&self, peer: &mut dyn Node<Sim>) -> Played {
        let mut world = World::new(self);
        assert_eq!(world.run(peer, TIME_MAX), Ended::Done, "it hangs");
        world.finish()
    }
}

/// The worker, a server's process that listens at [`address`], and the network between them.
pub(crate) struct World {
    pub(crate) network: Network,
    pub(crate) client: Sim,
    pub(crate) server: Sim,
    pub(crate) control: Arc<Control>,
    pub(crate) worker: Worker<Notes>,
    is_open: bool,
}

impl World {
    pub(crate) fn new(play: &Play) -> Self {
        Self::of_workers(play, 1)
    }

    /// One of `workers` workers, which begin together.
    pub(crate) fn of_workers(play: &Play, workers: u32) -> Self {
        let mut network = Network::new(play.seed, play.conditions.clone());
        let (client, mut server) = (network.engine(), network.engine());
        assert_eq!(server.listen(&address()), Ok(address()));
        let control = Arc::new(Control::new(workers));
        let worker = worker(play, &control);
        let is_open = !matches!(play.workload.arrival, Arrival::Closed { .. });
        Self { network, client, server, control, worker, is_open }
    }

    /// Runs until the worker is done, or until the instant `until`.
    pub(crate) fn run(&mut self, peer: &mut dyn Node<Sim>, until: Instant) -> Ended {
        let mut parties = [
            Party::awaited(&mut self.client, &mut self.worker),
            Party::background(&mut self.server, peer),
        ];
        self.network.run(&mut parties, until)
    }

    /// Returns the results of the run, after checking everything that must hold on every run.
    pub(crate) fn finish(self) -> Played {
        let (outcome, notes) = self.worker.finish();
        Played::new(outcome, notes, self.is_open)
    }
}

impl Played {
    /// The play of a worker that is done.
    pub(crate) fn new(outcome: Outcome, notes: Notes, is_open: bool) -> Self {
        let ended = notes.intervals.last().unwrap().end;
        let played = Self { is_open, outcome, notes, ended };
        played.check();
        played
    }
}

/// One of the workers that share `control`.
pub(crate) fn worker(play: &Play, control: &Arc<Control>) -> Worker<Notes> {
    let target = |play: &Play| Target {
        address: play.target.clone(),
        sources: Vec::new(),
        stack: play.stack(),
        publishers: None,
        lives_on: play.receivers_live_on,
    };
    let publishers = play.publishers.clone().map(|options| Play { options, ..play.clone() });
    let lives_on = play.publishers_live_on;
    let publishers =
        publishers.map(|publishers| Box::new(Target { lives_on, ..target(&publishers) }));
    let target = Target { publishers, ..target(play) };
    let requests = play.workload.requests.as_ref();
    let kinds = requests.map_or(0..0, |it| 0..u16::try_from(it.kinds().len()).unwrap());
    let untimed = kinds.into_iter().any(|kind| requests.is_some_and(|it| !it.has_reply(kind)));
    // Where deliveries are timed, there are not as many times as messages.
    let untimed = untimed || play.workload.rooms.is_some();
    let notes = Notes { untimed, ..Notes::default() };
    Worker::new(play.workload.clone(), target, Arc::clone(control), notes)
}

/// The results of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct Played {
    is_open: bool,
    pub(crate) outcome: Outcome,
    pub(crate) notes: Notes,
    /// The instant at which the worker was done: the end of its last interval.
    pub(crate) ended: Instant,
}

/// The data that a worker handed over.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Notes {
    pub(crate) intervals: Vec<Kept>,
    /// Times from sent, of the messages of the measurement.
    pub(crate) round_trips: Histogram,
    /// Open loops: times from due, and how late messages were sent.
    pub(crate) response: Histogram,
    pub(crate) lag: Histogram,
    pub(crate) own_share: Histogram,
    pub(crate) true_delay: Histogram,
    pub(crate) phases: Vec<(Phase, Instant)>,
    /// True if some messages are not answered and so have no time.
    untimed: bool,
}

/// An interval; its distribution is in [`Notes::round_trips`].
#[derive(Debug, PartialEq)]
pub(crate) struct Kept {
    pub(crate) phase: Phase,
    pub(crate) start: Instant,
    pub(crate) end: Instant,
    pub(crate) counts: Counts,
    pub(crate) replies: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
}

impl Observer for Notes {
    fn interval(&mut self, interval: &mut Box<Interval>) {
        let Interval { phase, start, end, traffic, .. } = &mut **interval;
        let (phase, start, end) = (*phase, *start, *end);
        let Traffic { counts, replies, bytes_sent, bytes_received, .. } = *traffic;
        if !self.untimed {
            assert_eq!(traffic.round_trips.count(), counts.ok, "each of them has its round trip");
        }
        if phase >= Phase::Measure {
            self.round_trips.add(&traffic.round_trips);
        }
        if let Some(open_loop) = &traffic.open_loop {
            let ended = counts.ok + counts.failed();
            if !self.untimed {
                assert_eq!(open_loop.response.count(), ended, "whatever ended has a response time");
            }
            assert_eq!(open_loop.lag.count(), counts.sent, "whatever was sent has a lag");
            if phase >= Phase::Measure {
                self.response.add(&open_loop.response);
                self.lag.add(&open_loop.lag);
                self.own_share.add(&open_loop.own_share);
                self.true_delay.add(&open_loop.true_delay);
            }
        }
        let kept = Kept { phase, start, end, counts, replies, bytes_sent, bytes_received };
        self.intervals.push(kept);
        traffic.clear();
    }

    fn phase(&mut self, phase: Phase, now: Instant) {
        self.phases.push((phase, now));
    }
}

impl Played {
    /// The sum over all intervals.
    pub(crate) fn total(&self, of: fn(&Kept) -> u64) -> u64 {
        self.notes.intervals.iter().map(of).sum()
    }

    /// The number of replies that arrived in the window.
    pub(crate) fn replies_of_window(&self) -> u64 {
        let intervals = self.notes.intervals.iter();
        let of_window = intervals.filter(|interval| interval.phase == Phase::Measure);
        of_window.map(|interval| interval.replies).sum()
    }

    /// The errors of the run: class, count, example.
    pub(crate) fn errors(&self) -> Vec<(ErrorClass, u64, &str)> {
        let errors = self.outcome.errors.iter();
        errors.map(|(class, tally)| (*class, tally.count, &*tally.example)).collect()
    }

    /// Checks that nothing went wrong, and `sent` messages were sent and answered.
    #[track_caller]
    pub(crate) fn assert_all_ok(&self, sent: u64) {
        assert_eq!(self.errors(), []);
        assert_eq!(self.outcome.measured, Counts { sent, ok: sent, ..Counts::default() });
        assert_eq!(self.outcome.planned, sent);
        let Connections { failed, lost, .. } = self.outcome.connections;
        assert_eq!((failed, lost), (0, 0));
    }

    /// The identities of every run.
    fn check(&self) {
        let &Outcome { planned, measured, warm_up, connections, window, .. } = &self.outcome;
        assert!(planned >= measured.sent, "{planned} < {measured:?}");
        for counts in [measured, warm_up] {
            assert!(
                counts.sent >= counts.ok + counts.failed(),
                "a message ended twice: {counts:?}"
            );
        }
        let attempts = connections.opened + connections.failed;
        assert!(attempts <= connections.started && connections.lost <= connections.opened);
        self.check_intervals(measured, warm_up);
        let begin = self.notes.phases.first().copied();
        let end = self.notes.phases.get(1).copied();
        let told = begin.zip(end).map(|((measure, begin), (drain, end))| {
            assert_eq!((measure, drain), (Phase::Measure, Phase::Drain));
            (begin, end)
        });
        if self.is_open {
            // The schedule knows when it begins and ends; the worker may be late.
            assert_eq!(planned, measured.sent + measured.unsent);
            let is_late = |(window, told): ((Instant, Instant), (Instant, Instant))| {
                window.0 <= told.0 && window.1 <= told.1
            };
            assert!(window.zip(told).is_none_or(is_late), "{window:?} {told:?}");
            assert_eq!(window.is_some(), told.is_some());
        } else {
            assert_eq!(told, window);
        }
        for tally in self.outcome.errors.values() {
            assert!(tally.count > 0 && !tally.example.is_empty(), "{tally:?}");
            assert!(!tally.example.contains(char::is_control), "{tally:?}");
        }
    }

    /// Checks that the intervals follow one another and add up to the outcome.
    fn check_intervals(&self, measured: Counts, warm_up: Counts) {
        let (mut since, mut phase) = (Instant::START, Phase::Connect);
        let mut sums = [Counts::default(); 2];
        for interval in &self.notes.intervals {
            assert!(interval.start == since && interval.phase >= phase, "{interval:?}");
            let has_times = !self.notes.untimed;
            assert!(!has_times || interval.replies >= interval.counts.ok, "{interval:?}");
            (since, phase) = (interval.end, interval.phase);
            sums[usize::from(phase >= Phase::Measure)].merge(&interval.counts);
        }
        if self.outcome.window.is_some() {
            assert_eq!(sums[1], measured);
        }
        let in_window = |of: fn(&Kept) -> u64| -> u64 {
            let intervals = self.notes.intervals.iter();
            intervals.filter(|interval| interval.phase == Phase::Measure).map(of).sum()
        };
        let StreamLayers { sent, received } = self.outcome.layers;
        assert_eq!(sent.total(), in_window(|interval| interval.bytes_sent));
        assert_eq!(received.total(), in_window(|interval| interval.bytes_received));
        if !self.is_open {
            assert_eq!(sums[0].sent, warm_up.sent);
        }
        // Messages of the warm-up that end after it are in no interval.
        assert!(sums[0].ok <= warm_up.ok && sums[0].error <= warm_up.error);
        if !self.notes.untimed {
            assert_eq!(self.notes.round_trips.count(), measured.ok);
        }
        // The kinds of a conversation add up to all of it.
        let kinds = self.outcome.exchanges.values();
        let of_kinds = Counts::merged(kinds.map(|kind| &kind.counts));
        assert!(self.outcome.exchanges.is_empty() || of_kinds == Counts { unsent: 0, ..measured });
    }
}

/// A distribution in which `time` occurs `count` times, and nothing else.
pub(crate) fn always(time: Nanos, count: u64) -> Histogram {
    let mut histogram = Histogram::new();
    (0..count).for_each(|_| histogram.record(time));
    histogram
}

pub(crate) fn address() -> Address {
    Address::Tcp(([10, 0, 0, 1], 80).into())
}

pub(crate) fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// The instant `count` times [`DELAY`] after the start.
pub(crate) fn after_delays(count: u64) -> Instant {
    Instant(DELAY.0 * count)
}

/// The time from one end to the other, unless a test says otherwise.
pub(crate) const DELAY: Nanos = Nanos::from_millis(1);

/// The time for a message to get there and its reply to get back.
pub(crate) const ROUND_TRIP: Nanos = Nanos::from_millis(2);

/// The time limit of a run: one that takes longer counts as a hang.
pub(crate) const TIME_MAX: Instant = Instant(120_000_000_000);

pub(crate) const PAYLOAD_LEN: usize = 16;

/// Room for a header and a true delay, in a text too, and for a byte to be corrupted.
pub(crate) const ORACLE_LEN: usize = 50;
