//! The machine as the record describes it: every field is read or has the reason why it is missing.

use super::files::{Files, Machine};
use super::text::kilobytes;
use super::{cgroup, cpus, hardware, limits};
use record::{Container, Environment, Limits, Missing};
use rustix::time::{ClockId, clock_getres};
use units::{Bytes, Nanos};

/// The facts about this machine that change results; takes some milliseconds.
///
/// Timer slack and allowed CPUs are those of the calling thread, which should be set up like the measuring threads.
/// Left to the caller, without a reason in `missing`: the timer floor ([`crate::timer_floor`]), steal
/// ([`SystemSampler`](crate::SystemSampler)) and versions.
pub fn machine() -> Environment {
    let slack = rustix::thread::current_timer_slack().map(Nanos);
    environment(&Machine, slack.map_err(|error| error.to_string()), tick())
}

/// The number of periods in which the control group of this process had used up its CPU time, since the group was
/// created; `None` where the group has no CPU limit, or the kernel does not count them.
pub fn throttled_periods() -> Option<u64> {
    cgroup::throttled_periods(&Machine)
}

/// The time between ticks of the kernel's timer; its coarse clocks advance at each tick.
fn tick() -> Nanos {
    let resolution = clock_getres(ClockId::MonotonicCoarse);
    let (secs, nanos) = (u64::try_from(resolution.tv_sec), u64::try_from(resolution.tv_nsec));
    Nanos::from_secs(secs.unwrap_or(0)) + Nanos(nanos.unwrap_or(0))
}

fn environment(files: &dyn Files, timer_slack: Result<Nanos, String>, tick: Nanos) -> Environment {
    let mut reasons = Reasons::default();
    let cpus_allowed = reasons.keep("cpus_allowed", cpus::cpus_allowed(files)).unwrap_or_default();
    let cpus_online = hardware::cpus_online(files).map(|cpus| to_u32(cpus.len()));
    let memory = |name| Ok(meminfo(files, name)?.0);
    Environment {
        os: reasons.keep("os", os(files)),
        kernel: reasons.keep("kernel", files.read("/proc/sys/kernel/osrelease")),
        cpu_model: reasons.keep("cpu_model", hardware::cpu_model(files)),
        cpus_online: reasons.keep("cpus_online", cpus_online),
        smt: reasons.keep("smt", hardware::smt(files)),
        governor: reasons.keep("governor", hardware::governor(files, &cpus_allowed)),
        hypervisor: reasons.keep("hypervisor", hardware::hypervisor(files)),
        mitigations: reasons.keep("mitigations", hardware::mitigations(files)).unwrap_or_default(),
        clock_source: reasons.keep("clock_source", files.read(CLOCK_SOURCE)),
        timer_tick_hz: reasons.keep("timer_tick_hz", hertz(tick)),
        timer_slack_ns: reasons.keep("timer_slack_ns", timer_slack.map(|slack| slack.0)),
        congestion_control: reasons.keep("congestion_control", files.read(CONGESTION_CONTROL)),
        memory_total_bytes: reasons.keep("memory_total_bytes", memory("MemTotal")),
        memory_available_bytes: reasons.keep("memory_available_bytes", memory("MemAvailable")),
        container: reasons.keep("container", container(files)),
        limits: limits_of(files, &mut reasons),
        cpus_allowed: cpus_allowed.into_iter().map(to_u32).collect(),
        missing: reasons.0,
        ..Environment::default()
    }
}

fn limits_of(files: &dyn Files, reasons: &mut Reasons) -> Limits {
    let open_files = reasons.keep("limits.open_files", limits::open_files(files));
    let ports = reasons.keep("limits.ports", limits::ports(files));
    let receive_buffer = limits::socket_buffer(files, "tcp_rmem");
    let send_buffer = limits::socket_buffer(files, "tcp_wmem");
    Limits {
        open_files_soft: open_files.map(|limit| limit.soft),
        open_files_hard: open_files.map(|limit| limit.hard),
        somaxconn: reasons.keep("limits.somaxconn", limits::number(files, "core/somaxconn")),
        port_first: ports.map(|ports| ports.first),
        port_last: ports.map(|ports| ports.last),
        tcp_tw_reuse: reasons
            .keep("limits.tcp_tw_reuse", limits::number(files, "ipv4/tcp_tw_reuse")),
        receive_buffer: reasons.keep("limits.receive_buffer", receive_buffer),
        send_buffer: reasons.keep("limits.send_buffer", send_buffer),
    }
}

/// The reasons why fields are missing, by the field's name.
#[derive(Default)]
struct Reasons(Missing);

impl Reasons {
    fn keep<T>(&mut self, field: &str, found: Result<T, String>) -> Option<T> {
        found.map_err(|reason| self.0.insert(field.to_owned(), reason)).ok()
    }
}

/// The name of the distribution (os-release(5)).
fn os(files: &dyn Files) -> Result<String, String> {
    let text = files.read("/etc/os-release").or_else(|_| files.read("/usr/lib/os-release"))?;
    let name = |key| {
        text.lines().find_map(|line| Some(line.strip_prefix(key)?.trim().trim_matches(['"', '\''])))
    };
    let name = name("PRETTY_NAME=").or_else(|| name("NAME="));
    name.filter(|name| !name.is_empty())
        .map(str::to_owned)
        .ok_or_else(|| "os-release has no name".to_owned())
}

fn hertz(tick: Nanos) -> Result<u32, String> {
    // Rounded to the nearest: at 300 Hz, a tick takes 3 333 333 ns.
    let hertz = (1_000_000_000 + tick.0 / 2).checked_div(tick.0);
    hertz
        .and_then(|hertz| u32::try_from(hertz).ok())
        .ok_or_else(|| "the coarse clock does not say its resolution".to_owned())
}

fn meminfo(files: &dyn Files, name: &str) -> Result<Bytes, String> {
    let path = "/proc/meminfo";
    let text = files.read(path)?;
    kilobytes(&text, name).ok_or_else(|| format!("{path}: no field {name}"))
}

/// The container or sandbox around this process, if there is one.
fn container(files: &dyn Files) -> Result<Container, String> {
    let cpu_milli_max = cgroup::cpu_milli_max(files).unwrap_or_default();
    let memory_max = cgroup::memory_max(files).unwrap_or_default();
    let container = Container {
        kind: container_kind(files),
        cpu_cores_max: cpu_milli_max.map(|milli| f64::from(milli) / 1000.0),
        memory_max_bytes: memory_max.map(|bytes| bytes.0),
    };
    if container == Container::default() {
        return Err("no sign of a container and no limit of a control group".to_owned());
    }
    Ok(container)
}

/// The container manager, by the trace that it leaves; the most specific is checked first.
fn container_kind(files: &dyn Files) -> Option<String> {
    let there = |path| files.read(path).is_ok();
    if there("/var/run/secrets/kubernetes.io/serviceaccount/namespace") {
        return Some("kubernetes".to_owned());
    }
    if let Some(manager) = files.read("/run/systemd/container").ok().filter(|name| !name.is_empty())
    {
        return Some(manager);
    }
    if there("/.dockerenv") {
        return Some("docker".to_owned());
    }
    if there("/run/.containerenv") {
        return Some("podman".to_owned());
    }
    let first_process = files.read("/proc/1/cgroup").ok()?;
    let known =
        [("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc")];
    known
        .into_iter()
        .find(|(sign, _)| first_process.contains(sign))
        .map(|(_, kind)| kind.to_owned())
}

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const CONGESTION_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::fixture::Fixture;
    use record::SocketBuffer;

    const TICK: Nanos = Nanos::from_millis(4);

    #[test]
    fn a_whole_machine_is_read() {
        let files = Fixture::new(&[
            (
                "/etc/os-release",
                "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian",
            ),
            ("/proc/1/cgroup", "0::/"),
            (
                "/proc/cpuinfo",
                "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Processor\nflags\t\t: fpu hypervisor\n",
            ),
            (
                "/proc/meminfo",
                "MemTotal:       24684084 kB\nMemFree:        24194480 kB\nMemAvailable:   24358144 kB",
            ),
            ("/proc/self/cgroup", "0::/job"),
            ("/sys/fs/cgroup/job/cpu.max", "150000 100000"),
            (
                "/proc/self/limits",
                "Max open files            20000                20000                files",
            ),
            ("/proc/sys/kernel/osrelease", "6.18.44"),
            ("/proc/sys/net/core/somaxconn", "4096"),
            ("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999"),
            ("/proc/sys/net/ipv4/tcp_congestion_control", "bbr"),
            ("/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t33554432"),
            ("/proc/sys/net/ipv4/tcp_tw_reuse", "2"),
            ("/proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304"),
            ("/proc/thread-self/status", "Cpus_allowed_list:\t0-1"),
            ("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock"),
            ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
            ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance"),
            ("/sys/devices/system/cpu/online", "0-3"),
            ("/sys/devices/system/cpu/smt/active", "1"),
            (
                "/sys/devices/system/cpu/vulnerabilities/retbleed",
                "Mitigation: Aligned branch/return thunks",
            ),
        ]);
        let limits = Limits {
            open_files_soft: Some(20_000),
            open_files_hard: Some(20_000),
            somaxconn: Some(4096),
            port_first: Some(32_768),
            port_last: Some(60_999),
            tcp_tw_reuse: Some(2),
            receive_buffer: Some(SocketBuffer {
                min_bytes: 4096,
                default_bytes: 131_072,
                max_bytes: 33_554_432,
            }),
            send_buffer: Some(SocketBuffer {
                min_bytes: 4096,
                default_bytes: 16_384,
                max_bytes: 4_194_304,
            }),
        };
        let expected = Environment {
            os: Some("Debian GNU/Linux 12 (bookworm)".to_owned()),
            kernel: Some("6.18.44".to_owned()),
            cpu_model: Some("Intel(R) Xeon(R) Processor".to_owned()),
            cpus_online: Some(4),
            cpus_allowed: vec![0, 1],
            smt: Some(true),
            governor: Some("performance".to_owned()),
            hypervisor: Some("KVM".to_owned()),
            mitigations: vec!["retbleed: Aligned branch/return thunks".to_owned()],
            clock_source: Some("tsc".to_owned()),
            timer_tick_hz: Some(250),
            timer_slack_ns: Some(50_000),
            congestion_control: Some("bbr".to_owned()),
            limits,
            memory_total_bytes: Some(25_276_502_016),
            memory_available_bytes: Some(24_942_739_456),
            container: Some(Container {
                kind: None,
                cpu_cores_max: Some(1.5),
                memory_max_bytes: None,
            }),
            ..Environment::default()
        };
        assert_eq!(environment(&files, Ok(Nanos::from_micros(50)), TICK), expected);
    }

    #[test]
    fn a_machine_without_any_file_has_a_reason_for_every_field() {
        let found = environment(&Fixture::new(&[]), Err("not permitted".to_owned()), Nanos::ZERO);
        let missing = found.missing.keys().map(String::as_str).collect::<Vec<_>>();
        #[rustfmt::skip]
        let every_field = [
            "clock_source", "congestion_control", "container", "cpu_model", "cpus_allowed", "cpus_online", "governor",
            "hypervisor", "kernel", "limits.open_files", "limits.ports", "limits.receive_buffer", "limits.send_buffer",
            "limits.somaxconn", "limits.tcp_tw_reuse", "memory_available_bytes", "memory_total_bytes", "mitigations",
            "os", "smt", "timer_slack_ns", "timer_tick_hz",
        ];
        assert_eq!(missing, every_field);
        assert_eq!(found, Environment { missing: found.missing.clone(), ..Environment::default() });
    }

    #[test]
    fn the_tick_is_rounded_to_whole_hertz() {
        for (tick, expected) in [
            (10_000_000, 100),
            (4_000_000, 250),
            (3_333_333, 300),
            (1_000_000, 1000),
            (999_848, 1000),
        ] {
            assert_eq!(hertz(Nanos(tick)), Ok(expected), "{tick}");
        }
        assert!(hertz(Nanos(0)).is_err());
    }

    #[test]
    fn distributions_are_named_however_they_quote() {
        #[rustfmt::skip]
        let table = [
            (vec![("/etc/os-release", "PRETTY_NAME='Alpine Linux v3.20'")],               Some("Alpine Linux v3.20")),
            (vec![("/etc/os-release", "ID=arch\nNAME=Arch")],                             Some("Arch")),
            (vec![("/usr/lib/os-release", "PRETTY_NAME=\"Fedora Linux 41\"")],            Some("Fedora Linux 41")),
            (vec![("/etc/os-release", "PRETTY_NAME=\"\"")],                               None),
        ];
        for (files, name) in table {
            assert_eq!(os(&Fixture::new(&files)).as_deref().ok(), name, "{files:?}");
        }
    }

    #[test]
    fn containers_leave_a_trace() {
        #[rustfmt::skip]
        let table = [
            (vec![("/.dockerenv", "")],                                                   Some("docker")),
            (vec![("/run/.containerenv", "")],                                            Some("podman")),
            (vec![("/run/systemd/container", "systemd-nspawn"), ("/.dockerenv", "")],     Some("systemd-nspawn")),
            (vec![("/proc/1/cgroup", "1:cpu:/kubepods/burstable/pod1/abc")],              Some("kubernetes")),
            (vec![("/proc/1/cgroup", "1:cpu:/lxc/box")],                                  Some("lxc")),
            (vec![("/proc/1/cgroup", "0::/init.scope")],                                  None),
            (vec![],                                                                      None),
        ];
        for (files, kind) in table {
            assert_eq!(container_kind(&Fixture::new(&files)).as_deref(), kind, "{files:?}");
        }
    }
}
