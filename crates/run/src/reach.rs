//! Turns a URL into a target that answers: resolves names, applies the safety rail, builds the protocol stack, and
//! checks the echo of a first message before anything is timed.

use crate::advice::{FirstError, next_at_once, next_inside_tls, next_of_finding, next_of_protocol};
use crate::answer;
use crate::by_hand::Attempt;
use crate::found_server::FoundServer;
use crate::greeting::{self, Greetings};
use crate::plan::{Measurement, Speech};
use crate::recognition::{ask_for_id, look};
use crate::watch::Impatient;
use crate::{RunError, safety};
use drive::{Control, Observer, Target, Worker};
use engine::Address;
use engine::clock::Clock;
use engine::epoll::Epoll;
use load::{Arrival, Expect, Lifetime, Phases, Requests, Stop, Timeouts, Workload};
use record::{Cause, ErrorClass, Outcome, Tally};
use spec::{Endpoint, Protocol};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use units::Nanos;
use wire::discovery::{self, Finding};
use wire::tls::{Client, ClientOptions, Trust};
use wire::{Role, Stack};

/// The clock of the set-up, and the signal that stops it.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) clock: Clock,
    /// The number of the signal that asks to stop; 0 if none did.
    pub(crate) interrupt: &'a AtomicUsize,
}

impl Context<'_> {
    /// Checks whether the set-up has to stop.
    ///
    /// # Errors
    ///
    /// [`RunError::Interrupted`] if a signal arrived.
    pub(crate) fn check(self) -> Result<(), RunError> {
        match self.interrupt.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => Err(RunError::interrupted(signal)),
        }
    }
}

/// A resolved place.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    /// The addresses, in the resolver's order.
    pub(crate) addresses: Vec<Address>,
    /// Time from the query to the answer; `None` if no query was needed.
    pub(crate) took: Option<Nanos>,
}

/// Resolves the place of `url`.
///
/// # Errors
///
/// [`RunError::Unresolved`], [`RunError::ResolveTimedOut`].
pub(crate) fn resolve(url: &Endpoint, timeout: Nanos, clock: Clock) -> Result<Resolved, RunError> {
    let (name, port) = match &url.address {
        spec::Address::Unix(path) => {
            return Ok(Resolved { addresses: vec![Address::Unix(path.clone())], took: None });
        }
        spec::Address::Host { name, port } => (name.clone(), *port),
    };
    if let Ok(address) = name.parse() {
        return Ok(Resolved {
            addresses: vec![Address::Tcp(SocketAddr::new(address, port))],
            took: None,
        });
    }
    let began = clock.now();
    let (sender, receiver) = channel();
    let question = (name.clone(), port);
    // On its own thread, because the system's resolver has no configurable timeout.
    engine::thread::start("resolver", move || {
        drop(sender.send(question.to_socket_addrs().map(Iterator::collect::<Vec<_>>)))
    })?;
    match receiver.recv_timeout(timeout.into()) {
        Ok(Ok(found)) if !found.is_empty() => Ok(Resolved {
            addresses: found.into_iter().map(Address::Tcp).collect(),
            took: Some(clock.now().since(began)),
        }),
        Ok(Ok(_)) => Err(RunError::Unresolved { name, reason: "it has no address".to_owned() }),
        Ok(Err(error)) => Err(RunError::Unresolved { name, reason: error.to_string() }),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            Err(RunError::ResolveTimedOut { name, timeout })
        }
    }
}

/// The addresses of the same family as the source addresses, which all share one; all addresses if there are no
/// sources.
///
/// # Errors
///
/// [`RunError::InvalidRequest`] if none has that family.
pub(crate) fn reachable_from(
    addresses: Vec<Address>,
    sources: &[IpAddr],
) -> Result<Vec<Address>, RunError> {
    let Some(source) = sources.first() else { return Ok(addresses) };
    let family = |is_ipv4: bool| if is_ipv4 { "IPv4" } else { "IPv6" };
    let is_fit = |address: &Address| match address {
        Address::Tcp(address) => address.is_ipv4() == source.is_ipv4(),
        Address::Unix(_) => true,
    };
    let (fit, others): (Vec<_>, Vec<_>) = addresses.into_iter().partition(is_fit);
    match others.first() {
        Some(other) if fit.is_empty() => Err(RunError::InvalidRequest(format!(
            "--source-ip {source} is {}, and the target {other} is {}; name source addresses of its family",
            family(source.is_ipv4()),
            family(!source.is_ipv4()),
        ))),
        Some(_) | None => Ok(fit),
    }
}

/// Accepts public addresses only with consent.
///
/// # Errors
///
/// [`RunError::PublicTarget`].
pub(crate) fn check_public(addresses: &[Address], allowed: bool) -> Result<(), RunError> {
    for address in addresses {
        if let Address::Tcp(address) = address
            && !allowed
            && safety::is_public(address.ip())
        {
            return Err(RunError::PublicTarget { address: address.ip() });
        }
    }
    Ok(())
}

/// The client's end of connections to `endpoint`, for replies of `reply_len` bytes, which only matters where the
/// protocol does not delimit them.
///
/// # Errors
///
/// [`RunError::InvalidRequest`] if a header or the path cannot be written.
pub(crate) fn stack(
    endpoint: &Endpoint,
    speech: &Speech,
    reply_len: usize,
    tls: Option<Client>,
) -> Result<Stack, RunError> {
    let options = wire::ClientOptions { reply_len, tls, ..speech.options.clone() };
    wire::stack(endpoint, Role::Client(&options))
        .map_err(|error| RunError::InvalidRequest(error.to_string()))
}

/// The length of the replies to the messages of `workload`.
pub(crate) fn reply_len(workload: &Workload) -> usize {
    match &workload.expect {
        Expect::Exactly(reply) => reply.len(),
        Expect::Anything
        | Expect::Contains(_)
        | Expect::Echo
        | Expect::InSequence
        | Expect::Oracle
        | Expect::Sha256(_) => workload.content.payload().len(),
    }
}

/// The TLS around the protocol, if there is any. With `authority_pem`, only that authority is trusted.
///
/// # Errors
///
/// [`RunError::InvalidTls`] if the options contradict each other.
pub(crate) fn tls(
    url: &Endpoint,
    speech: &Speech,
    authority_pem: Option<&[u8]>,
) -> Result<Option<Client>, RunError> {
    let Some(tls) = &speech.tls else { return Ok(None) };
    let mut options = tls.options.clone();
    if let Some(pem) = authority_pem {
        options.trust = Trust::Authorities { pem: vec![pem.to_vec()], der: Vec::new() };
    }
    let name = tls.server_name.as_deref().unwrap_or_else(|| url.host());
    Ok(Some(Client::new(&options, name)?))
}

/// An address that answers as expected, and those before it that did not.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    pub(crate) target: Target,
    pub(crate) failed: Vec<(Address, String)>,
    /// Its answer to the first message, in words.
    pub(crate) answer: String,
}

/// A target that answered as expected.
#[derive(Clone)]
pub(crate) struct Ready {
    pub(crate) url: Endpoint,
    pub(crate) target: Target,
    /// The time that resolving its name took.
    pub(crate) resolve: Option<Nanos>,
    /// The authority to trust, if the run started the server and it speaks TLS.
    pub(crate) authority_pem: Option<Vec<u8>>,
    /// Its reply, requested because none was given and a client subject has to know it.
    pub(crate) reply: Option<Vec<u8>>,
    /// Its answer to the first message, in words.
    pub(crate) answer: String,
    /// The processes of a server that the run did not start, or the reason why they cannot be seen.
    pub(crate) found: Option<Result<FoundServer, String>>,
}

/// The error of a single message: a wrong reply takes precedence over errors about bytes after it.
pub(crate) fn first_error(outcome: &Outcome) -> FirstError<'_> {
    let of_reply = outcome.errors.get_key_value(&ErrorClass::WrongReply);
    of_reply.or_else(|| outcome.errors.first_key_value())
}

/// The request that shows that a target answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A message; for a conversation, one request of each kind.
    Requests,
    /// The opening of a receiver's connection, where publishing is done elsewhere.
    Opening,
}

/// Makes the client's end of connections to a target that sends the given number of greetings first
/// ([`wire::greeted`]).
pub(crate) type Stacks<'a> = &'a dyn Fn(Option<u32>) -> Result<Stack, RunError>;

/// Sends one message to each address in turn until one answers, and checks the answer; with [`Asked::Opening`], only
/// opens a connection. Where no option describes the messages, it listens first, and a server that speaks first is
/// asked for an echo only if its greeting belongs to no known protocol.
///
/// # Errors
///
/// [`RunError::Unreachable`] if no address accepts a connection, [`RunError::WrongAnswer`] if the first that does
/// answers something unexpected, or nothing.
pub(crate) fn verify(
    url: &Endpoint,
    addresses: &[Address],
    measurement: &Measurement,
    stacks: Stacks<'_>,
    asked: Asked,
    context: Context<'_>,
) -> Result<Reached, RunError> {
    let mut failed = Vec::new();
    for address in addresses {
        let mut greetings = Greetings::of(url, measurement);
        let (what, outcome, target) = loop {
            let target = Target {
                address: address.clone(),
                sources: measurement.sources.iter().take(1).copied().collect(),
                stack: stacks(greetings.count())?,
                publishers: None,
                lives_on: false,
            };
            let stack = stacks(greetings.listened_for())?.probe();
            let asking = Target { stack, ..target.clone() };
            let workload = &measurement.workload;
            let answers = match asked {
                Asked::Requests => first_answers(workload, &asking, greetings.silence(), context)?,
                Asked::Opening => opening(workload, &asking, context)?,
            };
            let (what, outcome) = match answers {
                Answers::Right(outcome) => {
                    let answer = greetings.before(answer::in_words(measurement, &outcome));
                    return Ok(Reached { target, failed, answer });
                }
                Answers::Wrong(what, outcome) => (what, outcome),
            };
            context.check()?;
            let error = first_error(&outcome);
            let Some(more) = greetings.heard(error) else { break (what, outcome, target) };
            if greetings.finding.is_none() {
                let finding = match finding(url, &target, measurement, error, context)? {
                    Ok(finding) if greeting::is_of_nobody(&finding) => finding,
                    other => {
                        let next = other.map_or_else(|next| next, |it| next_of_finding(url, &it));
                        let reason =
                            error.map_or(String::new(), |(_, tally)| tally.example.clone());
                        return Err(RunError::WrongAnswer {
                            target: url.to_string(),
                            reason,
                            next,
                        });
                    }
                };
                greetings.finding = Some(finding);
            }
            greetings.expect(more);
        };
        let error = first_error(&outcome);
        let reason = error.map_or("it ended the connection", |(_, tally)| &tally.example);
        let reason = what.map_or_else(|| reason.to_owned(), |what| format!("{what}: {reason}"));
        if !outcome.times.connect.is_empty() || error.is_some_and(is_of_a_connection) {
            let next = match (next_at_once(error), url.tls) {
                (Some(next), _) => next.to_owned(),
                _ if greetings.finding.is_some() => greetings.advice(url),
                _ if may_be_other(url, measurement, error) => {
                    next_of_another(url, &target, measurement, error, context)?
                }
                (None, true) => next_inside_tls(url, measurement, error),
                (None, false) => next_without_tls(url, measurement, target, error, context)?,
            };
            return Err(RunError::WrongAnswer { target: url.to_string(), reason, next });
        }
        failed.push((address.clone(), reason));
    }
    Err(RunError::Unreachable { target: url.to_string(), attempts: failed })
}

/// True for an error that required a connection: one before the connection for messages, such as for a login, counts
/// too.
fn is_of_a_connection((class, _): (&ErrorClass, &Tally)) -> bool {
    !matches!(class, ErrorClass::ConnectFailed | ErrorClass::ConnectTimedOut)
}

/// The answers to the first messages to a server.
enum Answers {
    /// Each was answered as expected; this is the outcome of the last.
    Right(Outcome),
    /// The first that was not: its description, where there are several, and its outcome.
    Wrong(Option<String>, Outcome),
}

/// Sends one message and checks its reply; for a conversation, one request of each kind until one does not end as
/// expected. A kind without a reply ends well when it is sent. A single message is sent after `silence`.
///
/// # Errors
///
/// As [`one_message`].
fn first_answers(
    workload: &Workload,
    target: &Target,
    silence: Nanos,
    context: Context<'_>,
) -> Result<Answers, RunError> {
    let is_well = |outcome: &Outcome| {
        outcome.measured.ok == 1 && !outcome.errors.contains_key(&ErrorClass::Unexpected)
    };
    let Some(requests) = &workload.requests else {
        let once = once(workload, NonZeroU64::MIN);
        let outcome = run_after(silence, once, 0, target.clone(), context)?;
        let is_well = is_well(&outcome);
        return Ok(if is_well { Answers::Right(outcome) } else { Answers::Wrong(None, outcome) });
    };
    let mut last = Outcome::default();
    for (index, kind) in requests.kinds().iter().enumerate() {
        let outcome = one_message(&of_kind(workload, requests, index), target.clone(), context)?;
        if !is_well(&outcome) {
            let was_sent = outcome.measured.sent > 0;
            let what =
                was_sent.then(|| format!("request `{}`, sent as {}", kind.name, words(kind)));
            return Ok(Answers::Wrong(what, outcome));
        }
        last = outcome;
    }
    Ok(Answers::Right(last))
}

/// Opens the connection of a receiver, and returns whether it opened as expected.
///
/// # Errors
///
/// As [`one_message`].
fn opening(
    workload: &Workload,
    target: &Target,
    context: Context<'_>,
) -> Result<Answers, RunError> {
    let receiver = workload.rooms.map_or(0, |rooms| rooms.all().all_publishers().get());
    let at_once = Workload {
        connections: NonZeroU32::MIN,
        rooms: None,
        // The think time ends long after the connection, so no message is sent.
        arrival: Arrival::Think { think: Nanos::from_secs(3600) },
        phases: Phases { warm_up: Nanos::ZERO, stop: Stop::After(Nanos(1)), drain: LISTENING },
        ..workload.clone()
    };
    let outcome = run_once(at_once, receiver.into(), target.clone(), context)?;
    let is_well = outcome.connections.opened == 1 && outcome.connections.lost == 0;
    Ok(if is_well { Answers::Right(outcome) } else { Answers::Wrong(None, outcome) })
}

/// The workload with only requests of the kind at `index`.
pub(crate) fn of_kind(workload: &Workload, requests: &Requests, index: usize) -> Workload {
    Workload { requests: Some(requests.only(index)), ..workload.clone() }
}

/// The message of a request, with its placeholders.
fn words(kind: &spec::conversation::Request) -> String {
    match &kind.send {
        spec::conversation::Send::Message(template) => format!("`{template}`"),
        spec::conversation::Send::Http(request) => {
            let body =
                request.body.as_ref().map_or(String::new(), |body| format!(" with `{body}`"));
            format!("{} {}{body}", request.method, request.path)
        }
    }
}

/// Sends one message to a verified target; the inner error is set if it is not answered as expected, within its
/// time-outs and within `patience`.
///
/// # Errors
///
/// As [`one_message`].
pub(crate) fn ask(
    target: &Target,
    measurement: &Measurement,
    patience: Nanos,
    context: Context<'_>,
) -> Result<Result<(), String>, RunError> {
    let target = target.publishers.as_deref().unwrap_or(target);
    let asking = Target { stack: target.stack.probe(), ..target.clone() };
    let timeouts = measurement.workload.timeouts.at_most(patience);
    let workload = Workload { timeouts, ..measurement.workload.clone() };
    let outcome = one_message(&workload, asking, context)?;
    Ok(match first_error(&outcome) {
        _ if outcome.measured.ok == 1 => Ok(()),
        Some((_, tally)) => Err(tally.example.clone()),
        None => Err("it ended the connection".to_owned()),
    })
}

/// True if the server may well be of another kind: it was to echo but sent something else, sent nothing at all, or did
/// not even answer the upgrade; or its HTTP response does not end.
fn may_be_other(url: &Endpoint, measurement: &Measurement, error: FirstError<'_>) -> bool {
    let Some((class, Tally { cause, .. })) = error else { return false };
    let is_echo = measurement.workload.expect == Expect::Echo;
    let is_other = match cause {
        // Codes from 3000 on belong to applications (RFC 6455 §7.4.2); older GraphQL servers send 1002.
        Cause::Closed(code) => matches!(code, Some(1002 | 3000..=4999)),
        Cause::NoClose | Cause::Status { .. } => true,
        // A TLS alert comes from a server that speaks TLS.
        Cause::Said(said) | Cause::Unasked(said) => !said.beginning().starts_with(b"\x15\x03"),
        // Socket.IO servers do not answer an upgrade on another path, and servers that want another subprotocol may cut
        // the connection with data unread.
        Cause::Unknown
            if matches!(
                class,
                ErrorClass::HandshakeTimedOut | ErrorClass::Cut | ErrorClass::ClosedByPeer
            ) =>
        {
            url.protocol == Protocol::WebSocket
        }
        Cause::Unknown => matches!(class, ErrorClass::WrongReply | ErrorClass::ReplyTimedOut),
        Cause::Before { .. } | Cause::Compression => false,
    };
    // A success status is refused if its content type is that of a stream.
    let is_stream = matches!(cause, Cause::Status { code: 200..=299, .. })
        && measurement.speech.options.statuses.is_empty()
        && measurement.speech.options.method == "GET";
    let is_endless =
        url.protocol == Protocol::Http && (is_stream || *class == ErrorClass::ReplyTimedOut);
    measurement.peer.url().is_some()
        && (is_endless || is_echo && url.protocol.has_other_servers() && is_other)
}

/// Advice about a server of another kind.
///
/// # Errors
///
/// As [`finding`].
fn next_of_another(
    url: &Endpoint,
    target: &Target,
    measurement: &Measurement,
    error: FirstError<'_>,
    context: Context<'_>,
) -> Result<String, RunError> {
    let finding = finding(url, target, measurement, error, context)?;
    Ok(finding.map_or_else(|next| next, |finding| next_of_finding(url, &finding)))
}

/// The kind of a server, from what it has already sent, or from a look at it; advice if that shows nothing.
///
/// # Errors
///
/// As [`look`].
fn finding(
    url: &Endpoint,
    target: &Target,
    measurement: &Measurement,
    error: FirstError<'_>,
    context: Context<'_>,
) -> Result<Result<Finding, String>, RunError> {
    if let Some((_, Tally { cause: Cause::Said(said) | Cause::Unasked(said), .. })) = error
        && let Some(found) = discovery::reply(url, said.beginning())
    {
        return Ok(Ok(found));
    }
    let bytes = without_framing(url, &measurement.speech)?;
    let (address, check) = (&target.address, || context.check());
    Ok(match look(url, address, &bytes, context.clock, &check)? {
        Attempt::Done(found)
            if let Some((_, Tally { cause: Cause::Said(said), .. })) = error
                && discovery::may_know_ids(url, &found, said.beginning()) =>
        {
            let own = target.stack.probe();
            Ok(ask_for_id(url, address, &own, context.clock, &check)?.unwrap_or(found))
        }
        Attempt::Done(found) if found.is_nothing() => Err(next_of_protocol(measurement, error)),
        Attempt::Done(found) => Ok(found),
        Attempt::NotThere(reason) => Err(format!("It no longer accepts connections: {reason}")),
        Attempt::Wrong { next, .. } => Err(next),
    })
}

/// Makes connections to the place of `url`, over TLS if it uses TLS, on which the bytes of each read are a message.
pub(crate) fn without_framing(url: &Endpoint, speech: &Speech) -> Result<Stack, RunError> {
    let is_unix = url.protocol == Protocol::Unix;
    let protocol = if is_unix { Protocol::Unix } else { Protocol::Tcp };
    let bytes = Endpoint { protocol, ..url.clone() };
    stack(&bytes, speech, 0, tls(url, speech, None)?)
}

/// Advice about a wrong answer from a server that was not spoken to over TLS, but may require it.
///
/// # Errors
///
/// As [`one_message`].
fn next_without_tls(
    url: &Endpoint,
    measurement: &Measurement,
    target: Target,
    error: FirstError<'_>,
    context: Context<'_>,
) -> Result<String, RunError> {
    let is_silent = matches!(
        error.map(|(class, _)| class),
        Some(ErrorClass::HandshakeTimedOut | ErrorClass::ReplyTimedOut)
    );
    // A server that answers in this protocol does not require TLS, except that web servers send 400 to clients that
    // should use TLS.
    let is_answered = error.is_some_and(|(_, tally)| match tally.cause {
        Cause::Status { code, .. } => code != 400,
        Cause::Closed(_) | Cause::Compression => true,
        Cause::Before { .. }
        | Cause::NoClose
        | Cause::Said(_)
        | Cause::Unasked(_)
        | Cause::Unknown => false,
    });
    let may_want_tls = !is_silent && !is_answered;
    if url.facts().secured.is_some()
        && may_want_tls
        && speaks_tls(url, measurement, target, context)?
    {
        let secure = Endpoint { tls: true, ..url.clone() };
        return Ok(format!("The server speaks TLS: try {secure}"));
    }
    Ok(next_of_protocol(measurement, error))
}

/// True if the server completes a TLS handshake, with any certificate, on one more connection.
fn speaks_tls(
    url: &Endpoint,
    measurement: &Measurement,
    target: Target,
    context: Context<'_>,
) -> Result<bool, RunError> {
    let bytes = Endpoint { protocol: Protocol::Tcp, tls: true, ..url.clone() };
    let speech = Speech::usual(bytes.scheme());
    let Some(usual) = &speech.tls else { return Ok(false) };
    let anyone = ClientOptions { trust: Trust::Anyone, resumption: false, ..usual.options.clone() };
    let tls = Some(Client::new(&anyone, "localhost")?);
    let timeouts = Timeouts::all(TLS_QUESTION);
    let workload = Workload { timeouts, ..measurement.workload.clone() };
    let target = Target { stack: stack(&bytes, &speech, 1, tls)?, ..target };
    Ok(!one_message(&workload, target, context)?.tls.is_empty())
}

fn one_message(
    workload: &Workload,
    target: Target,
    context: Context<'_>,
) -> Result<Outcome, RunError> {
    messages(workload, NonZeroU64::MIN, target, context)
}

/// Sends `count` messages on one connection, each when the one before has its reply.
pub(crate) fn messages(
    workload: &Workload,
    count: NonZeroU64,
    target: Target,
    context: Context<'_>,
) -> Result<Outcome, RunError> {
    run_once(once(workload, count), 0, target, context)
}

/// The workload of `count` messages on one connection.
fn once(workload: &Workload, count: NonZeroU64) -> Workload {
    Workload {
        connections: NonZeroU32::MIN,
        rooms: None,
        connect_rate: None,
        lifetime: Lifetime::Long,
        arrival: Arrival::Closed { in_flight: NonZeroU32::MIN, in_flight_max: None },
        phases: Phases {
            warm_up: Nanos::ZERO,
            stop: Stop::Messages(count),
            // Unasked messages are read to their end.
            drain: if workload.requests.is_some() { LISTENING } else { Nanos::ZERO },
        },
        ..workload.clone()
    }
}

/// Carries out a workload, on connections numbered from `first`.
pub(crate) fn run_once(
    workload: Workload,
    first: u64,
    target: Target,
    context: Context<'_>,
) -> Result<Outcome, RunError> {
    run_after(Nanos::ZERO, workload, first, target, context)
}

/// Carries out a workload like [`run_once`], after listening on its connections for `silence`.
fn run_after(
    silence: Nanos,
    workload: Workload,
    first: u64,
    target: Target,
    context: Context<'_>,
) -> Result<Outcome, RunError> {
    let mut engine = Epoll::new(context.clock).map_err(RunError::Engine)?;
    let control = Arc::new(Control::listening(silence));
    let mut observer = Impatient { interrupt: context.interrupt, control: Arc::clone(&control) };
    let mut worker = Worker::new(workload, target, control, &mut observer as &mut dyn Observer)
        .with_connection_numbers(first, 1);
    worker.run(&mut engine);
    Ok(worker.finish().0)
}

/// The longest wait for a TLS handshake.
const TLS_QUESTION: Nanos = Nanos::from_millis(300);

/// The time after a request of a conversation to listen for messages that its rules do not name.
const LISTENING: Nanos = Nanos::from_millis(100);
