//! The questions to a client: it works against servers of ours, which count what it does.

use super::content::payload;
use super::known_servers::{Answers, Known, Secrets};
use super::{Check, Extent};
use lab::{
    Client, ClientError, ClientSettings, Launch, Method, PrivateFolder, Report, Run, StartError,
    Subject, Until,
};
use serve::{Behaviour, Delay};
use spec::{Protocol, Scheme};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use units::Nanos;
use wire::Kind;

/// The questions to a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientQuestions<'a> {
    /// The client.
    pub(super) subject: &'a Subject,
    /// The folder that it is installed in.
    pub(super) installed: &'a Path,
    /// The scheme that it is to speak.
    pub(super) scheme: Scheme,
    /// The way to start it.
    pub(super) launch: &'a Launch,
    /// The extent of the check.
    pub(super) extent: Extent,
}

/// Lets a client work against servers of ours, and returns the outcome of each question, in order: it has done exactly
/// as much as it reports; a known delay shows in its times; it counts wrong replies as errors.
///
/// `interrupt` has the number of the signal that asks to stop; questions after that fail.
pub(super) fn verify_client(
    questions: &ClientQuestions<'_>,
    interrupt: &AtomicUsize,
) -> Vec<Check> {
    let mut start = |settings: &ClientSettings, run: &Run| {
        let ClientQuestions { subject, installed, launch, .. } = *questions;
        let failure = |is_unsupported: bool, words: String| match is_unsupported {
            true => Failure::Unsupported(words),
            false => Failure::Other(words),
        };
        let mut client = Client::start(subject, installed, settings, launch).map_err(|error| {
            failure(matches!(error, StartError::Unsupported { .. }), error.to_string())
        })?;
        client.run(run, &mut |_| {}).map_err(|error| {
            failure(matches!(error, ClientError::Unsupported { .. }), error.to_string())
        })
    };
    let text_only = questions.subject.manifest.limits.text_only;
    match Asking::new(questions.scheme, &questions.launch.scratch) {
        Err(why) => vec![Check::not_asked("round trips", why)],
        Ok(asking) => asking.all(questions.extent, text_only, &mut start, interrupt),
    }
}

/// Starts a client, which runs one block.
type Start<'s> = dyn FnMut(&ClientSettings, &Run) -> Result<Report, Failure> + 's;

/// The reasons why a client has no report.
#[derive(Debug)]
pub(super) enum Failure {
    /// Anything else.
    Other(String),
    /// The client reports that it does not support this.
    Unsupported(String),
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Other(reason)
    }
}

/// Servers to work against, and the files that a client reads.
pub(super) struct Asking {
    /// The most by which a client's shortest round trip may exceed the known delay of a server.
    pub(super) delay_over_max: Nanos,
    files: PrivateFolder,
    scheme: Scheme,
    secrets: Option<Secrets>,
}

/// The task of a client.
#[derive(Clone, Debug)]
struct Task {
    answers: Answers,
    connections: u32,
    expect: Vec<u8>,
    kind: Kind,
    life: Option<u64>,
    payload: Vec<u8>,
    until: Until,
}

impl Task {
    /// A hundred echoes of `len` bytes on one connection.
    fn new(kind: Kind, len: usize) -> Self {
        let payload = payload(kind, len);
        Self {
            answers: Answers::Echo,
            connections: 1,
            expect: payload.clone(),
            kind,
            life: None,
            payload,
            until: Until::Messages(MESSAGES),
        }
    }
}

impl Asking {
    /// # Errors
    ///
    /// No server of ours speaks the scheme, or there is no place for files.
    pub(super) fn new(scheme: Scheme, scratch: &Path) -> Result<Self, String> {
        drop(Known::start(scheme.protocol.plain(), 1, Answers::Echo, None)?);
        let secrets = scheme.tls.then(|| Secrets::new(scheme)).transpose()?;
        let files = PrivateFolder::new(scratch, "verify")?;
        if let Some(secrets) = &secrets {
            files.write(AUTHORITY, secrets.authority_pem.as_bytes())?;
        }
        Ok(Self { delay_over_max: DELAY_OVER_MAX, files, scheme, secrets })
    }

    pub(super) fn all(
        &self,
        extent: Extent,
        text_only: bool,
        start: &mut Start<'_>,
        interrupt: &AtomicUsize,
    ) -> Vec<Check> {
        let carries = self.scheme.facts().carries;
        let usual = if carries.has_text() { Kind::Text } else { Kind::Binary };
        let mut checks = Vec::new();
        let mut ask = |what: &str, asked: &mut dyn FnMut(&mut Start<'_>) -> Result<(), Failure>| {
            let check = match interrupt.load(Ordering::Relaxed) {
                0 => match asked(start) {
                    Ok(()) => Check::new(what, Ok(())),
                    Err(Failure::Other(reason)) => Check::new(what, Err(reason)),
                    Err(Failure::Unsupported(why)) => Check::not_asked(what, why),
                },
                signal => Check::new(what, Err(format!("stopped by signal {signal}"))),
            };
            checks.push(check);
        };
        ask("exactly as many round trips as it reports", &mut |start| {
            self.counted(Task::new(usual, 64), start)
        });
        if extent == Extent::Short {
            return checks;
        }
        ask("round trips of 65536 bytes", &mut |start| {
            self.counted(Task::new(usual, 65_536), start)
        });
        if carries.has_both() && !text_only {
            ask("round trips of binary messages", &mut |start| {
                self.counted(Task::new(Kind::Binary, 64), start)
            });
        }
        ask("round trips on 4 connections", &mut |start| {
            self.counted(Task { connections: 4, ..Task::new(usual, 64) }, start)
        });
        ask("a reply that is another text", &mut |start| {
            let (payload, pong) = (b"Ping".to_vec(), b"Pong".to_vec());
            let answers = Answers::Always(pong.clone());
            self.counted(Task { answers, payload, expect: pong, ..Task::new(usual, 4) }, start)
        });
        ask("10 lives of 5 round trips", &mut |start| self.lives(usual, start));
        ask("a delay of 20 ms is in its times", &mut |start| self.delay(usual, start));
        ask("wrong replies are errors", &mut |start| self.wrong(usual, start));
        checks
    }

    /// Checks that its count agrees with the server's.
    fn counted(&self, task: Task, start: &mut Start<'_>) -> Result<(), Failure> {
        let (connections, until) = (u64::from(task.connections), task.until);
        let (report, totals) = self.work(task, start)?;
        without_errors(&report)?;
        if until != Until::Messages(report.ok) {
            return Err(format!("{} round trips reported, {MESSAGES} asked for", report.ok).into());
        }
        consistent(&report, connections)?;
        // Other messages may be under way when the last one is done.
        let possible = report.ok..=report.ok + connections - 1;
        if !possible.contains(&totals.messages) {
            let (ok, messages) = (report.ok, totals.messages);
            return Err(format!("{ok} round trips reported, the server had {messages}").into());
        }
        // An HTTP request may have its own connection.
        if self.scheme.protocol != Protocol::Http && totals.connections != connections {
            let came = totals.connections;
            return Err(format!("{connections} connections asked for, {came} came").into());
        }
        Ok(())
    }

    /// Checks short-lived clients.
    fn lives(&self, kind: Kind, start: &mut Start<'_>) -> Result<(), Failure> {
        let task = Task {
            connections: 2,
            life: Some(ROUND_TRIPS),
            until: Until::Clients(LIVES),
            ..Task::new(kind, 64)
        };
        let (report, totals) = self.work(task, start)?;
        without_errors(&report)?;
        let (ok, lives) = (report.ok, report.lives.count());
        if (ok, lives) != (LIVES * ROUND_TRIPS, LIVES) {
            let (trips, each) = (LIVES * ROUND_TRIPS, ROUND_TRIPS);
            return Err(format!(
                "{lives} lives with {ok} round trips reported, {LIVES} of {each} asked for, which are {trips}"
            )
            .into());
        }
        if totals.messages != ok {
            let had = totals.messages;
            return Err(format!("{ok} round trips reported, the server had {had}").into());
        }
        if self.scheme.protocol != Protocol::Http && totals.connections != LIVES {
            let came = totals.connections;
            return Err(format!("{LIVES} lives reported, {came} connections came").into());
        }
        Ok(())
    }

    /// Checks against a server that delays every message by a known time. A neighbour may lengthen most round trips,
    /// but not all, so the shortest is compared with the delay.
    fn delay(&self, kind: Kind, start: &mut Start<'_>) -> Result<(), Failure> {
        let behaviour = Behaviour { delay: Delay::Fixed(DELAY), ..Behaviour::default() };
        let answers = Answers::Oracle(behaviour);
        let task = Task { answers, until: Until::Messages(DELAYED), ..Task::new(kind, 64) };
        let (report, _) = self.work(task, start)?;
        without_errors(&report)?;
        let shortest = report.round_trips.min().unwrap_or_default();
        let possible = Nanos(DELAY.0 / 1001 * 1000)..=DELAY + self.delay_over_max;
        if possible.contains(&shortest) {
            return Ok(());
        }
        Err(format!(
            "the shortest round trip is {shortest}, but the server delays each message by {DELAY}; at most {} more is plausible",
            self.delay_over_max
        )
        .into())
    }

    /// Checks against a server whose replies have the right length but a wrong last byte.
    fn wrong(&self, kind: Kind, start: &mut Start<'_>) -> Result<(), Failure> {
        let task = Task::new(kind, 64);
        let mut reply = task.payload.clone();
        reply.last_mut().into_iter().for_each(|byte| *byte ^= 1);
        let task = Task { answers: Answers::Always(reply), until: Until::Time(WRONG), ..task };
        let (report, totals) = self.work(task, start)?;
        let errors: u64 = report.errors.iter().map(|(count, _)| count).sum();
        if totals.messages == 0 {
            return Err("it sent nothing".to_owned().into());
        }
        if errors == 0 || report.ok > 0 {
            let (ok, had) = (report.ok, totals.messages);
            return Err(format!(
                "{ok} round trips and {errors} errors reported, but all {had} replies were wrong"
            )
            .into());
        }
        Ok(())
    }

    /// Lets a client carry out a task; returns its report, and the totals of the server.
    fn work(&self, task: Task, start: &mut Start<'_>) -> Result<(Report, serve::Totals), Failure> {
        let (len, secrets) = (task.payload.len(), self.secrets.as_ref());
        let server = Known::start(self.scheme, len, task.answers, secrets)?;
        let settings = ClientSettings {
            url: server.url.to_string(),
            authority: secrets.map(|_| self.files.path(AUTHORITY)),
            connections: task.connections,
            payload: self.files.write("payload", &task.payload)?,
            expect: self.files.write("expect", &task.expect)?,
            is_text: task.kind == Kind::Text,
            method: Method::Post,
            life: task.life,
        };
        let run = Run { warm_up: Nanos::ZERO, until: task.until, rate: None, patience: PATIENCE };
        let report = start(&settings, &run)?;
        Ok((report, server.finish()))
    }
}

fn without_errors(report: &Report) -> Result<(), String> {
    match report.errors.first() {
        None => Ok(()),
        Some((count, words)) => Err(format!("errors reported ({count}): {}", words.escape_debug())),
    }
}

/// Checks that the times of a report can be true: one for each round trip, and together no more than there was time
/// for.
fn consistent(report: &Report, connections: u64) -> Result<(), String> {
    let (ok, times) = (report.ok, report.round_trips.count());
    if ok != times {
        return Err(format!("{ok} round trips reported, but the times of {times}"));
    }
    let (wall, mean_ns) = (report.wall, report.round_trips.mean_ns().unwrap_or(0.0));
    #[expect(clippy::cast_precision_loss, reason = "it is held against a twentieth")]
    let share = mean_ns * ok as f64 / wall.0.saturating_mul(connections) as f64;
    // A twentieth allows for the rounding of histograms, and for clocks.
    if share <= 1.05 {
        return Ok(());
    }
    Err(format!(
        "round trips fill {share:.2} times what {connections} connections have in a window of {wall}"
    ))
}

/// The file of the authority that a client is to trust.
const AUTHORITY: &str = "ca.pem";

/// The number of round trips that are counted.
const MESSAGES: u64 = 100;

/// The number of short-lived clients, and the round trips of each.
const LIVES: u64 = 10;
const ROUND_TRIPS: u64 = 5;

/// The delay of the server, the most that a client may be above it, and the number of messages.
const DELAY: Nanos = Nanos::from_millis(20);
const DELAY_OVER_MAX: Nanos = Nanos::from_millis(5);
const DELAYED: u64 = 20;

/// The time for which wrong replies are sent.
const WRONG: Nanos = Nanos::from_millis(300);

/// The longest time that a client may take for any one question.
const PATIENCE: Nanos = Nanos::from_secs(30);
