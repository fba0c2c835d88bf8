//! A server subject that listens.

use crate::Subject;
use crate::lines::{Line, Lines, NoLine};
use crate::process::{Launch, Process, Program, Purpose};
use crate::ready::{Deadline, StartError, after_ready, ended, ended_early, garbage};
use engine::clock;
use spec::Scheme;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use units::{Bytes, Nanos};

/// A server subject that is ready. It is ended when dropped.
#[derive(Debug)]
pub struct Server {
    process: Process,
    urls: Vec<String>,
}

/// A server of the user's.
#[derive(Clone, Debug)]
pub struct OfUser<'a> {
    /// The shell command that starts it.
    pub line: &'a str,
    /// Its working directory.
    pub folder: &'a Path,
    /// The name that it is known by, which is never parsed.
    pub url: String,
    /// The text that a line of its output contains when it is ready.
    pub ready_line: Option<&'a str>,
}

/// The settings of a server subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// The address that it listens on (`WIREBENCH_HOST`).
    pub host: String,
    /// The port; 0 for any that is free (`WIREBENCH_PORT`).
    pub port: u16,
    /// Its answer to every message, instead of an echo (`WIREBENCH_REPLY`).
    pub reply: Option<String>,
    /// The time for which it keeps its processor busy for each message, before it sends its reply
    /// (`WIREBENCH_WORK_NS`).
    pub work: Option<Nanos>,
    /// Its certificate, if it is to speak TLS as well.
    pub tls: Option<TlsFiles>,
    /// The longest message that it must accept (`WIREBENCH_MESSAGE_MAX`).
    pub message_size_max: Bytes,
    /// The most connections that wait to be accepted (`WIREBENCH_BACKLOG`).
    pub backlog: u32,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 0,
            reply: None,
            work: None,
            tls: None,
            message_size_max: Bytes(16 << 20),
            backlog: 4096,
        }
    }
}

/// A server's certificate, as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Its certificates, leaf first (`WIREBENCH_TLS_CERT`).
    pub certificate: PathBuf,
    /// Its key (`WIREBENCH_TLS_KEY`).
    pub key: PathBuf,
}

impl Server {
    /// Starts `subject`, which is installed in `installed`, and waits until it is ready in all schemes of its manifest:
    /// those inside TLS only if the settings have a certificate.
    ///
    /// # Errors
    ///
    /// [`StartError`]; none of its processes is left running then.
    pub fn start(
        subject: &Subject,
        installed: &Path,
        settings: &ServerSettings,
        launch: &Launch,
    ) -> Result<Self, StartError> {
        let purpose = Purpose::Server(&environment(settings));
        let program = Program { command: &subject.manifest.start, folder: installed, purpose };
        let mut process = Process::start(&program, launch).map_err(StartError::no_keeper)?;
        let lines = Lines::read(process.take_stdout(), LINE_LEN_MAX);
        let lines = lines.map_err(StartError::no_keeper)?;
        let speaks = subject.schemes();
        let mut wanted = speaks.clone();
        wanted.retain(|scheme| settings.tls.is_some() || !Scheme::is_secured(scheme));
        let deadline = Deadline::after(launch.ready_timeout);
        let mut urls: Vec<String> = Vec::new();
        while let Some(missing) =
            wanted.iter().find(|wanted| !urls.iter().any(|url| scheme_of(url) == Some(wanted)))
        {
            match lines.next(deadline.left()) {
                Ok(line) => urls.push(url_of(&line, &speaks)?),
                Err(NoLine::Late) => {
                    let awaited = format!("`ready {missing}://…`");
                    return Err(deadline.late(awaited, &process));
                }
                Err(NoLine::End) => return Err(ended(&mut process, settings.port)),
            }
        }
        Ok(Self { process, urls })
    }

    /// Starts a server of the user's, and waits until it is ready: it has printed its ready line, if it has one, and it
    /// listens. Calls `listens` again and again, with its process IDs.
    ///
    /// # Errors
    ///
    /// [`StartError`], or the fault that `listens` reports; none of its processes is left running then.
    pub fn of_user(
        server: OfUser<'_>,
        launch: &Launch,
        listens: &dyn Fn(&[u32]) -> Result<bool, String>,
    ) -> Result<Self, StartError> {
        let OfUser { line, folder, url, ready_line } = server;
        let command = ["/bin/sh", "-c", line].map(str::to_owned);
        let program = Program { command: &command, folder, purpose: Purpose::Own(ready_line) };
        let mut process = Process::start(&program, launch).map_err(StartError::no_keeper)?;
        let deadline = Deadline::after(launch.ready_timeout);
        loop {
            // Checks first whether it has ended: then it no longer listens.
            if process.died().is_some() {
                return Err(ended_early(&mut process, ready_line));
            }
            let awaited = ready_line.filter(|_| !process.has_said());
            match listens(&process.pids()) {
                Ok(true) if awaited.is_none() => return Ok(Self { process, urls: vec![url] }),
                Ok(_) if deadline.left() == Nanos::ZERO => {
                    return Err(match awaited {
                        Some(text) => deadline.not_printed(text, &process),
                        None => deadline.not_listening(url, &process),
                    });
                }
                Ok(_) => clock::sleep(LOOK_AGAIN),
                Err(reason) => return Err(StartError::NotStarted { reason }),
            }
        }
    }

    /// The URLs that it is ready for.
    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    /// The first of them with that scheme.
    pub fn url(&self, scheme: &str) -> Option<&str> {
        self.urls.iter().map(String::as_str).find(|url| scheme_of(url) == Some(scheme))
    }

    /// Its processes.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Its processes, to end them or to see if they have ended.
    pub fn process_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

fn environment(settings: &ServerSettings) -> Vec<(&'static str, OsString)> {
    let mut variables: Vec<(&str, OsString)> = vec![
        ("WIREBENCH_HOST", settings.host.clone().into()),
        ("WIREBENCH_PORT", settings.port.to_string().into()),
        ("WIREBENCH_MESSAGE_MAX", settings.message_size_max.0.to_string().into()),
        ("WIREBENCH_BACKLOG", settings.backlog.to_string().into()),
    ];
    if let Some(reply) = &settings.reply {
        variables.push(("WIREBENCH_REPLY", reply.into()));
    }
    if let Some(work) = settings.work {
        variables.push(("WIREBENCH_WORK_NS", work.0.to_string().into()));
    }
    if let Some(tls) = &settings.tls {
        variables.push(("WIREBENCH_TLS_CERT", tls.certificate.clone().into()));
        variables.push(("WIREBENCH_TLS_KEY", tls.key.clone().into()));
    }
    variables
}

/// The URL of a line `ready URL`; the manifest must name its scheme.
fn url_of(line: &Line, speaks: &[&str]) -> Result<String, StartError> {
    let bytes = after_ready(line)?;
    let url = std::str::from_utf8(bytes).ok();
    let url = url.filter(|url| url.bytes().all(|byte| byte.is_ascii_graphic()));
    match url.and_then(|url| Some((url, scheme_of(url)?))) {
        None => Err(garbage(&[b"ready ", bytes].concat(), "that is not a URL")),
        Some((url, scheme)) if !speaks.contains(&scheme) => Err(garbage(
            &[b"ready ", url.as_bytes()].concat(),
            "its manifest does not name that scheme in `speaks`",
        )),
        Some((url, _)) => Ok(url.to_owned()),
    }
}

/// The scheme of a URL; a Unix socket may have a relative path.
fn scheme_of(url: &str) -> Option<&str> {
    let before = |separator| url.split_once(separator).map(|(scheme, _)| scheme);
    before("://").or_else(|| before(":").filter(|scheme| *scheme == "unix"))
}

/// Time between two checks of a user's server that is not ready yet.
const LOOK_AGAIN: Nanos = Nanos::from_millis(10);

/// The longest line about a URL.
const LINE_LEN_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_not_ready_says_what_is_wrong_with_it() {
        let speaks = ["ws", "sockjs"];
        let url = |line: &str| url_of(&Line::Bytes(line.into()), &speaks);
        assert_eq!(url("ready ws://127.0.0.1:1/"), Ok("ws://127.0.0.1:1/".to_owned()));
        assert_eq!(url("ready sockjs://h:1/echo\r"), Ok("sockjs://h:1/echo".to_owned()));
        #[rustfmt::skip]
        let table = [
            ("Listening on 80",   "logs belong on stderr"),
            ("ready",             "logs belong on stderr"),
            ("ready 127.0.0.1:1", "that is not a URL"),
            ("ready ws://a b",    "that is not a URL"),
            ("ready wss://a:1/",  "its manifest does not name that scheme in `speaks`"),
        ];
        for (line, expected) in table {
            let Err(StartError::Garbage { what, .. }) = url(line) else { panic!("{line}") };
            assert_eq!(what, expected, "{line}");
        }
    }
}
