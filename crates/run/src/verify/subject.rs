//! The check of a subject: it is started as a lab starts it, asked over every scheme that it speaks, and ended.

use super::client::{ClientQuestions, verify_client};
use super::conversation_questions::verify_held;
use super::receivers::verify_receivers;
use super::rooms::verify_rooms;
use super::server::verify_server;
use super::{Check, Extent, Outcome, ServerQuestions};
use crate::children::certificates::Certificates;
use engine::clock::Clock;
use lab::{Held, Launch, Role, Server, ServerSettings, Subject};
use spec::{Answer, Endpoint, Scheme};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use units::{Instant, Nanos};

/// A subject to check.
#[derive(Clone, Copy, Debug)]
pub struct SubjectQuestions<'a> {
    /// The subject.
    pub subject: &'a Subject,
    /// The folder that it is installed in.
    pub installed: &'a Path,
    /// The way to start it.
    pub launch: &'a Launch,
}

/// Asks a subject all questions: its version, and everything that it is to be timed at.
///
/// `interrupt` has the number of the signal that asks to stop; questions after that fail, or are left out.
pub fn verify_subject(questions: &SubjectQuestions<'_>, interrupt: &AtomicUsize) -> Vec<Check> {
    let asking = Asking { questions, interrupt };
    let mut checks = vec![asking.version()];
    match questions.subject.manifest.role {
        Role::Client => checks.extend(asking.client()),
        Role::Server => {
            let echoes = asking.server(&Answer::default());
            // A subject that cannot be started is not tried a second time.
            let is_up = echoes.iter().any(|check| check.outcome == Outcome::Passed);
            checks.extend(echoes);
            if questions.subject.manifest.replies && is_up {
                let reply = Some(REPLY.to_owned());
                checks.extend(asking.server(&Answer { reply, ..Answer::default() }));
            }
            if questions.subject.manifest.works && is_up {
                checks.extend(asking.server(&Answer { work: Some(WORK), ..Answer::default() }));
            }
        }
    }
    checks
}

struct Asking<'a> {
    questions: &'a SubjectQuestions<'a>,
    interrupt: &'a AtomicUsize,
}

impl Asking<'_> {
    /// Checks that the installed version is the one of its manifest.
    fn version(&self) -> Check {
        let SubjectQuestions { subject, installed, launch } = *self.questions;
        let pinned = &subject.manifest.version;
        Check::new(
            "version",
            match lab::version(subject, installed, launch) {
                Ok(found) if found.contains(pinned.as_str()) => Ok(()),
                Ok(found) => Err(format!("it reports {found}, but its manifest says {pinned}")),
                Err(error) => Err(error.to_string()),
            },
        )
    }

    /// Asks a server over every scheme that it speaks.
    fn server(&self, answer: &Answer) -> Vec<Check> {
        let SubjectQuestions { subject, installed, launch } = *self.questions;
        let speaks = &subject.manifest.speaks;
        let is_secured = speaks.iter().any(|scheme| Scheme::is_secured(scheme));
        let certificates = match is_secured.then(|| Certificates::new(&launch.scratch)).transpose()
        {
            Ok(certificates) => certificates,
            Err(reason) => return vec![Check::new("start", Err(reason))],
        };
        let tls = certificates.as_ref().map(|certificates| certificates.files.clone());
        let Answer { reply, work } = answer.clone();
        let settings = ServerSettings { tls, reply, work, ..ServerSettings::default() };
        let mut server = match Server::start(subject, installed, &settings, launch) {
            Ok(server) => server,
            Err(error) => return vec![Check::new("start", Err(error.to_string()))],
        };
        let mut checks = vec![Check::new("start", Ok(()))];
        for scheme in speaks {
            checks.extend(self.ask(&server, scheme, answer, certificates.as_ref()));
            if self.interrupt.load(Ordering::Relaxed) != 0 {
                return checks;
            }
        }
        checks.extend(server.process_mut().died().map(|how| Check::new("to live", Err(how))));
        let ended = server.process_mut().end();
        let is_clean = ended.killed.is_empty() && ended.left.is_empty();
        let end = match ended.code {
            Some(0 | TERMINATED) if is_clean => Ok(()),
            code => Err(format!(
                "exit code {code:?}, had to be killed: {:?}, left behind: {:?}",
                ended.killed, ended.left
            )),
        };
        checks.push(Check::new("end on SIGTERM", end));
        checks
    }

    /// Asks a server over one of its schemes.
    fn ask(
        &self,
        server: &Server,
        scheme: &str,
        Answer { reply, work }: &Answer,
        certificates: Option<&Certificates>,
    ) -> Vec<Check> {
        let url = server.url(scheme).unwrap_or_default();
        let url: Endpoint = match url.parse() {
            Ok(url) => url,
            Err(error) => return vec![Check::new(scheme, Err(format!("{url}: {error}")))],
        };
        let certificates = certificates.filter(|_| url.tls);
        let authority_pem = certificates.map(|certificates| &certificates.authority_pem[..]);
        let mut held = self.questions.subject.conversations_over(url.scheme()).peekable();
        let mut checks = Vec::new();
        if held.peek().is_some() {
            // Replies and work concern echoes only; the conversation was asked about before, without them.
            if reply.is_none() && work.is_none() {
                checks.extend(
                    held.flat_map(|held| self.conversation(server, &url, authority_pem, held)),
                );
            }
            if !url.protocol.echoes_besides() {
                return with_scheme(scheme, checks);
            }
        }
        let questions = ServerQuestions {
            url: &url,
            authority_pem,
            limits: &self.questions.subject.manifest.limits,
            reply: reply.as_deref().map(str::as_bytes),
            extent: if work.is_some() { Extent::Short } else { Extent::Full },
        };
        let clock = Clock::start();
        let echoes = verify_server(&questions, self.interrupt);
        let took = clock.now().since(Instant::START);
        match work {
            None => checks.extend(echoes),
            // The echoes were already checked without work, so only their failures are kept.
            Some(work) => {
                checks.push(worked(*work, took, &echoes));
                checks.extend(echoes.into_iter().filter(|check| check.failure().is_some()));
            }
        }
        with_scheme(scheme, checks)
    }

    /// Asks a server that speaks a conversation: its requests, and its rooms if it has any.
    fn conversation(
        &self,
        server: &Server,
        url: &Endpoint,
        authority_pem: Option<&[u8]>,
        held: &Held,
    ) -> Vec<Check> {
        let conversation = &held.conversation;
        let mut checks = match conversation.publishers {
            Some(_) => Vec::new(), // Receivers send no requests.
            None => verify_held(url, authority_pem, held, self.interrupt),
        };
        if conversation.is_for_rooms() {
            let carriers = conversation.publishers.as_ref().map(|it| it.carriers());
            let urls = server.urls().iter().filter_map(|url| url.parse::<Endpoint>().ok());
            let publish_to = carriers.and_then(|carriers| {
                urls.into_iter().find(|url| carriers.contains(&url.protocol) && !url.tls)
            });
            let interrupt = self.interrupt;
            checks.push(verify_rooms(url, publish_to.as_ref(), authority_pem, held, interrupt));
        }
        checks
    }

    /// Asks a client, which sends or receives in rooms, over every scheme that it speaks.
    fn client(&self) -> Vec<Check> {
        let SubjectQuestions { subject, installed, launch } = *self.questions;
        if subject.manifest.receives() {
            return verify_receivers(subject, installed, launch, self.interrupt);
        }
        let mut checks = Vec::new();
        for name in &subject.manifest.speaks {
            let Some(scheme) = Scheme::named(name) else {
                checks.push(Check::new(name, Err("no client can be asked for that".to_owned())));
                continue;
            };
            let extent = Extent::Full;
            let questions = ClientQuestions { subject, installed, scheme, launch, extent };
            checks.extend(with_scheme(name, verify_client(&questions, self.interrupt)));
        }
        checks
    }
}

/// The check that a server worked for `work` before each of these echoes, which together took `took`.
fn worked(work: Nanos, took: Nanos, echoes: &[Check]) -> Check {
    let is_answered =
        |check: &&Check| check.what.starts_with("echo") && check.outcome == Outcome::Passed;
    let answered = echoes.iter().filter(is_answered).count() as u64;
    let least = Nanos(work.0.saturating_mul(answered));
    let outcome = match answered > 0 && took.0 >= least.0 / 100 * 99 {
        true => Ok(()),
        false => Err(format!("{answered} echoes took {took}, expected at least {least}")),
    };
    Check::new(format!("work of {work} before each echo"), outcome)
}

/// The checks, each with the scheme used.
fn with_scheme(scheme: &str, checks: Vec<Check>) -> Vec<Check> {
    let named = |check: Check| Check { what: format!("{scheme}: {}", check.what), ..check };
    checks.into_iter().map(named).collect()
}

/// The answer to give, for servers that support replies.
const REPLY: &str = "Pong";
/// The work to do before each reply, for servers that support it: longer than most of them take for an echo of 64 KiB.
const WORK: Nanos = Nanos::from_millis(20);
/// The exit code of a process ended by SIGTERM, in the convention of shells.
const TERMINATED: i32 = 143;
