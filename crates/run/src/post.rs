//! Messages that are posted to a server other than the measured one: to a metrics collector.

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

/// An HTTP endpoint that takes messages, each on its own connection.
pub struct Post<'a> {
    /// The server, and the way to speak to it. Its load is ignored.
    workload: &'a Workload,
    /// The longest wait for each of name resolution, connection and answer.
    patience: Nanos,
    clock: Clock,
    /// The way that the last message took, if it arrived.
    way: Option<Way<'a>>,
}

impl<'a> Post<'a> {
    /// An endpoint to which nothing has been sent yet.
    pub fn new(workload: &'a Workload, patience: Nanos) -> Self {
        Self { workload, patience, clock: Clock::start(), way: None }
    }

    /// Posts `message` and returns the answer, whose status is a success.
    ///
    /// # Errors
    ///
    /// The fault as text: the server cannot be reached, does not answer in time, or refuses.
    pub fn send(&mut self, message: &[u8]) -> Result<Vec<u8>, String> {
        let words = |error: RunError| error.to_string();
        // After a fault the name is resolved again: it may point to another server by then.
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
