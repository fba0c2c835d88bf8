//! Sockets that never block: creating and using them, and the meaning of their errors.

use crate::{Address, ConnectionError, Segments};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// The most connections that may wait to be accepted; the kernel lowers it to `net.core.somaxconn`.
const BACKLOG: i32 = 65_535;

/// Permission for further sockets of this user to listen on the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// No other socket may.
    Alone,
    /// No other socket listens there yet; those that [join](Self::Next) may.
    First,
    /// Others may listen there already, if they agree to share.
    Next,
}

/// Finds a port of `address` that has no listener now; another program may take it first.
///
/// # Errors
///
/// This machine does not have the address, or all its ports are taken.
pub fn free_port(address: IpAddr) -> std::io::Result<u16> {
    let any = Address::Tcp(SocketAddr::new(address, 0));
    match listen(&any, Sharing::Alone)?.1 {
        Address::Tcp(found) => Ok(found.port()),
        Address::Unix(_) => unreachable!("a TCP socket has a TCP address"),
    }
}

/// Creates a socket that listens on `address`. Returns the actual address with it. Unix sockets are not shared.
pub(crate) fn listen(address: &Address, sharing: Sharing) -> Result<(OwnedFd, Address), Errno> {
    match address {
        Address::Tcp(wanted) => {
            let socket = make(family(*wanted))?;
            net::sockopt::set_socket_reuseaddr(&socket, true)?;
            if sharing == Sharing::Next {
                net::sockopt::set_socket_reuseport(&socket, true)?;
            }
            net::bind(&socket, wanted)?;
            if sharing == Sharing::First {
                // Not before the bind, which must fail if others listen there, sharing or not.
                net::sockopt::set_socket_reuseport(&socket, true)?;
            }
            net::listen(&socket, BACKLOG)?;
            let got =
                SocketAddr::try_from(net::getsockname(&socket)?).map_err(|_| Errno::AFNOSUPPORT)?;
            Ok((socket, Address::Tcp(got)))
        }
        Address::Unix(path) => {
            let socket = make(AddressFamily::UNIX)?;
            let name = SocketAddrUnix::new(path.as_path())?;
            match net::bind(&socket, &name) {
                Err(Errno::ADDRINUSE) => {
                    remove_if_nobody_listens(path)?;
                    net::bind(&socket, &name)?;
                }
                bound => bound?,
            }
            net::listen(&socket, BACKLOG)?;
            Ok((socket, address.clone()))
        }
    }
}

/// Removes a Unix socket that a killed server left behind, since it blocks the next one. Anything else at the path is a
/// user's file, though connecting to it is refused too.
fn remove_if_nobody_listens(path: &Path) -> Result<(), Errno> {
    let found = FileType::from_raw_mode(rustix::fs::lstat(path)?.st_mode);
    if found != FileType::Socket {
        return Err(Errno::ADDRINUSE);
    }
    match net::connect(make(AddressFamily::UNIX)?, &SocketAddrUnix::new(path)?) {
        Err(Errno::CONNREFUSED) => rustix::fs::unlink(path),
        _ => Err(Errno::ADDRINUSE),
    }
}

/// Accepts one waiting connection of a listening socket.
pub(crate) fn accept(listener: &OwnedFd) -> Result<OwnedFd, Errno> {
    let socket = net::accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
    send_at_once(&socket);
    Ok(socket)
}

/// Creates a socket that connects to `address` from the source address `from`. Returns true with it if it is connected
/// already. `in_doubt`: possibly nothing listens there.
pub(crate) fn connect(
    address: &Address,
    from: Option<IpAddr>,
    in_doubt: bool,
) -> Result<(OwnedFd, bool), Errno> {
    let (socket, result) = match address {
        Address::Tcp(target) => {
            let socket = make(family(*target))?;
            send_at_once(&socket);
            if let Some(source) = from {
                bind_address_only(&socket, source)?;
            }
            let result = net::connect(&socket, target);
            if in_doubt && is_connected_to_itself(&socket, *target) {
                return Err(Errno::CONNREFUSED);
            }
            (socket, result)
        }
        Address::Unix(path) => {
            let socket = make(AddressFamily::UNIX)?;
            let result = net::connect(&socket, &SocketAddrUnix::new(path.as_path())?);
            (socket, result)
        }
    };
    let is_there = match result {
        Ok(()) => true,
        Err(Errno::INPROGRESS) => is_there_already(&socket, address)?,
        // A Unix listener with a full backlog.
        Err(Errno::AGAIN) => return Err(Errno::CONNREFUSED),
        Err(error) => return Err(error),
    };
    Ok((socket, is_there))
}

/// True if a connection that was just started is already established. On loopback it is: the peer's kernel is ours and
/// answered before the call returned, and asking is cheaper than waiting for the event.
fn is_there_already(socket: &OwnedFd, address: &Address) -> Result<bool, Errno> {
    match address {
        Address::Tcp(target) if target.ip().is_loopback() => match net::connect(socket, target) {
            Ok(()) => Ok(true),
            Err(Errno::ALREADY | Errno::INPROGRESS) => Ok(false),
            Err(error) => Err(error),
        },
        Address::Tcp(_) | Address::Unix(_) => Ok(false),
    }
}

/// Writes as much of `bytes` as the kernel takes. Returns the number of bytes. If that is not all, the kernel was asked
/// until it refused, so that an edge will report when it takes more.
#[inline]
pub(crate) fn send_all(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    let mut written = 0;
    while written < bytes.len() {
        match net::send(socket, &bytes[written..], SendFlags::NOSIGNAL) {
            Ok(len) => written += len,
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

/// Reads what has arrived into `rx`; zero bytes mean the peer's end.
#[inline]
pub(crate) fn receive(socket: &OwnedFd, rx: &mut [u8]) -> Result<usize, Errno> {
    net::recv(socket, rx, RecvFlags::empty()).map(|(len, _)| len)
}

/// Has the kernel stamp what arrives on `socket` from now on. If it cannot, there are no stamps.
pub(crate) fn ask_for_stamps(socket: &OwnedFd) {
    switch_on(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS).ok();
}

/// Like [`receive`], and also returns what the wall clock showed, in nanoseconds, when the last of these bytes reached
/// this machine, if the kernel has stamped them.
pub(crate) fn receive_stamped(
    socket: &OwnedFd,
    rx: &mut [u8],
) -> Result<(usize, Option<u64>), Errno> {
    let mut into = libc::iovec { iov_base: rx.as_mut_ptr().cast(), iov_len: rx.len() };
    let mut control = MaybeUninit::<Control>::zeroed();
    // SAFETY: a message header may be all zeros: no name, no buffers.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut into;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    // The type of lengths differs between C libraries.
    let room = size_of::<Control>() as _;
    message.msg_controllen = room;
    // The C library's own function lets threads be cancelled in it, which costs more than all else around the call.
    // SAFETY: the header points to one buffer that is `rx` and to a control buffer of the length that it says; both
    // live until after the call, which is the only one to write to them.
    let received =
        unsafe { libc::syscall(libc::SYS_recvmsg, socket.as_raw_fd(), &raw mut message, 0) };
    let Ok(len) = usize::try_from(received) else { return Err(last_error()) };
    // SAFETY: it was all zeros, which is a valid value, and the kernel wrote such values over them.
    let Control { header, stamp } = unsafe { control.assume_init() };
    let is_stamped = message.msg_controllen >= room
        && (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS);
    Ok((len, is_stamped.then(|| wall_nanos(stamp)).flatten()))
}

/// The data received besides the bytes: one control message, because one was requested.
#[repr(C)]
struct Control {
    header: libc::cmsghdr,
    stamp: libc::timespec,
}

fn wall_nanos(time: libc::timespec) -> Option<u64> {
    let (secs, nanos) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_nsec).ok()?);
    secs.checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// The segments that the kernel has counted on a TCP socket; `None` for a Unix socket.
pub(crate) fn segments(socket: &OwnedFd) -> Option<Segments> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    #[expect(clippy::cast_possible_truncation, reason = "it has a few hundred bytes")]
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the buffer is as long as `len` says, and both live until after the call, which is the only one to write
    // to them.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    // A Unix socket has no such option. Linux counts segments since 4.2, long before `epoll_pwait2`.
    if status != 0 || (len as usize) < std::mem::offset_of!(libc::tcp_info, tcpi_notsent_bytes) {
        return None;
    }
    // SAFETY: it was all zeros, which is a valid value, and the kernel wrote such values over them.
    let info = unsafe { info.assume_init() };
    Some(Segments { sent: info.tcpi_segs_out.into(), received: info.tcpi_segs_in.into() })
}

/// Ends the sending side. If the peer is gone already, receiving will show it.
pub(crate) fn shutdown(socket: &OwnedFd) {
    net::shutdown(socket, net::Shutdown::Write).ok();
}

/// The outcome of a connection attempt that was in progress.
pub(crate) fn outcome(socket: &OwnedFd) -> Result<(), Errno> {
    net::sockopt::socket_error(socket)?
}

/// True if nothing listened on the target's port and the system chose that very port for our end: on one machine TCP
/// then connects a socket to itself, which would answer like a perfect echo.
fn is_connected_to_itself(socket: &OwnedFd, target: SocketAddr) -> bool {
    let own = net::getsockname(socket).and_then(SocketAddr::try_from);
    own.is_ok_and(|own| {
        own.port() == target.port() && (own.ip() == target.ip() || target.ip().is_unspecified())
    })
}

fn make(family: AddressFamily) -> Result<OwnedFd, Errno> {
    net::socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)
}

fn family(address: SocketAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

/// Switches Nagle's algorithm off. Unix sockets do not have it, so the error is ignored.
fn send_at_once(socket: &OwnedFd) {
    net::sockopt::set_tcp_nodelay(socket, true).ok();
}

/// Binds to a source address and leaves the port to `connect`, which can then use a port for several targets.
///
/// Kernels and sandboxes that refuse that (qemu-user) choose the port here, and it serves one target.
fn bind_address_only(socket: &OwnedFd, source: IpAddr) -> Result<(), Errno> {
    match switch_on(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT) {
        Ok(()) | Err(Errno::NOPROTOOPT) => {}
        Err(error) => return Err(error),
    }
    // Without the option, this is where ports run out.
    net::bind(socket, &SocketAddr::new(source, 0)).map_err(|error| match error {
        Errno::ADDRINUSE => Errno::ADDRNOTAVAIL,
        other => other,
    })
}

/// Switches on an option whose type is int.
fn switch_on(socket: &OwnedFd, level: libc::c_int, option: libc::c_int) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    #[expect(clippy::cast_possible_truncation, reason = "an int has four bytes")]
    let len = size_of_val(&on) as libc::socklen_t;
    // SAFETY: the option is an int, `on` is one, and its size is passed; the kernel only reads it.
    let status =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const on).cast(), len) };
    if status == 0 { Ok(()) } else { Err(last_error()) }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

impl From<Errno> for ConnectionError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::ACCESS | Errno::PERM => Self::PermissionDenied,
            Errno::ADDRINUSE => Self::AddressInUse,
            Errno::ADDRNOTAVAIL | Errno::AGAIN => Self::AddressNotAvailable,
            Errno::CONNREFUSED => Self::Refused,
            Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => Self::Reset,
            Errno::HOSTUNREACH | Errno::NETUNREACH => Self::Unreachable,
            Errno::MFILE | Errno::NFILE => Self::TooManyFiles,
            Errno::NOENT => Self::NotFound,
            Errno::TIMEDOUT => Self::TimedOut,
            other => Self::Other(other.raw_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_is_connected_to_itself_is_told_from_others() {
        let own = make(AddressFamily::INET).unwrap();
        net::bind(&own, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = SocketAddr::try_from(net::getsockname(&own).unwrap()).unwrap();
        net::connect(&own, &address).ok(); // Nothing listens there, and yet it succeeds.
        assert_eq!(outcome(&own), Ok(()));
        assert!(is_connected_to_itself(&own, address));

        let other = make(AddressFamily::INET).unwrap();
        net::connect(&other, &address).ok();
        assert!(!is_connected_to_itself(&other, address));
    }
}
