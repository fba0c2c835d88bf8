//! Limits of the process and the kernel: open files, ports, backlogs, buffers.

use super::files::{Files, Machine};
use super::text::number_list;
use crate::capacity::{Limits, OpenFiles, Ports};
use record::SocketBuffer;
use std::str::FromStr;

/// The limits on the number of connections of this process, for [`crate::capacity`].
///
/// The server's limit is left `None`: a child process inherits ours. Where the kernel does not report a limit, open
/// files count as unlimited and ports as [`Ports::USUAL`].
pub fn limits() -> Limits {
    limits_of(&Machine)
}

fn limits_of(files: &dyn Files) -> Limits {
    let unlimited = OpenFiles { soft: OpenFiles::UNLIMITED, hard: OpenFiles::UNLIMITED };
    Limits {
        open_files: open_files(files).unwrap_or(unlimited),
        server_open_files: None,
        ports: ports(files).unwrap_or(Ports::USUAL),
    }
}

/// This process's limits on open files.
pub(super) fn open_files(files: &dyn Files) -> Result<OpenFiles, String> {
    let path = "/proc/self/limits";
    let text = files.read(path)?;
    let limits = text.lines().find_map(|line| line.strip_prefix("Max open files"));
    let mut numbers =
        limits.unwrap_or_default().split_ascii_whitespace().map_while(|number| match number {
            "unlimited" => Some(OpenFiles::UNLIMITED),
            number => number.parse().ok(),
        });
    match (numbers.next(), numbers.next()) {
        (Some(soft), Some(hard)) => Ok(OpenFiles { soft, hard }),
        _ => Err(format!("{path}: no limits of open files")),
    }
}

/// The ports for outgoing connections.
pub(super) fn ports(files: &dyn Files) -> Result<Ports, String> {
    let path = "/proc/sys/net/ipv4/ip_local_port_range";
    let text = files.read(path)?;
    let [first, last] = numbers(&text).ok_or_else(|| format!("{path}: {text:?} is not a range"))?;
    // A missing list counts as an empty one.
    let reserved = files.read("/proc/sys/net/ipv4/ip_local_reserved_ports").unwrap_or_default();
    let reserved = number_list(&reserved).unwrap_or_default();
    let range = usize::from(first)..=usize::from(last);
    let reserved = reserved.iter().filter(|port| range.contains(port)).count() as u64;
    Ok(Ports { first, last, reserved })
}

/// `tcp_rmem` or `tcp_wmem`.
pub(super) fn socket_buffer(files: &dyn Files, name: &str) -> Result<SocketBuffer, String> {
    let path = format!("/proc/sys/net/ipv4/{name}");
    let text = files.read(&path)?;
    let [min_bytes, default_bytes, max_bytes] =
        numbers(&text).ok_or_else(|| format!("{path}: {text:?} is not three sizes"))?;
    Ok(SocketBuffer { min_bytes, default_bytes, max_bytes })
}

/// Reads a setting below `/proc/sys/net` that is a single number.
pub(super) fn number<T: FromStr>(files: &dyn Files, name: &str) -> Result<T, String> {
    let path = format!("/proc/sys/net/{name}");
    let text = files.read(&path)?;
    text.parse().map_err(|_| format!("{path}: {text:?} is not a number"))
}

/// Parses exactly `N` numbers separated by white space.
fn numbers<T: FromStr, const N: usize>(text: &str) -> Option<[T; N]> {
    let numbers: Result<Vec<T>, _> = text.split_ascii_whitespace().map(str::parse).collect();
    numbers.ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::fixture::Fixture;

    #[test]
    fn open_files_are_found_among_the_limits() {
        let head = "Limit                     Soft Limit           Hard Limit           Units     \n\
            Max cpu time              unlimited            unlimited            seconds   \n";
        let unlimited = OpenFiles::UNLIMITED;
        #[rustfmt::skip]
        let table = [
            ("Max open files            1024                 524288               files     ", Some((1024, 524_288))),
            ("Max open files            1024                 unlimited            files     ", Some((1024, unlimited))),
            ("Max open files            unlimited            unlimited            files     ", Some((unlimited, unlimited))),
            ("Max open files            1024                 files     ",                      None),
            ("Max file size             1                    2                    bytes     ", None),
        ];
        for (line, expected) in table {
            let found =
                open_files(&Fixture::new(&[("/proc/self/limits", &format!("{head}{line}"))]));
            assert_eq!(
                found.ok(),
                expected.map(|(soft, hard)| OpenFiles { soft, hard }),
                "{line:?}"
            );
        }
    }

    #[test]
    fn reserved_ports_count_where_they_are_within_the_range() {
        let reserved = "/proc/sys/net/ipv4/ip_local_reserved_ports";
        let range = "/proc/sys/net/ipv4/ip_local_port_range";
        #[rustfmt::skip]
        let table = [
            (vec![(range, "32768\t60999")],                                      Some(28_232)),
            (vec![(range, "32768\t60999"), (reserved, "")],                      Some(28_232)),
            (vec![(range, "32768\t60999"), (reserved, "8080,40000-40009,60999,61000")], Some(28_221)),
            (vec![(range, "1024\t65535")],                                       Some(64_512)),
            (vec![(range, "1024")],                                              None),
            (vec![(range, "1024 70000")],                                        None),
            (vec![],                                                             None),
        ];
        for (files, count) in table {
            assert_eq!(ports(&Fixture::new(&files)).ok().map(Ports::count), count, "{files:?}");
        }
    }

    #[test]
    fn what_is_not_known_does_not_bind() {
        let limits = limits_of(&Fixture::new(&[]));
        assert_eq!(
            crate::capacity(&limits, 28_232, crate::Sources::Fixed { count: 1, loopback: false }),
            Ok(())
        );
    }
}
