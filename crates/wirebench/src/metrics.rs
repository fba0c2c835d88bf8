//! `--metrics ADDRESS`: the numbers of a run, for Prometheus to scrape while it goes on.
//!
//! A thread adds up what the feed tells, and another one answers HTTP, one request at a time. Neither is waited for by
//! those who measure: a feed that is not read drops intervals, and a metric says how many.

use crate::exit::Failure;
use engine::thread::{self, ThreadError};
use report::Exposed;
use run::{Event, Feed, Listener, Measured, Tick};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
use std::time::Duration;

/// A place where a run can be scraped.
#[derive(Debug)]
pub(crate) struct Metrics {
    socket: TcpListener,
    address: SocketAddr,
    state: Mutex<State>,
    is_over: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    measured: Measured,
    /// By measurement, the messages that are due each second in its block of last.
    due_per_s: BTreeMap<Arc<str>, f64>,
    block: (usize, usize),
    dropped: u64,
}

impl Metrics {
    /// Listens at `address`.
    ///
    /// # Errors
    ///
    /// The address is taken, or none of this machine.
    pub(crate) fn listen(address: SocketAddr) -> Result<Self, Failure> {
        let cannot = |error: io::Error| {
            Failure::usage(format!(
                "--metrics: cannot listen at {address}: {error}; name another one, as in 127.0.0.1:0"
            ))
        };
        let socket = TcpListener::bind(address).map_err(cannot)?;
        let address = socket.local_addr().map_err(cannot)?;
        let (state, is_over) = (Mutex::default(), AtomicBool::new(false));
        Ok(Self { socket, address, state, is_over })
    }

    /// The URL to scrape.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }

    /// Answers until `feed` ends.
    ///
    /// # Errors
    ///
    /// A thread cannot be started.
    pub(crate) fn serve<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        feed: &Feed,
    ) -> Result<(), ThreadError> {
        let listener = feed.listen();
        thread::start_scoped(scope, "metrics", move || self.follow(listener))?;
        thread::start_scoped(scope, "scrapes", || self.answer_all())?;
        Ok(())
    }

    /// Adds up what is told, and ends the other thread.
    fn follow(&self, mut listener: Listener) {
        while let Some(event) = listener.next() {
            let mut state = self.state();
            state.dropped = listener.dropped();
            if let Event::Interval(tick) = event {
                state.add(&tick);
            }
        }
        self.is_over.store(true, Ordering::Relaxed);
        #[expect(clippy::disallowed_types, reason = "it wakes the thread that accepts")]
        std::net::TcpStream::connect(self.address).ok();
    }

    fn answer_all(&self) {
        while !self.is_over.load(Ordering::Relaxed) {
            let Ok((stream, _)) = self.socket.accept() else { break };
            let patience = Some(PATIENCE);
            let is_set = stream.set_read_timeout(patience);
            let is_set = is_set.and_then(|()| stream.set_write_timeout(patience));
            // A client that goes away, or says nothing, gets no answer.
            is_set.and_then(|()| self.answer(stream)).ok();
        }
    }

    fn answer(&self, mut stream: impl Read + Write) -> io::Result<()> {
        let mut head = Vec::new();
        let mut some = [0; 1024];
        while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < HEAD_MAX {
            match stream.read(&mut some)? {
                0 => break,
                len => head.extend_from_slice(&some[..len]),
            }
        }
        let is_asked = [&b"GET /metrics "[..], b"GET / "].iter().any(|ask| head.starts_with(ask));
        let (status, body) = match is_asked {
            true => ("200 OK", self.state().text()),
            false => ("404 Not Found", "there is nothing but GET /metrics\n".to_owned()),
        };
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, tick: &Tick) {
        self.block = tick.block;
        self.measured.add(tick);
        if let Some(due) = tick.due_per_s {
            self.due_per_s.insert(Arc::clone(&tick.name), due);
        }
    }

    fn text(&self) -> String {
        let exposed = |(name, traffic)| {
            let due_per_s = self.due_per_s.get(name).copied();
            Exposed { name, due_per_s, traffic }
        };
        let all: Vec<Exposed<'_>> = self.measured.iter().map(exposed).collect();
        report::prometheus(&all, self.block, self.dropped)
    }
}

/// The longest time that a client may take to ask, and to read.
const PATIENCE: Duration = Duration::from_secs(1);
/// The longest head of a request.
const HEAD_MAX: usize = 8 << 10;
