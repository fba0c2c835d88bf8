//! Tables: every limit, its number, what fits and what does not.

use super::*;
use crate::capacity::{Limits, OpenFiles, Ports, Shortage, Sources, capacity};
use crate::cpus::Sharing;
use record::Environment;
use record::{Container, SocketBuffer, TimerFloor};
use units::Bytes;

/// A machine on which nothing is wrong.
fn facts() -> Facts {
    let buffer =
        |default_bytes| Some(SocketBuffer { min_bytes: 4096, default_bytes, max_bytes: 1 << 22 });
    let environment = Environment {
        memory_available_bytes: Some(8 << 30),
        timer_floor: Some(TimerFloor {
            asked_ns: 50_000,
            overshoot_p50_ns: 24_000,
            overshoot_p99_ns: 70_000,
        }),
        congestion_control: Some("cubic".to_owned()),
        governor: Some("performance".to_owned()),
        steal_before_fraction: Some(0.002),
        steal_during_fraction: Some(0.0),
        limits: record::Limits {
            somaxconn: Some(4096),
            receive_buffer: buffer(131_072),
            send_buffer: buffer(16_384),
            ..record::Limits::default()
        },
        ..Environment::default()
    };
    Facts {
        environment,
        limits: Limits {
            open_files: OpenFiles { soft: 20_000, hard: 20_000 },
            server_open_files: None,
            ports: Ports::USUAL,
        },
        cores: 2,
        sharing: Some(Sharing::Nothing),
        kernel_memory: KernelMemory {
            socket: Ok(Bytes(2304)),
            buffers_max: Ok(Bytes(575_796 * 4096)),
            buffers_now: Ok(Bytes(0)),
            page: Bytes(4096),
        },
        connects_at_once: 256,
        messages_per_s_max: Some(150_000),
    }
}

fn ask(facts: &Facts, wish: &str, server: Place) -> Diagnosis {
    let wish = (!wish.is_empty()).then(|| wish.parse().unwrap());
    diagnose(facts, Question { wish, server })
}

fn finding<'a>(diagnosis: &'a Diagnosis, code: &str) -> &'a Finding {
    diagnosis.findings.iter().find(|finding| finding.code == code).unwrap()
}

#[test]
fn a_machine_without_faults_says_at_which_numbers_it_ends() {
    use Unit::{Connections, Connects, MessagesPerSecond};
    #[rustfmt::skip]
    let table = [
        // code,               here,                             elsewhere
        ("open_files",         Some((19_968, Connections)),      Some((19_968, Connections))),
        ("ports",              Some((254 * 28_232, Connections)), Some((28_232, Connections))),
        ("backlog",            Some((4096, Connects)),           None),
        // 8 GiB / (330 + 2 x 2304) and / (330 + 2304).
        ("memory",             Some((1_739_557, Connections)),   Some((3_261_174, Connections))),
        ("messages",           Some((150_000, MessagesPerSecond)), Some((150_000, MessagesPerSecond))),
        ("socket_buffers",     None,                             None),
        ("timer_floor",        None,                             None),
    ];
    for (code, here, elsewhere) in table {
        for (server, expected) in [(Place::Here, here), (Place::Elsewhere, elsewhere)] {
            let diagnosis = ask(&facts(), "", server);
            let found = match finding(&diagnosis, code).state {
                State::Binds { at, of } => Some((at, of)),
                State::Changes | State::Fine | State::Unknown { .. } => None,
            };
            assert_eq!(found, expected, "{code} {server:?}");
            assert_eq!(finding(&diagnosis, code).suffices, None);
        }
    }
    let diagnosis = ask(&facts(), "", Place::Here);
    let first = diagnosis.first_to_bind(Connections).map(|(finding, at)| (finding.code, at));
    assert_eq!(first, Some(("open_files", 19_968)));
    for state in diagnosis.findings.iter().map(|finding| &finding.state) {
        assert!(matches!(state, State::Fine | State::Binds { .. }), "{state:?}");
    }
}

#[test]
fn a_wish_fits_up_to_the_number_and_not_beyond() {
    let roomy = || {
        let mut roomy = facts();
        roomy.limits.open_files = OpenFiles { soft: 1 << 40, hard: 1 << 40 };
        roomy
    };
    let no_somaxconn = || {
        let mut facts = facts();
        facts.environment.limits.somaxconn = Some(100);
        facts
    };
    #[rustfmt::skip]
    let table = [
        // machine,       server,           fits,                   does not,                what binds
        (facts(),         Place::Here,      "19968 bots",           "19969 bots",            "open_files"),
        (roomy(),         Place::Elsewhere, "28232 bots",           "28233 bots",            "ports"),
        (roomy(),         Place::Here,      "1739557 bots",      "1739558 bots",          "memory"),
        (no_somaxconn(),  Place::Here,      "100 bots",             "101 bots",              "backlog"),
        (facts(),         Place::Here,      "150000/s",             "150001/s",              "messages"),
        (facts(),         Place::Here,      "15000 bots every 100ms", "15001 bots every 100ms", "messages"),
    ];
    for (machine, server, fits, does_not, code) in table {
        assert!(ask(&machine, fits, server).fits(), "{fits}");
        let diagnosis = ask(&machine, does_not, server);
        let failing: Vec<_> = diagnosis
            .findings
            .iter()
            .filter(|finding| finding.suffices == Some(false))
            .map(|finding| finding.code)
            .collect();
        assert!(!diagnosis.fits() && failing == [code], "{does_not}: {failing:?}");
        assert!(finding(&diagnosis, code).cure.is_some(), "{code}");
    }
}

#[test]
fn what_doctor_says_is_what_a_run_refuses() {
    let limits = facts().limits;
    let one = Sources::Fixed { count: 1, loopback: false };
    for (connections, server, sources) in [
        (19_968, Place::Here, Sources::Automatic),
        (19_969, Place::Here, Sources::Automatic),
        (19_969, Place::Elsewhere, one),
        (28_233, Place::Elsewhere, one),
    ] {
        let limits = match server {
            Place::Here => Limits { server_open_files: Some(limits.open_files), ..limits },
            Place::Elsewhere => limits,
        };
        let refused = capacity(&limits, connections, sources).err();
        let diagnosis = ask(&facts(), &format!("{connections} bots"), server);
        assert_eq!(diagnosis.fits(), refused.is_none(), "{connections}");
        if let Some(Shortage::OpenFiles { needed, .. }) = refused {
            let cure = finding(&diagnosis, "open_files").cure.clone().unwrap();
            assert_eq!(cure, format!("as root: ulimit -Hn {needed}; ulimit -n {needed}"));
        }
    }
}

#[test]
fn open_files_are_lifted_as_far_as_they_can_be() {
    let unlimited = OpenFiles::UNLIMITED;
    #[rustfmt::skip]
    let table = [
        // soft,     hard,       wish,        state or number, cure
        (1024,       524_288,    "",          Some(992),       Some("ulimit -n 65536")),
        (1024,       524_288,    "992 bots",  Some(992),       None),
        (1024,       524_288,    "993 bots",  Some(992),       Some("ulimit -n 1025")),
        (1024,       4096,       "10k bots",  Some(992),       Some("as root: ulimit -Hn 10032; ulimit -n 10032")),
        (1024,       unlimited,  "",          Some(992),       Some("ulimit -n 65536")),
        (1_000_000,  1_000_000,  "",          Some(999_968),   None),
        (10,         10,         "1 bot",     Some(0),         Some("as root: ulimit -Hn 33; ulimit -n 33")),
        (unlimited,  unlimited,  "5M bots",   None,            None),
    ];
    for row @ (soft, hard, wish, at, cure) in table {
        let mut facts = facts();
        facts.limits.open_files = OpenFiles { soft, hard };
        let diagnosis = ask(&facts, wish, Place::Here);
        let found = finding(&diagnosis, "open_files");
        let expected = at.map_or(State::Fine, |at| State::Binds { at, of: Unit::Connections });
        assert_eq!((&found.state, found.cure.as_deref()), (&expected, cure), "{row:?}");
    }
}

#[test]
fn ports_are_lifted_by_addresses_or_a_wider_range() {
    let narrow = Ports { first: 40_000, last: 40_099, reserved: 0 };
    let none = Ports { reserved: 28_232, ..Ports::USUAL };
    let wider = "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"";
    let two = "run with 2 addresses of this machine: --source-ip A-B";
    #[rustfmt::skip]
    let table = [
        (Ports::USUAL, Place::Elsewhere, "28232 bots", Some(true),  None),
        (Ports::USUAL, Place::Elsewhere, "28233 bots", Some(false), Some(two)),
        (Ports::USUAL, Place::Here,      "28233 bots", Some(true),  None),
        (narrow,       Place::Here,      "25400 bots", Some(true),  None),
        (narrow,       Place::Here,      "25401 bots", Some(false), Some(wider)),
        (none,         Place::Elsewhere, "1 bot",      Some(false), Some(wider)),
        (none,         Place::Here,      "2000/s",     None,        Some(wider)),
    ];
    for row @ (ports, server, wish, suffices, cure) in table {
        let mut facts = facts();
        facts.limits.ports = ports;
        let diagnosis = ask(&facts, wish, server);
        let found = finding(&diagnosis, "ports");
        assert_eq!((found.suffices, found.cure.as_deref()), (suffices, cure), "{row:?}");
    }
}

#[test]
fn memory_is_what_the_container_allows() {
    let mut facts = facts();
    facts.environment.container =
        Some(Container { memory_max_bytes: Some(100 << 20), ..Container::default() });
    let diagnosis = ask(&facts, "20k bots", Place::Here);
    let found = finding(&diagnosis, "memory");
    assert_eq!(found.state, State::Binds { at: 21_234, of: Unit::Connections });
    // 104857600 / (330 + 2 x 2304 + 2 x 147456).
    assert!(found.effect.ends_with("with every buffer full (tcp_rmem, tcp_wmem) 349 fit"));
}

#[test]
fn full_buffers_are_a_remark_and_no_refusal() {
    // 575796 pages / (2 x 147456).
    for (wish, state) in [("7997 bots", State::Fine), ("7998 bots", State::Changes)] {
        let diagnosis = ask(&facts(), wish, Place::Here);
        assert_eq!(finding(&diagnosis, "socket_buffers").state, state, "{wish}");
        assert!(diagnosis.fits());
    }
    let diagnosis = ask(&facts(), "7998 bots", Place::Here);
    let cure = finding(&diagnosis, "socket_buffers").cure.as_deref();
    assert_eq!(cure, Some("sysctl -w net.ipv4.tcp_mem=\"575796 863694 1151592\""));
}

#[test]
fn what_changes_numbers_is_named_with_its_cure() {
    type Fault = fn(&mut Facts);
    #[rustfmt::skip]
    let table: [(&str, Fault, &str); 7] = [
        ("cores",              |facts| { facts.cores = 1; facts.sharing = Some(Sharing::Core) },           "taskset"),
        ("cores",              |facts| { facts.cores = 1; facts.sharing = Some(Sharing::Cpu) },            "taskset"),
        ("timer_floor",        |facts| facts.environment.timer_floor.as_mut().unwrap().overshoot_p99_ns = 1_000_000, "a core for the generator"),
        ("steal",              |facts| facts.environment.steal_during_fraction = Some(0.02),               "cores of its own"),
        ("congestion_control", |facts| facts.environment.congestion_control = Some("bbr".to_owned()),      "tcp_congestion_control=cubic"),
        ("governor",           |facts| facts.environment.governor = Some("powersave".to_owned()),          "cpupower frequency-set -g performance"),
        ("backlog",            |facts| facts.environment.limits.somaxconn = Some(128),                     "sysctl -w net.core.somaxconn=65535"),
    ];
    for (code, fault, cure) in table {
        let mut facts = facts();
        assert_eq!(finding(&ask(&facts, "", Place::Here), code).cure, None, "{code}");
        fault(&mut facts);
        let diagnosis = ask(&facts, "", Place::Here);
        let found = finding(&diagnosis, code);
        assert!(found.cure.as_ref().is_some_and(|found| found.contains(cure)), "{found:?}");
        assert_ne!(found.state, State::Fine);
        assert!(diagnosis.fits(), "nothing was asked for");
    }
}

#[test]
fn what_is_not_known_says_why_and_refuses_nothing() {
    let mut facts = facts();
    facts.environment = Environment::default();
    facts.environment.missing.insert("governor".to_owned(), "no cpufreq".to_owned());
    facts.kernel_memory = KernelMemory {
        socket: Err("/proc/net/protocols: entity not found".to_owned()),
        buffers_max: Err("a".to_owned()),
        buffers_now: Err("b".to_owned()),
        page: Bytes(4096),
    };
    facts.sharing = None;
    facts.messages_per_s_max = None;
    let diagnosis = ask(&facts, "10k bots every 1s", Place::Here);
    let because = |code| match &finding(&diagnosis, code).state {
        State::Unknown { because } => because.clone(),
        state @ (State::Fine | State::Binds { .. } | State::Changes) => panic!("{code}: {state:?}"),
    };
    for code in [
        "backlog",
        "memory",
        "socket_buffers",
        "cores",
        "timer_floor",
        "steal",
        "congestion_control",
    ] {
        assert_ne!(because(code), "", "{code}");
    }
    assert_eq!(because("governor"), "no cpufreq");
    assert!(because("messages").contains("no self-test"));
    assert!(diagnosis.fits());
}

#[test]
fn absurd_machines_do_not_overflow() {
    let mut facts = facts();
    facts.kernel_memory.buffers_max = Ok(Bytes(u64::MAX));
    facts.environment.memory_available_bytes = Some(0);
    facts.kernel_memory.socket = Ok(Bytes(u64::MAX / 4));
    facts.environment.limits.receive_buffer =
        Some(SocketBuffer { min_bytes: 0, default_bytes: u64::MAX, max_bytes: 0 });
    facts.kernel_memory.page = Bytes(0);
    assert!(!ask(&facts, "4G bots every 1ns", Place::Here).fits());
}
