//! The servers of the contests, and the numbers they count.

use super::process::Process;
use super::tools::Tools;
use anyhow::{Context as _, Result};
use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt as _;
use std::process::Command;
use std::time::Duration;

/// The core of every server.
pub(super) const CORE: usize = 0;

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `bench/floor/tcp_echo_epoll.c`
    TcpEpoll,
    /// `bench/floor/tcp_echo_uring.c`
    TcpUring,
    /// `bench/floor/ws_echo_epoll.c`
    WebSocketEpoll,
    /// nginx with a file of 64 bytes
    Nginx,
}

/// What a server has counted since it started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) messages: u64,
    pub(super) connections: u64,
}

/// A server at work.
pub(super) struct Server {
    pub(super) process: Process,
    pub(super) address: SocketAddr,
    counter: Counter,
}

/// Where a server keeps its numbers.
enum Counter {
    /// The file that the floor servers map into their memory: two 64-bit numbers.
    Mapped(File),
    /// The status page of nginx.
    StatusPage,
}

impl Server {
    /// Starts a server and waits until it is ready.
    pub(super) fn start(kind: Kind, tools: &Tools) -> Result<Self> {
        let counts = tools.scratch.join("counts");
        let floor = |name: &str| Command::new(tools.floor(name));
        let mut command = match kind {
            Kind::TcpEpoll => floor("tcp_echo_epoll"),
            Kind::TcpUring => floor("tcp_echo_uring"),
            Kind::WebSocketEpoll => floor("ws_echo_epoll"),
            Kind::Nginx => Command::new(tools.nginx.join("start")),
        };
        match kind {
            Kind::TcpEpoll | Kind::TcpUring => command.arg("0").arg(&counts),
            Kind::WebSocketEpoll => command.args(["0", "1"]).arg(&counts),
            Kind::Nginx => &mut command,
        };
        let mut process = Process::start("server", CORE, &command, &tools.scratch)?;
        let address = await_ready(&mut process)?;
        let counter = match kind {
            Kind::TcpEpoll | Kind::TcpUring | Kind::WebSocketEpoll => {
                Counter::Mapped(File::open(counts)?)
            }
            Kind::Nginx => Counter::StatusPage,
        };
        Ok(Self { process, address, counter })
    }

    /// What it has counted so far.
    pub(super) fn counts(&self) -> Result<Counts> {
        match &self.counter {
            Counter::Mapped(file) => {
                let mut numbers = [[0; 8]; 2];
                file.read_exact_at(numbers.as_flattened_mut(), 0)?;
                let [messages, connections] = numbers.map(u64::from_ne_bytes);
                Ok(Counts { messages, connections })
            }
            Counter::StatusPage => status_counts(&fetch(self.address, "/status")?),
        }
    }
}

/// Waits for the line that says where a server listens.
pub(super) fn await_ready(process: &mut Process) -> Result<SocketAddr> {
    process
        .wait_for("ready line", Duration::from_secs(10), |process| Ok(ready_at(&process.printed())))
}

/// The address of `ready ADDRESS` or `ready SCHEME://ADDRESS/`, once the whole line is there.
fn ready_at(printed: &str) -> Option<SocketAddr> {
    let (line, _) = printed.split_once('\n')?;
    let place = line.strip_prefix("ready ")?;
    place.split_once("://").map_or(place, |(_, rest)| rest).trim_end_matches('/').parse().ok()
}

/// The third line of nginx' status page: accepts, handled, requests.
fn status_counts(page: &str) -> Result<Counts> {
    let line = page
        .lines()
        .skip_while(|line| !line.starts_with("server accepts"))
        .nth(1)
        .unwrap_or_default();
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [connections, _, messages] = numbers[..] else {
        anyhow::bail!("no status page of nginx: {page:?}")
    };
    Ok(Counts { messages, connections })
}

/// A page over HTTP/1.0.
#[expect(clippy::disallowed_types, reason = "one small request, no protocol of ours")]
fn fetch(address: SocketAddr, path: &str) -> Result<String> {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
    let mut page = String::new();
    stream.read_to_string(&mut page).with_context(|| format!("{address}{path}"))?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ready_line_says_where() {
        let address = "127.0.0.1:4123".parse().ok();
        assert_eq!(ready_at("ready 127.0.0.1:4123\n"), address);
        assert_eq!(ready_at("ready ws://127.0.0.1:4123/\n"), address);
        assert_eq!(ready_at("ready 127.0.0.1:41"), None);
    }

    #[test]
    fn the_status_page_of_nginx_is_read() {
        let page = "Active connections: 51 \nserver accepts handled requests\n 60 60 123456 \n";
        let counts = status_counts(page).unwrap();
        assert_eq!((counts.connections, counts.messages), (60, 123_456));
        assert!(status_counts("HTTP/1.1 404 Not Found\r\n\r\n").is_err());
    }
}
