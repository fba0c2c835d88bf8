//! Everything that the gate needs from the machine, known before its first step: its own needs, and those of every
//! subject by its manifest.

use crate::packages::{self, From, Need, Probe};
use crate::shell;
use anyhow::{Context as _, Result, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Ensures that all of it is there.
///
/// # Errors
///
/// Something is missing that cannot be installed here; all of it is named.
pub(crate) fn ensure(is_fast: bool) -> Result<()> {
    let target = shell::target();
    fs::create_dir_all(&target)?;
    let [held, free] = [&["du", "-s"][..], &["df", "--output=avail"]].map(|words| {
        let mut command = shell::command(words[0]);
        kib(&shell::output(command.args(&words[1..]).arg("-k").arg(&target))?)
    });
    room(&target, held?, free?, if is_fast { ROOM_FAST_KIB } else { ROOM_KIB })?;
    let mut needs = BTreeSet::from([
        Need::debian("cc", "gcc"),
        Need { probe: Probe::Cargo("fmt"), from: From::Elsewhere(RUSTFMT) },
        Need { probe: Probe::Cargo("clippy"), from: From::Elsewhere(CLIPPY) },
    ]);
    if !is_fast {
        needs.extend(OF_TESTS.iter().map(|(probe, package)| Need::debian(probe, package)));
        // Its programs are in a folder with its version in the name.
        let postgresql = "postgresql".to_owned();
        needs.insert(Need {
            probe: Probe::Package(postgresql.clone()),
            from: From::Debian(postgresql),
        });
        for entry in fs::read_dir(shell::root().join("subjects"))? {
            let manifest = entry?.path().join("subject.toml");
            if let Ok(text) = fs::read_to_string(&manifest) {
                let named = || manifest.display().to_string();
                needs.extend(of_subject(&text.parse().with_context(named)?).with_context(named)?);
            }
        }
    }
    packages::ensure(&needs.into_iter().collect::<Vec<_>>())
}

/// Checks that the disk has room for what the gate will write: `needed` less the `held` that it wrote before.
///
/// # Errors
///
/// The `free` space is less.
fn room(target: &Path, held: u64, free: u64, needed: u64) -> Result<()> {
    let lacking = needed.saturating_sub(held).saturating_sub(free);
    ensure!(
        lacking == 0,
        "the disk of {} has {} free, and the gate writes about {} there: free {} more, or name a folder on another \
         disk in CARGO_TARGET_DIR",
        target.display(),
        units::Bytes(free << 10),
        units::Bytes(needed << 10),
        units::Bytes(lacking << 10)
    );
    Ok(())
}

/// The first word that is a number: `du` prints it before the folder, `df` below its heading.
fn kib(printed: &str) -> Result<u64> {
    let number = printed.split_whitespace().find_map(|word| word.parse().ok());
    number.with_context(|| format!("no number of KiB in {printed:?}"))
}

/// The needs of a subject: its programs and files, each with the packages that bring it, and other packages.
///
/// # Errors
///
/// `[needs]` does not have the form that manifests have; the key is named.
fn of_subject(manifest: &toml::Table) -> Result<BTreeSet<Need>> {
    let mut needs = BTreeSet::new();
    let Some(table) = manifest.get("needs") else { return Ok(needs) };
    for key in ["programs", "files"] {
        let Some(probes) = table.get(key) else { continue };
        let probes = probes.as_table().with_context(|| {
            format!("needs.{key} is not a table: write {key} = {{ NAME = [\"PACKAGE\"] }}")
        })?;
        for (probe, packages) in probes {
            for package in list(packages, &format!("needs.{key}.{probe}"))? {
                needs.insert(Need::debian(probe, package));
                // Debian's python3 makes no environments without this.
                if package == "python3-venv" {
                    let probe = Probe::PythonModule("ensurepip");
                    needs.insert(Need { probe, from: From::Debian(package.to_owned()) });
                }
            }
            if probe == "go" {
                let probe = Probe::Program(probe.clone());
                needs.insert(Need { probe, from: From::Elsewhere(GO) });
            }
        }
    }
    if let Some(packages) = table.get("packages") {
        for package in list(packages, "needs.packages")? {
            let probe = Probe::Package(package.to_owned());
            needs.insert(Need { probe, from: From::Debian(package.to_owned()) });
        }
    }
    Ok(needs)
}

/// The texts of a list.
fn list<'a>(value: &'a toml::Value, key: &str) -> Result<Vec<&'a str>> {
    let texts = value.as_array().map(|values| values.iter().map(toml::Value::as_str).collect());
    texts.flatten().with_context(|| format!("{key} is not a list of packages: write [\"PACKAGE\"]"))
}

/// Programs that the tests need besides the subjects, each with its Debian package. libFuzzer is C++.
const OF_TESTS: &[(&str, &str)] = &[
    ("/usr/share/benchmark/compare.py", "libbenchmark-tools"),
    ("c++", "g++"),
    ("chromium", "chromium"),
    ("ip", "iproute2"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("openssl", "openssl"),
    ("promtool", "prometheus"),
    ("strace", "strace"),
    ("tmux", "tmux"),
    ("xmllint", "libxml2-utils"),
];

/// The size of a target folder after one gate on a new clone (6.3 GiB without incremental files), rounded up.
const ROOM_KIB: u64 = 8 << 20;
const ROOM_FAST_KIB: u64 = 5 << 20;

const RUSTFMT: &str = "rustfmt: rustup component add rustfmt";
const CLIPPY: &str = "clippy: rustup component add clippy";
const GO: &str = "go: from go.dev, 1.26 or later; Debian's is older";

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(manifest: &str) -> Vec<Need> {
        of_subject(&manifest.parse().unwrap()).unwrap().into_iter().collect()
    }

    fn package(probe: Probe, name: &str) -> Need {
        Need { probe, from: From::Debian(name.to_owned()) }
    }

    #[test]
    fn a_disk_that_is_too_full_is_named_with_what_it_lacks() {
        let target = Path::new("/t");
        let lacks = room(target, 1 << 20, 5 << 20, 12 << 20).unwrap_err().to_string();
        assert_eq!(
            lacks,
            "the disk of /t has 5 GiB free, and the gate writes about 12 GiB there: free 6 GiB more, or name a \
             folder on another disk in CARGO_TARGET_DIR"
        );
        // Whatever an earlier gate wrote needs no room again.
        room(target, 7 << 20, 5 << 20, 12 << 20).unwrap();
        room(target, 40 << 20, 0, 12 << 20).unwrap();
        assert_eq!(kib("123\t/4/t\n").unwrap(), 123);
        assert_eq!(kib("     Avail\n34586920\n").unwrap(), 34_586_920);
        assert!(kib("du: cannot read").is_err());
    }

    #[test]
    fn a_program_or_a_file_is_looked_for_and_brought_by_its_packages() {
        let manifest = "[needs]\nprograms = { node = ['nodejs'], composer = ['composer', 'unzip'] }\n\
            files.\"/usr/bin/chromium\" = ['chromium']\npackages = ['liblzf1']";
        assert_eq!(
            needs(manifest),
            [
                Need::debian("/usr/bin/chromium", "chromium"),
                package(Probe::Package("liblzf1".to_owned()), "liblzf1"),
                Need::debian("composer", "composer"),
                Need::debian("composer", "unzip"),
                Need::debian("node", "nodejs"),
            ]
        );
    }

    #[test]
    fn python_alone_is_not_enough_for_its_environments() {
        assert_eq!(
            needs("needs.programs = { python3 = ['python3-venv'] }"),
            [
                Need::debian("python3", "python3-venv"),
                package(Probe::PythonModule("ensurepip"), "python3-venv"),
            ]
        );
    }

    #[test]
    fn go_comes_from_elsewhere_and_cargo_is_there() {
        let go = Need { probe: Probe::Program("go".to_owned()), from: From::Elsewhere(GO) };
        assert_eq!(needs("needs.programs = { cargo = [], go = [] }"), [go]);
    }

    #[test]
    fn another_shape_is_refused_by_its_key() {
        for (manifest, key) in [
            ("needs.programs = ['node']", "needs.programs "),
            ("needs.files = ['/usr/bin/chromium']", "needs.files "),
            ("needs.programs = { node = 'nodejs' }", "needs.programs.node "),
            ("needs.packages = [1]", "needs.packages "),
        ] {
            let error = of_subject(&manifest.parse().unwrap()).unwrap_err().to_string();
            assert!(error.starts_with(key), "{manifest}: {error}");
        }
    }

    #[test]
    fn whatever_a_subject_names_is_looked_for() {
        let mut programs = 0;
        for entry in fs::read_dir(shell::root().join("subjects")).unwrap() {
            let manifest = entry.unwrap().path().join("subject.toml");
            let Ok(text) = fs::read_to_string(&manifest) else { continue };
            let table: toml::Table = text.parse().unwrap();
            let needs = of_subject(&table).unwrap();
            let named = |key: &str| table.get("needs").and_then(|needs| needs.get(key)?.as_table());
            for name in [named("programs"), named("files")]
                .into_iter()
                .flatten()
                .flat_map(toml::Table::keys)
            {
                let is_looked_for = needs.iter().any(|need| match &need.probe {
                    Probe::File(known) | Probe::Program(known) => known == name,
                    Probe::Cargo(_) | Probe::Package(_) | Probe::PythonModule(_) => false,
                });
                assert!(is_looked_for || name == "cargo", "{}: {name}", manifest.display());
                programs += 1;
            }
        }
        assert!(programs > 0, "no subject names a program");
    }
}
