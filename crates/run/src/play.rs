//! A conversation played once: it logs in if necessary, opens, sends each kind of request once and waits for its reply,
//! listens for unasked messages, and ends. For people who write conversation files.
//!
//! Left out: displaying it (the binary), and anything timed (`verify` and the blocks do that).
//!
//! Start reading at [`play`].

use crate::RunError;
use crate::by_hand::{Attempt, ByHand, News};
use crate::reach::Context;
use crate::talk::{Said, Talk, Way};
use engine::Address;
use engine::clock::Clock;
use load::Timeouts;
use spec::Conversation;
use spec::conversation::{Cue, Reply, Request};
use std::sync::atomic::AtomicUsize;
use units::{Instant, Nanos};
use wire::conversation::{Hits, Sense, matcher_text};
use wire::{Event, Excerpt, Kind, Message, Opening, Verdict};

/// A conversation that was played to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// The result of each kind of request, in the order of the file.
    pub requests: Vec<Asked>,
    /// The counts of the ways in which reply ids were found.
    pub hits: Hits,
    /// The kinds of requests whose replies are recognized from now on by the bytes before their ids, and those bytes.
    pub learnt: Vec<(u16, Vec<u8>)>,
    /// The number of messages received for each `[push.NAME]`, in the order of the file.
    pub pushes: Vec<u64>,
    /// The number of messages that nothing matched.
    pub unexpected: u64,
}

/// A request that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Time from the request to its reply or the end of its stream; `None` for one that has no reply.
    pub took: Option<Nanos>,
    /// The number of events in its stream before that.
    pub parts: u64,
    /// The verdict on the reply.
    pub verdict: Verdict,
}

/// Connects, plays the conversation of `asked` once, and reports every message with the time since the connect began.
///
/// # Errors
///
/// The name has no address, nothing answers there, the address is public, or the server sends something that the
/// conversation does not expect: the error says where.
pub fn play(
    asked: Talk<'_>,
    interrupt: &AtomicUsize,
    tell: &mut dyn FnMut(Nanos, Said<'_>),
) -> Result<Played, RunError> {
    let Some(conversation) = &asked.workload.conversation else {
        return Err(RunError::InvalidRequest("name a conversation with --conversation".to_owned()));
    };
    let context = Context { clock: Clock::start(), interrupt };
    let way = Way::to(asked, None, context.clock)?;
    way.of_first_address(context, |address, mut by_hand| {
        by_hand.note();
        let began = by_hand.now();
        let stage = if by_hand.is_before() { Stage::Before } else { Stage::Opening(began) };
        let player = Player {
            wait: asked.wait,
            timeouts: way.measurement.workload.timeouts,
            conversation,
            address,
            by_hand,
            began,
            stage,
            beat_due: None,
            heard: Heard::default(),
            played: Played { pushes: vec![0; conversation.pushes.len()], ..Played::default() },
            tell: &mut *tell,
        };
        player.play(context)
    })
}

/// One connection that a conversation is played on.
struct Player<'t> {
    wait: Nanos,
    timeouts: Timeouts,
    conversation: &'t Conversation,
    address: &'t Address,
    by_hand: ByHand,
    began: Instant,
    stage: Stage,
    /// The instant of the next heartbeat, where there are any.
    beat_due: Option<Instant>,
    heard: Heard,
    played: Played,
    tell: &'t mut dyn FnMut(Nanos, Said<'_>),
}

/// The part of the conversation that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The exchanges before the connection are under way.
    Before,
    /// The connection is being established and opened, since this instant.
    Opening(Instant),
    /// The request with this index is sent next.
    Ask(usize),
    /// The reply to the request with this index has been awaited since this instant.
    Await(usize, Instant),
    /// No request is left; unasked messages are listened for until this instant.
    Listening(Instant),
    /// The end is awaited until this instant.
    Leaving(Instant),
}

/// The news of a connection.
#[derive(Debug, Default)]
struct Heard {
    is_there: bool,
    is_open: bool,
    /// The verdict on the reply that arrived.
    reply: Option<Verdict>,
    parts: u64,
    /// The last message that nothing matched.
    unexpected: Option<Vec<u8>>,
    /// The end of the connection, as text.
    ended: Option<String>,
    fault: Option<String>,
}

impl Player<'_> {
    fn play(mut self, context: Context<'_>) -> Result<Attempt<Played>, RunError> {
        loop {
            while self.take() {}
            if let Some(reason) = self.heard.fault.take() {
                return Ok(self.failed(reason));
            }
            context.check()?;
            match self.advance() {
                Ok(true) => return Ok(Attempt::Done(self.done())),
                Ok(false) => {}
                Err(reason) => return Ok(self.failed(reason)),
            }
            let now = self.by_hand.now();
            self.by_hand.wait(now + POLL);
        }
    }

    /// Does what is due; `true` at the end.
    fn advance(&mut self) -> Result<bool, String> {
        let now = self.by_hand.now();
        self.beat(now)?;
        let ended = self.heard.ended.clone();
        match (self.stage, ended) {
            (Stage::Leaving(_), Some(_)) => return Ok(true),
            (Stage::Leaving(until), None) => return Ok(now >= until),
            (Stage::Before, _) if !self.by_hand.is_before() => self.stage = Stage::Opening(now),
            (Stage::Before, _) => self.check_opening(self.began, now)?,
            (Stage::Opening(_), _) if self.heard.is_open => {
                self.stage = Stage::Ask(0);
                return Ok(false);
            }
            (Stage::Opening(since), _) => self.check_opening(since, now)?,
            (Stage::Ask(index), None) if index == self.conversation.requests.len() => {
                self.stage = Stage::Listening(now + self.wait);
            }
            (Stage::Ask(index), None) => {
                self.ask(index, now)?;
                return Ok(false);
            }
            (Stage::Await(index, sent), ended) => {
                if let Some(reply) = self.heard.reply.take() {
                    self.answered(index, sent, reply, now);
                    return Ok(false);
                }
                let patience = self.timeouts.reply;
                let reason = ended.or_else(|| {
                    (now >= sent + patience).then(|| format!("no reply came within {patience}"))
                });
                return reason.map_or(Ok(false), |reason| Err(self.unanswered(index, &reason)));
            }
            (Stage::Ask(index), Some(ended)) if index < self.conversation.requests.len() => {
                return Err(self.unanswered(index, &ended));
            }
            (Stage::Ask(_) | Stage::Listening(_), Some(_)) => return Ok(true),
            (Stage::Listening(until), None) if now >= until => {
                let is_answered = self.by_hand.close();
                self.note();
                if !is_answered {
                    return Ok(true);
                }
                self.stage = Stage::Leaving(now + self.timeouts.close.min(LEAVING_MAX));
            }
            (Stage::Listening(_), None) => {}
        }
        Ok(false)
    }

    /// Returns `Err` if the step under way since `since` has run out of time.
    fn check_opening(&self, since: Instant, now: Instant) -> Result<(), String> {
        let opening_max = self.timeouts.connect + self.timeouts.handshake;
        if now < since + opening_max {
            return Ok(());
        }
        Err(match self.by_hand.step() {
            Some((step, expected)) => {
                format!("{step}: nothing came within {opening_max}, expected {expected}")
            }
            None => format!("the connection did not open within {opening_max}"),
        })
    }

    fn ask(&mut self, index: usize, now: Instant) -> Result<(), String> {
        let number = |index: usize| u32::try_from(index).map_err(|error| error.to_string());
        let exchange = u16::try_from(index).map_err(|error| error.to_string())?;
        let mut cue = [0; Cue::LEN];
        let due = now.since(self.began);
        Cue { sequence: number(index)?, exchange, due }.write(&mut cue);
        let message = Message { kind: Kind::Text, payload: &cue };
        self.by_hand.send(message).map_err(|error| error.to_string())?;
        self.note();
        self.heard.parts = 0;
        self.heard.reply = None;
        self.stage = if self.conversation.requests[index].reply == Reply::Nothing {
            self.played.requests.push(Asked { took: None, parts: 0, verdict: Verdict::Good });
            Stage::Ask(index + 1)
        } else {
            Stage::Await(index, now)
        };
        Ok(())
    }

    fn answered(&mut self, index: usize, sent: Instant, verdict: Verdict, now: Instant) {
        let parts = self.heard.parts;
        self.played.requests.push(Asked { took: Some(now.since(sent)), parts, verdict });
        self.stage = Stage::Ask(index + 1);
    }

    /// Sends the heartbeat that is due.
    fn beat(&mut self, now: Instant) -> Result<(), String> {
        let has_end = matches!(self.stage, Stage::Before | Stage::Opening(_) | Stage::Leaving(_));
        let every = self.by_hand.talk().and_then(|talk| talk.beat_every());
        let (Some(every), false, None) = (every, has_end, &self.heard.ended) else { return Ok(()) };
        if *self.beat_due.get_or_insert(now + every) <= now {
            self.by_hand.beat().map_err(|error| error.to_string())?;
            self.beat_due = Some(now + every);
            self.note();
        }
        Ok(())
    }

    /// Handles the next event; false if there was none.
    fn take(&mut self) -> bool {
        let Self { by_hand, heard, tell, .. } = self;
        let (address, at) = (self.address, by_hand.now().since(self.began));
        let (was_open, mut closed) = (heard.is_open, None);
        let has_happened = by_hand.take(&mut |news| match news {
            News::Broken(error) => heard.fault = Some(error),
            News::Cut(error) if heard.is_open => heard.ended = Some(error),
            News::Cut(error) => heard.fault = Some(error),
            News::Connected(opening) => {
                heard.is_there = true;
                heard.is_open = opening == Opening::Done;
                tell(at, Said::Connected(address));
            }
            News::Event(event) | News::Ended(event) => match event {
                Event::Open => heard.is_open = true,
                Event::Secured(secured) => {
                    heard.is_open |= secured.opening == Opening::Done;
                    let facts = &secured.facts;
                    tell(at, Said::Secured(format!("{} with {}", facts.version, facts.suite)));
                }
                Event::Answer(answer) => heard.reply = Some(answer.verdict),
                Event::Refused { .. } => heard.reply = Some(Verdict::Refused),
                Event::Part(_) => heard.parts += 1,
                Event::Closed(end) => {
                    closed = Some((end.code, end.reason.into_owned()));
                    heard.ended = Some("the server closed the connection".to_owned());
                }
                Event::Message(_)
                | Event::Ping(_)
                | Event::Pong(_)
                | Event::Pushed(_)
                | Event::Redirected
                | Event::Response(_) => {}
            },
        });
        self.note();
        if self.heard.is_open && !was_open {
            (self.tell)(at, Said::Open);
        }
        if let Some((code, reason)) = closed {
            (self.tell)(at, Said::Closed(code, &reason));
        }
        has_happened
    }

    /// Reports the messages sent and received, and counts those that no request asked for.
    fn note(&mut self) {
        let at = self.by_hand.now().since(self.began);
        for note in &self.by_hand.notes() {
            (self.tell)(at, Said::Noted(note));
            match note.sense {
                Sense::Push(rule) => self.played.pushes[usize::from(rule)] += 1,
                Sense::Unexpected if self.heard.is_open => {
                    self.played.unexpected += 1;
                    self.heard.unexpected = Some(note.bytes.clone());
                }
                Sense::Answer(_)
                | Sense::Beat
                | Sense::Before(_)
                | Sense::Farewell
                | Sense::Late
                | Sense::Part(_)
                | Sense::Redirect(_)
                | Sense::Refused(_)
                | Sense::Reply(_)
                | Sense::Request(_)
                | Sense::Step(_)
                | Sense::StepRefused(_)
                | Sense::Unexpected
                | Sense::Wrong(_) => {}
            }
        }
    }

    fn done(mut self) -> Played {
        if let Some(talk) = self.by_hand.talk() {
            self.played.hits = talk.hits();
            self.played.learnt =
                talk.learnt().map(|(exchange, before)| (exchange, before.to_vec())).collect();
        }
        self.played
    }

    /// The reason why the request with this index has no reply.
    fn unanswered(&self, index: usize, reason: &str) -> String {
        let request = &self.conversation.requests[index];
        let count = self.conversation.requests.len();
        let came = match &self.heard.unexpected {
            Some(bytes) => {
                format!("; the last message that matched nothing was {}", Excerpt::new(bytes))
            }
            None => String::new(),
        };
        let expected = expected(request);
        format!(
            "request `{}` ({} of {count}): {reason}, expected {expected}{came}",
            request.name,
            index + 1
        )
    }

    fn failed(&self, reason: String) -> Attempt<Played> {
        if !self.heard.is_there {
            return Attempt::NotThere(reason);
        }
        let name = &self.conversation.name;
        let next = match self.stage {
            Stage::Await(..) => format!(
                "Most servers answer a mistake with silence: compare the message of `{name}` with their documentation, \
                 and look at the server's log"
            ),
            Stage::Before
            | Stage::Opening(_)
            | Stage::Ask(_)
            | Stage::Listening(_)
            | Stage::Leaving(_) => {
                format!("Compare `{name}` with what the server says; its log may say more")
            }
        };
        Attempt::Wrong { reason, next }
    }
}

/// Describes the reply that a request awaits.
fn expected(request: &Request) -> String {
    match &request.reply {
        Reply::Match(matcher) => matcher_text(matcher),
        Reply::Order => "any message".to_owned(),
        Reply::Nothing => "none".to_owned(),
        Reply::Stream { last: Some(last), .. } => {
            format!("the end of its stream, {}", matcher_text(last))
        }
        Reply::Stream { last: None, .. } => "the end of the response".to_owned(),
    }
}

/// The time between two checks for signals.
const POLL: Nanos = Nanos::from_millis(10);

/// The longest wait for a server to end the connection after it was asked to.
const LEAVING_MAX: Nanos = Nanos::from_secs(1);
