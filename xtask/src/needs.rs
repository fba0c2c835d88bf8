//! Everything that the gate needs from the machine, known before its first step: its own needs, and those of every
//! subject by its manifest.

use crate::packages::{self, From, Need, Probe};
use crate::shell;
use anyhow::{Context as _, Result};
use std::collections::BTreeSet;
use std::fs;

/// Sees that all of it is there.
///
/// # Errors
///
/// Something is missing that cannot be installed here; all of it is named.
pub(crate) fn ensure(is_fast: bool) -> Result<()> {
    let mut needs = BTreeSet::from([
        Need::debian("cc", "gcc"),
        Need { probe: Probe::Cargo("fmt"), from: From::Elsewhere(RUSTFMT) },
        Need { probe: Probe::Cargo("clippy"), from: From::Elsewhere(CLIPPY) },
    ]);
    if !is_fast {
        needs.extend(OF_TESTS.iter().map(|(probe, package)| Need::debian(probe, package)));
        for entry in fs::read_dir(shell::root().join("subjects"))? {
            let manifest = entry?.path().join("subject.toml");
            if let Ok(text) = fs::read_to_string(&manifest) {
                let table = text.parse().with_context(|| manifest.display().to_string())?;
                needs.extend(of_subject(&table));
            }
        }
    }
    packages::ensure(&needs.into_iter().collect::<Vec<_>>())
}

/// The needs of a subject: its programs and files, and those of its packages that none of both tells of.
fn of_subject(manifest: &toml::Table) -> Vec<Need> {
    let Some(table) = manifest.get("needs").and_then(toml::Value::as_table) else {
        return Vec::new();
    };
    let list = |key: &str| -> Vec<&str> {
        let values = table.get(key).and_then(toml::Value::as_array).into_iter().flatten();
        values.filter_map(toml::Value::as_str).collect()
    };
    let packages = list("packages");
    let mut probes = list("programs");
    probes.extend(list("files"));
    let mut needs = Vec::new();
    for probe in &probes {
        match BROUGHT.iter().find(|(known, _)| known == probe) {
            Some((_, package)) => needs.push(Need::debian(probe, package)),
            None if *probe == "go" => needs.push(Need {
                probe: Probe::Program((*probe).to_owned()),
                from: From::Elsewhere(GO),
            }),
            // Cargo runs this; what no table knows is probed by the packages below.
            None => {}
        }
    }
    for package in packages {
        let is_told = |(probe, known): &&(&str, &str)| *known == package && probes.contains(probe);
        if package == "python3-venv" {
            let probe = Probe::PythonModule("ensurepip");
            needs.push(Need { probe, from: From::Debian(package.to_owned()) });
        } else if package != "cargo" && BROUGHT.iter().find(is_told).is_none() {
            let probe = Probe::Package(package.to_owned());
            needs.push(Need { probe, from: From::Debian(package.to_owned()) });
        }
    }
    needs
}

/// Programs that the tests need beside the subjects, each with its Debian package. libFuzzer is C++.
const OF_TESTS: &[(&str, &str)] = &[
    ("c++", "g++"),
    ("chromium", "chromium"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("openssl", "openssl"),
    ("strace", "strace"),
];

/// The Debian packages of what subjects name: who has a program from elsewhere does not need the package.
const BROUGHT: &[(&str, &str)] = &[
    ("/usr/bin/chromium", "chromium"),
    ("/usr/include/benchmark/benchmark.h", "libbenchmark-dev"),
    ("/usr/include/boost/asio.hpp", "libboost-dev"),
    ("/usr/include/boost/beast.hpp", "libboost-dev"),
    ("/usr/include/cpprest/http_client.h", "libcpprest-dev"),
    ("/usr/include/libwebsockets.h", "libwebsockets-dev"),
    ("/usr/include/openssl/ssl.h", "libssl-dev"),
    ("/usr/include/stdio.h", "libc6-dev"),
    ("/usr/include/websocketpp/version.hpp", "libwebsocketpp-dev"),
    ("/usr/include/zlib.h", "zlib1g-dev"),
    ("cc", "gcc"),
    ("composer", "composer"),
    ("curl-config", "libcurl4-openssl-dev"),
    ("g++", "g++"),
    ("gcc", "gcc"),
    ("java", "openjdk-17-jdk-headless"),
    ("javac", "openjdk-17-jdk-headless"),
    ("mvn", "maven"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("php", "php8.2-cli"),
    ("pkg-config", "pkg-config"),
    ("python3", "python3"),
];

const RUSTFMT: &str = "rustfmt: rustup component add rustfmt";
const CLIPPY: &str = "clippy: rustup component add clippy";
const GO: &str = "go: from go.dev, 1.24 or later; Debian's is older";

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(manifest: &str) -> Vec<Need> {
        of_subject(&manifest.parse().unwrap())
    }

    #[test]
    fn a_program_from_elsewhere_needs_no_package() {
        let manifest = "[needs]\nprograms = ['node']\nfiles = ['/usr/bin/chromium']\n\
            packages = ['nodejs', 'npm', 'chromium']";
        assert_eq!(
            needs(manifest),
            [
                Need::debian("node", "nodejs"),
                Need::debian("/usr/bin/chromium", "chromium"),
                Need {
                    probe: Probe::Package("npm".to_owned()),
                    from: From::Debian("npm".to_owned())
                },
            ]
        );
    }

    #[test]
    fn python_alone_is_not_enough_for_its_environments() {
        let found = needs("needs.programs = ['python3']\nneeds.packages = ['python3-venv']");
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].probe, Probe::PythonModule("ensurepip"));
    }

    #[test]
    fn whatever_a_subject_names_is_known_to_the_gate() {
        for entry in fs::read_dir(shell::root().join("subjects")).unwrap() {
            let manifest = entry.unwrap().path().join("subject.toml");
            let Ok(text) = fs::read_to_string(&manifest) else { continue };
            let table: toml::Table = text.parse().unwrap();
            let needed = table.get("needs").and_then(toml::Value::as_table);
            for key in ["programs", "files"] {
                let names = needed.and_then(|needs| needs.get(key)?.as_array());
                for name in names.into_iter().flatten().filter_map(toml::Value::as_str) {
                    let is_known = ["cargo", "go"].contains(&name)
                        || BROUGHT.iter().any(|(known, _)| *known == name);
                    assert!(is_known, "{}: {name} is not in BROUGHT", manifest.display());
                }
            }
        }
    }
}
