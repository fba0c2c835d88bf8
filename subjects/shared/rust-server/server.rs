//! The settings of a server on tokio, from its environment (`docs/SUBJECTS.md`), and its socket.

use std::env;
use std::error::Error;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpSocket};

pub(crate) type AnyError = Box<dyn Error + Send + Sync>;

/// The reply to every message; without it, the message is sent back.
pub(crate) fn reply() -> Option<String> {
    env::var("WIREBENCH_REPLY").ok()
}

/// The length of the longest message that is to be accepted.
pub(crate) fn message_max() -> Result<usize, AnyError> {
    Ok(variable("WIREBENCH_MESSAGE_MAX", "16777216").parse()?)
}

/// Listens at the port that was asked for.
pub(crate) fn listen() -> Result<TcpListener, AnyError> {
    listen_at(variable("WIREBENCH_PORT", "0").parse()?)
}

/// Listens at a port; 0 for any that is free. Chosen: the backlog that is asked for.
pub(crate) fn listen_at(port: u16) -> Result<TcpListener, AnyError> {
    let host: Ipv4Addr = variable("WIREBENCH_HOST", "127.0.0.1").parse()?;
    let socket = TcpSocket::new_v4()?;
    socket.bind((host, port).into())?;
    Ok(socket.listen(variable("WIREBENCH_BACKLOG", "4096").parse()?)?)
}

/// The time for which a message keeps the processor busy before it is answered.
#[derive(Clone, Copy)]
pub(crate) struct Work(Duration);

impl Work {
    pub(crate) fn read() -> Result<Self, AnyError> {
        Ok(Self(Duration::from_nanos(variable("WIREBENCH_WORK_NS", "0").parse()?)))
    }

    pub(crate) fn keep_busy(self) {
        let start = Instant::now();
        while start.elapsed() < self.0 {
            std::hint::spin_loop();
        }
    }
}

/// Prints the version of a library if the program was asked for it; true if so. The text of the lock file, `lock`, has
/// the one that was built.
pub(crate) fn says_version(library: &str, lock: &str) -> bool {
    let is_asked = env::args().nth(1).is_some();
    if is_asked {
        let found = lock.split_once(&format!("name = \"{library}\"\nversion = \""));
        println!("{}", found.and_then(|(_, rest)| rest.split('"').next()).unwrap_or("?"));
    }
    is_asked
}

fn variable(name: &str, otherwise: &str) -> String {
    env::var(name).unwrap_or_else(|_| otherwise.to_owned())
}
