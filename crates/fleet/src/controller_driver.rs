//! The controller's driver: connects the state machine with the bus and with the executor, which asks it for one block
//! after another.
//!
//! The state machine has a thread of its own, so that it is never late for a beat while the executor judges a block.
//!
//! Start reading at [`Lead::begin`].

use crate::bus::BusEvent;
use crate::controller::{Action, Controller, Event, Options};
use crate::ledger::Closed;
use crate::live::{Second, Seconds};
use crate::merge::Together;
use crate::nats::{Bus, Heard, Order};
use crate::protocol::{BlockWork, Live, Name, Why, limits};
use crate::words::Word;
use engine::clock::Clock;
use engine::thread;
use record::PartEnd;
use run::{Asked, Elsewhere, Feed, Merged, Phase, RunError};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use units::{Instant, Nanos};

/// An input of the state machine.
#[derive(Debug)]
pub enum In {
    /// News from the bus.
    Heard(Heard),
    /// The work of the block with this number.
    Work(u32, BlockWork),
    /// No block is left.
    Done,
    /// The run should stop.
    Stop,
}

/// An output of the state machine, for the executor.
#[derive(Clone, Debug)]
enum Back {
    /// The work of this block is wanted: earlier blocks are closed.
    Wants(u32),
    /// A block is closed. It may be repeated.
    Closed(Box<Closed>),
    /// A block begins this long from now.
    Begins(Nanos),
    /// A second of a block is over.
    Second(Box<Second>),
    /// Words for the user.
    Say(String),
    /// The run is over.
    Ended(Why),
    /// The server no longer lets us in.
    Over(String),
}

/// A controller that leads a run, as the executor sees it.
#[derive(Debug)]
pub struct Lead<'a> {
    feed: &'a Feed,
    run: Name,
    tell: Sender<In>,
    told: Receiver<Back>,
    /// The number of the next block.
    next: u32,
    closed: Vec<Closed>,
    wants: Option<u32>,
    /// The end of the run in words; an error if only this controller has ended.
    ended: Option<Result<String, String>>,
    /// True if the run was stopped, here or elsewhere.
    was_stopped: bool,
    begins: Option<(Instant, Nanos)>,
    /// Seconds that are waiting to be shown.
    seconds: Vec<Second>,
}

impl<'a> Lead<'a> {
    /// Leads the run of `options` on `bus`, which sends what it hears into the first end of the channel. Sends words to
    /// `feed`.
    ///
    /// # Errors
    ///
    /// The thread cannot be started.
    pub fn begin(
        options: Options,
        bus: Bus,
        (tell, told): (Sender<In>, Receiver<In>),
        feed: &'a Feed,
    ) -> Result<Self, RunError> {
        let (back, hears) = channel();
        let run = options.run.clone();
        let live = add_up(run.clone(), back.clone())?;
        thread::start("controller", move || lead(options, &bus, &told, &back, &live))?;
        Ok(Self {
            feed,
            run,
            tell,
            told: hears,
            next: 0,
            closed: Vec::new(),
            wants: None,
            ended: None,
            was_stopped: false,
            begins: None,
            seconds: Vec::new(),
        })
    }

    /// Ends the run, because no block is left, and waits until the end is in the log. Returns the end in words; `None`
    /// if it did not arrive in time.
    ///
    /// # Errors
    ///
    /// The reason, in words, why this controller cannot end it.
    pub fn finish(mut self) -> Result<Option<String>, String> {
        drop(self.tell.send(In::Done));
        let clock = Clock::start();
        while self.ended.is_none() && clock.now().0 < END_MAX.0 {
            self.hear(Nanos::from_millis(100), clock.now());
        }
        self.ended.transpose()
    }

    /// Takes the next output of the state machine; waits for it at most `most`.
    fn hear(&mut self, most: Nanos, now: Instant) {
        match self.told.recv_timeout(most.into()) {
            Ok(Back::Wants(block)) => self.wants = Some(block),
            Ok(Back::Closed(closed)) => self.closed.push(*closed),
            Ok(Back::Begins(in_time)) => self.begins = Some((now, in_time)),
            Ok(Back::Second(second)) => self.seconds.push(*second),
            Ok(Back::Say(words)) => self.feed.say(&words),
            Ok(Back::Ended(why)) => {
                self.was_stopped = why == Why::Stopped;
                self.ended = Some(Ok(Word::Ended(why).to_string()));
            }
            Ok(Back::Over(words)) => self.ended = Some(Err(words)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                self.ended.get_or_insert_with(|| Err("its controller has ended".to_owned()));
            }
        }
    }

    /// Passes the seconds of `block` that have arrived on to the feed.
    fn show(&mut self, asked: &Asked<'_>, block: u32) {
        let began = self.began(asked);
        for second in self.seconds.drain(..).filter(|second| second.block.number == block) {
            let start = began + Nanos::from_secs(u64::from(second.second));
            let phase = if second.measures { Phase::Measure } else { Phase::WarmUp };
            self.feed.interval(asked.tick(start, phase, second.traffic));
        }
    }

    /// The begin of the block, from the start of the run.
    fn began(&self, asked: &Asked<'_>) -> Instant {
        self.begins.map_or_else(|| asked.clock.now(), |(at, in_time)| at + in_time)
    }

    /// The last attempt of a block.
    fn closed(&self, block: u32) -> Option<&Closed> {
        self.closed.iter().rev().find(|closed| closed.go.block.number == block)
    }
}

impl Elsewhere for Lead<'_> {
    fn measure(&mut self, asked: &Asked<'_>) -> Result<Result<Merged, String>, RunError> {
        let block = self.next;
        self.next += 1;
        self.begins = None;
        let work = BlockWork {
            workload: asked.workload,
            round: asked.round,
            load: asked.load.cloned(),
            lasts: asked.lasts,
        };
        let mut work = Some(work);
        let mut is_stopped = false;
        loop {
            // A block may be repeated, so it is over only when the next one is wanted.
            let is_over = self.ended.is_some() || self.wants.is_some_and(|wanted| wanted > block);
            if is_over {
                break;
            }
            if self.wants == Some(block)
                && let Some(work) = work.take()
            {
                drop(self.tell.send(In::Work(block, work)));
            }
            if asked.interrupt.load(Ordering::Relaxed) != 0 && !is_stopped {
                is_stopped = true;
                drop(self.tell.send(In::Stop));
            }
            self.hear(LOOK_EVERY, asked.clock.now());
            self.show(asked, block);
        }
        if self.was_stopped {
            // The remaining blocks have not failed: they are no longer wanted.
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            asked.interrupt.compare_exchange(0, INTERRUPTED, success, failure).ok();
        }
        let Some(closed) = self.closed(block) else {
            let run = &self.run;
            return match &self.ended {
                Some(Ok(ended) | Err(ended)) => {
                    Err(RunError::Over { reason: format!("{ended} (run {run})") })
                }
                None => Ok(Err(format!("the fleet did not run it (run {run})"))),
            };
        };
        let together = Together::of(closed);
        let Together { outcome, busiest_worker, agents, watched, replies } = together;
        let parts = || agents.iter().filter(|part| part.task.is_load());
        let missing: Vec<&str> = parts()
            .filter(|part| part.end != PartEnd::Measured)
            .map(|part| part.agent.as_str())
            .collect();
        let cut_short = (!missing.is_empty()).then(|| {
            let (count, all) = (missing.len(), parts().count());
            format!("{count} of {all} parts missing: {}", missing.join(", "))
        });
        let began = self.began(asked);
        Ok(Ok(Merged { outcome, began, busiest_worker, agents, cut_short, watched, replies }))
    }
}

/// Starts the thread that adds up what agents report each second; each message is paired with the number of agents that
/// send load. Unpacking one takes a millisecond, which a load on the same machine must not wait for.
fn add_up(run: Name, back: Sender<Back>) -> Result<SyncSender<(Live, usize)>, RunError> {
    let (tell, told) = sync_channel::<(Live, usize)>(UNREAD_MAX);
    thread::start("live", move || {
        thread::run_when_idle();
        let mut seconds = Seconds::new(run);
        for (live, agents) in told {
            let over = seconds.add(&live, agents).map(Box::new);
            over.for_each(|second| drop(back.send(Back::Second(second))));
        }
    })?;
    Ok(tell)
}

/// The loop of the state machine's thread.
fn lead(
    options: Options,
    bus: &Bus,
    told: &Receiver<In>,
    back: &Sender<Back>,
    live: &SyncSender<(Live, usize)>,
) {
    let clock = Clock::start();
    let run = options.run.clone();
    let mut controller = Controller::new(options);
    let (mut wanted, mut chosen, mut is_done) = (None, None, false);
    let mut absence = Absence { since: None, most: ABSENT_MAX };
    loop {
        let now = clock.now();
        if let Some(absent) = absence.is_too_long(now) {
            let words = format!(
                "the coordination server has not answered for {absent}; once it does, \
                 `wirebench fleet resume {run}` continues the run"
            );
            return give_up(back, words);
        }
        let wait = Nanos(controller.deadline().0.saturating_sub(now.0)).min(Nanos::from_secs(1));
        let event = match told.recv_timeout(wait.into()) {
            Ok(In::Work(block, work)) => {
                chosen = Some((block, work));
                None
            }
            Ok(In::Done) => {
                is_done = true;
                None
            }
            Ok(In::Stop) => {
                absence.most = ABSENT_MAX_STOPPED;
                Some(Event::Stop)
            }
            Ok(In::Heard(heard)) => match heard {
                Heard::Bus(event) => {
                    absence.heard(&event, clock.now());
                    Some(Event::Bus(event))
                }
                Heard::Controller(event) => Some(event),
                Heard::Command(..) => None,
                Heard::Live(heard) => {
                    // If too many wait, this one is left out of its second.
                    drop(live.try_send((heard, controller.load_agents())));
                    None
                }
                Heard::Problem(words) => {
                    drop(back.send(Back::Say(words)));
                    None
                }
                Heard::Over(words) => {
                    drop(back.send(Back::Over(words)));
                    return;
                }
            },
            Err(RecvTimeoutError::Timeout) => Some(Event::Tick),
            // The executor is gone.
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let mut events: Vec<Event> = event.into_iter().collect();
        if let Some(block) = wanted {
            if is_done {
                wanted = None;
                events.push(Event::Chosen(block, None));
            } else if chosen.as_ref().is_some_and(|(of, _)| *of == block) {
                wanted = None;
                events.push(Event::Chosen(block, chosen.take().map(|(_, work)| work)));
            }
        }
        for event in events {
            for action in controller.handle(event, clock.now()) {
                let said = match action {
                    Action::Follow => {
                        bus.order(Order::Follow(run.clone()));
                        None
                    }
                    Action::Put(subject, entry) => {
                        bus.order(Order::Put(subject, entry));
                        None
                    }
                    Action::Read(subject) => {
                        bus.order(Order::Read(subject));
                        None
                    }
                    Action::Ask { number, agent, instance, command, timeout } => {
                        bus.order(Order::Ask(number, agent, instance, command, timeout));
                        None
                    }
                    Action::Lead(lead) => {
                        bus.order(Order::Lead(lead));
                        None
                    }
                    Action::Choose(block) => {
                        wanted = Some(block);
                        Some(Back::Wants(block))
                    }
                    Action::Closed(block) => {
                        let closed =
                            controller.closed().iter().find(|closed| closed.go.block == block);
                        closed.map(|closed| Back::Closed(Box::new(closed.clone())))
                    }
                    Action::Say(word) if word.is_final() => {
                        return give_up(back, word.to_string());
                    }
                    Action::Say(word) => {
                        if let Word::Begins { in_time, .. } = &word {
                            drop(back.send(Back::Begins(*in_time)));
                        }
                        Some(Back::Say(word.to_string()))
                    }
                    Action::Ended(why) => Some(Back::Ended(why)),
                };
                if let Some(said) = said {
                    drop(back.send(said));
                }
            }
        }
    }
}

/// Gives up this process's part in the run, and says why.
fn give_up(back: &Sender<Back>, words: String) {
    drop(back.send(Back::Say(words.clone())));
    drop(back.send(Back::Over(words)));
}

/// The absence of the coordination server.
struct Absence {
    /// The instant at which it was lost; `None` while it is connected.
    since: Option<Instant>,
    /// The longest wait for it.
    most: Nanos,
}

impl Absence {
    const fn heard(&mut self, event: &BusEvent, now: Instant) {
        match event {
            BusEvent::Disconnected => self.since = Some(now),
            BusEvent::Connected => self.since = None,
            BusEvent::Put(..) | BusEvent::Read(..) => {}
        }
    }

    /// The length of the absence, if it is too long to keep waiting.
    fn is_too_long(&self, now: Instant) -> Option<Nanos> {
        self.since.map(|since| now.since(since)).filter(|absent| *absent >= self.most)
    }
}

/// Messages with the totals of a second that may wait to be added up: two from each agent of the largest run.
const UNREAD_MAX: usize = 2 * limits::AGENTS_MAX;
/// The longest wait for a lost coordination server: long enough to restart it by hand.
const ABSENT_MAX: Nanos = Nanos::from_secs(300);
/// The longest wait once the run has been asked to stop.
const ABSENT_MAX_STOPPED: Nanos = Nanos::from_secs(2);
/// The number of SIGINT: a run that is stopped elsewhere ends as with Ctrl-C here.
const INTERRUPTED: usize = 2;
/// The time between two checks of the signal to stop.
const LOOK_EVERY: Nanos = Nanos::from_millis(200);
/// The longest wait for the log to accept the end of a run.
const END_MAX: Nanos = Nanos::from_secs(30);
