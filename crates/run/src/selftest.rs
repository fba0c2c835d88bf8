//! The self-test: wirebench's measurements on this machine, compared with known truths.
//!
//! It uses servers with known delays, a server and a generator that are stopped for a known time, and a null subject,
//! which is an echo within our own process. Each check yields one line with the true and the measured values; all
//! checks together are a certificate. `stage` measures; `judge` decides with pure functions over numbers, so that it
//! can be tested that a certificate can fail.
//!
//! A check that misses is repeated up to twice, and passes if it holds two times out of three: an error of wirebench
//! recurs every time, a disturbance by other programs seldom recurs.
//!
//! Left out: storing certificates (the binary), and the same tests in virtual time, which are exact (the tests of crate
//! `drive`).
//!
//! Start reading at [`selftest`].

mod judge;
mod null;
mod stage;
mod stop;

use crate::{Host, RunError};
use judge::{Null, SendLag, StalledGenerator, StalledServer};
use record::Check;
use spec::Scheme;
use stage::{Known, Stage, StopTest};
use std::sync::atomic::AtomicUsize;
use units::Nanos;

/// The findings of a self-test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The checks, in chronological order.
    pub checks: Vec<Check>,
    /// The median round trip of one connection to the null subject.
    pub round_trip_floor: Option<Nanos>,
    /// The messages per second that one thread can exchange with it.
    pub messages_per_s_max: Option<u64>,
}

/// The progress of a self-test.
#[derive(Clone, Copy, Debug)]
pub enum Told<'a> {
    /// The measurement that starts now.
    Begins(&'static str),
    /// The check that was made.
    Checked(&'a Check),
}

/// Runs every check, which takes less than a minute, and repeats those that miss. A quantity that cannot be measured
/// fails only its own check.
///
/// # Errors
///
/// [`RunError::Interrupted`] if a signal arrived.
pub fn selftest(
    host: &Host,
    tell: &mut dyn FnMut(Told<'_>),
    interrupt: &AtomicUsize,
) -> Result<Found, RunError> {
    let stage = Stage::new(host, interrupt);
    let mut found = Found::default();
    let mut check =
        |found: &mut Found, code: &'static str, begins: &'static str, measure: Measure<'_>| {
            tell(Told::Begins(begins));
            let check = two_of_three(|| settled(code, measure(found)))?;
            tell(Told::Checked(&check));
            found.checks.push(check);
            Ok::<(), RunError>(())
        };
    check(&mut found, Null::CODE, "the null subject: floor and ceiling", &|found| {
        let null = stage.null()?;
        found.round_trip_floor = Some(null.floor);
        found.messages_per_s_max = Some(null.messages_per_s);
        Ok(null.judge())
    })?;
    check(&mut found, SendLag::CODE, "how late messages are sent", &|_| {
        Ok(stage.send_lag()?.judge())
    })?;
    for known in Known::ALL {
        check(&mut found, known.code(), known.about(), &|_| {
            Ok(stage.delays(known)?.judge(known.code()))
        })?;
    }
    check(&mut found, StalledServer::CODE, "a server that is stopped for a second", &|_| {
        Ok(stage.stalled_server(&StopTest::short())?.judge(StalledServer::CODE))
    })?;
    check(&mut found, StalledGenerator::CODE, "a generator that is stopped for a second", &|_| {
        Ok(stage.stalled_generator()?.judge())
    })?;
    Ok(found)
}

/// Runs the full stall test on every transport: 1000 messages per second for 20 s, with the server stopped for 2 s of
/// them. Takes about four minutes.
///
/// # Errors
///
/// [`RunError::Interrupted`] if a signal arrived.
pub fn stall_tests(
    host: &Host,
    tell: &mut dyn FnMut(Told<'_>),
    interrupt: &AtomicUsize,
) -> Result<Vec<Check>, RunError> {
    let stage = Stage::new(host, interrupt);
    let mut checks = Vec::new();
    for scheme in Scheme::echoes() {
        tell(Told::Begins(scheme.name()));
        let code = format!("{}_{}", StalledServer::CODE, scheme.name().replace('-', "_"));
        let measured = stage.stalled_server(&StopTest::full(scheme));
        let check = settled(&code, measured.map(|measured| measured.judge(&code)))?;
        tell(Told::Checked(&check));
        checks.push(check);
    }
    Ok(checks)
}

type Measure<'a> = &'a dyn Fn(&mut Found) -> Result<Check, RunError>;

/// Makes the check, and repeats it if it misses: the majority of three decides, and the evidence covers every
/// repetition.
fn two_of_three(mut check: impl FnMut() -> Result<Check, RunError>) -> Result<Check, RunError> {
    let first = check()?;
    if first.passed {
        return Ok(first);
    }
    let second = check()?;
    let (passed, made) = match second.passed {
        false => (false, vec![first, second]),
        true => {
            let third = check()?;
            (third.passed, vec![first, second, third])
        }
    };
    let held = made.iter().filter(|check| check.passed).count();
    let each: Vec<&str> = made.iter().map(|check| &check.evidence[..]).collect();
    let evidence = format!("held in {held} of {} tries: {}", made.len(), each.join("; then "));
    Ok(Check { code: made[0].code.clone(), passed, evidence })
}

/// Turns a check that could not be made into a failed one; an interruption ends everything.
fn settled(code: &str, check: Result<Check, RunError>) -> Result<Check, RunError> {
    match check {
        Err(error @ RunError::Interrupted { .. }) => Err(error),
        Err(error) => Ok(Check {
            code: code.to_owned(),
            passed: false,
            evidence: format!("FAILS: could not be measured, {error}"),
        }),
        Ok(check) => Ok(check),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_misses_once_is_decided_by_two_more() {
        let decided = |outcomes: &[bool]| {
            let mut left = outcomes.iter();
            let check = two_of_three(|| {
                let passed = *left.next().expect("no more than are needed");
                let evidence = if passed { "p99 90 us" } else { "FAILS: p99 153 us" }.to_owned();
                Ok(Check { code: "send_lag".to_owned(), passed, evidence })
            });
            assert_eq!(left.next(), None, "none is left out");
            let check = check.unwrap();
            (check.passed, check.evidence)
        };
        #[rustfmt::skip]
        let table: [(&[bool], bool, &str); 4] = [
            (&[true],               true,  "p99 90 us"),
            (&[false, false],       false, "held in 0 of 2 tries: FAILS: p99 153 us; then FAILS: p99 153 us"),
            (&[false, true, true],  true,  "held in 2 of 3 tries: FAILS: p99 153 us; then p99 90 us; then p99 90 us"),
            (&[false, true, false], false, "held in 1 of 3 tries: FAILS: p99 153 us; then p99 90 us; then FAILS: p99 153 us"),
        ];
        for (outcomes, passed, evidence) in table {
            assert_eq!(decided(outcomes), (passed, evidence.to_owned()), "{outcomes:?}");
        }
    }

    #[test]
    fn an_interruption_ends_a_check_that_missed() {
        let mut made = 0;
        let ended = two_of_three(|| {
            made += 1;
            match made {
                1 => Ok(Check::default()),
                _ => Err(RunError::Interrupted { signal: 2 }),
            }
        });
        assert!(matches!(ended, Err(RunError::Interrupted { .. })) && made == 2, "{ended:?}");
    }
}
