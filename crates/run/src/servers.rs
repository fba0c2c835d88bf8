//! The embedded servers, started as child processes, so that their CPU, memory and sockets are their own.

use crate::drawer::Drawer;
use crate::{Embedded, RunError, Speech, Tls};
use rustix::process::{Pid, Signal, kill_process};
use spec::{Carries, Endpoint, Protocol, Scheme};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use units::Nanos;
use wire::tls::Trust;

/// A server of ours that listens. Ended when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// Where it listens.
    pub(crate) url: Endpoint,
    /// Whom to trust, where it speaks TLS: the authority that it has made for itself.
    pub(crate) authority_pem: Option<Vec<u8>>,
    socket: Option<PathBuf>,
}

/// How servers are started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch<'a> {
    /// Our own program.
    pub(crate) program: &'a Path,
    /// Where Unix sockets and certificates may be put.
    pub(crate) scratch: &'a Path,
    /// The CPU that they are kept on.
    pub(crate) cpu: Option<usize>,
}

impl Server {
    /// Starts the server and waits until it says that it listens. It answers every message with `reply`, or else with
    /// that message.
    ///
    /// # Errors
    ///
    /// [`RunError::EmbeddedServer`] with what it said on its standard error.
    pub(crate) fn start(
        embedded: Embedded,
        reply: Option<&str>,
        launch: Launch<'_>,
    ) -> Result<Self, RunError> {
        let scheme = embedded.scheme;
        let first = match (scheme.facts().carries == Carries::Events, scheme.tls) {
            (false, _) => &[scheme.name()][..],
            (true, false) => &["game", "--web", "127.0.0.1:0"],
            (true, true) => &["game", "--web", "127.0.0.1:0", "--tls"],
        };
        let mut words = [first, embedded.options].concat();
        let reply = reply.map(|reply| format!("--reply={reply}"));
        words.extend(reply.as_deref());
        Self::start_as(&words, scheme, launch)
    }

    /// The same for an oracle, whose `delay` is as it is typed.
    ///
    /// # Errors
    ///
    /// As above.
    pub(crate) fn start_oracle(
        scheme: Scheme,
        delay: &str,
        launch: Launch<'_>,
    ) -> Result<Self, RunError> {
        Self::start_as(&["oracle", scheme.name(), "--delay", delay], scheme, launch)
    }

    /// `words` are what stands behind `wirebench serve`.
    fn start_as(words: &[&str], scheme: Scheme, launch: Launch<'_>) -> Result<Self, RunError> {
        let failed = |reason: String| RunError::EmbeddedServer { name: scheme.name(), reason };
        let socket = (scheme.protocol == Protocol::Unix)
            .then(|| launch.scratch.join(format!("wirebench-{}.sock", std::process::id())));
        let listen = match &socket {
            Some(path) => path.display().to_string(),
            None => "127.0.0.1:0".to_owned(),
        };
        let authority = scheme.tls.then(|| Drawer::new(launch.scratch, "ca")).transpose();
        let authority = authority.map_err(&failed)?;
        let mut command = Command::new(launch.program);
        command.arg("serve").args(words);
        command.args(["--listen", &listen, "--die-with-parent", "--quiet"]);
        if let Some(cpu) = launch.cpu {
            command.args(["--cpu", &cpu.to_string()]);
        }
        if let Some(authority) = &authority {
            command.arg("--ca-out").arg(authority.path(AUTHORITY));
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(format!("{}: {error}", launch.program.display())))?;
        match ready(&mut child, scheme) {
            Ok(url) => {
                let mut server = Self { child, url, authority_pem: None, socket };
                server.authority_pem =
                    authority.map(|drawer| drawer.read(AUTHORITY)).transpose().map_err(failed)?;
                Ok(server)
            }
            Err(said) => {
                let mut words = String::new();
                drop(child.kill());
                if let Some(mut stderr) = child.stderr.take() {
                    drop(stderr.read_to_string(&mut words));
                }
                drop(child.wait());
                let words = if words.trim().is_empty() { said } else { words.trim().to_owned() };
                Err(failed(words))
            }
        }
    }

    /// How it is to be spoken to.
    pub(crate) fn speech(&self) -> Speech {
        let now_unix_s = engine::clock::unix_seconds().unwrap_or(0);
        let mut tls = Tls::usual(self.url.scheme(), now_unix_s);
        if let (Some(tls), Some(pem)) = (&mut tls, &self.authority_pem) {
            tls.options.trust = Trust::Authorities { pem: vec![pem.clone()], der: Vec::new() };
        }
        Speech { tls, ..Speech::default() }
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What became of it, if it is not running any more.
    pub(crate) fn died(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| status.to_string())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            kill_process(pid, Signal::TERM).ok();
        }
        for _ in 0..END_POLLS {
            if self.died().is_some() {
                break;
            }
            engine::clock::sleep(END_POLL);
        }
        drop(self.child.kill());
        drop(self.child.wait());
        if let Some(path) = &self.socket {
            drop(std::fs::remove_file(path));
        }
    }
}

/// Where the child says that it speaks `scheme`, of all that it says to be ready for. Read on a thread of its own
/// because a pipe has no time-out.
fn ready(child: &mut Child, scheme: Scheme) -> Result<Endpoint, String> {
    let stdout = child.stdout.take().expect("it was piped");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        drop(sender.send(url_said(&mut stdout, scheme)));
        // The totals that it prints at its end must not find the pipe closed.
        drop(std::io::copy(&mut stdout, &mut std::io::sink()));
    });
    match receiver.recv_timeout(READY_TIMEOUT.into()) {
        Ok(said) => said,
        Err(RecvTimeoutError::Timeout) => {
            Err(format!("it did not say `ready` within {READY_TIMEOUT}"))
        }
        Err(RecvTimeoutError::Disconnected) => Err("it ended without a word".to_owned()),
    }
}

/// The first URL of `scheme` in lines of `ready URL`; in place of it the first line that is none, or why there is none.
fn url_said(lines: &mut impl BufRead, scheme: Scheme) -> Result<Endpoint, String> {
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).map_err(|error| error.to_string())?;
        let url: Option<Endpoint> =
            line.strip_prefix("ready ").and_then(|url| url.trim().parse().ok());
        match url {
            Some(url) if url.scheme() == scheme => return Ok(url),
            Some(_) => {}
            None => return Err(line),
        }
    }
}

/// The file in which it puts its authority.
const AUTHORITY: &str = "ca.pem";

/// How long a server may take to listen.
const READY_TIMEOUT: Nanos = Nanos::from_secs(10);

/// How often, and how many times, the end of a server is looked for before it is killed: for a second.
const END_POLL: Nanos = Nanos::from_millis(5);
const END_POLLS: u32 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_all_that_a_server_is_ready_for_one_is_meant() {
        let said = "ready game://127.0.0.1:1\nready game-ws://127.0.0.1:2/socket\nserved\n";
        #[rustfmt::skip]
        let table = [
            (Protocol::Game,         Ok("game://127.0.0.1:1")),
            (Protocol::GameWebSocket, Ok("game-ws://127.0.0.1:2/socket")),
            (Protocol::GameComet,    Err("served\n")),
        ];
        for (protocol, expected) in table {
            let scheme = protocol.plain();
            let found = url_said(&mut said.as_bytes(), scheme).map(|url| url.to_string());
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{scheme}");
        }
        assert_eq!(url_said(&mut "".as_bytes(), Protocol::Game.plain()), Err(String::new()));
    }
}
