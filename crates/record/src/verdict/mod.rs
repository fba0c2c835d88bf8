//! The judge: how far the numbers of a record can be trusted. It works from the record alone, so any old record can be
//! judged again.
//!
//! - `generator_bound`, degraded; invalid if our lateness is half of a percentile and ten times that of timers: the
//!   busiest worker takes 90 % of a core, and in a closed loop the server has some to spare; or a percentile of the
//!   send lag is above 10 % of that of the response, and is ours. Next: more threads, or a machine of its own
//! - `generator_stalled`, degraded; invalid if 1 % of the messages are affected and the longest gap is above 10 %
//!   of the p99: a worker stood still while messages were due or in flight. Next: run again on a quieter machine
//! - `asked_not_achieved`, degraded; invalid with more than 1 % unsent in an open loop: replies, sessions or
//!   connections under 99 % of what was requested. Next: a lower rate, more connections, `wirebench doctor`
//! - `unanswered`, degraded; invalid in an open loop: more than 1 % had no reply when the drain ended, and are in no
//!   distribution. Next: a longer drain
//! - `littles_law`, invalid; degraded on fewer than half of the blocks: messages in flight are off by more than 5 %.
//!   Next: longer blocks. Of a client subject degraded: more than 20 % of its time is in none of its round trips
//! - `impossible`, invalid: counts that do not add up, percentiles out of order, times of zero, means that no such
//!   distribution can have. Next: report it: wirebench has a bug
//! - `mean_above_p99`, degraded: less than 1 % of the messages took most of the time. Next: the maximum, the series;
//!   an open loop
//! - `nothing_succeeded`, invalid: no message got its reply. Next: the errors
//! - `too_little_measured`, degraded: fewer than 20 right replies, or less than 100 ms. Next: longer blocks
//! - `rate_changed`, degraded: somebody changed the rate of an open loop while it ran. Next: run it again
//! - `failed_blocks`, degraded: blocks failed, so that percentiles are mostly those of the others; invalid: half of
//!   them. Next: their reason
//! - `failures`, degraded: more than 0.1 % failed or timed out. Next: the errors
//! - `undelivered_to_tabs`, degraded: the tabs of a browser did not get each published message once and in order. Next:
//!   a longer drain, then the server
//! - `undelivered`, degraded; invalid with more than 1 % under way when the drain ended: messages that were published
//!   did not reach all of their receivers. Next: the server's queues, a longer drain
//! - `unreliable_replies`, degraded: replies were lost, duplicate, out of order or corrupted. Next: the server, the
//!   network
//! - `unfair`, degraded: one connection had less than half of the median's replies, and less than chance explains;
//!   invalid: half of the connections had no reply at all. Next: the server's scheduling
//! - `tls_differs`, degraded: version or suite of TLS are not those of the workload's first block. Next: fix both
//! - `agent_lost`, degraded: the part of an agent of a fleet is missing; offered is a range. Next: the agent's machine
//! - `agent_not_trusted`, degraded; invalid if less than half of the load is trusted, or nothing: an agent began late,
//!   was busy or throttled, its clock jumped, or it stood still or sent late so that a run of its part alone would be
//!   invalid; its part is left out. Next: fewer parts, a machine of its own
//! - `agents_mixed`, degraded: an agent of a fleet has another version (`--mixed`). Next: one version on all machines
//! - `shared_cores`, degraded: two parties on one core, or fewer cores than parties. Next: more CPUs, fewer threads
//! - `noisy_machine`, degraded: steal above 1 %, others' CPU time where no core is spare, threads of ours that wait 1 %
//!   of the time for a CPU, a difference too small for the noise. Next: a quieter machine, more rounds
//! - `below_the_floor`, degraded: send lag above 10 % of the response that is no later than this machine's timers or,
//!   on an idle machine, its wake-ups, and makes the response longer than the service by as much; a difference of open
//!   loops below the timer floor. Next: service times, a core for the generator
//! - `faster_than_bare_tcp`, degraded: p50 or throughput of a row over TCP are shown to be better than those of the
//!   bare TCP socket of the same run under the same load. Next: the bare socket, more rounds
//! - `uneven`, degraded: in a closed loop p50 and throughput of a row are both shown to be below those of its baseline:
//!   its mean is longer. Next: mean, p99 and messages a second; a fixed rate
//! - `imported`, degraded: another program measured, and nothing was checked. There is no other reason then.
//! - `selftest_failed`, degraded: `wirebench selftest` failed on this machine since it was started. Next: `wirebench
//!   selftest`
//!
//! A client subject that keeps its core busy in a closed loop, or stands still, gives rise to none of these reasons:
//! that is a property of the subject.
//!
//! A reason that fewer than half of several blocks share is at most degraded, or applies to the percentiles that the
//! messages of these blocks move among all; impossible arithmetic is always invalid. A reason about some of the
//! messages applies to the percentiles that that many messages move, and to no others. The level of the record is that
//! of the rows that its answer needs (`question`); a doubt about the machine that all rows share is reported once.
//! [`incomparable`] judges a pair of records.
//!
//! Start reading at [`judge`].

mod agents;
mod arithmetic;
mod bare_socket;
mod comparable;
mod generator;
mod machine;
mod question;
mod replies;
mod subject;
mod sweep;
mod tls;
mod uneven;

pub(crate) use comparable::conditions;
pub use comparable::{common_zero, incomparable, partner};
pub use generator::generator_faults;

use crate::{Kind, Level, Reason, RowVerdict, RunRecord, Verdict};
use subject::Subject;

/// Judges `record` by its contents; its own [`RunRecord::verdict`] does not matter.
///
/// A run that was cut short is judged by what it has; a workload without a block is not a reason.
///
/// In a sweep only steps that the server carried give reasons, each code once, and none because more was offered than
/// achieved.
pub fn judge(record: &RunRecord) -> Verdict {
    let mut reasons = match record.kind {
        Kind::Imported => vec![imported()],
        Kind::Ab | Kind::Ladder | Kind::Run | Kind::Sweep | Kind::Lab | Kind::Other => {
            reasons(record)
        }
    };
    let rows: Vec<RowVerdict> =
        (0..record.plan.workloads.len()).map(|index| RowVerdict::of(&reasons, index)).collect();
    if let Some(sweep) = &record.sweep {
        reasons = sweep::summed(reasons, sweep);
    }
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.level));
    Verdict { level: question::level(record, &rows, &reasons), rows, reasons }
}

/// Fills in the trust in each step of a sweep, and in the findings of each of its lines; a load above what was achieved
/// is not a reason for doubt.
pub fn judge_sweep(record: &mut RunRecord) {
    let reasons = reasons(record);
    if let Some(sweep) = &mut record.sweep {
        sweep::judge(sweep, reasons);
    }
}

/// The reason that every imported record has.
fn imported() -> Reason {
    Reason {
        code: "imported".to_owned(),
        level: Level::Degraded,
        workload: None,
        numbers: subject::Numbers::new(),
        message:
            "not measured by wirebench: nothing was checked, neither replies nor the generator"
                .to_owned(),
        evidence: "means that another program printed, without a distribution".to_owned(),
        advice: "run the same with `wirebench run` or `wirebench lab`".to_owned(),
    }
}

/// All reasons for doubt.
fn reasons(record: &RunRecord) -> Vec<Reason> {
    let mut reasons = machine::judge(record);
    reasons.extend(arithmetic::nothing_succeeded(record));
    for subject in Subject::all(record) {
        reasons.extend(arithmetic::judge(&subject));
        reasons.extend(generator::judge(&subject));
        reasons.extend(replies::judge(&subject));
        reasons.extend(tls::judge(&subject));
        reasons.extend(agents::judge(&subject));
        reasons.extend(machine::judge_subject(&subject));
        reasons.extend(bare_socket::judge(&subject));
        reasons.extend(uneven::judge(&subject));
    }
    machine::told_once(reasons, Subject::all(record).count())
}
