//! The facts, the question and the findings of the doctor.

use super::wish::Wish;
use crate::capacity;
use crate::cpus::Sharing;
use record::Environment;
use units::Bytes;

/// The facts that were read about the machine.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The machine, including its timer floor and steal.
    pub environment: Environment,
    /// Open files and ports.
    pub limits: capacity::Limits,
    /// The number of cores that this process may use.
    pub cores: usize,
    /// The resources that generator and server have to share, with one thread each; `None` if there is no CPU to place
    /// them on.
    pub sharing: Option<Sharing>,
    /// The kernel memory that connections take.
    pub kernel_memory: KernelMemory,
    /// The most connections that the generator opens at the same time.
    pub connects_at_once: u64,
    /// The messages per second that the generator can drive against a server that only echoes, from the self-test of
    /// this boot; `None` if none has run.
    pub messages_per_s_max: Option<u64>,
}

/// The kernel memory that connections take; for a fact that could not be read, the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelMemory {
    /// The size of a TCP socket with empty buffers (`/proc/net/protocols`).
    pub socket: Result<Bytes, String>,
    /// The most memory that TCP may use for buffers (the third number of `net.ipv4.tcp_mem`).
    pub buffers_max: Result<Bytes, String>,
    /// The memory that its buffers use now (`/proc/net/sockstat`).
    pub buffers_now: Result<Bytes, String>,
    /// The size of a page, in which `tcp_mem` counts.
    pub page: Bytes,
}

/// A question to the doctor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// The load that the machine should carry; `None` asks for the most that it could carry.
    pub wish: Option<Wish>,
    /// The place of the server.
    pub server: Place,
}

/// The place of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The server is on this machine: it uses sockets, memory and cores here too, and is reached over loopback.
    Here,
    /// The server is on another machine.
    Elsewhere,
}

/// The findings and the question that they answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// The question.
    pub question: Question,
    /// The findings, one for each limit.
    pub findings: Vec<Finding>,
}

/// One limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A stable name for programs, e.g. `open_files`.
    pub code: &'static str,
    /// The name for people.
    pub name: &'static str,
    /// The state that was found.
    pub state: State,
    /// True if the load stays within the limit; `None` if no load was asked for, or the limit has no number.
    pub suffices: Option<bool>,
    /// The text that was read.
    pub evidence: String,
    /// Its effect.
    pub effect: String,
    /// The command that lifts it; `None` where there is nothing to lift, or no command does.
    pub cure: Option<String>,
}

/// The possible states of a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    Fine,
    /// The limit caps a number.
    Binds {
        /// The most that fits.
        at: u64,
        /// The unit of that number.
        of: Unit,
    },
    /// It caps nothing, but changes what is measured.
    Changes,
    /// The limit is unknown.
    Unknown {
        /// The reason.
        because: String,
    },
}

/// The things that limits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Connections at the same time.
    Connections,
    /// Connections that are being opened at the same time.
    Connects,
    /// Messages per second.
    MessagesPerSecond,
}

impl Diagnosis {
    /// True if the load fits, as far as limits are known.
    pub fn fits(&self) -> bool {
        self.findings.iter().all(|finding| finding.suffices != Some(false))
    }

    /// The unknown limits: it cannot be said whether the load fits them.
    pub fn unknown(&self) -> impl Iterator<Item = &Finding> {
        let is_unknown = |finding: &&Finding| matches!(finding.state, State::Unknown { .. });
        self.findings.iter().filter(is_unknown)
    }

    /// The limit with the lowest number of `unit`, and that number.
    pub fn first_to_bind(&self, unit: Unit) -> Option<(&Finding, u64)> {
        let bound = |finding| match finding {
            &Finding { state: State::Binds { at, of }, .. } if of == unit => Some(at),
            _ => None,
        };
        let bounds = self.findings.iter().filter_map(|finding| Some((finding, bound(finding)?)));
        bounds.min_by_key(|(_, at)| *at)
    }
}

impl Finding {
    /// A limit of `at` in the unit `of`, compared with `asked`.
    pub(super) fn binds(name: Name, at: u64, of: Unit, asked: Option<u64>) -> Self {
        let suffices = asked.map(|asked| asked <= at);
        Self { suffices, ..Self::new(name, State::Binds { at, of }) }
    }

    pub(super) fn unknown(name: Name, because: impl Into<String>) -> Self {
        Self::new(name, State::Unknown { because: because.into() })
    }

    pub(super) fn new(Name { code, name }: Name, state: State) -> Self {
        let (evidence, effect) = (String::new(), String::new());
        Self { code, name, state, suffices: None, evidence, effect, cure: None }
    }
}

/// The name of a limit for programs and for people.
#[derive(Clone, Copy)]
pub(super) struct Name {
    pub(super) code: &'static str,
    pub(super) name: &'static str,
}

/// The reason why a field of the environment is missing.
pub(super) fn missing(environment: &Environment, field: &str) -> String {
    let reason = environment.missing.get(field);
    reason.map_or_else(|| "it was not read".to_owned(), Clone::clone)
}
