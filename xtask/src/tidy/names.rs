//! Names of files and folders that every file system keeps apart.

use super::Complaint;
use std::collections::{BTreeMap, BTreeSet};

/// Complains about paths that differ only in the case of letters: a case-insensitive file system keeps only one of
/// them.
pub(super) fn check(paths: &BTreeSet<&str>) -> Vec<Complaint> {
    let mut first: BTreeMap<String, &str> = BTreeMap::new();
    let mut complaints = Vec::new();
    for path in paths.iter().flat_map(|path| with_folders(path)) {
        match first.get(&path.to_lowercase()) {
            None => drop(first.insert(path.to_lowercase(), path)),
            Some(other) if *other == path => {}
            Some(other) => {
                let what = format!("differs from {other} only in case; rename one of them");
                complaints.push(Complaint { path: path.to_owned(), line: 0, what });
                first.insert(path.to_lowercase(), path);
            }
        }
    }
    complaints
}

/// The folders of a path, the outermost first, and the path itself.
fn with_folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end]).chain([path])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_only_in_case_are_refused() {
        check_one(&["docs/a.md", "docs/b.md", "src/a.md"], None);
        check_one(
            &["docs/LIMITS.md", "docs/limits.md"],
            Some(("docs/limits.md", "docs/LIMITS.md")),
        );
        check_one(&["Docs/a.md", "docs/b.md", "docs/c.md"], Some(("docs", "Docs")));
        check_one(&["docs/É.md", "docs/é.md"], Some(("docs/é.md", "docs/É.md")));
    }

    /// Checks that the first of a pair is complained about, because of the second, and nothing else is.
    fn check_one(paths: &[&str], expected: Option<(&str, &str)>) {
        let found = check(&paths.iter().copied().collect());
        let found: Vec<(String, String)> =
            found.into_iter().map(|complaint| (complaint.path, complaint.what)).collect();
        let expected = expected.map(|(path, other)| {
            let what = format!("differs from {other} only in case; rename one of them");
            (path.to_owned(), what)
        });
        assert_eq!(found, Vec::from_iter(expected), "{paths:?}");
    }
}
