//! The comparability of two records: whether they are equal in everything that changes numbers, except what they are
//! meant to compare.

use crate::{Environment, Level, Reason, RunRecord, TlsSeen, Workload};
use serde::Serialize;
use serde_json::Value;
use spec::{Conversation, Expect, Lifetime, Load};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

/// The reasons why `record` cannot be compared with `base`; none if it can.
///
/// Each workload is compared with its [`partner`], and [`Reason::workload`] is the index in `record`.
/// [`Level::Invalid`] marks a difference that makes a ratio of the two meaningless; [`Level::Degraded`] marks another
/// version of the program that measured. A value that either record lacks is not a difference.
pub fn incomparable(base: &RunRecord, record: &RunRecord) -> Vec<Reason> {
    let mut reasons = machines(&base.environment, &record.environment);
    if base.tool.version != record.tool.version {
        reasons.push(Reason {
            level: Level::Degraded,
            ..difference(None, "version of wirebench", &base.tool.version, &record.tool.version)
        });
    }
    let mut shared = 0;
    for (index, workload) in record.plan.workloads.iter().enumerate() {
        if let Some(other) = partner(base, record, index) {
            shared += 1;
            reasons.extend(workloads(index, &base.plan.workloads[other], workload));
            reasons.extend(handshakes(index, base, other, record));
        }
    }
    if shared == 0 {
        let names = |record: &RunRecord| -> Vec<String> {
            record.plan.workloads.iter().map(|workload| workload.name().to_owned()).collect()
        };
        reasons.push(difference(None, "workloads", names(base), names(record)));
    }
    reasons
}

/// The workload of `base` that workload `index` of `record` is compared with: the one of the same name or, where both
/// have only one workload, that one, since the name of a single run is the URL of its server.
pub fn partner(base: &RunRecord, record: &RunRecord, index: usize) -> Option<usize> {
    let workload = record.plan.workloads.get(index)?;
    let is_only = base.plan.workloads.len() == 1 && record.plan.workloads.len() == 1;
    base.plan.workloads.iter().position(|other| is_only || other.name() == workload.name())
}

/// The row, unchanged in both records, that workload `index` of `record` and its [`partner`] are divided by: its index
/// in `base` and in `record`. `None` where they are compared with different rows, or with none.
pub fn common_zero(base: &RunRecord, record: &RunRecord, index: usize) -> Option<[usize; 2]> {
    let ours = partner(base, record, index)?;
    let zero = record.plan.zero(index)?;
    let theirs = partner(base, record, zero)?;
    let is_alone = record.plan.workloads.len() == 1;
    (!is_alone && base.plan.zero(ours) == Some(theirs)).then_some([theirs, zero])
}

fn machines(base: &Environment, record: &Environment) -> Vec<Reason> {
    let mut all = Differences { workload: None, found: Vec::new() };
    all.known("processor", &base.cpu_model, &record.cpu_model);
    all.known("number of CPUs", &base.cpus_online, &record.cpus_online);
    all.same("number of CPUs allowed", &base.cpus_allowed.len(), &record.cpus_allowed.len());
    all.known("hyper-threading", &base.smt, &record.smt);
    all.known("hypervisor", &base.hypervisor, &record.hypervisor);
    all.known("kernel", &base.kernel, &record.kernel);
    all.known("frequency governor", &base.governor, &record.governor);
    all.same("mitigations", &base.mitigations, &record.mitigations);
    all.known("clock source", &base.clock_source, &record.clock_source);
    all.known("congestion control", &base.congestion_control, &record.congestion_control);
    all.same("limits of the container", &base.container, &record.container);
    all.found
}

fn workloads(index: usize, base: &Workload, record: &Workload) -> Vec<Reason> {
    let pairs = of_workload(base).into_iter().zip(of_workload(record));
    let differ = pairs.filter_map(|((what, one), (_, other))| {
        let (one, other) = (one?, other?);
        (one != other).then(|| difference(Some(index), what, one, other))
    });
    let some = of_some(base).into_iter().zip(of_some(record));
    let some = some.filter(|((_, one), (_, other))| one != other);
    let some = some.map(|((what, one), (_, other))| difference(Some(index), what, one, other));
    let changed = changed(&base.spec, &record.spec).map(|name| {
        difference(Some(index), "conversation", name, format!("{name}, changed since"))
    });
    differ.chain(some).chain(changed).collect()
}

/// The name of the conversation that both have, if its content has changed.
fn changed<'a>(base: &'a spec::Workload, record: &spec::Workload) -> Option<&'a str> {
    let content = |it: &Conversation| Conversation { about: String::new(), ..it.bare() };
    let (one, other) = (base.conversation.as_ref()?, record.conversation.as_ref()?);
    (one.name == other.name && content(one) != content(other)).then_some(&*one.name)
}

/// Everything about a workload that changes numbers, as one text: workloads with the same text can be compared.
pub(crate) fn conditions(workload: &Workload) -> String {
    let known = of_workload(workload).into_iter().chain(of_some(workload));
    let known = known.filter_map(|(what, value)| Some((what.to_owned(), value?)));
    Value::Object(known.collect()).to_string()
}

/// The conditions of a workload, each with its name for people; `None` where a record lacks it.
fn of_workload(workload: &Workload) -> Vec<(&'static str, Option<Value>)> {
    let Workload { transport, size_bytes, pinning, spec, .. } = workload;
    let load = &spec.load;
    let kind = spec.message.content.kind();
    let tls = spec.tls.as_ref();
    vec![
        ("transport", value(transport)),
        ("way to the server (this machine or not)", value(workload.is_local())),
        ("payload", value(size_bytes)),
        ("placement", value(pinning)),
        ("arrival", value(arrival(load))),
        ("lifetime of connections", value(round_trips(load))),
        ("number of connections", value(load.connections())),
        ("messages in flight", value(load.in_flight())),
        ("bound of messages in flight", value(load.in_flight_max())),
        ("kind of message", value(is_text(spec))),
        ("kind of payload", kind.and_then(value)),
        ("compression", value(&spec.deflate)),
        ("resumption of TLS sessions", tls.and_then(|tls| value(tls.resumption))),
        ("verification of the server's certificate", tls.and_then(|_| value(spec.is_verified()))),
        ("certificate of the client", tls.and_then(|tls| value(tls.identity.is_some()))),
        ("check of replies", value(check(spec))),
        ("busy polling", value(spec.busy_poll)),
        ("number of threads", value(spec.threads)),
        ("headers", value(headers(spec))),
        ("subprotocols", value(&spec.subprotocols)),
    ]
}

/// Conditions that few workloads have: having none is a condition of its own.
fn of_some(workload: &Workload) -> [(&'static str, Option<Value>); 2] {
    let spec::Workload { conversation, load, .. } = &workload.spec;
    [
        ("conversation", conversation.as_ref().and_then(|it| value(&it.name))),
        ("rooms", load.rooms().and_then(value)),
    ]
}

fn value(of: impl Serialize) -> Option<Value> {
    serde_json::to_value(of).ok()
}

/// The rule by which messages are sent: its kind, its rate, its spacing and its think time.
fn arrival(load: &Load) -> Vec<String> {
    let per_s = load.due_per_s().map(|rate| format!("{rate}/s"));
    let (kind, spacing, think) = match load {
        Load::Closed { .. } | Load::Clients { .. } => ("closed", None, None),
        Load::ClosedBots { think, .. } => ("closed", None, Some(think)),
        Load::Open { spacing, .. } => ("open", Some(spacing), None),
        Load::Bots { spacing, .. } => ("bots", Some(spacing), None),
        Load::Publish { spacing, .. } => ("publish", Some(spacing), None),
        Load::Sessions { spacing, think, .. } => ("sessions", Some(spacing), Some(think)),
    };
    let think = think.map(|think| format!("think time {think}"));
    [Some(kind.to_owned()), per_s, spacing.map(words), think].into_iter().flatten().collect()
}

/// The round trips of a short-lived connection.
fn round_trips(load: &Load) -> Option<NonZeroU32> {
    match load.lifetime() {
        Lifetime::Long => None,
        Lifetime::RoundTrips(each) => Some(each),
    }
}

fn is_text(workload: &spec::Workload) -> &'static str {
    if workload.message.text { "text" } else { "binary" }
}

fn check(workload: &spec::Workload) -> &'static str {
    match workload.expect {
        Expect::Anything => "none",
        Expect::Contains(_) => "a part",
        Expect::Echo | Expect::Exactly(_) | Expect::Oracle | Expect::Sha256(_) => "every byte",
        Expect::InSequence => "sequence",
    }
}

/// Names only: values are secrets.
fn headers(workload: &spec::Workload) -> Vec<&str> {
    workload.http.headers.iter().map(|header| &*header.name).collect()
}

/// Differences in the parameters that the handshakes of workload `index` of `record` and `other` of `base` agreed on:
/// the requested ones often leave a choice.
fn handshakes(index: usize, base: &RunRecord, other: usize, record: &RunRecord) -> Vec<Reason> {
    let mut all = Differences { workload: Some(index), found: Vec::new() };
    let parameters: [(&str, Parameter); 3] = [
        ("version of TLS", |tls| Some(&tls.version)),
        ("cipher suite", |tls| Some(&tls.suite)),
        ("group of the key exchange", |tls| tls.group.as_deref()),
    ];
    for (what, parameter) in parameters {
        all.known(what, &agreed(base, other, parameter), &agreed(record, index, parameter));
    }
    all.found
}

/// A parameter of TLS; `None` where the handshakes had none.
type Parameter = fn(&TlsSeen) -> Option<&str>;

/// The values that the blocks of a workload have of `parameter`; `None` if they have none.
fn agreed(record: &RunRecord, index: usize, parameter: Parameter) -> Option<BTreeSet<&str>> {
    let of_workload = record.blocks.iter().filter(|block| block.workload == index);
    let values: BTreeSet<&str> =
        of_workload.filter_map(|block| block.tls.as_ref()).filter_map(parameter).collect();
    (!values.is_empty()).then_some(values)
}

struct Differences {
    workload: Option<usize>,
    found: Vec<Reason>,
}

impl Differences {
    fn same<T: Serialize + PartialEq>(&mut self, what: &str, base: &T, record: &T) {
        if base != record {
            self.found.push(difference(self.workload, what, base, record));
        }
    }

    /// A value that either of them lacks is not a difference.
    fn known<T: Serialize + PartialEq>(
        &mut self,
        what: &str,
        base: &Option<T>,
        record: &Option<T>,
    ) {
        if let (Some(base), Some(record)) = (base, record) {
            self.same(what, base, record);
        }
    }
}

fn difference(
    workload: Option<usize>,
    what: &str,
    base: impl Serialize,
    record: impl Serialize,
) -> Reason {
    Reason {
        code: "incomparable".to_owned(),
        level: Level::Invalid,
        workload,
        numbers: BTreeMap::new(),
        message: format!("the two differ in: {what}"),
        evidence: format!("{} against {}", words(base), words(record)),
        advice: "measure both with the same settings on the same machine, one after the other"
            .to_owned(),
    }
}

/// A value of a record in words, e.g. `open, messages per s 2000, spacing poisson`.
fn words(value: impl Serialize) -> String {
    fn of(value: &Value) -> String {
        match value {
            Value::Null => "none".to_owned(),
            Value::Bool(true) => "yes".to_owned(),
            Value::Bool(false) => "no".to_owned(),
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.clone(),
            Value::Array(items) if items.is_empty() => "none".to_owned(),
            Value::Array(items) => items.iter().map(of).collect::<Vec<_>>().join(", "),
            Value::Object(fields) => {
                let field = |(name, value): (&String, &Value)| match &name[..] {
                    "kind" | "how" | "loop" => of(value), // The tags of enums.
                    name => format!("{} {}", name.replace('_', " "), of(value)),
                };
                fields.iter().map(field).collect::<Vec<_>>().join(", ")
            }
        }
    }
    serde_json::to_value(value).map_or_else(|_| "unknown".to_owned(), |value| of(&value))
}
