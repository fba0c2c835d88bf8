//! One block: a server, a generator, and a measured window between two readings of both.

use super::driver::{self, Asked, Driver, OwnReport, Transport, Workload};
use super::process::Process;
use super::server::{self, Server};
use super::tools::Tools;
use super::{Bench, Timing};
use anyhow::Result;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A generator, the server it drives, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contestant {
    pub(super) name: &'static str,
    pub(super) driver: Driver,
    pub(super) server: server::Kind,
    pub(super) workload: Workload,
}

/// What a block measured, for each message of a closed loop and for each client of a churn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) per_s: f64,
    pub(super) generator_us: f64,
    pub(super) server_us: f64,
    /// What the generator says of the same.
    pub(super) own: Option<OwnReport>,
}

/// Runs one block with a server of its own.
pub(super) fn run(bench: &Bench, contestant: &Contestant) -> Result<Measured> {
    let Bench { tools, timing, .. } = bench;
    let server = Server::start(contestant.server, tools)?;
    let mut generator = start_generator(contestant, &server, timing, tools)?;
    let (opened, closed) = match contestant.workload {
        Workload::Closed { .. } => closed_window(&mut generator, &server, timing)?,
        Workload::Churn { clients, .. } => churn_window(&mut generator, &server, clients)?,
    };
    let printed = generator.finish(Duration::from_secs(30))?;
    let own = driver::own_report(contestant.driver, &printed)?;
    Ok(Measured { own, ..closed.since(&opened, contestant.workload) })
}

fn start_generator(
    contestant: &Contestant,
    server: &Server,
    timing: &Timing,
    tools: &Tools,
) -> Result<Process> {
    let transport = match contestant.server {
        server::Kind::TcpEpoll | server::Kind::TcpUring => Transport::Tcp,
        server::Kind::WebSocketEpoll => Transport::WebSocket,
        server::Kind::Nginx => Transport::Http,
    };
    let asked = Asked { transport, workload: contestant.workload, address: server.address, timing };
    Process::start(
        "generator",
        driver::CORE,
        &asked.command(contestant.driver, tools),
        &tools.scratch,
    )
}

/// Opens after the warm-up, which begins with the first message, and closes when its time is over.
fn closed_window(
    generator: &mut Process,
    server: &Server,
    timing: &Timing,
) -> Result<(Reading, Reading)> {
    // The status page counts itself: a few requests are not yet a first message.
    let begun = server.counts()?.messages + 50;
    generator.wait_for("the first message", Duration::from_secs(30), |_| {
        Ok((server.counts()?.messages > begun).then_some(()))
    })?;
    sleep(timing.warm_up);
    let opened = Reading::take(generator, server)?;
    sleep(timing.measured);
    let closed = Reading::take(generator, server)?;
    generator.check_at_work()?;
    Ok((opened, closed))
}

/// Opens when a tenth of the clients have come and closes when nine tenths have: start and end stay outside.
fn churn_window(
    generator: &mut Process,
    server: &Server,
    clients: u32,
) -> Result<(Reading, Reading)> {
    let mut wait_for = |share: u64, patience| {
        let clients = u64::from(clients) * share / 10;
        generator.wait_for("enough clients", patience, |generator| {
            let reading = Reading::take(generator, server)?;
            Ok((reading.counts.connections >= clients).then_some(reading))
        })
    };
    Ok((wait_for(1, Duration::from_secs(30))?, wait_for(9, Duration::from_secs(120))?))
}

/// Both ends of a block at one instant.
struct Reading {
    at: Instant,
    counts: server::Counts,
    generator: Duration,
    server: Duration,
}

impl Reading {
    fn take(generator: &Process, server: &Server) -> Result<Self> {
        let counts = server.counts()?;
        Ok(Self {
            at: Instant::now(),
            counts,
            generator: generator.cpu()?,
            server: server.process.cpu()?,
        })
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "statistics; counts of a block are far below 2^53"
    )]
    fn since(&self, opened: &Self, workload: Workload) -> Measured {
        let count = match workload {
            Workload::Closed { .. } => self.counts.messages - opened.counts.messages,
            Workload::Churn { .. } => self.counts.connections - opened.counts.connections,
        } as f64;
        let us_for_each = |now: Duration, then: Duration| (now - then).as_secs_f64() * 1e6 / count;
        Measured {
            per_s: count / (self.at - opened.at).as_secs_f64(),
            generator_us: us_for_each(self.generator, opened.generator),
            server_us: us_for_each(self.server, opened.server),
            own: None,
        }
    }
}
