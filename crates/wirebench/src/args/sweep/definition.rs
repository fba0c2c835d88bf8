//! What a file says is to be swept; `docs/SWEEP.md` is its description.

use super::objective::objective;
use super::{factor, load, repeats};
use crate::args::published::PublishedTable;
use crate::args::values;
use record::{Published, SweepOf};
use run::{Embedded, Objective};
use spec::{Protocol, Scheme};
use std::fs::File;
use std::io::Read;
use std::num::NonZeroU32;
use toml::{Table, Value};
use units::Nanos;

/// Lines, and how they are swept.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) lines: Vec<Line>,
    pub(super) all: Knobs,
    /// What is different with --quick.
    pub(super) quick: Option<Knobs>,
    /// Statements of others about the same experiment.
    pub(super) published: Option<Published>,
}

/// One of the things compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) name: String,
    /// Where it is; of an embedded server only what it speaks.
    pub(super) url: String,
    pub(super) embedded: Option<Embedded>,
    /// Options of `wirebench run` for this line alone.
    pub(super) run: Vec<String>,
}

/// What can be said in the file and by flags.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Knobs {
    pub(super) of: Option<Of>,
    pub(super) from: Option<u64>,
    pub(super) to: Option<u64>,
    pub(super) factor: Option<f64>,
    pub(super) repeats: Option<u32>,
    pub(super) duration: Option<Nanos>,
    pub(super) settle: Option<Nanos>,
    pub(super) every: Option<Nanos>,
    pub(super) bots_max: Option<NonZeroU32>,
    pub(super) slo: Option<Objective>,
    pub(super) budget: Option<Nanos>,
    /// Options of `wirebench run` for all lines.
    pub(super) run: Vec<String>,
}

/// What is stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Of {
    /// Bots, each with a connection of its own, that send --every so often
    Bots,
    /// Connections, for each of which a message is due --every so often
    Connections,
    /// Messages a second, over a fixed number of --connections
    Rate,
}

impl Of {
    /// What stands behind a load.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Bots => " bots",
            Self::Connections => " connections",
            Self::Rate => "/s",
        }
    }
}

impl From<Of> for SweepOf {
    fn from(of: Of) -> Self {
        match of {
            Of::Bots => Self::Bots,
            Of::Connections => Self::Connections,
            Of::Rate => Self::Rate,
        }
    }
}

impl Definition {
    /// One line.
    pub(super) fn of_url(url: &str) -> Self {
        let (name, url) = (url.to_owned(), url.to_owned());
        let line = Line { name, url, embedded: None, run: Vec::new() };
        Self { lines: vec![line], all: Knobs::default(), quick: None, published: None }
    }
}

/// What a file says.
pub(super) fn read_file(path: &str) -> Result<Definition, String> {
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(FILE_MAX).read_to_string(&mut text)).map_err(
        |error| format!("cannot read {path}: {error}; name a URL, or a file as in docs/SWEEP.md"),
    )?;
    read(path, &text)
}

/// What a text says that is called `name`.
pub(super) fn read(name: &str, text: &str) -> Result<Definition, String> {
    let problem = |what: String| format!("{name}: {what}");
    let mut table: Table = text
        .parse()
        .map_err(|error: toml::de::Error| problem(error.to_string().trim_end().to_owned()))?;
    let lines = match table.remove("line") {
        Some(Value::Array(lines)) if !lines.is_empty() => lines,
        _ => return Err(problem("no `[[line]]` says what to sweep".to_owned())),
    };
    let quick = match table.remove("quick") {
        None => None,
        Some(Value::Table(quick)) => {
            Some(knobs(quick).map_err(|what| problem(format!("quick: {what}")))?)
        }
        Some(_) => return Err(problem("`quick` is a table".to_owned())),
    };
    let published = table.remove("published").map(Value::try_into::<PublishedTable>).transpose();
    let published =
        published.map_err(|error| problem(format!("published: {}", error.message())))?;
    drop(table.remove("question"));
    let all = knobs(table).map_err(problem)?;
    let lines: Vec<Line> =
        lines.into_iter().map(line).collect::<Result<_, _>>().map_err(problem)?;
    let twice = lines
        .iter()
        .enumerate()
        .find(|(at, line)| lines[..*at].iter().any(|l| l.name == line.name));
    if let Some((_, line)) = twice {
        return Err(problem(format!("two lines are called `{}`", line.name)));
    }
    Ok(Definition { lines, all, quick, published: published.map(Published::from) })
}

fn line(value: Value) -> Result<Line, String> {
    let Value::Table(mut table) = value else { return Err("a `[[line]]` is a table".to_owned()) };
    let mut text = |key: &str| table.remove(key).map(|value| word(key, &value)).transpose();
    let (name, url, serve) = (text("name")?, text("url")?, text("serve")?);
    let options =
        table.remove("serve-options").map_or(Ok(Vec::new()), |it| words("serve-options", &it))?;
    let run = table.remove("run").map_or(Ok(Vec::new()), |run| words("run", &run))?;
    if let Some(key) = table.keys().next() {
        return Err(format!(
            "a line has no `{key}`; it has name, url or serve, serve-options and run"
        ));
    }
    let name = name.ok_or("a line needs a `name`")?;
    match (url, serve) {
        (Some(url), None) if options.is_empty() => Ok(Line { name, url, embedded: None, run }),
        (None, Some(serve)) => {
            let scheme = Scheme::named(&serve);
            let scheme = scheme.ok_or_else(|| format!("{name}: nothing is called `{serve}`"))?;
            // Once in the life of the program, for as long as it lives.
            let options: &'static [&'static str] = options
                .into_iter()
                .map(|option| &*option.leak())
                .collect::<Vec<&'static str>>()
                .leak();
            let place = if scheme.protocol == Protocol::Unix { "/nowhere" } else { "127.0.0.1:1" };
            let url = format!("{serve}://{place}");
            Ok(Line { name, url, embedded: Some(Embedded { scheme, options }), run })
        }
        _ => Err(format!("{name}: a line has a `url`, or `serve` and its `serve-options`")),
    }
}

fn knobs(table: Table) -> Result<Knobs, String> {
    let mut knobs = Knobs::default();
    for (key, value) in table {
        let wrong = |problem: String| format!("{key}: {problem}");
        if key == "run" {
            knobs.run = words(&key, &value)?;
            continue;
        }
        let text = word(&key, &value)?;
        let time = || values::some_time(&text).map(Some).map_err(wrong);
        match key.as_str() {
            "of" => knobs.of = Some(clap::ValueEnum::from_str(&text, false).map_err(wrong)?),
            "from" => knobs.from = Some(load(&text).map_err(wrong)?),
            "to" => knobs.to = Some(load(&text).map_err(wrong)?),
            "factor" => knobs.factor = Some(factor(&text).map_err(wrong)?),
            "repeats" => knobs.repeats = Some(repeats(&text).map_err(wrong)?),
            "duration" => knobs.duration = time()?,
            "settle" => knobs.settle = time()?,
            "every" => knobs.every = time()?,
            "bots-max" => knobs.bots_max = Some(values::count(&text).map_err(wrong)?),
            "slo" => knobs.slo = Some(objective(&text).map_err(wrong)?),
            "budget" => knobs.budget = time()?,
            _ => return Err(format!("there is no `{key}`; there are {KEYS}")),
        }
    }
    Ok(knobs)
}

/// A value as it would be typed.
fn word(key: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Array(_) | Value::Boolean(_) | Value::Datetime(_) | Value::Table(_) => {
            Err(format!("{key}: neither a text nor a number"))
        }
    }
}

fn words(key: &str, value: &Value) -> Result<Vec<String>, String> {
    let Value::Array(all) = value else { return Err(format!("{key}: not a list of words")) };
    all.iter().map(|one| word(key, one)).collect()
}

const KEYS: &str = "question, of, from, to, factor, repeats, duration, settle, every, bots-max, slo, budget, run, \
                    [quick], [published] and [[line]]";
/// A definition is much shorter.
const FILE_MAX: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_lines_and_what_is_different_when_it_is_to_be_quick() {
        let text = "question = 'which?'\nof = 'bots'\nfrom = 200\nfactor = 1.5\nevery = '2s'\nslo = 'p99<50ms'\n\
            run = ['--lobby', '10%']\n[quick]\nrepeats = 1\n[[line]]\nname = 'a'\nserve = 'ws'\nserve-options = ['--threads', 2]\n\
            [[line]]\nname = 'b'\nurl = 'tcp://127.0.0.1:9'\nrun = ['--size', '32B']\n";
        let Definition { lines, all, quick, published } = read("x.toml", text).unwrap();
        assert_eq!(published, None);
        assert_eq!(
            (all.of, all.from, all.factor, all.every),
            (Some(Of::Bots), Some(200), Some(1.5), Some(Nanos::from_secs(2)))
        );
        assert_eq!(
            (&all.slo.unwrap().text[..], &all.run[..]),
            ("p99 < 50ms", &["--lobby", "10%"].map(str::to_owned)[..])
        );
        assert_eq!(quick, Some(Knobs { repeats: Some(1), ..Knobs::default() }));
        let embedded =
            Embedded { scheme: Protocol::WebSocket.plain(), options: &["--threads", "2"] };
        assert_eq!((lines[0].embedded, &lines[0].url[..]), (Some(embedded), "ws://127.0.0.1:1"));
        assert_eq!(
            (lines[1].embedded, lines[1].run.len(), &lines[1].url[..]),
            (None, 2, "tcp://127.0.0.1:9")
        );
    }

    #[test]
    fn what_a_file_should_not_say_is_named() {
        let line = "[[line]]\nname = 'a'\nserve = 'ws'\n";
        for (text, problem) in [
            ("", "x: no `[[line]]` says what to sweep"),
            ("speed = 3\n", "there is no `speed`; there are question, of,"),
            ("from = 0\n", "x: from: must be at least 1"),
            ("of = 'cats'\n", "x: of: invalid variant: cats"),
            ("[published]\nsource = 'them'\nrows = 3\n", "x: published: unknown field `rows`"),
            ("settle = [1]\n", "x: settle: neither a text nor a number"),
            ("factor = 1\n", "x: factor: 1 is not between 1.05 and 10"),
            ("repeats = 101\n", "x: repeats: 101 is too many"),
            ("run = '--size'\n", "x: run: not a list of words"),
            ("[quick]\nslo = 'fast'\n", "x: quick: slo: `fast` has no `<` in it"),
            ("[[line]]\nserve = 'ws'\n", "x: a line needs a `name`"),
            ("[[line]]\nname = 'b'\n", "x: b: a line has a `url`, or `serve`"),
            (
                "[[line]]\nname = 'b'\nserve = 'carrier-pigeon'\n",
                "x: b: nothing is called `carrier-pigeon`",
            ),
            ("[[line]]\nname = 'b'\nurl = 'ws://h'\ncolour = 1\n", "x: a line has no `colour`"),
            ("[[line]]\nname = 'a'\nurl = 'ws://h'\n", "x: two lines are called `a`"),
            ("from =\n", "x: TOML parse error"),
        ] {
            let whole = if text.is_empty() { String::new() } else { format!("{text}{line}") };
            let error = read("x", &whole).unwrap_err();
            assert!(error.contains(problem), "{text:?}: {error}");
        }
    }
}
