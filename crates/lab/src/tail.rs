//! The last words of a program, fit for a terminal.

use engine::thread::{self, ThreadError};
use std::collections::VecDeque;
use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use units::Nanos;

/// The last bytes from a pipe, read by a thread of its own so that the writer never blocks.
#[derive(Debug)]
pub(crate) struct Tail {
    kept: Arc<Mutex<Kept>>,
    /// Disconnected at the end of the pipe.
    ended: Receiver<()>,
}

impl Tail {
    /// The most bytes that are kept.
    pub(crate) const SIZE_MAX: usize = 64 << 10;

    /// Reads `pipe` to its end, and looks for `awaited` in everything that arrives ([`Tail::has_come`]).
    pub(crate) fn read(
        mut pipe: impl Read + Send + 'static,
        awaited: Option<&str>,
    ) -> Result<Self, ThreadError> {
        let awaited = awaited.filter(|text| !text.is_empty()).map(|text| text.as_bytes().to_vec());
        let kept = Arc::new(Mutex::new(Kept { bytes: VecDeque::new(), awaited }));
        let (sender, ended) = channel();
        let filled = Arc::clone(&kept);
        thread::start("tail", move || {
            let _sender = sender;
            let mut buffer = vec![0; 16 << 10];
            while let Ok(len @ 1..) = pipe.read(&mut buffer) {
                filled.lock().unwrap_or_else(PoisonError::into_inner).add(&buffer[..len]);
            }
        })?;
        Ok(Self { kept, ended })
    }

    /// True once the awaited text has arrived; from the beginning if there is none.
    pub(crate) fn has_come(&self) -> bool {
        self.kept().awaited.is_none()
    }

    /// Waits until the other end is closed, for at most a second.
    pub(crate) fn wait(&self) {
        self.wait_for(Nanos::from_secs(1));
    }

    /// Waits until the other end is closed, for at most this long. True if it is closed.
    pub(crate) fn wait_for(&self, at_most: Nanos) -> bool {
        self.ended.recv_timeout(at_most.into()) == Err(RecvTimeoutError::Disconnected)
    }

    /// The bytes kept so far as text, escaped for a terminal.
    pub(crate) fn text(&self) -> String {
        escaped(self.kept().bytes.make_contiguous())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last bytes so far.
#[derive(Debug)]
struct Kept {
    bytes: VecDeque<u8>,
    /// The awaited text, until it has arrived.
    awaited: Option<Vec<u8>>,
}

impl Kept {
    fn add(&mut self, new: &[u8]) {
        let known = self.bytes.len();
        self.bytes.extend(new);
        // It may arrive in pieces.
        self.awaited.take_if(|awaited| {
            let bytes = &self.bytes.make_contiguous()[known.saturating_sub(awaited.len())..];
            bytes.windows(awaited.len()).any(|window| window == *awaited)
        });
        let excess = self.bytes.len().saturating_sub(Tail::SIZE_MAX);
        self.bytes.drain(..excess);
    }
}

/// The text of `bytes`, with every control character escaped that could affect a terminal; newlines are kept.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for character in String::from_utf8_lossy(bytes).chars() {
        if character.is_control() && character != '\n' {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
    }
    text
}

/// The last lines of `text`: at most `count`, without empty ones, the long ones cut off.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(count)..];
    let cut_off = last.iter().map(|line| match line.char_indices().nth(LINE_SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => (*line).to_owned(),
    });
    cut_off.collect::<Vec<_>>().join("\n")
}

/// The most characters of a line that are shown.
const LINE_SHOWN_MAX: usize = 240;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_kept_and_no_more() {
        let mut words = vec![b'a'; 3 * Tail::SIZE_MAX];
        words.extend(b"\x1b[31mend\r\n");
        let tail = Tail::read(std::io::Cursor::new(words), None).unwrap();
        tail.wait();
        let text = tail.text();
        assert!(text.ends_with("aa\\u{1b}[31mend\\r\n"), "{}", &text[text.len() - 30..]);
        assert_eq!(text.matches('a').count(), Tail::SIZE_MAX - 10);
    }

    #[test]
    fn a_text_is_found_in_pieces_and_long_before_the_end() {
        // Each piece is read on its own.
        let pieces = |pieces: &[&str]| {
            let mut pipe: Box<dyn Read + Send> = Box::new(std::io::empty());
            for piece in pieces {
                pipe = Box::new(pipe.chain(std::io::Cursor::new((*piece).to_owned())));
            }
            let tail = Tail::read(pipe, Some("up at 1")).unwrap();
            tail.wait();
            tail.has_come()
        };
        let much = "a".repeat(2 * Tail::SIZE_MAX);
        assert!(pieces(&["listening\nup a", "t 127.0.0.1\n"]));
        assert!(pieces(&["u", "p", " at ", "1"]));
        assert!(pieces(&[&much[..9], "\nup at 1\n", &much]));
        assert!(!pieces(&["up at", "\n1"]));
        assert!(!pieces(&[&much, "up at "]));
        assert!(Tail::read(std::io::empty(), None).unwrap().has_come(), "none is awaited");
    }

    #[test]
    fn last_lines_leave_out_empty_ones() {
        assert_eq!(last_lines("a\n\nb\n  \nc\n", 2), "b\nc");
        assert_eq!(last_lines("", 2), "");
    }

    #[test]
    fn a_long_line_is_cut_off_between_characters() {
        let shown = last_lines(&"ü".repeat(LINE_SHOWN_MAX + 1), 1);
        assert_eq!(shown, format!("{}…", "ü".repeat(LINE_SHOWN_MAX)));
    }
}
