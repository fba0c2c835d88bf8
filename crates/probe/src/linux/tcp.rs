//! TCP's counters, from `/proc/net/snmp` and `/proc/net/netstat` (proc_pid_net(5)).

use super::files::KeptFile;
use crate::error::ReadError;
use crate::tcp::TcpCounters;
use std::io;

/// Reads TCP's counters of a network namespace.
#[derive(Debug)]
pub struct TcpSampler {
    snmp: KeptFile,
    netstat: KeptFile,
}

impl TcpSampler {
    /// Opens the two files to sample, for the namespace of this process.
    ///
    /// # Errors
    ///
    /// [`ReadError::Unreadable`] where `/proc/net` is missing.
    pub fn open() -> Result<Self, ReadError> {
        Self::open_below("/proc")
    }

    /// The same for the namespace of process `pid`.
    ///
    /// # Errors
    ///
    /// [`ReadError::Unreadable`]: there is no such process, or it is another user's.
    pub fn open_of(pid: u32) -> Result<Self, ReadError> {
        Self::open_below(&format!("/proc/{pid}"))
    }

    fn open_below(folder: &str) -> Result<Self, ReadError> {
        let open = |file: &str| {
            let path = format!("{folder}/{file}");
            KeptFile::open(&path).map_err(|error| unreadable(&path, error))
        };
        Ok(Self { snmp: open(SNMP)?, netstat: open(NETSTAT)? })
    }

    /// The current counters; costs some ten microseconds.
    ///
    /// # Errors
    ///
    /// [`ReadError::Unreadable`].
    pub fn sample(&mut self) -> Result<TcpCounters, ReadError> {
        let snmp = self.snmp.read().map_err(|error| unreadable(SNMP, error))?;
        let netstat = self.netstat.read().map_err(|error| unreadable(NETSTAT, error))?;
        Ok(tcp_counters(&snmp, &netstat))
    }
}

const SNMP: &str = "net/snmp";
const NETSTAT: &str = "net/netstat";

fn unreadable(path: &str, source: io::Error) -> ReadError {
    ReadError::Unreadable { path: path.to_owned(), source }
}

fn tcp_counters(snmp: &str, netstat: &str) -> TcpCounters {
    TcpCounters {
        retransmitted_segments: counter(snmp, "Tcp", "RetransSegs"),
        timeouts: counter(netstat, "TcpExt", "TCPTimeouts"),
        listen_overflows: counter(netstat, "TcpExt", "ListenOverflows"),
        listen_drops: counter(netstat, "TcpExt", "ListenDrops"),
        failed_connects: counter(snmp, "Tcp", "AttemptFails"),
        delayed_acks: counter(netstat, "TcpExt", "DelayedACKs"),
        retransmitted_syns: counter(netstat, "TcpExt", "TCPSynRetrans"),
        resets: counter(snmp, "Tcp", "EstabResets"),
    }
}

/// Reads one counter; each group is two lines that begin with the group's name: the names, then the values.
fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(':'));
    let (names, values) = (lines.next()?, lines.next()?);
    let column = names.split_ascii_whitespace().position(|known| known == name)?;
    values.split_ascii_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_SNMP: &str = "Ip: Forwarding DefaultTTL\nIp: 2 64\n\
        Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors\n\
        Tcp: 1 200 120000 -1 79 5 3 62 0 47027 46496 7 0 68 0\n\
        Udp: InDatagrams\nUdp: 151\n";
    const OF_NETSTAT: &str = "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts DelayedACKs TCPSynRetrans\nTcpExt: 0 11 12 13 14 15\n\
        IpExt: InNoRoutes\nIpExt: 0\nMPTcpExt: TCPTimeouts\nMPTcpExt: 99\n";

    #[test]
    fn counters_are_found_by_name() {
        let counters = TcpCounters {
            retransmitted_segments: Some(7),
            timeouts: Some(13),
            listen_overflows: Some(11),
            listen_drops: Some(12),
            failed_connects: Some(3),
            delayed_acks: Some(14),
            retransmitted_syns: Some(15),
            resets: Some(62),
        };
        assert_eq!(tcp_counters(OF_SNMP, OF_NETSTAT), counters);
    }

    #[test]
    fn what_is_missing_or_negative_is_none() {
        #[rustfmt::skip]
        let table = [
            (OF_SNMP,                         "MaxConn", None),
            (OF_SNMP,                         "Unknown", None),
            ("Tcp: A B\n",                    "A",       None), // no values
            ("Tcp: A B\nTcp: 1\n",            "B",       None), // cut off
            ("Tcp: A B\nTcp: 1 2\n",          "B",       Some(2)),
            ("TcpX: A\nTcpX: 1\nTcp: B\nTcp: 2", "B",    Some(2)),
            ("",                              "A",       None),
        ];
        for row @ (text, name, value) in table {
            assert_eq!(counter(text, "Tcp", name), value, "{row:?}");
        }
    }

    #[test]
    fn differences_are_between_known_counters_only() {
        let earlier = tcp_counters("", OF_NETSTAT);
        let later = tcp_counters(OF_SNMP, &OF_NETSTAT.replace("0 11 12 13", "0 21 12 9"));
        let between = later.since(earlier);
        assert_eq!(
            (between.listen_overflows, between.listen_drops, between.timeouts),
            (Some(10), Some(0), Some(0))
        );
        assert_eq!(between.retransmitted_segments, None);
    }
}
