//! Numbers that describe the generator instead of the server: a generator at its limit, a generator that stood still,
//! and load that was requested but not reached.

use super::agents::{LOOK_AT_THE_LOST, missing};
use super::subject::{
    Finding, Numbers, Outvoted, Rule, Subject, float, fraction, headline, moved_by, percent,
};
use crate::{Block, Level, Number, OpenLoop, Reason, Spacing, Summary, TimerFloor};
use spec::{Lifetime, Load};
use units::Nanos;

/// A worker that uses this share of a core has nothing to spare (docs/METHOD.md, "The verdict").
const BUSY_MIN: f64 = 0.9;
/// The largest share of a reported time that our own lateness may be (docs/METHOD.md, "The verdict").
pub(super) const LATE_MAX: f64 = 0.1;
/// Above this share a reported time is mostly our own lateness: invalid, if the lateness is also more than
/// [`TIMER_LAG_INVALID`] times that of this machine's timers. Below that the page shows all there is to know: service
/// times of microseconds, from a generator that sleeps.
const LATE_INVALID: f64 = 0.5;
const TIMER_LAG_INVALID: f64 = 10.0;
/// A lag within this many timer floors, at the same percentile, is due to the timers: the floor is measured on an
/// otherwise idle machine.
pub(super) const TIMER_LAG_MAX: f64 = 2.0;
/// The share of messages that moves the p99 (docs/METHOD.md, "The verdict").
pub(super) const P99_MOVED: f64 = 0.01;
/// The least share of the requested load that counts as reached (docs/METHOD.md, "The verdict").
const ACHIEVED_MIN: f64 = 0.99;
/// The largest difference between the replies that arrive in a window and the messages that were due in it, in standard
/// deviations of the number in flight at its two ends.
const EDGE_SIGMAS: f64 = 3.0;
/// A worker that uses less of a core than this, on a machine that is half idle, has no reason of its own to be late:
/// its lag is the time that the machine takes to wake it up.
const IDLE_MAX: f64 = 0.5;

pub(super) fn judge(subject: &Subject<'_>) -> Vec<Reason> {
    let ours = [bound(subject), stalled(subject)].into_iter().filter(|_| !subject.has_client());
    ours.chain([asked_not_achieved(subject)]).flatten().collect()
}

/// The generator was at its limit, so it was the generator that was measured.
fn bound(subject: &Subject<'_>) -> Option<Reason> {
    let threads = subject.workload.spec.threads.get();
    let cpus = subject.record.environment.cpus_allowed.len();
    let is_busy = subject.blocks.iter().any(|block| busy(subject, block).is_some());
    let more = if !is_busy {
        "end other programs on this machine, or give the generator a core of its own".to_owned()
    } else if cpus > threads as usize + 1 {
        format!("give it more threads: --threads {}", threads.saturating_add(1))
    } else {
        "run the generator on a machine of its own, with more cores".to_owned()
    };
    let advice = if subject.is_open() {
        let rate = match subject.workload.spec.load.rooms() {
            Some(_) => "rate of --publish",
            None => "--rate",
        };
        format!("{more}; or lower the {rate}")
    } else {
        format!("{more}; until then the throughput is the generator's: the server may carry more")
    };
    let rule = Rule {
        code: "generator_bound",
        message: "the generator was the bottleneck: these numbers describe it, not the server"
            .to_owned(),
        advice,
        outvoted: Outvoted::Shared,
    };
    subject.reason(rule, |block| match &block.open_loop {
        Some(times) => open_loop_bound(subject, block, times),
        None => closed_loop_bound(subject, block),
    })
}

/// In a closed loop replies arrive as fast as the server sends them, so a generator without idle time is at its limit
/// only if the server has some.
fn closed_loop_bound(subject: &Subject<'_>, block: &Block) -> Option<Finding> {
    let busy = busy(subject, block)?;
    let server = server_cores(subject, block);
    let has_slack = server.is_none_or(|server| server < BUSY_MIN && server < busy);
    let server = server.map_or_else(
        || "what the server used is not known".to_owned(),
        |server| format!("the server used {}", percent(server)),
    );
    has_slack.then(|| Finding {
        level: Level::Degraded,
        numbers: Numbers::new(),
        weight: busy,
        evidence: format!("its busiest worker used {} of a core, {server}", percent(busy)),
    })
}

/// The share of a core that the busiest worker used, if it was at its limit: a worker that polls for replies instead of
/// sleeping is always busy, which says nothing.
fn busy(subject: &Subject<'_>, block: &Block) -> Option<f64> {
    let of_the_only =
        block.cpu.generator_cores_used.filter(|_| subject.workload.spec.threads.get() == 1);
    let busiest = block.cpu.busiest_worker_fraction.or(of_the_only)?;
    (busiest >= BUSY_MIN && subject.workload.spec.busy_poll == Nanos::ZERO).then_some(busiest)
}

/// The number of cores that the server used; for a server on this machine that is not ours, all that other programs
/// used.
fn server_cores(subject: &Subject<'_>, block: &Block) -> Option<f64> {
    let cpu = &block.cpu;
    let others = || {
        let online = f64::from(subject.record.environment.cpus_online?);
        let idle = cpu.machine_idle_fraction?;
        let used = online * (1.0 - idle) - cpu.generator_cores_used?;
        subject.workload.is_local().then_some(used.max(0.0))
    };
    cpu.server_cores_used.or_else(others)
}

/// In an open loop the lag shows whether we kept up. It excludes the time in which no connection was free because the
/// server is slow; it includes gaps of our own loop and late wake-ups, which are reasons of their own.
fn open_loop_bound(subject: &Subject<'_>, block: &Block, times: &OpenLoop) -> Option<Finding> {
    let busy = busy(subject, block);
    let floor = subject.record.environment.timer_floor;
    let is_ours = |late: &Late| {
        late.fraction() > LATE_MAX
            && !late.is_stalled(block)
            && !late.is_of_wake_ups(subject, block)
    };
    let late: Vec<Late> = Late::all(times).filter(is_ours).collect();
    let used = block.cpu.busiest_worker_fraction;
    let mut evidence = used.map_or_else(
        || "how much of a core its workers used is not known".to_owned(),
        |used| format!("its busiest worker used {} of a core", percent(used)),
    );
    let worst = late.iter().max_by(|one, other| one.fraction().total_cmp(&other.fraction()));
    if let Some(late) = worst {
        evidence += &format!(", {}", late.evidence());
    }
    let mut numbers = Numbers::new();
    if busy.is_some() {
        numbers.extend(Number::ALL.map(|number| (number, Level::Degraded)));
    }
    for late in &late {
        let level = if late.is_gross(floor) { Level::Invalid } else { Level::Degraded };
        numbers.extend(late.numbers().iter().map(|number| (*number, level)));
    }
    let weight = worst.map_or(0.0, Late::fraction) + busy.unwrap_or(0.0);
    Finding::of_some(numbers, weight, evidence)
}

/// The lateness of sent messages, at one percentile.
pub(super) struct Late {
    at: &'static Percentile,
    lag_ns: u64,
    response_ns: u64,
    service_ns: Option<u64>,
    own_share_ns: Option<u64>,
}

impl Late {
    /// The lag at each percentile that it and the response have, the highest first.
    pub(super) fn all(times: &OpenLoop) -> impl Iterator<Item = Self> {
        let (lag, response) = (times.send_lag.as_ref(), times.response.as_ref());
        let (service, own_share) = (times.service.as_ref(), times.own_share.as_ref());
        PERCENTILES.iter().filter_map(move |at| {
            let (lag_ns, response_ns) = ((at.of)(lag?)?, (at.of)(response?)?);
            let (service_ns, own_share_ns) = (service.and_then(at.of), own_share.and_then(at.of));
            Some(Self { at, lag_ns, response_ns, service_ns, own_share_ns })
        })
    }

    /// The numbers that it makes doubtful.
    pub(super) fn numbers(&self) -> &'static [Number] {
        self.at.numbers
    }

    /// The lag as a share of the response.
    pub(super) fn fraction(&self) -> f64 {
        fraction(self.lag_ns, self.response_ns)
    }

    /// True if late wake-ups explain it: it is no more than timers alone are late by or, if generator and machine are
    /// mostly idle, of that order.
    pub(super) fn is_of_wake_ups(&self, subject: &Subject<'_>, block: &Block) -> bool {
        let of_the_only =
            block.cpu.generator_cores_used.filter(|_| subject.workload.spec.threads.get() == 1);
        let busiest = block.cpu.busiest_worker_fraction.or(of_the_only);
        let is_idle = busiest.is_some_and(|busiest| busiest < IDLE_MAX)
            && block.cpu.machine_idle_fraction.is_some_and(|idle| idle > 1.0 - IDLE_MAX);
        let floors = if is_idle { TIMER_LAG_INVALID } else { TIMER_LAG_MAX };
        self.is_within_timers(subject.record.environment.timer_floor, floors)
    }

    /// True if the lag changes what is reported: at this percentile the response is longer than the service by more
    /// than [`LATE_MAX`] of it.
    pub(super) fn changes_the_response(&self) -> bool {
        let longer = |service| fraction(self.response_ns.saturating_sub(service), self.response_ns);
        self.service_ns.is_none_or(|service| longer(service) > LATE_MAX)
    }

    /// True if the reported time is mostly our own lateness, and this machine's timers do not explain it.
    fn is_gross(&self, floor: Option<TimerFloor>) -> bool {
        self.fraction() > LATE_INVALID && !self.is_within_timers(floor, TIMER_LAG_INVALID)
    }

    /// True if it is at most `times` as late as timers alone.
    fn is_within_timers(&self, floor: Option<TimerFloor>, times: f64) -> bool {
        floor.is_some_and(|floor| {
            let floor_ns =
                if self.at.name == "p50" { floor.overshoot_p50_ns } else { floor.overshoot_p99_ns };
            float(self.lag_ns) <= times * float(floor_ns)
        })
    }

    /// True if the gaps in the workers' loops explain it: they are a reason of their own.
    fn is_stalled(&self, block: &Block) -> bool {
        fraction(block.stalls.affected, block.counts.sent) >= self.at.beyond
    }

    pub(super) fn evidence(&self) -> String {
        let Self { at: Percentile { name, .. }, lag_ns, response_ns, own_share_ns, .. } = self;
        let own =
            own_share_ns.map_or_else(String::new, |own| format!(", own share {}", Nanos(own)));
        format!(
            "send lag {name} {} is {} of response {name} {}{own}",
            Nanos(*lag_ns),
            percent(self.fraction()),
            Nanos(*response_ns)
        )
    }
}

/// A percentile at which lateness is examined.
struct Percentile {
    name: &'static str,
    /// The share of the messages beyond it.
    beyond: f64,
    /// The numbers that are judged by it.
    numbers: &'static [Number],
    of: fn(&Summary) -> Option<u64>,
}

const PERCENTILES: [Percentile; 3] = [
    Percentile {
        name: "p99",
        beyond: P99_MOVED,
        numbers: &[Number::P99, Number::Tail],
        of: |summary| summary.p99_ns,
    },
    Percentile { name: "p90", beyond: 0.1, numbers: &[Number::P90], of: |summary| summary.p90_ns },
    Percentile { name: "p50", beyond: 0.5, numbers: &[Number::P50], of: |summary| summary.p50_ns },
];

/// A worker's own loop stood still while messages were due or in flight.
fn stalled(subject: &Subject<'_>) -> Option<Reason> {
    let sum = |of: fn(&Block) -> u64| {
        subject.blocks.iter().fold(0_u64, |sum, block| sum.saturating_add(of(block)))
    };
    let affected = fraction(sum(|block| block.stalls.affected), sum(|block| block.counts.sent));
    let rule = Rule {
        code: "generator_stalled",
        message: "the generator itself stood still for a while: that time is not the server's"
            .to_owned(),
        advice:
            "end other programs on this machine and run it again; `wirebench doctor` lists them"
                .to_owned(),
        outvoted: if affected >= P99_MOVED { Outvoted::Softened } else { Outvoted::Shared },
    };
    subject.reason(rule, |block| stall(block, headline(subject.workload, block)))
}

/// The gaps of a block whose results are made of `times`.
fn stall(block: &Block, times: Option<&Summary>) -> Option<Finding> {
    let stalls = &block.stalls;
    let affected = fraction(stalls.affected, block.counts.sent);
    let p99 = times.and_then(|times| times.p99_ns);
    let is_long = p99.is_some_and(|p99| fraction(stalls.longest_ns, p99) > LATE_MAX);
    let level = if affected >= P99_MOVED && is_long { Level::Invalid } else { Level::Degraded };
    let evidence = format!(
        "{} gap{}, the longest {}, {} in all; {} messages were due or in flight meanwhile ({})",
        stalls.count,
        if stalls.count == 1 { "" } else { "s" },
        Nanos(stalls.longest_ns),
        Nanos(stalls.total_ns),
        stalls.affected,
        percent(affected)
    );
    let moved = moved_by(affected).map(|number| (number, level));
    Finding::of_some(moved.collect(), affected, evidence).filter(|_| stalls.affected > 0)
}

/// The reasons, in words, why the times of a block describe its generator and not the server: its loop stood still, or
/// it sent late. Only reasons that would make a run of this block alone invalid are among them, not those that would
/// degrade it. `floor` is the timer floor of the machine that measured it.
pub fn generator_faults(block: &Block, floor: Option<TimerFloor>) -> Vec<String> {
    let times = match &block.phases.life {
        Some(life) if block.open_loop.is_none() => Some(life),
        _ => block.times(),
    };
    let stood = stall(block, times).filter(|stall| stall.level == Level::Invalid);
    let stood = stood.map(|stall| format!("it stood still: {}", stall.evidence));
    let late = block.open_loop.iter().flat_map(Late::all);
    let late = late.filter(|late| late.is_gross(floor) && !late.is_stalled(block));
    let worst = late.max_by(|one, other| one.fraction().total_cmp(&other.fraction()));
    let late = worst.map(|late| format!("it sent late: {}", late.evidence()));
    stood.into_iter().chain(late).collect()
}

/// Less load was reached than was requested.
fn asked_not_achieved(subject: &Subject<'_>) -> Option<Reason> {
    let is_broken = |block: &Block| {
        let (connections, counts) = (block.connections, block.counts);
        connections.failed > connections.opened || counts.error > counts.ok
    };
    let advice = match subject.workload.spec.load {
        _ if subject.blocks.iter().any(|block| is_broken(block)) => {
            "look at the errors: more connections or messages failed than not"
        }
        _ if subject.blocks.iter().any(|block| missing(block).next().is_some()) => LOOK_AT_THE_LOST,
        Load::Closed { .. } | Load::Clients { .. } => {
            "look at the errors; `wirebench doctor` says which limit of this machine binds"
        }
        Load::Open { .. } => {
            "lower the --rate, use more connections (-c), or raise --in-flight-max"
        }
        Load::Bots { .. } | Load::ClosedBots { .. } => "use fewer --bots, or a longer --every",
        Load::Publish { .. } => {
            "lower the rate of --publish, use fewer --rooms, or raise --in-flight-max"
        }
        Load::Sessions { .. } => "lower the --sessions, or allow more connections (-c)",
    };
    let shortfalls = |block: &Block| {
        [
            ("connections were opened", unopened(block)),
            ("load was sent", unsent(subject, block)),
            ("sessions began", not_begun(block)),
            ("load was due", not_due(subject, block)),
            ("load was answered in time", not_replied(subject, block)),
        ]
        .into_iter()
        .filter_map(|(what, finding)| Some((what, finding?)))
    };
    let all = subject.blocks.iter().flat_map(|block| shortfalls(block));
    let (what, worst) = all.max_by(|(_, one), (_, other)| one.weight.total_cmp(&other.weight))?;
    let rule = Rule {
        code: "asked_not_achieved",
        message: format!("only {} of the requested {what}", percent(1.0 - worst.weight)),
        advice: advice.to_owned(),
        outvoted: Outvoted::Softened,
    };
    subject.reason(rule, |block| shortfalls(block).map(|(_, finding)| finding).reduce(Finding::and))
}

fn unopened(block: &Block) -> Option<Finding> {
    let connections = block.connections;
    let opened = fraction(connections.opened, connections.asked);
    (connections.asked > 0 && opened < ACHIEVED_MIN).then(|| Finding {
        level: Level::Degraded,
        numbers: Numbers::new(),
        weight: 1.0 - opened,
        evidence: format!(
            "{} of {} connections were opened",
            connections.opened, connections.asked
        ),
    })
}

/// Messages that were due and never sent are in no distribution: with 1 % of them, the p99 leaves out the worst. All
/// numbers are those of a lower load. In a closed loop none is due, so unsent messages say nothing about those that
/// were sent.
fn unsent(subject: &Subject<'_>, block: &Block) -> Option<Finding> {
    let unsent = fraction(block.counts.unsent, block.counts.planned);
    if unsent <= P99_MOVED {
        return None;
    }
    let mut numbers: Numbers = Number::ALL.map(|number| (number, Level::Degraded)).into();
    if subject.is_open() {
        numbers.extend(moved_by(unsent).map(|number| (number, Level::Invalid)));
    }
    let evidence = format!(
        "{} of {} messages were never sent ({}), and no percentile includes them",
        block.counts.unsent,
        block.counts.planned,
        percent(unsent)
    );
    Finding::of_some(numbers, unsent, evidence)
}

fn not_begun(block: &Block) -> Option<Finding> {
    let sessions = block.open_loop.as_ref()?.sessions?;
    let started = fraction(sessions.started, sessions.planned);
    (sessions.planned > 0 && started < ACHIEVED_MIN).then(|| Finding {
        level: Level::Degraded,
        numbers: Numbers::new(),
        weight: 1.0 - started,
        evidence: format!("{} of {} sessions began", sessions.started, sessions.planned),
    })
}

/// Fewer messages were due than the rate asks for: the schedule itself fell behind. Messages of agents whose parts are
/// left out were due as well.
fn not_due(subject: &Subject<'_>, block: &Block) -> Option<Finding> {
    let load = &subject.workload.spec.load;
    let (Load::Open { spacing, .. } | Load::Bots { spacing, .. } | Load::Publish { spacing, .. }) =
        load
    else {
        return None;
    };
    let rate = load.due_per_s()?;
    let asked = rate * float(block.measured_ns) / 1e9;
    let chance = match spacing {
        Spacing::Uniform => 1.0,
        Spacing::Phases | Spacing::Poisson => EDGE_SIGMAS * asked.sqrt(),
    };
    let of_parts = block.load_parts().filter_map(|part| part.planned).sum();
    let due = float(block.counts.planned.max(of_parts));
    (due + chance < asked * ACHIEVED_MIN).then(|| Finding {
        level: Level::Degraded,
        numbers: Numbers::new(),
        weight: 1.0 - due / asked,
        evidence: format!("{due:.0} messages were due, but {rate:.1}/s would be {asked:.0}"),
    })
}

/// Fewer replies arrived in the window than messages were due in it. The numbers in flight at its two ends may differ,
/// so as many replies as that may be missing.
fn not_replied(subject: &Subject<'_>, block: &Block) -> Option<Finding> {
    let response = block.open_loop.as_ref()?.response.as_ref()?;
    if !subject.is_open() || subject.workload.spec.load.lifetime() != Lifetime::Long {
        return None;
    }
    // Deliveries to receivers that were cut off are errors of their connections.
    let cut = block.deliveries.as_ref().map_or(0, |deliveries| deliveries.counts.cut);
    let due = float(block.replies_due().saturating_sub(cut));
    let seconds = float(block.measured_ns) / 1e9;
    let replied = block.messages_per_s * seconds;
    // The deliveries of a message are in flight together.
    let each = subject.workload.spec.load.replies_each();
    let in_flight = due / each / seconds * response.mean_ns / 1e9;
    let edges = each * (1.0 + EDGE_SIGMAS * (2.0 * in_flight).sqrt());
    (seconds > 0.0 && replied + edges < due * ACHIEVED_MIN).then(|| Finding {
        level: Level::Degraded,
        numbers: Numbers::new(),
        weight: 1.0 - replied / due,
        evidence: format!(
            "{:.1} replies a second where {:.1} were due ({})",
            block.messages_per_s,
            due / seconds,
            percent(replied / due)
        ),
    })
}
