//! The interface of every engine: submit operations, take completions.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use units::{Instant, Nanos};

/// Moves bytes over connections and keeps time.
///
/// Operations are submitted and never block; [`Engine::complete`] returns their results, for each connection in the
/// order in which they happened. Receiving is not submitted: it is armed from the start of a connection to its end, and
/// bytes are read into a buffer that the caller owns, so an idle connection has none.
pub trait Engine {
    /// The instant now, counted from the engine's start.
    fn now(&self) -> Instant;

    /// Starts accepting connections at `address`. Returns the actual address (the system chooses the port if it is 0).
    ///
    /// # Errors
    ///
    /// The address is taken, does not belong to this machine, or may not be used.
    fn listen(&mut self, address: &Address) -> Result<Address, ConnectionError>;

    /// Starts connecting to `address`, from the source address `from` if one is given. [`Completion::Connected`] or
    /// [`Completion::Failed`] follows.
    fn connect(&mut self, address: &Address, from: Option<IpAddr>) -> ConnectionId;

    /// Sends `bytes`. Bytes that the kernel does not take yet, or that are submitted before the connection is
    /// established, are kept and sent as soon as possible. While more than [`UNSENT_LEN_MAX`] bytes are kept, nothing
    /// is received on an accepted connection, so that a peer that does not read its answers cannot make us keep an
    /// unbounded amount of them. A connection that we made goes on receiving: if both ends stopped reading until the
    /// other reads, neither would ever go on.
    fn send(&mut self, connection: ConnectionId, bytes: &[u8]);

    /// The number of submitted bytes that the kernel has not taken yet; zero for a closed connection.
    fn unsent(&self, connection: ConnectionId) -> usize;

    /// The memory of the unsent bytes of all connections together, in bytes.
    fn kept(&self) -> usize;

    /// While `on`, receives nothing on the connection, not even its end or failure, as if this process did not read:
    /// what arrives waits in the kernel, and then at the peer. For clients that are slow on purpose.
    fn pause(&mut self, connection: ConnectionId, on: bool);

    /// Ends our sending side once everything submitted is written. Receiving goes on.
    fn shutdown(&mut self, connection: ConnectionId);

    /// Closes the connection at once and drops bytes that are still kept. No completion follows. As always with
    /// sockets, closing with bytes unread, or before bytes on their way arrive, may reset the peer.
    fn close(&mut self, connection: ConnectionId);

    /// Sleeps until something happens or `until` is reached ([`Instant::NEVER`]: no limit). May return early.
    fn wait(&mut self, until: Instant);

    /// Stands still until `until`, like a stopped process: events meanwhile are neither seen nor answered, and wait.
    /// For servers that stall on purpose; must be the last call of a node in a step.
    fn stand_still(&mut self, until: Instant);

    /// Keeps the processor busy for `time`, like a computation: nothing else happens here meanwhile, and what is sent
    /// next leaves after it. Zero costs nothing. For servers that compute on purpose.
    fn compute(&mut self, time: Nanos);

    /// Returns the next completion without waiting; `None` if there are no more. Bytes that arrived are in `rx[..len]`;
    /// the next completions bring those that did not fit. `rx` must not be empty.
    fn complete(&mut self, rx: &mut [u8]) -> Option<Completion>;
}

/// An engine for servers: it distinguishes its listeners, and can stop reading from clients for a while.
pub trait Accepting: Engine {
    /// The number of the [`Engine::listen`] call, counted from 0, whose listener accepted the connection; 0 for a
    /// connection that we made or closed.
    fn listener(&self, connection: ConnectionId) -> usize;

    /// While `on`, receives nothing on accepted connections, because the consumer of their bytes is slow; connections
    /// that we made go on. Bytes that had been received by then are still reported.
    fn hold_back(&mut self, on: bool);
}

/// An engine that reports what the kernel knows about connections.
pub trait Metered: Engine {
    /// The instant at which the last bytes of the newest [`Completion::Received`] reached this machine, by the kernel's
    /// own stamp, which is taken before any process is woken for them. `now` is a fresh reading of [`Engine::now`],
    /// taken after that completion. `None` if the kernel does not stamp, or was not asked to. If bytes arrive in quick
    /// succession, the kernel may know only when the last of them did, received yet or not.
    fn arrived(&mut self, now: Instant) -> Option<Instant>;

    /// The TCP segments of the connection so far, as the kernel counts them. `None` if the connection is closed or is
    /// not TCP, and where segments are not counted. Costs a system call.
    fn segments(&self, connection: ConnectionId) -> Option<Segments>;
}

/// Segments of one TCP connection, from its first SYN on, including those without payload and retransmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    /// Sent by us.
    pub sent: u64,
    /// Received by us.
    pub received: u64,
}

/// The most unsent bytes that are kept for an accepted connection before receiving on it pauses.
pub const UNSENT_LEN_MAX: usize = 1 << 20;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// A peer connected to an address that [`Engine::listen`] was called for.
    Accepted(ConnectionId),
    /// A connection that [`Engine::connect`] started is established.
    Connected(ConnectionId),
    /// The peer will send no more bytes. Sending may go on; the caller has to close the connection.
    Ended(ConnectionId),
    /// The connection could not be made or was cut. It is closed already.
    Failed(ConnectionId, ConnectionError),
    /// `len` bytes arrived, never zero.
    Received {
        /// The connection on which they arrived.
        connection: ConnectionId,
        /// The number of bytes.
        len: usize,
    },
}

/// Names a connection of an engine until it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId {
    index: u32,
    generation: u32,
}

impl ConnectionId {
    pub(crate) const fn new(index: u32, generation: u32) -> Self {
        Self { index, generation }
    }

    /// A small number that no other open connection of the engine has, re-used after the close: callers keep the state
    /// of a connection in a `Vec` at this index. Completions never name a closed connection.
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// Both halves as one number, for code without an engine to name the connection.
    pub const fn to_bits(self) -> u64 {
        (self.generation as u64) << 32 | self.index as u64
    }

    /// The inverse of [`ConnectionId::to_bits`]. Names no connection unless the number came from there: compare before
    /// use.
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    pub const fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }

    pub(crate) const fn generation(self) -> u32 {
        self.generation
    }
}

/// An address to connect to, or to listen at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An Internet address and port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// The reason why a connection could not be made, or was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The address to listen at is taken.
    #[error("address already in use")]
    AddressInUse,
    /// No port is free for one more connection from this source address to this target, or the source address does not
    /// belong to this machine.
    #[error("no free port, or the local address does not belong to this machine")]
    AddressNotAvailable,
    /// The kernel has no `epoll_pwait2`, or a sandbox refuses it.
    #[error("{}", crate::kernel::no_epoll_pwait2())]
    NoEpollPwait2,
    /// The path of the Unix socket does not exist.
    #[error("no such file")]
    NotFound,
    /// The system forbids it.
    #[error("permission denied")]
    PermissionDenied,
    /// Nobody listens there, or (Unix sockets) the listener's backlog is full.
    #[error("connection refused")]
    Refused,
    /// The peer cut the connection.
    #[error("connection reset by peer")]
    Reset,
    /// The system gave up on the peer.
    #[error("timed out")]
    TimedOut,
    /// This process or the system cannot open more files.
    #[error("too many open files")]
    TooManyFiles,
    /// There is no route to the address.
    #[error("network unreachable")]
    Unreachable,
    /// Any other error, by its number (`errno`).
    #[error("{}", std::io::Error::from_raw_os_error(*.0))]
    Other(i32),
}

/// A program on an engine: reacts to completions, and says when it wants to be woken.
pub trait Node<E> {
    /// Takes all completions, does what is due, and says what to wait for. Never blocks.
    fn step(&mut self, engine: &mut E) -> Step;
}

/// A node's answer to a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is finished.
    Done,
    /// Step it again when something happens, and at this instant at the latest ([`Instant::NEVER`]: no limit).
    Wait(Instant),
}

/// Runs `node` on `engine` until it is done.
pub fn run<E: Engine>(engine: &mut E, node: &mut impl Node<E>) {
    while let Step::Wait(until) = node.step(engine) {
        engine.wait(until);
    }
}
