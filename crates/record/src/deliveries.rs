//! Deliveries: what became of each message that was published in a room, at each of its receivers.
//!
//! The times of single deliveries are the response times of a block ([`OpenLoop::response`](crate::OpenLoop)); this
//! module has the counts, which add up exactly, and the times of entire messages.

use crate::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{Histogram, Merge};
use std::fmt;
use units::Nanos;

/// Deliveries by their end.
///
/// A message is owed to every receiver of its room whose subscription was proved when the message was handed to the
/// kernel: a message of the room had reached it. Those of the warm-up, and those that prove subscriptions, are not
/// counted. Receivers that were slow on purpose, or gone, have counts of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryCounts {
    /// Messages that were published: handed to the kernel.
    pub published: u64,
    /// Deliveries that are owed: for each of these messages the receivers that its room had then.
    pub owed: u64,
    /// Deliveries that came, each counted once.
    pub delivered: u64,
    /// Deliveries that did not come although a later message of the same publisher came to the same receiver.
    pub lost: u64,
    /// Deliveries that had not come when the connection of their receiver ended.
    pub cut: u64,
    /// Deliveries that had not come when the drain was over, and no later message of the same publisher either.
    pub in_flight_at_end: u64,
    /// Deliveries that came once more.
    pub duplicate: u64,
    /// Deliveries that came after a later message of the same publisher.
    pub reordered: u64,
    /// Deliveries that came and were not owed: their receiver was proved after they had been sent.
    pub early: u64,
    /// Deliveries that came from another room, or from no message that was ever sent; whenever they came. An uncounted
    /// message of the same room that outlasts the drain of the block before is none.
    pub foreign: u64,
    /// Messages of which a delivery that was owed did not come.
    pub incomplete: u64,
    /// Deliveries to receivers that read nothing while it was measured; in none of the counts above.
    #[serde(default, skip_serializing_if = "DeliveryEnds::is_none")]
    pub slow: DeliveryEnds,
    /// Deliveries to receivers that had been there and were gone: what came of them was kept for them.
    #[serde(default, skip_serializing_if = "DeliveryEnds::is_none")]
    pub away: DeliveryEnds,
    /// Deliveries to receivers that connected again, or that we tore off less than 250 ms later, or that waited in the
    /// server when we killed it, however long: nobody's debt.
    #[serde(default, skip_serializing_if = "DeliveryEnds::is_none")]
    pub edge: DeliveryEnds,
    /// Connections of receivers that we tore off, one after the other.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub absences: u64,
    /// Connections of receivers that we tore off at the same instant, or that ended with the server that we killed;
    /// where that was a part of it, those of all that were there, which have stayed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub torn_off: u64,
    /// The receivers among them that were proved again when the measurement was over; where they stayed, those that had
    /// received a message that was due once the part was gone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub recovered: u64,
    /// Connects of receivers that came back.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u64,
    /// Returns of receivers that their server has restored: what was published while they were gone is owed to them as
    /// if they had stayed. Over Socket.IO, by its connection state recovery.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restored: u64,
    /// Deliveries of `delivered` that the server had kept for receivers that were gone, and sent when they came back.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub caught_up: u64,
    /// Messages whose acknowledgement had not come when we killed the server: among those in flight at the end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unacknowledged: u64,
}

/// Deliveries of one kind by their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryEnds {
    /// Deliveries that are owed.
    pub owed: u64,
    /// Deliveries that came, each counted once.
    pub delivered: u64,
    /// Deliveries that did not come, although something later did, or nothing was to be waited for.
    pub lost: u64,
    /// Deliveries that had not come when the connection of their receiver ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// Deliveries that had not come when the drain was over, and nothing later either.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub in_flight_at_end: u64,
}

impl DeliveryEnds {
    /// True if there are none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Deliveries that were owed and did not arrive.
    pub const fn missing(&self) -> u64 {
        self.lost.saturating_add(self.cut).saturating_add(self.in_flight_at_end)
    }

    /// Checks that each has one end.
    ///
    /// # Errors
    ///
    /// [`DeliveryError`] if the identity does not hold.
    pub fn check(&self) -> Result<(), DeliveryError> {
        let parts = [self.delivered, self.lost, self.cut, self.in_flight_at_end];
        let sum = parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(*part));
        if sum == Some(self.owed) { Ok(()) } else { Err(DeliveryError(*self)) }
    }
}

impl fmt::Display for DeliveryEnds {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { owed, lost, cut, in_flight_at_end, .. } = *self;
        write!(
            to,
            "of {owed} deliveries {lost} lost, {cut} cut off, {in_flight_at_end} still under way at the end"
        )
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl DeliveryCounts {
    /// Deliveries to receivers that were present and reading.
    pub const fn present(&self) -> DeliveryEnds {
        let Self { owed, delivered, lost, cut, in_flight_at_end, .. } = *self;
        DeliveryEnds { owed, delivered, lost, cut, in_flight_at_end }
    }

    /// Deliveries of all kinds: published messages, times the receivers that their rooms ever had.
    pub fn whole(&self) -> u64 {
        [self.owed, self.slow.owed, self.away.owed, self.edge.owed].iter().sum()
    }

    /// Deliveries that were owed and did not arrive.
    pub const fn missing(&self) -> u64 {
        self.present().missing()
    }

    /// Checks that every delivery is counted once: owed = delivered + lost + cut + in flight at the end, of each kind.
    ///
    /// # Errors
    ///
    /// [`DeliveryError`] if the identity does not hold.
    pub fn check(&self) -> Result<(), DeliveryError> {
        let kinds = [self.present(), self.slow, self.away, self.edge];
        kinds.iter().try_for_each(DeliveryEnds::check)
    }
}

/// Owed deliveries that have no end, or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "owed {} is not delivered {} + lost {} + cut {} + in flight at the end {}",
    .0.owed, .0.delivered, .0.lost, .0.cut, .0.in_flight_at_end
)]
pub struct DeliveryError(DeliveryEnds);

/// Deliveries while they are counted.
///
/// A room belongs to one worker, so the receivers of a message are counted in one place, and the outcomes of workers
/// add up. Machines that share rooms each count their own receivers of a message, and time the first, the median and
/// the last of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeliveryOutcome {
    /// The deliveries.
    pub counts: DeliveryCounts,
    /// The samples of [`Deliveries::first`].
    #[serde(with = "crate::serde_forms::histogram")]
    pub first: Histogram,
    /// The samples of [`Deliveries::median`].
    #[serde(with = "crate::serde_forms::histogram")]
    pub median: Histogram,
    /// The samples of [`Deliveries::last`].
    #[serde(with = "crate::serde_forms::histogram")]
    pub last: Histogram,
    /// The samples of [`Deliveries::spread`].
    #[serde(with = "crate::serde_forms::histogram")]
    pub spread: Histogram,
    /// The samples of [`Deliveries::replayed`].
    #[serde(default, with = "crate::serde_forms::histogram")]
    pub replayed: Histogram,
    /// The samples of [`Deliveries::returned`].
    #[serde(default, with = "crate::serde_forms::histogram")]
    pub returned: Histogram,
    /// The samples of [`Deliveries::recovered`].
    #[serde(default, with = "crate::serde_forms::histogram")]
    pub recovered: Histogram,
    /// [`Deliveries::missed`].
    #[serde(default)]
    pub missed: Vec<u64>,
    /// The sums behind [`Deliveries::seconds`].
    #[serde(default)]
    pub seconds: Vec<DeliverySums>,
    /// The most by which the clocks of a publisher and a receiver differ, where machines share rooms: each machine
    /// leaves zero, and the merge of their parts fills it in. `None`: one clock times each delivery.
    #[serde(default)]
    pub clock_bound: Option<Nanos>,
}

/// Messages of one second of the measured window while they are counted: sums, which add up in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliverySums {
    /// [`DeliverySecond::messages`].
    pub messages: u64,
    /// The sum of their times until the first receiver had them.
    #[serde(with = "crate::serde_forms::nanos")]
    pub first: Nanos,
    /// The sum of their times until the last receiver had them.
    #[serde(with = "crate::serde_forms::nanos")]
    pub last: Nanos,
}

/// Messages that were due in one second of the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeliverySecond {
    /// Messages that were due in it, and owed to one receiver at least that read. Machines that share rooms each count
    /// those that are owed to receivers of theirs.
    pub messages: u64,
    /// The mean of their [`Deliveries::first`]; `null` without messages.
    pub first_mean_ns: Option<f64>,
    /// The mean of their [`Deliveries::last`]; `null` without messages.
    pub last_mean_ns: Option<f64>,
}

/// Deliveries of a block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deliveries {
    /// The deliveries by their end.
    pub counts: DeliveryCounts,
    /// Time from the instant at which a message was due until its first receiver had it. Where none ever had it
    /// (likewise below): until it was given up, and at least the reply timeout.
    pub first: Option<Summary>,
    /// Time until half of its receivers had it.
    pub median: Option<Summary>,
    /// Time until its last receiver had it.
    pub last: Option<Summary>,
    /// Time from the first receiver to the last, of messages that all receivers had.
    pub spread: Option<Summary>,
    /// Time from due until a receiver had it that was away when it was published, or that its server restored later:
    /// the deliveries that were caught up are in the delivery times of all as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<Summary>,
    /// Time from the instant at which a receiver was to come back until a message of its room had reached it, or its
    /// server had restored it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned: Option<Summary>,
    /// Time from the instant at which all receivers were torn off, or their server was killed, until a message of its
    /// room had reached each of them, or its server had restored it, without those that were not back when the
    /// measurement was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered: Option<Summary>,
    /// Deliveries that did not come, by the second of the measured window in which their messages were due: to those
    /// that were there, gone, or between the two, and not to those that read nothing on purpose. Seconds behind the
    /// last that has some are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<u64>,
    /// The messages by the second of the measured window in which they were due: the first entry is the first second,
    /// and a second without messages has an entry too. Seconds behind the last that has some are left out; empty in
    /// records from before it was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seconds: Vec<DeliverySecond>,
    /// The most by which all of these times, and those of deliveries, may be wrong, because machines that share rooms
    /// have clocks of their own; absent: each delivery is timed by one clock. The first, the median and the last
    /// receiver are then those of each machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_bound_ns: Option<u64>,
}

impl Deliveries {
    /// Time from the instant at which all receivers were torn off, or their server was killed, until 99 % of them were
    /// proved again: the recovery time of a block.
    ///
    /// # Errors
    ///
    /// The reason why there is none: fewer than 99 % were back when the measurement was over, or nobody was gone.
    pub fn recovery(&self) -> Result<Nanos, String> {
        let DeliveryCounts { torn_off, recovered, .. } = self.counts;
        if torn_off == 0 {
            return Err("nobody was torn off, and no server was killed".to_owned());
        }
        let most = torn_off.saturating_mul(99).div_ceil(100);
        let times = self.recovered.as_ref().and_then(|times| times.histogram().ok());
        times.and_then(|times| times.at_place(most)).ok_or_else(|| {
            format!(
                "{recovered} of {torn_off} receivers were back when the measurement was over: it needs 99 % of them"
            )
        })
    }
}

impl DeliveryOutcome {
    /// Counts a delivery that did not arrive, of a message that was due `after` the start of the measured window.
    pub fn missed_at(&mut self, after: Nanos) {
        *of_second(&mut self.missed, after) += 1;
    }

    /// Counts a message that was due `after` the start of the measured window, and took `first` until its first
    /// receiver had it and `last` until its last one.
    pub fn message_at(&mut self, after: Nanos, first: Nanos, last: Nanos) {
        of_second(&mut self.seconds, after).merge(&DeliverySums { messages: 1, first, last });
    }

    /// The same in the form of a record.
    pub fn summary(&self) -> Deliveries {
        let Self { counts, first, median, last, spread, replayed, returned, recovered, .. } = self;
        Deliveries {
            counts: *counts,
            first: Summary::of(first),
            median: Summary::of(median),
            last: Summary::of(last),
            spread: Summary::of(spread),
            replayed: Summary::of(replayed),
            returned: Summary::of(returned),
            recovered: Summary::of(recovered),
            missed: self.missed.clone(),
            seconds: self.seconds.iter().map(DeliverySums::means).collect(),
            clock_bound_ns: self.clock_bound.map(|bound| bound.0),
        }
    }
}

impl DeliverySums {
    /// The same in the form of a record.
    fn means(&self) -> DeliverySecond {
        #[expect(clippy::cast_precision_loss, reason = "a mean, which is shown with three digits")]
        let mean = |sum: Nanos| (self.messages > 0).then(|| sum.0 as f64 / self.messages as f64);
        DeliverySecond {
            messages: self.messages,
            first_mean_ns: mean(self.first),
            last_mean_ns: mean(self.last),
        }
    }
}

/// Returns the entry of the second that contains the instant `after` the start of the first one; grows the list up to
/// it.
fn of_second<T: Clone + Default>(seconds: &mut Vec<T>, after: Nanos) -> &mut T {
    let second = usize::try_from(after.0 / Nanos::from_secs(1).0).unwrap_or(usize::MAX);
    if second >= seconds.len() {
        seconds.resize(second.saturating_add(1), T::default());
    }
    &mut seconds[second]
}

/// Adds each second of `other` to the same second of `seconds`.
fn merge_seconds<T: Clone + Default + Merge>(seconds: &mut Vec<T>, other: &[T]) {
    if seconds.len() < other.len() {
        seconds.resize(other.len(), T::default());
    }
    seconds.iter_mut().zip(other).for_each(|(sum, one)| sum.merge(one));
}

impl Merge for DeliverySums {
    fn merge(&mut self, other: &Self) {
        let Self { messages, first, last } = other;
        self.messages.merge(messages);
        self.first.merge(first);
        self.last.merge(last);
    }
}

impl Merge for DeliveryOutcome {
    fn merge(&mut self, other: &Self) {
        let Self {
            counts,
            first,
            median,
            last,
            spread,
            replayed,
            returned,
            recovered,
            missed,
            seconds,
            clock_bound,
        } = other;
        self.counts.merge(counts);
        self.first.merge(first);
        self.median.merge(median);
        self.last.merge(last);
        self.spread.merge(spread);
        self.replayed.merge(replayed);
        self.returned.merge(returned);
        self.recovered.merge(recovered);
        merge_seconds(&mut self.missed, missed);
        merge_seconds(&mut self.seconds, seconds);
        self.clock_bound = self.clock_bound.max(*clock_bound);
    }
}

impl Merge for DeliveryCounts {
    fn merge(&mut self, other: &Self) {
        let Self {
            published,
            owed,
            delivered,
            lost,
            cut,
            in_flight_at_end,
            duplicate,
            reordered,
            early,
            foreign,
            incomplete,
            slow,
            away,
            edge,
            absences,
            torn_off,
            recovered,
            attempts,
            restored,
            caught_up,
            unacknowledged,
        } = other;
        self.published.merge(published);
        self.owed.merge(owed);
        self.delivered.merge(delivered);
        self.lost.merge(lost);
        self.cut.merge(cut);
        self.in_flight_at_end.merge(in_flight_at_end);
        self.duplicate.merge(duplicate);
        self.reordered.merge(reordered);
        self.early.merge(early);
        self.foreign.merge(foreign);
        self.incomplete.merge(incomplete);
        self.slow.merge(slow);
        self.away.merge(away);
        self.edge.merge(edge);
        self.absences.merge(absences);
        self.torn_off.merge(torn_off);
        self.recovered.merge(recovered);
        self.attempts.merge(attempts);
        self.restored.merge(restored);
        self.caught_up.merge(caught_up);
        self.unacknowledged.merge(unacknowledged);
    }
}

impl Merge for DeliveryEnds {
    fn merge(&mut self, other: &Self) {
        let Self { owed, delivered, lost, cut, in_flight_at_end } = other;
        self.owed.merge(owed);
        self.delivered.merge(delivered);
        self.lost.merge(lost);
        self.cut.merge(cut);
        self.in_flight_at_end.merge(in_flight_at_end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_parts_add_up_to_means_that_are_weighted_by_messages() {
        let mut one = DeliveryOutcome::default();
        for (after, first, last) in [(0, 10, 100), (999_999_999, 20, 300), (2_000_000_000, 7, 9)] {
            one.message_at(Nanos(after), Nanos(first), Nanos(last));
        }
        let mut other = DeliveryOutcome::default();
        for (after, first, last) in [(500_000_000, 60, 800), (4_200_000_000, 5, 6)] {
            other.message_at(Nanos(after), Nanos(first), Nanos(last));
        }
        let second = |messages, first: f64, last: f64| DeliverySecond {
            messages,
            first_mean_ns: Some(first),
            last_mean_ns: Some(last),
        };
        let none = DeliverySecond::default();
        assert_eq!(one.summary().seconds, [second(2, 15.0, 200.0), none, second(1, 7.0, 9.0)]);
        // The first second has three messages: the mean of the two parts' means would be 37.5 and 500.
        let expected =
            [second(3, 30.0, 400.0), none, second(1, 7.0, 9.0), none, second(1, 5.0, 6.0)];
        for (mut sum, part) in [(one.clone(), &other), (other.clone(), &one)] {
            sum.merge(part);
            assert_eq!(sum.summary().seconds, expected);
            let sent = serde_json::to_string(&sum).unwrap();
            assert_eq!(serde_json::from_str::<DeliveryOutcome>(&sent).unwrap(), sum);
        }
    }

    #[test]
    fn every_delivery_that_is_owed_has_one_end() {
        let all = DeliveryCounts {
            owed: 20,
            delivered: 14,
            lost: 3,
            cut: 2,
            in_flight_at_end: 1,
            ..DeliveryCounts::default()
        };
        assert_eq!(all.check(), Ok(()));
        assert_eq!(all.missing(), 6);
        let away = DeliveryEnds { owed: 7, delivered: 6, ..DeliveryEnds::default() };
        for (wrong, owed) in [
            (DeliveryCounts { owed: 21, ..all }, 21),
            (DeliveryCounts { delivered: 15, ..all }, 20),
            (DeliveryCounts { lost: u64::MAX, ..all }, 20),
            (DeliveryCounts { away, ..all }, 7),
        ] {
            let error = wrong.check().unwrap_err().to_string();
            assert!(error.contains(&format!("owed {owed} is not")), "{error}");
        }
    }
}
