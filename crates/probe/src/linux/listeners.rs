//! The processes that listen at an address of this machine, from `/proc/net/{tcp,tcp6,unix}` and `/proc/PID/fd`
//! (proc(5)).
//!
//! A socket is identified by its inode number and belongs to every process that has it open: workers share the socket
//! of the process that started them.

use super::cpus::cpus_allowed_in;
use super::files::{Files, Machine};
use super::interface::interface_to;
use crate::listener::{Listener, Unseen};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// The processes that listen at a TCP address.
///
/// # Errors
///
/// [`Unseen`]: the address belongs to another machine, no process listens there, or only processes whose files we may
/// not read.
pub fn tcp_listeners(address: SocketAddr) -> Result<Vec<Listener>, Unseen> {
    let is_here = address.ip().is_loopback() || interface_to(address.ip()).as_deref() == Some("lo");
    if !is_here {
        return Err(Unseen::Elsewhere);
    }
    owners(&serving(&listening_at(address.port()), address.ip()))
}

/// The processes that listen at a TCP port of this machine, at any of its addresses.
///
/// # Errors
///
/// As [`tcp_listeners`].
pub fn port_listeners(port: u16) -> Result<Vec<Listener>, Unseen> {
    owners(&listening_at(port).into_iter().map(|(_, inode)| inode).collect())
}

/// The TCP addresses to which listening sockets of these processes are bound; without those of processes whose files we
/// may not read.
pub fn tcp_addresses(pids: &[u32]) -> BTreeSet<SocketAddr> {
    let open: BTreeSet<PathBuf> = pids.iter().flat_map(|pid| open_files(*pid)).collect();
    let ours = |(_, inode): &(SocketAddr, u64)| open.contains(&socket(*inode));
    listening_anywhere().into_iter().filter(ours).map(|(local, _)| local).collect()
}

/// The sockets that listen at a port, with their addresses and inodes.
fn listening_at(port: u16) -> Vec<(SocketAddr, u64)> {
    listening_anywhere().into_iter().filter(|(local, _)| local.port() == port).collect()
}

/// The sockets that listen at any port.
fn listening_anywhere() -> Vec<(SocketAddr, u64)> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| Machine.read(path));
    tables.iter().flatten().flat_map(|table| table.lines()).filter_map(listening).collect()
}

/// The processes that listen at a Unix socket.
///
/// # Errors
///
/// As [`tcp_listeners`].
pub fn unix_listeners(path: &Path) -> Result<Vec<Listener>, Unseen> {
    let table = Machine.read("/proc/net/unix").unwrap_or_default();
    let sockets: Vec<(&Path, u64)> = table.lines().filter_map(listening_unix).collect();
    let exact: BTreeSet<u64> =
        sockets.iter().filter(|(name, _)| *name == path).map(|(_, inode)| *inode).collect();
    if !exact.is_empty() {
        return owners(&exact);
    }
    // A socket is listed by the path that it was bound to, which may be relative to its process's working directory.
    let is_below = |listener: &Listener, name: &Path| {
        let folder = std::fs::read_link(format!("/proc/{}/cwd", listener.pid));
        folder.is_ok_and(|folder| folder.join(name) == path)
    };
    let relative = sockets.iter().filter(|(name, _)| name.is_relative() && path.ends_with(name));
    let found = relative.flat_map(|(name, inode)| {
        let owners = owners(&BTreeSet::from([*inode])).unwrap_or_default();
        owners.into_iter().filter(|listener| is_below(listener, name))
    });
    let found: Vec<Listener> = found.collect();
    if found.is_empty() { Err(Unseen::NoSocket) } else { Ok(found) }
}

/// The process with this id, if there is one.
pub fn listener(pid: u32) -> Option<Listener> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let cpus = cpus_allowed_in(&status).unwrap_or_default();
    Some(Listener { pid, name: name.trim_end().to_owned(), cpus })
}

/// The address and the inode from a line of `/proc/net/tcp` or `tcp6`, if it is about a listening socket.
fn listening(line: &str) -> Option<(SocketAddr, u64)> {
    let mut fields = line.split_ascii_whitespace();
    let local = fields.nth(1)?;
    if fields.nth(1)? != LISTEN {
        return None; // Before anything is parsed: a busy machine has 100 000 others.
    }
    Some((address(local)?, fields.nth(5)?.parse().ok()?))
}

/// Parses `0100007F:1F90`: 32-bit words in this machine's byte order, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let word = |at: usize| {
        let word = u32::from_str_radix(ip.get(8 * at..8 * (at + 1))?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut octets = [0; 16];
            for (at, four) in octets.chunks_exact_mut(4).enumerate() {
                four.copy_from_slice(&word(at)?);
            }
            IpAddr::V6(Ipv6Addr::from(octets)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// The inodes of the sockets that receive connections to `ip`: those bound to it, else those bound to the unspecified
/// address of its family, else those bound to that of both families.
fn serving(sockets: &[(SocketAddr, u64)], ip: IpAddr) -> BTreeSet<u64> {
    let of = |is_wanted: &dyn Fn(IpAddr) -> bool| -> BTreeSet<u64> {
        let wanted = sockets.iter().filter(|(local, _)| is_wanted(local.ip()));
        wanted.map(|(_, inode)| *inode).collect()
    };
    let exact = of(&|local| local == ip);
    let any = of(&|local| local.is_unspecified() && local.is_ipv4() == ip.is_ipv4());
    [exact, any].into_iter().find(|found| !found.is_empty()).unwrap_or_else(|| {
        of(&|local| local == IpAddr::V6(Ipv6Addr::UNSPECIFIED)) // IPv4 arrives there mapped.
    })
}

/// The path and the inode from a line of `/proc/net/unix`, if it is about a listening socket.
fn listening_unix(line: &str) -> Option<(&Path, u64)> {
    let mut fields = line.split_ascii_whitespace();
    let flags = u32::from_str_radix(fields.nth(3)?, 16).ok()?;
    let inode: u64 = fields.nth(2)?.parse().ok()?;
    let (_, name) = line.split_once(&format!(" {inode} "))?; // The path may contain blanks.
    (flags & ACCEPTS != 0).then_some((Path::new(name), inode))
}

/// The processes that have one of these sockets open.
fn owners(sockets: &BTreeSet<u64>) -> Result<Vec<Listener>, Unseen> {
    if sockets.is_empty() {
        return Err(Unseen::NoSocket);
    }
    let names: Vec<PathBuf> = sockets.iter().map(|inode| socket(*inode)).collect();
    let has = |pid: u32| open_files(pid).any(|file| names.contains(&file));
    let pids = Machine.list("/proc").into_iter().filter_map(|name| name.parse().ok());
    let found: Vec<Listener> = pids.filter(|pid| has(*pid)).filter_map(listener).collect();
    if found.is_empty() { Err(Unseen::Hidden) } else { Ok(found) }
}

/// The files that a process has open, as the kernel names them; empty if we may not read them.
fn open_files(pid: u32) -> impl Iterator<Item = PathBuf> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
    files.into_iter().flatten().flatten().filter_map(|file| std::fs::read_link(file.path()).ok())
}

/// The name of a socket among the files of a process.
fn socket(inode: u64) -> PathBuf {
    format!("socket:[{inode}]").into()
}

/// The state of a listening TCP socket.
const LISTEN: &str = "0A";
/// The flag of a listening Unix socket (`__SO_ACCEPTCON`).
const ACCEPTS: u32 = 0x1_0000;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    #[test]
    #[cfg(target_endian = "little")]
    fn a_line_about_a_socket_that_listens_is_read() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 5117 1 0";
        assert_eq!(listening(line), Some(("127.0.0.1:8080".parse().unwrap(), 5117)));
        assert_eq!(listening(&line.replace(" 0A ", " 01 ")), None, "a connection");
        let six = line.replace("0100007F", "00000000000000000000000001000000");
        assert_eq!(listening(&six), Some(("[::1]:8080".parse().unwrap(), 5117)));
        let mapped = line.replace("0100007F", "0000000000000000FFFF00000100007F");
        assert_eq!(listening(&mapped), Some(("127.0.0.1:8080".parse().unwrap(), 5117)));
        for broken in
            ["", "sl local_address", "0: zz:1F90 0 0A 0 0 0 0 0 5", "0: 01:1 0 0A 0 0 0 0 0 5"]
        {
            assert_eq!(listening(broken), None, "{broken}");
        }
    }

    #[test]
    fn the_socket_bound_to_the_address_goes_before_those_bound_to_any() {
        let at = |text: &str, inode| (text.parse().unwrap(), inode);
        let all = [at("127.0.0.1:1", 1), at("0.0.0.0:1", 2), at("[::]:1", 3), at("[::1]:1", 4)];
        let inodes = |sockets: &[(SocketAddr, u64)], ip: &str| {
            serving(sockets, ip.parse().unwrap()).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(inodes(&all, "127.0.0.1"), [1]);
        assert_eq!(inodes(&all, "127.0.0.2"), [2]);
        assert_eq!(inodes(&all[2..], "127.0.0.1"), [3]);
        assert_eq!(inodes(&all, "::1"), [4]);
        assert_eq!(inodes(&all[..2], "::1"), [] as [u64; 0]);
    }

    #[test]
    fn whoever_listens_is_found_by_the_socket() {
        let ours = |found: Result<Vec<Listener>, Unseen>| {
            found.unwrap().iter().any(|one| one.pid == std::process::id() && !one.cpus.is_empty())
        };
        for any in ["127.0.0.1:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(any).unwrap();
            let address = listener.local_addr().unwrap();
            let port = address.port();
            assert!(tcp_addresses(&[1, std::process::id()]).contains(&address));
            assert!(!tcp_addresses(&[]).contains(&address));
            assert!(ours(tcp_listeners(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))));
            assert!(ours(port_listeners(port)));
            drop(listener);
            let gone = tcp_listeners(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
            assert_eq!(gone, Err(Unseen::NoSocket));
            assert_eq!(port_listeners(port), Err(Unseen::NoSocket));
            assert!(!tcp_addresses(&[std::process::id()]).contains(&address));
        }
        let path = std::env::temp_dir().join(format!("wirebench listens {}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        assert!(ours(unix_listeners(&path)));
        drop(listener);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(unix_listeners(&path), Err(Unseen::NoSocket));
        assert_eq!(tcp_listeners("192.0.2.1:80".parse().unwrap()), Err(Unseen::Elsewhere));
    }
}
