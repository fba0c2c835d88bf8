//! The check of a subject: it is started as a lab starts it, asked, and ended.

use crate::args::footprint::Scratch;
use crate::args::places;
use lab::{Launch, Role, Server, ServerSettings, Subject, TlsFiles};
use run::verify::{
    Check, ClientQuestions, Extent, Outcome, ServerQuestions, verify_client, verify_server,
};
use serve::certificates::{Authority, KeyType, Leaf, Usage, Validity, local_names};
use spec::{Endpoint, Scheme};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use units::Nanos;

/// All questions to a subject, with their outcomes.
pub(super) fn subject(
    subject: &Subject,
    installed: &Path,
    ready_timeout: Nanos,
    interrupt: &AtomicUsize,
) -> Vec<Check> {
    let launch = match places::launch() {
        Ok(launch) => Launch { ready_timeout, ..launch },
        Err(error) => return vec![failed("start", format!("{error:#}"))],
    };
    let asking = match Asking::new(subject, installed, launch, interrupt) {
        Ok(asking) => asking,
        Err(error) => return vec![failed("start", format!("{error:#}"))],
    };
    let mut checks = vec![asking.version()];
    match subject.manifest.role {
        Role::Client => checks.extend(asking.client()),
        Role::Server => {
            let echoes = asking.server(None);
            // What cannot be started needs no second try.
            let stands = echoes.iter().any(|check| check.outcome == Outcome::Passed);
            checks.extend(echoes);
            if subject.manifest.replies && stands {
                checks.extend(asking.server(Some(REPLY)));
            }
        }
    }
    checks
}

/// A subject that is asked.
struct Asking<'a> {
    subject: &'a Subject,
    installed: &'a Path,
    launch: Launch,
    interrupt: &'a AtomicUsize,
    scratch: Scratch,
    authority_pem: Vec<u8>,
}

impl<'a> Asking<'a> {
    /// With a certificate for whoever speaks TLS.
    fn new(
        subject: &'a Subject,
        installed: &'a Path,
        launch: Launch,
        interrupt: &'a AtomicUsize,
    ) -> anyhow::Result<Self> {
        let scratch = Scratch::make(&format!("check-{}", subject.name))?;
        let validity = Validity::days(engine::clock::unix_seconds().unwrap_or(0), 1);
        let authority = Authority::new(KeyType::Ecdsa, validity)?;
        let names = local_names();
        let leaf = authority.issue(&Leaf { names: &names, usage: Usage::Server, validity })?;
        fs::write(scratch.0.join(CERTIFICATE), &leaf.chain_pem)?;
        fs::write(scratch.0.join(KEY), &leaf.key_pem)?;
        let authority_pem = authority.certificate_pem().as_bytes().to_vec();
        Ok(Self { subject, installed, launch, interrupt, scratch, authority_pem })
    }

    /// Checks that the installed version is the one of its manifest.
    fn version(&self) -> Check {
        let pinned = &self.subject.manifest.version;
        let outcome = match lab::version(self.subject, self.installed, &self.launch) {
            Ok(found) if found.contains(pinned.as_str()) => Outcome::Passed,
            Ok(found) => Outcome::Failed(format!("it says {found}, its manifest {pinned}")),
            Err(error) => Outcome::Failed(error.to_string()),
        };
        Check { what: "version".to_owned(), outcome }
    }

    /// A server, in all that it speaks.
    fn server(&self, reply: Option<&str>) -> Vec<Check> {
        let speaks = &self.subject.manifest.speaks;
        let tls = speaks.iter().any(|scheme| Scheme::is_secured(scheme)).then(|| TlsFiles {
            certificate: self.scratch.0.join(CERTIFICATE),
            key: self.scratch.0.join(KEY),
        });
        let settings =
            ServerSettings { tls, reply: reply.map(str::to_owned), ..ServerSettings::default() };
        let mut server = match Server::start(self.subject, self.installed, &settings, &self.launch)
        {
            Ok(server) => server,
            Err(error) => return vec![failed("start", error.to_string())],
        };
        let mut checks = vec![Check { what: "start".to_owned(), outcome: Outcome::Passed }];
        for scheme in speaks {
            checks.extend(self.ask(&server, scheme, reply));
            if self.interrupt.load(Ordering::Relaxed) != 0 {
                return checks;
            }
        }
        checks.extend(server.process_mut().died().map(|how| failed("to live", how)));
        let ended = server.process_mut().end();
        let is_clean = ended.killed.is_empty() && ended.left.is_empty();
        let end = match ended.code {
            Some(0 | TERMINATED) if is_clean => Outcome::Passed,
            code => Outcome::Failed(format!(
                "exit code {code:?}, had to be killed: {:?}, left behind: {:?}",
                ended.killed, ended.left
            )),
        };
        checks.push(Check { what: "end on SIGTERM".to_owned(), outcome: end });
        checks
    }

    /// A client, in all that it speaks.
    fn client(&self) -> Vec<Check> {
        let mut checks = Vec::new();
        for name in &self.subject.manifest.speaks {
            let Some(scheme) = Scheme::named(name) else {
                checks.push(failed(name, "no client can be asked for that".to_owned()));
                continue;
            };
            let questions = ClientQuestions {
                subject: self.subject,
                installed: self.installed,
                scheme,
                launch: &self.launch,
                scratch: &self.scratch.0,
                extent: Extent::Full,
            };
            checks.extend(with_scheme(name, verify_client(&questions, self.interrupt)));
        }
        checks
    }

    /// The questions to a server over one of its schemes.
    fn ask(&self, server: &Server, scheme: &str, reply: Option<&str>) -> Vec<Check> {
        let url = server.url(scheme).unwrap_or_default();
        let url: Endpoint = match url.parse() {
            Ok(url) => url,
            Err(error) => return vec![failed(scheme, format!("{url}: {error}"))],
        };
        let questions = ServerQuestions {
            url: &url,
            authority_pem: Scheme::is_secured(scheme).then_some(&self.authority_pem[..]),
            limits: &self.subject.manifest.limits,
            reply: reply.map(str::as_bytes),
            extent: Extent::Full,
        };
        with_scheme(scheme, verify_server(&questions, self.interrupt))
    }
}

/// Each with what was spoken.
fn with_scheme(scheme: &str, checks: Vec<Check>) -> Vec<Check> {
    let named = |check: Check| Check { what: format!("{scheme}: {}", check.what), ..check };
    checks.into_iter().map(named).collect()
}

fn failed(what: &str, why: String) -> Check {
    Check { what: what.to_owned(), outcome: Outcome::Failed(why) }
}

/// The answer that servers are to give if they know replies.
const REPLY: &str = "Pong";
/// A process that was ended by SIGTERM, as shells count it.
const TERMINATED: i32 = 143;
const CERTIFICATE: &str = "server.pem";
const KEY: &str = "server-key.pem";
