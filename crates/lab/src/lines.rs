//! Lines from a pipe, with a limit on their length and a deadline.

use engine::thread::{self, ThreadError};
use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use units::Nanos;

/// The lines of a pipe, read by a thread of its own because a pipe has no timeout. After this is dropped, the thread
/// keeps reading and discards the bytes, so that the writer never blocks.
#[derive(Debug)]
pub(crate) struct Lines {
    lines: Receiver<Line>,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Its bytes, without its end.
    Bytes(Vec<u8>),
    /// The start of a line that is longer than allowed.
    TooLong(Vec<u8>),
}

/// The reasons why there is no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoLine {
    /// The other end is closed.
    End,
    /// It has not arrived yet.
    Late,
}

impl Lines {
    /// Reads the lines of `pipe`, none of which may be longer than `len_max` bytes.
    pub(crate) fn read(
        pipe: impl Read + Send + 'static,
        len_max: usize,
    ) -> Result<Self, ThreadError> {
        let (sender, lines) = sync_channel(AHEAD_MAX);
        thread::start("lines", move || {
            let mut pipe = BufReader::with_capacity(64 << 10, pipe);
            forward(&mut pipe, len_max, &sender);
            drop(sender);
            drop(std::io::copy(&mut pipe, &mut std::io::sink()));
        })?;
        Ok(Self { lines })
    }

    /// The next line; waits at most this long for it.
    pub(crate) fn next(&self, at_most: Nanos) -> Result<Line, NoLine> {
        self.lines.recv_timeout(at_most.into()).map_err(|error| match error {
            RecvTimeoutError::Timeout => NoLine::Late,
            RecvTimeoutError::Disconnected => NoLine::End,
        })
    }

    /// A line that has already arrived.
    pub(crate) fn already(&self) -> Result<Line, NoLine> {
        self.lines.try_recv().map_err(|error| match error {
            TryRecvError::Empty => NoLine::Late,
            TryRecvError::Disconnected => NoLine::End,
        })
    }
}

/// Forwards lines until the pipe ends, the receiver is gone, or a line is too long.
fn forward(pipe: &mut impl BufRead, len_max: usize, sender: &SyncSender<Line>) {
    loop {
        let mut line = Vec::new();
        // One byte more than allowed, and the newline.
        let mut limited = pipe.take(len_max as u64 + 2);
        let Ok(1..) = limited.read_until(b'\n', &mut line) else { return };
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        let is_too_long = line.len() > len_max;
        let line = if is_too_long {
            line.truncate(len_max.min(SHOWN_LEN_MAX));
            Line::TooLong(line)
        } else {
            Line::Bytes(line)
        };
        if sender.send(line).is_err() || is_too_long {
            return;
        }
    }
}

/// The start of a line, quoted and escaped for a terminal.
pub(crate) fn quoted(line: &[u8]) -> String {
    let shown = &line[..line.len().min(SHOWN_LEN_MAX)];
    let more = if shown.len() < line.len() { "…" } else { "" };
    format!("\"{}{more}\"", shown.escape_ascii())
}

/// The most lines that are read ahead.
const AHEAD_MAX: usize = 16;

/// The most bytes of a line that are shown.
const SHOWN_LEN_MAX: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(text: &str, len_max: usize) -> Vec<Line> {
        let lines = Lines::read(std::io::Cursor::new(text.to_owned()), len_max).unwrap();
        std::iter::from_fn(|| lines.next(Nanos::from_secs(10)).ok()).collect()
    }

    fn bytes(text: &str) -> Line {
        Line::Bytes(text.into())
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
        assert_eq!(lines_of("ab\n\nc", 3), [bytes("ab"), bytes(""), bytes("c")]);
        assert_eq!(lines_of("abc\nabc", 3), [bytes("abc"), bytes("abc")]);
        assert_eq!(lines_of("abcd\nab", 3), [Line::TooLong("abc".into())]);
        assert_eq!(lines_of("", 3), []);
    }

    #[test]
    fn what_is_shown_of_a_line_is_short_and_escaped() {
        assert_eq!(quoted(b"\x1b[2J\xff"), r#""\x1b[2J\xff""#);
        assert_eq!(quoted(&[b'a'; 500]).chars().count(), 120 + 3);
    }
}
