//! No message may go missing from the counts.

use record::{CountError, Counts};

const GOOD: Counts = Counts {
    planned: 100,
    sent: 95,
    unsent: 5,
    ok: 80,
    error: 4,
    refused: 5,
    timed_out: 3,
    in_flight_at_end: 3,
    redirects: 5,
};

#[test]
fn counts_that_add_up_pass() {
    assert_eq!(GOOD.check(), Ok(()));
    assert_eq!(Counts::default().check(), Ok(()));
}

#[test]
fn every_count_that_is_off_by_one_is_found() {
    let change: [fn(&mut Counts); 8] = [
        |counts| counts.planned += 1,
        |counts| counts.sent += 1,
        |counts| counts.unsent += 1,
        |counts| counts.ok += 1,
        |counts| counts.error += 1,
        |counts| counts.refused += 1,
        |counts| counts.timed_out += 1,
        |counts| counts.in_flight_at_end += 1,
    ];
    for (index, change) in change.into_iter().enumerate() {
        let mut counts = GOOD;
        change(&mut counts);
        let expected =
            if index < 3 { CountError::Planned(counts) } else { CountError::Sent(counts) };
        assert_eq!(counts.check(), Err(expected));
    }
}

#[test]
fn what_does_not_add_up_is_said_in_numbers() {
    let lost = Counts { ok: 79, ..GOOD }.check().unwrap_err();
    assert_eq!(
        lost.to_string(),
        "sent 95 is not ok 79 + error 4 + refused 5 + timed out 3 + in flight at the end 3"
    );
    let unplanned = Counts { planned: 99, ..GOOD }.check().unwrap_err();
    assert_eq!(unplanned.to_string(), "planned 99 is not sent 95 + unsent 5");
}

#[test]
fn sums_that_overflow_do_not_add_up() {
    let huge = Counts { planned: 1, sent: u64::MAX, unsent: 2, ..Counts::default() };
    assert_eq!(huge.check(), Err(CountError::Planned(huge)));
}
