//! Reads a manifest, and locates its faults.
//!
//! The shape is checked first, up to its first fault; then the values, and all their faults are reported.

use crate::{Manifest, Role};
use spec::Scheme;
use spec::conversation::READY_MADE;
use spec::suggestions::{did_you_mean, expected};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A fault of a manifest, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}:{column}: {what}", file.display())]
pub struct ManifestError {
    /// The name of the subject: that of its folder.
    pub name: String,
    /// The manifest.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters, from 1.
    pub column: usize,
    /// The fault, the values that are expected, and the one that may have been meant.
    pub what: String,
}

impl Manifest {
    /// Reads `text`, the manifest of the subject `name`, whose path is `file`.
    ///
    /// # Errors
    ///
    /// All faults, in the order of the file; at least one.
    pub fn parse(name: &str, file: &Path, text: &str) -> Result<Self, Vec<ManifestError>> {
        let mut faults = match toml::from_str::<Self>(text) {
            Ok(manifest) => match faults_of(name, &manifest, text) {
                faults if faults.is_empty() => return Ok(manifest),
                faults => faults,
            },
            Err(error) => vec![(error.span().unwrap_or(0..0), explained(error.message()))],
        };
        faults.sort_by_key(|(span, _)| span.start);
        let placed = faults.into_iter().map(|(span, what)| {
            let (line, column) = place(text, span.start);
            ManifestError { name: name.to_owned(), file: file.to_owned(), line, column, what }
        });
        Err(placed.collect())
    }
}

type Fault = (Range<usize>, String);

/// The faults in the values of a manifest that has the right shape.
fn faults_of(name: &str, manifest: &Manifest, text: &str) -> Vec<Fault> {
    let table = DeTable::parse(text).ok();
    let mut faults = Faults { table, faults: Vec::new() };
    if !is_plain_name(name) {
        faults.add(&[], format!("its folder is called {name:?}; {PLAIN_NAME}"));
    }
    for (key, value) in [
        ("language", &manifest.language),
        ("library", &manifest.library),
        ("version", &manifest.version),
        ("licence", &manifest.licence),
    ] {
        if value.trim().is_empty() {
            faults.add(&[key], format!("`{key}` is empty"));
        }
    }
    faults.check_speaks(&manifest.speaks);
    for (key, command) in [("start", &manifest.start), ("ask-version", &manifest.ask_version)] {
        faults.check_command(&[key], command);
    }
    for (key, commands) in [("install", &manifest.install), ("build", &manifest.build)] {
        for command in commands {
            faults.check_command(&[key], command);
        }
    }
    for shared in manifest.shared.iter().filter(|shared| !is_plain_name(shared)) {
        faults.add(&["shared"], format!("`shared` has {shared:?}; {PLAIN_NAME}"));
    }
    for built in manifest.built.iter().filter(|built| !is_inside(built)) {
        let expected = "expected a path below its own folder, e.g. `client`";
        faults.add(&["built"], format!("`built` has {built:?}; {expected}"));
    }
    faults.check_conversations(&manifest.conversation);
    faults.check_limits(manifest);
    faults.faults
}

struct Faults<'a> {
    table: Option<Spanned<DeTable<'a>>>,
    faults: Vec<Fault>,
}

impl Faults<'_> {
    /// Adds a fault of the value under these keys.
    fn add(&mut self, keys: &[&str], what: String) {
        let span = self.table.as_ref().map_or(0..0, |table| span_of(table.get_ref(), keys));
        self.faults.push((span, what));
    }

    fn check_speaks(&mut self, speaks: &[String]) {
        if speaks.is_empty() {
            self.add(&["speaks"], format!("`speaks` is empty; known are {}", known_schemes()));
        }
        let known = || Scheme::subjects().map(Scheme::name);
        for scheme in speaks.iter().filter(|scheme| !known().any(|known| known == *scheme)) {
            let meant = did_you_mean(scheme, known());
            let what = format!("unknown scheme {scheme:?}; known are {}{meant}", known_schemes());
            self.add(&["speaks"], what);
        }
    }

    fn check_conversations(&mut self, conversations: &[String]) {
        let known = || READY_MADE.iter().map(|(name, _)| *name);
        for name in conversations {
            if is_file(name) {
                if !is_inside(name) {
                    let what = "expected a file of its own folder, e.g. `chat.toml`";
                    self.add(&["conversation"], format!("`conversation` has {name:?}; {what}"));
                }
            } else if !known().any(|known| known == name) {
                let meant = expected(name, known());
                let what = format!(
                    "no conversation that comes with wirebench is called {name:?}{meant} (a file of its folder ends \
                     in .toml)"
                );
                self.add(&["conversation"], what);
            }
        }
    }

    fn check_command(&mut self, keys: &[&str], command: &[String]) {
        if command.first().is_none_or(|program| program.trim().is_empty()) {
            let key = keys.join(".");
            let what =
                format!("`{key}` has an empty command; expected a program and its arguments");
            self.add(keys, what);
        }
    }

    fn check_limits(&mut self, manifest: &Manifest) {
        let limits = &manifest.limits;
        let is_limited = limits.text_only
            || limits.files_only
            || limits.message_max.is_some()
            || limits.connections_max.is_some();
        if is_limited && limits.why.trim().is_empty() {
            self.add(&["limits"], "`limits` without `why`: whose limit is it?".to_owned());
        }
        if limits.files_only && !manifest.speaks.iter().any(|scheme| scheme.starts_with("http")) {
            self.add(&["limits", "files-only"], "`files-only` is for HTTP".to_owned());
        }
        match manifest.role {
            Role::Client if manifest.replies => {
                self.add(&["replies"], "`replies` is for servers".to_owned());
            }
            Role::Client if manifest.works => {
                self.add(&["works"], "`works` is for servers".to_owned());
            }
            Role::Server if manifest.rates => {
                self.add(&["rates"], "`rates` is for clients".to_owned());
            }
            Role::Client | Role::Server => {}
        }
    }
}

fn span_of(table: &DeTable<'_>, keys: &[&str]) -> Range<usize> {
    let Some((first, rest)) = keys.split_first() else { return 0..0 };
    let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref() == first) else {
        return 0..0;
    };
    if let DeValue::Table(inner) = value.get_ref()
        && !rest.is_empty()
    {
        return span_of(inner, rest);
    }
    key.span()
}

/// The TOML library's message in one line, with the key or value that was probably meant.
fn explained(message: &str) -> String {
    let line = message.trim().replace('\n', ", ");
    // `unknown field `x`, expected one of `a`, `b``: every second piece is a name.
    let mut names = line.split('`').skip(1).step_by(2);
    if !line.starts_with("unknown ") {
        return line;
    }
    let unknown = names.next().unwrap_or_default();
    let meant = did_you_mean(unknown, names);
    format!("{line}{meant}")
}

/// The line and the column, in characters, of a byte offset; both from 1.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// True if `name` can be the name of a folder and a word of a command line.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= 64
        && name.bytes().all(is_plain)
        && name.bytes().next().is_some_and(|first| first.is_ascii_lowercase())
}

fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// True for the name of a file, which no ready-made conversation can have.
fn is_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

fn known_schemes() -> String {
    Scheme::list(Scheme::subjects())
}

const PLAIN_NAME: &str =
    "expected at most 64 lowercase letters, digits and hyphens, the first a letter";

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
role = \"server\"
language = \"JavaScript\"
library = \"ws\"
version = \"8.23.0\"
from = \"npm\"
licence = \"MIT\"
speaks = [\"ws\", \"wss\"]
install = [[\"npm\", \"ci\"]]
start = [\"node\", \"server.js\"]
ask-version = [\"node\", \"--version\"]
limits.message-max = 100
limits.why = \"its own\"
";

    fn wrong(name: &str, text: &str) -> String {
        let errors = Manifest::parse(name, Path::new("ws/subject.toml"), text).unwrap_err();
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_good_one_is_read() {
        let manifest = Manifest::parse("ws", Path::new("subject.toml"), GOOD).unwrap();
        assert_eq!(manifest.start, ["node", "server.js"]);
        assert_eq!(manifest.limits.message_max, Some(100));
    }

    #[test]
    fn a_wrong_value_says_where_and_what_is_expected() {
        #[rustfmt::skip]
        let table = [
            ("role = \"server\"", "role = \"sever\"",
             "1:8: unknown variant `sever`, expected `client` or `server`; did you mean `server`?"),
            ("library = \"ws\"", "libary = \"ws\"",
             "3:1: unknown field `libary`, expected one of `role`, `language`, `library`"),
            ("from = \"npm\"", "from = \"nmp\"", "5:8: unknown variant `nmp`, expected one of `apt`"),
            ("version = \"8.23.0\"", "version = 8", "4:11: invalid type: integer `8`, expected a string"),
            ("version = \"8.23.0\"", "version = ", "4:11: string values must be quoted"),
            ("version = \"8.23.0\"", "version = \"8", "4:13: invalid basic string, expected `\"`"),
            ("start = [\"node\", \"server.js\"]\n", "", "1:1: missing field `start`"),
            ("start = [\"node\", \"server.js\"]", "start = []",
             "9:1: `start` has an empty command; expected a program and its arguments"),
            ("[[\"npm\", \"ci\"]]", "[[]]", "8:1: `install` has an empty command"),
            ("\"wss\"", "\"wsss\"", "7:1: unknown scheme \"wsss\"; known are tcp, tls, "),
            ("[\"ws\", \"wss\"]", "[]", "7:1: `speaks` is empty; known are tcp, tls, "),
            ("licence = \"MIT\"", "licence = \" \"", "6:1: `licence` is empty"),
            ("limits.why = \"its own\"", "", "11:1: `limits` without `why`: whose limit is it?"),
            ("limits.why", "rates = true\nlimits.why", "12:1: `rates` is for clients"),
            ("limits.why", "shared = [\"../x\"]\nlimits.why", "12:1: `shared` has \"../x\"; expected at most 64"),
            ("limits.why", "built = [\"/bin\"]\nlimits.why", "12:1: `built` has \"/bin\"; expected a path below"),
            ("limits.why", "conversation = \"json-rcp\"\nlimits.why",
             "12:1: no conversation that comes with wirebench is called \"json-rcp\"; did you mean `json-rpc`? (a file"),
            ("limits.why", "conversation = [\"../x.toml\"]\nlimits.why",
             "12:1: `conversation` has \"../x.toml\"; expected a file of its own folder"),
            ("limits.why", "limits.files-only = true\nlimits.why", "12:8: `files-only` is for HTTP"),
        ];
        for (right, replaced, expected) in table {
            assert!(GOOD.contains(right), "{right}");
            let said = wrong("ws", &GOOD.replacen(right, replaced, 1));
            let said = said.strip_prefix("ws/subject.toml:").unwrap_or(&said);
            assert!(said.starts_with(expected), "{replaced}: {said}");
        }
    }

    #[test]
    fn a_client_names_the_conversations_in_whose_rooms_it_receives() {
        let client = GOOD.replacen("\"server\"", "\"client\"", 1);
        let text = format!("conversation = \"room\"\n{client}");
        let manifest = Manifest::parse("ws", Path::new("subject.toml"), &text).unwrap();
        assert!(manifest.receives());
        let of = |text| Manifest::parse("ws", Path::new("subject.toml"), text).unwrap();
        assert!(!of(&client).receives() && !of(GOOD).receives());
    }

    #[test]
    fn near_spellings_are_offered_and_far_ones_are_not() {
        let said = |from: &str, to: &str| wrong("ws", &GOOD.replacen(from, to, 1));
        assert!(said("library", "libary").ends_with("; did you mean `library`?"));
        assert!(said("\"wss\"", "\"wsss\"").ends_with("; did you mean `wss`?"));
        assert!(!said("\"wss\"", "\"gopher\"").contains("did you mean"));
    }

    #[test]
    fn all_that_its_values_should_not_be_is_said_in_the_order_of_the_file() {
        let text = GOOD.replace("\"MIT\"", "\"\"").replace("[\"node\", \"--version\"]", "[\"\"]");
        let said = wrong("Ws_1", &text);
        let places: Vec<&str> = said.lines().map(|line| line.split(": ").next().unwrap()).collect();
        let file = "ws/subject.toml";
        assert_eq!(places, [":1:1", ":6:1", ":10:1"].map(|place| format!("{file}{place}")));
        assert!(
            said.contains("its folder is called \"Ws_1\"; expected at most 64 lowercase"),
            "{said}"
        );
    }

    #[test]
    fn columns_are_characters() {
        assert_eq!(place("a\nüb", 4), (2, 2));
        assert_eq!(place("", 0), (1, 1));
    }

    #[test]
    fn cut_off_anywhere_it_does_not_panic() {
        for len in 0..GOOD.len() {
            let _result = Manifest::parse("ws", Path::new("subject.toml"), &GOOD[..len]);
        }
    }
}
