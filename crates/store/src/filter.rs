//! The records that are looked for.

use record::Level;

/// The records that are looked for; by default all of them. Parts of texts match whatever their case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// A part of the experiment's name.
    pub experiment: Option<String>,
    /// A part of the machine's description.
    pub machine: Option<String>,
    /// The name of a baseline, or the beginning of the id.
    pub name: Option<String>,
    /// A tag.
    pub tag: Option<String>,
    /// A part of the URL of a server, or of the name of a workload.
    pub target: Option<String>,
    /// A verdict.
    pub verdict: Option<Level>,
    /// The maximum number of records, the newest ones; `None`: all.
    pub limit: Option<u32>,
}
