//! libFuzzer's way into the targets of all crates; the environment variable `FUZZ_TARGET` names one of them.
//!
//! One program for all targets: it is compiled and linked once. `cargo xtask fuzz` builds and runs it.

#![no_main]

use std::sync::LazyLock;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| CHECK(bytes));

static CHECK: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let mut all = ALL.iter().copied().flatten();
    all.find(|(target, _)| *target == name)
        .map(|(_, check)| *check)
        .unwrap_or_else(|| panic!("FUZZ_TARGET is `{name}`, which no crate has"))
});

const ALL: [&[wire::fuzz::Target]; 7] = [
    lab::fuzz::TARGETS,
    record::fuzz::TARGETS,
    report::fuzz::TARGETS,
    run::fuzz::TARGETS,
    spec::fuzz::TARGETS,
    stats::fuzz::TARGETS,
    wire::fuzz::TARGETS,
];
