//! Records as many messages as its argument says, as a worker of `drive` does, and nothing else: `cargo xtask bench
//! recording` counts what that costs.
//!
//! A tenth of a second at 200 000 messages a second is handed over at a time, as the series and the histogram of a
//! whole block are made from.

#![expect(
    clippy::print_stdout,
    reason = "the result is printed so that none of the work can be left out"
)]

use drive::Interval;
use load::Arrival;
use stats::Histogram;
use units::{Nanos, Random};

/// Messages of one interval.
const INTERVAL: u64 = 20_000;

fn main() {
    let messages = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(INTERVAL);
    let times = round_trips();
    let mut whole = Histogram::new();
    let mut interval = Interval::new(&CLOSED);
    let mut replies = 0;
    for (message, time) in (1..=messages).zip(times.iter().cycle()) {
        interval.traffic.bytes_sent += 70;
        interval.traffic.counts.sent += 1;
        interval.traffic.bytes_received += 66;
        interval.traffic.replies += 1;
        interval.traffic.counts.ok += 1;
        interval.traffic.round_trips.record(*time);
        if message % INTERVAL == 0 {
            whole.add(&interval.traffic.round_trips);
            replies += interval.traffic.replies;
            interval.traffic.clear();
        }
    }
    println!("{replies} messages, {:?} at most", whole.max());
}

/// Round trips as an echo on one machine has them: about 200 us, now and then ten times that.
fn round_trips() -> Vec<Nanos> {
    let mut random = Random::new(7);
    let around = |random: &mut Random, us: u64| Nanos(us * 500 + random.next_u64() % (us * 1000));
    (0..4096).map(|index| around(&mut random, if index % 100 == 0 { 2000 } else { 200 })).collect()
}

const CLOSED: Arrival =
    Arrival::Closed { in_flight: std::num::NonZeroU32::MIN, in_flight_max: None };
