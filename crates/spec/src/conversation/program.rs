//! Rooms in which a user's program publishes: the lines that tell it what to publish.

use super::Conversation;
use crate::rooms::Part;

impl Conversation {
    /// The same conversation for its receivers, with a program as the publisher: instead of publishers, it has the
    /// lines that are sent to the program, one of JSON for each message.
    #[must_use]
    pub fn published_by_a_program(self) -> Self {
        let lines = Self::read("program", LINES).expect("it is ours, and a test reads it");
        let mut open = self.open;
        open.retain(|step| step.by != Some(Part::Publisher));
        Self { open, requests: Vec::new(), publishers: Some(Box::new(lines)), ..self }
    }
}

/// The lines: the room, a number, the instant at which the message was due, and the text to publish.
const LINES: &str = r#"
speaks = "tcp"
frame = "lines"

[request.publish]
send = '{"room":${room_number},"id":${id},"due_ns":${now},"text":"${header} ${payload}"}'
reply = "none"
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::READY_MADE;

    #[test]
    fn a_program_may_publish_in_the_rooms_of_each_ready_made_conversation() {
        let mut count = 0;
        for (name, text) in READY_MADE {
            let read = Conversation::read(name, text).unwrap();
            if !read.is_for_rooms() {
                continue;
            }
            let receivers = read.clone().published_by_a_program();
            assert_eq!(receivers.check(), Ok(()), "{name}");
            assert_eq!(receivers.pushes, read.pushes);
            assert!(receivers.requests.is_empty() && receivers.has_payload(), "{name}");
            assert!(receivers.of_publishers().requests[0].has_header(), "{name}");
            count += 1;
        }
        assert!(count >= 8, "{count}");
    }
}
