//! Which crate may import which: the table of ARCHITECTURE.md, as data.

use super::{Complaint, File};

/// A crate, its floor in ARCHITECTURE.md, and what it may import.
struct Room {
    name: &'static str,
    floor: u8,
    may_import: &'static [&'static str],
}

/// The house, from the ground up. A new arrow is a decision: it is written into ARCHITECTURE.md and then here.
const HOUSE: &[Room] = &[
    Room { name: "units", floor: 1, may_import: &[] },
    Room { name: "spec", floor: 2, may_import: &["units"] },
    Room { name: "wire", floor: 2, may_import: &["units", "spec"] },
    Room { name: "load", floor: 2, may_import: &["units", "spec"] },
    Room { name: "stats", floor: 2, may_import: &["units"] },
    Room { name: "record", floor: 2, may_import: &["units", "spec", "stats"] },
    Room { name: "engine", floor: 3, may_import: &["units"] },
    Room { name: "drive", floor: 4, may_import: FLOORS_1_TO_3 },
    Room { name: "serve", floor: 4, may_import: FLOORS_1_TO_3 },
    Room { name: "lab", floor: 4, may_import: FLOORS_1_TO_3 },
    Room { name: "probe", floor: 4, may_import: FLOORS_1_TO_3 },
    Room { name: "report", floor: 5, may_import: &["units", "spec", "stats", "record"] },
    Room { name: "run", floor: 6, may_import: FLOORS_1_TO_4 },
    Room { name: "wirebench", floor: 7, may_import: EVERYTHING },
];
const FLOORS_1_TO_3: &[&str] = &["units", "spec", "wire", "load", "stats", "record", "engine"];
const FLOORS_1_TO_4: &[&str] = &[
    "units", "spec", "wire", "load", "stats", "record", "engine", "drive", "serve", "lab", "probe",
];
const EVERYTHING: &[&str] = &[
    "units", "spec", "wire", "load", "stats", "record", "engine", "drive", "serve", "lab", "probe",
    "report", "run",
];

/// Holds every `crates/*/Cargo.toml` against the table, and the table against ARCHITECTURE.md.
pub(super) fn check(files: &[File]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in files {
        if let Some(name) =
            file.path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml"))
        {
            complaints.extend(check_manifest(name, file));
        }
    }
    match files.iter().find(|file| file.path == "ARCHITECTURE.md") {
        Some(architecture) => complaints.extend(check_architecture(architecture)),
        None => complaints.push(Complaint {
            path: "ARCHITECTURE.md".to_owned(),
            line: 0,
            what: "is missing".to_owned(),
        }),
    }
    complaints
}

fn check_architecture(page: &File) -> Vec<Complaint> {
    let unnamed = HOUSE.iter().filter(|room| !page.text.contains(&format!("`{}`", room.name)));
    unnamed.map(|room| page.complain(0, format!("does not name `{}`", room.name))).collect()
}

fn check_manifest(name: &str, manifest: &File) -> Vec<Complaint> {
    let Some(room) = room(name) else {
        return vec![manifest.complain(0, format!("`{name}` has no floor; {DECIDE}"))];
    };
    let table = match manifest.text.parse::<toml::Table>() {
        Ok(table) => table,
        Err(error) => return vec![manifest.complain(0, error.to_string())],
    };
    let imported = |kind: &str| -> Vec<&'static Room> {
        let names =
            table.get(kind).and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys);
        names.filter_map(|name| self::room(name)).collect()
    };
    let new =
        imported("dependencies").into_iter().filter(|other| !room.may_import.contains(&other.name));
    let upward = imported("dev-dependencies").into_iter().filter(|other| other.floor > room.floor);
    let new = new.map(|other| format!("new arrow {name} -> {}; {DECIDE}", other.name));
    let upward = upward.map(|other| {
        format!("tests of {name} may not import {}, a floor above; {DECIDE}", other.name)
    });
    new.chain(upward).map(|what| manifest.complain(0, what)).collect()
}

fn room(name: &str) -> Option<&'static Room> {
    HOUSE.iter().find(|room| room.name == name)
}

/// What to do about a new arrow.
const DECIDE: &str =
    "if it is meant, write it into ARCHITECTURE.md and into xtask/src/tidy/arrows.rs";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    fn check_one(path: &str, text: &str) -> Vec<String> {
        let all = HOUSE.iter().map(|room| format!("`{}` ", room.name)).collect::<String>();
        let files = [file(path, text), file("ARCHITECTURE.md", &all)];
        check(&files).into_iter().map(|complaint| complaint.what).collect()
    }

    #[test]
    fn an_arrow_that_is_not_in_the_table_is_named() {
        let manifest = "[dependencies]\nunits.workspace = true\nengine = { workspace = true }\nthiserror = \"2\"\n";
        assert_eq!(
            check_one("crates/wire/Cargo.toml", manifest),
            [format!("new arrow wire -> engine; {DECIDE}")]
        );
        assert_eq!(check_one("crates/drive/Cargo.toml", manifest), [""; 0]);
    }

    #[test]
    fn tests_import_nothing_from_above() {
        let manifest = "[dev-dependencies]\nunits.workspace = true\nserve.workspace = true\n";
        let complaint = format!("tests of wire may not import serve, a floor above; {DECIDE}");
        assert_eq!(check_one("crates/wire/Cargo.toml", manifest), [complaint]);
        assert_eq!(check_one("crates/drive/Cargo.toml", manifest), [""; 0]); // both ends of one test
    }

    #[test]
    fn a_new_crate_needs_a_floor() {
        assert_eq!(
            check_one("crates/cellar/Cargo.toml", ""),
            [format!("`cellar` has no floor; {DECIDE}")]
        );
    }

    #[test]
    fn every_crate_is_named_in_the_architecture() {
        let all: String = HOUSE.iter().map(|room| format!("`{}` ", room.name)).collect();
        assert_eq!(check_one("ARCHITECTURE.md", &all), [""; 0]);
        assert_eq!(
            check_one("ARCHITECTURE.md", &all.replace("`engine`", "engine")),
            ["does not name `engine`"]
        );
    }

    #[test]
    fn nobody_in_the_table_may_import_upward() {
        for room in HOUSE {
            for name in room.may_import {
                let other = self::room(name).unwrap();
                assert!(other.floor <= room.floor, "{} -> {name}", room.name);
                assert!(
                    !other.may_import.contains(&room.name),
                    "{} and {name} import each other",
                    room.name
                );
            }
        }
    }
}
