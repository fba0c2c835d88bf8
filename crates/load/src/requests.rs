//! The requests of a conversation: their kinds, and the order in which connections send them.

use spec::Conversation;
use spec::conversation::{Cue, Mix, Reply, Request};
use std::sync::Arc;
use units::Nanos;

/// The kinds of requests that connections send, as their conversation mixes them. Copies share the conversation.
#[derive(Clone, Debug)]
pub struct Requests {
    conversation: Arc<Conversation>,
    mix: Arc<Mix>,
}

impl Requests {
    /// The requests of `conversation`, in an order that `seed` determines.
    pub fn new(conversation: Arc<Conversation>, seed: u64) -> Self {
        let kinds = &conversation.of_publishers().requests;
        let weights: Vec<u32> = kinds.iter().map(|request| request.weight).collect();
        let mix = Arc::new(Mix::new(&weights, seed));
        Self { conversation, mix }
    }

    /// The same, with only requests of the kind at `index`.
    #[must_use]
    pub fn only(&self, index: usize) -> Self {
        let weights: Vec<u32> = (0..self.kinds().len()).map(|at| u32::from(at == index)).collect();
        Self { mix: Arc::new(Mix::new(&weights, 0)), ..self.clone() }
    }

    /// The kind of message number `sequence` of a connection.
    #[inline]
    pub fn kind(&self, connection: u32, sequence: u32) -> u16 {
        self.mix.exchange(connection, sequence)
    }

    /// The note that asks for this message, which is due at `due`.
    #[inline]
    pub fn cue(&self, connection: u32, sequence: u32, due: Nanos) -> Cue {
        Cue { sequence, exchange: self.kind(connection, sequence), due }
    }

    /// True if a request of this kind is answered; otherwise it is complete once it is sent.
    #[inline]
    pub fn has_reply(&self, kind: u16) -> bool {
        let request = self.kinds().get(usize::from(kind));
        request.is_none_or(|request| request.reply != Reply::Nothing)
    }

    /// The kinds of requests; in rooms those of the publishers.
    pub fn kinds(&self) -> &[Request] {
        &self.conversation.of_publishers().requests
    }

    /// The conversation.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }
}
