//! Deliveries to the tabs of a browser: a client subject reports what each tab has received, and when by the tab's
//! clock. Here that is compared with what was published, and converted to our clock.
//!
//! A tab asks for our time before and after the measurement. At the instant of our answer, its own clock was between
//! its times of the request and of the reply: each exchange bounds the offset, and all of them together give the
//! tightest bound.
//!
//! Start reading at [`Tabs::open`]; the arithmetic, which is pure, at [`Published::reached`].

use crate::plan::Measurement;
use crate::reach::Context;
use crate::signals::interruptibly;
use engine::clock::Clock;
use lab::{Client, ClockExchange, Receive, Received, Receiver, ReceiverEnd};
use record::{Block, DeliveryEnds, ErrorClass, ErrorCount, Outcome, Summary, TabDeliveries};
use spec::rooms::Part;
use spec::{Endpoint, Rooms};
use stats::Histogram;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicUsize;
use units::{Instant, Nanos};

/// The tabs of a block, which have joined their rooms.
pub(crate) struct Tabs<'a> {
    client: &'a mut Client,
    rooms: Rooms,
    time_out: Nanos,
    clock: Clock,
    /// The time since 1970 at which our clock showed zero; the same for all answers, even if the wall clock is set
    /// meanwhile.
    epoch: Nanos,
    interrupt: &'a AtomicUsize,
}

impl<'a> Tabs<'a> {
    /// Lets `client` open a tab for each receiver of `rooms` at a relay, and waits until all have joined.
    ///
    /// # Errors
    ///
    /// The reason why they have not.
    pub(crate) fn open(
        client: &'a mut Client,
        url: &Endpoint,
        measurement: &Measurement,
        rooms: Rooms,
        context: Context<'a>,
    ) -> Result<Self, String> {
        let Context { clock, interrupt } = context;
        let epoch = clock.unix(Instant::START);
        let (count, receivers) = (rooms.count.get(), rooms.receivers.get());
        let (url, patience) = (url.whole(), patience(rooms));
        let order = Receive { url, rooms: count, receivers, patience };
        interruptibly(client, interrupt, |client| {
            client.receive(&order, &mut || now(clock, epoch))
        })?;
        let time_out = measurement.workload.timeouts.reply;
        Ok(Self { client, rooms, time_out, clock, epoch, interrupt })
    }

    /// Closes the tabs; returns `block` with the deliveries to them of what was published according to `outcome`.
    ///
    /// # Errors
    ///
    /// The reason why there are no deliveries: the client does not report them, or the report cannot be true.
    pub(crate) fn close(self, outcome: &Outcome, block: Block) -> Result<Block, String> {
        let Self { client, rooms, time_out, clock, epoch, interrupt } = self;
        let patience = patience(rooms) + time_out;
        let received = interruptibly(client, interrupt, |client| {
            client.received(time_out, patience, &mut || now(clock, epoch))
        })?;
        let (from, _) = outcome.window.ok_or("the measurement did not begin")?;
        let counts = outcome.deliveries.as_ref().map(|deliveries| deliveries.counts);
        let count = counts.unwrap_or_default().published;
        let read_at = clock.now();
        let published = Published { rooms, from, count, time_out, epoch, read_at };
        let tabs = published.reached(&received);
        let tabs =
            tabs.map_err(|reason| format!("the report of the tabs is impossible: {reason}"))?;
        let error = |(count, words): &(u64, String)| ErrorCount {
            class: ErrorClass::Client.name().to_owned(),
            count: *count,
            example: words.clone(),
        };
        let errors = block.errors.into_iter().chain(received.errors.iter().map(error)).collect();
        Ok(Block { tabs: Some(tabs), errors, ..block })
    }
}

/// Our time since 1970.
fn now(clock: Clock, epoch: Nanos) -> Nanos {
    epoch + Nanos(clock.now().0)
}

/// The longest time until tabs are open, or until they are closed and have reported everything.
fn patience(rooms: Rooms) -> Nanos {
    let tabs = u64::from(rooms.count.get()) * u64::from(rooms.receivers.get());
    Nanos(tabs.saturating_mul(TAB_MAX.0)) + BESIDES_MAX
}

/// The publications of a block, and their rooms.
#[derive(Clone, Copy, Debug)]
struct Published {
    rooms: Rooms,
    /// The start of the measurement: messages that were due before it are not counted.
    from: Instant,
    /// The number of messages that count.
    count: u64,
    /// The time with which a message that did not arrive is counted.
    time_out: Nanos,
    /// The time since 1970 at which our clock showed zero.
    epoch: Nanos,
    /// The instant at which the report had been read.
    read_at: Instant,
}

impl Published {
    /// The deliveries that follow from a report of tabs.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be true.
    fn reached(&self, report: &Received) -> Result<TabDeliveries, String> {
        self.check_rooms(&report.receivers)?;
        let mut all = Counted::default();
        let tabs: Vec<(&Receiver, BTreeSet<Message>)> = report
            .receivers
            .iter()
            .map(|tab| Ok((tab, self.count(tab, &mut all)?)))
            .collect::<Result<_, String>>()?;
        let mut known: BTreeMap<u32, BTreeSet<Message>> = BTreeMap::new();
        for (tab, messages) in &tabs {
            known.entry(tab.room).or_default().extend(messages);
        }
        let somewhere = known.values().map(|messages| messages.len() as u64).sum();
        let nowhere = self.count.checked_sub(somewhere).ok_or_else(|| {
            format!("they received {somewhere} messages, but only {} were published", self.count)
        })?;
        let receivers = u64::from(self.rooms.receivers.get());
        let mut counts = DeliveryEnds { owed: self.count * receivers, ..DeliveryEnds::default() };
        for (tab, messages) in &tabs {
            let missing = (known[&tab.room].len() - messages.len()) as u64;
            counts.delivered += messages.len() as u64;
            match tab.end {
                ReceiverEnd::Cut => counts.cut += missing,
                ReceiverEnd::Ended => counts.lost += missing,
                ReceiverEnd::Waiting => counts.in_flight_at_end += missing,
            }
        }
        // It is not known in which room they were published.
        match tabs.iter().all(|(tab, _)| tab.end == ReceiverEnd::Ended) {
            true => counts.lost += nowhere * receivers,
            false => counts.in_flight_at_end += nowhere * receivers,
        }
        (0..counts.lost + counts.cut).for_each(|_| all.times.record(self.time_out));
        let mut transports: Vec<&str> = tabs.iter().map(|(tab, _)| &tab.transport[..]).collect();
        transports.sort_unstable();
        transports.dedup();
        Ok(TabDeliveries {
            tabs: tabs.len() as u64,
            transport: transports.join(", "),
            counts,
            duplicate: all.duplicate,
            reordered: all.reordered,
            foreign: all.foreign,
            delivery: Summary::of(&all.times),
            clock_offset_ns: i64::try_from(all.offset)
                .map_err(|_| format!("a clock is off by {} ns", all.offset))?,
            clock_bound_ns: all.bound.0,
        })
    }

    /// Checks that each room has as many tabs as asked for.
    fn check_rooms(&self, tabs: &[Receiver]) -> Result<(), String> {
        let (rooms, receivers) = (self.rooms.count.get(), self.rooms.receivers.get() as usize);
        let of_room = |room| tabs.iter().filter(|tab| tab.room == room).count();
        let wrong = (0..rooms).find(|room| of_room(*room) != receivers);
        if let Some(room) = wrong {
            return Err(format!("room {room} has {} tabs, not {receivers}", of_room(room)));
        }
        match tabs.iter().find(|tab| tab.room >= rooms) {
            Some(tab) => {
                Err(format!("a tab is in room {}, but the number of rooms is {rooms}", tab.room))
            }
            None => Ok(()),
        }
    }

    /// The messages of the measurement that a tab has received, each once; adds times, clock bounds and anomalies to
    /// `all`.
    fn count(&self, tab: &Receiver, all: &mut Counted) -> Result<BTreeSet<Message>, String> {
        let offset = Offset::of(tab)?;
        if offset.ahead.unsigned_abs() > all.offset.unsigned_abs() {
            all.offset = offset.ahead;
        }
        all.bound = all.bound.max(offset.bound);
        let (mut seen, mut latest) = (BTreeSet::new(), BTreeMap::new());
        for (header, heard) in &tab.messages {
            let (publisher, number) = (header.connection, header.sequence);
            let is_own = self.rooms.part_of(publisher) == Part::Publisher
                && self.rooms.room_of(publisher) == tab.room;
            if !is_own {
                all.foreign += 1;
                continue;
            }
            let due = Instant(header.due.0);
            if due < self.from {
                continue;
            }
            if !seen.insert((publisher, number)) {
                all.duplicate += 1;
                continue;
            }
            let latest = latest.entry(publisher).or_insert(number);
            all.reordered += u64::from(number < *latest);
            *latest = number.max(*latest);
            let bound = i128::from(offset.bound.0);
            let received = i128::from(heard.0) - offset.ahead - i128::from(self.epoch.0);
            let after = received - i128::from(due.0);
            if after < -bound {
                return Err(format!("a message came {} ns before it was due", -after));
            }
            if received - bound > i128::from(self.read_at.0) {
                return Err("a message arrived after the report was complete".to_owned());
            }
            all.times.record(Nanos(u64::try_from(after).unwrap_or(0)));
        }
        Ok(seen)
    }
}

/// A message: its publisher and its number.
type Message = (u32, u32);

/// Sums over tabs.
#[derive(Debug, Default)]
struct Counted {
    times: Histogram,
    duplicate: u64,
    reordered: u64,
    foreign: u64,
    /// The offset that is furthest from zero, and the largest bound.
    offset: i128,
    bound: Nanos,
}

/// The clock of a tab relative to ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offset {
    /// Its clock minus ours, in nanoseconds.
    ahead: i128,
    /// The largest error of an instant of its clock after the offset is subtracted: half of the range that the
    /// exchanges leave open, plus one step of its clock.
    bound: Nanos,
}

impl Offset {
    /// # Errors
    ///
    /// There is no exchange, or no offset fits all of them.
    fn of(tab: &Receiver) -> Result<Self, String> {
        let step = i128::from(tab.resolution.0);
        // When we answered, its clock showed an instant between these two.
        let least = |it: &ClockExchange| i128::from(it.asked.0) - step - i128::from(it.ours.0);
        let most = |it: &ClockExchange| i128::from(it.heard.0) + step - i128::from(it.ours.0);
        let least = tab.exchanges.iter().map(least).max();
        let most = tab.exchanges.iter().map(most).min();
        let (Some(least), Some(most)) = (least, most) else {
            return Err("a tab did not compare its clock with ours".to_owned());
        };
        if least > most {
            return Err(format!(
                "the clock of a tab jumped by at least {} ns against ours",
                least - most
            ));
        }
        let bound = u64::try_from((most - least + 1) / 2 + step).unwrap_or(u64::MAX);
        Ok(Self { ahead: (least + most) / 2, bound: Nanos(bound) })
    }
}

/// The longest time for one tab to open, or to report what it has received.
const TAB_MAX: Nanos = Nanos::from_secs(3);
/// The longest time for everything else.
const BESIDES_MAX: Nanos = Nanos::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;
    use load::Header;
    use spec::Conduct;
    use std::num::NonZeroU32;
    use units::Random;

    const MS: u64 = 1_000_000;
    /// The time at which our clock showed zero.
    const EPOCH: u64 = 1_700_000_000_000 * MS;
    /// The clocks of tabs are ahead by this.
    const AHEAD: u64 = 3 * MS;

    fn rooms(count: u32, publishers: u32, receivers: u32) -> Rooms {
        let some = |number| NonZeroU32::new(number).unwrap();
        let (count, publishers, receivers) = (some(count), some(publishers), some(receivers));
        Rooms { count, publishers, receivers, conduct: Conduct::default() }
    }

    fn published(rooms: Rooms, count: u64) -> Published {
        Published {
            rooms,
            from: Instant(100 * MS),
            count,
            time_out: Nanos(5000 * MS),
            epoch: Nanos(EPOCH),
            read_at: Instant(1000 * MS),
        }
    }

    /// An exchange that began at instant `at` of our clock, with the travel times to us and back.
    fn exchange(at: u64, to: u64, back: u64, ahead: u64) -> ClockExchange {
        ClockExchange {
            asked: Nanos(EPOCH + at + ahead),
            ours: Nanos(EPOCH + at + to),
            heard: Nanos(EPOCH + at + to + back + ahead),
        }
    }

    /// A tab that has received messages: publisher, number, due time, and the time from then to its arrival, in
    /// milliseconds.
    fn tab(room: u32, messages: &[(u32, u32, u64, u64)]) -> Receiver {
        let message = |(connection, sequence, due, after): &(u32, u32, u64, u64)| {
            let (connection, sequence, due) = (*connection, *sequence, Nanos(due * MS));
            let header = Header { connection, sequence, due };
            (header, Nanos(EPOCH + AHEAD + due.0 + after * MS))
        };
        Receiver {
            room,
            end: ReceiverEnd::Ended,
            resolution: Nanos(5000),
            transport: "xhr-streaming".to_owned(),
            exchanges: vec![exchange(0, MS / 10, MS / 10, AHEAD)],
            messages: messages.iter().map(message).collect(),
        }
    }

    fn report(receivers: Vec<Receiver>) -> Received {
        Received { receivers, errors: Vec::new() }
    }

    fn ends(owed: u64, [delivered, lost, cut, in_flight_at_end]: [u64; 4]) -> DeliveryEnds {
        DeliveryEnds { owed, delivered, lost, cut, in_flight_at_end }
    }

    #[test]
    fn each_message_of_the_measurement_is_counted_once_for_each_tab_and_timed_by_our_clock() {
        let one = rooms(1, 1, 2);
        // The first proves the subscription, and the second is of the warm-up.
        let before = [(0, 0, 0, 7), (0, 1, 99, 7)];
        let all = [before[0], before[1], (0, 2, 100, 4), (0, 3, 200, 8)];
        let tabs = published(one, 2).reached(&report(vec![tab(0, &all), tab(0, &all)])).unwrap();
        assert_eq!(tabs.counts, ends(4, [4, 0, 0, 0]));
        assert_eq!((tabs.tabs, &tabs.transport[..]), (2, "xhr-streaming"));
        assert_eq!((tabs.duplicate, tabs.reordered, tabs.foreign), (0, 0, 0));
        let times = tabs.delivery.unwrap();
        let near = |found: u64, ms: u64| found.abs_diff(ms * MS) <= ms * MS / 1000;
        assert!(near(times.min_ns, 4) && near(times.max_ns, 8), "{times:?}");
        assert_eq!((tabs.clock_offset_ns, tabs.clock_bound_ns), (3_000_000, 110_000));
    }

    #[test]
    fn what_did_not_come_has_the_end_of_its_tab_and_counts_with_the_time_out() {
        let had = |messages: &[u32]| -> Receiver {
            let all = messages.iter().map(|it| (0, *it, 100 + 10 * u64::from(*it), 1));
            tab(0, &all.collect::<Vec<_>>())
        };
        let ended = |end, tab: Receiver| Receiver { end, ..tab };
        let all = report(vec![
            had(&[0, 1, 2]),
            had(&[0, 2]),
            ended(ReceiverEnd::Cut, had(&[0])),
            ended(ReceiverEnd::Waiting, had(&[1, 2])),
        ]);
        let counted = |count| published(rooms(1, 1, 4), count).reached(&all).unwrap();
        assert_eq!(counted(3).counts, ends(12, [8, 1, 2, 1]));
        let times = counted(3).delivery.unwrap();
        assert_eq!(times.count, 11, "what is under way has no time");
        assert!(times.max_ns >= 4_990 * MS);
        // A message that no tab has received is lost if all tabs have received the end mark.
        assert_eq!(counted(4).counts, ends(16, [8, 1, 2, 5]));
        let both = report(vec![had(&[0]), had(&[0])]);
        let both = published(rooms(1, 1, 2), 2).reached(&both).unwrap();
        assert_eq!(both.counts, ends(4, [2, 2, 0, 0]));
    }

    #[test]
    fn what_comes_twice_or_late_or_from_another_room_is_told() {
        let two = rooms(2, 1, 1);
        // Publisher 0 is in room 0, publisher 1 in room 1; 2 and 3 are receivers.
        let first =
            [(0, 0, 100, 1), (0, 2, 120, 1), (0, 1, 110, 15), (0, 2, 120, 9), (1, 0, 100, 1)];
        let second = [(1, 0, 100, 1), (3, 0, 100, 1)];
        let all = report(vec![tab(0, &first), tab(1, &second)]);
        let tabs = published(two, 4).reached(&all).unwrap();
        assert_eq!((tabs.duplicate, tabs.reordered, tabs.foreign), (1, 1, 2));
        assert_eq!(tabs.counts, ends(4, [4, 0, 0, 0]));
    }

    #[test]
    fn a_report_that_cannot_be_true_is_refused() {
        let one = |tab: Receiver| report(vec![tab]);
        let good = tab(0, &[(0, 0, 100, 1)]);
        let early = Receiver {
            exchanges: vec![exchange(0, MS / 10, MS / 10, AHEAD + 2 * MS)],
            ..good.clone()
        };
        let jumped = Receiver {
            exchanges: vec![exchange(0, 100, 100, AHEAD), exchange(900, 100, 100, AHEAD + MS)],
            ..good.clone()
        };
        #[rustfmt::skip]
        let table = [
            (one(tab(0, &[(0, 0, 100, 1), (0, 1, 101, 1)])), "they received 2 messages, but only 1 were published"),
            (report(vec![good.clone(), good.clone()]),       "room 0 has 2 tabs, not 1"),
            (report(vec![]),                                 "room 0 has 0 tabs, not 1"),
            (report(vec![good.clone(), tab(7, &[])]),        "a tab is in room 7, but the number of rooms is 1"),
            (one(Receiver { exchanges: vec![], ..good.clone() }), "a tab did not compare its clock with ours"),
            (one(early),                                     "a message came 1000000 ns before it was due"),
            (one(jumped),                                    "the clock of a tab jumped by at least 989800 ns against ours"),
            (one(tab(0, &[(0, 0, 100, 901)])),               "a message arrived after the report was complete"),
        ];
        for (report, expected) in table {
            let found = published(rooms(1, 1, 1), 1).reached(&report).unwrap_err();
            assert_eq!(found, expected);
        }
        assert!(published(rooms(1, 1, 1), 1).reached(&one(good)).is_ok());
    }

    #[test]
    fn the_true_offset_is_within_the_bound_however_unequal_the_ways_are() {
        let mut random = Random::new(17);
        let mut below = |most: usize| random.below(most) as u64;
        for _ in 0..2000 {
            let (ahead, step) = (below(10_000_000), 1 + below(100_000));
            let ways: Vec<(u64, u64)> =
                (0..=below(20)).map(|_| (below(5_000_000), below(5_000_000))).collect();
            // A stepped clock shows an instant up to one step too early.
            let stepped = |time: Nanos| Nanos(time.0 - time.0 % step);
            let exchanges = ways.iter().zip(0_u64..).map(|((to, back), index)| {
                let it = exchange(index * 20 * MS, *to, *back, ahead);
                ClockExchange { asked: stepped(it.asked), heard: stepped(it.heard), ..it }
            });
            let exchanges = exchanges.collect();
            let tab = Receiver { exchanges, resolution: Nanos(step), ..tab(0, &[]) };
            let Offset { ahead: found, bound } = Offset::of(&tab).unwrap();
            let off = (found - i128::from(ahead)).unsigned_abs();
            assert!(off <= u128::from(bound.0), "{off} of {bound:?}: {tab:?}");
            let shortest = ways.iter().map(|(to, back)| to + back).min().unwrap();
            assert!(bound.0 <= shortest / 2 + 3 * step + 1, "{bound:?} of {shortest}, {step}");
        }
    }
}
