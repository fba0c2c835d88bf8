//! A write-once entry on its way into the log, until the value of its subject is known.
//!
//! A refusal means that the subject has some value, or that the log is full; a timeout means nothing. Neither answers
//! whether this entry is in the log; reading the subject does. So a write ends with the value in the log, whoever wrote
//! it:
//!
//! ```text
//! put -- done --------------------------------------> settled (ours)
//!  ^ `-- refused, timed out --> read -- found ------> settled (what was found)
//!  |                             |-- nothing -------> put again, after a pause
//!  `------------- pause ---------'-- timed out, …--> read again, after a pause
//! ```

use crate::Word;
use crate::bus::{BusEvent, Put, Read};
use crate::protocol::{Entry, Subject};
use units::{Instant, Nanos};

/// An entry on its way.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    subject: Subject,
    entry: Entry,
    state: State,
    pause: Nanos,
    /// True if the last write was refused; false if it timed out.
    was_refused: bool,
    /// The last announcement, so that none is repeated.
    said: Option<Word>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not written yet.
    Fresh,
    AwaitPut,
    AwaitRead,
    /// Waits until this instant, and then reads the subject or writes it again.
    Paused {
        until: Instant,
        reads: bool,
    },
}

/// The next step of a write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    Put,
    Read,
    Wait(Instant),
    Nothing,
}

impl Write {
    pub(crate) const fn new(subject: Subject, entry: Entry) -> Self {
        Self {
            subject,
            entry,
            state: State::Fresh,
            pause: PAUSE_MIN,
            was_refused: false,
            said: None,
        }
    }

    pub(crate) const fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The operation that is due at `now`; the caller carries it out.
    pub(crate) fn poll(&mut self, now: Instant) -> Next {
        let (state, next) = match self.state {
            State::Fresh => (State::AwaitPut, Next::Put),
            State::AwaitPut | State::AwaitRead => return Next::Nothing,
            State::Paused { until, .. } if now < until => return Next::Wait(until),
            State::Paused { reads: true, .. } => (State::AwaitRead, Next::Read),
            State::Paused { reads: false, .. } => (State::AwaitPut, Next::Put),
        };
        self.state = state;
        next
    }

    /// Takes the end of an operation on its subject; returns the subject's value once it is known.
    pub(crate) fn ended(
        &mut self,
        event: &BusEvent,
        now: Instant,
        words: &mut Vec<Word>,
    ) -> Option<Entry> {
        match event {
            BusEvent::Put(subject, put)
                if *subject == self.subject && self.state == State::AwaitPut =>
            {
                match put {
                    Put::Done => return Some(self.entry.clone()),
                    Put::Refused | Put::TimedOut => {
                        self.was_refused = *put == Put::Refused;
                        self.state = State::Paused { until: now, reads: true };
                    }
                    Put::Denied => {
                        self.say(Word::Denied(self.subject.clone()), words);
                        self.pause(now, false);
                    }
                }
                None
            }
            BusEvent::Read(subject, read)
                if *subject == self.subject && self.state == State::AwaitRead =>
            {
                match read {
                    Read::Found(entry) => return Some(entry.clone()),
                    Read::Nothing => {
                        if self.was_refused {
                            self.say(Word::Full(self.subject.clone()), words);
                        }
                        self.pause(now, false);
                    }
                    Read::TimedOut => self.pause(now, true),
                    Read::Denied => {
                        self.say(Word::Denied(self.subject.clone()), words);
                        self.pause(now, true);
                    }
                    Read::Unreadable(because) => {
                        let (subject, because) = (self.subject.clone(), because.clone());
                        self.say(Word::Unreadable { subject, because }, words);
                        self.pause(now, true);
                    }
                }
                None
            }
            BusEvent::Put(..) | BusEvent::Read(..) | BusEvent::Disconnected => None,
            BusEvent::Connected => {
                if let State::Paused { until, .. } = &mut self.state {
                    *until = now;
                }
                self.pause = PAUSE_MIN;
                None
            }
        }
    }

    fn pause(&mut self, now: Instant, reads: bool) {
        self.state = State::Paused { until: now + self.pause, reads };
        self.pause = Nanos(self.pause.0.saturating_mul(2).min(PAUSE_MAX.0));
    }

    fn say(&mut self, word: Word, words: &mut Vec<Word>) {
        if self.said.as_ref() != Some(&word) {
            self.said = Some(word.clone());
            words.push(word);
        }
    }
}

/// The first pause before an operation is retried, and the longest: each is twice the previous one.
const PAUSE_MIN: Nanos = Nanos::from_millis(100);
const PAUSE_MAX: Nanos = Nanos::from_secs(2);
