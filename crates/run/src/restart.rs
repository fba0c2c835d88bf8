//! The restart of a server in the middle of a block: it is killed when the load asks for it, and started again at once.
//! A part of a server (`restart_of`) is only killed here; the program that started the part starts it again.
//!
//! It runs on its own thread, so that workers and their collector continue meanwhile; they learn the instants from
//! [`Control`]. Left out: receivers that reconnect, which is up to workers (crate `drive`).

use crate::RunError;
use crate::children::processes::Processes;
use crate::children::servers::{RunningServer, Servers, embedded_server};
use crate::found_server::listeners;
use crate::plan::{Measurement, Peer};
use crate::publishers;
use crate::reach::Context;
use drive::Control;
use engine::Address;
use engine::clock::sleep;
use lab::Part;
use probe::tcp_addresses;
use spec::Endpoint;
use units::{Instant, Nanos};

/// A planned restart.
pub(crate) struct Restart<'a> {
    servers: &'a mut Servers,
    measurement: &'a Measurement,
    /// Time from the start of the traffic to the kill.
    after: Nanos,
    context: Context<'a>,
}

/// A completed restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Restarted {
    /// The instant at which the server was killed.
    pub(crate) killed: Instant,
    /// The instant at which it was ready again.
    pub(crate) ready: Instant,
}

impl<'a> Restart<'a> {
    /// The restart of one of `servers` that the load of a measurement asks for; `None` if it asks for none.
    pub(crate) fn of(
        measurement: &'a Measurement,
        servers: &'a mut Servers,
        context: Context<'a>,
    ) -> Option<Self> {
        let restart = measurement.workload.rooms?.all().conduct.restart?;
        let after = measurement.workload.phases.warm_up + restart;
        Some(Self { servers, measurement, after, context })
    }

    /// Waits until the restart is due, kills the server, which consists of `processes`, and starts it again; `None` if
    /// the workers end before.
    pub(crate) fn when_due(
        self,
        control: &Control,
        processes: Option<&Processes>,
    ) -> Option<Result<Restarted, String>> {
        let clock = self.context.clock;
        loop {
            let left = (control.started_at() + self.after).since(clock.now());
            match left {
                _ if control.is_stopped() => return None,
                Nanos::ZERO => break,
                left => sleep(left.min(LOOK_EVERY)),
            }
        }
        if let Some(program) = &self.measurement.spec.restart_of {
            return Some(self.of_part(program, control));
        }
        let used = processes.and_then(Processes::cpu_in_all);
        let killed = clock.now();
        control.killed(killed);
        let places = |server: &RunningServer| places(server, self.measurement);
        let started = self.servers.kill_and_start(self.measurement, &places, self.context);
        Some(started.map(|server| {
            let ready = clock.now();
            control.is_back(ready);
            if let Some(processes) = processes {
                processes.go_on_as(server.processes(), used);
            }
            Restarted { killed, ready }
        }))
    }

    /// Kills the processes of a program that the server has started, and waits until new processes of that name listen
    /// at the same addresses.
    fn of_part(self, program: &str, control: &Control) -> Result<Restarted, String> {
        let Self { servers, measurement, context, .. } = self;
        let clock = context.clock;
        let server = servers.of_mut(measurement).ok_or("it was not started")?;
        let part = server.part(program);
        let places = tcp_addresses(part.pids());
        let killed = clock.now();
        control.killed(killed);
        part.kill();
        control.part_is_gone(clock.now());
        let reason = loop {
            let there = server.part(program);
            if !there.pids().is_empty() && tcp_addresses(there.pids()).is_superset(&places) {
                let ready = clock.now();
                control.is_back(ready);
                return Ok(Restarted { killed, ready });
            }
            if let Some(died) = server.died() {
                break died;
            }
            if control.is_stopped() {
                break "nothing has started it again at its port within the block".to_owned();
            }
            sleep(LOOK_EVERY);
        };
        let reason = format!("{program} was killed by --restart-of, and is not back: {reason}");
        servers.end_without_part(measurement, &reason);
        Err(reason)
    }
}

/// The processes of a server that the restart of a measurement kills; `None` if it kills all, or there is no restart.
///
/// # Errors
///
/// [`RunError::InvalidRequest`]: the server has no such processes, or receivers connect to them, at `receivers`.
pub(crate) fn part_of(
    measurement: &Measurement,
    server: Option<&RunningServer>,
    receivers: &[Address],
    context: Context<'_>,
) -> Result<Option<Part>, RunError> {
    let (Some(program), Some(server)) = (&measurement.spec.restart_of, server) else {
        return Ok(None);
    };
    let since = context.clock.now();
    let refused =
        |reason: String| RunError::InvalidRequest(format!("--restart-of {program}: {reason}"));
    // The server may be ready before all its parts are.
    let part = loop {
        context.check()?;
        let part = server.part(program);
        if !tcp_addresses(part.pids()).is_empty() {
            break part;
        }
        if context.clock.now().since(since) >= PART_STARTS_MAX {
            return Err(refused(match part.pids() {
                [] => format!(
                    "the server has started no program of that name; name one of those that it has: {}",
                    server.programs()
                ),
                _ => "it listens at no TCP port, so its return cannot be detected".to_owned(),
            }));
        }
        sleep(LOOK_EVERY);
    };
    if receivers.iter().any(|address| listens_at(&part, address)) {
        let reason = "receivers connect to it and would be disconnected; use --restart alone";
        return Err(refused(reason.to_owned()));
    }
    Ok(Some(part))
}

/// True if one of these processes listens at an address.
pub(crate) fn listens_at(part: &Part, address: &Address) -> bool {
    let there = listeners(address).unwrap_or_default();
    there.iter().any(|listener| part.pids().contains(&listener.pid))
}

/// The URLs of a server that a measurement uses: its own, and that of publishers, if they connect elsewhere.
fn places(server: &RunningServer, measurement: &Measurement) -> Result<Vec<Endpoint>, String> {
    let scheme = match &measurement.peer {
        Peer::Embedded(embedded) => embedded_server(measurement, embedded).scheme,
        Peer::Given(_) | Peer::Started(_) | Peer::Subject(_) => measurement.peer.scheme(),
    };
    let url = server.url(scheme)?;
    let publishers = publishers::place(measurement, &url, Some(server));
    let publishers = publishers.map_err(|error| error.to_string())?;
    Ok([url].into_iter().chain(publishers).collect())
}

/// The longest time from the readiness of a server until a program that belongs to it listens as well.
const PART_STARTS_MAX: Nanos = Nanos::from_secs(3);
/// The longest time between two checks for the start of the traffic, for its end, and for a program.
const LOOK_EVERY: Nanos = Nanos::from_millis(5);
