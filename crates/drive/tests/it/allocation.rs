//! In steady state a message costs no heap allocation, on the real engine and every transport.

use crate::conversations::{in_bytes, json_rpc, json_rpc_server, talk};
use crate::game;
use crate::secure::Ends;
use crate::world::{Play, Speech};
use drive::{Control, Interval, Observer, Phase, Target, Worker};
use engine::clock::Clock;
use engine::epoll::Epoll;
use engine::{
    Address, Completion, ConnectionError, ConnectionId, Engine, Metered, Node, Segments, run,
};
use load::{Stop, Timeouts};
use serve::game::GameServer;
use serve::{Oracle, Server};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use units::{Instant, Nanos};
use wire::tls::Version;

#[test]
fn a_message_in_steady_state_allocates_nothing() {
    for speech in Speech::ALL {
        let play = Play::new(speech).connections(4).messages(50_000);
        assert_eq!(allocations_of(speech, None, play), 0, "{speech:?}");
    }
}

#[test]
fn an_event_of_a_bot_and_what_is_delivered_to_it_allocate_nothing() {
    let (play, options) = game::at_full_speed();
    let server = |stop| GameServer::new(options, stop);
    assert_eq!(allocations_against(server, play.connections(5).messages(50_000)), 0);
}

#[test]
fn a_message_of_an_open_loop_allocates_nothing_but_what_grows_to_its_bounds() {
    for speech in Speech::ALL {
        for own in [false, true] {
            let play = Play::new(speech).payload(40).connections(4).rate("20k/s").messages(6_000);
            let play = if own { play.own() } else { play };
            // Queues double until they hold what this machine lets pile up.
            let allocations = allocations_of(speech, None, play);
            assert!(allocations < 50, "{allocations} in thousands of messages: {speech:?}");
        }
    }
}

#[test]
fn a_request_of_a_conversation_allocates_nothing() {
    let play = talk(Speech::WebSocketText, json_rpc()).connections(4).messages(50_000);
    let server = |stop| {
        let stack = Speech::WebSocketText.server(None);
        Oracle::new(stack, json_rpc_server(), stop).unwrap()
    };
    assert_eq!(allocations_against(server, play), 0);
    for speech in [Speech::Framed, Speech::WebSocket] {
        let play = talk(speech, in_bytes()).connections(4).messages(50_000);
        assert_eq!(allocations_of(speech, None, play), 0, "{speech:?}");
    }
}

#[test]
fn a_message_inside_tls_costs_a_small_and_steady_number_of_allocations() {
    for version in Version::ALL {
        let ends = Ends::of(version);
        for speech in Speech::ALL {
            let [few, many] = [6_000, 11_000].map(|messages| {
                let play = Play::new(speech).connections(4).messages(messages).inside(&ends.client);
                allocations_of(speech, Some(ends.server.clone()), play)
            });
            // They are 5000 messages apart.
            let each = (many - few) / 5_000;
            println!("{speech:?} inside TLS {version}: {each} allocations for each message");
            assert!(each <= EACH_MAX, "{speech:?} {version}: {few} {many}");
            assert!((few / (6_000 - FIRST - 100)).abs_diff(each) <= 1, "it grows: {few} {many}");
        }
    }
}

#[test]
fn allocations_are_counted() {
    let before = allocations();
    drop(std::hint::black_box(vec![1_u8]));
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(allocations() - before, 2);
}

/// Counts the allocations of the worker's thread from the thousandth message that it sends to one of the last.
fn allocations_of(speech: Speech, tls: Option<wire::tls::Server>, play: Play) -> u64 {
    allocations_against(move |stop| Server::new(speech.server(tls), stop), play)
}

/// The same against any server.
fn allocations_against<N: Node<Epoll>>(
    server: impl FnOnce(Arc<AtomicBool>) -> N + Send + 'static,
    mut play: Play,
) -> u64 {
    let Stop::Messages(messages) = play.workload.phases.stop else { panic!("{play:?}") };
    let messages = messages.get();
    let stop = Arc::new(AtomicBool::new(false));
    let (tell, told) = channel();
    let serving = thread::spawn({
        let stop = Arc::clone(&stop);
        move || listen_and_run(&mut server(stop), &tell)
    });
    let long = Nanos::from_secs(60); // However busy the machine is.
    play.workload.timeouts = Timeouts::all(long);
    let target = Target {
        address: told.recv().unwrap(),
        sources: Vec::new(),
        stack: play.stack(),
        publishers: None,
        lives_on: false,
    };
    let control = Arc::new(Control::new(1));
    let swapping = Swapping { other: Box::new(Interval::new(&play.workload.arrival)) };
    let mut worker = Worker::new(play.workload, target, control, swapping);
    let mut engine = Counting {
        engine: Epoll::new(Clock::start()).unwrap(),
        sends: 0,
        last: messages - 100,
        seen: [0; 2],
    };
    run(&mut engine, &mut worker);
    stop.store(true, Ordering::Relaxed);
    serving.join().unwrap();
    let (outcome, _) = worker.finish();
    assert_eq!((outcome.measured.ok, outcome.errors.len()), (messages, 0));
    engine.seen[1] - engine.seen[0]
}

pub(crate) fn serve(
    speech: Speech,
    tls: Option<wire::tls::Server>,
    stop: Arc<AtomicBool>,
    tell: &Sender<Address>,
) {
    listen_and_run(&mut Server::new(speech.server(tls), stop), tell);
}

fn listen_and_run(server: &mut impl Node<Epoll>, tell: &Sender<Address>) {
    let mut engine = Epoll::new(Clock::start()).unwrap();
    let here = Address::Tcp(([127, 0, 0, 1], 0).into());
    tell.send(engine.listen(&here).unwrap()).unwrap();
    run(&mut engine, server);
}

/// Swaps boxes, as an observer that keeps what it is handed does.
struct Swapping {
    other: Box<Interval>,
}

impl Observer for Swapping {
    fn interval(&mut self, interval: &mut Box<Interval>) {
        std::mem::swap(interval, &mut self.other);
        interval.traffic.clear();
    }

    fn phase(&mut self, _: Phase, _: Instant) {}
}

/// Notes the number of allocations when messages number [`FIRST`] and `last` are sent.
struct Counting {
    engine: Epoll,
    sends: u64,
    last: u64,
    seen: [u64; 2],
}

impl Engine for Counting {
    fn now(&self) -> Instant {
        self.engine.now()
    }

    fn listen(&mut self, address: &Address) -> Result<Address, ConnectionError> {
        self.engine.listen(address)
    }

    fn connect(&mut self, address: &Address, from: Option<IpAddr>) -> ConnectionId {
        self.engine.connect(address, from)
    }

    fn send(&mut self, connection: ConnectionId, bytes: &[u8]) {
        self.sends += 1;
        if self.sends == FIRST {
            self.seen[0] = allocations();
        } else if self.sends == self.last {
            self.seen[1] = allocations();
        }
        self.engine.send(connection, bytes);
    }

    fn unsent(&self, connection: ConnectionId) -> usize {
        self.engine.unsent(connection)
    }

    fn kept(&self) -> usize {
        self.engine.kept()
    }

    fn pause(&mut self, connection: ConnectionId, on: bool) {
        self.engine.pause(connection, on);
    }

    fn shutdown(&mut self, connection: ConnectionId) {
        self.engine.shutdown(connection);
    }

    fn close(&mut self, connection: ConnectionId) {
        self.engine.close(connection);
    }

    fn wait(&mut self, until: Instant) {
        self.engine.wait(until);
    }

    fn stand_still(&mut self, until: Instant) {
        self.engine.stand_still(until);
    }

    fn compute(&mut self, time: Nanos) {
        self.engine.compute(time);
    }

    fn complete(&mut self, rx: &mut [u8]) -> Option<Completion> {
        self.engine.complete(rx)
    }
}

impl Metered for Counting {
    fn arrived(&mut self, now: Instant) -> Option<Instant> {
        self.engine.arrived(now)
    }

    fn segments(&self, connection: ConnectionId) -> Option<Segments> {
        self.engine.segments(connection)
    }
}

/// The maximum number of allocations by rustls and the layer for one record sent and one received.
const EACH_MAX: u64 = 3;

/// The message by which everything that is allocated only once has been allocated.
const FIRST: u64 = 1_000;

/// The number of times this thread has allocated.
fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

/// The result of `work`, and the peak memory of this thread while it ran, beyond what the thread had before.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let done = work();
    (done, usize::try_from(PEAK.get() - before).unwrap())
}

/// The bytes that `work` allocates and does not free, and its result.
pub(crate) fn kept_of<T>(work: impl FnOnce() -> T) -> (T, isize) {
    let before = LIVE.get();
    let done = work();
    (done, LIVE.get() - before)
}

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Bytes allocated and not freed; negative if the thread freed memory that others allocated.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, counted for each thread.
struct Counted;

#[global_allocator]
static COUNTED: Counted = Counted;

impl Counted {
    fn count() {
        // A thread that ends may allocate after its counter is gone.
        let _gone = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
    }

    /// Notes that the thread has `len` bytes more.
    fn weigh(len: isize) {
        let _gone = LIVE.try_with(|live| {
            live.set(live.get() + len);
            let _gone = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
        });
    }
}

#[expect(unsafe_code, reason = "the only way to see allocations")]
// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count();
        Self::weigh(layout.size().cast_signed());
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::weigh(-layout.size().cast_signed());
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::count();
        Self::weigh(layout.size().cast_signed());
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::count();
        Self::weigh(size.cast_signed() - layout.size().cast_signed());
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
