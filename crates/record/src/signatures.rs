//! Known causes that show in the numbers: times, counts and failures that have a signature.
//!
//! A time with a signature is a peak of its own: many samples in a narrow band, and few in the bands of the same width
//! on either side. A server that is merely slow has no such edge. A peak is reported if it has a minimum share of all
//! samples, if it occurred at several instants (a single pause anywhere slows down whatever is in flight), and if the
//! kernel counted the events that cause it. Nothing here is a reason for doubt: the numbers are right, and show what is
//! wrong.

use crate::{
    Block, ErrorClass, ErrorCount, RunRecord, Second, Summary, TcpEvents, Warning, Workload,
};
use spec::{Lifetime, Load};
use stats::Histogram;
use std::fmt;
use units::Nanos;

/// The signatures that `record` shows, each with its cure, once for every workload that shows it.
///
/// Distributions that cannot be read, because the record was changed by hand, show none.
pub fn signatures(record: &RunRecord) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (index, workload) in record.plan.workloads.iter().enumerate() {
        let seen = Seen {
            record,
            workload,
            blocks: record.blocks.iter().filter(|block| block.workload == index).collect(),
        };
        let found = [
            seen.delayed_ack(),
            seen.retransmissions(),
            seen.happy_eyeballs(),
            seen.syn_retries(),
            seen.ephemeral_ports(),
            seen.waiting_for_connections(),
            seen.reopened(),
            seen.not_resumed(),
            seen.payload_grows(),
        ];
        warnings.extend(found.into_iter().flatten());
    }
    warnings
}

/// The range of times of a signature.
#[derive(Clone, Copy, Debug)]
struct Band {
    first: Nanos,
    last: Nanos,
}

/// Linux delays an ACK by at least 40 ms (`TCP_DELACK_MIN`), until a timer of 1 to 4 ms resolution fires.
const DELAYED_ACK: Band = Band { first: Nanos(39_500_000), last: Nanos(46_000_000) };
/// The least retransmission time-out of Linux (`TCP_RTO_MIN`) is 200 ms, with the same timer, plus a round trip.
const RETRANSMISSION: Band = Band { first: Nanos(199_500_000), last: Nanos(220_000_000) };
/// Happy eyeballs try the next address after 200 ms (curl) to 250 ms (RFC 8305, section 5).
const HAPPY_EYEBALLS: Band = Band { first: Nanos(199_500_000), last: Nanos(260_000_000) };
/// An unanswered SYN is sent again after 1 s (RFC 6298, section 2), and then after 2 s more.
const SYN_RETRIES: [Band; 2] = [
    Band { first: Nanos(995_000_000), last: Nanos(1_100_000_000) },
    Band { first: Nanos(2_990_000_000), last: Nanos(3_200_000_000) },
];
/// The smallest number of samples that makes a peak: those that a p99.9 of 10 000 depends on.
const PEAK_MIN: u64 = 10;
/// The same for connects delayed by a lost SYN, each of which the kernel counted.
const SYNS_MIN: u64 = 3;
/// A peak has at least this many times the samples of the bands beside it.
const PEAK_HEIGHT: u64 = 3;
/// The least share of all samples: it moves the p99.
const SHARE_MIN_PERCENT: u64 = 1;
/// The least number of instants at which a cause was at work.
const INSTANTS_MIN: usize = 3;
/// Ports may have run short once this share of those of all source addresses is taken.
const PORTS_TAKEN_PERCENT: u64 = 95;
/// The share of the response from which on the wait for a connection is reported.
const WAITING_FRACTION: f64 = 0.1;
/// The inverse of that share.
const WAITING_PART: u64 = 10;

/// The number of replies on each connection below which opening connections is a visible part of the work.
const REPLIES_EACH_MIN: u64 = 100;

/// Samples that stand out.
struct Peak {
    band: Band,
    /// The samples between its ends.
    inside: u64,
    /// All of them.
    samples: u64,
}

impl Peak {
    /// True if `events` can have caused most of it.
    fn is_explained_by(&self, events: u64) -> bool {
        events.saturating_mul(2) >= self.inside
    }
}

impl fmt::Display for Peak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { band: Band { first, last }, inside, samples } = self;
        write!(f, "{inside} of {samples} between {first} and {last}")
    }
}

/// A workload and its blocks.
struct Seen<'a> {
    record: &'a RunRecord,
    workload: &'a Workload,
    /// The blocks, failed ones included: their errors say the most.
    blocks: Vec<&'a Block>,
}

impl<'a> Seen<'a> {
    fn delayed_ack(&self) -> Option<Warning> {
        let peak = self.peak(DELAYED_ACK, PEAK_MIN, replies)?;
        let acks = self.counted(|tcp| tcp.delayed_acks)?;
        (peak.is_explained_by(acks) && self.comes_again(&peak)).then(|| {
            self.warning(
                "delayed_ack",
                "replies take 40 ms: a delayed ACK waits for Nagle's algorithm, or the other way round",
                format!("{peak}; the kernel counted {acks} delayed ACKs"),
                "set TCP_NODELAY at the server, or let it write each reply in one piece",
            )
        })
    }

    fn retransmissions(&self) -> Option<Warning> {
        let peak = self.peak(RETRANSMISSION, PEAK_MIN, replies)?;
        let again = self.counted(|tcp| tcp.retransmitted_segments)?;
        (peak.is_explained_by(again) && self.comes_again(&peak)).then(|| {
            self.warning(
                "retransmission",
                "replies take 200 ms: the least time after which a lost segment is sent again",
                format!("{peak}; the kernel sent {again} segments again"),
                "look for loss on the way: `nstat -az TcpRetransSegs TcpExtTCPTimeouts` before and after a run",
            )
        })
    }

    fn happy_eyeballs(&self) -> Option<Warning> {
        // The kernel does not count these, but an address that does not answer delays every connect, while a pause
        // delays only those of one burst.
        let peak = self.peak(HAPPY_EYEBALLS, PEAK_MIN, connects)?;
        let is_slow =
            |block: &&&Block| connects(block).is_some_and(|it| it.max_ns >= peak.band.first.0);
        let bursts = match self.workload.spec.load.lifetime() {
            Lifetime::Long => self.blocks.iter().filter(is_slow).count(),
            Lifetime::RoundTrips(_) => INSTANTS_MIN, // They connect all the time.
        };
        let is_usual = peak.inside.saturating_mul(2) >= peak.samples;
        (is_usual && bursts >= INSTANTS_MIN).then(|| self.warning(
            "happy_eyeballs",
            "connects take 200 to 250 ms: the time after which something on the way tries its next address",
            peak.to_string(),
            "name an address in the URL; if it then connects at once, the name's other address does not answer",
        ))
    }

    fn syn_retries(&self) -> Option<Warning> {
        let peaks: Vec<Peak> =
            SYN_RETRIES.iter().filter_map(|band| self.peak(*band, SYNS_MIN, connects)).collect();
        let again = self.counted(|tcp| tcp.retransmitted_syns)?;
        (!peaks.is_empty() && peaks.iter().all(|peak| peak.is_explained_by(again))).then(|| {
            let peaks: Vec<String> = peaks.iter().map(Peak::to_string).collect();
            self.warning(
                "syn_retries",
                "connects take 1 s or 3 s: a SYN had no answer and was sent again",
                format!("{}; the kernel sent {again} SYNs again", peaks.join("; ")),
                "the server's queue of new connections is full: raise its backlog and `sysctl -w \
                 net.core.somaxconn=4096`, or open more slowly: --connect-rate 500/s",
            )
        })
    }

    fn ephemeral_ports(&self) -> Option<Warning> {
        let limits = &self.record.environment.limits;
        let ports = u64::from(limits.port_last?.saturating_sub(limits.port_first?)) + 1;
        let sources = (self.workload.source_addresses.len() as u64).max(1);
        let ports = ports.saturating_mul(sources);
        let evidence = self.blocks.iter().find_map(|block| {
            let connections = block.connections;
            let held = match self.workload.spec.load.lifetime() {
                Lifetime::Long => connections.opened,
                Lifetime::RoundTrips(_) => 0, // Not all at once.
            };
            let taken = held.saturating_mul(100) >= ports.saturating_mul(PORTS_TAKEN_PERCENT);
            let says_so = error(block, NO_PORT).is_some();
            (connections.failed > 0 && (says_so || (taken && held <= ports))).then(|| {
                format!(
                    "{} connections opened, {} failed, {ports} ports on {sources} source addresses",
                    connections.opened, connections.failed
                )
            })
        })?;
        Some(self.warning(
            "ephemeral_ports",
            "a source address has about 28 000 ports, and they ran short",
            evidence,
            "connect from more addresses (--source-ip 127.0.0.2-127.0.0.9), or `sysctl -w \
             net.ipv4.ip_local_port_range='1024 65535'`",
        ))
    }

    /// A server that ends connections after a reply makes the next message wait for a new one.
    fn reopened(&self) -> Option<Warning> {
        let held = u64::from(self.workload.spec.load.connections().get());
        let evidence = self.blocks.iter().find_map(|block| {
            let connections = block.connections;
            let reconnects = connections.reconnects.saturating_sub(connections.failed);
            let replies = block.counts.ok;
            let is_frequent = reconnects > 0 && reconnects >= replies / REPLIES_EACH_MIN;
            // A server that restarts ends all of them once.
            let comes_again = reconnects >= INSTANTS_MIN as u64 * held;
            (is_frequent && comes_again)
                .then(|| format!("{reconnects} opened again for {replies} replies"))
        })?;
        Some(self.warning(
            "reopened_connections",
            "connections were opened again all the time, and no round trip includes that time",
            evidence,
            "let the server keep connections alive, or measure whole lives of connections with --clients",
        ))
    }

    /// Response = wait for a connection + send lag + service, provided that all messages are in all three.
    fn waiting_for_connections(&self) -> Option<Warning> {
        if matches!(self.workload.spec.load, Load::Sessions { .. }) {
            return None; // Each session has a connection of its own.
        }
        let evidence = self.blocks.iter().find_map(|block| {
            let times =
                block.open_loop.as_ref().filter(|_| block.counts.ok == block.counts.sent)?;
            let mean = |summary: &Option<Summary>| Some(summary.as_ref()?.mean_ns);
            let (response, service) = (mean(&times.response)?, mean(&times.service)?);
            let waited = response - service - mean(&times.send_lag)?;
            if !is_in_many_seconds(block) {
                return None; // A single pause anywhere makes whatever is due then wait.
            }
            // A message that waits after a gap of our own loop waits because of that gap.
            let is_ours = block.stalls.affected > block.counts.sent / 100;
            (waited >= WAITING_FRACTION * response && !is_ours).then(|| {
                format!(
                    "{} of a mean response of {}; a reply takes {}",
                    whole(waited),
                    whole(response),
                    whole(service)
                )
            })
        })?;
        let connections = self.workload.spec.load.connections().get();
        Some(self.warning(
            "waiting_for_connections",
            "messages that were due waited for a free connection: the server was slow, or there are too few",
            evidence,
            &format!("more connections (-c {}) tell the two apart", connections.saturating_mul(2)),
        ))
    }

    /// Clients that return with a ticket and get a full handshake all the same.
    fn not_resumed(&self) -> Option<Warning> {
        let wanted = self.workload.spec.tls.as_ref()?.resumption;
        let (mut full, mut resumed) = (0_u64, 0_u64);
        for seen in self.blocks.iter().filter_map(|block| block.tls.as_ref()) {
            full = full.saturating_add(seen.full);
            resumed = resumed.saturating_add(seen.resumed);
        }
        // The first client of each place has no ticket; the next may have begun before one arrived.
        let had_none = u64::from(self.workload.spec.load.connections().get()) * 2;
        let comes_again = self.workload.spec.load.lifetime() != Lifetime::Long;
        (wanted && comes_again && resumed == 0 && full > had_none).then(|| {
            self.warning(
                "not_resumed",
                "clients came with tickets, and no TLS session was resumed",
                format!("{full} full handshakes"),
                "let the server give tickets and share their keys among its processes, or say what is meant: \
                 --tls-resumption none",
            )
        })
    }

    fn payload_grows(&self) -> Option<Warning> {
        let ratio = self.blocks.iter().find_map(|block| block.wire.compression_ratio)?;
        (ratio < 1.0).then(|| {
            self.warning(
                "payload_grows",
                "compression makes these payloads longer",
                format!("by {:.2} %", (1.0 / ratio - 1.0) * 100.0),
                "a payload like those of users (--payload-kind json, text, or --payload @FILE), or no --deflate",
            )
        })
    }

    /// The samples of the blocks' `times` in `band`, if they are a peak of at least `min` samples and have the minimum
    /// share of all.
    fn peak(&self, band: Band, min: u64, times: fn(&Block) -> Option<&Summary>) -> Option<Peak> {
        let (mut all, mut samples) = (Histogram::new(), 0_u64);
        for summary in self.blocks.iter().filter_map(|block| times(block)) {
            samples = samples.saturating_add(summary.count);
            if summary.max_ns >= band.first.0 {
                all.add(&summary.histogram().ok()?);
            }
        }
        let width = band.last.0 - band.first.0;
        let inside = all.count_between(band.first, band.last);
        let below = all.count_between(Nanos(band.first.0 - width - 1), Nanos(band.first.0 - 1));
        let above = all.count_between(Nanos(band.last.0 + 1), Nanos(band.last.0 + width + 1));
        let is_peak = inside >= min && inside >= (below + above).saturating_mul(PEAK_HEIGHT);
        let is_share = inside.saturating_mul(100) >= samples.saturating_mul(SHARE_MIN_PERCENT);
        (is_peak && is_share).then_some(Peak { band, inside, samples })
    }

    /// True if one or two pauses cannot explain the slow replies of a peak: they arrived in several seconds, or are
    /// several times as many as are in flight during a pause of that length. False if the generator's own pauses
    /// explain them.
    fn comes_again(&self, peak: &Peak) -> bool {
        let is_slow = |second: &&Second| second.max_ns.is_some_and(|max| max >= peak.band.first.0);
        let seconds = self.blocks.iter().flat_map(|block| &block.series).filter(is_slow).count();
        let busiest = self.blocks.iter().map(|block| block.messages_per_s).fold(0.0, f64::max);
        let in_a_pause = (busiest * peak.band.last.as_secs_f64()).max(1.0);
        let ours: u64 = self.blocks.iter().map(|block| block.stalls.affected).sum();
        #[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
        let is_many = peak.inside as f64 >= INSTANTS_MIN as f64 * in_a_pause;
        (seconds >= INSTANTS_MIN || is_many) && !peak.is_explained_by(ours)
    }

    /// Events that the kernel counted in all blocks; `None` where it does not count them.
    fn counted(&self, of: fn(&TcpEvents) -> Option<u64>) -> Option<u64> {
        let known = self.blocks.iter().filter_map(|block| of(block.tcp.as_ref()?));
        known.reduce(u64::saturating_add)
    }

    fn warning(&self, code: &str, message: &str, evidence: String, advice: &str) -> Warning {
        let evidence = match self.record.plan.workloads.len() {
            1 => evidence,
            _ => format!("{}: {evidence}", self.workload.name()),
        };
        Warning {
            code: code.to_owned(),
            message: message.to_owned(),
            evidence,
            advice: advice.to_owned(),
        }
    }
}

/// True if messages waited for a connection in several seconds of the block, or in all if it has fewer: a percentile of
/// the response exceeded that of the service by the share that is required of the means.
fn is_in_many_seconds(block: &Block) -> bool {
    let is_longer = |(response, service): (Option<u64>, Option<u64>)| {
        let both = response.zip(service);
        both.is_some_and(|(response, service)| {
            response.saturating_sub(service) >= response / WAITING_PART
        })
    };
    let waits = |second: &&Second| {
        [(second.response_p50_ns, second.p50_ns), (second.response_p99_ns, second.p99_ns)]
            .into_iter()
            .any(is_longer)
    };
    let seconds = block.series.iter().filter(waits).count();
    seconds >= INSTANTS_MIN.min(block.series.len())
}

/// Time from sent to received.
fn replies(block: &Block) -> Option<&Summary> {
    match &block.open_loop {
        Some(times) => times.service.as_ref(),
        None => block.round_trip.as_ref(),
    }
}

fn connects(block: &Block) -> Option<&Summary> {
    block.phases.connect.as_ref()
}

/// The connect errors whose example contains `text`.
fn error<'a>(block: &'a Block, text: &str) -> Option<&'a ErrorCount> {
    block.errors.iter().find(|error| {
        error.class == ErrorClass::ConnectFailed.name() && error.example.contains(text)
    })
}

/// The text of `engine::ConnectionError` where no port was free.
const NO_PORT: &str = "no free port";

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and is shown with three digits"
)]
fn whole(ns: f64) -> Nanos {
    Nanos(ns as u64)
}
