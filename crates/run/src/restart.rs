//! The restart of a server in the middle of a block: it is killed when the load says so, and started again at once.
//!
//! A thread of its own does it, so that workers and their collector go on meanwhile: they know the instants from
//! [`Control`]. Left out: receivers that come back, which is up to workers (crate `drive`).

use crate::children::processes::Processes;
use crate::children::servers::{RunningServer, Servers, embedded_server};
use crate::plan::{Measurement, Peer};
use crate::publishers;
use crate::reach::Context;
use drive::Control;
use engine::clock::sleep;
use spec::Endpoint;
use units::{Instant, Nanos};

/// A restart that is to come.
pub(crate) struct Restart<'a> {
    servers: &'a mut Servers,
    measurement: &'a Measurement,
    /// Time from the begin of the traffic to the kill.
    after: Nanos,
    context: Context<'a>,
}

/// A restart that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Restarted {
    /// The instant at which the server was killed.
    pub(crate) killed: Instant,
    /// The instant at which it was ready again.
    pub(crate) ready: Instant,
}

impl<'a> Restart<'a> {
    /// The restart that the load of a measurement asks for, of one of these servers; `None` if it asks for none.
    pub(crate) fn of(
        measurement: &'a Measurement,
        servers: &'a mut Servers,
        context: Context<'a>,
    ) -> Option<Self> {
        let restart = measurement.workload.rooms?.all().conduct.restart?;
        let after = measurement.workload.phases.warm_up + restart;
        Some(Self { servers, measurement, after, context })
    }

    /// Waits for its time, kills the server, whose processes these are, and starts it again; `None` if the workers end
    /// before.
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
}

/// The URLs of a server that a measurement uses: its own, and that of publishers which connect elsewhere.
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

/// The longest time between two looks for the begin of the traffic, and for its end.
const LOOK_EVERY: Nanos = Nanos::from_millis(5);
