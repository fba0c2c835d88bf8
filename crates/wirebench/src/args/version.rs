//! `wirebench --version --verbose`: everything that tells this build from another.

use crate::data;
use clap::Command;
use std::ffi::OsString;

/// Returns `program`, with all details in its version if `arguments` have `--verbose` or `-v`, alone or with other
/// letters.
pub(super) fn told(program: Command, arguments: &[OsString]) -> Command {
    let is_verbose = |word: &OsString| {
        let word = word.to_str().unwrap_or_default();
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        word == "--verbose" || letters.is_some_and(|letters| letters.contains('v'))
    };
    if arguments.iter().any(is_verbose) { program.version(details()) } else { program }
}

fn details() -> String {
    let features = [
        ("fleet", cfg!(feature = "fleet")),
        ("otlp", cfg!(feature = "otlp")),
        ("postgres", cfg!(feature = "postgres")),
        ("web", cfg!(feature = "web")),
    ];
    let of = |is_on: bool| -> Vec<&str> {
        features.iter().filter(|(_, on)| *on == is_on).map(|(name, _)| *name).collect()
    };
    let list =
        |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(" ") };
    format!(
        "{}\n\
         commit       {}\n\
         target       {}\n\
         optimised    {}\n\
         features     {}\n\
         left out     {}\n\
         engine       epoll\n\
         TLS          rustls with aws-lc-rs\n\
         data         {}",
        env!("CARGO_PKG_VERSION"),
        option_env!("WIREBENCH_COMMIT").unwrap_or("unknown: built outside of git"),
        env!("WIREBENCH_TARGET"),
        if cfg!(debug_assertions) {
            "no: a build for developers, not for measuring"
        } else {
            "yes"
        },
        list(of(true)),
        list(of(false)),
        data::NAME,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_has_details_where_they_are_asked_for() {
        let version = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            told(Command::new("wirebench"), &words).render_version()
        };
        for line in ["--version --verbose", "-vV", "-v -V"] {
            let told = version(line);
            let all =
                ["wirebench", env!("CARGO_PKG_VERSION"), "commit", "features", "engine", "TLS"];
            assert!(all.iter().all(|word| told.contains(word)), "{told}");
        }
        assert!(!version("--version").contains("engine"));
        assert!(!version("--version -c 7").contains("engine"));
    }
}
