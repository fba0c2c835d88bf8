//! A process that listens at an address, and the reasons why none is seen.

/// A process that has a listening socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The process id.
    pub pid: u32,
    /// The name of its program as the kernel reports it: at most 15 bytes.
    pub name: String,
    /// The CPUs that it may use.
    pub cpus: Vec<usize>,
}

/// The reasons why no process is seen listening at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unseen {
    /// The address does not belong to this machine.
    #[error(
        "the server is not on this machine: agents of a fleet can load it while `wirebench watch` observes it there \
         (docs/FLEET.md)"
    )]
    Elsewhere,
    /// Processes listen there, but we may not read their files.
    #[error(
        "the server's process belongs to another user: run as that user or root, or name it with --server-pid"
    )]
    Hidden,
    /// No socket of this network namespace listens there.
    #[error(
        "no process of this network namespace listens there, as behind a container's port: name the server's process \
         with --server-pid"
    )]
    NoSocket,
}
