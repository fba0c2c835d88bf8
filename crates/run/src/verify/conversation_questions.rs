//! The questions to a server that speaks a conversation instead of echoing.

use super::Check;
use crate::plan::Measurement;
use crate::reach::{
    Context, check_public, first_error, messages, of_kind, reply_len, resolve, stack, tls,
};
use drive::Target;
use engine::Address;
use engine::clock::Clock;
use lab::Held;
use load::Requests;
use record::{Counts, ErrorClass, Outcome};
use spec::{Endpoint, Options, Server};
use std::num::NonZeroU64;
use std::sync::atomic::AtomicUsize;
use units::{Bytes, Nanos};

/// Sends a server each request of a conversation, then all of them in turn, and returns the outcome of each question.
pub(super) fn verify_held(
    url: &Endpoint,
    authority_pem: Option<&[u8]>,
    held: &Held,
    interrupt: &AtomicUsize,
) -> Vec<Check> {
    let name = &held.conversation.name;
    let context = Context { clock: Clock::start(), interrupt };
    match Asking::new(url, authority_pem, held, context) {
        Ok(asking) => asking.all(name),
        Err(reason) => vec![Check::new(name, Err(reason))],
    }
}

/// A server that is being asked.
struct Asking<'a> {
    measurement: Measurement,
    requests: Requests,
    target: Target,
    context: Context<'a>,
}

impl<'a> Asking<'a> {
    fn new(
        url: &Endpoint,
        authority_pem: Option<&[u8]>,
        held: &Held,
        context: Context<'a>,
    ) -> Result<Self, String> {
        let words = |error: crate::RunError| error.to_string();
        let measurement = measurement(url, held, Options::default())?;
        let address = first_address(url, context)?;
        let tls = tls(url, &measurement.speech, authority_pem).map_err(words)?;
        let reply_len = reply_len(&measurement.workload);
        let stack = stack(url, &measurement.speech, reply_len, tls).map_err(words)?;
        let target = Target {
            address,
            sources: Vec::new(),
            stack: stack.probe(),
            publishers: None,
            lives_on: false,
        };
        let requests = measurement.workload.requests.clone();
        let requests = requests.expect("a conversation has requests");
        Ok(Self { measurement, requests, target, context })
    }

    fn all(&self, name: &str) -> Vec<Check> {
        let kinds = self.requests.kinds();
        let mut checks: Vec<Check> = kinds
            .iter()
            .enumerate()
            .map(|(index, kind)| {
                Check::new(format!("{name}: request `{}`", kind.name), self.answers(index))
            })
            .collect();
        if checks.iter().all(|check| check.failure().is_none()) {
            let (what, result) = self.many();
            checks.push(Check::new(format!("{name}: {what}"), result));
        }
        checks
    }

    /// Checks that the kind at `index` is answered, and not refused.
    fn answers(&self, index: usize) -> Result<(), String> {
        let workload = of_kind(&self.measurement.workload, &self.requests, index);
        let outcome = messages(&workload, NonZeroU64::MIN, self.target.clone(), self.context);
        let outcome = outcome.map_err(|error| error.to_string())?;
        match fault(&outcome) {
            None if outcome.measured.ok == 1 => Ok(()),
            None => Err("it ended the connection".to_owned()),
            Some(fault) => Err(fault),
        }
    }

    /// Sends requests of all kinds, one after another: each must be answered or refused, and none missing from the
    /// counts. Returns the description, with the counts, and the result.
    fn many(&self) -> (String, Result<(), String>) {
        let what = format!("{MANY} requests");
        let sent = messages(&self.measurement.workload, MANY, self.target.clone(), self.context);
        let outcome = match sent {
            Ok(outcome) => outcome,
            Err(error) => return (what, Err(error.to_string())),
        };
        let counts = Counts { planned: outcome.planned, ..outcome.measured };
        let pushes: u64 = outcome.pushes.values().map(|push| push.count).sum();
        let Counts { ok, refused, .. } = counts;
        let what = format!("{what}, {ok} answered, {refused} refused, {pushes} pushes");
        if let Some(fault) = fault_besides_refusals(&outcome) {
            return (what, Err(fault));
        }
        let is_whole = ok + refused == MANY.get() && counts.sent == MANY.get();
        let result = match counts.check() {
            Err(error) => Err(error.to_string()),
            Ok(()) if is_whole => Ok(()),
            Ok(()) => Err(format!("{MANY} were to be sent, {} were", counts.sent)),
        };
        (what, result)
    }
}

/// The fault of a single request; a refusal is one too.
fn fault(outcome: &Outcome) -> Option<String> {
    first_error(outcome).map(|(_, tally)| tally.example.clone())
}

fn fault_besides_refusals(outcome: &Outcome) -> Option<String> {
    let fault = outcome.errors.iter().find(|(class, _)| **class != ErrorClass::Refused);
    fault.map(|(class, tally)| format!("{} x {class:?}: {}", tally.count, tally.example))
}

/// The first address of a server, which must not be a public one.
pub(super) fn first_address(url: &Endpoint, context: Context<'_>) -> Result<Address, String> {
    let words = |error: crate::RunError| error.to_string();
    let addresses = resolve(url, RESOLVE_MAX, context.clock).map_err(words)?.addresses;
    check_public(&addresses, false).map_err(words)?;
    addresses.into_iter().next().ok_or_else(|| "the host has no address".to_owned())
}

/// The conversation as a workload for the server at `url`, under the load of `options`.
pub(super) fn measurement(
    url: &Endpoint,
    held: &Held,
    options: Options,
) -> Result<Measurement, String> {
    let read = |path: &str, _: Bytes| {
        std::fs::read(path).map_err(|error| format!("cannot read {path}: {error}"))
    };
    let pack = |_: &str, _: &[u8], _: bool| Err("nothing is packed".to_owned());
    let context = spec::Context { read: &read, environment: &|_| None, pack: &pack, seed: SEED };
    let options =
        Options { conversation: Some(held.asked.clone()), timeout: Some(PATIENCE), ..options };
    let workloads =
        options.workloads(&held.conversation.name, &Server::Given(url.clone()), &context);
    let workloads = workloads.map_err(|problem| problem.to_string())?;
    let workload = workloads.first().ok_or("the options make no workload")?;
    let none = |name: &str| Err(format!("no subject is called {name}"));
    Measurement::new(workload, false, &none).map_err(|error| error.to_string())
}

/// The number of requests that are sent one after another. Servers that refuse some of them now and then do so within
/// this many.
const MANY: NonZeroU64 = NonZeroU64::new(100).expect("it is not zero");
/// The longest wait for a reply.
const PATIENCE: Nanos = Nanos::from_secs(10);
/// The longest time for resolving a name.
const RESOLVE_MAX: Nanos = Nanos::from_secs(5);
/// The seed of the mix of requests, and of mask keys.
const SEED: u64 = 1;
