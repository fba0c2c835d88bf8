//! The totals of all agents, second by second: shown during a block, and never in a record.

use crate::merge::{pack, unpack};
use crate::protocol::{BlockId, Instance, Live, Name};
use record::{Merge as _, Outcome, Traffic};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The traffic in one second of a block, of one agent or of all.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Second {
    /// The block.
    pub(crate) block: BlockId,
    /// The number of seconds of the block before this one.
    pub(crate) second: u32,
    /// True if it ended in the measurement; false if in the warm-up.
    pub(crate) measures: bool,
    /// The traffic.
    pub(crate) traffic: Traffic,
}

impl Second {
    /// The message in which an agent reports it.
    pub(crate) fn told(self, agent: Name, instance: Instance, run: Name) -> Live {
        let Self { block, second, measures, traffic } = self;
        let packed: Arc<[u8]> = pack(&Outcome { traffic, ..Outcome::default() }).into();
        Live { agent, instance, block: (run, block), second, measures, packed }
    }
}

/// The second that agents are reporting.
#[derive(Debug)]
pub(crate) struct Seconds {
    run: Name,
    growing: Option<Second>,
    /// The agents that have reported their part of it.
    told: BTreeSet<Instance>,
    /// The last complete one.
    whole: Option<(BlockId, u32)>,
}

impl Seconds {
    /// Starts with no seconds of this run.
    pub(crate) fn new(run: Name) -> Self {
        Self { run, growing: None, told: BTreeSet::new(), whole: None }
    }

    /// Adds what an agent reported, and returns the seconds that are over. A second is over when all of the block's
    /// `agents` have reported it, or when a report of a later one arrives: all agents began at the same instant, so a
    /// report that is missing then is left out.
    pub(crate) fn add(&mut self, live: &Live, agents: usize) -> impl Iterator<Item = Second> {
        let over = self.over(live);
        let whole = self.growing.take_if(|_| self.told.len() == agents);
        if let Some(whole) = &whole {
            self.whole = Some((whole.block, whole.second));
            self.told.clear();
        }
        over.into_iter().chain(whole)
    }

    /// Adds what an agent reported, and returns the previous second, if that is over.
    fn over(&mut self, live: &Live) -> Option<Second> {
        let (run, block) = &live.block;
        let outcome = unpack::<Outcome>(&live.packed).ok().filter(|_| *run == self.run);
        let Some(outcome) = outcome else {
            return None; // From another run, or unreadable.
        };
        let at = |second: &Second| (second.block, second.second);
        let now = (*block, live.second);
        if self.whole >= Some(now) || self.growing.as_ref().is_some_and(|growing| now < at(growing))
        {
            return None;
        }
        let over = self.growing.take_if(|growing| at(growing) < now);
        if over.is_some() {
            self.told.clear();
        }
        let growing = self.growing.get_or_insert_with(|| Second {
            block: *block,
            second: live.second,
            measures: live.measures,
            traffic: Traffic::default(),
        });
        if self.told.insert(live.instance) {
            growing.traffic.merge(&outcome.traffic);
            growing.measures &= live.measures;
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Nanos;

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    /// A second in which this many messages were answered, each in a millisecond.
    fn second(number: u32, second: u32, ok: u64) -> Second {
        let mut traffic = Traffic::default();
        traffic.counts.ok = ok;
        (0..ok).for_each(|_| traffic.round_trips.record(Nanos::from_millis(1)));
        Second { block: BlockId { number, attempt: 0 }, second, measures: second > 0, traffic }
    }

    #[test]
    fn a_second_is_the_sum_of_all_agents_and_over_when_the_next_one_begins() {
        let mut seconds = Seconds::new(name("run"));
        let mut tell = |agent: u64, told: Second| {
            let told = told.told(name("agent"), Instance(agent), name("run"));
            let Second { block, second, measures, traffic } = seconds.add(&told, 4).next()?;
            let times = traffic.round_trips.count();
            Some((block.number, second, measures, traffic.counts.ok, times))
        };
        assert_eq!(tell(1, second(0, 0, 10)), None);
        assert_eq!(tell(2, second(0, 0, 20)), None);
        assert_eq!(tell(2, second(0, 0, 20)), None, "told twice, counted once");
        assert_eq!(tell(1, second(0, 1, 1)), Some((0, 0, false, 30, 30)));
        assert_eq!(tell(3, second(0, 0, 1000)), None, "too late");
        assert_eq!(tell(2, second(0, 1, 2)), None);
        // The next block begins; so does a repeat of one.
        assert_eq!(tell(1, second(1, 0, 5)), Some((0, 1, true, 3, 3)));
        assert_eq!(tell(2, second(0, 2, 7)), None, "of the block before");
        let again = Second { block: BlockId { number: 1, attempt: 1 }, ..second(1, 0, 6) };
        assert_eq!(tell(1, again), Some((1, 0, false, 5, 5)));
    }

    #[test]
    fn a_second_that_all_agents_have_told_is_over_at_once() {
        let mut seconds = Seconds::new(name("run"));
        let mut tell = |agent: u64, number: u32| -> Vec<(u32, u64)> {
            let told = second(0, number, 1).told(name("agent"), Instance(agent), name("run"));
            let over = seconds.add(&told, 2);
            over.map(|second| (second.second, second.traffic.counts.ok)).collect()
        };
        assert_eq!(tell(1, 0), []);
        assert_eq!(tell(2, 0), [(0, 2)]);
        assert_eq!(tell(2, 0), [], "told again");
        assert_eq!(tell(1, 1), []);
        assert_eq!(tell(1, 2), [(1, 1)], "one of them is missing");
        assert_eq!(tell(2, 2), [(2, 2)]);
    }

    #[test]
    fn what_is_of_another_run_or_cannot_be_read_is_not_shown() {
        let mut seconds = Seconds::new(name("run"));
        let told = |number| second(0, number, 1).told(name("agent"), Instance(1), name("run"));
        let mut add = |live: &Live| seconds.add(live, 2).next();
        assert_eq!(add(&told(0)), None);
        assert_eq!(add(&Live { packed: Arc::new([1, 2, 3]), ..told(1) }), None);
        let of_another = Live { block: (name("other"), told(1).block.1), ..told(1) };
        assert_eq!(add(&of_another), None);
        assert_eq!(add(&told(1)).unwrap().traffic.counts.ok, 1);
    }
}
