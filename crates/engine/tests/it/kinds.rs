//! The kinds of engines that answer to the contract.

use engine::clock::Clock;
use engine::epoll::Epoll;
use engine::sim::{Conditions, Network, Sim, Split};
use engine::{Accepting, Address};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;
use units::Nanos;

/// One world in which processes find each other.
pub(crate) trait Kind {
    type Engine: Accepting;

    fn new() -> Self;
    fn engine(&mut self) -> Self::Engine;
    /// An address to listen at.
    fn address(&self) -> Address;

    /// True if time stands still unless somebody waits.
    const IS_VIRTUAL: bool;
    /// The length of a large transfer; more than the kernels' buffers hold.
    const LARGE: usize = 16 << 20;
}

/// Sockets of this machine over the loopback interface.
pub(crate) struct Tcp {
    clock: Clock,
    ip: Ipv4Addr,
}

impl Kind for Tcp {
    type Engine = Epoll;
    const IS_VIRTUAL: bool = false;

    /// Each has a loopback address of its own, so that none finds the ports of another.
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self {
            clock: Clock::start(),
            ip: Ipv4Addr::from_bits(Ipv4Addr::new(127, 7, 0, 1).to_bits() + number),
        }
    }

    fn engine(&mut self) -> Epoll {
        Epoll::new(self.clock).unwrap()
    }

    fn address(&self) -> Address {
        Address::Tcp(SocketAddr::new(IpAddr::V4(self.ip), 0))
    }
}

/// Unix sockets of this machine.
pub(crate) struct Unix {
    clock: Clock,
    folder: TempDir,
}

impl Kind for Unix {
    type Engine = Epoll;
    const IS_VIRTUAL: bool = false;

    fn new() -> Self {
        Self { clock: Clock::start(), folder: tempfile::tempdir().unwrap() }
    }

    fn engine(&mut self) -> Epoll {
        Epoll::new(self.clock).unwrap()
    }

    fn address(&self) -> Address {
        Address::Unix(self.folder.path().join("socket"))
    }
}

/// A simulated network with default conditions.
pub(crate) struct Calm(Network);

impl Kind for Calm {
    type Engine = Sim;
    const IS_VIRTUAL: bool = true;

    fn new() -> Self {
        Self(Network::new(1, Conditions::default()))
    }

    fn engine(&mut self) -> Sim {
        self.0.engine()
    }

    fn address(&self) -> Address {
        Address::Tcp(SocketAddr::from(([10, 0, 0, 1], 0)))
    }
}

/// A simulated network that splits and delays at random.
pub(crate) struct Rough(Network);

impl Kind for Rough {
    type Engine = Sim;
    const IS_VIRTUAL: bool = true;

    fn new() -> Self {
        let split = Split::Random { chunk_len_max: 1500 };
        let jitter = Nanos::from_millis(1);
        Self(Network::new(2, Conditions { split, jitter, ..Conditions::default() }))
    }

    fn engine(&mut self) -> Sim {
        self.0.engine()
    }

    fn address(&self) -> Address {
        Address::Unix("anywhere".into())
    }
}

/// A simulated network on which each byte travels alone.
pub(crate) struct Bytewise(Network);

impl Kind for Bytewise {
    type Engine = Sim;
    const IS_VIRTUAL: bool = true;
    const LARGE: usize = 5 << 16;

    fn new() -> Self {
        let split = Split::ByteByByte;
        Self(Network::new(
            3,
            Conditions { split, buffer_len_max: 64 << 10, ..Conditions::default() },
        ))
    }

    fn engine(&mut self) -> Sim {
        self.0.engine()
    }

    fn address(&self) -> Address {
        Address::Unix("anywhere".into())
    }
}
