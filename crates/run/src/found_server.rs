//! A server on this machine that the run did not start: its processes are found by its listening socket, so that its
//! CPU time and memory are known like those of our own servers.
//!
//! It is only observed, never paused, pinned or ended.

use crate::children::processes::Processes;
use engine::Address;
use probe::{Listener, Topology, Unseen, place_beside};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;

/// The processes of a server, and which of them listen.
#[derive(Clone, Debug)]
pub(crate) struct FoundServer {
    pub(crate) processes: Processes,
    pub(crate) listeners: Vec<Listener>,
}

impl FoundServer {
    /// The server that listens at `address`, or process `pid` instead if given.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be seen.
    pub(crate) fn find(address: &Address, pid: Option<u32>) -> Result<Self, String> {
        let found = match (pid, address) {
            (Some(pid), _) => {
                let gone = || format!("--server-pid {pid}: there is no such process");
                Ok(vec![probe::listener(pid).ok_or_else(gone)?])
            }
            (None, address) => listeners(address),
        };
        let listeners = found.map_err(|unseen| unseen.to_string())?;
        Self::of(listeners)
    }

    /// The server that consists of these processes and their descendants.
    ///
    /// # Errors
    ///
    /// This program is one of them.
    pub(crate) fn of(listeners: Vec<Listener>) -> Result<Self, String> {
        let pids: Vec<u32> = listeners.iter().map(|listener| listener.pid).collect();
        if pids.contains(&std::process::id()) {
            return Err("the server is a part of this program".to_owned());
        }
        Ok(Self { processes: Processes::found(&pids), listeners })
    }

    /// The CPUs that it is pinned to; empty if it may use all CPUs.
    pub(crate) fn bound_to(&self, online: Option<u32>) -> Vec<usize> {
        let cpus = self.cpus();
        let is_bound = online.is_some_and(|online| cpus.len() < online as usize);
        if is_bound { cpus } else { Vec::new() }
    }

    /// The CPUs for workers beside it; empty if it needs all CPUs.
    pub(crate) fn beside(&self, topology: &Topology, threads: NonZeroUsize) -> Vec<usize> {
        place_beside(topology, &self.cpus(), threads)
    }

    /// The CPUs that any of its processes may use.
    pub(crate) fn cpus(&self) -> Vec<usize> {
        let all = self.listeners.iter().flat_map(|listener| &listener.cpus).copied();
        all.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// The processes that hold a socket listening at `address`.
///
/// # Errors
///
/// The reason why none is seen.
pub(crate) fn listeners(address: &Address) -> Result<Vec<Listener>, Unseen> {
    match address {
        Address::Tcp(address) => probe::tcp_listeners(*address),
        Address::Unix(path) => probe::unix_listeners(path),
    }
}
