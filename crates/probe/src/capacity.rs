//! The check, before a run starts, that open files and ephemeral ports suffice; a shortage names the number and the
//! cure.
//!
//! Pure arithmetic over limits that the caller has read. Left out: memory, the backlog, and the ports that short-lived
//! clients leave behind in TIME_WAIT.

use std::net::Ipv4Addr;

/// Checks that this many concurrent connections fit within the machine's limits.
///
/// # Errors
///
/// The first [`Shortage`] met, in the order in which it would stop the run: open files of the generator, open files
/// of the server, ports.
pub fn capacity(limits: &Limits, connections: u64, sources: Sources) -> Result<(), Shortage> {
    open_files_suffice(Party::Generator, limits.open_files, connections)?;
    if let Some(server) = limits.server_open_files {
        open_files_suffice(Party::Server, server, connections)?;
    }
    let Sources::Fixed { count: addresses, loopback } = sources else { return Ok(()) };
    let needed = limits.ports.addresses_for(connections);
    if needed > addresses {
        let per_address = limits.ports.count();
        return Err(Shortage::Ports { connections, addresses, per_address, needed, loopback });
    }
    Ok(())
}

/// The limits on the number of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open files of this process.
    pub open_files: OpenFiles,
    /// Open files of the server's process; `None` if this run did not start the server.
    pub server_open_files: Option<OpenFiles>,
    /// Ports for outgoing connections.
    pub ports: Ports,
}

/// The number of files that a process may have open; [`OpenFiles::UNLIMITED`] stands for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    /// The limit that binds.
    pub soft: u64,
    /// The highest soft limit that the process may set on its own.
    pub hard: u64,
}

impl OpenFiles {
    /// No limit at all.
    pub const UNLIMITED: u64 = u64::MAX;

    /// The number of connections that fit: the soft limit without [`RESERVED_FILES`].
    pub fn connections(self) -> u64 {
        self.soft.saturating_sub(RESERVED_FILES)
    }
}

/// The ports from which the kernel chooses one for an outgoing connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// The first of the range.
    pub first: u16,
    /// The last of the range, inclusive.
    pub last: u16,
    /// The number of ports within the range that are set aside (`ip_local_reserved_ports`).
    pub reserved: u64,
}

impl Ports {
    /// The range that Linux sets up: 28 232 ports.
    pub const USUAL: Self = Self { first: 32_768, last: 60_999, reserved: 0 };

    /// The number of connections that one source address can have to one target.
    pub fn count(self) -> u64 {
        (u64::from(self.last) + 1)
            .saturating_sub(u64::from(self.first))
            .saturating_sub(self.reserved)
    }

    /// The number of source addresses that this many connections to one target need; `u64::MAX` if there is no port at
    /// all.
    pub fn addresses_for(self, connections: u64) -> u64 {
        match self.count() {
            0 if connections > 0 => u64::MAX,
            ports => connections.div_ceil(ports.max(1)),
        }
    }
}

/// The source addresses of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sources {
    /// The run takes as many loopback addresses as it needs ([`Ports::addresses_for`]): an IPv4 loopback target
    /// without `--source-ip`.
    Automatic,
    /// A fixed number of source addresses.
    Fixed {
        /// The number of addresses; 1 if none was chosen.
        count: u64,
        /// True if they are of 127.0.0.0/8, where more are free.
        loopback: bool,
    },
    /// No port is used: a Unix socket.
    NotNeeded,
}

/// The process whose limit it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// The process that sends the load.
    Generator,
    /// The process that answers it.
    Server,
}

/// The limit that is too small for the connections that were asked for; the message ends with the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Shortage {
    /// Each connection is an open file, and a process needs [`RESERVED_FILES`] for itself.
    #[error("{}", open_files_message(*.party, *.connections, *.needed, *.limit))]
    OpenFiles {
        /// The process whose limit it is.
        party: Party,
        /// The connections that were asked for.
        connections: u64,
        /// The open files that they need.
        needed: u64,
        /// The open files that are allowed.
        limit: OpenFiles,
    },
    /// A source address has a limited number of ports towards one target.
    #[error("{}", ports_message(*.connections, *.addresses, *.per_address, *.needed, *.loopback))]
    Ports {
        /// The connections that were asked for.
        connections: u64,
        /// The number of source addresses.
        addresses: u64,
        /// The number of connections that each address can have.
        per_address: u64,
        /// The number of source addresses that would suffice.
        needed: u64,
        /// True if the addresses are of 127.0.0.0/8.
        loopback: bool,
    },
}

/// Open files that a process needs in addition to its connections: standard streams, epoll, timers, listeners, the
/// record, the files of the samplers.
pub const RESERVED_FILES: u64 = 32;

/// The most loopback addresses that a run takes on its own ([`Sources::Automatic`]): with some 28 000 ports each, they
/// allow more connections than open files do.
pub const LOOPBACK_SOURCES_MAX: u64 = 254;

fn open_files_suffice(party: Party, limit: OpenFiles, connections: u64) -> Result<(), Shortage> {
    let needed = connections.saturating_add(RESERVED_FILES);
    if needed > limit.soft {
        Err(Shortage::OpenFiles { party, connections, needed, limit })
    } else {
        Ok(())
    }
}

fn open_files_message(party: Party, connections: u64, needed: u64, limit: OpenFiles) -> String {
    let whose = match party {
        Party::Generator => "",
        Party::Server => " of the server",
    };
    let OpenFiles { soft, hard } = limit;
    let asked =
        format!("{connections} connections need {needed} open files, the limit{whose} is {soft}");
    if needed <= hard {
        return format!("{asked}: `ulimit -n {needed}`");
    }
    let fits = hard.saturating_sub(RESERVED_FILES);
    format!(
        "{asked} and cannot be raised above {hard}: at most {fits} connections, \
         or a higher hard limit (as root: `ulimit -Hn {needed}`)"
    )
}

fn ports_message(
    connections: u64,
    addresses: u64,
    per_address: u64,
    needed: u64,
    loopback: bool,
) -> String {
    if per_address == 0 {
        return format!(
            "{connections} connections need ports and the range for them has none: \
             `sysctl net.ipv4.ip_local_port_range`"
        );
    }
    let fits = addresses.saturating_mul(per_address);
    let have = match addresses {
        1 => "1 source address has".to_owned(),
        count => format!("{count} source addresses have"),
    };
    let asked = format!("{connections} connections to one target, {have} only {fits} ports");
    match loopback_range(needed) {
        Some(range) if loopback => {
            format!("{asked}: `--source-ip {range}`, or leave `--source-ip` out")
        }
        _ => format!(
            "{asked}: give {needed} addresses of this machine with `--source-ip`, \
             or at most {fits} connections"
        ),
    }
}

/// A range of `count` loopback addresses starting at 127.0.0.2, in the syntax of `--source-ip`; `None` if they do not
/// fit in 127.0.0.0/8.
fn loopback_range(count: u64) -> Option<String> {
    let first = u32::from(Ipv4Addr::new(127, 0, 0, 2));
    let last = first.checked_add(u32::try_from(count.checked_sub(1)?).ok()?)?;
    let (first, last) = (Ipv4Addr::from(first), Ipv4Addr::from(last));
    last.is_loopback()
        .then(|| if first == last { first.to_string() } else { format!("{first}-{last}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        open_files: OpenFiles { soft: 20_000, hard: 20_000 },
        server_open_files: Some(OpenFiles { soft: 20_000, hard: 20_000 }),
        ports: Ports::USUAL,
    };
    const WIDE: Limits = Limits {
        open_files: OpenFiles { soft: OpenFiles::UNLIMITED, hard: OpenFiles::UNLIMITED },
        server_open_files: None,
        ports: Ports::USUAL,
    };

    #[test]
    fn every_limit_is_reached_exactly() {
        let one = Sources::Fixed { count: 1, loopback: true };
        let two = Sources::Fixed { count: 2, loopback: true };
        let only_server = Limits { open_files: WIDE.open_files, ..LIMITS };
        let no_ports = Limits { ports: Ports { reserved: 28_232, ..Ports::USUAL }, ..WIDE };
        let inverted = Limits { ports: Ports { first: 60_000, last: 50_000, reserved: 0 }, ..WIDE };
        #[rustfmt::skip]
        let table = [
            // limits,     sources,              the most that fits
            (LIMITS,      one,                   19_968),
            (LIMITS,      Sources::NotNeeded,    19_968),
            (only_server, two,                   19_968),
            (WIDE,        one,                   28_232),
            (WIDE,        two,                   56_464),
            (no_ports,    two,                        0),
            (inverted,    two,                        0),
        ];
        for row @ (limits, sources, most) in table {
            assert_eq!(capacity(&limits, most, sources), Ok(()), "{row:?}");
            assert!(capacity(&limits, most + 1, sources).is_err(), "{row:?}");
        }
    }

    #[test]
    fn ports_do_not_bind_where_addresses_are_automatic_or_not_needed() {
        for sources in [Sources::Automatic, Sources::NotNeeded] {
            assert_eq!(capacity(&WIDE, 1_000_000, sources), Ok(()));
        }
    }

    #[test]
    fn the_message_has_the_numbers_and_the_cure() {
        let raisable = Limits { open_files: OpenFiles { soft: 1024, hard: 524_288 }, ..LIMITS };
        let server = Limits { open_files: WIDE.open_files, ..LIMITS };
        let lan = Sources::Fixed { count: 1, loopback: false };
        let given = Sources::Fixed { count: 2, loopback: true };
        #[rustfmt::skip]
        let table = [
            (raisable, 23_968, lan,
             "23968 connections need 24000 open files, the limit is 1024: `ulimit -n 24000`"),
            (LIMITS, 30_000, lan,
             "30000 connections need 30032 open files, the limit is 20000 and cannot be raised above 20000: \
              at most 19968 connections, or a higher hard limit (as root: `ulimit -Hn 30032`)"),
            (server, 30_000, lan,
             "30000 connections need 30032 open files, the limit of the server is 20000 and cannot be raised above 20000: \
              at most 19968 connections, or a higher hard limit (as root: `ulimit -Hn 30032`)"),
            (WIDE, 200_000, given,
             "200000 connections to one target, 2 source addresses have only 56464 ports: \
              `--source-ip 127.0.0.2-127.0.0.9`, or leave `--source-ip` out"),
            (WIDE, 30_000, lan,
             "30000 connections to one target, 1 source address has only 28232 ports: \
              give 2 addresses of this machine with `--source-ip`, or at most 28232 connections"),
        ];
        for (limits, connections, sources, message) in table {
            assert_eq!(capacity(&limits, connections, sources).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn huge_numbers_saturate() {
        let every = Sources::Fixed { count: u64::MAX, loopback: true };
        assert_eq!(capacity(&WIDE, u64::MAX, every), Ok(()));
        let message = capacity(&WIDE, u64::MAX, Sources::Fixed { count: 1, loopback: true })
            .unwrap_err()
            .to_string();
        assert!(message.contains("at most 28232 connections"), "{message}");
    }

    #[test]
    fn addresses_are_counted_up() {
        for (connections, addresses) in
            [(0, 0), (1, 1), (28_232, 1), (28_233, 2), (56_464, 2), (56_465, 3)]
        {
            assert_eq!(Ports::USUAL.addresses_for(connections), addresses, "{connections}");
        }
    }
}
