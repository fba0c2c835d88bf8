//! Facts about the machine that limit nothing but still change results.

use super::finding::{Facts, Finding, Name, Place, Question, State, missing};
use crate::cpus::Sharing;
use units::Nanos;

pub(super) fn cores(facts: &Facts, question: Question) -> Finding {
    const NAME: Name = Name { code: "cores", name: "cores" };
    let cores = facts.cores;
    let Some(sharing) = facts.sharing else {
        return Finding::unknown(NAME, "no CPU could be read");
    };
    let evidence = match cores {
        1 => "this process may use 1 core".to_owned(),
        cores => format!("this process may use {cores} cores"),
    };
    let apart = question.server == Place::Elsewhere || sharing < Sharing::Core;
    if apart {
        let effect = match question.server {
            Place::Here => "generator and server run on cores of their own",
            Place::Elsewhere => "the generator has a core of its own",
        };
        return Finding { evidence, effect: effect.to_owned(), ..Finding::new(NAME, State::Fine) };
    }
    Finding {
        evidence,
        effect:
            "generator and server slow each other down, so no number describes only one of them"
                .to_owned(),
        cure: Some(
            "allow more cores (taskset, the container's limit), or run the server elsewhere"
                .to_owned(),
        ),
        ..Finding::new(NAME, State::Changes)
    }
}

pub(super) fn timer_floor(facts: &Facts) -> Finding {
    const NAME: Name = Name { code: "timer_floor", name: "timer floor" };
    let Some(floor) = facts.environment.timer_floor else {
        return Finding::unknown(NAME, missing(&facts.environment, "timer_floor"));
    };
    let (p50, p99) = (Nanos(floor.overshoot_p50_ns), Nanos(floor.overshoot_p99_ns));
    let coarse = p99 >= TIMERS_COARSE;
    let state = if coarse { State::Changes } else { State::Fine };
    Finding {
        evidence: format!(
            "a sleep of {} ends {p50} late, one of a hundred {p99} or more (measured now)",
            Nanos(floor.asked_ns)
        ),
        effect: format!(
            "schedules are kept to that; a p99 below {} says more about this machine than about a server",
            Nanos(p99.0.saturating_mul(LAG_SHARE))
        ),
        cure: coarse.then(|| {
            "an idle machine with a core for the generator, which then polls the clock instead of sleeping".to_owned()
        }),
        ..Finding::new(NAME, state)
    }
}

pub(super) fn steal(facts: &Facts) -> Finding {
    const NAME: Name = Name { code: "steal", name: "steal" };
    let environment = &facts.environment;
    let (before, now) = (environment.steal_before_fraction, environment.steal_during_fraction);
    let Some(now) = now.or(before) else {
        return Finding::unknown(NAME, missing(environment, "steal"));
    };
    let since_start = before.map_or_else(String::new, |before| {
        format!(", {:.1} % since the machine was started", before * 100.0)
    });
    let noisy = now > STEAL_MAX;
    Finding {
        evidence: format!("{:.1} % of the CPU time just now{since_start}", now * 100.0),
        effect: "the hypervisor runs other machines: waiting for a CPU shows up as latency"
            .to_owned(),
        cure: noisy
            .then(|| "choose a machine, or an instance type, with cores of its own".to_owned()),
        ..Finding::new(NAME, if noisy { State::Changes } else { State::Fine })
    }
}

pub(super) fn congestion_control(facts: &Facts, question: Question) -> Finding {
    const NAME: Name = Name { code: "congestion_control", name: "congestion" };
    let Some(name) = &facts.environment.congestion_control else {
        return Finding::unknown(NAME, missing(&facts.environment, "congestion_control"));
    };
    let usual = ["cubic", "reno"].contains(&name.as_str());
    let effect = match (usual, name.as_str(), question.server) {
        (true, ..) => "what most machines use",
        (_, "bbr", Place::Here) => {
            "BBR paces what is sent, which costs timers and CPU even on loopback; most machines use cubic"
        }
        (_, "bbr", Place::Elsewhere) => {
            "BBR paces what is sent, so bursts take longer and loss slows less; most machines use cubic"
        }
        _ => "most machines use cubic; results of others are not comparable",
    };
    Finding {
        evidence: format!("net.ipv4.tcp_congestion_control is {name}"),
        effect: effect.to_owned(),
        cure: (!usual).then(|| "sysctl -w net.ipv4.tcp_congestion_control=cubic".to_owned()),
        ..Finding::new(NAME, if usual { State::Fine } else { State::Changes })
    }
}

pub(super) fn governor(facts: &Facts) -> Finding {
    const NAME: Name = Name { code: "governor", name: "governor" };
    let Some(governor) = &facts.environment.governor else {
        return Finding {
            effect: "a CPU that has to speed up first answers later".to_owned(),
            ..Finding::unknown(NAME, missing(&facts.environment, "governor"))
        };
    };
    let fast = governor == "performance";
    Finding {
        evidence: format!("scaling_governor is {governor}"),
        effect: if fast {
            "CPUs run at full speed at any load".to_owned()
        } else {
            "at low load CPUs run slower, so latency falls when load rises".to_owned()
        },
        cure: (!fast).then(|| "cpupower frequency-set -g performance".to_owned()),
        ..Finding::new(NAME, if fast { State::Fine } else { State::Changes })
    }
}

/// The lateness of a kernel without high-resolution timers, at 1000 ticks per second.
const TIMERS_COARSE: Nanos = Nanos::from_millis(1);

/// A p99 send lag of more than a tenth of the reported p99 makes a run generator-bound (docs/METHOD.md).
const LAG_SHARE: u64 = 10;

/// A machine with more steal than this counts as noisy, as in the verdict.
const STEAL_MAX: f64 = 0.01;
