//! Results that can still be merged: over the workers and intervals of a block, and later over machines.
//!
//! They consist of integers, histograms and keyed sets only, which [`Merge`] adds up in any order. [`Block::of`]
//! derives the other values of a block (means, percentiles, rates, fairness) after the last merge.
//!
//! Left out: CPU time, memory and the network interface, which are read once per block (crate `run`).
//!
//! Start reading at [`Outcome`].

use crate::{
    Block, Connections, Counts, DeliveryOutcome, ErrorClass, ErrorCount, ExchangeOutcome, Fairness,
    Identity, IdsFound, LastReplies, OpenLoop, Phases, PushOutcome, Pushed, Second, Sessions,
    Split, Stalls, Summary, Tally, TlsSeen, Whole, Wire,
};
use serde::{Deserialize, Serialize};
use stats::{Histogram, Merge, per_message, per_second};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use units::{Instant, Nanos};

/// Everything that one worker, or several together, counted in a block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Messages that the measurement was to send: the number asked for or, if it ran for a given time, the messages due
    /// in it, which in a closed loop are those that were sent.
    pub planned: u64,
    /// Messages of the measurement: sent in it or, in an open loop, due in it.
    pub measured: Counts,
    /// Messages of the warm-up, with their ends up to the end of the block.
    pub warm_up: Counts,
    /// The time within the window that messages without a right reply were in flight, summed over all of them.
    #[serde(with = "crate::serde_forms::nanos")]
    pub unanswered: Nanos,
    /// Messages, times and bytes, summed over the intervals of the measured window; replies that arrived in the drain
    /// are in its distributions but in none of its rates. Empty in a worker's own outcome, where the intervals have it.
    pub traffic: Traffic,
    /// The measured window second by second, by machine.
    pub series: BTreeMap<Origin, BTreeSet<Second>>,
    /// Connections, from the first to the last.
    pub connections: Connections,
    /// Short-lived clients that began in the measurement and had all their round trips.
    pub clients_served: u64,
    /// Times of their phases.
    pub times: PhaseTimes,
    /// Times of the messages of the measurement that were refused: from due (closed loop: sent) to the answer.
    #[serde(with = "crate::serde_forms::histogram")]
    pub refused: Histogram,
    /// Messages of a conversation, by the position of their kind in its file; empty where there is none.
    pub exchanges: BTreeMap<u16, ExchangeOutcome>,
    /// Messages of a conversation that arrived unasked in the window, by the position of their rule in its file.
    pub pushes: BTreeMap<u16, PushOutcome>,
    /// Deliveries of published messages; `None` without rooms.
    pub deliveries: Option<DeliveryOutcome>,
    /// The ways in which the ids of replies were found; `None` where replies have no ids.
    pub ids_found: Option<IdsFound>,
    /// TLS handshakes, by what they agreed on; empty without TLS, or if none was completed.
    #[serde(with = "crate::serde_forms::pairs")]
    pub tls: BTreeMap<TlsParameters, Handshakes>,
    /// Bytes of the measured window, by layer.
    pub layers: StreamLayers,
    /// HTTP requests that sessions made in the measured window: polls, requests for streams, and posts.
    pub requests: u64,
    /// TCP segments of the measured window; `None` where no connection reports them: Unix sockets, the simulation.
    pub segments: Option<Segments>,
    /// Failures, by class.
    pub errors: BTreeMap<ErrorClass, Tally>,
    /// Replies that were lost, duplicated, late or wrong; `None` where messages carry no header.
    pub identity: Option<Identity>,
    /// Gaps in the workers' own loops during the measurement; their instants count from the start of the run.
    pub stalls: Stalls,
    /// The time of the measurement that workers spent looking whether a message was due instead of sleeping.
    #[serde(with = "crate::serde_forms::nanos")]
    pub looked: Nanos,
    /// The number of connections that live through all phases, by the replies that each got in the measurement.
    pub replies_each: BTreeMap<u64, u64>,
    /// Messages that arrived unasked; of `whole`, only the deliveries are filled in.
    pub pushed: Pushed,
    /// The last right replies of the measurement; empty unless they were asked for.
    pub last_replies: LastReplies,
    /// Partly open: the sessions that were due in the measurement.
    pub sessions: Option<Sessions>,
    /// The measurement: from the first instant at which a message that counts may have been sent (open loop: due) up
    /// to, but not including, the instant that ended it. For several workers, the span that covers all of their
    /// windows. `None` if no worker got that far.
    #[serde(with = "crate::serde_forms::window")]
    pub window: Option<(Instant, Instant)>,
}

/// The machine that a series was measured on: 0 is the one that wrote the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Origin(pub u32);

/// Messages, their times and their bytes in a span of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Messages sent in it, and those that ended in it. During warm-up, those of the warm-up; from the start of the
    /// measurement on, only those sent (open loop: due) since then.
    pub counts: Counts,
    /// Replies that arrived in it, whenever their messages were sent.
    pub replies: u64,
    /// The sum of the round trips of all those replies, for the check of Little's law.
    #[serde(with = "crate::serde_forms::nanos")]
    pub round_trip_sum: Nanos,
    /// Bytes of the transport's stream, framing and handshakes included, handed to the kernel in it.
    pub bytes_sent: u64,
    /// Bytes of the transport's stream that arrived in it.
    pub bytes_received: u64,
    /// Time from sent to received, for the messages counted as ok.
    #[serde(with = "crate::serde_forms::histogram")]
    pub round_trips: Histogram,
    /// Times that only an open loop has.
    pub open_loop: Option<OpenLoopTimes>,
}

impl Traffic {
    /// Response times in an open loop, otherwise round trips.
    pub fn times(&self) -> &Histogram {
        self.open_loop.as_ref().map_or(&self.round_trips, |times| &times.response)
    }
}

/// Times that only an open loop has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenLoopTimes {
    /// Time from due to received, for the messages counted as ok; those counted as error or timed out are in it with at
    /// least the reply timeout.
    #[serde(with = "crate::serde_forms::histogram")]
    pub response: Histogram,
    /// Time from due to sent, for the messages counted as sent, without the time in which no connection was free (HTTP
    /// carries one request at a time) or open: the generator does not cause that wait.
    #[serde(with = "crate::serde_forms::histogram")]
    pub lag: Histogram,
    /// Time from the kernel's stamp on the arrival of a reply's last byte to received, for messages that were alone on
    /// their connection.
    #[serde(with = "crate::serde_forms::histogram")]
    pub own_share: Histogram,
    /// The wait before the answer, as an oracle server reports it.
    #[serde(with = "crate::serde_forms::histogram")]
    pub true_delay: Histogram,
}

/// Times of the phases of connections: of all connections of a worker, or, where they are short-lived clients, of those
/// that began in the measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseTimes {
    /// Time from just before the connect for the exchanges before a conversation, such as a login, until the last of
    /// them was answered.
    #[serde(with = "crate::serde_forms::histogram")]
    pub before: Histogram,
    /// Time from just before the connect to the established connection; the connect for the exchanges before it is not
    /// counted.
    #[serde(with = "crate::serde_forms::histogram")]
    pub connect: Histogram,
    /// Time from the established connection to the completed TLS handshake, where no earlier session was resumed.
    #[serde(with = "crate::serde_forms::histogram")]
    pub tls_full: Histogram,
    /// The same where a session was resumed.
    #[serde(with = "crate::serde_forms::histogram")]
    pub tls_resumed: Histogram,
    /// Time from the established connection, with TLS from the end of its handshake, to the completed opening handshake
    /// of the protocol; empty for protocols without one.
    #[serde(with = "crate::serde_forms::histogram")]
    pub handshake: Histogram,
    /// Time from the sending of the first message to its whole reply.
    #[serde(with = "crate::serde_forms::histogram")]
    pub first_reply: Histogram,
    /// Short-lived clients: from just before the connect to the last whole reply.
    #[serde(with = "crate::serde_forms::histogram")]
    pub life: Histogram,
    /// Time from the start of the orderly close (short-lived clients: from the last whole reply) to its completion.
    #[serde(with = "crate::serde_forms::histogram")]
    pub close: Histogram,
}

/// Bytes of the stream by layer, in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamLayers {
    /// The split of the bytes that were sent.
    pub sent: Split,
    /// The split of the bytes that arrived.
    pub received: Split,
}

/// TCP segments of the window, pure acknowledgements included; without those that the kernel sends after our close.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segments {
    /// Segments sent on all connections: those of the sample, scaled up by its share of the connections.
    pub sent: u64,
    /// Segments that arrived, likewise.
    pub received: u64,
    /// Connections in the sample: at most 256 per worker, evenly chosen, of those open when the window began, and every
    /// 32nd of those opened in it.
    pub connections_sampled: u64,
    /// Connections that existed in the window.
    pub connections: u64,
}

/// The parameters that a TLS handshake agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TlsParameters {
    /// The version, e.g. `1.3`.
    pub version: String,
    /// The cipher suite, by its IANA name.
    pub suite: String,
    /// The group of the key exchange; `None` if there was none, as when TLS 1.2 resumes.
    pub group: Option<String>,
    /// The protocol that was chosen (ALPN); `None` if none was offered or chosen.
    pub alpn: Option<String>,
}

/// TLS handshakes that were timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshakes {
    /// Handshakes that began a new session: as many as [`PhaseTimes::tls_full`] has.
    pub full: u64,
    /// Handshakes that took up an earlier one: as many as [`PhaseTimes::tls_resumed`] has.
    pub resumed: u64,
}

impl Traffic {
    /// Empty traffic of an open or a closed loop.
    pub fn new(is_open: bool) -> Self {
        Self { open_loop: is_open.then(OpenLoopTimes::default), ..Self::default() }
    }

    /// Forgets everything; keeps the memory.
    pub fn clear(&mut self) {
        self.counts = Counts::default();
        self.forget_rates();
        self.round_trips.reset();
        if let Some(OpenLoopTimes { response, lag, own_share, true_delay }) = &mut self.open_loop {
            for times in [response, lag, own_share, true_delay] {
                times.reset();
            }
        }
    }

    /// Adds the part of `other` that is shown while a run goes on: counts, bytes, [`Traffic::times`] and the lag of an
    /// open loop. Its other times are left out, since each histogram costs some ten microseconds, five times a second.
    pub fn add_shown(&mut self, other: &Self) {
        let Self { counts, replies, bytes_sent, bytes_received, .. } = other;
        self.counts.merge(counts);
        self.replies += replies;
        self.bytes_sent += bytes_sent;
        self.bytes_received += bytes_received;
        let Some(times) = &other.open_loop else { return self.round_trips.add(&other.round_trips) };
        let own = self.open_loop.get_or_insert_default();
        own.response.add(&times.response);
        own.lag.add(&times.lag);
    }

    /// Resets what is counted by time of arrival, so that a reply of the drain is in the distributions only.
    pub fn forget_rates(&mut self) {
        (self.replies, self.round_trip_sum) = (0, Nanos::ZERO);
        (self.bytes_sent, self.bytes_received) = (0, 0);
    }
}

impl Outcome {
    /// Makes instants count from `at`, and the series that of machine `origin`, so that the outcome can be merged with
    /// those of other machines that count from the same moment of theirs.
    #[must_use]
    pub fn from_instant(mut self, at: Instant, origin: Origin) -> Self {
        let since = |instant: Instant| Instant(instant.0.saturating_sub(at.0));
        self.window = self.window.map(|(begin, end)| (since(begin), since(end)));
        for stall in &mut self.stalls.first {
            stall.at_ns = stall.at_ns.saturating_sub(at.0);
        }
        self.last_replies.count_from(at);
        let series = std::mem::take(&mut self.series).into_values().flatten();
        self.series = [(origin, series.collect())].into();
        self
    }

    /// The messages of the measurement as known at its end: `planned` splits into sent and unsent, and messages without
    /// another end are in flight.
    pub fn counts(&self) -> Counts {
        Counts {
            planned: self.planned,
            unsent: self.planned.saturating_sub(self.measured.sent),
            in_flight_at_end: self.measured.in_flight(),
            ..self.measured
        }
    }

    /// The messages of the warm-up as known at the end of the block.
    pub fn warm_up_counts(&self) -> Counts {
        let Counts { sent, unsent, .. } = self.warm_up;
        Counts {
            planned: sent.saturating_add(unsent),
            in_flight_at_end: self.warm_up.in_flight(),
            ..self.warm_up
        }
    }

    /// The length of the measured window, from the first worker's start to the last one's end.
    pub fn measured_time(&self) -> Nanos {
        self.window.map_or(Nanos::ZERO, |(begin, end)| end.since(begin))
    }

    /// The handshakes of the block, with the parameters that most full handshakes agreed on, or else most resumed ones.
    /// `None` without TLS, or if no handshake was completed.
    pub fn tls_seen(&self) -> Option<TlsSeen> {
        let (told, _) = self.tls.iter().max_by_key(|(parameters, handshakes)| {
            // A TLS 1.2 resumption has no group, and a full handshake before the window is not counted.
            (handshakes.full, parameters.group.is_some(), handshakes.resumed, Reverse(*parameters))
        })?;
        let TlsParameters { version, suite, group, alpn } = told.clone();
        let Handshakes { full, resumed } = Handshakes::merged(self.tls.values());
        Some(TlsSeen { version, suite, group, alpn, full, resumed })
    }

    /// The window second by second, of all machines together.
    fn seconds(&self) -> Vec<Second> {
        if self.series.len() <= 1 {
            return self.series.values().flatten().copied().collect();
        }
        let mut seconds: BTreeMap<u64, Second> = BTreeMap::new();
        for second in self.series.values().flatten() {
            let of_all = seconds.entry(second.at_ns / Nanos::from_secs(1).0);
            of_all.and_modify(|of_all| of_all.add(second)).or_insert(*second);
        }
        seconds.into_values().collect()
    }

    /// Errors by class, the most frequent first.
    fn errors(&self) -> Vec<ErrorCount> {
        let mut errors: Vec<ErrorCount> = self
            .errors
            .iter()
            .map(|(class, Tally { count, example, .. })| ErrorCount {
                class: class.name().to_owned(),
                count: *count,
                example: example.clone(),
            })
            .collect();
        errors.sort_by_key(|error| Reverse(error.count));
        errors
    }

    /// The spread of replies over connections; `None` if there are fewer than two.
    fn fairness(&self) -> Option<Fairness> {
        let connections: u64 = self.replies_each.values().sum();
        let (replies_min, _) = self.replies_each.first_key_value()?;
        let mut below = 0;
        let (replies_median, _) = self.replies_each.iter().find(|(_, with_so_many)| {
            below += **with_so_many;
            below > (connections - 1) / 2
        })?;
        (connections > 1).then_some(Fairness {
            connections,
            replies_min: *replies_min,
            replies_median: *replies_median,
        })
    }

    /// The stalls, timed from the start of the window.
    fn stalls(&self) -> Stalls {
        let begin = self.window.map_or(Instant::START, |(begin, _)| begin);
        let mut stalls = self.stalls.clone();
        for stall in &mut stalls.first {
            stall.at_ns = stall.at_ns.saturating_sub(begin.0);
        }
        stalls
    }

    fn open_loop(&self) -> Option<OpenLoop> {
        let OpenLoopTimes { response, lag, own_share, true_delay } =
            self.traffic.open_loop.as_ref()?;
        Some(OpenLoop {
            response: Summary::of(response),
            service: Summary::of(&self.traffic.round_trips),
            send_lag: Summary::of(lag),
            own_share: Summary::of(own_share),
            true_delay: Summary::of(true_delay),
            sessions: self.sessions,
        })
    }
}

impl PhaseTimes {
    /// The summaries of all phases but name resolution, which is timed elsewhere.
    pub fn summaries(&self) -> Phases {
        let Self { before, connect, tls_full, tls_resumed, handshake, first_reply, life, close } =
            self;
        Phases {
            resolve: None,
            before: Summary::of(before),
            connect: Summary::of(connect),
            tls_full: Summary::of(tls_full),
            tls_resumed: Summary::of(tls_resumed),
            handshake: Summary::of(handshake),
            first_reply: Summary::of(first_reply),
            close: Summary::of(close),
            life: Summary::of(life),
        }
    }
}

impl Second {
    /// Adds the same second of another machine. Clears the percentiles: those of both together are unknown.
    fn add(&mut self, other: &Self) {
        let Self { sent, unsent, ok, error, refused, timed_out, .. } = other;
        self.sent += sent;
        self.unsent += unsent;
        self.ok += ok;
        self.error += error;
        self.refused += refused;
        self.timed_out += timed_out;
        self.at_ns = self.at_ns.min(other.at_ns);
        self.duration_ns = self.duration_ns.max(other.duration_ns);
        (self.p50_ns, self.p99_ns) = (None, None);
        (self.response_p50_ns, self.response_p99_ns) = (None, None);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.response_max_ns = self.response_max_ns.max(other.response_max_ns);
        self.send_lag_max_ns = self.send_lag_max_ns.max(other.send_lag_max_ns);
    }

    /// The second that began `at` after the start of the window, and lasted for `duration`.
    pub fn of(at: Nanos, duration: Nanos, traffic: &Traffic) -> Self {
        let quantile = |times: &Histogram, q| times.quantile(q).ok().map(|time| time.0);
        let max = |times: &Histogram| times.max().map(|time| time.0);
        let Traffic { counts, round_trips, open_loop, .. } = traffic;
        let response = open_loop.as_ref().map(|times| &times.response);
        Self {
            at_ns: at.0,
            duration_ns: duration.0,
            sent: counts.sent,
            unsent: counts.unsent,
            ok: counts.ok,
            error: counts.error,
            refused: counts.refused,
            timed_out: counts.timed_out,
            p50_ns: quantile(round_trips, 0.5),
            p99_ns: quantile(round_trips, 0.99),
            max_ns: max(round_trips),
            response_p50_ns: response.and_then(|times| quantile(times, 0.5)),
            response_p99_ns: response.and_then(|times| quantile(times, 0.99)),
            response_max_ns: response.and_then(max),
            send_lag_max_ns: open_loop.as_ref().and_then(|times| max(&times.lag)),
        }
    }
}

impl Block {
    /// A block with everything that follows from `outcome`, which is merged over all workers.
    ///
    /// Does not fill in its place in the plan, CPU time, Little's law, or anything else that `outcome` does not have.
    pub fn of(outcome: &Outcome) -> Self {
        let (traffic, time) = (&outcome.traffic, outcome.measured_time());
        let (measured, warm_up) = (outcome.measured, outcome.warm_up);
        let open_loop = outcome.open_loop();
        let last = outcome.last_replies.mean();
        let mut pushed = outcome.pushed;
        pushed.whole.events = warm_up.sent + measured.sent;
        pushed.whole.replies = warm_up.ok + measured.ok;
        Self {
            measured_ns: time.0,
            counts: outcome.counts(),
            warm_up: Some(outcome.warm_up_counts()),
            connections: Connections { asked: outcome.connections.started, ..outcome.connections },
            tls: outcome.tls_seen(),
            errors: outcome.errors(),
            phases: outcome.times.summaries(),
            round_trip: Summary::of(&traffic.round_trips).filter(|_| open_loop.is_none()),
            open_loop,
            refused: Summary::of(&outcome.refused),
            exchanges: outcome.exchanges.values().map(ExchangeOutcome::summary).collect(),
            pushes: outcome.pushes.values().map(PushOutcome::summary).collect(),
            deliveries: outcome.deliveries.as_ref().map(DeliveryOutcome::summary),
            ids_found: outcome.ids_found,
            stalls: outcome.stalls(),
            identity: outcome.identity,
            fairness: outcome.fairness(),
            pushed: Some(pushed),
            last_1000_mean_ms: last.map(|last| last.whole_ms),
            last_1000_mean_ns: last.map(|last| last.ns),
            messages_per_s: per_second(traffic.replies, time),
            wire: Wire {
                sent_bytes: traffic.bytes_sent,
                received_bytes: traffic.bytes_received,
                sent_bytes_per_message: per_message(traffic.bytes_sent, traffic.replies),
                received_bytes_per_message: per_message(traffic.bytes_received, traffic.replies),
                sent: Some(outcome.layers.sent),
                received: Some(outcome.layers.received),
                requests: Some(outcome.requests),
                ..Wire::default()
            },
            series: outcome.seconds(),
            ..Self::empty(0, 0, 0, "it was not looked at")
        }
    }
}

/// Implements [`Merge`] field by field; a forgotten field does not compile.
macro_rules! merge_fields {
    ($($type:ident { $($field:ident),+ })+) => {
        $(impl Merge for $type {
            fn merge(&mut self, other: &Self) {
                let Self { $($field),+ } = other;
                $(Merge::merge(&mut self.$field, $field);)+
            }
        })+
    };
}

merge_fields! {
    Connections { asked, started, opened, failed, lost, reconnects }
    Counts { planned, sent, unsent, ok, error, refused, timed_out, in_flight_at_end, redirects }
    Handshakes { full, resumed }
    Identity { lost, duplicate, reordered, corrupted }
    IdsFound { learnt, scanned, parsed }
    OpenLoopTimes { response, lag, own_share, true_delay }
    PhaseTimes { before, connect, tls_full, tls_resumed, handshake, first_reply, life, close }
    Pushed { deliveries, notices, unexpected, payload_bytes, whole }
    Segments { sent, received, connections_sampled, connections }
    Sessions { planned, started, completed }
    StreamLayers { sent, received }
    Traffic { counts, replies, round_trip_sum, bytes_sent, bytes_received, round_trips, open_loop }
    Whole { events, replies, deliveries }
}

impl Merge for Outcome {
    fn merge(&mut self, other: &Self) {
        let Self {
            planned,
            measured,
            warm_up,
            unanswered,
            traffic,
            series,
            connections,
            clients_served,
            times,
            refused,
            exchanges,
            pushes,
            deliveries,
            ids_found,
            tls,
            layers,
            requests,
            segments,
            errors,
            identity,
            stalls,
            looked,
            replies_each,
            pushed,
            last_replies,
            sessions,
            window,
        } = other;
        self.planned.merge(planned);
        self.measured.merge(measured);
        self.warm_up.merge(warm_up);
        self.unanswered.merge(unanswered);
        self.traffic.merge(traffic);
        Merge::merge(&mut self.series, series);
        self.connections.merge(connections);
        self.clients_served.merge(clients_served);
        self.times.merge(times);
        self.refused.merge(refused);
        Merge::merge(&mut self.exchanges, exchanges);
        Merge::merge(&mut self.pushes, pushes);
        self.deliveries.merge(deliveries);
        self.ids_found.merge(ids_found);
        Merge::merge(&mut self.tls, tls);
        self.layers.merge(layers);
        self.requests.merge(requests);
        self.segments.merge(segments);
        Merge::merge(&mut self.errors, errors);
        self.identity.merge(identity);
        self.stalls.merge(stalls);
        self.looked.merge(looked);
        Merge::merge(&mut self.replies_each, replies_each);
        self.pushed.merge(pushed);
        self.last_replies.merge(last_replies);
        self.sessions.merge(sessions);
        self.window = match (self.window, *window) {
            (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
            (one, other) => one.or(other),
        };
    }
}

impl Merge for Split {
    fn merge(&mut self, other: &Self) {
        let Self {
            payload_bytes,
            encoding_bytes,
            framing_bytes,
            tls_bytes,
            tcp_ip_estimated_bytes,
        } = other;
        self.payload_bytes.merge(payload_bytes);
        self.encoding_bytes = self.encoding_bytes.wrapping_add(*encoding_bytes);
        self.framing_bytes.merge(framing_bytes);
        self.tls_bytes.merge(tls_bytes);
        self.tcp_ip_estimated_bytes.merge(tcp_ip_estimated_bytes);
    }
}

impl Merge for Stalls {
    fn merge(&mut self, other: &Self) {
        let Self { count, longest_ns, total_ns, affected, first } = other;
        self.count.merge(count);
        self.longest_ns = self.longest_ns.max(*longest_ns);
        self.total_ns.merge(total_ns);
        self.affected.merge(affected);
        self.first.extend(first);
        self.first.sort_unstable();
        self.first.truncate(Self::KEPT_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stall;

    #[test]
    fn stalls_of_all_workers_stand_in_the_order_of_time_from_the_window_on() {
        let stall = |from: u64, until: u64| Stall {
            at_ns: from,
            duration_ns: until - from,
            affected: until - from,
        };
        let of = |first: Vec<Stall>| Outcome {
            stalls: Stalls {
                count: first.len() as u64,
                longest_ns: 30,
                total_ns: 40,
                affected: 40,
                first,
            },
            window: Some((Instant(100), Instant(1000))),
            ..Outcome::default()
        };
        let workers = [of(vec![stall(90, 110), stall(400, 430)]), of(vec![stall(200, 210)])];
        let all = Block::of(&Outcome::merged(&workers)).stalls;
        let firsts: Vec<(u64, u64)> =
            all.first.iter().map(|stall| (stall.at_ns, stall.duration_ns)).collect();
        assert_eq!(firsts, [(0, 20), (100, 10), (300, 30)]);
        assert_eq!((all.count, all.longest_ns, all.total_ns, all.affected), (3, 30, 80, 80));

        let many = [of(vec![stall(100, 101); 70]), of(vec![stall(100, 101); 70])];
        assert_eq!(Outcome::merged(&many).stalls.first.len(), Stalls::KEPT_MAX);
    }

    #[test]
    fn shown_traffic_adds_up_and_leaves_out_times_that_no_view_has() {
        let (mut open, mut closed) = (Traffic::new(true), Traffic::new(false));
        for traffic in [&mut open, &mut closed] {
            (traffic.replies, traffic.bytes_sent, traffic.bytes_received) = (2, 3, 4);
            traffic.counts.ok = 1;
            traffic.round_trips.record(Nanos(10));
        }
        let times = open.open_loop.as_mut().unwrap();
        [(&mut times.response, 30), (&mut times.lag, 20), (&mut times.own_share, 5)]
            .into_iter()
            .for_each(|(times, nanos)| times.record(Nanos(nanos)));
        for traffic in [&open, &closed] {
            let mut shown = Traffic::default();
            (0..2).for_each(|_| shown.add_shown(traffic));
            let Traffic { counts, replies, bytes_sent, bytes_received, .. } = shown;
            assert_eq!((counts.ok, replies, bytes_sent, bytes_received), (2, 4, 6, 8));
            assert_eq!((shown.times().count(), shown.times().max()), (2, traffic.times().max()));
            let lags = |it: &OpenLoopTimes| (it.lag.count(), it.own_share.count());
            assert_eq!(
                shown.open_loop.as_ref().map(lags),
                traffic.open_loop.as_ref().map(|_| (2, 0))
            );
        }
    }

    #[test]
    fn fairness_needs_two_connections_and_its_median_is_one_of_them() {
        let found = |replies: &[u64]| {
            let mut outcome = Outcome::default();
            replies.iter().for_each(|count| *outcome.replies_each.entry(*count).or_default() += 1);
            outcome.fairness().map(|found| (found.replies_min, found.replies_median))
        };
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[5]), None);
        assert_eq!(found(&[5, 5]), Some((5, 5)));
        assert_eq!(found(&[9, 1]), Some((1, 1)));
        assert_eq!(found(&[9, 1, 7]), Some((1, 7)));
        assert_eq!(found(&[9, 9, 1, 9]), Some((1, 9)));
    }

    #[test]
    fn handshakes_are_added_up_and_the_parameters_are_those_of_most_full_ones() {
        let of = |suite: &str, group: Option<&str>, full, resumed| Outcome {
            tls: [(
                TlsParameters {
                    version: "1.3".to_owned(),
                    suite: suite.to_owned(),
                    group: group.map(str::to_owned),
                    alpn: Some("http/1.1".to_owned()),
                },
                Handshakes { full, resumed },
            )]
            .into(),
            ..Outcome::default()
        };
        let seen = |workers: &[Outcome]| {
            let TlsSeen { suite, group, full, resumed, .. } =
                Outcome::merged(workers).tls_seen()?;
            Some((suite, group.is_some(), full, resumed))
        };
        let (aes, chacha) = ("TLS13_AES_128_GCM_SHA256", "TLS13_CHACHA20_POLY1305_SHA256");
        let group = Some("X25519MLKEM768");
        let same = [of(aes, group, 1, 7), of(aes, group, 1, 7)];
        assert_eq!(seen(&same), Some((aes.to_owned(), true, 2, 14)));
        let different = [of(aes, group, 1, 7), of(chacha, group, 2, 0)];
        assert_eq!(seen(&different), Some((chacha.to_owned(), true, 3, 7)));
        // The only full handshake was before the window, and TLS 1.2 resumes without a group.
        let before = [of(aes, None, 0, 9), of(aes, group, 0, 0)];
        assert_eq!(seen(&before), Some((aes.to_owned(), true, 0, 9)));
        assert_eq!(seen(&[]), None);
    }
}
