//! The feed of a run: intervals and events during the run, for every view that shows them; and the commands in the
//! other direction.
//!
//! A view is a [`Listener`] on a thread of its own. It never slows a run down: its queue is bounded, and when it is too
//! slow, intervals are dropped, the oldest first, and counted. Without a listener nothing is collected.
//!
//! Start reading at [`Event`].

use drive::Phase;
use record::{Block, Environment, Traffic, Warning};
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use units::{Instant, Nanos, Rate};

/// An event of a run.
#[derive(Clone, Debug)]
pub enum Event {
    /// The facts about the machine have been read.
    Machine(Arc<Environment>),
    /// The servers are up, verified, and the first block begins.
    Begin {
        /// The approximate time from now to the end of the last block.
        expected: Nanos,
    },
    /// About a fifth of a second of a block is over.
    Interval(Arc<Tick>),
    /// A block is done.
    Block {
        /// The name of its measurement.
        name: Arc<str>,
        /// Its results.
        block: Arc<Block>,
        /// Its index, from 0.
        index: usize,
        /// The number of blocks that there will be.
        total: usize,
    },
    /// A warning, which is in the record too.
    Warning(Warning),
    /// The set-up is waiting for something that takes longer than a moment, or agents have a message.
    Waiting(Arc<str>),
    /// An open loop fell far behind its schedule; sent once per block, as soon as it is detected.
    Behind(Behind),
}

/// About a fifth of a second of a block: the traffic of all workers in it.
#[derive(Clone, Debug)]
pub struct Tick {
    /// The name of the measurement.
    pub name: Arc<str>,
    /// The index of the block, from 0, and the number of blocks.
    pub block: (usize, usize),
    /// The phase in which it ended.
    pub phase: Phase,
    /// The start of its first interval.
    pub start: Instant,
    /// The end of its last interval; instants count from the start of the run.
    pub end: Instant,
    /// Messages due per second while messages flow; `None` in a closed loop.
    pub due_per_s: Option<f64>,
    /// True if the run can follow a request for another rate ([`RateWish`]).
    pub has_rate: bool,
    /// The messages, times and bytes of all workers.
    pub traffic: Traffic,
    /// The cores that were kept busy in that time.
    pub cores: Cores,
}

/// Cores that each side kept busy; `None` where unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cores {
    /// All threads of this program.
    pub generator: Option<f64>,
    /// The processes of the server that existed when the block began.
    pub server: Option<f64>,
}

/// The lag of an open loop behind its schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Behind {
    /// Messages due per second.
    pub asked_per_s: f64,
    /// Replies per second.
    pub achieved_per_s: f64,
    /// The share of the last second during which each of our threads was busy, on average, 0 to 1.
    pub generator_busy: f64,
}

impl Behind {
    /// True if the generator is the bottleneck, rather than the server or the path to it.
    pub fn generator_is_full(&self) -> bool {
        self.generator_busy >= 0.9
    }
}

/// Names the side that cannot carry the load, and the next thing to do.
impl fmt::Display for Behind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked_per_s, achieved_per_s, generator_busy } = self;
        let busy = generator_busy.min(1.0) * 100.0;
        let (who, next) = if self.generator_is_full() {
            ("this generator is at its limit", "lower the rate, or give it more --threads")
        } else {
            ("the server cannot keep up", "lower the rate, or look at the server")
        };
        write!(
            f,
            "{asked_per_s:.0} messages/s are due, {achieved_per_s:.0} replies/s arrive: {who} (our threads are busy \
             for {busy:.0} % of the time); {next}"
        )
    }
}

/// The writing end of the feed, used by a run. The feed ends when this is dropped.
#[derive(Debug, Default)]
pub struct Feed {
    queues: Mutex<Vec<Arc<Queue>>>,
}

/// The reading end of the feed, used by a view.
#[derive(Debug)]
pub struct Listener {
    queue: Arc<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Event>,
    /// The number of intervals among the events.
    intervals: usize,
    dropped: u64,
    is_closed: bool,
}

impl Feed {
    /// A new listener, which receives everything from now on.
    pub fn listen(&self) -> Listener {
        let queue = Arc::<Queue>::default();
        lock(&self.queues).push(Arc::clone(&queue));
        Listener { queue }
    }

    /// Sends every listener a message from the machines that carry out the run instead of this one.
    pub fn say(&self, words: &str) {
        self.tell(&Event::Waiting(words.into()));
    }

    /// Sends every listener an interval that other machines measured.
    pub fn interval(&self, tick: Tick) {
        self.tell(&Event::Interval(Arc::new(tick)));
    }

    /// True if there is any listener.
    pub(crate) fn is_heard(&self) -> bool {
        !lock(&self.queues).is_empty()
    }

    /// Sends an event to every listener, and forgets listeners that are gone.
    pub(crate) fn tell(&self, event: &Event) {
        lock(&self.queues).retain(|queue| {
            lock(&queue.state).push(event.clone());
            queue.changed.notify_one();
            Arc::strong_count(queue) > 1
        });
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        for queue in lock(&self.queues).drain(..) {
            lock(&queue.state).is_closed = true;
            queue.changed.notify_one();
        }
    }
}

impl State {
    fn push(&mut self, event: Event) {
        if let Event::Interval(_) = event {
            self.intervals += 1;
        }
        self.events.push_back(event);
        let is_interval = |event: &Event| matches!(event, Event::Interval(_));
        if self.intervals > INTERVALS_MAX {
            let oldest = self.events.iter().position(is_interval);
            self.drop_event(oldest.unwrap_or(0));
        } else if self.events.len() > EVENTS_MAX {
            self.drop_event(0);
        }
    }

    fn drop_event(&mut self, index: usize) {
        if let Some(Event::Interval(_)) = self.events.remove(index) {
            self.intervals -= 1;
        }
        self.dropped += 1;
    }
}

impl Listener {
    /// The number of events that were dropped because this listener was too slow.
    pub fn dropped(&self) -> u64 {
        lock(&self.queue.state).dropped
    }
}

/// The result of a wait for an event.
#[derive(Clone, Debug)]
pub enum Heard {
    /// An event.
    Event(Event),
    /// No event arrived in that time.
    Nothing,
    /// No event is left and none will arrive: the run is over.
    Over,
}

impl Listener {
    /// Waits for the next event, for at most `most`.
    pub fn wait(&self, most: Nanos) -> Heard {
        let state = lock(&self.queue.state);
        let is_idle = |state: &mut State| state.events.is_empty() && !state.is_closed;
        let waited = self.queue.changed.wait_timeout_while(state, most.into(), is_idle);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match state.events.pop_front() {
            Some(event) => {
                state.intervals -= usize::from(matches!(event, Event::Interval(_)));
                Heard::Event(event)
            }
            None if state.is_closed => Heard::Over,
            None => Heard::Nothing,
        }
    }
}

/// The events, each awaited; none after the end of the run.
impl Iterator for Listener {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            match self.wait(Nanos::from_secs(60)) {
                Heard::Event(event) => return Some(event),
                Heard::Nothing => {}
                Heard::Over => return None,
            }
        }
    }
}

/// A request for another rate, which a run checks ten times per second. A new request replaces one that has not been
/// seen yet.
#[derive(Debug, Default)]
pub struct RateWish {
    rate: Mutex<Option<Rate>>,
}

impl RateWish {
    /// Asks for `rate` from now to the end of the block. Only an open loop of messages (`--rate`) can follow; any other
    /// load, and a run between two blocks, is unaffected.
    pub fn ask(&self, rate: Rate) {
        *lock(&self.rate) = Some(rate);
    }

    /// Takes the requested rate, so that it is returned only once.
    pub(crate) fn take(&self) -> Option<Rate> {
        lock(&self.rate).take()
    }
}

/// The commands to a running run: the only way to influence it from outside.
#[derive(Clone, Copy, Debug)]
pub struct Commands<'a> {
    /// The number of the signal that asks to stop; 0 if none did. A signal handler can store it.
    stop: &'a AtomicUsize,
    rate: Option<&'a RateWish>,
}

impl<'a> Commands<'a> {
    /// Commands whose stop flag is `stop`: the number of a signal, 0 for none.
    pub const fn new(stop: &'a AtomicUsize) -> Self {
        Self { stop, rate: None }
    }

    /// The same commands with requests for another rate.
    #[must_use]
    pub const fn with_rate(self, rate: &'a RateWish) -> Self {
        Self { rate: Some(rate), ..self }
    }

    /// The requests for another rate, if the caller can make any.
    pub(crate) const fn rate_wish(&self) -> Option<&'a RateWish> {
        self.rate
    }

    /// Asks the run to stop, like a signal of this number. Its record is then a partial one.
    pub fn stop(&self, signal: usize) {
        self.stop.store(signal, Ordering::Relaxed);
    }

    /// The stop flag, for code that waits for something else.
    pub(crate) const fn stop_flag(&self) -> &'a AtomicUsize {
        self.stop
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked left a consistent state: every change is one assignment or one call.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most intervals that wait for a listener: more than a second's worth, at most 1.3 MB each.
const INTERVALS_MAX: usize = 16;
/// The most events that wait for a listener.
const EVENTS_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(tenth: u64) -> Event {
        Event::Interval(Arc::new(Tick {
            name: "echo".into(),
            block: (0, 1),
            phase: Phase::Measure,
            start: Instant(tenth),
            end: Instant(tenth + 1),
            due_per_s: None,
            has_rate: false,
            traffic: Traffic::default(),
            cores: Cores::default(),
        }))
    }

    fn begin(expected: u64) -> Event {
        Event::Begin { expected: Nanos(expected) }
    }

    /// The starts of intervals, and the times of other events, plus a thousand.
    fn heard(listener: Listener) -> Vec<u64> {
        let number = |event| match event {
            Event::Interval(tick) => tick.start.0,
            Event::Begin { expected } => 1000 + expected.0,
            other @ (Event::Machine(_)
            | Event::Block { .. }
            | Event::Warning(_)
            | Event::Waiting(_)
            | Event::Behind(_)) => panic!("{other:?}"),
        };
        listener.map(number).collect()
    }

    #[test]
    fn a_slow_listener_misses_the_oldest_intervals_and_no_other_event() {
        let feed = Feed::default();
        let slow = feed.listen();
        feed.tell(&begin(1));
        (0..20).for_each(|tenth| feed.tell(&tick(tenth)));
        feed.tell(&begin(2));
        assert_eq!(slow.dropped(), 4);
        assert!(matches!(feed.listen().wait(Nanos::ZERO), Heard::Nothing));
        drop(feed);
        let mut expected = vec![1001];
        expected.extend(4..20);
        expected.push(1002);
        assert_eq!(heard(slow), expected);
    }

    #[test]
    fn each_listener_hears_what_comes_after_it_began() {
        let feed = Feed::default();
        assert!(!feed.is_heard());
        let first = feed.listen();
        feed.tell(&begin(1));
        let second = feed.listen();
        feed.tell(&begin(2));
        drop(first);
        feed.tell(&begin(3));
        assert!(feed.is_heard());
        let hearing = std::thread::spawn(|| heard(second));
        feed.tell(&begin(4));
        drop(feed);
        assert_eq!(hearing.join().unwrap(), [1002, 1003, 1004]);
    }

    #[test]
    fn the_side_that_cannot_carry_the_load_is_named_with_the_next_thing_to_do() {
        let said = |generator_busy| {
            Behind { asked_per_s: 10e6, achieved_per_s: 812_345.6, generator_busy }.to_string()
        };
        assert_eq!(
            said(0.98),
            "10000000 messages/s are due, 812346 replies/s arrive: this generator is at its limit (our threads are \
             busy for 98 % of the time); lower the rate, or give it more --threads"
        );
        assert!(said(0.3).contains("the server cannot keep up"));
        assert!(said(1.02).contains("busy for 100 %"), "readings differ a little");
    }

    #[test]
    fn a_listener_that_never_reads_has_a_bound_for_events_too() {
        let feed = Feed::default();
        let listener = feed.listen();
        (0..1500).for_each(|index| feed.tell(&begin(index)));
        assert_eq!(listener.dropped(), 1500 - EVENTS_MAX as u64);
        drop(feed);
        assert_eq!(heard(listener).len(), EVENTS_MAX);
    }
}
