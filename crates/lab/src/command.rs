//! Commands that install and build: run to their end, with what they said.

use crate::said::{Said, last_lines};
use engine::clock::{self, Clock};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use units::Nanos;

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Whether its exit code was 0.
    pub(crate) is_good: bool,
    /// How it ended, in words.
    pub(crate) status: String,
    /// The end of what it said on both outputs, harmless on a terminal.
    pub(crate) said: String,
}

/// Runs `command` in `folder`, where a relative program with a slash is looked for, and waits for its end.
///
/// It sees our environment, because that says how to reach the registries; but not what Cargo is told about us.
pub(crate) fn run(command: &[String], folder: &Path, at_most: Nanos) -> io::Result<Outcome> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "an empty command"));
    };
    let (output, writer) = io::pipe()?;
    let mut prepared = Command::new(program);
    prepared.args(arguments).current_dir(folder).stdin(Stdio::null());
    for name in OURS {
        prepared.env_remove(name);
    }
    let mut child = prepared.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // It holds our ends of the pipe, whose reader would wait for them.
    drop(prepared);
    let said = Said::read(output);
    let clock = Clock::start();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if clock.now().0 > at_most.0 {
            child.kill()?;
            child.wait()?;
            break None;
        }
        clock::sleep(LOOK_AGAIN);
    };
    said.wait();
    Ok(Outcome {
        is_good: status.is_some_and(|status| status.success()),
        status: status
            .map_or_else(|| format!("it took longer than {at_most}"), |status| status.to_string()),
        said: said.text(),
    })
}

impl Outcome {
    /// Its last lines.
    pub(crate) fn last_lines(&self) -> String {
        last_lines(&self.said, LINES_SHOWN)
    }
}

/// How many of its last lines are shown of a command that failed.
const LINES_SHOWN: usize = 20;

/// What Cargo is told about this workspace, and must not hold for a subject.
const OURS: [&str; 6] = [
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_MANIFEST_DIR",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
];

/// How often its end is looked for.
const LOOK_AGAIN: Nanos = Nanos::from_millis(10);
