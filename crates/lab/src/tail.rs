//! The last words of a program, fit for a terminal.

use engine::thread::{self, ThreadError};
use std::collections::VecDeque;
use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use units::Nanos;

/// The last bytes out of a pipe, read by a thread of its own so that the writer never waits.
#[derive(Debug)]
pub(crate) struct Tail {
    tail: Arc<Mutex<VecDeque<u8>>>,
    /// Disconnected when there is no more.
    ended: Receiver<()>,
}

impl Tail {
    /// The most bytes that are kept.
    pub(crate) const SIZE_MAX: usize = 64 << 10;

    pub(crate) fn read(mut pipe: impl Read + Send + 'static) -> Result<Self, ThreadError> {
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        let (sender, ended) = channel();
        let kept = Arc::clone(&tail);
        thread::start("tail", move || {
            let _sender = sender;
            let mut buffer = vec![0; 16 << 10];
            while let Ok(len @ 1..) = pipe.read(&mut buffer) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&buffer[..len]);
                let excess = kept.len().saturating_sub(Self::SIZE_MAX);
                kept.drain(..excess);
            }
        })?;
        Ok(Self { tail, ended })
    }

    /// Waits until the other end is closed; not longer than a second.
    pub(crate) fn wait(&self) {
        self.wait_for(Nanos::from_secs(1));
    }

    /// The same, at most so long. True if it is closed.
    pub(crate) fn wait_for(&self, at_most: Nanos) -> bool {
        self.ended.recv_timeout(at_most.into()) == Err(RecvTimeoutError::Disconnected)
    }

    /// The bytes kept so far as text, harmless on a terminal.
    pub(crate) fn text(&self) -> String {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        escaped(tail.make_contiguous())
    }
}

/// The text of `bytes` with all that could steer a terminal escaped; lines stay lines.
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
        let tail = Tail::read(std::io::Cursor::new(words)).unwrap();
        tail.wait();
        let text = tail.text();
        assert!(text.ends_with("aa\\u{1b}[31mend\\r\n"), "{}", &text[text.len() - 30..]);
        assert_eq!(text.matches('a').count(), Tail::SIZE_MAX - 10);
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
