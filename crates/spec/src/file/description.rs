//! The description of an experiment as its file has it, with the place of every problem.
//!
//! Left out: the workloads that rows under loads become (`cells`).

use crate::secrets::url_without_secrets;
use crate::table::{Error, Source, Table};
use crate::{
    Axis, AxisOf, Criteria, Endpoint, Objective, Options, Published, Server, Started, View,
};
use serde::Deserialize;
use std::num::NonZeroU32;
use toml::Spanned;
use toml::de::DeTable;
use units::{Count, Nanos, Share};

/// An experiment as its file describes it.
#[derive(Clone, Debug)]
pub struct File {
    pub(super) source: Source,
    pub(super) question: String,
    pub(super) show: Vec<View>,
    pub(super) criteria: Criteria,
    /// The most by which a number of the second of two sides may be worse.
    pub(super) regression_max: Option<Share>,
    /// The row that others are compared with; without one, wirebench's bare TCP socket is added under every load.
    pub(super) baseline: Option<Spanned<String>>,
    /// The fixed reply of servers, instead of an echo.
    pub(super) reply: Option<String>,
    /// The time for which servers keep their processor busy for each message.
    pub(super) work: Option<Nanos>,
    /// The CPUs that server subjects may use.
    pub(super) server_cpus: Option<NonZeroU32>,
    /// The rows that are measured unless others are asked for; without it, all.
    pub(super) usual: Option<Words>,
    pub(super) options: Options,
    pub(super) quick: Option<Quick>,
    pub(super) loads: Vec<Load>,
    pub(super) rows: Vec<Row>,
    pub(super) axis: Option<AxisKeys>,
    pub(super) published: Option<Published>,
}

/// The differences of a quick run.
#[derive(Clone, Debug, Default)]
pub(super) struct Quick {
    pub(super) rounds: Option<Count>,
    pub(super) loads: Option<Spanned<Words>>,
    pub(super) rows: Option<Words>,
    pub(super) options: Options,
    pub(super) axis: AxisKeys,
}

/// A load that every row is measured under.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub(super) name: Spanned<String>,
    /// The work of servers for each message, instead of the file's.
    pub(super) work: Option<Nanos>,
    pub(super) options: Options,
    pub(super) quick: Option<Options>,
}

/// A row: a product of servers, clients, transports and loads.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) keys: RowKeys,
    pub(super) options: Options,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RowKeys {
    pub(super) name: Option<Spanned<String>>,
    /// A line for `--help` and pages.
    pub(super) about: Option<String>,
    /// A server that listens already, instead of `server` and `transport`.
    pub(super) url: Option<Spanned<String>>,
    /// The shell command that starts the server of `url`.
    pub(super) start: Option<Spanned<String>>,
    /// The folder that it is started in.
    pub(super) folder: Option<Spanned<String>>,
    /// The text that a line of its output contains once it is ready.
    pub(super) ready_line: Option<Spanned<String>>,
    /// The longest time until it is ready.
    pub(super) start_timeout: Option<Spanned<Nanos>>,
    /// Subjects, or `embedded`: our own.
    pub(super) server: Option<Spanned<Words>>,
    /// Subjects, or `wirebench`: ourselves.
    pub(super) client: Option<Spanned<Words>>,
    /// Schemes of URLs.
    pub(super) transport: Option<Spanned<Words>>,
    /// Names of loads; none named: all.
    pub(super) load: Option<Spanned<Words>>,
    /// The fixed reply of the server, instead of the file's; `""`: an echo.
    pub(super) reply: Option<String>,
    /// The work of the server for each message, instead of that of the load and the file.
    pub(super) work: Option<Spanned<Nanos>>,
    /// The CPUs that a server subject may use, instead of the file's.
    pub(super) server_cpus: Option<Spanned<NonZeroU32>>,
    /// The host that the client connects to, instead of the server's address.
    pub(super) host: Option<String>,
    /// The path to request, instead of the one that the server reports.
    pub(super) path: Option<String>,
    /// Options of `wirebench serve` for an embedded server.
    pub(super) serve_options: Vec<String>,
    /// The row that it is compared with; by default the baseline.
    pub(super) base: Option<Spanned<String>>,
    /// The row that is the same without a layer, and the layer.
    pub(super) layer: Option<LayerKeys>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LayerKeys {
    pub(super) over: Spanned<String>,
    pub(super) adds: String,
}

/// The keys of an axis, each optional: in the table `[axis]`, and as flags of `wirebench sweep`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AxisKeys {
    /// Quantity that rises: rate, bots, connections, receivers [default: rate]
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "WHAT", value_enum, hide_possible_values = true)
    )]
    pub of: Option<AxisOf>,
    /// First load, e.g. 100/s, or 100 bots [default: 100]
    #[cfg_attr(feature = "cli", arg(long, value_name = "LOAD", value_parser = load))]
    pub from: Option<Count>,
    /// Largest load [default: 10M]
    #[cfg_attr(feature = "cli", arg(long, value_name = "LOAD", value_parser = load))]
    pub to: Option<Count>,
    /// Factor from one load to the next [default: 2]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NUMBER", hide_short_help = true))]
    pub factor: Option<f64>,
    /// Blocks of each load [default: 2]
    #[cfg_attr(feature = "cli", arg(long, value_name = "COUNT", hide_short_help = true))]
    pub repeats: Option<Count>,
    /// Bots and connections: from one message of each to its next; as a flag, that of the workload's options.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub every: Option<Nanos>,
    /// Bots, at most; for more load the same bots send more often [default: no bound]
    #[cfg_attr(feature = "cli", arg(long, value_name = "COUNT", hide_short_help = true))]
    pub bots_max: Option<Count>,
    /// Also find the largest load within this: 'p99 < 50ms'
    ///
    /// p50, p90, p99 or p99.9 of the response time, and less than 1 % missing.
    #[cfg_attr(feature = "cli", arg(long, value_name = "OBJECTIVE"))]
    pub slo: Option<Objective>,
    /// Start no block that could not finish within this time [default: 10m]
    #[cfg_attr(feature = "cli", arg(long, value_name = "TIME", hide_short_help = true))]
    pub budget: Option<Nanos>,
}

/// A load, with or without `/s`.
#[cfg(feature = "cli")]
fn load(text: &str) -> Result<Count, units::ParseError> {
    text.strip_suffix("/s").unwrap_or(text).parse()
}

impl AxisKeys {
    /// These keys, with those of `lower` where they are not set.
    #[must_use]
    pub fn over(self, lower: Self) -> Self {
        Self {
            of: self.of.or(lower.of),
            from: self.from.or(lower.from),
            to: self.to.or(lower.to),
            factor: self.factor.or(lower.factor),
            repeats: self.repeats.or(lower.repeats),
            every: self.every.or(lower.every),
            bots_max: self.bots_max.or(lower.bots_max),
            slo: self.slo.or(lower.slo),
            budget: self.budget.or(lower.budget),
        }
    }
}

/// One text or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::lists::one_or_more(deserializer).map(Self)
    }
}

/// A value that is not from a file.
pub(super) fn unplaced(text: &str) -> Spanned<String> {
    Spanned::new(0..0, text.to_owned())
}

/// Everything that is asked besides the content of the file.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// True to apply the differences of the table `[quick]`.
    pub quick: bool,
    /// True to measure all rows, including those that are not usual.
    pub all: bool,
    /// Rows by their names or by their participants; empty: the usual ones.
    pub only: Vec<String>,
    /// Criteria that take precedence over those of the file.
    pub criteria: Criteria,
    /// The most by which a number of the second of two sides may be worse, instead of the file's.
    pub regression_max: Option<Share>,
    /// Options that take precedence over those of the file.
    pub options: Options,
    /// Keys that take precedence over those of the file's axis.
    pub axis: AxisKeys,
    /// True if the command sweeps, whatever the file has.
    pub is_sweep: bool,
    /// The name of the published experiment, if it is one.
    pub preset: Option<String>,
    /// True if addresses that are neither loopback nor private may be loaded.
    pub public_allowed: bool,
}

impl File {
    /// The experiment in `text`; `name` is the name of the file in messages.
    ///
    /// # Errors
    ///
    /// The first problem, with line, column and what is expected there.
    pub fn read(name: &str, text: &str) -> Result<Self, String> {
        let source = Source { name: name.to_owned(), text: text.to_owned() };
        let table = DeTable::parse(text).map_err(|error| source.error(&error.into()))?;
        Self::of_table(source.clone(), table).map_err(|error| source.error(&error))?.checked()
    }

    /// The experiment of one URL.
    pub fn of_url(url: &str) -> Self {
        let keys = RowKeys { url: Some(unplaced(url)), ..RowKeys::default() };
        Self::of_rows(url_without_secrets(url), vec![keys])
    }

    /// An experiment of the user's servers; flags set everything else.
    fn of_rows(name: String, rows: Vec<RowKeys>) -> Self {
        let row = |keys| Row { keys, options: Options::default() };
        Self {
            source: Source { name, text: String::new() },
            question: String::new(),
            show: Vec::new(),
            criteria: Criteria::default(),
            regression_max: None,
            baseline: None,
            reply: None,
            work: None,
            server_cpus: None,
            usual: None,
            options: Options::default(),
            quick: None,
            loads: Vec::new(),
            rows: rows.into_iter().map(row).collect(),
            axis: None,
            published: None,
        }
    }

    fn of_table(source: Source, table: Spanned<DeTable<'_>>) -> Result<Self, Error> {
        let mut table = Table::new(table);
        let quick = table.take_table("quick")?.map(Quick::of_table).transpose()?;
        let loads =
            table.take_tables("load")?.into_iter().map(Load::of_table).collect::<Result<_, _>>()?;
        let rows =
            table.take_tables("row")?.into_iter().map(Row::of_table).collect::<Result<_, _>>()?;
        Ok(Self {
            source,
            question: table.take("question")?.unwrap_or_default(),
            show: table.take("show")?.unwrap_or_default(),
            criteria: table.take_keys(Criteria::KEYS)?,
            regression_max: table.take("max-regression")?,
            baseline: table.take("baseline")?,
            reply: table.take("reply")?,
            work: table.take("work")?,
            server_cpus: table.take("server-cpus")?,
            usual: table.take("rows")?,
            axis: table.take("axis")?,
            published: table.take("published")?,
            quick,
            loads,
            rows,
            options: table.rest()?,
        })
    }

    /// The file, if its names are unique, every name that is referred to exists, and its rows are valid.
    fn checked(self) -> Result<Self, String> {
        let mut names: Vec<&str> = Vec::new();
        for Load { name, .. } in &self.loads {
            if names.contains(&name.get_ref().as_str()) {
                let known = name.get_ref();
                return Err(self.source.at(name, format_args!("two loads are called `{known}`")));
            }
            names.push(name.get_ref());
        }
        let of_rows = self.rows.iter().filter_map(|row| row.keys.load.as_ref());
        let of_quick = self.quick.iter().filter_map(|quick| quick.loads.as_ref());
        for load in of_rows.chain(of_quick) {
            if let Some(name) = load.get_ref().0.iter().find(|name| !names.contains(&name.as_str()))
            {
                let all = names.join(", ");
                return Err(self
                    .source
                    .at(load, format_args!("no load is called `{name}`; there are {all}")));
            }
        }
        if self.rows.is_empty() {
            return Err(format!("{}: no `[[row]]` names a server to measure", self.source.name));
        }
        for row in &self.rows {
            row.check(&self.source)?;
        }
        Ok(self)
    }

    /// The file with `defaults` for the options that it does not set.
    #[must_use]
    pub fn with_defaults(self, defaults: Options) -> Self {
        Self { options: self.options.over(defaults), ..self }
    }

    /// The names of its rows, with a line about each.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rows.iter().filter_map(|row| {
            Some((
                row.keys.name.as_ref()?.get_ref().as_str(),
                row.keys.about.as_deref().unwrap_or_default(),
            ))
        })
    }

    /// The question that it is to answer.
    pub fn question(&self) -> &str {
        &self.question
    }

    /// True for an experiment of URLs, whose options are all flags.
    pub(super) const fn is_url(&self) -> bool {
        self.source.text.is_empty()
    }

    /// A problem with a field, named as it was given: by a flag or in the file.
    pub(super) fn named(&self, problem: &str) -> String {
        match self.is_url() {
            true => format!("--{problem}"),
            false => format!("{}: {problem}", self.source.name),
        }
    }

    pub(super) fn quick(&self, asked: &Asked) -> Option<Quick> {
        // The blocks of a sweep are as short as possible already.
        let duration = (self.axis.is_none() && !asked.is_sweep).then_some(BLOCK_QUICK);
        let usual = || Quick {
            rounds: Some(ROUNDS_QUICK),
            options: Options { duration, ..Options::default() },
            ..Quick::default()
        };
        asked.quick.then(|| self.quick.clone().unwrap_or_else(usual))
    }

    /// The axis, every default resolved; `None` if the loads do not rise.
    pub(super) fn axis(&self, asked: &Asked) -> Result<Option<Axis>, String> {
        if self.axis.is_none() && !asked.is_sweep {
            return Ok(None);
        }
        let quick = self.quick(asked).map(|quick| quick.axis).unwrap_or_default();
        let keys = asked.axis.clone().over(quick).over(self.axis.clone().unwrap_or_default());
        let usual = if asked.quick { AXIS_QUICK } else { AXIS };
        let from = keys.from.unwrap_or(Count(100)).0;
        let to = keys.to.unwrap_or(Count(10_000_000)).0;
        let factor = keys.factor.unwrap_or(usual.factor);
        let repeats = keys.repeats.map_or_else(|| u64::from(usual.repeats), |Count(count)| count);
        let of = keys.of.unwrap_or(AxisOf::Rate);
        let problem = |field: &str, message: String| Err(format!("{field}: {message}"));
        if from == 0 {
            return problem("from", "must be at least 1".to_owned());
        }
        if from > to {
            return problem("from", format!("{from} is above the largest load, {to}"));
        }
        if !(1.05..=10.0).contains(&factor) {
            return problem("factor", format!("{factor} is not between 1.05 and 10"));
        }
        let Some(repeats) = u32::try_from(repeats).ok().filter(|count| (1..=100).contains(count))
        else {
            return problem("repeats", format!("{repeats} is not between 1 and 100"));
        };
        if matches!(of, AxisOf::Rate | AxisOf::Receivers) && keys.every.is_some() {
            return problem(
                "every",
                "belongs to sweeps of bots and connections; leave it out".to_owned(),
            );
        }
        if of != AxisOf::Bots && keys.bots_max.is_some() {
            return problem("bots-max", "belongs to sweeps of bots; leave it out".to_owned());
        }
        let bots_max = keys.bots_max.map(|Count(max)| u32::try_from(max).unwrap_or(u32::MAX));
        Ok(Some(Axis {
            of,
            from,
            to,
            factor,
            repeats,
            every: keys.every.unwrap_or(Nanos::from_secs(1)),
            bots_max: bots_max.and_then(NonZeroU32::new),
            in_flight_max: None,
            slo: keys.slo,
            budget: keys.budget.unwrap_or(usual.budget),
            preset: asked.preset.clone(),
        }))
    }
}

impl Quick {
    fn of_table(mut table: Table<'_>) -> Result<Self, Error> {
        Ok(Self {
            rounds: table.take("rounds")?,
            loads: table.take("loads")?,
            rows: table.take("rows")?,
            axis: table.take("axis")?.unwrap_or_default(),
            options: table.rest()?,
        })
    }
}

impl Load {
    fn of_table(mut table: Table<'_>) -> Result<Self, Error> {
        Ok(Self {
            name: table.need("name")?,
            work: table.take("work")?,
            quick: table.take("quick")?,
            options: table.rest()?,
        })
    }
}

impl Row {
    fn of_table(mut table: Table<'_>) -> Result<Self, Error> {
        Ok(Self { keys: table.take_keys(ROW_KEYS)?, options: table.rest()? })
    }

    /// The server of a row that has a URL. `name` is that of the row.
    pub(super) fn server(&self, name: &str, url: Endpoint) -> Server {
        let RowKeys { start, folder, ready_line, start_timeout, .. } = &self.keys;
        let Some(command) = start else { return Server::Given(url) };
        let text = |key: &Spanned<String>| key.get_ref().clone();
        let timeout = start_timeout.as_ref().map(|timeout| *timeout.get_ref());
        Server::Started(Started {
            row: name.to_owned(),
            url,
            command: text(command),
            folder: folder.as_ref().map(text),
            ready_line: ready_line.as_ref().map(text),
            start_timeout: timeout.unwrap_or(Started::START_TIMEOUT),
        })
    }

    fn check(&self, source: &Source) -> Result<(), String> {
        let RowKeys { url, start, folder, start_timeout, server, transport, .. } = &self.keys;
        if let Some(folder) = folder.as_ref().filter(|_| start.is_none()) {
            return Err(source.at(folder, "a `folder` is where `start` is run; the row has none"));
        }
        if let Some(line) = self.keys.ready_line.as_ref().filter(|_| start.is_none()) {
            let problem = "`ready-line` is printed by the program of `start`; the row has none";
            return Err(source.at(line, problem));
        }
        if let Some(timeout) = start_timeout.as_ref().filter(|_| start.is_none()) {
            let problem = "`start-timeout` is that of `start`, which the row does not have";
            return Err(source.at(timeout, problem));
        }
        if let Some(start) = start.as_ref().filter(|_| url.is_none()) {
            let problem = "`start` needs the `url` at which the program listens then";
            return Err(source.at(start, problem));
        }
        if let Some(work) = self.keys.work.as_ref().filter(|_| url.is_some()) {
            let problem = "`work` is what our servers and subjects do for each message; a server of yours has its own";
            return Err(source.at(work, problem));
        }
        if let Some(cpus) = self.keys.server_cpus.as_ref().filter(|_| url.is_some()) {
            let problem = "`server-cpus` are those of a subject; a server that `start` starts has all that are left";
            return Err(source.at(cpus, problem));
        }
        match (url, server, transport) {
            (Some(_), None, None) => Ok(()),
            (Some(url), ..) => {
                Err(source.at(url, "a row has a `url`, or a `server` and its `transport`"))
            }
            (None, Some(server), Some(transport)) => {
                for (words, key) in [(server, "server"), (transport, "transport")] {
                    if words.get_ref().0.is_empty() {
                        return Err(source.at(words, format_args!("a row needs a `{key}`")));
                    }
                }
                Ok(())
            }
            (None, Some(words), None) | (None, None, Some(words)) => {
                Err(source.at(words, "a row has both a `server` and a `transport`, or a `url`"))
            }
            (None, None, None) => {
                let name = self.keys.name.as_ref();
                let problem = "a row needs a `url`, or a `server` and its `transport`";
                Err(name
                    .map_or_else(|| source.at_byte(0, problem), |name| source.at(name, problem)))
            }
        }
    }
}

const ROW_KEYS: &[&str] = &[
    "name",
    "about",
    "url",
    "start",
    "folder",
    "ready-line",
    "start-timeout",
    "server",
    "client",
    "transport",
    "load",
    "reply",
    "work",
    "server-cpus",
    "host",
    "path",
    "serve-options",
    "base",
    "layer",
];

/// The defaults of an axis.
struct AxisUsual {
    factor: f64,
    repeats: u32,
    budget: Nanos,
}

const AXIS: AxisUsual = AxisUsual { factor: 2.0, repeats: 2, budget: Nanos::from_secs(600) };
const AXIS_QUICK: AxisUsual = AxisUsual { factor: 4.0, repeats: 1, budget: Nanos::from_secs(110) };
/// The default number of blocks of each row.
pub(super) const ROUNDS: Count = Count(10);
const ROUNDS_QUICK: Count = Count(3);
/// The default length of a block.
pub(super) const BLOCK: Nanos = Nanos::from_secs(1);
const BLOCK_QUICK: Nanos = Nanos::from_millis(300);
