//! The kernel memory that connections take.

use super::files::{Files, Machine};
use super::text::field;
use crate::doctor::KernelMemory;
use units::Bytes;

/// The memory that connections take in this kernel.
pub fn kernel_memory() -> KernelMemory {
    kernel_memory_of(&Machine, rustix::param::page_size() as u64)
}

fn kernel_memory_of(files: &dyn Files, page: u64) -> KernelMemory {
    let bytes = |pages: u64| Bytes(pages.saturating_mul(page));
    KernelMemory {
        socket: socket(files),
        buffers_max: buffers_max(files).map(bytes),
        buffers_now: buffers_now(files).map(bytes),
        page: Bytes(page),
    }
}

/// The size of a TCP socket: the second column of its line among the protocols.
fn socket(files: &dyn Files) -> Result<Bytes, String> {
    let path = "/proc/net/protocols";
    let text = files.read(path)?;
    let mut lines = text.lines().map(str::split_ascii_whitespace);
    let size = lines.find_map(|mut columns| {
        (columns.next() == Some("TCP")).then(|| columns.next()?.parse().ok())
    });
    size.flatten().map(Bytes).ok_or_else(|| format!("{path}: no size of TCP"))
}

/// The third of the numbers low, pressure and high, in pages.
fn buffers_max(files: &dyn Files) -> Result<u64, String> {
    let path = "/proc/sys/net/ipv4/tcp_mem";
    let text = files.read(path)?;
    let high = text.split_ascii_whitespace().nth(2).and_then(|pages| pages.parse().ok());
    high.ok_or_else(|| format!("{path}: {text:?} is not three numbers of pages"))
}

/// The memory that buffers use, in pages.
fn buffers_now(files: &dyn Files) -> Result<u64, String> {
    let path = "/proc/net/sockstat";
    let text = files.read(path)?;
    let tcp = field(&text, "TCP").unwrap_or_default();
    let mut words = tcp.split_ascii_whitespace().skip_while(|word| *word != "mem").skip(1);
    let pages = words.next().and_then(|pages| pages.parse().ok());
    pages.ok_or_else(|| format!("{path}: no memory of TCP"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::fixture::Fixture;

    const PROTOCOLS: &str = "protocol  size sockets  memory press maxhdr  slab module     cl co\n\
        TCPv6     2432      0     215   no     192   yes  kernel      y  y\n\
        TCP       2304      5     215   no     192   yes  kernel      y  y";
    const SOCKSTAT: &str =
        "sockets: used 36\nTCP: inuse 5 orphan 0 tw 0 alloc 5 mem 215\nUDP: inuse 0 mem 7";

    #[test]
    fn sockets_and_buffers_are_found() {
        let files = Fixture::new(&[
            ("/proc/net/protocols", PROTOCOLS),
            ("/proc/net/sockstat", SOCKSTAT),
            ("/proc/sys/net/ipv4/tcp_mem", "287898\t383867\t575796"),
        ]);
        let expected = KernelMemory {
            socket: Ok(Bytes(2304)),
            buffers_max: Ok(Bytes(575_796 * 4096)),
            buffers_now: Ok(Bytes(215 * 4096)),
            page: Bytes(4096),
        };
        assert_eq!(kernel_memory_of(&files, 4096), expected);
    }

    #[test]
    fn what_is_missing_or_malformed_has_its_reason() {
        let files = Fixture::new(&[
            ("/proc/net/protocols", "protocol size\nTCP many"),
            ("/proc/net/sockstat", "TCP: inuse 5 mem"),
            ("/proc/sys/net/ipv4/tcp_mem", "1 2"),
        ]);
        for files in [files, Fixture::new(&[])] {
            let KernelMemory { socket, buffers_max, buffers_now, .. } =
                kernel_memory_of(&files, 4096);
            assert!(socket.unwrap_err().starts_with("/proc/net/protocols: "));
            assert!(buffers_max.unwrap_err().starts_with("/proc/sys/net/ipv4/tcp_mem: "));
            assert!(buffers_now.unwrap_err().starts_with("/proc/net/sockstat: "));
        }
    }
}
