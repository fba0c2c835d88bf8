//! A client subject that takes commands.

use crate::Subject;
use crate::client_report::{GarbageError, Moment, Reader, Report, ResultLimits, Step};
use crate::lines::{Line, Lines, NoLine, quoted};
use crate::process::{Ended, Launch, Process, Program, Purpose};
use crate::ready::{
    Deadline, LINES_SHOWN, StartError, UNSUPPORTED, after_ready, ended, ended_by_itself, shown,
};
use crate::receivers_report::{self, Received};
use crate::tail::{escaped, last_lines};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use units::{Nanos, Rate};

/// The settings of a client subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSettings {
    /// The server (`WIREBENCH_URL`).
    pub url: String,
    /// The certificate authority to trust, a PEM file; only with TLS (`WIREBENCH_CA`).
    pub authority: Option<PathBuf>,
    /// The number of connections at a time (`WIREBENCH_CONNECTIONS`).
    pub connections: u32,
    /// The file with the payload of each message (`WIREBENCH_PAYLOAD`).
    pub payload: PathBuf,
    /// The file with the reply that each message must get (`WIREBENCH_EXPECT`).
    pub expect: PathBuf,
    /// True if messages are text, where the protocol distinguishes text from bytes (`WIREBENCH_KIND`).
    pub is_text: bool,
    /// HTTP: the method (`WIREBENCH_METHOD`).
    pub method: Method,
    /// The round trips of each connection; `None`: connections last as long as the block (`WIREBENCH_LIFE`).
    pub life: Option<u64>,
}

/// The methods of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// A request without a body.
    Get,
    /// A request with the payload as its body.
    #[default]
    Post,
}

/// The order for one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The length of the warm-up before its window.
    pub warm_up: Nanos,
    /// The end of its window.
    pub until: Until,
    /// Messages per second over all connections, by schedule; `None`: each message follows the previous reply.
    pub rate: Option<Rate>,
    /// The longest time from the command until its last line.
    pub patience: Nanos,
}

/// The end of a block's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this number of client lives. The whole run is measured.
    Clients(u64),
    /// After this number of round trips.
    Messages(u64),
    /// After this time.
    Time(Nanos),
}

/// The order to receive what is published in rooms, from now until [`Client::received`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receive {
    /// The URL of the relay, with the receivers' transport.
    pub url: String,
    /// The number of rooms, which are numbered from 0.
    pub rooms: u32,
    /// The number of receivers in each.
    pub receivers: u32,
    /// The longest time until all of them have joined.
    pub patience: Nanos,
}

/// A client subject that is ready. It is ended when dropped.
#[derive(Debug)]
pub struct Client {
    process: Process,
    /// `None` once it was asked to end.
    commands: Option<ChildStdin>,
    lines: Lines,
    library: String,
    limits: ResultLimits,
}

impl Client {
    /// Starts `subject`, which is installed in `installed`, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// [`StartError`]; none of its processes is left running then.
    pub fn start(
        subject: &Subject,
        installed: &Path,
        settings: &ClientSettings,
        launch: &Launch,
    ) -> Result<Self, StartError> {
        let purpose = Purpose::Client(&environment(settings));
        let program = Program { command: &subject.manifest.start, folder: installed, purpose };
        let mut process = Process::start(&program, launch).map_err(StartError::no_keeper)?;
        let limits = ResultLimits::default();
        let lines = Lines::read(process.take_stdout(), limits.line_len_max);
        let lines = lines.map_err(StartError::no_keeper)?;
        let commands = Some(process.take_stdin());
        let deadline = Deadline::after(launch.ready_timeout);
        let library = match lines.next(deadline.left()) {
            Ok(line) => escaped(after_ready(&line)?),
            Err(NoLine::Late) => {
                return Err(deadline.late("`ready LIBRARY VERSION`".to_owned(), &process));
            }
            Err(NoLine::End) => return Err(ended(&mut process, 0)),
        };
        Ok(Self { process, commands, lines, library, limits })
    }

    /// Runs one block. Calls `tell` as soon as the client reports that its window begins or ends.
    ///
    /// # Errors
    ///
    /// [`ClientError`]. After [`ClientError::Unsupported`] it may take another command; after any other error it has
    /// ended.
    pub fn run(&mut self, run: &Run, tell: &mut dyn FnMut(Moment)) -> Result<Report, ClientError> {
        let result = self.block(run, tell);
        if result.as_ref().is_err_and(|error| !matches!(error, ClientError::Unsupported { .. })) {
            self.process.end();
        }
        result
    }

    /// Opens receivers, and returns when they have joined their rooms. `now` reads our clock, which the client may ask
    /// for.
    ///
    /// # Errors
    ///
    /// As for [`Client::run`].
    pub fn receive(
        &mut self,
        order: &Receive,
        now: &mut dyn FnMut() -> Nanos,
    ) -> Result<(), ClientError> {
        let Receive { url, rooms, receivers, patience } = order;
        let command = format!("receive url={url} rooms={rooms} receivers={receivers}\n");
        let reader = receivers_report::Reader::awaiting_receivers(self.limits);
        self.talk(&command, *patience, reader, now).map(drop)
    }

    /// Lets its receivers wait at most `last_wait` for the end of what was published, closes them, and returns what
    /// they have received since [`Client::receive`]. `patience` is the longest time until its last line.
    ///
    /// # Errors
    ///
    /// As for [`Client::run`].
    pub fn received(
        &mut self,
        last_wait: Nanos,
        patience: Nanos,
        now: &mut dyn FnMut() -> Nanos,
    ) -> Result<Received, ClientError> {
        let command = format!("stop time_ns={}\n", last_wait.0);
        let reader = receivers_report::Reader::awaiting_report(self.limits);
        self.talk(&command, patience, reader, now)
    }

    /// Sends a command about receivers, and reads lines until `reader` has the complete answer.
    fn talk(
        &mut self,
        command: &str,
        patience: Nanos,
        mut reader: receivers_report::Reader,
        now: &mut dyn FnMut() -> Nanos,
    ) -> Result<Received, ClientError> {
        let result = self.read_all(command, patience, &mut reader, now);
        if result.is_err() {
            self.process.end();
        }
        result
    }

    fn read_all(
        &mut self,
        command: &str,
        patience: Nanos,
        reader: &mut receivers_report::Reader,
        now: &mut dyn FnMut() -> Nanos,
    ) -> Result<Received, ClientError> {
        self.is_silent()?;
        let deadline = Deadline::after(patience);
        self.command(command)?;
        loop {
            let line = self.line(&deadline, patience, reader.awaited())?;
            match reader.take(&line)? {
                receivers_report::Step::Asks => self.command(&format!("clock {}\n", now().0))?,
                receivers_report::Step::Done(received) => return Ok(received),
                receivers_report::Step::More => {}
                receivers_report::Step::Unsupported(said) => {
                    return Err(ClientError::Unsupported { said });
                }
            }
        }
    }

    /// Ends it: closes its stdin first, after which it has 5 s to end on its own. A browser takes 2 s.
    pub fn end(&mut self) -> &Ended {
        if self.commands.take().is_some() {
            // A paused client would not notice.
            self.process.resume();
            self.process.wait_for_end(Process::END_MAX);
        }
        self.process.end()
    }

    /// The library and its version, as the client reports them.
    pub fn library(&self) -> &str {
        &self.library
    }

    /// Its processes.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Its processes, to end them or to see if they have ended.
    pub fn process_mut(&mut self) -> &mut Process {
        &mut self.process
    }

    fn block(&mut self, run: &Run, tell: &mut dyn FnMut(Moment)) -> Result<Report, ClientError> {
        self.is_silent()?;
        let deadline = Deadline::after(run.patience);
        let mut reader = Reader::new(self.limits);
        self.command(&command(run))?;
        loop {
            let line = self.line(&deadline, run.patience, reader.awaited())?;
            match reader.take(&line)? {
                Step::Done(report) => return Ok(*report),
                Step::Moment(moment) => tell(moment),
                Step::More => {}
                Step::Unsupported(words) => return Err(ClientError::Unsupported { said: words }),
            }
        }
    }

    /// Checks that it has printed nothing unasked.
    fn is_silent(&self) -> Result<(), ClientError> {
        if let Ok(Line::Bytes(line) | Line::TooLong(line)) = self.lines.already() {
            let what = "no command was given".to_owned();
            return Err(GarbageError::Line { line: quoted(&line), what }.into());
        }
        Ok(())
    }

    /// Writes a line to its stdin.
    fn command(&mut self, line: &str) -> Result<(), ClientError> {
        let commands = self.commands.as_mut();
        if commands.is_none_or(|pipe| pipe.write_all(line.as_bytes()).is_err()) {
            return Err(self.died());
        }
        Ok(())
    }

    /// Returns its next line; `awaited` names the one that the caller expects.
    fn line(
        &mut self,
        deadline: &Deadline,
        patience: Nanos,
        awaited: &'static str,
    ) -> Result<Vec<u8>, ClientError> {
        match self.lines.next(deadline.left()) {
            Ok(Line::Bytes(line)) => Ok(line),
            Ok(Line::TooLong(start)) => {
                let what = format!("it is longer than {} bytes", self.limits.line_len_max);
                Err(GarbageError::Line { line: quoted(&start), what }.into())
            }
            Err(NoLine::Late) => {
                let said = last_lines(&self.process.stderr(), LINES_SHOWN);
                Err(ClientError::Late { awaited, waited: patience, said })
            }
            Err(NoLine::End) => Err(self.died()),
        }
    }

    /// The error for a client that has stopped reading commands or printing lines.
    fn died(&mut self) -> ClientError {
        let (status, code) = ended_by_itself(&mut self.process);
        let said = last_lines(&self.process.stderr(), LINES_SHOWN);
        match code {
            Some(UNSUPPORTED) => ClientError::Unsupported { said },
            _ => ClientError::Died { status, said },
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.end();
    }
}

/// The reasons why a client's block failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// It ended in the middle of the block.
    #[error("the client ended: {status}{}", shown(said))]
    Died {
        /// Its end in words.
        status: String,
        /// Its last lines on stderr.
        said: String,
    },
    /// It printed something that is not a result.
    #[error("the client's result: {0}")]
    Garbage(#[from] GarbageError),
    /// It took longer than [`Run::patience`].
    #[error("the client did not say {awaited} within {waited}{}", shown(said))]
    Late {
        /// The line that did not arrive.
        awaited: &'static str,
        /// The time waited.
        waited: Nanos,
        /// Its last lines on stderr.
        said: String,
    },
    /// It does not support this: it said so, or ended with exit code 127.
    #[error("the client does not support this{}", shown(said))]
    Unsupported {
        /// Its words.
        said: String,
    },
}

fn environment(settings: &ClientSettings) -> Vec<(&'static str, OsString)> {
    let kind = if settings.is_text { "text" } else { "binary" };
    let method = match settings.method {
        Method::Get => "GET",
        Method::Post => "POST",
    };
    let life =
        settings.life.map_or_else(|| "long".to_owned(), |round_trips| round_trips.to_string());
    let mut variables: Vec<(&str, OsString)> = vec![
        ("WIREBENCH_URL", settings.url.clone().into()),
        ("WIREBENCH_CONNECTIONS", settings.connections.to_string().into()),
        ("WIREBENCH_PAYLOAD", settings.payload.clone().into()),
        ("WIREBENCH_EXPECT", settings.expect.clone().into()),
        ("WIREBENCH_KIND", kind.into()),
        ("WIREBENCH_METHOD", method.into()),
        ("WIREBENCH_LIFE", life.into()),
    ];
    if let Some(authority) = &settings.authority {
        variables.push(("WIREBENCH_CA", authority.clone().into()));
    }
    variables
}

/// The line that starts a block.
fn command(run: &Run) -> String {
    let until = match run.until {
        Until::Clients(count) => format!("clients={count}"),
        Until::Messages(count) => format!("messages={count}"),
        Until::Time(time) => format!("time_ns={}", time.0),
    };
    let rate = run.rate.map_or_else(String::new, |rate| format!(" rate={}", rate.per_second()));
    format!("run warm_up_ns={} {until}{rate}\n", run.warm_up.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_says_when_its_window_ends() {
        let run = |until, rate: Option<&str>| Run {
            warm_up: Nanos(5),
            until,
            rate: rate.map(|rate| rate.parse().unwrap()),
            patience: Nanos::ZERO,
        };
        #[rustfmt::skip]
        let table = [
            (run(Until::Time(Nanos(7)), None),          "run warm_up_ns=5 time_ns=7\n"),
            (run(Until::Messages(7), None),             "run warm_up_ns=5 messages=7\n"),
            (run(Until::Clients(7), None),              "run warm_up_ns=5 clients=7\n"),
            (run(Until::Time(Nanos(7)), Some("2000/s")), "run warm_up_ns=5 time_ns=7 rate=2000\n"),
            (run(Until::Time(Nanos(7)), Some("1/2s")),  "run warm_up_ns=5 time_ns=7 rate=0.5\n"),
        ];
        for (run, expected) in table {
            assert_eq!(command(&run), expected);
        }
    }
}
