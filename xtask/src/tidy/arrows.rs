//! The arrows between crates: the table of ARCHITECTURE.md, checked both ways.
//!
//! A crate imports exactly what its row allows: a new arrow is a decision that is written down first, and an arrow that
//! no code uses any more is taken out.

use super::code::{self, imports};
use super::{Complaint, File};
use std::collections::BTreeSet;

/// A row of the table: a crate, its floor, and the crates that it imports.
#[derive(Debug, PartialEq, Eq)]
struct Room<'a> {
    name: &'a str,
    floor: u8,
    /// The line of ARCHITECTURE.md.
    line: usize,
    may_import: BTreeSet<&'a str>,
}

/// Checks every `crates/*/Cargo.toml`, and the code of its crate, against the table.
pub(super) fn check(files: &[File]) -> Vec<Complaint> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else {
        let path = PAGE.to_owned();
        return vec![Complaint { path, line: 0, what: "is missing".to_owned() }];
    };
    let house = house(page);
    let mut complaints = upward(page, &house);
    for file in files {
        let inside = file.path.strip_prefix("crates/");
        if let Some(name) = inside.and_then(|inside| inside.strip_suffix("/Cargo.toml")) {
            let sources: Vec<&File> =
                files.iter().filter(|source| source.source_of() == Some(name)).collect();
            complaints.extend(check_crate(page, &house, name, file, &sources));
        }
    }
    complaints
}

/// The rows `| FLOOR | `NAME` | … | `NAME`, … |`.
fn house(page: &File) -> Vec<Room<'_>> {
    page.lines().filter_map(|(line, text)| room(line, text)).collect()
}

fn room(line: usize, text: &str) -> Option<Room<'_>> {
    let mut cells = text.strip_prefix('|')?.trim_end().strip_suffix('|')?.split('|');
    let floor = cells.next()?.trim().parse().ok()?;
    let name = cells.next()?.trim().strip_prefix('`')?.strip_suffix('`')?;
    let may_import = cells.next_back()?.split('`').skip(1).step_by(2).collect();
    Some(Room { name, floor, line, may_import })
}

/// Arrows of the table that lead upward, or back.
fn upward(page: &File, house: &[Room<'_>]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for room in house {
        for name in &room.may_import {
            let what = match house.iter().find(|other| other.name == *name) {
                None => format!("`{name}` has no row"),
                Some(other) if other.floor > room.floor => {
                    format!("{} -> {name} leads upward", room.name)
                }
                Some(other) if other.may_import.contains(room.name) => {
                    format!("{} and {name} import each other", room.name)
                }
                Some(_) => continue,
            };
            complaints.push(page.complain(room.line, what));
        }
    }
    complaints
}

fn check_crate(
    page: &File,
    house: &[Room<'_>],
    name: &str,
    manifest: &File,
    sources: &[&File],
) -> Vec<Complaint> {
    let Some(room) = house.iter().find(|room| room.name == name) else {
        return vec![manifest.complain(0, format!("`{name}` has no row in {PAGE}"))];
    };
    let table = match manifest.text.parse::<toml::Table>() {
        Ok(table) => table,
        Err(error) => return vec![manifest.complain(0, error.to_string())],
    };
    let named = |kind: &str| -> Vec<&Room<'_>> {
        let names =
            table.get(kind).and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys);
        names.filter_map(|name| house.iter().find(|other| other.name == name)).collect()
    };
    let mut complaints = Vec::new();
    let mut used = BTreeSet::new();
    for other in named("dependencies") {
        if !uses(sources, other.name) {
            let what = format!("no code of {name} imports `{}`: take it out", other.name);
            complaints.push(manifest.complain(0, what));
        } else if !room.may_import.contains(other.name) {
            let what =
                format!("new arrow {name} -> {}; if it is meant, write it into {PAGE}", other.name);
            complaints.push(manifest.complain(0, what));
        }
        used.insert(other.name);
    }
    for gone in room.may_import.difference(&used) {
        let what = format!("no code of {name} imports `{gone}` any more: take the arrow out");
        complaints.push(page.complain(room.line, what));
    }
    for other in named("dev-dependencies").iter().filter(|other| other.floor > room.floor) {
        let what = format!("tests of {name} may not import {}, a floor above", other.name);
        complaints.push(manifest.complain(0, what));
    }
    complaints
}

/// True if a path in the code of these files begins with the crate `name`.
fn uses(files: &[&File], name: &str) -> bool {
    files.iter().flat_map(|file| code::lines(file)).any(|(_, line)| match imports(&line) {
        Some((tree, _)) => code::expanded(tree).iter().any(|path| first(path) == name),
        None => code::paths(&line).iter().any(|path| path[0] == name),
    })
}

fn first(path: &str) -> &str {
    path.split([':', ' ']).next().unwrap_or_default()
}

/// The page with the table.
const PAGE: &str = "ARCHITECTURE.md";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    const HOUSE: &str = "| floor | crate | what lives there | may import |\n|---|---|---|---|\n\
        | 2 | `drive` | the `main` path | `units`, `engine` |\n\
        | 2 | `serve` | the other end | `units` |\n\
        | 1 | `engine` | sockets | nothing |\n| 1 | `units` | quantities | nothing |\n";
    const MANIFEST: &str = "[dependencies]\nunits.workspace = true\nengine = { workspace = true }\nthiserror = \"2\"\n";
    const CODE: &str = "use units::Nanos;\nfn f() { engine::clock::now(); }\n";

    fn check_house(house: &str, files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![file(PAGE, house)];
        all.extend(files.iter().map(|(path, text)| file(path, text)));
        check(&all).into_iter().map(|complaint| complaint.what).collect()
    }

    fn check_drive(manifest: &str, code: &str) -> Vec<String> {
        check_house(
            HOUSE,
            &[("crates/drive/Cargo.toml", manifest), ("crates/drive/src/lib.rs", code)],
        )
    }

    #[test]
    fn arrows_that_are_written_down_and_used_are_fine() {
        assert_eq!(check_drive(MANIFEST, CODE), [""; 0]);
    }

    #[test]
    fn a_new_arrow_is_refused() {
        let manifest = MANIFEST.to_owned() + "serve.workspace = true";
        assert_eq!(
            check_drive(&manifest, &(CODE.to_owned() + "use serve::{Server};")),
            ["new arrow drive -> serve; if it is meant, write it into ARCHITECTURE.md"]
        );
    }

    #[test]
    fn an_arrow_that_no_code_uses_is_refused() {
        let code = "use units::Nanos;\nuse crate::engine;\nfn f() { self::engine::x(); }\n// engine::y\n\
            #[cfg(test)]\nmod tests { use engine::sim; }\n";
        assert_eq!(check_drive(MANIFEST, code), ["no code of drive imports `engine`: take it out"]);
        assert_eq!(
            check_drive("[dependencies]\nunits.workspace = true\n", code),
            ["no code of drive imports `engine` any more: take the arrow out"]
        );
    }

    #[test]
    fn tests_import_nothing_from_above() {
        let manifest = "[dev-dependencies]\nserve.workspace = true\n";
        let in_crate = |name: &str| {
            let path = format!("crates/{name}/Cargo.toml");
            check_house(&HOUSE.replace("`units`, `engine`", "nothing"), &[(&path, manifest)])
        };
        assert_eq!(in_crate("units"), ["tests of units may not import serve, a floor above"]);
        assert_eq!(in_crate("drive"), [""; 0]); // both ends of one test
    }

    #[test]
    fn a_new_crate_needs_a_row() {
        assert_eq!(
            check_house(HOUSE, &[("crates/cellar/Cargo.toml", "")]),
            ["`cellar` has no row in ARCHITECTURE.md"]
        );
    }

    #[test]
    fn no_arrow_leads_upward_or_back() {
        let up = HOUSE.replace("sockets | nothing", "sockets | `drive`");
        assert_eq!(
            check_house(&up, &[]),
            ["drive and engine import each other", "engine -> drive leads upward"]
        );
        let gone = HOUSE.replace("`units`, `engine`", "`cellar`");
        assert_eq!(check_house(&gone, &[]), ["`cellar` has no row"]);
    }
}
