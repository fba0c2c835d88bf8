//! Messages that are posted to a server beside the one that is measured: to a collector of metrics.

use crate::RunError;
use crate::by_hand::Attempt;
use crate::reach::Context;
use crate::talk::{Talk, Way};
use crate::verify::conversation::Conversation;
use engine::clock::Clock;
use spec::Workload;
use std::sync::atomic::AtomicUsize;
use units::Nanos;
use wire::Kind;

/// A place of HTTP that takes messages, each on a connection of its own.
pub struct Post<'a> {
    /// The server, and the way to speak to it. Its load is not looked at.
    workload: &'a Workload,
    /// The longest wait: for the name, for the connection, and for the answer.
    patience: Nanos,
    clock: Clock,
    /// The way that the last message took, if it arrived.
    way: Option<Way<'a>>,
}

impl<'a> Post<'a> {
    /// A place that nothing is sent to yet.
    pub fn new(workload: &'a Workload, patience: Nanos) -> Self {
        Self { workload, patience, clock: Clock::start(), way: None }
    }

    /// Posts `message`. The answer, whose status is one of success.
    ///
    /// # Errors
    ///
    /// The fault, in words: nobody is there, nobody answers in time, or the answer says no.
    pub fn send(&mut self, message: &[u8]) -> Result<Vec<u8>, String> {
        let words = |error: RunError| error.to_string();
        // After a fault the name is asked for again: it may stand for another server by then.
        let way = match self.way.take() {
            Some(way) => way,
            None => {
                let (workload, wait) = (self.workload, self.patience);
                let asked = Talk { workload, public_allowed: true, wait };
                Way::to(asked, None, self.clock).map_err(words)?
            }
        };
        let no_signal = AtomicUsize::new(0);
        let context = Context { clock: self.clock, interrupt: &no_signal };
        let answer = way.of_first_address(context, |_, connection| {
            Ok(match Conversation::over(connection, self.patience, context) {
                Ok(mut open) => Attempt::Done(open.ask(Kind::Binary, message)),
                Err(reason) => Attempt::NotThere(reason),
            })
        });
        let (_, answer) = answer.map_err(words)??;
        self.way = Some(way);
        Ok(answer)
    }
}
