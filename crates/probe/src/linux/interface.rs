//! The counters of network interfaces, from `/proc/net/dev`, and the interface on the route to an address
//! (proc_pid_net(5)).

use super::files::{Files, KeptFile, Machine};
use crate::error::ReadError;
use crate::interface::InterfaceCounters;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Reads the counters of one interface.
#[derive(Debug)]
pub struct InterfaceSampler {
    name: String,
    dev: KeptFile,
}

impl InterfaceSampler {
    /// Opens the file to sample.
    ///
    /// # Errors
    ///
    /// [`ReadError::Unreadable`] where `/proc/net` is missing.
    pub fn open(name: &str) -> Result<Self, ReadError> {
        Ok(Self { name: name.to_owned(), dev: KeptFile::open(DEV).map_err(unreadable)? })
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The current counters; costs some ten microseconds.
    ///
    /// # Errors
    ///
    /// [`ReadError::Unreadable`]; [`ReadError::Malformed`] if there is no such interface, or no longer.
    pub fn sample(&mut self) -> Result<InterfaceCounters, ReadError> {
        let text = self.dev.read().map_err(unreadable)?;
        counters(&text, &self.name).ok_or_else(|| ReadError::Malformed {
            path: DEV.to_owned(),
            missing: "line of the interface",
        })
    }
}

/// The interface that packets to `address` take: `lo` for every address of this machine. `None` if no route is known.
pub fn interface_to(address: IpAddr) -> Option<String> {
    interface_of(&Machine, address)
}

const DEV: &str = "/proc/net/dev";
const LOOPBACK: &str = "lo";

fn unreadable(source: std::io::Error) -> ReadError {
    ReadError::Unreadable { path: DEV.to_owned(), source }
}

/// Parses the line `name: ` with eight columns for received and eight for sent traffic.
fn counters(text: &str, name: &str) -> Option<InterfaceCounters> {
    let line =
        text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'));
    let columns: Vec<u64> =
        line?.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    Some(InterfaceCounters {
        received_bytes: *columns.first()?,
        received_packets: *columns.get(1)?,
        sent_bytes: *columns.get(8)?,
        sent_packets: *columns.get(9)?,
    })
}

fn interface_of(files: &dyn Files, address: IpAddr) -> Option<String> {
    match address.to_canonical() {
        address if address.is_loopback() => Some(LOOPBACK.to_owned()),
        IpAddr::V4(address) => {
            let own = files.read("/proc/net/fib_trie").unwrap_or_default();
            if is_own_v4(&own, address) {
                return Some(LOOPBACK.to_owned());
            }
            route_v4(&files.read("/proc/net/route").ok()?, address)
        }
        IpAddr::V6(address) => {
            let own = files.read("/proc/net/if_inet6").unwrap_or_default();
            if own.lines().any(|line| line.split(' ').next().and_then(v6) == Some(address)) {
                return Some(LOOPBACK.to_owned());
            }
            route_v6(&files.read("/proc/net/ipv6_route").ok()?, address)
        }
    }
}

/// True if the routing tables list `address` as one of this machine: a line with it, then `/32 host LOCAL`.
fn is_own_v4(fib_trie: &str, address: Ipv4Addr) -> bool {
    let named = format!("|-- {address}");
    let lines = || fib_trie.lines().map(str::trim);
    lines().zip(lines().skip(1)).any(|(line, next)| line == named && next == "/32 host LOCAL")
}

/// The interface of the longest prefix that contains the address. Numbers are in the machine's byte order.
fn route_v4(table: &str, address: Ipv4Addr) -> Option<String> {
    let routes = table.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |at: usize| {
            let number = u32::from_str_radix(columns.get(at)?, 16).ok()?;
            Some(u32::from_be_bytes(number.to_ne_bytes()))
        };
        let (to, mask) = (number(1)?, number(7)?);
        (u32::from(address) & mask == to).then(|| (mask.leading_ones(), columns[0].to_owned()))
    });
    // Among equal prefixes the first wins: the kernel lists the best first.
    routes.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, name)| name)
}

/// The same for IPv6; a reject route leads nowhere.
fn route_v6(table: &str, address: Ipv6Addr) -> Option<String> {
    const REJECT: u32 = 0x200;
    let routes = table.lines().filter_map(|line| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let (to, len) = (v6(columns.first()?)?, u32::from_str_radix(columns.get(1)?, 16).ok()?);
        let mask = u128::MAX.checked_shl(128_u32.checked_sub(len)?).unwrap_or(0);
        let flags = u32::from_str_radix(columns.get(8)?, 16).ok()?;
        let holds = u128::from(address) & mask == u128::from(to) && flags & REJECT == 0;
        holds.then(|| Some((len, (*columns.get(9)?).to_owned()))).flatten()
    });
    routes.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, name)| name)
}

/// Parses an address of 32 hexadecimal digits without colons.
fn v6(text: &str) -> Option<Ipv6Addr> {
    (text.len() == 32).then(|| u128::from_str_radix(text, 16).ok()).flatten().map(Ipv6Addr::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::fixture::Fixture;

    const DEVICES: &str = "Inter-|   Receive                          |  Transmit\n \
        face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
        lo: 4012 15    0 29557    0     0          0         0 4012 15    0    0    0     0       0          0\n  \
        eth0:1138 46    0    0    0     0          0         0  4019   32    0    0    0     0       0          0\n";
    const ROUTES: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
        eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
        eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
    const OWN: &str = "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 192.0.2.2\n        /32 host LOCAL\n     |-- 192.0.2.255\n        \
        /32 link BROADCAST\n";
    const ROUTES_V6: &str = "\
fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth1
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 00000400 00000003 00000000 00000003     eth0
fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
";

    #[test]
    fn the_counters_of_an_interface_are_found_by_its_whole_name() {
        let expected = InterfaceCounters {
            received_bytes: 1138,
            received_packets: 46,
            sent_bytes: 4019,
            sent_packets: 32,
        };
        assert_eq!(counters(DEVICES, "eth0"), Some(expected));
        assert_eq!(
            counters(DEVICES, "lo").map(|lo| (lo.sent_bytes, lo.sent_packets)),
            Some((4012, 15))
        );
        for (text, name) in
            [(DEVICES, "eth"), (DEVICES, "th0"), ("lo: 1 2 3", "lo"), ("lo: x", "lo")]
        {
            assert_eq!(counters(text, name), None, "{name}");
        }
        let earlier = InterfaceCounters { received_bytes: 2000, sent_bytes: 19, ..expected };
        let between = expected.since(earlier);
        assert_eq!(
            (between.received_bytes, between.sent_bytes, between.sent_packets),
            (0, 4000, 0)
        );
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_interface_is_that_of_the_longest_route_and_ours_is_the_loopback() {
        let files = Fixture::new(&[
            ("/proc/net/fib_trie", OWN),
            ("/proc/net/route", ROUTES),
            ("/proc/net/if_inet6", "fd000000000000000000000000000002 04 40 00 82     eth1"),
            ("/proc/net/ipv6_route", ROUTES_V6),
        ]);
        #[rustfmt::skip]
        let table = [
            ("127.0.0.5",        Some("lo")),
            ("192.0.2.2",        Some("lo")),
            ("192.0.2.3",        Some("eth1")),
            ("192.0.2.255",      Some("eth1")),
            ("198.51.100.1",     Some("eth0")),
            ("::1",              Some("lo")),
            ("::ffff:127.0.0.1", Some("lo")),
            ("fd00::2",          Some("lo")),
            ("fd00::3",          Some("eth1")),
            ("2001:db8::1",      Some("eth0")),
        ];
        for (address, expected) in table {
            let found = interface_of(&files, address.parse().unwrap());
            assert_eq!(found.as_deref(), expected, "{address}");
        }
        let none = Fixture::new(&[]);
        assert_eq!(interface_of(&none, "198.51.100.1".parse().unwrap()), None);
        let refused = Fixture::new(&[("/proc/net/ipv6_route", ROUTES_V6.lines().last().unwrap())]);
        assert_eq!(interface_of(&refused, "fe80::1".parse().unwrap()), None);
    }
}
