//! The messages of one conversation as they are sent and received, each with what it was taken for, for people to read.
//!
//! Left out: times. The owner of the machine takes the notes after each call, and knows when that was.

use crate::contract::Verdict;

/// A message that was sent or received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// True if the server said it.
    pub is_heard: bool,
    /// The part that it plays.
    pub sense: Sense,
    /// The message, without framing.
    pub bytes: Vec<u8>,
}

/// The part that a message plays. Numbers are places in the lists of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// A message that is answered at once, or the answer to it.
    Answer(usize),
    /// A heartbeat of the client.
    Beat,
    /// The request of this exchange before the connection, or the response to it: head and body.
    Before(usize),
    /// The farewell, or the answer to it.
    Farewell,
    /// A message that arrived after the farewell.
    Late,
    /// An event of the stream that answers a request of this kind.
    Part(u16),
    /// An unsolicited message.
    Push(u16),
    /// The response to a request of this kind that redirects elsewhere, and is followed.
    Redirect(u16),
    /// The reply to a request of this kind that says no.
    Refused(u16),
    /// The reply to a request of this kind, or the end of its stream.
    Reply(u16),
    /// A request of this kind.
    Request(u16),
    /// A message of this step of opening.
    Step(usize),
    /// The message by which the server refuses this step of opening.
    StepRefused(usize),
    /// A message that nothing matches.
    Unexpected,
    /// The response to a request of this kind that is neither its reply nor its refusal.
    Wrong(u16),
}

impl Sense {
    /// The part that an answer with this verdict plays.
    pub(super) const fn of(verdict: Verdict, exchange: u16) -> Self {
        match verdict {
            Verdict::Good => Self::Reply(exchange),
            Verdict::Refused => Self::Refused(exchange),
            Verdict::Wrong(_) => Self::Wrong(exchange),
        }
    }
}

/// The notes of a connection since they were last taken.
#[derive(Debug, Default)]
pub(super) struct Tape(Vec<Note>);

impl Tape {
    /// The notes, oldest first; afterwards there are none.
    pub(super) fn take(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.0)
    }

    #[cold]
    pub(super) fn sent(&mut self, sense: Sense, bytes: &[u8]) {
        self.0.push(Note { is_heard: false, sense, bytes: bytes.to_vec() });
    }

    #[cold]
    pub(super) fn heard(&mut self, sense: Sense, bytes: &[u8]) {
        self.0.push(Note { is_heard: true, sense, bytes: bytes.to_vec() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Connection;
    use crate::contract::{Input, Kind, Message, Protocol as _};
    use crate::conversation::sample::*;
    use crate::conversation::{Compiled, Talk};
    use spec::conversation::{Cue, Frame, Reply, Speaks};

    /// The notes of a conversation in lines that hears `said`, with a request of each of two kinds once it opens.
    fn notes(said: &str) -> Vec<String> {
        let conversation = spec::Conversation {
            open: vec![step("hello", &["starts welcome"])],
            requests: vec![
                asked("ask ${id}", &["id re |."], &["id no |."]),
                request("tell", Reply::Nothing),
            ],
            pushes: vec![push(&["starts news"], None)],
            answers: vec![answer(&["is ping"], "pong")],
            close: Some(step("bye", &["is bye"])),
            ..conversation(Speaks::Tcp, Frame::Lines)
        };
        let compiled = Compiled::new(&conversation).unwrap();
        let inner: Connection = compiled.stream(1 << 10).into();
        let mut talk = Talk::new(inner, &compiled, 0, 7, 1 << 10);
        talk.note();
        let (mut tx, mut is_asked) = (Vec::new(), false);
        talk.open(&mut tx);
        let mut bytes = said.as_bytes().to_vec();
        let mut input = Input::new(&mut bytes);
        let mut error = None;
        loop {
            let is_open = match talk.receive(&mut input, &mut tx) {
                Ok(Some(event)) => event == crate::Event::Open,
                Ok(None) => break,
                Err(wrong) => {
                    error = Some(format!("{wrong}"));
                    break;
                }
            };
            if is_open && !is_asked {
                is_asked = true;
                for (sequence, exchange) in [(0, 0), (1, 1)] {
                    let mut cue = [0; Cue::LEN];
                    Cue { sequence, exchange, due: units::Nanos(0) }.write(&mut cue);
                    talk.send(Message { kind: Kind::Text, payload: &cue }, &mut tx).unwrap();
                }
            }
        }
        if is_asked {
            talk.close(&mut tx);
            let mut bytes = b"late\nbye\n".to_vec();
            let mut input = Input::new(&mut bytes);
            while let Ok(Some(_)) = talk.receive(&mut input, &mut tx) {}
        }
        let shown = |note: &Note| {
            let mark = if note.is_heard { '<' } else { '>' };
            format!("{mark} {:?} {}", note.sense, note.bytes.escape_ascii())
        };
        let notes: Vec<String> = talk.notes().iter().map(shown).collect();
        assert_eq!(talk.notes(), [], "notes are handed out once");
        notes.into_iter().chain(error).collect()
    }

    #[test]
    fn every_message_is_noted_with_the_part_that_it_plays() {
        let said = "news 1\nping\nwelcome\nre 10000000.\nno 10000000.\nwhat\nping\n";
        let expected = [
            "> Step(0) hello",
            "< Push(0) news 1",
            "< Answer(0) ping",
            "> Answer(0) pong",
            "< Step(0) welcome",
            "> Request(0) ask 10000000",
            "> Request(1) tell",
            "< Reply(0) re 10000000.",
            "< Refused(0) no 10000000.",
            "< Unexpected what",
            "< Answer(0) ping",
            "> Answer(0) pong",
            "> Farewell bye",
        ];
        assert_eq!(notes(said)[..expected.len()], expected);
        let wrong = notes("nonsense\n");
        assert_eq!(wrong[1], "< Unexpected nonsense");
        assert!(wrong[2].starts_with("step 1 of 1 of opening: got \"nonsense\""), "{wrong:?}");
    }
}
