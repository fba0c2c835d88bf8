//! The options of commands that make one connection at a time, for people.

use super::values;
use spec::Options;
use units::Nanos;

/// The way to a server that is not loaded.
#[derive(Debug, clap::Args)]
pub(super) struct ByHand {
    /// Time limit of each name lookup, connect and handshake
    #[arg(long, hide_short_help = true, value_name = "TIME", default_value = "5s", value_parser = values::some_time)]
    timeout: Nanos,
    /// Trust the authority in FILE (PEM) instead of those of the system; repeatable
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    ca: Vec<String>,
    /// Do not verify the server's certificate
    #[arg(long, hide_short_help = true)]
    insecure: bool,
    /// Connect to a public address; do so only with those that are yours
    #[arg(long, hide_short_help = true)]
    pub(super) i_may_load_this_target: bool,
}

impl ByHand {
    /// Returns these options as those of a run.
    pub(super) fn options(&self) -> Options {
        Options {
            ca: self.ca.clone(),
            insecure: self.insecure,
            timeout: Some(self.timeout),
            ..Options::default()
        }
    }
}
