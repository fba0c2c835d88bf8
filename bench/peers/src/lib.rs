//! A closed loop over WebSocket connections, whichever library they come from.
//!
//! Like the floor programs: N connections on one thread, one message in flight on each, two clock reads for each
//! message, every echo compared, and one `RESULT` line for the measured time only.

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use std::cell::Cell;
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

/// A WebSocket connection of some library.
pub trait Connection: Sized + 'static {
    /// Upgrades `stream`.
    fn upgrade(url: String, stream: TcpStream) -> impl Future<Output = Result<Self>>;
    /// Sends `message` as binary and gives back what came in return.
    fn round_trip(&mut self, message: Bytes) -> impl Future<Output = Result<Bytes>>;
}

/// `ADDRESS CONNECTIONS SIZE WARM_UP_SECONDS SECONDS`
struct Arguments {
    address: SocketAddr,
    connections: usize,
    size: usize,
    warm_up: Duration,
    measured: Duration,
}

impl Arguments {
    fn parse() -> Result<Self> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        ensure!(words.len() == 5, "usage: ADDRESS CONNECTIONS SIZE WARM_UP_SECONDS SECONDS");
        Ok(Self {
            address: words[0].parse().context("ADDRESS")?,
            connections: words[1].parse().context("CONNECTIONS")?,
            size: words[2].parse().context("SIZE")?,
            warm_up: Duration::try_from_secs_f64(words[3].parse().context("WARM_UP_SECONDS")?)?,
            measured: Duration::try_from_secs_f64(words[4].parse().context("SECONDS")?)?,
        })
    }
}

/// What all connections have done so far; one thread, so plain cells.
#[derive(Default)]
struct Totals {
    round_trips: Cell<u64>,
    round_trip_ns: Cell<u64>,
    errors: Cell<u64>,
}

/// The whole program of one library.
pub fn main<C: Connection>() -> Result<()> {
    let arguments = Arguments::parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, drive::<C>(arguments))
}

async fn drive<C: Connection>(arguments: Arguments) -> Result<()> {
    let totals = Rc::new(Totals::default());
    let message = Bytes::from(
        (0..arguments.size).map(|index| b"PingPongpingpong"[index % 16]).collect::<Vec<u8>>(),
    );
    let mut connections = Vec::new();
    for _ in 0..arguments.connections {
        let stream = TcpStream::connect(arguments.address).await?;
        stream.set_nodelay(true)?;
        connections.push(C::upgrade(format!("ws://{}/", arguments.address), stream).await?);
    }
    for connection in connections {
        tokio::task::spawn_local(closed_loop(connection, message.clone(), Rc::clone(&totals)));
    }
    tokio::time::sleep(arguments.warm_up).await;
    let before = Reading::take(&totals);
    tokio::time::sleep(arguments.measured).await;
    let after = Reading::take(&totals);
    ensure!(totals.errors.get() == 0, "{} connections failed", totals.errors.get());
    println!("{}", after.since(&before));
    Ok(())
}

async fn closed_loop<C: Connection>(mut connection: C, message: Bytes, totals: Rc<Totals>) {
    loop {
        let sent = Instant::now();
        let reply = connection.round_trip(message.clone()).await;
        if !reply.is_ok_and(|reply| reply == message) {
            totals.errors.set(totals.errors.get() + 1);
            return;
        }
        let took = u64::try_from(sent.elapsed().as_nanos()).unwrap_or(u64::MAX);
        totals.round_trip_ns.set(totals.round_trip_ns.get() + took);
        totals.round_trips.set(totals.round_trips.get() + 1);
    }
}

/// The totals and the CPU time of this process at one instant.
struct Reading {
    at: Instant,
    round_trips: u64,
    round_trip_ns: u64,
    user_s: f64,
    system_s: f64,
}

impl Reading {
    fn take(totals: &Totals) -> Self {
        // SAFETY: `rusage` is plain numbers, and getrusage fills it or leaves it zero.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
            usage
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Self {
            at: Instant::now(),
            round_trips: totals.round_trips.get(),
            round_trip_ns: totals.round_trip_ns.get(),
            user_s: seconds(usage.ru_utime),
            system_s: seconds(usage.ru_stime),
        }
    }

    fn since(&self, earlier: &Self) -> String {
        let round_trips = self.round_trips - earlier.round_trips;
        let seconds = (self.at - earlier.at).as_secs_f64();
        let mean_us =
            (self.round_trip_ns - earlier.round_trip_ns) as f64 / round_trips as f64 / 1e3;
        let rate = round_trips as f64 / seconds;
        let (user_s, sys_s) = (self.user_s - earlier.user_s, self.system_s - earlier.system_s);
        format!("RESULT rts={round_trips} secs={seconds:.3} rate={rate:.0} mean_us={mean_us:.2} ")
            + &format!("user_s={user_s:.3} sys_s={sys_s:.3} errs=0")
    }
}
