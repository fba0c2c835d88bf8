//! Deliveries of what was published in rooms: their sums, and the times of messages as wholes.

use crate::measured::{Measured, merged};
use crate::number::{self, percent};
use record::{Deliveries, DeliveryCounts, Summary};
use stats::Merge;

/// The times of messages until their receivers had them, by their names; none without rooms.
pub(crate) fn times(it: &Measured<'_>) -> Vec<(&'static str, Summary)> {
    type Of = fn(&Deliveries) -> Option<&Summary>;
    let all: [(&str, Of); 4] = [
        ("first receiver", |all| all.first.as_ref()),
        ("median receiver", |all| all.median.as_ref()),
        ("last receiver", |all| all.last.as_ref()),
        ("spread", |all| all.spread.as_ref()),
    ];
    let found = |(name, of): (&'static str, Of)| {
        Some((name, merged(&it.all, |block| of(block.deliveries.as_ref()?))?))
    };
    all.into_iter().filter_map(found).collect()
}

/// The deliveries of all blocks; `None` without rooms.
pub(crate) fn counts(it: &Measured<'_>) -> Option<DeliveryCounts> {
    let mut all = it.all.iter().filter_map(|block| block.deliveries.as_ref()).peekable();
    all.peek()?;
    Some(DeliveryCounts::merged(all.map(|deliveries| &deliveries.counts)))
}

/// The sums, and what came besides.
pub(crate) fn lines(counts: &DeliveryCounts) -> Vec<String> {
    let DeliveryCounts { published, owed, delivered, lost, cut, in_flight_at_end, .. } = counts;
    let DeliveryCounts { duplicate, reordered, early, foreign, incomplete, .. } = counts;
    let mut lines = vec![
        format!("published {published}, which {owed} deliveries were owed of"),
        format!(
            "owed {owed} = delivered {delivered} + lost {lost} + cut off {cut} + in flight {in_flight_at_end}"
        ),
    ];
    if counts.missing() > 0 {
        let share = percent(number::float(counts.missing()) / number::float((*owed).max(1)));
        lines.push(format!("missing {share} of owed, of {incomplete} messages"));
    }
    lines.push(format!(
        "duplicate {duplicate}, out of order {reordered}, not owed yet {early}, foreign {foreign}"
    ));
    let broken = counts.check().err();
    lines.extend(broken.map(|error| format!("ERROR: the counts do not add up: {error}")));
    lines
}
