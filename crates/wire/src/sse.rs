//! Server-sent events: the stream of events that an HTTP response carries (WHATWG HTML, "Server-sent events", sections
//! "Parsing an event stream" and "Interpreting an event stream").
//!
//! Bytes of the body go in, split anywhere; [`Event`]s come out as soon as the empty line after them has arrived. Lines
//! end with CRLF, LF or CR, in any mixture. An event that the end of the stream cuts off is not reported.
//!
//! A server writes events with [`append_event`].
//!
//! Left out: the request, the status and the type of the response ([`crate::http1`]), and the wait before a
//! reconnect ([`Parser::retry_ms`] has its length).
//!
//! Start reading at [`Parser::next`].

mod error;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzz;

pub use error::PeerError;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use fuzz::fuzz_sse;

use crate::contract::Input;

/// The reader of one stream.
#[derive(Clone, Debug)]
pub struct Parser {
    limits: Limits,
    /// The lines with `data` since the last event, each followed by a line feed.
    data: Vec<u8>,
    name: Vec<u8>,
    id: Vec<u8>,
    /// The `id` at the last empty line: an event that the end of the stream cuts off sets none.
    last_id: Vec<u8>,
    /// The line that has not ended.
    line: Vec<u8>,
    retry_ms: Option<u64>,
    comments: u64,
    /// The number of bytes of a byte order mark that were read at the very beginning; its length once the beginning is
    /// past.
    mark_len: usize,
    /// True if the last line ended with a carriage return: a line feed after it belongs to the same end.
    after_return: bool,
    /// True if `data` and `name` are those of an event that was handed out.
    is_handed_out: bool,
}

/// The largest sizes that are accepted, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest event: its data, its name, its id, and the line that is being read.
    pub event_len_max: usize,
}

impl Default for Limits {
    /// Events of 16 MiB.
    fn default() -> Self {
        Self { event_len_max: 16 << 20 }
    }
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The value of its last `event` field; empty if it has none, which stands for `message`.
    pub name: &'a [u8],
    /// The values of its `data` fields, with line feeds between them.
    pub data: &'a [u8],
    /// The id that a client sends as `Last-Event-ID` to resume after this event: that of this event, or of an earlier
    /// one; empty if there was none.
    pub id: &'a [u8],
}

/// Appends an event with this data, without a name or an id. A receiver gets a line feed wherever a line of the data
/// ends, even if a carriage return ends it.
pub fn append_event(data: &str, out: &mut Vec<u8>) {
    for line in data.replace("\r\n", "\n").split(['\n', '\r']) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    out.push(b'\n');
}

impl Parser {
    /// A reader at the beginning of a stream.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            data: Vec::new(),
            name: Vec::new(),
            id: Vec::new(),
            last_id: Vec::new(),
            line: Vec::new(),
            retry_ms: None,
            comments: 0,
            mark_len: 0,
            after_return: false,
            is_handed_out: false,
        }
    }

    /// A reader at the beginning of a stream that resumes the one of this reader: the last id and the time before a
    /// reconnect are kept.
    #[must_use]
    pub fn resumed(&self) -> Self {
        let (id, last_id) = (self.last_id.clone(), self.last_id.clone());
        Self { id, last_id, retry_ms: self.retry_ms, ..Self::new(self.limits) }
    }

    /// Takes one event from the front of `input`, or takes all of it and returns `None`: more bytes are needed.
    ///
    /// # Errors
    ///
    /// The event is longer than the limit. The reader must not be used again.
    pub fn next(&mut self, input: &mut Input<'_>) -> Result<Option<Event<'_>>, PeerError> {
        if std::mem::take(&mut self.is_handed_out) {
            self.begin_event();
        }
        self.skip_mark(input);
        while self.take_line(input)? {
            let is_end = self.line.is_empty();
            if !is_end {
                self.interpret_line();
                self.line.clear();
                continue;
            }
            self.last_id.clone_from(&self.id);
            if self.data.pop().is_some() {
                self.is_handed_out = true;
                return Ok(Some(Event { name: &self.name, data: &self.data, id: &self.id }));
            } else {
                // An event without data is not dispatched (its name is forgotten).
                self.begin_event();
            }
        }
        Ok(None)
    }

    /// The last event that [`Self::next`] has handed out, until it is called again.
    pub fn event(&self) -> Event<'_> {
        Event { name: &self.name, data: &self.data, id: &self.id }
    }

    /// The id of the last complete event that had one, to resume the stream with; empty if there was none.
    pub fn last_id(&self) -> &[u8] {
        &self.last_id
    }

    /// The time that the server asks a client to wait before it connects again, in milliseconds.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// The number of comment lines so far: servers send them as signs of life.
    pub fn comments(&self) -> u64 {
        self.comments
    }

    /// True if the bytes so far end in the middle of an event, which is lost if the stream ends here.
    pub fn is_amid(&self) -> bool {
        let has_fields = !self.data.is_empty() || !self.name.is_empty();
        !self.line.is_empty() || (has_fields && !self.is_handed_out)
    }

    /// Forgets the fields of an event; the id stays (section "Interpreting an event stream").
    fn begin_event(&mut self) {
        for field in [&mut self.data, &mut self.name] {
            field.clear();
            field.shrink_to(KEPT_LEN_MAX);
        }
        self.line.shrink_to(KEPT_LEN_MAX);
    }

    /// Skips a byte order mark at the beginning of the stream.
    fn skip_mark(&mut self, input: &mut Input<'_>) {
        while self.mark_len < MARK.len()
            && let Some(byte) = input.peek().first()
        {
            if *byte == MARK[self.mark_len] {
                input.take(1);
                self.mark_len += 1;
            } else {
                // The bytes were not a mark: they begin the first line.
                self.line.extend_from_slice(&MARK[..self.mark_len]);
                self.mark_len = MARK.len();
            }
        }
    }

    /// Takes from `input` up to the end of a line, which is then in `line` without its end; `false` if it goes on after
    /// all of `input`.
    fn take_line(&mut self, input: &mut Input<'_>) -> Result<bool, PeerError> {
        if self.after_return && !input.is_empty() {
            self.after_return = false;
            if input.peek().starts_with(b"\n") {
                input.take(1);
            }
        }
        let end = input.peek().iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let len = end.unwrap_or(input.len());
        let held = self.data.len() + self.name.len() + self.id.len() + self.line.len();
        let max = self.limits.event_len_max;
        if held + len > max {
            return Err(PeerError::OverLimit { max });
        }
        self.line.extend_from_slice(input.take(len));
        if end.is_some() {
            self.after_return = *input.take(1) == [b'\r'];
        }
        Ok(end.is_some())
    }

    /// Applies the field in a line that is not empty.
    fn interpret_line(&mut self) {
        let line = &self.line[..];
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = colon.map_or((line, &[][..]), |at| (&line[..at], &line[at + 1..]));
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"" => self.comments += 1,
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => {
                self.id.clear();
                self.id.extend_from_slice(value);
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let digits = std::str::from_utf8(value).unwrap_or_default();
                self.retry_ms = digits.parse().ok().or(Some(u64::MAX));
            }
            // Unknown fields are skipped.
            _ => {}
        }
    }
}

/// True for the type of a response that is a stream of events, whatever parameters it has.
pub(crate) fn is_type(content_type: &[u8]) -> bool {
    content_type.get(..TYPE.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(TYPE))
}

const TYPE: &[u8] = b"text/event-stream";

/// The byte order mark in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The memory that a field keeps from one event to the next, in bytes.
const KEPT_LEN_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::fuzz::events_of;
    use super::*;

    /// The name, the data and the id of an event.
    type Facts = (&'static str, &'static str, &'static str);

    #[test]
    fn an_event_that_is_written_is_read_with_the_same_lines() {
        #[rustfmt::skip]
        let table = [
            ("",                  "data: \n\n",                                ""),
            ("a",                 "data: a\n\n",                               "a"),
            (" a: b",             "data:  a: b\n\n",                           " a: b"),
            ("a\nb\r\nc\rd\n",   "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n", "a\nb\nc\nd\n"),
            ("\r\r\n\n",          "data: \ndata: \ndata: \ndata: \n\n",        "\n\n\n"),
        ];
        let mut all = Vec::new();
        for (data, expected, _) in table {
            let from = all.len();
            append_event(data, &mut all);
            assert_eq!(String::from_utf8_lossy(&all[from..]), expected, "{data:?}");
        }
        let (events, last_id) = events_of([&all[..]], Limits::default());
        let read: Vec<_> =
            events.iter().map(|(_, data, _)| String::from_utf8_lossy(data)).collect();
        assert_eq!(read, table.map(|(.., read)| read));
        assert_eq!(last_id, Ok(Vec::new()));
    }

    #[test]
    fn a_stream_becomes_events() {
        #[rustfmt::skip]
        let table: [(&str, &[Facts]); _] = [
            ("data: a\n\n", &[("", "a", "")]),
            ("data:a\n\n", &[("", "a", "")]),
            ("data:  a\n\n", &[("", " a", "")]),
            ("data\n\n", &[("", "", "")]),
            ("data\ndata\n\n", &[("", "\n", "")]),
            ("data: YHOO\ndata: +2\ndata: 10\n\n", &[("", "YHOO\n+2\n10", "")]),
            ("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &[("", "a", ""), ("", "b", ""), ("", "c", "")]),
            ("data: a\r\n\n", &[("", "a", "")]),
            ("\u{feff}data: a\n\n", &[("", "a", "")]),
            ("\u{feff}\u{feff}data: a\n\n", &[]),
            (": comment\n\n:\n\ndata: a: b\n\n", &[("", "a: b", "")]),
            ("event: x\ndata: a\n\ndata: b\n\n", &[("x", "a", ""), ("", "b", "")]),
            ("data: a\nevent: x\nevent: y\n\n", &[("y", "a", "")]),
            ("event: x\n\ndata: b\n\n", &[("", "b", "")]),
            ("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", &[("", "a", "1"), ("", "b", "1"), ("", "c", "")]),
            ("id: 1\n\ndata: b\n\n", &[("", "b", "1")]),
            ("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n", &[("", "a", "1"), ("", "b", "1")]),
            ("Data: a\n data: a\ndata : a\nfoo: a\n\n", &[]),
            ("data: [DONE]\n\n", &[("", "[DONE]", "")]),
            ("data: a\n", &[]),
            ("data: a", &[]),
            ("", &[]),
        ];
        for (stream, expected) in table {
            let (found, _) = events_of([stream.as_bytes()], Limits::default());
            let found: Vec<_> = found
                .iter()
                .map(|(name, data, id)| [name, data, id].map(|it| std::str::from_utf8(it).unwrap()))
                .collect();
            let expected: Vec<_> =
                expected.iter().map(|(name, data, id)| [*name, *data, *id]).collect();
            assert_eq!(found, expected, "{stream:?}");
            fuzz_sse(stream.as_bytes());
        }
    }

    #[test]
    fn comments_and_the_wait_before_a_reconnect_are_told() {
        let mut parser = Parser::new(Limits::default());
        let mut bytes = b": a\n:b\nretry: 1500\nretry: 1s\nretry:\nretry: -1\n\n".to_vec();
        assert_eq!(parser.next(&mut Input::new(&mut bytes)), Ok(None));
        assert_eq!((parser.comments(), parser.retry_ms()), (2, Some(1500)));
        let mut bytes = b"retry: 99999999999999999999\n".to_vec();
        assert_eq!(parser.next(&mut Input::new(&mut bytes)), Ok(None));
        assert_eq!(parser.retry_ms(), Some(u64::MAX));
    }

    #[test]
    fn an_event_that_is_cut_off_is_known() {
        for (stream, is_amid) in [
            ("", false),
            ("data: a\n\n", false),
            ("data: a\n\n: beat\n", false),
            ("data: a\n\ndata", true),
            ("data: a\n\ndata: b\n", true),
            ("event: a\n", true),
        ] {
            let mut parser = Parser::new(Limits::default());
            let mut bytes = stream.as_bytes().to_vec();
            let mut input = Input::new(&mut bytes);
            while parser.next(&mut input).unwrap().is_some() {}
            assert_eq!(parser.is_amid(), is_amid, "{stream:?}");
        }
    }

    #[test]
    fn the_id_to_go_on_with_is_that_of_the_last_whole_event() {
        for (stream, id) in [
            ("", ""),
            ("data: a\n\n", ""),
            ("id: 1\ndata: a\n\n", "1"),
            ("id: 1\ndata: a\n\nid: 2\ndata: b\n", "1"),
            ("id: 1\ndata: a\n\ndata: b\n\n", "1"),
            ("id: 1\n\n", "1"),
            ("id: 1\n\nid\n\n", ""),
        ] {
            let mut parser = Parser::new(Limits::default());
            let mut bytes = stream.as_bytes().to_vec();
            let mut input = Input::new(&mut bytes);
            while parser.next(&mut input).unwrap().is_some() {}
            assert_eq!(parser.last_id(), id.as_bytes(), "{stream:?}");
            let resumed = parser.resumed();
            assert_eq!((resumed.last_id(), resumed.is_amid()), (id.as_bytes(), false));
        }
    }

    #[test]
    fn an_event_has_a_limit_and_a_stream_has_none() {
        let limits = Limits { event_len_max: 11 };
        let line = |len: usize| format!("data: {}\n\n", "x".repeat(len));
        let (events, end) = events_of([line(5).repeat(100).as_bytes()], limits);
        assert_eq!((events.len(), end), (100, Ok(Vec::new())));
        let over = Err(PeerError::OverLimit { max: 11 });
        assert_eq!(events_of([line(6).as_bytes()], limits), (Vec::new(), over.clone()));
        assert_eq!(events_of([&b"data: x\n".repeat(9)[..]], limits), (Vec::new(), over));
    }

    #[test]
    fn what_a_long_event_took_is_given_back() {
        let mut parser = Parser::new(Limits::default());
        let mut bytes = format!("data: {}\n\n", "x".repeat(1 << 20)).into_bytes();
        assert!(parser.next(&mut Input::new(&mut bytes)).unwrap().is_some());
        assert_eq!(parser.next(&mut Input::new(&mut [])), Ok(None));
        let kept = parser.data.capacity() + parser.line.capacity();
        assert!(kept <= 2 * KEPT_LEN_MAX, "{kept} bytes");
    }
}
