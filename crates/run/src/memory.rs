//! The memory budget of the generator: its share for unsent bytes, and the longest reply.
//!
//! Half of the budget is for bytes that the kernel has not accepted yet; beyond it, messages of an open loop are left
//! unsent. The other half is for partially received replies, on all connections at once. So no behaviour of a server
//! can determine how much memory we use. Pure.

use crate::RunError;
use load::{Arrival, Expect, Workload};
use record::Environment;
use units::Bytes;

/// The budget: the amount asked for, else a quarter of the memory of the machine or the container, at most 1 GiB.
pub fn budget(asked: Option<Bytes>, environment: &Environment) -> Bytes {
    let container = environment.container.as_ref().and_then(|it| it.memory_max_bytes);
    let there = [environment.memory_total_bytes, container].into_iter().flatten().min();
    asked.unwrap_or_else(|| Bytes(there.map_or(USUAL_MAX, |bytes| (bytes / 4).min(USUAL_MAX))))
}

/// The unsent bytes that each of `workers` workers may keep.
pub(crate) fn unsent_max(budget: Bytes, workers: usize) -> usize {
    usize::try_from(budget.0 / 2).unwrap_or(usize::MAX) / workers.max(1)
}

/// The longest reply that is accepted where one of `expected` bytes is due: its share of the budget if all connections
/// receive one at once, capped lower where the reply is known beforehand, and in any case at least twice the expected
/// length with framing.
pub(crate) fn reply_max(budget: Bytes, workload: &Workload, expected: usize) -> usize {
    let share = budget.0 / 2 / u64::from(workload.connections.get());
    let most = match workload.expect {
        Expect::Anything | Expect::Contains(_) | Expect::Sha256(_) => UNKNOWN_MAX,
        Expect::Echo | Expect::Exactly(_) | Expect::InSequence | Expect::Oracle => KNOWN_MAX,
    };
    let due = (expected as u64).saturating_mul(2).saturating_add(FRAMING);
    usize::try_from(share.min(most).max(due)).unwrap_or(usize::MAX)
}

/// Refuses a load whose messages in flight need more than the budget, unless it is an open loop, where messages can be
/// left unsent.
///
/// # Errors
///
/// [`RunError::InvalidRequest`].
pub(crate) fn check(budget: Bytes, workload: &Workload) -> Result<(), RunError> {
    let connections = u64::from(workload.connections.get());
    let in_flight = match workload.arrival {
        Arrival::Closed { in_flight, in_flight_max } => connections
            .saturating_mul(in_flight.get().into())
            .min(in_flight_max.map_or(u64::MAX, |max| max.get().into())),
        Arrival::Sessions { .. } | Arrival::Think { .. } => connections,
        Arrival::Open { .. } => return Ok(()),
    };
    let each = Bytes(workload.content.payload().len() as u64);
    let needed = Bytes(in_flight.saturating_mul(each.0));
    if needed <= budget {
        return Ok(());
    }
    Err(RunError::InvalidRequest(format!(
        "{in_flight} messages in flight, of {each} each, may need {needed} of memory, but --memory-max is {budget}: \
         ask for fewer connections, shorter messages, or a larger --memory-max"
    )))
}

/// The largest budget used by default.
const USUAL_MAX: u64 = 1 << 30;

/// The longest reply that is accepted where its length is unknown, and where it is known.
const UNKNOWN_MAX: u64 = 16 << 20;
const KNOWN_MAX: u64 = 1 << 20;

/// Allowance for what a protocol adds to a message.
const FRAMING: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behind_schedule::tests::{open, workload};
    use record::Container;
    use std::num::NonZeroU32;

    #[test]
    fn the_budget_is_a_quarter_of_what_there_is_and_a_gibibyte_at_most() {
        let machine = |total: Option<u64>, container: Option<u64>| Environment {
            memory_total_bytes: total,
            container: Some(Container { memory_max_bytes: container, ..Container::default() }),
            ..Environment::default()
        };
        #[rustfmt::skip]
        let table = [
            // asked,                machine,        container,      budget
            (None,                   None,           None,           1 << 30),
            (None,                   Some(64 << 30), None,           1 << 30),
            (None,                   Some(2 << 30),  None,           512 << 20),
            (None,                   Some(64 << 30), Some(1 << 30),  256 << 20),
            (Some(Bytes(3 << 30)),   Some(2 << 30),  None,           3 << 30),
        ];
        for row @ (asked, total, container, expected) in table {
            assert_eq!(budget(asked, &machine(total, container)), Bytes(expected), "{row:?}");
        }
        assert_eq!(unsent_max(Bytes(1 << 30), 4), 128 << 20);
    }

    #[test]
    fn a_reply_may_be_twice_what_is_due_and_more_if_all_connections_have_room_for_it() {
        let gibibyte = Bytes(1 << 30);
        #[rustfmt::skip]
        let table = [
            // connections, expect,           expected, longest
            (50,            Expect::Echo,     64,       1 << 20),
            (10_000,        Expect::Echo,     64,       (1 << 29) / 10_000),
            (50,            Expect::Echo,     8 << 20,  (16 << 20) + 4096),
            (1_000_000,     Expect::Echo,     64,       128 + 4096),
            (8,             Expect::Anything, 64,       16 << 20),
            (64,            Expect::Anything, 64,       8 << 20),
        ];
        for (connections, expect, expected, longest) in table {
            let connections = NonZeroU32::new(connections).unwrap();
            let asked = Workload { connections, expect, ..workload(open("1000/s")) };
            assert_eq!(reply_max(gibibyte, &asked, expected), longest, "{connections}");
        }
    }

    #[test]
    fn a_load_whose_messages_do_not_fit_is_refused_with_the_limit_and_what_to_do() {
        let closed = |in_flight: u32, in_flight_max: Option<u32>| Arrival::Closed {
            in_flight: NonZeroU32::new(in_flight).unwrap(),
            in_flight_max: in_flight_max.and_then(NonZeroU32::new),
        };
        let checked = |arrival: Arrival| {
            let connections = NonZeroU32::new(100).unwrap();
            check(Bytes(64 << 10), &Workload { connections, ..workload(arrival) })
        };
        assert!(checked(closed(10, None)).is_ok(), "64 B each");
        assert!(checked(closed(1000, Some(1024))).is_ok());
        assert!(checked(open("1M/s")).is_ok(), "what does not fit is unsent");
        assert_eq!(
            checked(closed(11, None)).unwrap_err().to_string(),
            "1100 messages in flight, of 64 B each, may need 68.8 KiB of memory, but --memory-max is 64 KiB: \
             ask for fewer connections, shorter messages, or a larger --memory-max"
        );
    }
}
