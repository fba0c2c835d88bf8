//! Frames in the bodies of responses.

use super::binary::{bytes_in, is_binary, packet_len};
use super::error::PeerError;
use super::parts::Parts;
use super::session::{Form, SEPARATOR};
use crate::contract::{self, Input, Kind, growth};
use crate::excerpt::Excerpt;
use crate::sse;
use std::ops::Range;

/// Finds frames in the bodies of responses as they arrive, one response after the other.
#[derive(Debug)]
pub(crate) struct Cutter {
    /// The bytes of the body; those before `taken` are done with.
    bytes: Vec<u8>,
    taken: usize,
    finder: Finder,
    /// The number of frames that this response has brought.
    count: u64,
    frame_len_max: usize,
    /// The bytes by which binary frames were longer in all responses.
    growth: i64,
}

/// The search for frames in a body, by their form.
#[derive(Debug)]
enum Finder {
    Chunks {
        /// The chunk that was found last.
        chunk: Range<usize>,
        /// True from the end of a chunk until it is handed out.
        has_come: bool,
    },
    Events(Box<sse::Parser>),
    Lines {
        /// The line that was found last, without its end.
        line: Range<usize>,
        /// No line ends before this byte.
        looked: usize,
        /// The byte that ends a line.
        end: u8,
        reader: Reader,
        /// The frame in the line, where it is not the line itself.
        text: Vec<u8>,
    },
    Parts(Box<Parts>),
    Whole {
        /// True from the end of the body until the frame is handed out.
        has_come: bool,
    },
}

/// The reader of lines.
#[derive(Debug)]
enum Reader {
    /// Frames are lines.
    Bare {
        /// True before the first line of a response that may begin with a prelude.
        may_be_prelude: bool,
    },
    /// A frame is the argument with which this function is called.
    Call(&'static str),
    /// Frames are the arguments with which scripts of a page call a function.
    Page(Page),
    /// Frames are packets of Engine.IO.
    Packets {
        /// True if the last one is binary.
        is_binary: bool,
    },
}

/// The part of a page that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    /// Everything up to the end of the first script.
    Head,
    Between,
    /// A script has begun.
    Script,
    /// The script has called the function, and must end next.
    Called,
}

impl Cutter {
    pub(crate) fn new(form: Form, frame_len_max: usize) -> Self {
        let finder = Finder::new(form, frame_len_max);
        Self { bytes: Vec::new(), taken: 0, finder, count: 0, frame_len_max, growth: 0 }
    }

    /// Begins a response.
    pub(crate) fn begin(&mut self, form: Form) {
        *self = Self { growth: self.growth, ..Self::new(form, self.frame_len_max) };
    }

    /// Sets the boundary of the parts of the response that has begun, if they are its frames.
    pub(crate) fn end_parts_by(&mut self, boundary: &[u8]) {
        if let Finder::Parts(parts) = &mut self.finder {
            **parts = Parts::new(boundary);
            self.bytes.extend_from_slice(b"\r\n");
        }
    }

    /// Ends a chunk of the body.
    pub(crate) fn end_chunk(&mut self) {
        if let Finder::Chunks { has_come, .. } = &mut self.finder {
            *has_come = true;
        }
    }

    /// Adds bytes of the body that have arrived.
    pub(crate) fn extend(&mut self, more: &[u8]) {
        self.bytes.drain(..self.taken);
        match &mut self.finder {
            Finder::Lines { line, looked, text, .. } => {
                *looked -= self.taken.min(*looked);
                *line = 0..0;
                if text.capacity() > KEPT_LEN_MAX {
                    *text = Vec::new();
                }
            }
            Finder::Parts(parts) => parts.removed(self.taken),
            Finder::Chunks { .. } | Finder::Events(_) | Finder::Whole { .. } => {}
        }
        self.taken = 0;
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT_LEN_MAX {
            self.bytes = Vec::new();
        }
        self.bytes.extend_from_slice(more);
    }

    /// Ends the body: the last packet has no end of its own, and neither has a frame that is the body.
    pub(crate) fn finish(&mut self) {
        if let Finder::Whole { has_come } = &mut self.finder {
            *has_come = true;
        }
        let has_any = self.count > 0 || self.taken < self.bytes.len();
        if let Finder::Lines { end: SEPARATOR, .. } = self.finder
            && has_any
        {
            self.bytes.push(SEPARATOR);
        }
    }

    /// Goes on to the next frame; `false` if it is incomplete.
    ///
    /// # Errors
    ///
    /// The frame is longer than the limit, or not UTF-8.
    pub(crate) fn advance(&mut self) -> Result<bool, contract::PeerError> {
        let found = match &mut self.finder {
            Finder::Events(parser) => {
                let mut input = Input::new(&mut self.bytes[self.taken..]);
                let len = input.len();
                let found = parser.next(&mut input)?.is_some();
                self.taken += len - input.len();
                found
            }
            Finder::Lines { .. } => self.next_in_lines()?,
            Finder::Parts(parts) => {
                parts.advance(&self.bytes, &mut self.taken, self.frame_len_max)?
            }
            Finder::Chunks { .. } | Finder::Whole { .. }
                if self.bytes.len() - self.taken > self.frame_len_max =>
            {
                return Err(PeerError::OverLimit { max: self.frame_len_max }.into());
            }
            Finder::Chunks { chunk, has_come } => {
                let found = std::mem::take(has_come);
                if found {
                    *chunk = self.taken..self.bytes.len();
                    self.taken = self.bytes.len();
                }
                found
            }
            Finder::Whole { has_come } => std::mem::take(has_come),
        };
        self.count += u64::from(found);
        if found && self.kind() == Kind::Text && str::from_utf8(self.frame()).is_err() {
            return Err(PeerError::NotUtf8 { len: self.frame().len() }.into());
        }
        Ok(found)
    }

    /// The frame that was found last.
    pub(crate) fn frame(&self) -> &[u8] {
        match &self.finder {
            Finder::Chunks { chunk, .. } => &self.bytes[chunk.clone()],
            Finder::Parts(parts) => &self.bytes[parts.found()],
            Finder::Events(parser) => parser.event().data,
            Finder::Lines {
                line,
                reader: Reader::Bare { .. } | Reader::Packets { is_binary: false },
                ..
            } => &self.bytes[line.clone()],
            Finder::Lines { text, .. } => text,
            Finder::Whole { .. } => &self.bytes,
        }
    }

    /// The kind of that frame.
    pub(crate) fn kind(&self) -> Kind {
        match &self.finder {
            Finder::Lines { reader: Reader::Packets { is_binary: true }, .. } => Kind::Binary,
            Finder::Chunks { .. } | Finder::Events(_) | Finder::Lines { .. } => Kind::Text,
            Finder::Parts(_) | Finder::Whole { .. } => Kind::Text,
        }
    }

    /// The bytes by which frames were longer in the bodies so far.
    pub(crate) const fn growth(&self) -> i64 {
        self.growth
    }

    /// Checks the end of the response.
    ///
    /// # Errors
    ///
    /// It ended in the middle of a frame, or brought none.
    pub(crate) fn end(&self) -> Result<(), PeerError> {
        let is_amid = match &self.finder {
            Finder::Chunks { .. } => self.taken < self.bytes.len(),
            Finder::Events(parser) => parser.is_amid(),
            Finder::Parts(parts) => parts.is_amid(),
            Finder::Lines { reader, .. } => {
                let is_script = matches!(reader, Reader::Page(Page::Script | Page::Called));
                is_script || self.taken < self.bytes.len()
            }
            Finder::Whole { .. } => return Ok(()), // A poll without a message.
        };
        match (is_amid, self.count) {
            (true, _) => Err(PeerError::CutFrame),
            (false, 0) => Err(PeerError::Empty),
            (false, _) => Ok(()),
        }
    }

    /// Goes on to the next line that is a frame, or has one.
    fn next_in_lines(&mut self) -> Result<bool, PeerError> {
        while self.next_line()? {
            let Finder::Lines { line, reader, text, .. } = &mut self.finder else { break };
            if reader.read(&self.bytes[line.clone()], text)? {
                if matches!(reader, Reader::Packets { is_binary: true }) {
                    if text.len() > self.frame_len_max {
                        return Err(PeerError::OverLimit { max: self.frame_len_max });
                    }
                    self.growth += growth(text.len(), line.len());
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn next_line(&mut self) -> Result<bool, PeerError> {
        let Finder::Lines { line, looked, end, reader, .. } = &mut self.finder else {
            return Ok(false);
        };
        let is_binary =
            matches!(reader, Reader::Packets { .. }) && is_binary(&self.bytes[self.taken..]);
        let len_max = if is_binary { packet_len(self.frame_len_max) } else { self.frame_len_max };
        let from = (*looked).max(self.taken);
        let end = self.bytes[from..].iter().position(|byte| byte == end);
        *looked = end.map_or(self.bytes.len(), |end| from + end);
        if *looked - self.taken > len_max {
            return Err(PeerError::OverLimit { max: self.frame_len_max });
        }
        if end.is_some() {
            *line = self.taken..*looked;
            self.taken = *looked + 1;
        }
        Ok(end.is_some())
    }
}

impl Reader {
    /// Reads a line; true if it is a frame, or ends one that is in `text`.
    fn read(&mut self, line: &[u8], text: &mut Vec<u8>) -> Result<bool, PeerError> {
        let unexpected = |awaited| PeerError::Unexpected { awaited, said: Excerpt::new(line) };
        let plain = line.trim_ascii();
        match self {
            Self::Bare { may_be_prelude } => {
                let is_first = std::mem::take(may_be_prelude);
                let is_prelude = line.len() > 1 && line.iter().all(|it| *it == b'h');
                return Ok(!(is_first && is_prelude));
            }
            Self::Call(function) => {
                let call = plain.strip_prefix(b"/**/").unwrap_or(plain);
                *text = argument(call, function)
                    .ok_or_else(|| unexpected("a call of the callback function with a string"))?;
                return Ok(true);
            }
            Self::Packets { is_binary: is_binary_now } => {
                *is_binary_now = is_binary(line);
                if *is_binary_now {
                    *text = bytes_in(line).ok_or_else(|| unexpected("Base64 after `b`"))?;
                }
                return Ok(true);
            }
            Self::Page(page) => {
                *page = match (*page, plain) {
                    (Page::Head, SCRIPT_END) | (Page::Between, b"") => Page::Between,
                    (Page::Head, _) => Page::Head,
                    (Page::Between, b"<script>") => Page::Script,
                    (Page::Between, _) => return Err(unexpected("a script")),
                    (Page::Script, call) => {
                        *text = argument(call, "p")
                            .ok_or_else(|| unexpected("a call of `p` with a string"))?;
                        Page::Called
                    }
                    (Page::Called, SCRIPT_END) => {
                        *page = Page::Between;
                        return Ok(true);
                    }
                    (Page::Called, _) => return Err(unexpected("the end of the script")),
                };
            }
        }
        Ok(false)
    }
}

/// The text with which a line calls `function`.
fn argument(line: &[u8], function: &str) -> Option<Vec<u8>> {
    let call = line.strip_prefix(function.as_bytes())?.strip_prefix(b"(")?.strip_suffix(b");")?;
    serde_json::from_slice(call).ok().map(String::into_bytes)
}

impl Finder {
    fn new(form: Form, frame_len_max: usize) -> Self {
        match form {
            Form::Events => {
                let limits = sse::Limits { event_len_max: frame_len_max };
                Self::Events(Box::new(sse::Parser::new(limits)))
            }
            Form::Call(function) => Self::lines(Reader::Call(function)),
            Form::Chunks => Self::Chunks { chunk: 0..0, has_come: false },
            Form::Parts => Self::Parts(Box::new(Parts::new(b""))),
            Form::Lines { has_prelude } => {
                Self::lines(Reader::Bare { may_be_prelude: has_prelude })
            }
            Form::Packets => Self::lines_ended_by(SEPARATOR, Reader::Packets { is_binary: false }),
            Form::Page => Self::lines(Reader::Page(Page::Head)),
            Form::Whole => Self::Whole { has_come: false },
        }
    }

    const fn lines(reader: Reader) -> Self {
        Self::lines_ended_by(b'\n', reader)
    }

    const fn lines_ended_by(end: u8, reader: Reader) -> Self {
        Self::Lines { line: 0..0, looked: 0, end, reader, text: Vec::new() }
    }
}

/// The line that ends a script.
const SCRIPT_END: &[u8] = b"</script>";

/// The most memory that a quiet connection keeps for a body, in bytes.
const KEPT_LEN_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::over_http::binary_packet;

    /// The frames of a response that arrives in pieces of `piece_len` bytes, and its end.
    fn frames(form: Form, body: &[u8], piece_len: usize) -> (Vec<String>, String) {
        let mut cutter = Cutter::new(form, 64);
        cutter.begin(form);
        cutter.end_parts_by(b"x");
        let mut frames = Vec::new();
        for piece in body.chunks(piece_len).map(Some).chain([None]) {
            match piece {
                Some(piece) => cutter.extend(piece),
                None => cutter.finish(),
            }
            loop {
                match cutter.advance() {
                    Ok(true) => frames.push(String::from_utf8(cutter.frame().to_vec()).unwrap()),
                    Ok(false) => break,
                    Err(error) => return (frames, error.to_string()),
                }
            }
        }
        (frames, cutter.end().err().map_or(String::new(), |error| error.to_string()))
    }

    /// The head of a page, and two scripts.
    fn page(first: &str, second: &str) -> String {
        let script = |text: &str| format!("<script>\np(\"{text}\");\n</script>\r\n");
        [HEAD, &script(first), &script(second)].concat()
    }

    const HEAD: &str = "<html>\n<script>\nfunction p(d) {}\n</script>  \r\n\r\n";

    #[test]
    fn frames_are_lines_or_events_however_they_arrive() {
        let (lines, stream) =
            (Form::Lines { has_prelude: false }, Form::Lines { has_prelude: true });
        let prelude = format!("{}\n", "h".repeat(40));
        let with_prelude = format!("{prelude}o\nh\na[\"b\"]\n");
        let long = "a".repeat(65);
        let [longest, too_long] = [64, 65]
            .map(|len| String::from_utf8(binary_packet("a".repeat(len).as_bytes())).unwrap());
        let part = |len| format!("--x\r\n\r\n{}\r\n--x--", "a".repeat(len));
        let none = "a response without a frame";
        let cut = "a response ended in the middle of a frame";
        #[rustfmt::skip]
        let table: [(Form, &str, &[&str], &str); _] = [
            (lines,        "o\n",                            &["o"],             ""),
            (lines,        "a[\"b\"]\nh\n",                  &["a[\"b\"]", "h"], ""),
            (lines,        "",                               &[],                none),
            (lines,        "a[",                             &[],                cut),
            (lines,        "hh\n",                           &["hh"],            ""),
            (lines,        &long,                            &[],                "a frame of more than 64 bytes, which is the limit"),
            (stream,       &with_prelude,                    &["o", "h", "a[\"b\"]"], ""),
            (stream,       "o\n",                            &["o"],             ""),
            (stream,       "h\nh\n",                         &["h", "h"],        ""),
            (stream,       &prelude,                         &[],                none),
            (Form::Events, "\r\ndata: o\r\n\r\ndata: h\r\n\r\n", &["o", "h"],    ""),
            (Form::Events, "data:o\n\n",                     &["o"],             ""),
            (Form::Events, "\r\n: hello\r\n\r\n",            &[],                none),
            (Form::Events, "data: o\r\n\r\ndata: h\r\n",     &["o"],             cut),
            (Form::Call("f"), "/**/f(\"a[\\\"b\\\"]\");\r\n",  &["a[\"b\"]"],     ""),
            (Form::Call("f"), "f(\"o\");\n",                  &["o"],             ""),
            (Form::Call("f"), "g(\"o\");\r\n",                &[],                "got \"g(\\\"o\\\");\\r\", expected a call of the callback function with a string"),
            (Form::Call("f"), "/**/f(o);\r\n",               &[],                "got \"/**/f(o);\\r\", expected a call of the callback function with a string"),
            (Form::Call("f"), "/**/f(\"o\");",                &[],                cut),
            (Form::Call("f"), "",                            &[],                none),
            (Form::Packets, "0{}",                           &["0{}"],           ""),
            (Form::Packets, "4a\u{1e}2\u{1e}4b\n",          &["4a", "2", "4b\n"], ""),
            (Form::Packets, "4a\u{1e}",                      &["4a", ""],        ""),
            (Form::Packets, "\u{1e}",                        &["", ""],          ""),
            (Form::Packets, "",                              &[],                none),
            (Form::Packets, &long,                           &[],                "a frame of more than 64 bytes, which is the limit"),
            (Form::Packets, "bbG9uZw==\u{1e}2",               &["long", "2"],     ""),
            (Form::Packets, "b",                             &[""],              ""),
            (Form::Packets, &longest,                        &[&long[1..]],      ""),
            (Form::Packets, &too_long,                       &[],                "a frame of more than 64 bytes, which is the limit"),
            (Form::Packets, "b:;",                           &[],                "got \"b:;\", expected Base64 after `b`"),
            (Form::Whole,  "a\r\nb\n",                       &["a\r\nb\n"],      ""),
            (Form::Whole,  "",                               &[""],              ""),
            (Form::Whole,  &long,                            &[],                "a frame of more than 64 bytes, which is the limit"),
            (Form::Parts,  "--x\r\nA: b\r\n\r\none\r\n--x\r\n\r\n two\r\n--x--\r\nrest", &["one", " two"], ""),
            (Form::Parts,  "before\r\n--x\r\n\r\n\r\n--x--", &[""],         ""),
            (Form::Parts,  "--x\r\n\r\none\r\n-x\r\n--x", &["one\r\n-x"], ""),
            (Form::Parts,  "--x\r\n\r\none\r\n--",         &[],                cut),
            (Form::Parts,  "--x--",                          &[],                none),
            (Form::Parts,  &part(64),                        &[&long[1..]],      ""),
            (Form::Parts,  &part(65),                        &[],                "a frame of more than 64 bytes, which is the limit"),
            (Form::Page,   &page("o", "a[\\\"\\u00e9\\\"]"), &["o", "a[\"\u{e9}\"]"], ""),
            (Form::Page,   HEAD,                             &[],                none),
            (Form::Page,   "<html>",                         &[],                cut),
            (Form::Page,   &format!("{HEAD}<script>\n"),     &[],                cut),
            (Form::Page,   &format!("{HEAD}<script>\np(\"o\");\n"), &[],         cut),
            (Form::Page,   &format!("{HEAD}<b>\n"),          &[],                "got \"<b>\", expected a script"),
            (Form::Page,   &format!("{HEAD}<script>\nq(\"o\");\n"), &[],         "got \"q(\\\"o\\\");\", expected a call of `p` with a string"),
            (Form::Page,   &format!("{HEAD}<script>\np(\"o\");\np"), &[],        cut),
            (Form::Page,   &format!("{HEAD}<script>\np(\"o\");\nx\n"), &[],      "got \"x\", expected the end of the script"),
        ];
        for (form, body, expected, end) in table {
            for piece_len in [1, 2, 3, 1000] {
                let (found, ended) = frames(form, body.as_bytes(), piece_len);
                assert_eq!(found, expected, "{form:?} {body:?} by {piece_len}");
                assert_eq!(ended, end, "{form:?} {body:?} by {piece_len}");
            }
        }
        let (_, error) = frames(lines, b"\xff\n", 1);
        assert_eq!(error, "a frame of 1 bytes that is not UTF-8");
    }
}
