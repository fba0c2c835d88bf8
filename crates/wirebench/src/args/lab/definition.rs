//! What a file says a lab is; `docs/LAB.md` is its description.
//!
//! Every problem is told with its line and column. What the rows come to, with the subjects that are there, is worked
//! out by `matrix`.

use crate::args::published::PublishedTable;
use crate::args::values;
use record::{Published, View};
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::num::NonZeroU32;
use toml::Spanned;
use units::Nanos;

/// A lab, as its file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Definition {
    /// What it is to answer.
    pub(super) question: String,
    /// What its page shows besides the table.
    #[serde(default)]
    pub(super) show: Vec<Shown>,
    /// How often each cell has its turn.
    pub(super) rounds: Option<Rounds>,
    /// How long each turn is measured.
    pub(super) block: Option<Time>,
    /// Options of `wirebench run`, for all cells.
    #[serde(default)]
    pub(super) run: Words,
    /// Whether messages are text, where a transport knows the difference.
    #[serde(default)]
    pub(super) text: bool,
    /// What servers answer, in place of an echo.
    pub(super) reply: Option<String>,
    /// What is different with --quick.
    #[serde(default)]
    pub(super) quick: Quick,
    /// How much is asked of each row.
    #[serde(rename = "load")]
    pub(super) loads: Vec<Load>,
    /// Who is measured.
    #[serde(rename = "row")]
    pub(super) rows: Vec<Row>,
    published: Option<PublishedTable>,
}

/// What is different with --quick.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Quick {
    pub(super) rounds: Option<Rounds>,
    pub(super) block: Option<Time>,
    /// The loads that are kept.
    pub(super) loads: Option<Spanned<Words>>,
}

/// A load: what `wirebench run` is told besides.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Load {
    pub(super) name: Spanned<String>,
    #[serde(default)]
    pub(super) run: Words,
    /// In place of `run`, with --quick.
    pub(super) quick: Option<Words>,
}

/// A row: a product of servers, clients, transports and loads.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Row {
    pub(super) name: Option<Spanned<String>>,
    /// Subjects, or `embedded`: our own.
    pub(super) server: Spanned<Words>,
    /// Subjects, or `wirebench`: ourselves.
    pub(super) client: Option<Spanned<Words>>,
    /// Schemes of URLs.
    pub(super) transport: Spanned<Words>,
    /// Names of loads; none named: all.
    pub(super) load: Option<Spanned<Words>>,
    /// What the server answers, in place of what is said for all; `""`: an echo.
    pub(super) reply: Option<String>,
    /// What the client calls the server, in place of its address, e.g. `localhost`.
    pub(super) host: Option<String>,
    /// What is asked for of the server, in place of the path that it says, e.g. `/64`.
    pub(super) path: Option<String>,
    /// Options of `wirebench run` for this row.
    #[serde(default)]
    pub(super) run: Words,
    /// The row that it is compared with; by default row zero.
    pub(super) base: Option<Spanned<String>>,
    /// The row that is the same without a layer, and what the layer is.
    pub(super) layer: Option<Layer>,
}

/// What a row has that another one has not.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Layer {
    /// The row without it.
    pub(super) over: Spanned<String>,
    /// What it is, e.g. `framing`.
    pub(super) adds: String,
}

/// One text or several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Words(pub(super) Vec<String>);

/// Something that is shown besides the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown(View);

/// A time, as it would be typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time(pub(super) Nanos);

/// A number of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rounds(pub(super) NonZeroU32);

/// A text, and whose it is for messages about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

impl Source<'_> {
    /// `problem`, with the place of what stands there.
    pub(super) fn at<T>(&self, place: &Spanned<T>, problem: impl fmt::Display) -> String {
        self.at_byte(place.span().start, problem)
    }

    fn at_byte(&self, at: usize, problem: impl fmt::Display) -> String {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("{}:{line}:{column}: {problem}", self.name)
    }
}

/// What the file holds.
pub(super) fn text_of(path: &str) -> Result<String, String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(FILE_MAX).read_to_string(&mut text));
    match read {
        Ok(len) if len as u64 == FILE_MAX => Err(format!("{path} is too large for a lab")),
        Ok(_) => Ok(text),
        Err(error) => {
            Err(format!("cannot read {path}: {error}; a lab is a file as in docs/LAB.md"))
        }
    }
}

/// What a text says.
pub(super) fn read(source: Source<'_>) -> Result<Definition, String> {
    let definition: Definition = toml::from_str(source.text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        source.at_byte(at, error.message().replace('\n', "; "))
    })?;
    definition.check(source)?;
    Ok(definition)
}

impl Definition {
    /// That names are there once, and what they name too.
    fn check(&self, source: Source<'_>) -> Result<(), String> {
        let mut names: Vec<&str> = Vec::new();
        for Load { name, .. } in &self.loads {
            if names.contains(&name.get_ref().as_str()) {
                let name_said = name.get_ref();
                return Err(source.at(name, format!("two loads are called `{name_said}`")));
            }
            names.push(name.get_ref());
        }
        let named = self.rows.iter().filter_map(|row| row.load.as_ref());
        for load in named.chain(&self.quick.loads) {
            for name in &load.get_ref().0 {
                if !names.contains(&name.as_str()) {
                    return Err(source.at(
                        load,
                        format!("no load is called `{name}`; there are {}", names.join(", ")),
                    ));
                }
            }
        }
        for row in &self.rows {
            for (words, what) in [(&row.server, "server"), (&row.transport, "transport")] {
                if words.get_ref().0.is_empty() {
                    return Err(source.at(words, format!("a row needs a {what}")));
                }
            }
        }
        Ok(())
    }

    /// What its page shows besides the table.
    pub(super) fn views(&self) -> Vec<View> {
        self.show.iter().map(|shown| shown.0).collect()
    }

    /// What others published.
    pub(super) fn published(&self) -> Option<Published> {
        self.published.clone().map(Published::from)
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMore;
        impl<'de> Visitor<'de> for OneOrMore {
            type Value = Words;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a list of texts")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Words, E> {
                Ok(Words(vec![text.to_owned()]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Words, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = all.next_element()? {
                    words.push(word);
                }
                Ok(Words(words))
            }
        }
        deserializer.deserialize_any(OneOrMore)
    }
}

impl<'de> Deserialize<'de> for Shown {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = VIEWS.iter().find(|(known, _)| *known == name);
        let names = || VIEWS.map(|(name, _)| name).join(", ");
        known.map(|(_, view)| Self(*view)).ok_or_else(|| {
            de::Error::custom(format!(
                "nothing that is shown is called `{name}`; there are {}",
                names()
            ))
        })
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        values::some_time(&text).map(Self).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Rounds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let count = u64::deserialize(deserializer)?;
        values::rounds(&count.to_string()).map(Self).map_err(de::Error::custom)
    }
}

/// What can be shown besides the table, as files have it.
const VIEWS: [(&str, View); 5] = [
    ("benchmark", View::Benchmark),
    ("footprint", View::Footprint),
    ("life", View::Life),
    ("memory", View::Memory),
    ("wall-per-message", View::WallPerMessage),
];
/// A definition is much shorter.
const FILE_MAX: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Definition, String> {
        read(Source { name: "x.toml", text })
    }

    #[test]
    fn a_file_has_loads_rows_and_what_is_different_when_it_is_to_be_quick() {
        let text = "question = 'which?'\nshow = ['life']\nrounds = 3\nblock = '1s'\nrun = ['--size', '30B']\n\
            [quick]\nloads = 'few'\n[[load]]\nname = 'few'\nrun = ['-c', '5']\n[[load]]\nname = 'many'\n\
            [[row]]\nserver = ['a', 'b']\ntransport = 'ws'\nlayer = { over = 'tcp', adds = 'framing' }\n\
            [published]\nsource = 'them'\n[[published.row]]\nname = 'p'\nlife_mean_ms = 33.9\n";
        let definition = read_text(text).unwrap();
        assert_eq!(definition.views(), [View::Life]);
        assert_eq!(definition.rounds.unwrap().0.get(), 3);
        assert_eq!(definition.rows[0].server.get_ref().0, ["a", "b"]);
        assert_eq!(definition.rows[0].transport.get_ref().0, ["ws"]);
        assert_eq!(definition.quick.loads.as_ref().unwrap().get_ref().0, ["few"]);
        assert_eq!(definition.published().unwrap().rows[0].life_mean_ms, Some(33.9));
    }

    #[test]
    fn what_a_file_should_not_say_is_named_with_its_place() {
        let load = "[[load]]\nname = 'l'\n";
        let row = "[[row]]\nserver = 'a'\ntransport = 'ws'\n";
        let question = "question = 'q'\n";
        #[rustfmt::skip]
        let table = [
            (format!("{load}{row}"),                                     "x.toml:1:1: missing field `question`"),
            (format!("{question}{row}"),                                 "missing field `load`"),
            (format!("{question}colour = 1\n{load}{row}"),               "x.toml:2:1: unknown field `colour`"),
            (format!("{question}rounds = 0\n{load}{row}"),               "x.toml:2:10: must be at least 1"),
            (format!("{question}block = 'soon'\n{load}{row}"),           "x.toml:2:9: "),
            (format!("{question}show = ['lives']\n{load}{row}"),         "x.toml:2:8: nothing that is shown is called `lives`; there are benchmark,"),
            (format!("{question}{load}{load}{row}"),                     "x.toml:5:8: two loads are called `l`"),
            (format!("{question}{load}{row}load = ['m']\n"),             "x.toml:7:8: no load is called `m`; there are l"),
            (format!("{question}[quick]\nloads = 'm'\n{load}{row}"),     "x.toml:3:9: no load is called `m`"),
            (format!("{question}{load}{row}server = 'b'\n"),             "x.toml:7:1: duplicate key"),
            (format!("{question}{load}[[row]]\nserver = []\ntransport = 'ws'\n"), "x.toml:5:10: a row needs a server"),
            (format!("{question}{load}[[row]]\nserver = 'a'\n"),         "missing field `transport`"),
            (format!("{question}{load}[[row]]\nserver = 5\ntransport = 'ws'\n"), "x.toml:5:10: invalid type: integer `5`, expected a text, or a list of texts"),
            ("question =\n".to_owned(),                                  "x.toml:1:11: "),
        ];
        for (text, problem) in table {
            let error = read_text(&text).unwrap_err();
            assert!(error.contains(problem), "{text:?}: {error}");
        }
    }
}
