//! Versions of controllers and agents, and the reasons why an agent takes no part.

use super::names::Name;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The version of one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The major version of the protocol: two that differ are incompatible.
    pub major: u16,
    /// The minor version of the protocol: additions.
    pub minor: u16,
    /// The version of the program.
    pub tool: String,
    /// The commit that it was built from; `null`: not known.
    pub commit: Option<String>,
    /// The version of the record's format.
    pub record: u32,
    /// The bounds and digits of histograms: two that differ cannot be merged.
    pub histogram: String,
}

impl Version {
    /// The version of the protocol that this program speaks.
    pub const PROTOCOL: (u16, u16) = (3, 0);

    /// The reason why `other` cannot take part in a run of this one; `mixed` allows other commits.
    pub fn refuses(&self, other: &Self, mixed: bool) -> Option<Refusal> {
        let (found, wanted) = (other.to_string(), self.to_string());
        let basics = |one: &Self| (one.major, one.record, one.histogram.clone());
        if basics(self) != basics(other) {
            return Some(Refusal::Version { found, wanted });
        }
        (!self.is_same_program(other) && !mixed).then_some(Refusal::Commit { found, wanted })
    }

    /// True if both are the same version and commit.
    pub(crate) fn is_same_program(&self, other: &Self) -> bool {
        self.tool == other.tool && self.commit == other.commit
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { major, minor, tool, commit, record, histogram } = self;
        let commit = commit.as_deref().unwrap_or("unknown");
        write!(
            formatter,
            "{tool} (commit {commit}, protocol {major}.{minor}, record {record}, histograms {histogram})"
        )
    }
}

/// The reason why an agent takes no part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// Another process has this name, and is alive.
    #[error(
        "another live process has the name {agent}: stop one of them, or give it another join file"
    )]
    Twin {
        /// The name.
        agent: Name,
    },
    /// It speaks another version of the protocol, or writes other histograms or records.
    #[error(
        "it is {found} and the controller is {wanted}, which do not understand each other: update one of them"
    )]
    Version {
        /// The agent's.
        found: String,
        /// The controller's.
        wanted: String,
    },
    /// It was built from another commit.
    #[error("it is {found}, the controller is {wanted}: update it, or say --mixed")]
    Commit {
        /// The agent's.
        found: String,
        /// The controller's.
        wanted: String,
    },
    /// It is busy with another run.
    #[error("it is busy with run {run}: wait for it, or end it with `wirebench fleet stop {run}`")]
    Busy {
        /// The other run.
        run: Name,
    },
    /// The agent does not put load on that target.
    #[error("it does not load {target}: start it with --allow-target {target}")]
    Target {
        /// The target.
        target: String,
    },
    /// It cannot read the plan.
    #[error("it cannot use the plan: {because}")]
    Plan {
        /// The reason, with the path of the field.
        because: String,
    },
    /// It could not get ready.
    #[error("it could not get ready: {because}")]
    NotReady {
        /// The reason.
        because: String,
    },
}
