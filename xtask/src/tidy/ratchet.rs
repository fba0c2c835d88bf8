//! Rules that the code does not keep everywhere yet: the number of slips that a crate has left may fall but never rise.
//! Unsafe code is counted by file.
//!
//! A crate or file without a row keeps the rule. A row that is not needed any more is refused: take it out.

use super::{Complaint, File};
use std::collections::BTreeMap;
use std::fmt;

/// A rule that is being introduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    /// Files of a crate do not import each other in a circle.
    Circles,
    /// Only `wirebench` reads the environment.
    Environment,
    /// Doc comments open neither with an indirect question nor in the middle of a sentence.
    Openings,
    /// Tests do not sleep.
    Sleeps,
    /// Code is safe.
    Unsafe,
}

/// One place that does not keep a rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Slip {
    room: String,
    complaint: Complaint,
}

impl Slip {
    pub(super) fn new(file: &File, line: usize, what: impl Into<String>) -> Self {
        Self { room: room(&file.path), complaint: file.complain(line, what) }
    }

    /// A place that is counted for its file alone.
    pub(super) fn in_file(file: &File, line: usize, what: impl Into<String>) -> Self {
        Self { room: file.path.clone(), ..Self::new(file, line, what) }
    }

    #[cfg(test)]
    pub(super) fn line(&self) -> usize {
        self.complaint.line
    }
}

impl fmt::Display for Slip {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.complaint.fmt(formatter)
    }
}

/// The crate of a path, or the first folder of one that is in no crate.
fn room(path: &str) -> String {
    let inside = path.strip_prefix("crates/").unwrap_or(path);
    inside.split('/').next().unwrap_or_default().to_owned()
}

/// Checks the slips of a rule against [`ALLOWED`].
pub(super) fn check(rule: Rule, slips: Vec<Slip>) -> Vec<Complaint> {
    let of_rule = ALLOWED.iter().filter(|row| row.0 == rule);
    against(rule, slips, of_rule.map(|(_, room, count)| (*room, *count)).collect())
}

fn against(rule: Rule, slips: Vec<Slip>, mut allowed: BTreeMap<&str, usize>) -> Vec<Complaint> {
    let mut by_room: BTreeMap<String, Vec<Complaint>> = BTreeMap::new();
    for slip in slips {
        by_room.entry(slip.room).or_default().push(slip.complaint);
    }
    let mut complaints = Vec::new();
    for (room, found) in by_room {
        let allowed = allowed.remove(room.as_str()).unwrap_or_default();
        if found.len() > allowed {
            let too_many =
                format!("{rule:?}: `{room}` has {}, at most {allowed} are allowed", found.len());
            complaints.extend(found);
            complaints.push(of_table(too_many));
        }
    }
    complaints.extend(
        allowed
            .into_keys()
            .map(|room| of_table(format!("{rule:?}: `{room}` has none left: take out its row"))),
    );
    complaints
}

fn of_table(what: String) -> Complaint {
    Complaint { path: "xtask/src/tidy/ratchet.rs".to_owned(), line: 0, what }
}

/// The number of places that are left, by rule and by crate or file.
#[rustfmt::skip]
const ALLOWED: &[(Rule, &str, usize)] = &[
    (Rule::Sleeps, "lab", 1),
    (Rule::Sleeps, "wirebench", 1),
    (Rule::Unsafe, "crates/drive/tests/it/allocation.rs", 9),
    (Rule::Unsafe, "crates/engine/src/clock.rs", 2),
    (Rule::Unsafe, "crates/engine/src/process.rs", 1),
    (Rule::Unsafe, "crates/engine/src/socket.rs", 6),
    (Rule::Unsafe, "crates/engine/src/thread.rs", 1),
    (Rule::Unsafe, "crates/wire/tests/it/websocket/allocation.rs", 7),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    fn check_count(count: usize, allowed: &[(&'static str, usize)]) -> Vec<String> {
        let file = file("crates/drive/src/lib.rs", "");
        let slips = (1..=count).map(|line| Slip::new(&file, line, "slip")).collect();
        let complaints = against(Rule::Openings, slips, allowed.iter().copied().collect());
        complaints.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_left_may_fall_and_not_rise() {
        assert_eq!(check_count(0, &[]), [""; 0]);
        assert_eq!(check_count(1, &[("drive", 2)]), [""; 0]);
        assert_eq!(check_count(2, &[("drive", 2)]), [""; 0]);
        let too_many = check_count(2, &[("drive", 1)]);
        assert_eq!(too_many[0], "crates/drive/src/lib.rs:1: slip");
        assert!(too_many[2].ends_with(": Openings: `drive` has 2, at most 1 are allowed"));
        assert_eq!(check_count(1, &[]).len(), 2);
    }

    #[test]
    fn a_row_without_need_is_refused() {
        let complaints = check_count(0, &[("drive", 1)]);
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].ends_with(": Openings: `drive` has none left: take out its row"));
    }

    #[test]
    fn paths_outside_of_crates_belong_to_their_first_folder() {
        for (path, of) in [
            ("crates/wire/src/lib.rs", "wire"),
            ("xtask/src/main.rs", "xtask"),
            ("fuzz/fuzz_targets/a.rs", "fuzz"),
        ] {
            assert_eq!(room(path), of);
        }
    }
}
