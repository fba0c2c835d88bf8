//! Frames in the bodies of responses.

use super::error::PeerError;
use super::session::Form;
use crate::contract::{self, Input};
use crate::sse;
use std::ops::Range;

/// Finds frames in what arrives of responses, one response after the other.
#[derive(Debug)]
pub(super) struct Cutter {
    /// Bytes of the body, those before `taken` are done with.
    bytes: Vec<u8>,
    taken: usize,
    finder: Finder,
    /// The frames that this response has brought.
    count: u64,
    frame_len_max: usize,
}

/// The place in a body where the search for frames is.
#[derive(Debug)]
enum Finder {
    Events(Box<sse::Parser>),
    Lines {
        /// The line that was found last, without its end.
        frame: Range<usize>,
        /// No line ends before this byte.
        looked: usize,
        /// True before the first line of a response that may begin with a prelude.
        may_be_prelude: bool,
    },
}

impl Cutter {
    pub(super) fn new(form: Form, frame_len_max: usize) -> Self {
        let finder = Finder::new(form, frame_len_max);
        Self { bytes: Vec::new(), taken: 0, finder, count: 0, frame_len_max }
    }

    /// A response begins.
    pub(super) fn begin(&mut self, form: Form) {
        *self = Self::new(form, self.frame_len_max);
    }

    /// These bytes of the body have come.
    pub(super) fn extend(&mut self, more: &[u8]) {
        self.bytes.drain(..self.taken);
        if let Finder::Lines { frame, looked, .. } = &mut self.finder {
            *looked -= self.taken.min(*looked);
            *frame = 0..0;
        }
        self.taken = 0;
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT_LEN_MAX {
            self.bytes = Vec::new();
        }
        self.bytes.extend_from_slice(more);
    }

    /// Goes on to the next frame; `false` if it has not come whole.
    ///
    /// # Errors
    ///
    /// The frame is longer than the limit, or not UTF-8.
    pub(super) fn advance(&mut self) -> Result<bool, contract::PeerError> {
        let found = match &mut self.finder {
            Finder::Events(parser) => {
                let mut input = Input::new(&mut self.bytes[self.taken..]);
                let len = input.len();
                let found = parser.next(&mut input)?.is_some();
                self.taken += len - input.len();
                found
            }
            Finder::Lines { .. } => self.next_line()?,
        };
        self.count += u64::from(found);
        if found && str::from_utf8(self.frame()).is_err() {
            return Err(PeerError::NotUtf8 { len: self.frame().len() }.into());
        }
        Ok(found)
    }

    /// The frame that was found last.
    pub(super) fn frame(&self) -> &[u8] {
        match &self.finder {
            Finder::Events(parser) => parser.event().data,
            Finder::Lines { frame, .. } => &self.bytes[frame.clone()],
        }
    }

    /// The response is over.
    ///
    /// # Errors
    ///
    /// It ended in the middle of a frame, or brought none.
    pub(super) fn end(&self) -> Result<(), PeerError> {
        let is_amid = match &self.finder {
            Finder::Events(parser) => parser.is_amid(),
            Finder::Lines { .. } => self.taken < self.bytes.len(),
        };
        match (is_amid, self.count) {
            (true, _) => Err(PeerError::CutFrame),
            (false, 0) => Err(PeerError::Empty),
            (false, _) => Ok(()),
        }
    }

    fn next_line(&mut self) -> Result<bool, PeerError> {
        let Finder::Lines { frame, looked, may_be_prelude } = &mut self.finder else {
            return Ok(false);
        };
        loop {
            let from = (*looked).max(self.taken);
            let end = self.bytes[from..].iter().position(|byte| *byte == b'\n');
            *looked = end.map_or(self.bytes.len(), |end| from + end);
            if *looked - self.taken > self.frame_len_max {
                return Err(PeerError::OverLimit { max: self.frame_len_max });
            }
            if end.is_none() {
                return Ok(false);
            }
            let line = self.taken..*looked;
            self.taken = *looked + 1;
            let is_first = std::mem::take(may_be_prelude);
            let is_prelude =
                line.len() > 1 && self.bytes[line.clone()].iter().all(|it| *it == b'h');
            if !(is_first && is_prelude) {
                *frame = line;
                return Ok(true);
            }
        }
    }
}

impl Finder {
    fn new(form: Form, frame_len_max: usize) -> Self {
        match form {
            Form::Events => {
                let limits = sse::Limits { event_len_max: frame_len_max };
                Self::Events(Box::new(sse::Parser::new(limits)))
            }
            Form::Lines { has_prelude } => {
                Self::Lines { frame: 0..0, looked: 0, may_be_prelude: has_prelude }
            }
        }
    }
}

/// Most memory that a quiet connection keeps for a body, in bytes.
const KEPT_LEN_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    /// The frames of a response that comes in pieces of so many bytes, and its end.
    fn frames(form: Form, body: &[u8], piece_len: usize) -> (Vec<String>, String) {
        let mut cutter = Cutter::new(form, 64);
        cutter.begin(form);
        let mut frames = Vec::new();
        for piece in body.chunks(piece_len) {
            cutter.extend(piece);
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

    #[test]
    fn frames_are_lines_or_events_however_they_arrive() {
        let (lines, stream) =
            (Form::Lines { has_prelude: false }, Form::Lines { has_prelude: true });
        let prelude = format!("{}\n", "h".repeat(40));
        let with_prelude = format!("{prelude}o\nh\na[\"b\"]\n");
        let long = "a".repeat(65);
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
