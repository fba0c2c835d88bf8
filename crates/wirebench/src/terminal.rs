//! The two output streams: results go to stdout, messages to stderr; their width, and their colours.
//!
//! Messages are escaped here ([`report::escape`]), so text from a peer or a file cannot control the terminal. Pages
//! made by `report` are escaped there. A reader that closes the stream (`| head`) is not an error.

use crate::exit::{Exit, Failure};
use spec::secrets::text_without_secrets;
use std::borrow::Cow;
use std::env::var_os;
use std::io::{self, ErrorKind, IsTerminal, Write};

/// The choice of `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum When {
    /// On a terminal, as NO_COLOR, FORCE_COLOR and TERM=dumb allow
    Auto,
    Always,
    Never,
}

/// The amount of messages on stderr besides the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Talk {
    /// Only errors.
    Quiet,
    /// Progress, warnings, the path of the record.
    Usual,
    /// The same, and a line for every block.
    Verbose,
}

/// The two streams.
#[derive(Clone, Debug)]
pub(crate) struct Terminal {
    /// The amount of messages on stderr.
    pub(crate) talk: Talk,
    /// True if a line may be rewritten in place.
    pub(crate) animated: bool,
    /// True if the full screen may be used, and keys can be read.
    pub(crate) has_screen: bool,
    color_of_result: bool,
    color_of_words: bool,
    /// True where a service reads the output for commands.
    is_read: bool,
}

impl Terminal {
    /// Settings from the options, the streams and the environment.
    pub(crate) fn new(when: When, talk: Talk) -> Self {
        let is_set = |name| var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = var_os("TERM").is_some_and(|term| term == "dumb");
        let wish = Wish {
            when,
            refused: is_set("NO_COLOR"),
            forced: is_set("FORCE_COLOR")
                && var_os("FORCE_COLOR").is_some_and(|value| value != "0"),
            dumb,
        };
        let words_seen = io::stderr().is_terminal();
        Self {
            talk,
            animated: words_seen && !dumb,
            has_screen: words_seen && !dumb && talk == Talk::Usual && has_keys(),
            color_of_result: wish.colors(io::stdout().is_terminal()),
            color_of_words: wish.colors(words_seen),
            is_read: false,
        }
    }

    /// Returns a copy. With `is_read`, nothing in its output is a command to the service that reads it.
    pub(crate) fn guarded(&self, is_read: bool) -> Self {
        Self { is_read, ..self.clone() }
    }

    /// Writes a command to the service that reads stderr.
    pub(crate) fn command(&self, line: &str) {
        write_words(&format!("{}\n", safe(line)));
    }

    /// The size and colours of a page on stdout. A pipe or file has room for any number of lines.
    pub(crate) fn style(&self) -> report::Style {
        let lines = lines(&io::stdout()).map(|lines| lines.saturating_sub(LINES_OF_WORDS));
        report::Style { width: columns(&io::stdout()), lines, color: self.color_of_result }
    }

    /// The width of a line on stderr, in columns.
    pub(crate) fn columns_of_words(&self) -> usize {
        columns(&io::stderr())
    }

    /// Writes `text`, a part of the result, to stdout.
    ///
    /// # Errors
    ///
    /// [`Exit::NOT_WRITTEN`], unless the reader has closed the stream.
    pub(crate) fn result(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        let text = self.harmless(text);
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::new(
                Exit::NOT_WRITTEN,
                anyhow::anyhow!("cannot write the result to stdout: {error}"),
            )),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Writes `text` to stderr, unless [`Talk::Quiet`] is set.
    pub(crate) fn say(&self, text: &str) {
        if self.talk > Talk::Quiet {
            write_words(&format!("{}\n", self.harmless(&safe(text))));
        }
    }

    /// Writes `text` to stderr after a coloured `label`; errors even if [`Talk::Quiet`] is set.
    pub(crate) fn say_labelled(&self, label: Label, text: &str) {
        if self.talk > Talk::Quiet || label == Label::Error {
            let (word, color) = label.word_and_color();
            let (on, off) = if self.color_of_words { (color, "\x1b[0m") } else { ("", "") };
            let text = safe(unlabelled(word, text));
            write_words(&format!("{on}{word}:{off} {}\n", self.harmless(&text)));
        }
    }

    /// Writes the next thing to do to stderr; on a terminal it is wrapped between words.
    pub(crate) fn say_next(&self, text: &str) {
        if !self.animated {
            self.say_labelled(Label::Next, text);
        } else if self.talk > Talk::Quiet {
            let (width, color) = (self.columns_of_words(), self.color_of_words);
            let style = report::Style { width, lines: None, color };
            let text = text_without_secrets(text);
            write_words(&self.harmless(&report::paragraph("next:", &text, &style)));
        }
    }

    /// Escapes whatever would be a command in `text`; the escapes mean the same in JSON.
    fn harmless<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !self.is_read || !(text.contains("::") || text.contains("##[")) {
            return Cow::Borrowed(text);
        }
        let line = |line: &str| {
            let text = line.trim_start();
            let blanks = &line[..line.len() - text.len()];
            let text = match text.strip_prefix("::") {
                Some(rest) => format!("{blanks}\\u003a:{rest}"),
                None => line.to_owned(),
            };
            text.replace("##[", "#\\u0023[")
        };
        Cow::Owned(text.split_inclusive('\n').map(line).collect())
    }

    /// Replaces the last line that was written by this function.
    pub(crate) fn rewrite(&self, line: &str) {
        write_words(&format!("\r\x1b[2K{}", safe(line)));
    }

    /// Removes that line.
    pub(crate) fn clear(&self) {
        write_words("\r\x1b[2K");
    }
}

/// The kinds of labelled messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    Error,
    Next,
    Record,
    Repeat,
    Report,
    Warning,
}

impl Label {
    fn word_and_color(self) -> (&'static str, &'static str) {
        match self {
            Self::Error => ("error", "\x1b[1;31m"),
            Self::Next => ("next", "\x1b[1m"),
            Self::Record => ("record", "\x1b[1m"),
            Self::Repeat => ("repeat", "\x1b[1m"),
            Self::Report => ("report", "\x1b[1m"),
            Self::Warning => ("warning", "\x1b[1;33m"),
        }
    }
}

/// Everything that decides about colours.
#[derive(Clone, Copy)]
struct Wish {
    when: When,
    /// NO_COLOR is set and not empty.
    refused: bool,
    /// FORCE_COLOR is set and neither empty nor 0.
    forced: bool,
    /// TERM=dumb.
    dumb: bool,
}

impl Wish {
    fn colors(self, is_terminal: bool) -> bool {
        match self.when {
            When::Always => true,
            When::Never => false,
            When::Auto if self.refused => false,
            When::Auto => self.forced || (is_terminal && !self.dumb),
        }
    }
}

/// Escapes `text` except for its line ends, and cuts out the secrets of URLs.
fn safe(text: &str) -> String {
    let text = text_without_secrets(text);
    let lines: Vec<String> = text.lines().map(report::escape).collect();
    lines.join("\n")
}

/// Removes the label that `text` may have already, as the words of another program do.
fn unlabelled<'a>(label: &str, text: &'a str) -> &'a str {
    text.strip_prefix(label).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(text)
}

/// Writes to stderr; an error is ignored, because there is nowhere left to report it.
fn write_words(text: &str) {
    io::stderr().lock().write_all(text.as_bytes()).ok();
}

/// True if stdin is a terminal that this program may read: it runs in the foreground.
fn has_keys() -> bool {
    let foreground = rustix::termios::tcgetpgrp(io::stdin());
    foreground.is_ok_and(|group| group == rustix::process::getpgrp())
}

fn columns(stream: &impl rustix::fd::AsFd) -> usize {
    let asked = var_os("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok());
    let seen = || rustix::termios::tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col));
    asked.or_else(seen).filter(|columns| *columns > 0).unwrap_or(COLUMNS_USUAL)
}

/// The height of a terminal, at least [`LINES_MIN`]; `None` for anything else.
fn lines(stream: &(impl rustix::fd::AsFd + IsTerminal)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let seen = rustix::termios::tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_row));
    Some(seen.unwrap_or(0).max(LINES_MIN))
}

/// The least height to assume: every page fits it.
const LINES_MIN: usize = 24;
/// The lines below a page: the record, its report, how to repeat it, what to do next on two lines, and the prompt.
const LINES_OF_WORDS: usize = 6;
/// The width if there is no terminal.
const COLUMNS_USUAL: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_unless_somebody_says_otherwise() {
        const NONE: Wish = Wish { when: When::Auto, refused: false, forced: false, dumb: false };
        #[rustfmt::skip]
        let table = [
            // the wish,                                 on a terminal, elsewhere
            (NONE,                                                true,  false),
            (Wish { dumb: true, ..NONE },                         false, false),
            (Wish { forced: true, ..NONE },                       true,  true),
            (Wish { forced: true, dumb: true, ..NONE },           true,  true),
            (Wish { refused: true, forced: true, ..NONE },        false, false),
            (Wish { when: When::Always, refused: true, ..NONE },  true,  true),
            (Wish { when: When::Never, forced: true, ..NONE },    false, false),
        ];
        for (index, (wish, on_terminal, elsewhere)) in table.into_iter().enumerate() {
            assert_eq!(wish.colors(true), on_terminal, "row {index}");
            assert_eq!(wish.colors(false), elsewhere, "row {index}");
        }
    }

    #[test]
    fn a_label_stands_once() {
        assert_eq!(unlabelled("error", "error: no such file"), "no such file");
        assert_eq!(unlabelled("error", "errors: 3"), "errors: 3");
        assert_eq!(unlabelled("warning", "error: no such file"), "error: no such file");
    }

    #[test]
    fn a_service_that_reads_the_output_finds_no_command_in_it() {
        let terminal = Terminal::new(When::Never, Talk::Usual);
        let page = "a: b::c\n  ::error::x\nsaid ##[error]x\n";
        assert_eq!(terminal.harmless(page), page);
        let page = terminal.guarded(true).harmless(page).into_owned();
        assert_eq!(page, "a: b::c\n  \\u003a:error::x\nsaid #\\u0023[error]x\n");
    }

    #[test]
    fn words_keep_their_lines_and_nothing_else_that_moves_a_terminal() {
        assert_eq!(safe("one\ntwo\x1b[2J\r\x07"), "one\ntwo\\u{1b}[2J\\r\\u{7}");
    }
}
