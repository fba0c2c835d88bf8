//! A made-up sweep: three lines that bend at different loads. None of its numbers was measured.

use crate::records;
use record::{
    Block, Capacity, Claim, ClaimMeasure, Cpu, Environment, Estimate, Kind, Knee, Level, OpenLoop,
    Published, Reason, RunRecord, Split, Summary, Sweep, SweepLine, SweepOf, SweepStep, Verdict,
    Wire, Workload,
};
use stats::Histogram;
use units::Nanos;

/// A record that the preset of the cubeia test could have left.
pub(crate) fn cubeia() -> RunRecord {
    let mut record = records::open();
    (record.plan.workloads, record.plan.rounds) = (Vec::new(), Vec::new());
    (record.blocks, record.results) = (Vec::new(), Vec::new());
    record.kind = Kind::Sweep;
    let mut steps = Vec::new();
    for (line, model) in LINES.iter().enumerate() {
        for offered in loads(model) {
            steps.push(step(&mut record, line, model, offered));
        }
    }
    record.plan.rounds = vec![(0..record.plan.workloads.len()).collect(); 2];
    record.sweep = Some(Sweep {
        of: SweepOf::Bots,
        preset: Some("cubeia".to_owned()),
        published: Some(published()),
        slo: Some("p99 < 50ms".to_owned()),
        lines: LINES.iter().map(line).collect(),
        steps,
    });
    record.environment = Environment {
        os: Some("Made up".to_owned()),
        cpu_model: Some("no processor: these numbers were made up".to_owned()),
        cpus_online: Some(2),
        missing: [("governor".to_owned(), "this kernel does not say".to_owned())].into(),
        ..Environment::default()
    };
    record.command_line = ["sweep", "--preset", "cubeia"].map(str::to_owned).into();
    record.verdict = Some(Verdict {
        level: Level::Degraded,
        reasons: vec![Reason {
            code: "shared_cores".to_owned(),
            level: Level::Degraded,
            workload: None,
            message: "generator and server share cores".to_owned(),
            evidence: "2 CPUs for 3 parties".to_owned(),
            advice: "more CPUs, or fewer threads".to_owned(),
            ..Reason::default()
        }],
        ..Verdict::default()
    });
    record.conclusion = Some(
        "Made up: binary carries 24.0 k/s, WebSocket 15.2 k/s, Comet 5.10 k/s before 1 % is missing."
            .to_owned(),
    );
    record
}

/// The statements of the cubeia test, as in its experiment.
fn published() -> Published {
    let claim = |about: &str, published: &str, measure| Claim {
        about: about.to_owned(),
        published: published.to_owned(),
        measure,
        line: "WebSocket".to_owned(),
        to: Some("binary".to_owned()),
        ..Claim::default()
    };
    let claims = vec![
        Claim {
            max: Some(1.0),
            note: Some("How many events that is depends on the machine.".to_owned()),
            ..claim("The knee", "about 1500 events/s", ClaimMeasure::Knee)
        },
        Claim {
            max: Some(0.01),
            ..claim("Throughput", "within 1 % of each other", ClaimMeasure::Throughput)
        },
        Claim {
            at_per_s: Some(2000.0),
            max: Some(60.0),
            ..claim("Response time", "well under 60 ms at 2000 events/s", ClaimMeasure::Response)
        },
        Claim {
            at_per_s: Some(1500.0),
            min: Some(1.1),
            max: Some(1.3),
            ..claim("Bandwidth", "WebSocket takes about 20 % more", ClaimMeasure::Bytes)
        },
        Claim {
            min: Some(0.9),
            max: Some(1.1),
            ..claim("CPU idle", "falls in parallel for both", ClaimMeasure::Idle)
        },
        Claim {
            to: None,
            pause_ms: Some(1000.0),
            ..claim("The closed loop", "1 % missing is the knee", ClaimMeasure::ClosedLoop)
        },
        Claim {
            line: "carrier pigeon".to_owned(),
            ..claim("Pigeons", "are slower", ClaimMeasure::Knee)
        },
    ];
    Published { source: "Cubeia, made up".to_owned(), claims, ..Published::default() }
}

/// The made-up behaviour of a line: its knee, its latency and the bytes that it adds.
struct Model {
    name: &'static str,
    transport: &'static str,
    knee: f64,
    base_ns: f64,
    /// The bytes that encoding, framing, and TCP and IP together add to an event.
    adds: [u64; 3],
}

const LINES: [Model; 3] = [
    Model { name: "binary", transport: "game", knee: 24_000.0, base_ns: 180e3, adds: [90, 0, 624] },
    Model {
        name: "WebSocket",
        transport: "game-ws",
        knee: 15_200.0,
        base_ns: 260e3,
        adds: [330, 28, 624],
    },
    Model {
        name: "Comet",
        transport: "game-comet",
        knee: 5_100.0,
        base_ns: 900e3,
        adds: [420, 1900, 1560],
    },
];

fn loads(model: &Model) -> Vec<f64> {
    let mut all: Vec<f64> = [
        100.0, 200.0, 500.0, 1000.0, 2000.0, 4000.0, 8000.0, 12_000.0, 16_000.0, 20_000.0,
        26_000.0, 30_000.0,
    ]
    .into_iter()
    .filter(|load| *load < model.knee * 1.5)
    .chain([0.96, 0.99, 1.01, 1.05].map(|share| model.knee * share))
    .collect();
    all.sort_by(f64::total_cmp);
    all
}

fn line(model: &Model) -> SweepLine {
    SweepLine {
        name: model.name.to_owned(),
        knee: Knee::Found {
            offered_per_s: model.knee,
            low_per_s: model.knee * 0.99,
            high_per_s: model.knee * 1.01,
            confirmed: true,
        },
        level: Level::Trusted,
        capacity: Some(Capacity {
            offered_per_s: model.knee * 0.96,
            low_per_s: model.knee * 0.96,
            high_per_s: Some(model.knee * 0.99),
            confirmed: true,
            level: Level::Trusted,
        }),
        ran_out: "CPU of the server: 0.98 of the one core it may use".to_owned(),
    }
}

/// A step; adds its workload and blocks to `record`.
fn step(record: &mut RunRecord, line: usize, model: &Model, offered: f64) -> SweepStep {
    let example = records::open();
    let workload = record.plan.workloads.len();
    let mut offers = Workload {
        target: format!("{}://127.0.0.1:4123", model.transport),
        transport: model.transport.to_owned(),
        ..example.plan.workloads[0].clone()
    };
    offers.spec.name = format!("{} {offered:.0}/s", model.name);
    offers.spec.load = records::every_second(50);
    record.plan.workloads.push(offers);
    let load = offered / model.knee;
    let achieved =
        if load > 1.0 { model.knee * (0.985 - 0.02 * (load - 1.0)) } else { offered * 0.9995 };
    let times = times(model.base_ns, load);
    let first = record.blocks.len();
    for round in 0..2 {
        record.blocks.push(block(&example.blocks[0], (workload, round), model, (achieved, &times)));
    }
    let share = load.min(1.0);
    let [payload, encoding, framing] = [160.0, float(model.adds[0]), float(model.adds[1])];
    SweepStep {
        line,
        workload,
        blocks: vec![first, first + 1],
        offered_per_s: offered,
        bots: 4000,
        achieved_per_s: estimate(achieved, 0.004),
        achieved_fraction: estimate((achieved / offered).min(1.0), 0.004),
        blocks_kept: Some(if achieved / offered < 0.99 { 0 } else { 2 }),
        blocks_within: Some(if offered < 0.985 * model.knee { 2 } else { 0 }),
        last_1000_mean_ms: Some(if load > 1.0 {
            400
        } else if load > 0.9 {
            9
        } else {
            1
        }),
        response: times,
        machine_idle_fraction: Some(0.96 - 0.86 * share),
        server_cores_used: Some(0.02 + 0.98 * share),
        generator_cores_used: Some(0.03 + 0.6 * share),
        payload_bytes_per_s: Some(achieved * payload),
        stream_bytes_per_s: Some(achieved * (payload + encoding + framing)),
        interface_bytes_per_s: Some(
            achieved * (payload + encoding + framing + float(model.adds[2])) + 2000.0,
        ),
        server_memory_bytes: Some(24 << 20),
        server_machine: None,
        level: Level::Degraded,
    }
}

fn block(
    example: &Block,
    (workload, round): (usize, usize),
    model: &Model,
    (achieved, times): (f64, &Option<Summary>),
) -> Block {
    let [encoding, framing, tcp_ip] = model.adds;
    // The same number of events for every load: enough for a made-up record.
    let events = 10_000;
    let split = Split {
        payload_bytes: 80 * events,
        encoding_bytes: (encoding * events / 2).cast_signed(),
        framing_bytes: framing * events / 2,
        tls_bytes: 0,
        tcp_ip_estimated_bytes: Some(tcp_ip * events / 2),
    };
    Block {
        workload,
        round,
        messages_per_s: achieved,
        measured_ns: duration(achieved),
        open_loop: Some(OpenLoop { response: times.clone(), ..OpenLoop::default() }),
        cpu: Cpu {
            missing: [("others_cores_used".to_owned(), "made up".to_owned())].into(),
            ..Cpu::default()
        },
        wire: Wire { sent: Some(split), received: Some(split), ..Wire::default() },
        ..example.clone()
    }
}

/// The time in nanoseconds in which ten thousand events are answered.
fn duration(achieved: f64) -> u64 {
    Nanos::from_secs(10_000).0 / format!("{achieved:.0}").parse::<u64>().unwrap_or(1)
}

/// Twenty thousand times whose tail grows with the load.
fn times(base_ns: f64, load: f64) -> Option<Summary> {
    let mut histogram = Histogram::new();
    let stretch = if load >= 1.0 { 400.0 } else { 1.0 / (1.0 - load * 0.98) };
    for index in 0..20_000_u32 {
        let beyond = 1.0 - f64::from(index) / 20_000.0;
        let time = base_ns * (0.7 + 0.3 * stretch * (1.0 - beyond.ln()) / 2.0);
        histogram.record(Nanos(format!("{time:.0}").parse().unwrap_or(0)));
    }
    Summary::of(&histogram)
}

fn estimate(value: f64, half: f64) -> Estimate {
    Estimate { value, low: Some(value * (1.0 - half)), high: Some(value * (1.0 + half)) }
}

fn float(value: u64) -> f64 {
    u32::try_from(value).map_or(f64::NAN, f64::from)
}
