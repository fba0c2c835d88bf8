//! The host of a run: the program that it is part of.

use crate::Baseline;
use record::Tool;
use std::sync::Arc;

/// Facts that the binary knows and a run needs.
#[derive(Clone, Debug)]
pub struct Host {
    /// The launch of servers and clients, on any CPU.
    pub launch: lab::Launch,
    /// The arguments as they were typed, without secrets.
    pub command_line: Vec<String>,
    /// The start of the run, as RFC 3339 in UTC.
    pub started_at: String,
    /// The commit of the user's repository.
    pub repository: Option<String>,
    /// This program.
    pub tool: Tool,
    /// The kind of run, e.g. a ladder.
    pub kind: record::Kind,
    /// The certificate of the last self-test since this machine booted; `None` if there was none.
    pub selftest: Option<record::Certificate>,
    /// The process of a server that is already running, if it is not to be found by its socket.
    pub server_pid: Option<u32>,
    /// The question of a lab, and what is known about it besides blocks.
    pub lab: Option<record::Lab>,
    /// The earlier record that requirements are relative to.
    pub baseline: Option<Arc<Baseline>>,
}
