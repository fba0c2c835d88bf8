//! When messages of a run are sent, if not as soon as a reply came: by a schedule.

use super::values;
use crate::config::{Conflict, Settings};
use clap::ValueEnum;
use load::{Arrival, Lifetime, Pick, Schedule};
use std::num::NonZeroU32;
use units::{Count, Nanos, Rate};

/// The options of open loops and partly open ones.
#[derive(Debug, clap::Args)]
pub(crate) struct OpenLoop {
    /// Open loop: so many messages are due, e.g. 2000/s
    ///
    /// They are due whatever became of those before, and the connections take turns. What cannot be sent when it is
    /// due is sent late, and its response time counts from the instant at which it was due.
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// Bots: how many, each with a connection of its own
    ///
    /// Each sends a message --every so often, from a random moment of that time on (--spacing). Several counts are
    /// measured one after the other, in this order, each for --duration.
    #[arg(long, value_name = "COUNT,…", value_delimiter = ',', value_parser = values::count)]
    bots: Vec<NonZeroU32>,
    /// Bots: how often each of them sends
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::some_time, hide_short_help = true)]
    every: Nanos,
    /// Bots: let each send --every after the reply to its last message, in place of every so often
    ///
    /// A closed loop: a bot whose reply takes long sends less, and the load gives way to the server that is measured.
    /// There is no response time, only round trips.
    #[arg(long, hide_short_help = true)]
    closed: bool,
    /// Sessions: how many begin, e.g. 50/s
    ///
    /// Each has a connection of its own, on which it sends --messages-each, the next one --think after each reply: a
    /// partly open loop. At most --connections of them last at a time; one more does not begin, and its messages are
    /// unsent.
    #[arg(long, value_name = "RATE", hide_short_help = true)]
    sessions: Option<Rate>,
    /// Sessions: how many messages each sends
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = values::count, hide_short_help = true)]
    messages_each: NonZeroU32,
    /// Sessions: how long after a reply the next message is due
    #[arg(long, value_name = "TIME", default_value = "1s", hide_short_help = true)]
    think: Nanos,
    /// How messages or sessions that are due are spaced [default: phases for bots, else uniform]
    #[arg(long, value_name = "SPACING", value_enum, hide_short_help = true)]
    spacing: Option<Spacing>,
    /// The server is `wirebench serve oracle`: read from each reply how long it was really kept
    #[arg(long, hide_short_help = true)]
    pub(crate) oracle: bool,
}

/// How arrivals are spaced, as it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Spacing {
    /// At equal distances; those of bots take turns
    Uniform,
    /// Each bot at equal distances, from a random phase on
    Phases,
    /// Independently of each other, as those of many users are
    Poisson,
}

/// One way to send, of which a run with several counts of bots has several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// What tells it from the other steps; `None` if there is no other.
    pub(crate) name: Option<String>,
    pub(crate) connections: NonZeroU32,
    pub(crate) lifetime: Lifetime,
    pub(crate) arrival: Arrival,
}

/// What an open loop needs to know of the options besides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Besides {
    pub(crate) connections: NonZeroU32,
    pub(crate) in_flight_max: Option<NonZeroU32>,
    pub(crate) duration: Nanos,
    /// How long a reply may take.
    pub(crate) timeout: Nanos,
}

#[rustfmt::skip]
pub(crate) const CONFLICTS: &[Conflict] = &[
    Conflict { between: ["rate", "bots"],            cure: "bots are due once --every each; leave one out" },
    Conflict { between: ["rate", "sessions"],        cure: "messages are due by --rate, or sessions by --sessions; leave one out" },
    Conflict { between: ["bots", "sessions"],        cure: "bots stay and sessions end; leave one out" },
    Conflict { between: ["rate", "in-flight"],       cure: "by --rate messages are due whatever is in flight; bound that with --in-flight-max" },
    Conflict { between: ["bots", "in-flight"],       cure: "bots send when they are due, whatever is in flight; bound that with --in-flight-max" },
    Conflict { between: ["sessions", "in-flight"],   cure: "a session awaits each reply before it sends on; leave --in-flight out" },
    Conflict { between: ["sessions", "in-flight-max"], cure: "each session has one message in flight; --connections bounds how many there are" },
    Conflict { between: ["rate", "messages"],        cure: "by --rate so many messages are due in --duration; leave --messages out" },
    Conflict { between: ["bots", "messages"],        cure: "bots send for --duration; leave --messages out" },
    Conflict { between: ["sessions", "messages"],    cure: "sessions have --messages-each, and begin for --duration; leave --messages out" },
    Conflict { between: ["bots", "connections"],     cure: "each bot has a connection of its own; leave --connections out" },
    Conflict { between: ["rate", "clients"],         cure: "short-lived clients that arrive by a schedule are --sessions; leave --clients out" },
    Conflict { between: ["rate", "concurrency"],     cure: "short-lived clients that arrive by a schedule are --sessions; leave --concurrency out" },
    Conflict { between: ["rate", "round-trips"],     cure: "short-lived clients that arrive by a schedule are --sessions; leave --round-trips out" },
    Conflict { between: ["bots", "clients"],         cure: "bots stay connected, clients do not; leave one out" },
    Conflict { between: ["bots", "concurrency"],     cure: "bots stay connected, short-lived clients do not; leave one out" },
    Conflict { between: ["bots", "round-trips"],     cure: "bots stay connected, short-lived clients do not; leave one out" },
    Conflict { between: ["sessions", "clients"],     cure: "sessions begin by a schedule, clients when the last one ended; leave one out" },
    Conflict { between: ["sessions", "concurrency"], cure: "--connections says how many sessions there are at a time at most" },
    Conflict { between: ["sessions", "round-trips"], cure: "--messages-each says how many messages a session has" },
    Conflict { between: ["rate", "every"],           cure: "--every is for --bots; leave one out" },
    Conflict { between: ["rate", "messages-each"],   cure: "--messages-each is for --sessions; leave one out" },
    Conflict { between: ["rate", "think"],           cure: "--think is for --sessions; leave one out" },
    Conflict { between: ["bots", "messages-each"],   cure: "--messages-each is for --sessions; leave one out" },
    Conflict { between: ["bots", "think"],           cure: "--think is for --sessions; bots send --every so often" },
    Conflict { between: ["closed", "rate"],          cure: "by --rate messages are due whatever became of those before; leave one out" },
    Conflict { between: ["closed", "sessions"],      cure: "a session awaits each reply anyway; leave --closed out" },
    Conflict { between: ["closed", "spacing"],       cure: "with --closed nothing is due by a schedule; leave one out" },
    Conflict { between: ["closed", "in-flight-max"], cure: "with --closed each bot has one message in flight; leave --in-flight-max out" },
    Conflict { between: ["closed", "oracle"],        cure: "with --closed messages carry no header; leave one out" },
    Conflict { between: ["sessions", "every"],       cure: "--every is for --bots; sessions --think between messages" },
    Conflict { between: ["oracle", "expect"],        cure: "an oracle server answers with what was sent; leave --expect out" },
];

impl OpenLoop {
    /// The ways to send, one after the other; none: as soon as replies come.
    ///
    /// # Errors
    ///
    /// What makes no sense, and what would.
    pub(crate) fn steps(&self, settings: &Settings, besides: Besides) -> Result<Vec<Step>, String> {
        self.check(settings, besides.duration)?;
        if let Some(rate) = self.rate {
            return Ok(vec![self.open(rate, Pick::Any, besides)]);
        }
        if let Some(rate) = self.sessions {
            let is_set = settings.is_set("connections");
            let connections =
                if is_set { besides.connections } else { self.sessions_at_most(rate, besides) };
            return Ok(vec![Step {
                name: None,
                connections,
                lifetime: Lifetime::RoundTrips(self.messages_each),
                arrival: Arrival::Sessions {
                    schedule: self.schedule(rate, connections),
                    think: self.think,
                },
            }]);
        }
        let several = self.bots.len() > 1;
        Ok(self
            .bots
            .iter()
            .map(|&bots| Step {
                name: several.then(|| format!("{} bots", Count(bots.get().into()))),
                ..self.play(bots, besides)
            })
            .collect())
    }

    /// So many bots.
    fn play(&self, bots: NonZeroU32, besides: Besides) -> Step {
        if !self.closed {
            let besides = Besides { connections: bots, ..besides };
            return self.open(self.rate_of(bots), Pick::Own, besides);
        }
        Step {
            name: None,
            connections: bots,
            lifetime: Lifetime::Long,
            arrival: Arrival::Think { think: self.every },
        }
    }

    fn open(&self, rate: Rate, pick: Pick, besides: Besides) -> Step {
        let connections = besides.connections;
        let silent =
            || count_due(rate, besides.timeout).clamp(connections, IN_FLIGHT_MAX.max(connections));
        Step {
            name: None,
            connections,
            lifetime: Lifetime::Long,
            arrival: Arrival::Open {
                schedule: self.schedule(rate, connections),
                pick,
                in_flight_max: besides.in_flight_max.unwrap_or_else(silent),
            },
        }
    }

    fn schedule(&self, rate: Rate, connections: NonZeroU32) -> Schedule {
        let spacing = match self.spacing() {
            Spacing::Uniform => load::Spacing::Uniform,
            Spacing::Phases => load::Spacing::Phases,
            Spacing::Poisson => load::Spacing::Poisson,
        };
        Schedule::new(rate.into(), spacing, connections)
    }

    fn spacing(&self) -> Spacing {
        let usual = if self.bots.is_empty() { Spacing::Uniform } else { Spacing::Phases };
        self.spacing.unwrap_or(usual)
    }

    fn rate_of(&self, bots: NonZeroU32) -> Rate {
        Rate::new(bots, self.every).expect("--every is longer than no time")
    }

    /// How many sessions there would be if each thought all its time and then awaited its last reply in vain.
    fn sessions_at_most(&self, rate: Rate, besides: Besides) -> NonZeroU32 {
        let thoughts = u64::from(self.messages_each.get() - 1);
        let length = self.think.0.saturating_mul(thoughts).saturating_add(besides.timeout.0);
        count_due(rate, Nanos(length)).clamp(besides.connections, IN_FLIGHT_MAX)
    }

    /// That what was typed belongs to something, and that there is something to measure.
    fn check(&self, settings: &Settings, duration: Nanos) -> Result<(), String> {
        let (open, bots) = (self.rate.is_some(), !self.bots.is_empty());
        let sessions = self.sessions.is_some();
        let scheduled = open || bots || sessions;
        for (option, has_place, place) in [
            ("every", bots, "--bots"),
            ("closed", bots, "--bots"),
            ("messages-each", sessions, "--sessions"),
            ("think", sessions, "--sessions"),
            ("spacing", scheduled, "--rate, --bots or --sessions"),
            ("oracle", scheduled, "--rate, --bots or --sessions"),
        ] {
            if settings.is_flag(option) && !has_place {
                return Err(format!("--{option} means nothing without {place}; add one"));
            }
        }
        if self.spacing == Some(Spacing::Phases) && !bots {
            return Err(
                "--spacing phases means nothing without --bots; leave it out, or take poisson"
                    .to_owned(),
            );
        }
        let rates = self.rate.into_iter().chain(self.sessions);
        for rate in rates.chain(self.bots.iter().map(|bots| self.rate_of(*bots))) {
            if self.spacing() == Spacing::Poisson && rate.per_second() > POISSON_RATE_MAX {
                return Err(format!(
                    "{rate} is more than --spacing poisson can draw, {POISSON_RATE_MAX}/s; ask for less, or for \
                     --spacing uniform"
                ));
            }
            // The second one; the first is due at once.
            let second = rate.due(1);
            if second > duration {
                let what = if sessions { "session" } else { "message" };
                return Err(format!(
                    "at {rate} less than one {what} is due in {duration}; measure for a --duration of {second} at least, \
                     or more often"
                ));
            }
        }
        let mut seen: Vec<NonZeroU32> = Vec::new();
        for bots in &self.bots {
            if seen.contains(bots) {
                return Err(format!(
                    "--bots {bots} stands there twice; each count is measured once"
                ));
            }
            seen.push(*bots);
        }
        Ok(())
    }
}

/// How many are due in `time`, rounded up.
fn count_due(rate: Rate, time: Nanos) -> NonZeroU32 {
    let count = u128::from(rate.count().get()) * u128::from(time.0);
    let count = count.div_ceil(u128::from(rate.per().0));
    NonZeroU32::new(u32::try_from(count).unwrap_or(u32::MAX)).unwrap_or(NonZeroU32::MIN)
}

/// Every arrival is drawn by itself, whether it can be sent or not.
const POISSON_RATE_MAX: f64 = 1e7;

/// The largest bound that is chosen without being asked for.
const IN_FLIGHT_MAX: NonZeroU32 = NonZeroU32::new(1 << 20).expect("it is not zero");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::run::{conflicts, tests::plan};
    use crate::args::{Program, run};
    use clap::CommandFactory;

    fn number(count: u32) -> NonZeroU32 {
        NonZeroU32::new(count).unwrap()
    }

    /// Names, connections and arrivals of all measurements.
    fn arrivals(line: &str) -> Vec<(String, u32, Arrival)> {
        let measurements = plan(line).unwrap().measurements.into_iter();
        let arrival = |one: ::run::Measurement| {
            (one.name, one.workload.connections.get(), one.workload.arrival)
        };
        measurements.map(arrival).collect()
    }

    fn schedule(rate: &str, spacing: load::Spacing, connections: u32) -> Schedule {
        Schedule::new(rate.parse().unwrap(), spacing, number(connections))
    }

    #[test]
    fn messages_are_due_by_a_rate_on_any_connection_or_by_bots_each_on_its_own() {
        use Pick::{Any, Own};
        use load::Spacing::{Phases, Poisson, Uniform};
        let open = |rate, spacing, connections, pick, bound| {
            let schedule = schedule(rate, spacing, connections);
            (connections, Arrival::Open { schedule, pick, in_flight_max: number(bound) })
        };
        #[rustfmt::skip]
        let table = [
            // Outstanding is what is due in the five seconds that a reply may take.
            ("--rate 2000/s",                              open("2000/s", Uniform, 50, Any, 10_000)),
            ("--rate 2000/s --timeout 1s -c 3",            open("2000/s", Uniform, 3,  Any, 2_000)),
            ("--rate 1/s -c 100",                          open("1/s",    Uniform, 100, Any, 100)),
            ("--rate 10M/s",                               open("10M/s",  Uniform, 50, Any, 1 << 20)),
            ("--rate 2000/s --in-flight-max 7",            open("2000/s", Uniform, 50, Any, 7)),
            ("--rate 2000/s --spacing poisson",            open("2000/s", Poisson, 50, Any, 10_000)),
            ("--bots 1k",                                  open("1000/s", Phases, 1_000, Own, 5_000)),
            ("--bots 1k --spacing uniform",                open("1000/s", Uniform, 1_000, Own, 5_000)),
            ("--bots 30 --every 250ms --spacing poisson",  open("30/250ms", Poisson, 30, Own, 600)),
            ("--bots 30 --every 250ms --closed",           (30, Arrival::Think { think: Nanos::from_millis(250) })),
        ];
        for (options, (connections, arrival)) in table {
            let expected = vec![("ws://h/".to_owned(), connections, arrival)];
            assert_eq!(arrivals(&format!("ws://h {options}")), expected, "{options}");
        }
    }

    #[test]
    fn several_counts_of_bots_are_steps_in_the_order_given() {
        let plan = plan("ws://h --bots 20k,5,10 --every 2s").unwrap();
        assert_eq!(plan.blocks(), [[0, 1, 2]]);
        let steps = plan.measurements.iter();
        let steps: Vec<_> =
            steps.map(|step| (step.name.as_str(), step.workload.connections.get())).collect();
        assert_eq!(steps, [("20k bots", 20_000), ("5 bots", 5), ("10 bots", 10)]);
    }

    #[test]
    fn sessions_are_as_many_at_a_time_as_think_and_one_of_them_waits_in_vain() {
        let sessions = |options: &str| {
            let measurement = plan(&format!("ws://h {options}")).unwrap().measurements.remove(0);
            let Arrival::Sessions { schedule, think } = measurement.workload.arrival else {
                panic!("{options}");
            };
            assert_eq!(schedule.rate, "50/s".parse().unwrap());
            (measurement.workload.connections.get(), measurement.workload.lifetime, think)
        };
        let each = |count| Lifetime::RoundTrips(number(count));
        let second = Nanos::from_secs(1);
        assert_eq!(
            sessions("--sessions 50/s --messages-each 20"),
            (50 * (19 + 5), each(20), second)
        );
        assert_eq!(
            sessions("--sessions 50/s --think 0s --timeout 100ms"),
            (50, each(1), Nanos::ZERO),
            "never below the usual number"
        );
        assert_eq!(sessions("--sessions 50/s -c 7"), (7, each(1), second));
    }

    #[test]
    fn an_oracle_is_asked_for_its_delay_in_every_message() {
        let workload =
            plan("ws://h --rate 5/s --oracle --size 24B").unwrap().measurements.remove(0).workload;
        assert_eq!(workload.expect, load::Expect::Oracle);
        assert_eq!(workload.content.payload()[16..], [0; 8]);
    }

    #[test]
    fn every_conflict_is_between_options_that_exist() {
        let program = Program::command();
        let command = program.find_subcommand(run::NAME).unwrap();
        let known: Vec<&str> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
        for conflict in conflicts() {
            assert!(conflict.between.iter().all(|name| known.contains(name)), "{conflict:?}");
        }
    }
}
