//! The facts, the question and the findings of the doctor.

use super::wish::Wish;
use crate::capacity;
use crate::cpus::Sharing;
use record::Environment;
use units::Bytes;

/// The facts that were read of the machine.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The machine, its timer floor and steal included.
    pub environment: Environment,
    /// Open files and ports.
    pub limits: capacity::Limits,
    /// The number of cores that this process may use.
    pub cores: usize,
    /// The resources that generator and server have to share, with one thread each; `None`: there is no CPU to place
    /// them on.
    pub sharing: Option<Sharing>,
    /// The kernel's memory that connections take.
    pub kernel_memory: KernelMemory,
    /// The most connections that the generator opens at the same time.
    pub connects_at_once: u64,
    /// The messages a second that the generator carries with a server that does nothing else, from the self-test of
    /// this boot; `None`: there was none.
    pub messages_per_s_max: Option<u64>,
}

/// The kernel's memory that connections take; a fact that could not be read has the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelMemory {
    /// A TCP socket without anything in its buffers (`/proc/net/protocols`).
    pub socket: Result<Bytes, String>,
    /// All that TCP may hold in buffers (the third number of `net.ipv4.tcp_mem`).
    pub buffers_max: Result<Bytes, String>,
    /// The memory that it holds now (`/proc/net/sockstat`).
    pub buffers_now: Result<Bytes, String>,
    /// The size of a page, in which `tcp_mem` counts.
    pub page: Bytes,
}

/// A question to the doctor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// The load that the machine should carry; `None`: the most that it could.
    pub wish: Option<Wish>,
    /// The place of the server.
    pub server: Place,
}

/// The place of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The server is on this machine: it takes sockets, memory and cores of it too, and is reached over loopback.
    Here,
    /// The server is on another machine.
    Elsewhere,
}

/// All that was found.
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
    /// Its finding.
    pub state: State,
    /// True if the load stays within it; `None` if none was asked for, or it has no number.
    pub suffices: Option<bool>,
    /// The text that was read.
    pub evidence: String,
    /// Its effect.
    pub effect: String,
    /// The command that lifts it; `None` where there is nothing to lift, or no command does.
    pub cure: Option<String>,
}

/// The findings about a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    Fine,
    /// There is no more than this.
    Binds {
        /// The most that fits.
        at: u64,
        /// The unit of that number.
        of: Unit,
    },
    /// It bounds nothing, and changes what is measured.
    Changes,
    /// It is not known.
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
    /// Messages in a second.
    MessagesPerSecond,
}

impl Diagnosis {
    /// True if the load fits, as far as limits are known.
    pub fn fits(&self) -> bool {
        self.findings.iter().all(|finding| finding.suffices != Some(false))
    }

    /// The limits that are not known, so that nobody can say if the load fits them.
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
    /// A limit of `at` so many of `of`, held against `asked`.
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

/// The reason for which a field of the environment is missing.
pub(super) fn missing(environment: &Environment, field: &str) -> String {
    let reason = environment.missing.get(field);
    reason.map_or_else(|| "it was not read".to_owned(), Clone::clone)
}
