//! How subjects are started, and what they are told.

use crate::keeper;
use std::ffi::OsString;
use std::path::PathBuf;
use units::{Bytes, Nanos};

/// How a subject is started: through a keeper, which is ourselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Our own program.
    pub program: PathBuf,
    /// What makes it a keeper: its subcommand, which hands all that follows to [`keeper::keep`].
    pub words: Vec<OsString>,
    /// The CPUs that the subject is kept on, with all its threads; none: wherever it may run.
    pub cpus: Vec<usize>,
    /// How long it may take to be ready.
    pub ready_timeout: Nanos,
}

impl Launch {
    /// As the binary `program` starts subjects, on whatever CPU.
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            words: vec![keeper::SUBCOMMAND.into()],
            cpus: Vec::new(),
            ready_timeout: Self::READY_TIMEOUT,
        }
    }

    /// How long a subject may take to be ready, if nothing else is said: a JVM on a busy machine takes 15 s.
    pub const READY_TIMEOUT: Nanos = Nanos::from_secs(60);
}

/// What a server subject is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// The address that it listens on (`WIREBENCH_HOST`).
    pub host: String,
    /// The port; 0 for any that is free (`WIREBENCH_PORT`).
    pub port: u16,
    /// What it answers in place of an echo (`WIREBENCH_REPLY`).
    pub reply: Option<String>,
    /// Its certificate, where it is to speak TLS beside.
    pub tls: Option<TlsFiles>,
    /// The longest message that it has to take (`WIREBENCH_MESSAGE_MAX`).
    pub message_size_max: Bytes,
    /// How many connections may wait to be taken (`WIREBENCH_BACKLOG`).
    pub backlog: u32,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 0,
            reply: None,
            tls: None,
            message_size_max: Bytes(16 << 20),
            backlog: 4096,
        }
    }
}

/// Where a server's certificate is, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Its certificates, leaf first (`WIREBENCH_TLS_CERT`).
    pub certificate: PathBuf,
    /// Its key (`WIREBENCH_TLS_KEY`).
    pub key: PathBuf,
}

/// What a client subject is told once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSettings {
    /// The server (`WIREBENCH_URL`).
    pub url: String,
    /// Whom to trust, as a file of PEM; where TLS is spoken (`WIREBENCH_CA`).
    pub authority: Option<PathBuf>,
    /// How many connections at a time (`WIREBENCH_CONNECTIONS`).
    pub connections: u32,
    /// The file with what is sent (`WIREBENCH_PAYLOAD`).
    pub payload: PathBuf,
    /// The file with what has to come back (`WIREBENCH_EXPECT`).
    pub expect: PathBuf,
    /// Of what kind messages are (`WIREBENCH_KIND`).
    pub kind: record::MessageKind,
    /// HTTP: the method (`WIREBENCH_METHOD`).
    pub method: Method,
    /// How many round trips a connection lives; `None`: as long as the block (`WIREBENCH_LIFE`).
    pub life: Option<u64>,
}

/// How a request is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Without a body.
    Get,
    /// With the payload as its body.
    #[default]
    Post,
}

/// What a client is to do in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// How long it works before it measures.
    pub warm_up: Nanos,
    /// When its window ends.
    pub until: Until,
    /// Messages a second over all connections, by schedule; `None`: each follows the reply to the one before.
    pub rate: Option<units::Rate>,
    /// How long all of it may take, from the command until its last line.
    pub patience: Nanos,
}

/// When the window of a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// So many lives of clients have ended. The whole run is measured.
    Clients(u64),
    /// So many round trips are done.
    Messages(u64),
    /// So long.
    Time(Nanos),
}
