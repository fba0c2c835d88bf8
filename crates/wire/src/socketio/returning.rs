//! The client's half of connection state recovery, as in Socket.IO 4.6: a client whose connection was lost says who it
//! was and what it has seen, and the server continues from there.
//!
//! ```text
//! server: 40{"sid":…,"pid":…}                 and events that end with an offset: 42["message",text,"7"]
//! client, over its next connection: 40{"pid":…,"offset":"7"}
//! server: the events that were missed, and 40{"sid":…,"pid":…} with the same pid: the client is in its rooms again
//! ```
//!
//! A server that no longer knows the client answers with another pid, or none. On a connection that joins several
//! namespaces, the client does not come back.

use crate::contract::Kind;
use crate::styx::write_text;

/// The data with which a client whose connection was lost comes back to what it has missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The id that the server has given it.
    pid: Box<str>,
    /// The offset of the last event that has arrived.
    offset: Box<[u8]>,
}

impl Ticket {
    /// The ticket of the client that the server knows as `pid`, and that has seen all events up to `offset`.
    pub fn new(pid: &str, offset: &[u8]) -> Self {
        Self { pid: pid.into(), offset: offset.into() }
    }

    /// True if both are of the same client: what arrived before either belongs together.
    pub fn is_of_client_of(&self, other: &Self) -> bool {
        self.pid == other.pid
    }
}

/// The data from the packets of a connection that a client keeps, so that it can come back over another.
#[derive(Debug, Default)]
pub(crate) struct Returning {
    /// The namespace as written in packets, with its leading slash and a trailing comma; empty for the default one.
    namespace: Box<[u8]>,
    state: State,
    /// The id by which the server knows it; until the server has answered, that of the previous connection.
    pid: Option<Box<str>>,
    /// The offset of the last event that arrived completely; empty if none did.
    offset: Vec<u8>,
    /// The offset of an event whose attachments are arriving, after the number of those still missing.
    announced: Option<(u32, Box<[u8]>)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The client has not joined a namespace yet.
    #[default]
    Begun,
    /// The answer to joining one is awaited.
    Asked,
    /// The server has answered.
    Joined {
        /// True if it knew the client.
        is_restored: bool,
    },
    /// The client joins several namespaces.
    Several,
}

impl Returning {
    /// Makes the client come back. Called before it says anything.
    pub(crate) fn come_back(&mut self, ticket: Ticket) {
        let Ticket { pid, offset } = ticket;
        (self.pid, self.offset) = (Some(pid), offset.into());
    }

    /// The ticket with which it comes back if the connection is lost now; `None` if the server has given it none.
    pub(crate) fn ticket(&self) -> Option<Ticket> {
        let pid = self.pid.as_deref().filter(|_| !self.offset.is_empty())?;
        Some(Ticket::new(pid, &self.offset))
    }

    /// True once the server has said that it still knows the client that came back.
    pub(crate) fn is_restored(&self) -> bool {
        self.state == State::Joined { is_restored: true }
    }

    /// Completes a packet of the client, which begins at `start`: the one that joins a namespace says who comes back.
    pub(crate) fn say(&mut self, start: usize, out: &mut Vec<u8>) {
        let Some(rest) = out[start..].strip_prefix(b"40") else { return };
        if self.state != State::Begun {
            (self.state, self.pid) = (State::Several, None);
            return;
        }
        self.state = State::Asked;
        let name = match rest.starts_with(b"/") {
            true => rest.split(|byte| *byte == b',').next().unwrap_or_default(),
            false => b"",
        };
        let has_comma = rest.len() > name.len() && !name.is_empty();
        let at = start + b"40".len() + name.len() + usize::from(has_comma);
        self.namespace = match name {
            b"" => Box::default(),
            name => [name, b","].concat().into(),
        };
        let Some(pid) = &self.pid else { return };
        // A conversation may say more about its client here.
        let more = out[at..].trim_ascii();
        let more = match more.strip_prefix(b"{").and_then(|it| it.strip_suffix(b"}")) {
            Some(fields) => fields.trim_ascii().to_vec(),
            None if more.is_empty() => Vec::new(),
            None => {
                self.pid = None; // Not an object: nothing can be added to it.
                return;
            }
        };
        out.truncate(start + b"40".len());
        out.extend_from_slice(&self.namespace);
        out.extend_from_slice(b"{\"pid\":");
        write_text(pid, out);
        out.extend_from_slice(b",\"offset\":\"");
        out.extend_from_slice(&self.offset);
        out.push(b'"');
        if !more.is_empty() {
            out.push(b',');
            out.extend_from_slice(&more);
        }
        out.push(b'}');
    }

    /// Notes a packet of the server. True for one that arrives before the server has answered a client that comes back:
    /// it was missed.
    #[inline]
    pub(crate) fn heard(&mut self, kind: Kind, packet: &[u8]) -> bool {
        if self.pid.is_none() && self.state != State::Asked {
            return false;
        }
        match (kind, packet) {
            (Kind::Binary, _) => self.attached(),
            (Kind::Text, [b'4', b'0', rest @ ..]) if self.state == State::Asked => {
                self.answered(rest);
                return false;
            }
            (Kind::Text, [b'4', b'2', rest @ ..]) => {
                if let Some(offset) = self.own(rest).and_then(offset_of) {
                    self.offset.clear();
                    self.offset.extend_from_slice(offset);
                }
            }
            (Kind::Text, [b'4', b'5', rest @ ..]) => self.announced = self.announced(rest),
            (Kind::Text, _) => return false,
        }
        self.state == State::Asked && self.pid.is_some()
    }

    /// Handles the server's answer to the packet that joins a namespace.
    fn answered(&mut self, rest: &[u8]) {
        let Some(answer) = self.own(rest) else { return };
        let pid = pid_of(answer).filter(|pid| pid.len() <= LEN_MAX);
        let is_restored = pid.is_some() && pid == self.pid;
        self.state = State::Joined { is_restored };
        if !is_restored {
            self.offset.clear();
        }
        self.pid = pid;
    }

    /// The number of attachments of an event that has an offset, and that offset.
    fn announced(&self, rest: &[u8]) -> Option<(u32, Box<[u8]>)> {
        let dash = rest.iter().position(|byte| *byte == b'-')?;
        let count = str::from_utf8(&rest[..dash]).ok()?.parse().ok().filter(|count| *count > 0)?;
        let offset = offset_of(self.own(&rest[dash + 1..])?)?;
        Some((count, offset.into()))
    }

    fn attached(&mut self) {
        let Some((count, _)) = &mut self.announced else { return };
        *count -= 1;
        if let Some((_, offset)) = self.announced.take_if(|(count, _)| *count == 0) {
            self.offset = offset.into();
        }
    }

    /// The rest of a packet of the client's namespace, where `rest` follows the kind of the packet; `None` for a packet
    /// of another namespace.
    fn own<'p>(&self, rest: &'p [u8]) -> Option<&'p [u8]> {
        let rest = rest.strip_prefix(&*self.namespace)?;
        (!rest.starts_with(b"/")).then_some(rest)
    }
}

/// The id with which a client that has joined a namespace may come back, from the server's answer as JSON.
pub(super) fn pid_of(answer: &[u8]) -> Option<Box<str>> {
    let connected: Result<Connected, _> = serde_json::from_slice(answer);
    connected.ok()?.pid
}

/// The server's data about a client that has joined.
#[derive(serde::Deserialize)]
struct Connected {
    pid: Option<Box<str>>,
}

/// The offset after what an event carries, given as JSON; `None` if it has none. An event that wants to be
/// acknowledged, by the number before it, has none.
#[inline]
fn offset_of(event: &[u8]) -> Option<&[u8]> {
    let inside = event.strip_prefix(b"[")?.strip_suffix(b"\"]")?;
    let is_plain = |byte: &&u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    let len = inside.iter().rev().take(LEN_MAX).take_while(is_plain).count();
    let (before, offset) = inside.split_at(inside.len() - len);
    let before = before.strip_suffix(b"\"")?.trim_ascii_end();
    (before.ends_with(b",") && !offset.is_empty()).then_some(offset)
}

/// The longest id, and the longest offset, that is kept, in bytes; those of the library have about twenty.
const LEN_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(pid: &str, offset: &str) -> Ticket {
        Ticket::new(pid, offset.as_bytes())
    }

    /// A client that has said `connect` and heard `packets`; those after a NUL are binary.
    fn client(connect: &str, packets: &[&str]) -> Returning {
        let mut client = Returning::default();
        assert_eq!(said(&mut client, connect), connect);
        for packet in packets {
            hear(&mut client, packet);
        }
        client
    }

    fn said(client: &mut Returning, packet: &str) -> String {
        let mut out = [b"before ", packet.as_bytes()].concat();
        client.say("before ".len(), &mut out);
        String::from_utf8(out).unwrap().strip_prefix("before ").unwrap().to_owned()
    }

    fn hear(client: &mut Returning, packet: &str) -> bool {
        match packet.strip_prefix('\0') {
            Some(bytes) => client.heard(Kind::Binary, bytes.as_bytes()),
            None => client.heard(Kind::Text, packet.as_bytes()),
        }
    }

    #[test]
    fn the_last_offset_is_that_of_the_last_event_that_came_whole() {
        const JOINED: &str = r#"40{"sid":"s","pid":"p"}"#;
        #[rustfmt::skip]
        let table: [(&str, &[&str], Option<&str>); _] = [
            ("40",    &[JOINED],                                                   None),
            ("40",    &[JOINED, r#"42["a",{},"7"]"#],                              Some("7")),
            ("40",    &[JOINED, r#"42["a",{},"7"]"#, r#"42["a",["x"] , "b c" ]"#],  Some("7")),
            ("40",    &[JOINED, r#"42["a",{},"7"]"#, r#"42["a",["x"] , "b c"]"#],  Some("b c")),
            ("40",    &[JOINED, r#"42["a","x"]"#, r#"42["a"]"#, r#"42["a",1]"#],   Some("x")),
            ("40",    &[JOINED, r#"42["a,\"7"]"#, r#"42["a",",\"7"]"#],            None),
            ("40",    &[JOINED, "42[\"a\",\"\u{e4}\"]", r#"42["a",""]"#, r#""]"#], None),
            ("40",    &[JOINED, r#"421["a","7"]"#, r#"431["a","7"]"#],             None),
            ("40",    &[JOINED, r#"42/x,["a","7"]"#],                              None),
            ("40",    &[r#"40{"sid":"s"}"#, r#"42["a","7"]"#],                      None),
            ("40",    &[r#"40{"sid":"s","pid":7}"#, r#"42["a","7"]"#],              None),
            ("40",    &["40", r#"42["a","7"]"#],                                    None),
            ("40",    &[r#"40/x,{"pid":"p"}"#, r#"42["a","7"]"#],                   None),
            ("40/x,", &[r#"40/x,{"pid":"p"}"#, r#"42/x,["a","7"]"#, r#"42["a","8"]"#], Some("7")),
            ("40/x",  &[r#"40/x,{"pid":"p"}"#, r#"42/x,["a","7"]"#],                Some("7")),
            // An event is complete with its attachments.
            ("40",    &[JOINED, r#"452-["a",{},"7"]"#, "\0a"],                     None),
            ("40",    &[JOINED, r#"452-["a",{},"7"]"#, "\0a", "\0b"],              Some("7")),
            ("40",    &[JOINED, r#"452-["a",{},"7"]"#, "\0a", "2", "\0b", "\0c"],  Some("7")),
            ("40",    &[JOINED, r#"450-["a","7"]"#, r#"45["a","7"]"#, "\0a"],      None),
        ];
        for (connect, packets, expected) in table {
            let expected = expected.map(|offset| ticket("p", offset));
            assert_eq!(client(connect, packets).ticket(), expected, "{connect} {packets:?}");
        }
        let long = format!("42[\"a\",\"{}\"]", "x".repeat(LEN_MAX + 1));
        assert_eq!(client("40", &[JOINED, &long]).ticket(), None);
        let mut several = client("40", &[JOINED, r#"42["a","7"]"#]);
        assert_eq!(said(&mut several, "40/x,"), "40/x,");
        assert_eq!((hear(&mut several, JOINED), several.ticket()), (false, None));
    }

    #[test]
    fn a_client_says_who_comes_back_beside_what_it_says_of_itself() {
        #[rustfmt::skip]
        let table = [
            ("40",                    r#"40{"pid":"p\"","offset":"7"}"#),
            ("40{}",                  r#"40{"pid":"p\"","offset":"7"}"#),
            ("40{ }",                 r#"40{"pid":"p\"","offset":"7"}"#),
            (r#"40{"token":{"a":1}}"#, r#"40{"pid":"p\"","offset":"7","token":{"a":1}}"#),
            ("40/x,",                 r#"40/x,{"pid":"p\"","offset":"7"}"#),
            ("40/x",                  r#"40/x,{"pid":"p\"","offset":"7"}"#),
            (r#"40/x,{"a":"b"}"#,     r#"40/x,{"pid":"p\"","offset":"7","a":"b"}"#),
            ("40[1]",                 "40[1]"),
            ("42[\"a\"]",             "42[\"a\"]"),
        ];
        for (packet, expected) in table {
            let mut client = Returning::default();
            client.come_back(ticket("p\"", "7"));
            assert_eq!(said(&mut client, packet), expected, "{packet}");
        }
    }

    #[test]
    fn a_client_is_known_by_the_same_id_and_what_came_before_that_was_missed() {
        let returned = |packets: &[&str]| {
            let mut client = Returning::default();
            client.come_back(ticket("p", "7"));
            assert_eq!(client.ticket(), Some(ticket("p", "7")), "nothing has come yet");
            said(&mut client, "40");
            let missed = packets.iter().filter(|packet| hear(&mut client, packet)).count();
            (missed, client.is_restored(), client.ticket())
        };
        let event = |offset: &str| format!("42[\"a\",\"{offset}\"]");
        let [eighth, ninth] = ["8", "9"].map(event);
        let (same, other) = (r#"40{"pid":"p","sid":"s"}"#, r#"40{"pid":"q","sid":"s"}"#);
        #[rustfmt::skip]
        let table: [(&[&str], _); _] = [
            (&[],                                   (0, false, Some(ticket("p", "7")))),
            (&["2", &eighth],                       (1, false, Some(ticket("p", "8")))),
            (&[&eighth, same],                      (1, true,  Some(ticket("p", "8")))),
            (&[same],                               (0, true,  Some(ticket("p", "7")))),
            (&[same, &ninth],                       (0, true,  Some(ticket("p", "9")))),
            (&["451-[\"a\",{},\"8\"]", "\0x", same], (2, true,  Some(ticket("p", "8")))),
            (&[other],                              (0, false, None)),
            (&[other, &ninth],                      (0, false, Some(ticket("q", "9")))),
            (&["40{\"sid\":\"s\"}", &ninth],        (0, false, None)),
        ];
        for (packets, expected) in table {
            assert_eq!(returned(packets), expected, "{packets:?}");
        }
        assert!(ticket("p", "7").is_of_client_of(&ticket("p", "8")));
        assert!(!ticket("p", "7").is_of_client_of(&ticket("q", "7")));
    }
}
