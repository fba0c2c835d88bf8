//! A row that is faster than the bare TCP socket of its run, which cannot be: it has more to do for the same bytes.

use super::machine::{headline_of, result};
use super::subject::{Numbers, Subject, evidence};
use super::uneven;
use crate::{Block, Comparison, Level, Reason, Workload};
use spec::{Protocol, Scheme, Server};

/// A row over TCP whose p50 or throughput is shown to be better than that of the bare socket that it is compared with.
///
/// The two must be given the same task: a row with another load, other messages, another client, or a server with more
/// cores may be faster. Compressed messages are other messages, Unix sockets are rightly faster than TCP, and the
/// programs that mark the physical limit are exempt. Nor does a row that is [`uneven`] cast doubt on the bare socket:
/// it is not faster, though its p50 is lower.
pub(super) fn judge(subject: &Subject<'_>) -> Option<Reason> {
    let plan = &subject.record.plan;
    let base = plan.base_of(subject.index)?;
    let bare = &plan.workloads[base];
    let is_alike = is_bare(bare)
        && has_more_to_do(subject.workload)
        && is_asked_the_same(subject.workload, bare)
        && !has_more_cores(subject, base);
    let ratios = result(subject)?.to_baseline.as_ref().filter(|_| is_alike)?;
    if uneven::judge(subject).is_some() {
        return None;
    }
    let p50 = headline_of(subject, ratios);
    let faster = [
        ("p50", p50.filter(|ratio| ratio.ratio < 1.0)),
        ("throughput", ratios.messages_per_s.as_ref().filter(|ratio| ratio.ratio > 1.0)),
    ];
    let shown: Vec<(&str, &Comparison)> = faster
        .into_iter()
        .filter_map(|(name, ratio)| Some((name, ratio.filter(|ratio| is_beyond_noise(ratio))?)))
        .collect();
    let names: Vec<&str> = shown.iter().map(|(name, _)| *name).collect();
    let evidence: Vec<String> = shown.iter().map(|(name, ratio)| evidence(name, ratio)).collect();
    (!shown.is_empty()).then(|| Reason {
        code: "faster_than_bare_tcp".to_owned(),
        level: Level::Degraded,
        workload: Some(subject.index),
        numbers: Numbers::new(),
        message: format!(
            "its {} is better than that of the bare TCP socket, which has less to do for each message",
            names.join(" and ")
        ),
        evidence: format!("{} of {}", evidence.join(", "), bare.name()),
        advice: format!(
            "doubt {} first: run both again with more --rounds; if the result stays, its server or its placement is slower",
            bare.name()
        ),
    })
}

/// True for our own echo over a TCP socket, driven by our own client, without any options.
fn is_bare(workload: &Workload) -> bool {
    let Server::Embedded(server) = &workload.spec.server else { return false };
    server.options.is_empty() && is_tcp(server.scheme) && workload.spec.client.is_none()
}

fn is_tcp(scheme: Scheme) -> bool {
    scheme == Protocol::Tcp.plain()
}

/// True for a row over TCP that sends more than the bytes of its messages.
fn has_more_to_do(workload: &Workload) -> bool {
    let scheme = workload.spec.scheme();
    let is_floor = match &workload.spec.server {
        Server::Embedded(_) => false,
        Server::Subject(subject) => subject.name == FLOOR,
        // It may run anywhere.
        Server::Given(_) | Server::Started(_) => return false,
    };
    let has_layer = !is_tcp(scheme) || workload.spec.conversation.is_some();
    !is_floor && scheme.protocol != Protocol::Unix && has_layer
}

/// True if the same client sends uncompressed messages of the same size under the same load to both, and gets the same
/// replies.
fn is_asked_the_same(row: &Workload, bare: &Workload) -> bool {
    let (one, other) = (&row.spec, &bare.spec);
    let is_sent = !["GET", "HEAD"].contains(&&one.http.method[..]);
    uneven::is_loaded_alike(row, bare)
        && one.deflate.is_none()
        && is_sent
        && row.size_bytes == bare.size_bytes
        && one.server.answer() == other.server.answer()
}

/// True if the server of the row kept more cores busy than the server of the bare socket, which has one, could.
fn has_more_cores(subject: &Subject<'_>, base: usize) -> bool {
    let of_base = subject.record.blocks.iter().filter(|it| it.workload == base);
    let used = |blocks: &mut dyn Iterator<Item = &Block>| {
        blocks.filter_map(|block| block.cpu.server_cores_used).fold(0.0, f64::max)
    };
    used(&mut subject.blocks.iter().copied()) > used(&mut of_base.into_iter()).max(1.0) * MORE
}

/// True if the interval excludes 1, by a difference that blocks this noisy would show four times out of five.
fn is_beyond_noise(ratio: &Comparison) -> bool {
    let (Some(low), Some(high)) = (ratio.low, ratio.high) else { return false };
    let smallest = ratio.smallest_detectable_fraction.unwrap_or(f64::INFINITY);
    (low > 1.0 || high < 1.0) && (ratio.ratio - 1.0).abs() >= smallest
}

/// The subject that marks the physical limit (subjects/floor).
const FLOOR: &str = "floor";
/// The factor above which a server counts as having had more cores.
const MORE: f64 = 1.05;
