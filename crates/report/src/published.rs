//! What others published, beside what a record found: what holds, what does not, and what it would take to tell.
//!
//! Absolute numbers are of other machines and years; shapes and ratios compare. All that is said of ours is worked out
//! from the record.

use crate::figures::last_carried;
use crate::number;
use record::{Block, Knee, RunRecord, Split, Sweep, SweepStep};

/// A published statement, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) about: &'static str,
    pub(crate) published: &'static str,
    pub(crate) here: String,
    pub(crate) holds: Holds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    Yes,
    No,
    Partly,
    NotShown,
    /// It follows, whatever is measured.
    ByArithmetic,
}

impl Holds {
    /// In a word or two.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Yes => "holds",
            Self::No => "does not hold",
            Self::Partly => "holds in part",
            Self::NotShown => "not shown",
            Self::ByArithmetic => "by arithmetic",
        }
    }
}

/// Bytes of an event on a line, both directions, by how much of the way is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct EventBytes {
    pub(crate) payload: f64,
    pub(crate) encoded: f64,
    pub(crate) stream: f64,
    pub(crate) with_tcp_ip: Option<f64>,
    pub(crate) interface: Option<f64>,
}

/// The binary socket and WebSocket of the cubeia test (Firebase 1.7, 2010 to 2012); `None` without both.
pub(crate) fn cubeia(record: &RunRecord, sweep: &Sweep) -> Option<Vec<Finding>> {
    let pair = Pair::of(record, sweep)?;
    Some(vec![
        pair.knee(),
        pair.together(),
        pair.response(),
        pair.bandwidth(),
        pair.idle(),
        pair.closed_loop(),
    ])
}

/// What an event costs on each line at the last step that it carried.
pub(crate) fn event_bytes(record: &RunRecord, sweep: &Sweep) -> Vec<(String, EventBytes)> {
    let of = |(index, line): (usize, &record::SweepLine)| {
        Some((line.name.clone(), bytes(record, last_carried(sweep, index)?)?))
    };
    sweep.lines.iter().enumerate().filter_map(of).collect()
}

/// The two lines that the test compared.
struct Pair<'a> {
    record: &'a RunRecord,
    sweep: &'a Sweep,
    binary: usize,
    websocket: usize,
}

impl<'a> Pair<'a> {
    fn of(record: &'a RunRecord, sweep: &'a Sweep) -> Option<Self> {
        let line = |transports: [&str; 2]| {
            let step = sweep.steps.iter().find(|step| {
                let workload = record.plan.workloads.get(step.workload);
                workload.is_some_and(|workload| transports.contains(&workload.transport.as_str()))
            });
            step.map(|step| step.line).filter(|line| *line < sweep.lines.len())
        };
        let (binary, websocket) = (line(["game", "game-tls"])?, line(["game-ws", "game-wss"])?);
        Some(Self { record, sweep, binary, websocket })
    }

    fn knee(&self) -> Finding {
        let ends = |line: usize| match self.sweep.lines[line].knee {
            Knee::Found { low_per_s, high_per_s, .. } => (low_per_s, high_per_s),
            Knee::NotReached { offered_max_per_s, .. } => (offered_max_per_s, f64::INFINITY),
        };
        let (binary, websocket) = (ends(self.binary), ends(self.websocket));
        let (holds, order) = if websocket.1.min(binary.1).is_infinite() {
            (Holds::NotShown, "neither was reached")
        } else if websocket.1 < binary.0 {
            (Holds::Yes, "WebSocket gives way first")
        } else if websocket.0 > binary.1 {
            (Holds::No, "the binary socket gives way first")
        } else {
            (Holds::NotShown, "which of the two gives way first is not shown: the intervals meet")
        };
        let told = |line: usize| knee_words(&self.sweep.lines[line].knee);
        Finding {
            about: "The knee",
            published: "about 1500 events/s, where WebSocket begins to trail off",
            here: format!(
                "binary {}, WebSocket {}: {order}. How many events that is depends on the machine; the order does not.",
                told(self.binary),
                told(self.websocket)
            ),
            holds,
        }
    }

    fn together(&self) -> Finding {
        let difference = |(binary, websocket): &(&SweepStep, &SweepStep)| {
            (websocket.achieved_per_s.value / binary.achieved_per_s.value - 1.0).abs()
        };
        let pairs = self.carried_by_both();
        let worst = pairs.iter().map(difference).fold(0.0, f64::max);
        let (here, holds) = match pairs.len() {
            0 => ("no load was offered to both and carried by both".to_owned(), Holds::NotShown),
            count => (
                format!(
                    "at {count} loads that both carried they differ by {} at most. By the rule itself it cannot be \
                     much more: whoever carries a load misses less than 1 % of it.",
                    number::percent(worst)
                ),
                if worst <= 0.01 { Holds::Yes } else { Holds::No },
            ),
        };
        Finding {
            about: "Throughput below the knee",
            published: "within 1 % of each other",
            here,
            holds,
        }
    }

    fn response(&self) -> Finding {
        // More load does not make it shorter.
        let at_2000 = |line: usize| {
            let steps = self.sweep.steps.iter().filter(|step| step.line == line);
            steps
                .filter(|step| step.offered_per_s >= 1800.0)
                .min_by(|one, other| one.offered_per_s.total_cmp(&other.offered_per_s))
        };
        let mut told = Vec::new();
        let mut longest: Option<u64> = None;
        for line in [self.binary, self.websocket] {
            let times = at_2000(line).and_then(|step| Some((step, step.response.as_ref()?)));
            let Some((step, times)) = times else { continue };
            let time =
                |ns: Option<u64>| ns.map_or_else(|| number::MISSING.to_owned(), number::nanos);
            told.push(format!(
                "{} at {}: p50 {}, p99 {}, mean {}",
                self.sweep.lines[line].name,
                number::per_second(step.offered_per_s),
                time(times.p50_ns),
                time(times.p99_ns),
                number::time(times.mean_ns)
            ));
            longest = longest.max(times.p99_ns.or(Some(times.max_ns)));
        }
        let (here, holds) = match (longest, told.len()) {
            (Some(longest), 2) => (
                format!(
                    "{}. Ours count from when an event was due, and the percentile is beside the mean that hides it.",
                    told.join("; ")
                ),
                if longest < 60_000_000 { Holds::Yes } else { Holds::Partly },
            ),
            _ => ("no step of 2000 events/s or more on both lines".to_owned(), Holds::NotShown),
        };
        Finding {
            about: "Response time",
            published: "well under 60 ms at 2000 events/s",
            here,
            holds,
        }
    }

    fn bandwidth(&self) -> Finding {
        let published = "WebSocket takes about 20 % more";
        let about = "Bandwidth";
        let pairs = self.carried_by_both();
        let known = |(binary, websocket): &(&SweepStep, &SweepStep)| {
            let rate = binary.offered_per_s;
            Some((bytes(self.record, binary)?, bytes(self.record, websocket)?, rate))
        };
        // At loads such as theirs: the more load, the more events share a segment.
        let distance =
            |pair: &&(&SweepStep, &SweepStep)| (pair.0.offered_per_s / 1500.0).ln().abs();
        let near = pairs.iter().min_by(|one, other| distance(one).total_cmp(&distance(other)));
        let Some((binary, websocket, rate)) = near.and_then(known) else {
            let here = "bytes by layer are not known at a load that both carried".to_owned();
            return Finding { about, published, here, holds: Holds::NotShown };
        };
        let most = pairs.last().and_then(known).filter(|(_, _, most)| *most > rate * 1.001);
        let at_most = most.and_then(|(binary, websocket, rate)| {
            let more = websocket.with_tcp_ip? / binary.with_tcp_ip? - 1.0;
            Some(format!(
                " At {}, where more events share a segment, the stream with TCP and IP is {}.",
                number::per_second(rate),
                signed(more)
            ))
        });
        let more = |of: fn(&EventBytes) -> Option<f64>| Some(of(&websocket)? / of(&binary)? - 1.0);
        let all = [
            ("payload", more(|bytes| Some(bytes.payload))),
            ("encoded messages (packets or JSON)", more(|bytes| Some(bytes.encoded))),
            ("the stream, framing included", more(|bytes| Some(bytes.stream))),
            ("the stream with TCP and IP as estimated", more(|bytes| bytes.with_tcp_ip)),
            ("what the interface counted", more(|bytes| bytes.interface)),
        ];
        let known = || all.iter().filter_map(|(name, more)| Some((*name, (*more)?)));
        let told: Vec<String> =
            known().map(|(name, more)| format!("{name} {}", signed(more))).collect();
        let near: Vec<&str> =
            known().filter(|(_, more)| (0.1..=0.3).contains(more)).map(|(name, _)| name).collect();
        let verdict = match near.as_slice() {
            [] => "About 20 % is none of them.".to_owned(),
            names => {
                format!("About 20 % is true of {}, and of nothing else.", names.join(" and of "))
            }
        };
        let wire = |name: &&str| name.contains("TCP") || name.contains("interface");
        let holds = match near.as_slice() {
            [] => Holds::No,
            names if names.iter().any(wire) => Holds::Yes,
            _ => Holds::Partly,
        };
        Finding {
            about,
            published,
            here: format!(
                "an event at {} costs WebSocket more by: {}. {verdict}{}",
                number::per_second(rate),
                told.join(", "),
                at_most.unwrap_or_default()
            ),
            holds,
        }
    }

    fn idle(&self) -> Finding {
        let published = "falls in parallel for both";
        let about = "CPU idle";
        let pairs = self.carried_by_both();
        let slope_of = |pick: fn(&(&'a SweepStep, &'a SweepStep)) -> &'a SweepStep| {
            let steps = pairs.iter().map(pick);
            slope(
                steps
                    .filter_map(|step| Some((step.offered_per_s, step.machine_idle_fraction?)))
                    .collect(),
            )
        };
        let slopes = slope_of(|pair| pair.0)
            .zip(slope_of(|pair| pair.1))
            .filter(|(binary, _)| *binary < 0.0);
        let Some((binary, websocket)) = slopes else {
            let here = "too few loads that both carried, or CPU idle is not known".to_owned();
            return Finding { about, published, here, holds: Holds::NotShown };
        };
        let (ratio, points) =
            (websocket / binary, |slope: f64| number::three(-slope * 1000.0 * 100.0));
        Finding {
            about,
            published,
            here: format!(
                "for each 1000 events/s it falls by {} points on the binary socket and by {} on WebSocket: {} as fast. \
                 Generator and server share this machine, and both are in it.",
                points(binary),
                points(websocket),
                number::ratio(ratio, None)
            ),
            holds: if (0.9..=1.1).contains(&ratio) { Holds::Yes } else { Holds::No },
        }
    }

    fn closed_loop(&self) -> Finding {
        let off = |ns: f64| ns / (1e9 + ns);
        let step = last_carried(self.sweep, self.websocket);
        let mean = step.and_then(|step| Some((step, step.response.as_ref()?.mean_ns)));
        let ours = mean.map_or_else(String::new, |(step, mean)| {
            format!(
                " Here, WebSocket at {}, its last step below the knee, a mean of {} would take off {}.",
                number::per_second(step.offered_per_s),
                number::time(mean),
                number::percent(off(mean))
            )
        });
        Finding {
            about: "What the closed loop takes off by itself",
            published: "1 % missing is the knee; each bot waits 1000 ms after a reply",
            here: format!(
                "a bot that waits for its reply sends each R + 1000 ms, so a response time R alone takes R / (1000 ms + R) \
                 off the theoretical maximum: 1 % at 10.1 ms, {} at the published 60 ms, with no server overloaded.{ours}",
                number::percent(off(60e6))
            ),
            holds: Holds::ByArithmetic,
        }
    }

    /// Steps of both lines at the same load, below both knees, by load.
    fn carried_by_both(&self) -> Vec<(&'a SweepStep, &'a SweepStep)> {
        let bound = |line| last_carried(self.sweep, line).map_or(0.0, |step| step.offered_per_s);
        let bound = bound(self.binary).min(bound(self.websocket)) * 1.000_001;
        let of = |line: usize| self.sweep.steps.iter().filter(move |step| step.line == line);
        let same = |one: &SweepStep, other: &SweepStep| {
            (one.offered_per_s / other.offered_per_s - 1.0).abs() < 0.001
        };
        let mut pairs: Vec<_> = of(self.binary)
            .filter(|step| step.offered_per_s <= bound)
            .filter_map(|step| Some((step, of(self.websocket).find(|other| same(step, other))?)))
            .collect();
        pairs.sort_by(|(one, _), (other, _)| one.offered_per_s.total_cmp(&other.offered_per_s));
        pairs
    }
}

/// `2.10 k/s [2.08 k/s, 2.12 k/s]`, or that there was none.
pub(crate) fn knee_words(knee: &Knee) -> String {
    match knee {
        Knee::Found { offered_per_s, low_per_s, high_per_s } => {
            let [at, low, high] = [*offered_per_s, *low_per_s, *high_per_s].map(number::per_second);
            format!("{at} [{low}, {high}]")
        }
        Knee::NotReached { offered_max_per_s, .. } => {
            format!("above {}", number::per_second(*offered_max_per_s))
        }
    }
}

/// What an event costs at `step`: bytes of its blocks by their replies.
fn bytes(record: &RunRecord, step: &SweepStep) -> Option<EventBytes> {
    let blocks: Vec<&Block> =
        step.blocks.iter().filter_map(|index| record.blocks.get(*index)).collect();
    let seconds = |block: &Block| number::float(block.measured_ns) / 1e9;
    let replies: f64 = blocks.iter().map(|block| block.messages_per_s * seconds(block)).sum();
    let splits: Option<Vec<[Split; 2]>> =
        blocks.iter().map(|block| Some([block.wire.sent?, block.wire.received?])).collect();
    let splits = splits.filter(|all| !all.is_empty() && replies > 0.0)?.concat();
    let sum = |of: fn(&Split) -> f64| splits.iter().map(of).sum::<f64>() / replies;
    let payload = sum(|split| number::float(split.payload_bytes));
    let encoded = payload + sum(|split| signed_float(split.encoding_bytes));
    let stream =
        encoded + sum(|split| number::float(split.framing_bytes.saturating_add(split.tls_bytes)));
    let is_known = splits.iter().all(|split| split.tcp_ip_estimated_bytes.is_some());
    let tcp_ip = sum(|split| number::float(split.tcp_ip_estimated_bytes.unwrap_or(0)));
    Some(EventBytes {
        payload,
        encoded,
        stream,
        with_tcp_ip: is_known.then_some(stream + tcp_ip),
        interface: step.interface_bytes_per_s.map(|rate| rate / step.achieved_per_s.value),
    })
}

fn signed_float(value: i64) -> f64 {
    let size = number::float(value.unsigned_abs());
    if value < 0 { -size } else { size }
}

/// `+19.7 %`, `0 %`.
fn signed(fraction: f64) -> String {
    if fraction.abs() < 0.000_5 {
        return "0 %".to_owned();
    }
    let sign = if fraction > 0.0 { "+" } else { "" };
    format!("{sign}{}", number::percent(fraction))
}

/// By least squares; `None` of fewer than three points, or of one x.
fn slope(points: Vec<(f64, f64)>) -> Option<f64> {
    let count = number::float(u64::try_from(points.len()).ok()?);
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
    let (mut both, mut square) = (0.0, 0.0);
    for (x, y) in &points {
        both += (x - x_mean) * (y - y_mean);
        square += (x - x_mean).powi(2);
    }
    (points.len() >= 3 && square > 0.0).then(|| both / square)
}
