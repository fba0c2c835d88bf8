//! Loads and phases from options.

use super::{Options, at_most, some_time};
use crate::{Carries, Conduct, Load, Phases, Problem, Profile, Rooms, Scheme, Spacing, Stop};
use std::num::{NonZeroU32, NonZeroU64};
use units::{Count, Nanos, Rate, Share};

/// The five ways to send by a schedule or with short-lived clients; `Closed`, if none of them is named: a closed loop
/// on lasting connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Closed,
    Rate,
    Bots,
    Sessions,
    Clients,
    Publish,
}

impl Options {
    /// The ways to send that are named, each with the option that names it.
    pub(super) fn ways(&self) -> Vec<(&'static str, Way)> {
        #[rustfmt::skip]
        let all = [
            ("rate",        Way::Rate,     self.rate.is_some()),
            ("bots",        Way::Bots,     !self.bots.is_empty()),
            ("sessions",    Way::Sessions, self.sessions.is_some()),
            ("clients",     Way::Clients,  self.clients.is_some()),
            ("concurrency", Way::Clients,  self.concurrency.is_some()),
            ("round-trips", Way::Clients,  self.round_trips.is_some()),
            ("publish",     Way::Publish,  self.publish.is_some()),
        ];
        all.into_iter()
            .filter(|(.., is_named)| *is_named)
            .map(|(name, way, _)| (name, way))
            .collect()
    }

    /// The way to send.
    pub(super) fn way(&self) -> Way {
        self.ways().first().map_or(Way::Closed, |(_, way)| *way)
    }

    /// The first option that is set and does not belong to `way`, with the options that it belongs to.
    pub(super) fn foreign(&self, way: Way) -> Option<(&'static str, &'static str)> {
        use Way::{Bots, Clients, Closed, Publish, Rate, Sessions};
        let bots = || if self.closed { &[] } else { &[Bots][..] };
        #[rustfmt::skip]
        let all: [(&str, bool, &[Way], &str); 21] = [
            ("every",         self.every.is_some(),         &[Bots],                     "--bots"),
            ("closed",        self.closed,                  &[Bots],                     "--bots"),
            ("messages-each", self.messages_each.is_some(), &[Sessions],                 "--sessions"),
            ("think",         self.think.is_some(),         &[Sessions],                 "--sessions"),
            ("rooms",         self.rooms.is_some(),         &[Publish],                  "--publish"),
            ("receivers",     self.receivers.is_some(),     &[Publish],                  "--publish"),
            ("publishers",    self.publishers.is_some(),    &[Publish],                  "--publish"),
            ("slow-receivers", self.slow_receivers.is_some(), &[Publish],                "--publish"),
            ("away",          self.away.is_some(),          &[Publish],                  "--publish"),
            ("storm",         self.storm.is_some(),         &[Publish],                  "--publish"),
            ("restart",       self.restart.is_some(),       &[Publish],                  "--publish"),
            ("restart-of",    self.restart_of.is_some(),    &[Publish],                  "--publish"),
            ("publish-to",    self.publish_to.is_some(),    &[Publish],                  "--publish"),
            ("publish-with",  self.publish_with.is_some(),  &[Publish],                  "--publish"),
            ("connections",   self.connections.is_some(),   &[Closed, Rate, Sessions, Clients], "loads other than --publish (set by its rooms) and --bots (one connection each)"),
            ("in-flight",     self.in_flight.is_some(),     &[Closed, Clients],          "loads that wait for replies; bound an open loop with --in-flight-max"),
            ("messages",      self.messages.is_some(),      &[Closed],                   "a closed loop; other loads send for --duration, and clients are counted by --clients"),
            ("spacing",       self.spacing.is_some(),       &[Rate, Bots, Sessions, Publish], "--rate, --bots without --closed, --sessions and --publish"),
            ("oracle",        self.oracle,                  &[Rate, Bots, Sessions],     "--rate, --bots without --closed, and --sessions"),
            ("in-flight-max", self.in_flight_max.is_some(), &[Closed, Rate, Bots, Clients, Publish], "loads other than --sessions, whose --connections is the bound, and --bots --closed"),
            ("warm-up",       self.warm_up.is_some() && self.clients.is_some(), &[],     "loads that end after a time; with --clients every client is measured"),
        ];
        let of_schedules = ["spacing", "oracle", "in-flight-max"];
        all.into_iter()
            .find(|(field, is_set, ways, _)| {
                let is_closed_bots =
                    way == Bots && of_schedules.contains(field) && bots().is_empty();
                *is_set && (!ways.contains(&way) || is_closed_bots)
            })
            .map(|(field, _, _, place)| (field, place))
    }

    /// The loads, each with a name that distinguishes it from the others: one, or one for each count of bots.
    pub(super) fn loads(
        &self,
        scheme: Scheme,
        timeout: Nanos,
    ) -> Result<Vec<(String, Load)>, Problem> {
        let ways = self.ways();
        if let [(first, way), rest @ ..] = &ways[..]
            && let Some((other, _)) = rest.iter().find(|(_, other)| other != way)
        {
            return Err(Problem::new(
                other,
                format!("--{first} and --{other} are two different loads; leave one out"),
            ));
        }
        if let Some((field, place)) = self.foreign(self.way()) {
            return Err(Problem::new(field, format!("belongs to {place}; leave it out")));
        }
        let one = |load: Load| Ok(vec![(String::new(), load)]);
        let connections = at_most("connections", self.connections, u32::MAX)?;
        let in_flight_max = at_most("in-flight-max", self.in_flight_max, u32::MAX)?;
        let in_flight =
            at_most("in-flight", self.in_flight, IN_FLIGHT_MAX)?.unwrap_or(NonZeroU32::MIN);
        if scheme.facts().carries == Carries::Requests && in_flight > NonZeroU32::MIN {
            return Err(Problem::new(
                "in-flight",
                format!(
                    "{in_flight} is not possible over {scheme}://, where a connection carries one request at a time; \
                     use more --connections"
                ),
            ));
        }
        let usual = connections.unwrap_or(CONNECTIONS);
        match self.way() {
            Way::Closed => one(Load::Closed { connections: usual, in_flight, in_flight_max }),
            Way::Clients => one(Load::Clients {
                concurrency: self.concurrency(connections)?,
                round_trips: at_most("round-trips", self.round_trips, u32::MAX)?
                    .unwrap_or(NonZeroU32::MIN),
                in_flight,
                in_flight_max,
            }),
            Way::Rate => {
                let rate = self.rate.clone().expect("it names the way");
                let spacing = self.spacing_of("rate", &rate, Spacing::Uniform)?;
                let outstanding =
                    in_flight_max.unwrap_or_else(|| outstanding_max(rate.peak(), timeout, usual));
                one(Load::Open { connections: usual, rate, spacing, in_flight_max: outstanding })
            }
            Way::Sessions => {
                let rate = self.sessions.clone().expect("it names the way");
                let spacing = self.spacing_of("sessions", &rate, Spacing::Uniform)?;
                let messages_each = at_most("messages-each", self.messages_each, u32::MAX)?
                    .unwrap_or(NonZeroU32::MIN);
                let think = self.think.unwrap_or(SECOND);
                let longest = think.0.saturating_mul(u64::from(messages_each.get() - 1));
                let longest = Nanos(longest.saturating_add(timeout.0));
                let lasting = || count_due(rate.peak(), longest).clamp(usual, OUTSTANDING_MAX);
                let connections = connections.unwrap_or_else(lasting);
                one(Load::Sessions { connections, rate, spacing, messages_each, think })
            }
            Way::Bots => self.bots(timeout, in_flight_max),
            Way::Publish => one(self.publish(timeout, in_flight_max)?),
        }
    }

    /// The number of short-lived clients at the same time: --concurrency and --connections mean the same.
    fn concurrency(&self, connections: Option<NonZeroU32>) -> Result<NonZeroU32, Problem> {
        match (at_most("concurrency", self.concurrency, u32::MAX)?, connections) {
            (Some(_), Some(_)) => Err(Problem::new(
                "concurrency",
                "--concurrency and --connections are the same for short-lived clients; leave one out",
            )),
            (concurrency, connections) => Ok(concurrency.or(connections).unwrap_or(CONCURRENCY)),
        }
    }

    fn bots(
        &self,
        timeout: Nanos,
        in_flight_max: Option<NonZeroU32>,
    ) -> Result<Vec<(String, Load)>, Problem> {
        let every = some_time("every", self.every)?.unwrap_or(SECOND);
        let mut loads: Vec<(String, Load)> = Vec::new();
        for count in &self.bots {
            let bots = at_most("bots", Some(*count), u32::MAX)?.expect("it is there");
            let name = format!("{count} bots");
            if loads.iter().any(|(known, _)| *known == name) {
                return Err(Problem::new(
                    "bots",
                    format!("{count} is named twice; each count is measured once: leave one out"),
                ));
            }
            let load = if self.closed {
                Load::ClosedBots { bots, think: every }
            } else {
                let rate =
                    Profile::from(Rate::new(bots, every).expect("--every is longer than no time"));
                let spacing = self.spacing_of("bots", &rate, Spacing::Phases)?;
                let outstanding =
                    in_flight_max.unwrap_or_else(|| outstanding_max(rate.peak(), timeout, bots));
                Load::Bots { bots, every, spacing, in_flight_max: outstanding }
            };
            loads.push((name, load));
        }
        Ok(loads)
    }

    fn publish(&self, timeout: Nanos, in_flight_max: Option<NonZeroU32>) -> Result<Load, Problem> {
        let rate = self.publish.clone().expect("it names the way");
        if self.conversation.is_none() {
            return Err(Problem::new(
                "publish",
                "how connections publish and receive is up to the server; add a --conversation that says so, e.g. room",
            ));
        }
        let count = |field, count: Option<Count>, usual: NonZeroU32| {
            Ok::<_, Problem>(at_most(field, count, Rooms::CONNECTIONS_MAX)?.unwrap_or(usual))
        };
        let receivers = count("receivers", self.receivers, RECEIVERS)?;
        let rooms = Rooms {
            count: count("rooms", self.rooms, NonZeroU32::MIN)?,
            publishers: count("publishers", self.publishers, NonZeroU32::MIN)?,
            receivers,
            conduct: self.conduct(receivers)?,
        };
        let whole = of_all_rooms(&rate, rooms)?;
        let spacing = self.spacing_of("publish", &whole, Spacing::Uniform)?;
        let time = self.duration.unwrap_or(DURATION) + self.warm_up.unwrap_or(SECOND);
        publish((rooms, rate, spacing), time, timeout, in_flight_max)
    }

    /// The conduct of the receivers of a room.
    fn conduct(&self, receivers: NonZeroU32) -> Result<Conduct, Problem> {
        let slow = self.slow_receivers.filter(|share| *share != Share::NONE).map_or(0, |share| {
            let millionths = u64::from(receivers.get()) * u64::from(share.millionths());
            u32::try_from(millionths.div_ceil(MILLION)).expect("a share is at most all")
        });
        if slow >= receivers.get() {
            let message = format!(
                "{slow} of {receivers} receivers of a room would be slow; at least one must not be: use more \
                 --receivers, or a smaller share"
            );
            return Err(Problem::new("slow-receivers", message));
        }
        let leaves = [
            ("away", self.away.is_some()),
            ("storm", self.storm.is_some()),
            ("restart", self.restart.is_some()),
        ];
        if let Some((field, _)) = leaves.iter().find(|(_, leaves)| slow > 0 && *leaves) {
            let message =
                "receivers that leave and --slow-receivers are two different tests; leave one out";
            return Err(Problem::new(field, message));
        }
        if self.storm.is_some() && self.restart.is_some() {
            let message = "a run has one recovery time: use --storm or --restart, not both";
            return Err(Problem::new("restart", message));
        }
        let duration = self.duration.unwrap_or(DURATION);
        for (field, instant) in [("storm", self.storm), ("restart", self.restart)] {
            if let Some(instant) = instant.filter(|instant| *instant >= duration) {
                let message = format!(
                    "{instant} is not inside the measurement of {duration}; use an earlier instant, or a longer \
                     --duration"
                );
                return Err(Problem::new(field, message));
            }
        }
        Ok(Conduct { slow, away: self.away, storm: self.storm, restart: self.restart })
    }

    /// The spacing. Refuses a `rate` that is too high for it, or too low for the duration.
    fn spacing_of(
        &self,
        field: &'static str,
        rate: &Profile,
        usual: Spacing,
    ) -> Result<Spacing, Problem> {
        let spacing = self.spacing.unwrap_or(usual);
        if spacing == Spacing::Phases && usual != Spacing::Phases {
            return Err(Problem::new(
                "spacing",
                "phases belong to --bots; leave it out, or take poisson",
            ));
        }
        if spacing == Spacing::Poisson && rate.peak().per_second() > POISSON_RATE_MAX {
            return Err(Problem::new(
                field,
                format!(
                    "{rate} is more than --spacing poisson can draw, {POISSON_RATE_MAX}/s; ask for less, or for \
                     --spacing uniform"
                ),
            ));
        }
        // The second one; the first is due at once.
        let duration = self.duration.unwrap_or(DURATION);
        let Some(constant) = rate.constant() else { return Ok(spacing) };
        let second = constant.due(1);
        if second > duration {
            let what = if field == "sessions" { "session" } else { "message" };
            return Err(Problem::new(
                field,
                format!(
                    "at {rate} less than one {what} is due in {duration}; measure for a --duration of {second} at \
                     least, or more often"
                ),
            ));
        }
        Ok(spacing)
    }

    /// Warm-up, measurement and drain. A measurement that counts messages or clients has no warm-up by default.
    pub(super) fn phases(&self) -> Result<Phases, Problem> {
        let duration = some_time("duration", self.duration)?;
        let counted = [("messages", self.messages), ("clients", self.clients)];
        let counted = counted.into_iter().find_map(|(field, count)| Some((field, count?)));
        let stop = match counted {
            Some((field, _)) if duration.is_some() => {
                return Err(Problem::new(
                    field,
                    format!(
                        "a run ends after a --duration or after so many {field}; leave one out"
                    ),
                ));
            }
            Some((field, Count(count))) => {
                let count = NonZeroU64::new(count)
                    .ok_or_else(|| Problem::new(field, "must be at least 1"))?;
                if field == "messages" { Stop::Messages(count) } else { Stop::Clients(count) }
            }
            None => Stop::After(duration.unwrap_or(DURATION)),
        };
        let usual = if matches!(stop, Stop::After(_)) { SECOND } else { Nanos::ZERO };
        let warm_up = self.warm_up.unwrap_or(usual);
        Ok(Phases { warm_up, stop, drain: self.drain.unwrap_or(SECOND) })
    }
}

/// A load in rooms, for blocks that take `time`. Refuses one with more deliveries than can be kept apart: each receiver
/// has a bit for each message.
pub(crate) fn publish(
    (rooms, rate, spacing): (Rooms, Profile, Spacing),
    time: Nanos,
    timeout: Nanos,
    in_flight_max: Option<NonZeroU32>,
) -> Result<Load, Problem> {
    let whole = of_all_rooms(&rate, rooms)?;
    let each = u64::from(count_due(rate.peak(), time).get());
    let receivers = u64::from(rooms.count.get()) * u64::from(rooms.receivers.get());
    if each.saturating_mul(receivers) > DELIVERIES_MAX {
        let message = format!(
            "{receivers} receivers of {each} messages each are more deliveries than can be kept apart, {DELIVERIES_MAX}; \
             use fewer --receivers, a lower rate, or a shorter --duration"
        );
        return Err(Problem::new("publish", message));
    }
    let outstanding = in_flight_max
        .unwrap_or_else(|| outstanding_max(whole.peak(), timeout, rooms.all_publishers()));
    Ok(Load::Publish { rooms, rate, spacing, in_flight_max: outstanding })
}

/// The rate of all rooms together. Refuses too many connections and too high a rate.
fn of_all_rooms(rate: &Profile, rooms: Rooms) -> Result<Profile, Problem> {
    let max = Rooms::CONNECTIONS_MAX;
    if rooms.connections().get() > max {
        let each = rooms.publishers.saturating_add(rooms.receivers.get());
        let message = format!(
            "{} rooms of {each} connections are more than {max}; use fewer --rooms or --receivers",
            rooms.count
        );
        return Err(Problem::new("rooms", message));
    }
    rate.times(rooms.count).ok_or_else(|| {
        let message = format!(
            "{rate} in each of {} rooms is more than can be scheduled exactly; use fewer --rooms, or less",
            rooms.count
        );
        Problem::new("publish", message)
    })
}

/// Messages that would be outstanding if the server fell silent for the time-out of a reply: at least one for each
/// connection, and at most 1 Mi.
pub(crate) fn outstanding_max(rate: Rate, timeout: Nanos, connections: NonZeroU32) -> NonZeroU32 {
    count_due(rate, timeout).clamp(connections, OUTSTANDING_MAX.max(connections))
}

/// Messages that are due in `time`, rounded up.
fn count_due(rate: Rate, time: Nanos) -> NonZeroU32 {
    let count = u128::from(rate.count().get()) * u128::from(time.0);
    let count = count.div_ceil(u128::from(rate.per().0));
    NonZeroU32::new(u32::try_from(count).unwrap_or(u32::MAX)).unwrap_or(NonZeroU32::MIN)
}

const MILLION: u64 = 1_000_000;
const SECOND: Nanos = Nanos::from_secs(1);
const DURATION: Nanos = Nanos::from_secs(10);
const CONNECTIONS: NonZeroU32 = NonZeroU32::new(50).expect("it is not zero");
/// The default number of short-lived clients at the same time.
const CONCURRENCY: NonZeroU32 = NonZeroU32::new(10).expect("it is not zero");
/// The default number of receivers of a room.
const RECEIVERS: NonZeroU32 = NonZeroU32::new(10).expect("it is not zero");
/// The most deliveries of all rooms in a block: 512 MiB, with a bit for each.
const DELIVERIES_MAX: u64 = 1 << 32;
/// The most messages in flight on one connection.
const IN_FLIGHT_MAX: u32 = 65_536;
/// The highest rate of random arrivals; every arrival is drawn individually, sent or not.
const POISSON_RATE_MAX: f64 = 1e7;
/// The largest bound on outstanding messages that is chosen by default.
const OUTSTANDING_MAX: NonZeroU32 = NonZeroU32::new(1 << 20).expect("it is not zero");
