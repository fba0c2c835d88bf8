//! Fleets in virtual time: controllers and agents on a bus that does everything that a bus can do to them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::cast_possible_wrap, reason = "numbers of a simulation are small")]

mod seeds;
mod sim;
