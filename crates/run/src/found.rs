//! A server on this machine that somebody else started: its processes are found by the socket that it listens at, so
//! that its CPU time and memory are known as those of servers of ours.
//!
//! It is looked at, and never paused, bound or ended.

use crate::children::processes::Processes;
use engine::Address;
use probe::{Listener, Topology, Unseen, place_beside};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;

/// The processes of a server, and those of them that listen.
#[derive(Clone, Debug)]
pub(crate) struct FoundServer {
    pub(crate) processes: Processes,
    pub(crate) listeners: Vec<Listener>,
}

impl FoundServer {
    /// The server that listens at `address`, or process `pid` in its place.
    ///
    /// # Errors
    ///
    /// The reason for which it is not seen.
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

    /// The server that these processes are.
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

    /// The CPUs that it is bound to; empty if it may use all that there are.
    pub(crate) fn bound_to(&self, online: Option<u32>) -> Vec<usize> {
        let cpus = self.cpus();
        let is_bound = online.is_some_and(|online| cpus.len() < online as usize);
        if is_bound { cpus } else { Vec::new() }
    }

    /// The CPUs for workers beside it; empty if it needs all of them.
    pub(crate) fn beside(&self, topology: &Topology, threads: NonZeroUsize) -> Vec<usize> {
        place_beside(topology, &self.cpus(), threads)
    }

    /// The CPUs that any of its processes may use.
    pub(crate) fn cpus(&self) -> Vec<usize> {
        let all = self.listeners.iter().flat_map(|listener| &listener.cpus).copied();
        all.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// The processes that hold a socket which listens at `address`.
///
/// # Errors
///
/// The reason for which none is seen.
pub(crate) fn listeners(address: &Address) -> Result<Vec<Listener>, Unseen> {
    match address {
        Address::Tcp(address) => probe::tcp_listeners(*address),
        Address::Unix(path) => probe::unix_listeners(path),
    }
}
