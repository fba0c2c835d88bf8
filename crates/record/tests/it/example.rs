//! A record in which everything is filled in.

use record::{
    Added, AgentPart, AgentTask, Block, Capacity, Certificate, Check, Claim, ClaimMeasure, Class,
    ClientReport, Comparison, Connections, Container, ContextSwitches, Counts, Cpu, Deliveries,
    DeliveryCounts, DeliveryEnds, DeliverySecond, Ended, Environment, ErrorCount, Estimate,
    Exchange, Fairness, Footprint, GoogleBenchmark, Identity, IdsFound, Interface, Kind, Knee, Lab,
    Layer, LeftOut, Level, Limits, Little, Memory, MemoryBefore, Missing, Neighbours, Number,
    OpenLoop, PartEnd, Parts, PayloadKind, PerMetric, Phases, Pinning, Plan, Process, Published,
    PublishedRow, PushCount, Pushed, Reason, Restart, RowVerdict, RunRecord, SCHEMA_VERSION,
    Sample, Second, ServerMachine, Sessions, SocketBuffer, Spacing, Split, Stall, Stalls, Subject,
    Summary, Sweep, SweepLine, SweepOf, SweepStep, TabDeliveries, TcpEvents, TimerFloor, TlsSeen,
    Tool, Verdict, View, WarmUp, Warning, Whole, Wire, Workload, WorkloadResult,
};
use spec::{Content, Expect, Header, Http, Load, Message, Server, Stop, Timeouts, Tls, Trust};
use stats::Histogram;
use std::num::NonZeroU32;
use units::{Bytes, Nanos};

pub(crate) fn record() -> RunRecord {
    RunRecord {
        schema_version: SCHEMA_VERSION,
        tool: Tool {
            name: "wirebench".into(),
            version: "0.1.0".into(),
            commit: Some("9f1795b".into()),
        },
        command_line: vec!["run".into(), "ws://127.0.0.1:8080".into()],
        started_at: "2026-11-08T10:20:30Z".into(),
        duration_ns: 12_345_678_901,
        kind: Kind::Run,
        ended: Ended::Interrupted { signal: 2 },
        environment: environment(),
        repository: Some("1f0c3a9e5b7d2468".into()),
        spec: None,
        plan: Plan {
            workloads: vec![workload("tcp", bots(Nanos::from_secs(1))), workload("ws", clients(5))],
            rounds: vec![vec![0, 1], vec![1, 0]],
            baseline: Some(0),
            layers: vec![Layer { workload: 1, base: 0, name: "framing".into() }],
            seed: 7,
        },
        blocks: vec![block(0), block(1), failed_block(0)],
        results: vec![result(0, None), result(1, Some(per_metric(comparison())))],
        added: vec![Added {
            workload: 1,
            base: 0,
            layer: "framing".into(),
            round_trip_p50_ns: Some(Estimate { value: 3100.0, low: Some(2900.0), high: None }),
            cpu_us_per_message: Some(Estimate { value: -0.1, low: Some(-0.2), high: Some(0.1) }),
            sent_bytes_per_message: Some(6.0),
            received_bytes_per_message: Some(-2.0),
        }],
        precision: Vec::new(),
        drifts: Vec::new(),
        against: None,
        requirements: Vec::new(),
        sides: None,
        sweep: Some(sweep()),
        lab: Some(lab()),
        verdict: Some(Verdict {
            level: Level::Degraded,
            rows: vec![
                RowVerdict::default(),
                RowVerdict {
                    level: Level::Trusted,
                    numbers: [(Number::P99, Level::Degraded)].into(),
                },
            ],
            reasons: vec![Reason {
                code: "shared_cores".into(),
                level: Level::Degraded,
                workload: Some(1),
                numbers: [(Number::P99, Level::Degraded)].into(),
                message: "generator and server share a core".into(),
                evidence: "1 CPU allowed".into(),
                advice: "run on a machine with two cores".into(),
            }],
        }),
        warnings: vec![Warning {
            code: "address_fallback".into(),
            message: "the name resolves first to an address that does not answer".into(),
            evidence: "[::1]:8080: connection refused".into(),
            advice: "name the address in the URL".into(),
        }],
        conclusion: Some("On this machine WebSocket costs 1.06x [1.04, 1.08] of bare TCP.".into()),
    }
}

/// A thousand round trips of 1 to 20 us: enough for p99, too few for p99.9.
pub(crate) fn histogram() -> Histogram {
    let mut histogram = Histogram::new();
    (0..1000).for_each(|index| histogram.record(Nanos::from_micros(1 + index % 20)));
    histogram
}

fn environment() -> Environment {
    let buffer =
        Some(SocketBuffer { min_bytes: 4096, default_bytes: 131_072, max_bytes: 6_291_456 });
    Environment {
        os: Some("Debian GNU/Linux 12".into()),
        kernel: Some("6.1.0".into()),
        cpu_model: Some("A processor".into()),
        cpus_online: Some(2),
        cpus_allowed: vec![0, 1],
        cores_allowed: vec![vec![0], vec![1]],
        smt: Some(false),
        governor: None,
        hypervisor: Some("KVM".into()),
        mitigations: vec!["spectre_v2".into()],
        clock_source: Some("tsc".into()),
        timer_tick_hz: Some(250),
        timer_slack_ns: Some(1),
        timer_floor: Some(TimerFloor {
            asked_ns: 100_000,
            overshoot_p50_ns: 16_000,
            overshoot_p99_ns: 70_000,
        }),
        congestion_control: Some("bbr".into()),
        limits: Limits {
            open_files_soft: Some(20_000),
            open_files_hard: Some(20_000),
            somaxconn: Some(4096),
            port_first: Some(32_768),
            port_last: Some(60_999),
            tcp_tw_reuse: Some(2),
            receive_buffer: buffer,
            send_buffer: buffer,
        },
        memory_total_bytes: Some(8 << 30),
        memory_available_bytes: Some(6 << 30),
        container: Some(Container {
            kind: Some("docker".into()),
            cpu_cores_max: Some(1.5),
            memory_max_bytes: Some(2 << 30),
        }),
        steal_before_fraction: Some(0.002),
        steal_during_fraction: Some(0.003),
        selftest: Some(Certificate {
            at: "2026-11-08T09:00:00Z".into(),
            version: "0.1.0".into(),
            boot_id: "5f3c".into(),
            passed: true,
            checks: vec![Check {
                code: "stalled_server".into(),
                passed: true,
                evidence: "p99 1.81 s, true 1.81 s".into(),
            }],
            round_trip_floor_ns: Some(21_000),
            messages_per_s_max: Some(300_000),
        }),
        versions: [("rustc".to_owned(), "1.95.0".to_owned())].into(),
        missing: [("governor".to_owned(), "no cpufreq on this machine".to_owned())].into(),
    }
}

fn workload(name: &str, load: Load) -> Workload {
    let server = Server::Given("ws://127.0.0.1:8080/echo".parse().expect("a URL"));
    Workload {
        spec: spec::Workload {
            connect_rate: Some("500/s".parse().expect("a rate")),
            message: Message {
                text: false,
                content: Content::Generated {
                    kind: PayloadKind::Random,
                    size: Bytes(64),
                    varied: false,
                },
            },
            expect: Expect::Echo,
            phases: spec::Phases {
                warm_up: Nanos::from_millis(200),
                stop: Stop::After(Nanos::from_secs(1)),
                drain: Nanos::from_secs(1),
            },
            timeouts: Timeouts::all(Nanos::from_secs(5)),
            sources: vec!["127.0.0.2".parse().expect("an address")],
            http: Http {
                method: "POST".into(),
                headers: vec![Header { name: "Authorization".into(), value: None }],
                statuses: vec!["2xx".parse().expect("a class")],
                redirects: 3,
            },
            subprotocols: vec!["chat".into()],
            deflate: Some("client_max_window_bits, level=6".into()),
            tls: Some(Tls {
                versions: vec!["1.3".into()],
                suites: vec!["TLS13_AES_128_GCM_SHA256".into()],
                resumption: true,
                alpn: vec!["http/1.1".into()],
                trust: Trust::System,
                server_name: None,
                identity: None,
            }),
            seed: 7,
            baseline: Some(0),
            ..spec::Workload::new(name, server, load)
        },
        target: "ws://127.0.0.1:8080/echo".into(),
        transport: name.into(),
        size_bytes: 64,
        source_addresses: vec!["127.0.0.2".into()],
        pinning: Pinning { generator_cpus: vec![0], server_cpus: vec![1] },
        server: Some(subject("node-ws")),
        found: Some("an echo: the first 64 B came back as sent".into()),
        processes: vec![Process { pid: 4711, name: "node".into() }],
        client: Some(subject("cpp-beast")),
    }
}

/// A closed loop over that many connections, each with one message in flight.
pub(crate) fn closed(connections: u32) -> Load {
    let connections = NonZeroU32::new(connections).expect("at least one");
    Load::Closed { connections, in_flight: NonZeroU32::MIN, in_flight_max: None }
}

/// 50 clients at a time, each with that many round trips.
pub(crate) fn clients(round_trips: u32) -> Load {
    Load::Clients {
        concurrency: NonZeroU32::new(50).expect("it is not zero"),
        round_trips: NonZeroU32::new(round_trips).expect("at least one"),
        in_flight: NonZeroU32::MIN,
        in_flight_max: None,
    }
}

/// A rate over 50 connections.
pub(crate) fn open(rate: &str, spacing: Spacing) -> Load {
    Load::Open {
        connections: NonZeroU32::new(50).expect("it is not zero"),
        rate: rate.parse().expect("a rate"),
        spacing,
        in_flight_max: NonZeroU32::new(1000).expect("it is not zero"),
    }
}

/// 50 bots that send at equal intervals.
pub(crate) fn bots(every: Nanos) -> Load {
    Load::Bots {
        bots: NonZeroU32::new(50).expect("it is not zero"),
        every,
        spacing: Spacing::Uniform,
        in_flight_max: NonZeroU32::new(40).expect("it is not zero"),
    }
}

fn block(workload: usize) -> Block {
    let times = Summary::of(&histogram());
    Block {
        workload,
        round: 0,
        started_at_ns: 1_500_000_000,
        measured_ns: 1_000_000_000,
        failed: None,
        cut_short: None,
        rate_changes: Vec::new(),
        restart: Some(Restart { at_ns: 2_000_000_000, ready_after_ns: 40_000_000 }),
        counts: Counts {
            planned: 1011,
            sent: 1006,
            unsent: 5,
            ok: 1000,
            error: 2,
            refused: 1,
            timed_out: 2,
            in_flight_at_end: 1,
            redirects: 12,
        },
        warm_up: Some(Counts {
            planned: 100,
            sent: 100,
            ok: 99,
            timed_out: 1,
            ..Counts::default()
        }),
        connections: Connections {
            asked: 50,
            started: 51,
            opened: 49,
            failed: 1,
            lost: 1,
            reconnects: 1,
        },
        tls: Some(tls_seen()),
        errors: vec![ErrorCount {
            class: "connect_refused".into(),
            count: 1,
            example: "connection refused".into(),
        }],
        phases: Phases {
            resolve: times.clone(),
            before: times.clone(),
            connect: times.clone(),
            tls_full: times.clone(),
            tls_resumed: times.clone(),
            handshake: times.clone(),
            first_reply: times.clone(),
            close: times.clone(),
            life: times.clone(),
        },
        round_trip: times.clone(),
        open_loop: Some(OpenLoop {
            response: times.clone(),
            service: times.clone(),
            send_lag: times.clone(),
            own_share: times.clone(),
            true_delay: times.clone(),
            sessions: Some(Sessions { planned: 50, started: 49, completed: 40 }),
        }),
        stalls: Stalls {
            count: 1,
            longest_ns: 20_000_000,
            total_ns: 20_000_000,
            affected: 20,
            first: vec![Stall { at_ns: 500_000_000, duration_ns: 20_000_000, affected: 20 }],
        },
        refused: times.clone(),
        exchanges: vec![Exchange {
            name: "ask".to_owned(),
            no_reply: false,
            counts: Counts { planned: 1000, sent: 1000, ok: 999, refused: 1, ..Counts::default() },
            service: times.clone(),
            response: times.clone(),
            refused: times.clone(),
            parts: Some(Parts {
                count: 2,
                first: times.clone(),
                between: times.clone(),
                per_s: Some(20.0),
                resumed: 1,
            }),
        }],
        pushes: vec![PushCount {
            name: "said".to_owned(),
            count: 3,
            payload_bytes: 60,
            delivery: times.clone(),
        }],
        deliveries: Some(Deliveries {
            counts: DeliveryCounts {
                published: 10,
                owed: 1006,
                delivered: 1000,
                lost: 2,
                cut: 3,
                in_flight_at_end: 1,
                duplicate: 4,
                reordered: 5,
                early: 6,
                foreign: 7,
                incomplete: 3,
                slow: ends(10, [5, 1, 3, 1]),
                away: ends(7, [4, 3, 0, 0]),
                edge: ends(3, [2, 1, 0, 0]),
                absences: 8,
                torn_off: 9,
                recovered: 8,
                attempts: 18,
                restored: 7,
                caught_up: 30,
                unacknowledged: 2,
            },
            first: times.clone(),
            median: times.clone(),
            last: times.clone(),
            spread: times.clone(),
            replayed: times.clone(),
            returned: times.clone(),
            recovered: times.clone(),
            missed: vec![0, 9, 7],
            seconds: vec![
                DeliverySecond {
                    messages: 20,
                    first_mean_ns: Some(900_000.5),
                    last_mean_ns: Some(2_100_000.0),
                },
                DeliverySecond::default(),
            ],
            clock_bound_ns: Some(128_000),
        }),
        tabs: Some(TabDeliveries {
            tabs: 10,
            transport: "xhr-streaming".to_owned(),
            counts: ends(100, [94, 3, 2, 1]),
            duplicate: 1,
            reordered: 2,
            foreign: 3,
            delivery: times,
            clock_offset_ns: -410_000,
            clock_bound_ns: 96_000,
        }),
        ids_found: Some(IdsFound { learnt: 990, scanned: 9, parsed: 1 }),
        identity: Some(Identity { lost: 1, duplicate: 2, reordered: 3, corrupted: 4 }),
        fairness: Some(Fairness { connections: 50, replies_min: 18, replies_median: 20 }),
        pushed: Some(Pushed {
            deliveries: 40,
            notices: 3,
            unexpected: 0,
            payload_bytes: 40 * 18 + 3 * 20,
            whole: Whole { events: 12, replies: 12, deliveries: 48 },
        }),
        last_1000_mean_ms: Some(1),
        last_1000_mean_ns: Some(1_250_000),
        messages_per_s: 1000.0,
        cpu: Cpu {
            generator_us_per_message: Some(5.1),
            server_us_per_message: None,
            generator_cores_used: Some(0.98),
            server_cores_used: None,
            others_cores_used: Some(0.05),
            looking_cores_used: Some(0.031),
            busiest_worker_fraction: Some(0.98),
            machine_idle_fraction: Some(0.01),
            missing: [("server_us_per_message".to_owned(), "the server is not ours".to_owned())]
                .into(),
        },
        neighbours: Neighbours {
            steal_fraction: Some(0.001),
            generator_wait_fraction: Some(0.002),
            server_wait_fraction: None,
            pressure_fraction: Some(0.01),
            missing: [("server_wait_fraction".to_owned(), "the server is not ours".to_owned())]
                .into(),
        },
        wire: Wire {
            sent_bytes: 70_000,
            received_bytes: 66_000,
            sent_bytes_per_message: Some(70.0),
            received_bytes_per_message: Some(66.0),
            sent: Some(split(6_000)),
            received: Some(Split { tcp_ip_estimated_bytes: None, ..split(2_000) }),
            requests: Some(0),
            compression_ratio: Some(1.52),
            missing: [("tcp_ip_estimated_bytes".to_owned(), "no segments".to_owned())].into(),
        },
        tcp: Some(TcpEvents {
            delayed_acks: Some(2),
            retransmitted_segments: Some(1),
            retransmitted_syns: None,
        }),
        context_switches: ContextSwitches {
            generator_voluntary: Some(9),
            generator_involuntary: Some(2),
            server_voluntary: None,
            server_involuntary: None,
            missing: [("server_voluntary".to_owned(), "the server is not ours".to_owned())].into(),
        },
        little: Little::Checked {
            expected_in_flight: 50.0,
            measured_in_flight: 49.5,
            deviation_fraction: -0.01,
            holds: true,
        },
        series: vec![Second {
            at_ns: 0,
            duration_ns: 1_000_000_000,
            sent: 1006,
            ok: 1000,
            error: 2,
            refused: 1,
            timed_out: 2,
            p50_ns: Some(500_000),
            p99_ns: Some(990_000),
            max_ns: Some(1_000_000),
            unsent: 5,
            response_p50_ns: Some(510_000),
            response_p99_ns: Some(995_000),
            response_max_ns: Some(1_005_000),
            send_lag_max_ns: Some(90_000),
        }],
        samples: vec![Sample {
            at_ns: 100_000_000,
            machine_idle_fraction: Some(0.5),
            server_cores_used: Some(0.6),
            generator_cores_used: None,
            interface_sent_bytes: Some(6600),
            interface_received_bytes: Some(6600),
            server_memory_bytes: Some(4 << 20),
            server_switches: Some(12),
            server_retransmitted_segments: Some(1),
            server_listen_overflows: Some(2),
        }],
        interface: Some(Interface {
            name: "lo".into(),
            sent_bytes: 66_000,
            received_bytes: 66_000,
            sent_packets: 1000,
            received_packets: 1000,
        }),
        memory: Some(Memory {
            server_rss_bytes: Some(4 << 20),
            server_pss_bytes: None,
            generator_rss_bytes: Some(5 << 20),
            server_before: Some(MemoryBefore {
                rss_bytes: Some(3 << 20),
                pss_bytes: None,
                is_first: true,
            }),
        }),
        sampling_cpu_fraction: Some(0.002),
        agents: vec![AgentPart {
            agent: "a0".into(),
            task: AgentTask::Probe,
            version: Some("0.2.0".into()),
            end: PartEnd::Measured,
            doubts: Vec::new(),
            planned: Some(9),
            sent: Some(8),
            ok: Some(7),
            delivered: Some(70),
            p50_ns: Some(41_000),
            p99_ns: Some(93_000),
            late_ns: Some(1_200_000),
            clock_bound_ns: Some(64_000),
            busiest_worker_fraction: Some(0.31),
            send_lag_p99_ns: Some(52_000),
            stalls: 1,
            throttled_periods: 2,
            retransmitted_segments: 3,
        }],
        server_machine: Some(server_machine()),
        client: Some(ClientReport {
            wall_ns: 420_000_000,
            cpu_ns: Some(210_000_000),
            cpu_seen_ns: Some(211_000_000),
            open: None,
            google_benchmark: Some(GoogleBenchmark {
                name: "ws/beast".to_owned(),
                iterations: 10_000,
                real_time_ns: 42_000.5,
                cpu_time_ns: 21_000.25,
            }),
        }),
    }
}

/// Two lines, one of which bends.
fn sweep() -> Sweep {
    let line = |name: &str, knee, capacity| SweepLine {
        name: name.into(),
        knee,
        level: Level::Degraded,
        capacity,
        ran_out: "the server: 99 % of its core".into(),
    };
    let estimate = |value| Estimate { value, low: Some(value - 0.01), high: Some(value + 0.01) };
    Sweep {
        of: SweepOf::Bots,
        preset: Some("cubeia".into()),
        published: None,
        slo: Some("p99 < 50ms".into()),
        lines: vec![
            line(
                "binary",
                Knee::Found {
                    offered_per_s: 1500.0,
                    low_per_s: 1490.0,
                    high_per_s: 1510.0,
                    confirmed: true,
                },
                Some(Capacity {
                    offered_per_s: 1490.0,
                    low_per_s: 1490.0,
                    high_per_s: Some(1510.0),
                    confirmed: true,
                    level: Level::Degraded,
                }),
            ),
            line(
                "WebSocket",
                Knee::NotReached { offered_max_per_s: 4000.0, reason: "no time was left".into() },
                None,
            ),
        ],
        steps: vec![SweepStep {
            line: 1,
            workload: 1,
            blocks: vec![1],
            offered_per_s: 1000.0,
            bots: 1000,
            achieved_per_s: estimate(999.0),
            achieved_fraction: estimate(0.999),
            blocks_kept: Some(1),
            blocks_within: Some(1),
            response: Summary::of(&Histogram::new()),
            last_1000_mean_ms: Some(1),
            machine_idle_fraction: Some(0.5),
            server_cores_used: Some(0.6),
            generator_cores_used: Some(0.3),
            payload_bytes_per_s: Some(1e5),
            stream_bytes_per_s: Some(1.2e5),
            interface_bytes_per_s: None,
            server_memory_bytes: Some(4 << 20),
            server_machine: Some(server_machine()),
            level: Level::Trusted,
        }],
    }
}

fn server_machine() -> ServerMachine {
    ServerMachine {
        idle_fraction: Some(0.4),
        cpus_allowed: Some(4),
        retransmitted_segments: Some(3),
        listen_overflows: Some(1),
    }
}

pub(crate) fn tls_seen() -> TlsSeen {
    TlsSeen {
        version: "1.3".into(),
        suite: "TLS13_AES_128_GCM_SHA256".into(),
        group: Some("X25519MLKEM768".into()),
        alpn: Some("http/1.1".into()),
        full: 50,
        resumed: 950,
    }
}

fn split(framing_bytes: u64) -> Split {
    Split {
        payload_bytes: 64_000,
        encoding_bytes: -22_000,
        framing_bytes,
        tls_bytes: 22_000,
        tcp_ip_estimated_bytes: Some(52_000),
    }
}

fn failed_block(workload: usize) -> Block {
    Block {
        round: 1,
        failed: Some("connection refused".into()),
        round_trip: None,
        little: Little::NotChecked { reason: "nothing was measured".into() },
        ..block(workload)
    }
}

fn result(workload: usize, to_baseline: Option<PerMetric<Comparison>>) -> WorkloadResult {
    WorkloadResult {
        workload,
        blocks: 1,
        blocks_failed: 1 - workload,
        pooled: per_metric(Estimate { value: 5.5, low: Some(5.25), high: None }),
        round_trip: Summary::of(&histogram()),
        response: Summary::of(&histogram()),
        to_baseline,
    }
}

fn comparison() -> Comparison {
    Comparison {
        ratio: 1.06,
        low: Some(1.04),
        high: Some(1.08),
        smallest_detectable_fraction: Some(0.02),
        moved_most_fraction: Some(0.01),
    }
}

fn per_metric<T: Clone>(value: T) -> PerMetric<T> {
    PerMetric {
        messages_per_s: Some(value.clone()),
        round_trip_p50_ns: Some(value.clone()),
        round_trip_p90_ns: Some(value.clone()),
        round_trip_p99_ns: Some(value.clone()),
        response_p50_ns: Some(value.clone()),
        response_p90_ns: Some(value.clone()),
        response_p99_ns: Some(value.clone()),
        generator_cpu_us_per_message: Some(value.clone()),
        server_cpu_us_per_message: Some(value.clone()),
        wire_bytes_per_message: Some(value),
    }
}

fn subject(name: &str) -> Subject {
    Subject {
        name: name.to_owned(),
        language: "JavaScript".to_owned(),
        library: "ws".to_owned(),
        version: "8.23.0".to_owned(),
        version_found: Some("8.23.0".to_owned()),
        licence: "MIT".to_owned(),
        class: Class::Tuned,
        options: vec!["perMessageDeflate: false".to_owned()],
        warm_up: Some(WarmUp {
            took_ns: 3_000_000_000,
            windows: 12,
            first_per_s: 1_000.5,
            last_per_s: 20_000.25,
            is_steady: true,
        }),
    }
}

fn lab() -> Lab {
    Lab {
        question: "Which is faster?".to_owned(),
        views: vec![View::Benchmark, View::WallPerMessage],
        published: Some(Published {
            source: "somebody, 2012".to_owned(),
            rows: vec![PublishedRow {
                name: "raw socket".to_owned(),
                here: Some("tcp".to_owned()),
                wall_us: Some(69.5),
                ..PublishedRow::default()
            }],
            notes: vec!["it is not latency".to_owned()],
            claims: vec![Claim {
                about: "The knee".to_owned(),
                published: "about 1500/s".to_owned(),
                measure: ClaimMeasure::Knee,
                line: "a".to_owned(),
                to: Some("b".to_owned()),
                at_per_s: Some(1500.0),
                pause_ms: Some(1000.0),
                min: Some(0.5),
                max: Some(1.0),
                note: Some("of another machine".to_owned()),
            }],
        }),
        left_out: vec![LeftOut { name: "ratchet".to_owned(), reason: "not installed".to_owned() }],
        footprints: vec![Footprint {
            subject: "node-ws".to_owned(),
            library: "ws 8.23.0".to_owned(),
            from: "npm".to_owned(),
            packages: Some(1),
            installed_bytes: Some(162_000),
            download_bytes: None,
            floor_bytes: None,
            program_bytes: None,
            build_ns: Some(2_000_000_000),
            missing: Missing::from([("download_bytes".to_owned(), "npm does not say".to_owned())]),
        }],
    }
}

/// Deliveries that are owed, by their end: delivered, lost, cut off, in flight at the end.
fn ends(owed: u64, [delivered, lost, cut, in_flight_at_end]: [u64; 4]) -> DeliveryEnds {
    DeliveryEnds { owed, delivered, lost, cut, in_flight_at_end }
}
