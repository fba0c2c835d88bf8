//! The plan as it was carried out, every default resolved.

use crate::Subject;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::Layer;

/// The plan of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The workloads; the other parts of the record point here by index, from 0.
    pub workloads: Vec<Workload>,
    /// The order of blocks: in each round the indexes of the workloads, in the order they run.
    pub rounds: Vec<Vec<usize>>,
    /// The index of the workload that the others are compared with.
    pub baseline: Option<usize>,
    /// The workloads that are another one with a layer more.
    #[serde(default)]
    pub layers: Vec<Layer>,
    /// The origin of all random choices: the order of blocks, payloads, intervals.
    pub seed: u64,
}

impl Plan {
    /// The index of the workload that workload `index` is compared with: its own baseline, or that of the plan.
    pub fn base_of(&self, index: usize) -> Option<usize> {
        let base = self.workloads.get(index)?.spec.baseline.or(self.baseline);
        base.filter(|base| *base != index && *base < self.workloads.len())
    }

    /// The index of the workload that workload `index` is ultimately compared with: the baseline of its baseline, and
    /// so on. A workload without a baseline of its own yields itself if others name it as theirs, else the baseline of
    /// the plan.
    pub fn zero(&self, index: usize) -> Option<usize> {
        let workloads = &self.workloads;
        let is_base =
            |index: usize| workloads.iter().any(|other| other.spec.baseline == Some(index));
        let mut at = index;
        // Only a cycle is longer.
        for _ in 0..workloads.len() {
            match workloads.get(at).and_then(|workload| workload.spec.baseline) {
                Some(base) if base < workloads.len() && base != at => at = base,
                Some(_) | None => break,
            }
        }
        if at == index && !is_base(index) { self.baseline } else { Some(at) }
    }
}

/// One thing that is measured: what was asked, and what was found when it was made ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// The description. Bytes and texts of the files that it names are in the record's `spec` alone.
    pub spec: spec::Workload,
    /// The URL of the server, without user name and password.
    pub target: String,
    /// The scheme of the URL, e.g. `tcp-framed`, `ws`; of an imported record, the program that measured.
    pub transport: String,
    /// The length of the payload of each message.
    pub size_bytes: u64,
    /// Local addresses that connections start from; empty: the kernel chooses.
    #[serde(default)]
    pub source_addresses: Vec<String>,
    /// The CPUs that the two sides are bound to.
    #[serde(default)]
    pub pinning: Pinning,
    /// The server, where it is a subject.
    #[serde(default)]
    pub server: Option<Subject>,
    /// The answer of a server of the user's to the first message, before anything was timed, in words. `null` where it
    /// was not reached, and for servers that start for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The processes that listened at the target, where somebody else had started them on this machine: CPU time and
    /// memory of the server are theirs and those of all processes below them.
    #[serde(default)]
    pub processes: Vec<Process>,
    /// The client, where it is a subject; `null`: this program.
    #[serde(default)]
    pub client: Option<Subject>,
}

impl Workload {
    /// Its name, unique in the plan.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// True if the server is on the machine of the generator, as far as the target says: a Unix socket, or a loopback
    /// address.
    pub fn is_local(&self) -> bool {
        let Some((scheme, rest)) = self.target.split_once(':') else { return false };
        let host = rest.trim_start_matches('/');
        scheme == "unix"
            || ["127.", "localhost", "[::1]"].iter().any(|start| host.starts_with(start))
    }
}

/// A process of somebody else's server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// The name of its program, as the kernel has it: at most 15 bytes.
    pub name: String,
}

/// The CPUs that the two sides are bound to; empty: not bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pinning {
    /// The CPUs of the generator.
    pub generator_cpus: Vec<u32>,
    /// The CPUs of the server: those that ours were given, or that another's is bound to.
    pub server_cpus: Vec<u32>,
}
