//! A client on tokio, for any library: one thread, a task for each connection. Chosen: `TCP_NODELAY`.
//!
//! Start reading at [`main`]; what every client does is in `rust/contract.rs`.

use std::cell::RefCell;
use std::future::Future;
use std::net::{SocketAddr, ToSocketAddrs};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local};

#[path = "../rust/contract.rs"]
mod contract;

pub(crate) use contract::AnyError;
use contract::{Block, Result, Seen};

/// A message or a reply.
#[derive(Clone, PartialEq)]
pub(crate) struct Message {
    pub(crate) is_text: bool,
    pub(crate) payload: Bytes,
}

/// A connection of some library.
pub(crate) trait Connection: Sized + 'static {
    /// The scheme of its URLs.
    const SCHEME: &str = "ws";
    /// True if there is a handshake after the connect.
    const SHAKES_HANDS: bool = true;

    /// Opens it on `stream`. Without framing, a reply has `reply_len` bytes.
    fn open(url: &str, stream: TcpStream, reply_len: usize) -> impl Future<Output = Result<Self>>;
    /// Sends `message` and returns the reply.
    fn round_trip(&mut self, message: Message) -> impl Future<Output = Result<Message>>;
    /// Closes properly, and waits until the other end has closed too.
    fn close(self) -> impl Future<Output = Result<()>>;
}

/// The whole program of one library, whose version is in the lock file.
pub(crate) fn main<C: Connection>(library: &str, lock: &str) -> Result<()> {
    contract::main(library, lock, |settings| {
        let settings = Rc::new(Settings::new(settings, C::SCHEME)?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(move |block| {
            let settings = Rc::clone(&settings);
            let run = Run { settings, block, seen: RefCell::default() };
            LocalSet::new().block_on(&runtime, run_block::<C>(Rc::new(run)))
        })
    })
}

struct Settings {
    url: String,
    address: SocketAddr,
    connections: usize,
    /// Round trips of a connection; without it, the connection stays.
    life: Option<u64>,
    message: Message,
    expect: Message,
}

impl Settings {
    fn new(settings: contract::Settings, scheme: &str) -> Result<Self> {
        let contract::Settings { url, connections, life, is_text, payload, expect } = settings;
        let authority = url.strip_prefix(scheme).and_then(|rest| rest.strip_prefix("://"));
        let authority = authority
            .ok_or_else(|| format!("not {scheme}: {url}"))?
            .split('/')
            .next()
            .unwrap_or_default();
        Ok(Self {
            address: authority.to_socket_addrs()?.next().ok_or("a host without an address")?,
            connections,
            life,
            message: Message { is_text, payload: payload.into() },
            expect: Message { is_text, payload: expect.into() },
            url,
        })
    }
}

/// One block, and what has been seen of it; one thread, so a plain cell.
struct Run {
    settings: Rc<Settings>,
    block: Block,
    seen: RefCell<Seen>,
}

/// One block: opens, warms up, measures, closes, reports.
async fn run_block<C: Connection>(run: Rc<Run>) -> Result<()> {
    let mut opened = Vec::new();
    for _ in 0..run.settings.connections {
        opened.push(match run.settings.life {
            Some(_) => None,
            None => run.connect::<C>(true).await.inspect_err(|error| run.failed(error)).ok(),
        });
    }
    let lane = |peer| spawn_local(drive::<C>(Rc::clone(&run), peer));
    let tasks: Vec<_> = opened.into_iter().map(lane).collect();
    if !run.block.warm_up.is_zero() {
        tokio::time::sleep(run.block.warm_up).await;
    }
    let cpu = run.block.measure()?;
    let mut open = Vec::new();
    for task in tasks {
        open.extend(task.await?);
    }
    let cpu = run.block.measured(cpu)?;
    for peer in open {
        run.close(peer, true).await;
    }
    contract::report(&run.block, &[run.seen.take()], cpu)
}

/// Drives one of the places for a connection until the block is over; returns the connection that stayed.
async fn drive<C: Connection>(run: Rc<Run>, mut peer: Option<C>) -> Option<C> {
    let Some(life) = run.settings.life else {
        let stayed = peer.as_mut()?;
        return match run.exchange(stayed, u64::MAX).await {
            Ok(_) => peer,
            Err(error) => {
                run.failed(&error);
                None
            }
        };
    };
    let mut lost = 0;
    while lost < LOST_MAX && run.block.may_live(run.block.now()) {
        if let Err(error) = run.live::<C>(life).await {
            run.failed(&error);
            lost += 1;
        }
    }
    None
}

impl Run {
    async fn live<C: Connection>(&self, life: u64) -> Result<()> {
        let began = self.block.now();
        let counts = self.block.counts(began);
        let mut peer = self.connect::<C>(counts).await?;
        let is_whole = self.exchange(&mut peer, life).await?;
        if counts && is_whole {
            let time = self.block.now() - began;
            self.seen.borrow_mut().lives.push(time);
        }
        self.close(peer, counts).await;
        Ok(())
    }

    /// Makes `count` round trips, one after the other; false: the block was over before.
    async fn exchange<C: Connection>(&self, peer: &mut C, count: u64) -> Result<bool> {
        for _ in 0..count {
            let sent = self.block.now();
            if !self.block.may_send(sent) {
                return Ok(false);
            }
            let reply = peer.round_trip(self.settings.message.clone()).await?;
            let received = self.block.now();
            if reply != self.settings.expect {
                return Err("another reply than was expected".into());
            }
            if self.block.counts(sent) {
                let mut seen = self.seen.borrow_mut();
                seen.round_trips.push(received - sent);
                seen.last = received;
            }
        }
        Ok(true)
    }

    async fn connect<C: Connection>(&self, counts: bool) -> Result<C> {
        let before = self.block.now();
        let stream = TcpStream::connect(self.settings.address).await?;
        stream.set_nodelay(true)?;
        let connected = self.block.now();
        let peer = C::open(&self.settings.url, stream, self.settings.expect.payload.len()).await?;
        if counts {
            let mut seen = self.seen.borrow_mut();
            seen.connects.push(connected - before);
            if C::SHAKES_HANDS {
                seen.handshakes.push(self.block.now() - connected);
            }
        }
        Ok(peer)
    }

    async fn close<C: Connection>(&self, peer: C, counts: bool) {
        let before = self.block.now();
        let closed = tokio::time::timeout(CLOSE_MAX, peer.close()).await;
        match closed.map_err(AnyError::from).and_then(|closed| closed) {
            Ok(()) if counts => self.seen.borrow_mut().closes.push(self.block.now() - before),
            Ok(()) => {}
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&self, error: &AnyError) {
        self.seen.borrow_mut().failed(error);
    }
}

/// Clients in a row that may fail before a place gives up.
const LOST_MAX: u32 = 100;
/// The longest wait for the other end's Close.
const CLOSE_MAX: Duration = Duration::from_secs(5);
