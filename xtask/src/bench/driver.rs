//! The generators of the contests: how each is told what to do, and what it says of itself afterwards.

use super::Timing;
use super::tools::Tools;
use anyhow::{Context as _, Result};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

/// The core of every generator.
pub(super) const CORE: usize = 1;
/// The payload of every message, in bytes.
const SIZE: &str = "64";
/// The file of 64 bytes that nginx serves.
const PAGE: &str = "/64";

/// Which generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Driver {
    /// `bench/floor/floor_epoll.c`
    FloorEpoll,
    /// The same, waiting for the peer's Close before it closes.
    FloorEpollClosing,
    /// `bench/floor/floor_uring.c`
    FloorUring,
    K6,
    TokioTungstenite,
    TokioWebsockets,
    Wirebench,
    /// With `--close at-once`: closes as `FloorEpoll` does.
    WirebenchLeaving,
    Wrk,
}

/// What is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Http,
    Tcp,
    WebSocket,
}

/// What a generator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Workload {
    /// So many connections, one message in flight on each, at most `in_flight` in all.
    Closed { connections: u32, in_flight: u32 },
    /// So many clients in all, so many at a time: connect, so many round trips, close.
    Churn { clients: u32, concurrency: u32, round_trips: u32 },
}

impl Workload {
    /// What is counted.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Closed { .. } => "message",
            Self::Churn { .. } => "client",
        }
    }
}

/// What a generator is asked, for each to be told in its own words.
///
/// A closed loop lasts from its first message until `timing` is over, warm-up and margin included.
pub(super) struct Asked<'a> {
    pub(super) transport: Transport,
    pub(super) workload: Workload,
    pub(super) address: SocketAddr,
    pub(super) timing: &'a Timing,
}

impl Asked<'_> {
    /// The command that has `driver` do it.
    pub(super) fn command(&self, driver: Driver, tools: &Tools) -> Command {
        match driver {
            Driver::FloorEpoll => self.floor(&tools.floor("floor_epoll")),
            Driver::FloorEpollClosing => {
                let mut command = self.floor(&tools.floor("floor_epoll"));
                command.arg("-X");
                command
            }
            Driver::FloorUring => self.floor(&tools.floor("floor_uring")),
            Driver::K6 => self.k6(tools.k6.as_deref().unwrap_or_else(|| Path::new("k6"))),
            Driver::TokioTungstenite => self.peer(&tools.peers.join("tokio_tungstenite")),
            Driver::TokioWebsockets => self.peer(&tools.peers.join("tokio_websockets")),
            Driver::Wirebench => self.wirebench(&tools.wirebench),
            Driver::WirebenchLeaving => {
                let mut command = self.wirebench(&tools.wirebench);
                command.args(["--close", "at-once"]);
                command
            }
            Driver::Wrk => self.wrk(),
        }
    }

    fn floor(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let protocol = match self.transport {
            Transport::Http => "http",
            Transport::Tcp => "tcp",
            Transport::WebSocket => "ws",
        };
        command.args([
            "-h",
            &self.address.ip().to_string(),
            "-p",
            &self.address.port().to_string(),
        ]);
        command.args(["-P", protocol, "-s", SIZE]);
        if self.transport == Transport::Http {
            command.args(["-u", PAGE]);
        }
        match self.workload {
            Workload::Closed { connections, .. } => command.args([
                "-c",
                &connections.to_string(),
                "-w",
                &self.warm_up(),
                "-d",
                &self.measured(),
            ]),
            Workload::Churn { clients, concurrency, round_trips } => {
                command.args(["-m", "churn", "-n", &clients.to_string()]);
                command.args(["-c", &concurrency.to_string(), "-k", &round_trips.to_string()])
            }
        };
        command
    }

    fn wirebench(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let address = self.address;
        command.arg("run").arg(match self.transport {
            Transport::Http => format!("http://{address}{PAGE}"),
            Transport::Tcp => format!("tcp://{address}"),
            Transport::WebSocket => format!("ws://{address}/"),
        });
        match self.transport {
            // nginx pays for every time that it wakes us; wrk, busier for each reply, is woken less.
            Transport::Http => command.args(["--method", "GET", "--busy-poll", "10us"]),
            Transport::Tcp | Transport::WebSocket => command.args(["--size", SIZE]),
        };
        match self.workload {
            Workload::Closed { connections, in_flight } => {
                command.args(["--connections", &connections.to_string()]);
                if in_flight < connections {
                    command.args(["--in-flight-max", &in_flight.to_string()]);
                }
                let [warm_up, measured] =
                    [self.warm_up(), self.measured()].map(|seconds| seconds + "s");
                command.args(["--warm-up", &warm_up, "--duration", &measured])
            }
            Workload::Churn { clients, concurrency, round_trips } => {
                command.args([
                    "--clients",
                    &clients.to_string(),
                    "--concurrency",
                    &concurrency.to_string(),
                ]);
                command.args(["--round-trips", &round_trips.to_string()])
            }
        };
        // The record goes to the standard output, and is kept nowhere else.
        command.args(["--output", "-"]);
        command
    }

    fn peer(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.arg(self.address.to_string()).args([
            &self.connections(),
            SIZE,
            &self.warm_up(),
            &self.measured(),
        ]);
        command
    }

    fn k6(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.args(["run", "--quiet", "--no-usage-report"]);
        let mut tell = |name: &str, value: &str| {
            command.arg("-e").arg(format!("{name}={value}"));
        };
        tell("URL", &format!("ws://{}/", self.address));
        tell("SIZE", SIZE);
        let script = match self.workload {
            Workload::Closed { .. } => {
                tell("CONNECTIONS", &self.connections());
                tell("SECONDS", &format!("{:.3}", self.whole()));
                "bench/peers/k6/ws-echo.js"
            }
            Workload::Churn { clients, concurrency, round_trips } => {
                tell("CLIENTS", &clients.to_string());
                tell("CONCURRENCY", &concurrency.to_string());
                tell("ROUND_TRIPS", &round_trips.to_string());
                "bench/peers/k6/ws-churn.js"
            }
        };
        command.arg(script);
        command
    }

    fn wrk(&self) -> Command {
        let mut command = Command::new("wrk");
        command.args(["--threads", "1", "--connections", &self.connections()]);
        command.args(["--duration", &format!("{:.0}s", self.whole().ceil())]);
        command.arg(format!("http://{}{PAGE}", self.address));
        command
    }

    fn connections(&self) -> String {
        match self.workload {
            Workload::Closed { connections, .. } => connections.to_string(),
            Workload::Churn { concurrency, .. } => concurrency.to_string(),
        }
    }

    fn warm_up(&self) -> String {
        format!("{:.3}", self.timing.warm_up.as_secs_f64())
    }

    fn measured(&self) -> String {
        format!("{:.3}", (self.timing.measured + self.timing.margin).as_secs_f64())
    }

    /// Seconds from the first message to the last.
    fn whole(&self) -> f64 {
        (self.timing.warm_up + self.timing.measured + self.timing.margin).as_secs_f64()
    }
}

/// What a generator says of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OwnReport {
    pub(super) messages_per_s: f64,
    /// CPU microseconds for each message; `None` for those that do not say.
    pub(super) cpu_us: Option<f64>,
}

/// Reads what a generator printed; `None` for one that counts nothing that could be compared.
///
/// # Errors
///
/// Errors that it counted: what failed is not compared.
pub(super) fn own_report(driver: Driver, printed: &str) -> Result<Option<OwnReport>> {
    match driver {
        Driver::FloorEpoll
        | Driver::FloorEpollClosing
        | Driver::FloorUring
        | Driver::TokioTungstenite
        | Driver::TokioWebsockets => result_line(printed).map(Some),
        Driver::Wirebench | Driver::WirebenchLeaving => record(printed).map(Some),
        Driver::Wrk => wrk_summary(printed).map(Some),
        Driver::K6 => Ok(None),
    }
}

/// `RESULT rts=… secs=… user_s=… sys_s=… errs=…`
fn result_line(printed: &str) -> Result<OwnReport> {
    let line = printed
        .lines()
        .find_map(|line| line.strip_prefix("RESULT "))
        .context("it printed no RESULT")?;
    let value = |name: &str| -> Result<f64> {
        let mut pairs = line.split_whitespace().filter_map(|pair| pair.split_once('='));
        let (_, value) = pairs
            .find(|(key, _)| *key == name)
            .with_context(|| format!("RESULT without {name}"))?;
        value.parse().with_context(|| format!("{name}={value}"))
    };
    anyhow::ensure!(value("errs")? == 0.0, "it counted {} errors", value("errs")?);
    let round_trips = value("rts")?;
    Ok(OwnReport {
        messages_per_s: round_trips / value("secs")?,
        cpu_us: Some((value("user_s")? + value("sys_s")?) / round_trips * 1e6),
    })
}

/// The record of `wirebench run --json`.
fn record(printed: &str) -> Result<OwnReport> {
    let record: serde_json::Value = serde_json::from_str(printed).context("it printed no JSON")?;
    let block = record.pointer("/blocks/0").context("its record has no block")?;
    let number = |pointer: &str| block.pointer(pointer).and_then(serde_json::Value::as_f64);
    for outcome in ["/counts/error", "/counts/timed_out", "/counts/unsent"] {
        let count = number(outcome).with_context(|| format!("its record has no {outcome}"))?;
        anyhow::ensure!(count == 0.0, "it counted {count} of {outcome}");
    }
    Ok(OwnReport {
        messages_per_s: number("/messages_per_s").context("its record has no messages_per_s")?,
        cpu_us: number("/cpu/generator_us_per_message"),
    })
}

/// `Requests/sec:  12345.67`, and no line about errors.
fn wrk_summary(printed: &str) -> Result<OwnReport> {
    let errors = ["Socket errors", "Non-2xx"];
    if let Some(line) =
        printed.lines().find(|line| errors.iter().any(|error| line.trim().starts_with(error)))
    {
        anyhow::bail!("it counted errors: {}", line.trim());
    }
    let rate = printed
        .lines()
        .find_map(|line| line.strip_prefix("Requests/sec:"))
        .context("it printed no rate")?;
    Ok(OwnReport { messages_per_s: rate.trim().parse()?, cpu_us: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_line_is_read_by_name() {
        let printed = "UP conns=50\nRESULT rts=1000 secs=0.5 rate=2000 mean_us=1 user_s=0.001 sys_s=0.004 errs=0\n";
        let report = own_report(Driver::FloorEpoll, printed).unwrap().unwrap();
        assert_eq!(report, OwnReport { messages_per_s: 2000.0, cpu_us: Some(5.0) });
        assert_eq!(
            result_line(&printed.replace("errs=0", "errs=2")).unwrap_err().to_string(),
            "it counted 2 errors"
        );
        assert_eq!(result_line("").unwrap_err().to_string(), "it printed no RESULT");
        assert_eq!(result_line("RESULT errs=0").unwrap_err().to_string(), "RESULT without rts");
    }

    #[test]
    fn a_record_is_read() {
        let block = r#"{"blocks": [{"messages_per_s": 2000.0, "cpu": {"generator_us_per_message": 5.0},
            "counts": {"error": 0, "timed_out": 0, "unsent": 0}}]}"#;
        let report = own_report(Driver::Wirebench, block).unwrap().unwrap();
        assert_eq!(report, OwnReport { messages_per_s: 2000.0, cpu_us: Some(5.0) });
        let lossy = block.replace(r#""timed_out": 0"#, r#""timed_out": 3"#);
        assert_eq!(record(&lossy).unwrap_err().to_string(), "it counted 3 of /counts/timed_out");
    }

    #[test]
    fn the_summary_of_wrk_is_read() {
        let printed = "Running 5s test\n  100 requests in 5.00s\nRequests/sec:     20.00\n";
        assert_eq!(wrk_summary(printed).unwrap(), OwnReport { messages_per_s: 20.0, cpu_us: None });
        assert!(wrk_summary(&format!("{printed}  Non-2xx or 3xx responses: 100\n")).is_err());
    }
}
