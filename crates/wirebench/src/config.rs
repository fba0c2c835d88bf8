//! Settings: flags over environment over `wirebench.toml` over defaults, and where each value came from.
//!
//! Every option with a value can be set in all four places, under one name: `--warm-up` of `wirebench run` is
//! `WIREBENCH_RUN_WARM_UP` and `warm-up` in the table `[run]`. The options themselves, their defaults and what they
//! accept are defined once, for the parser of the command line (`args`); what the other places say is handed to it as
//! if it were a default.
//!
//! Left out: options without a value, and those that say where results go: they belong to one call.
//!
//! Start reading at [`Layers::settle`].

use crate::exit::Failure;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// The project file, looked for in the current directory.
pub(crate) const FILE: &str = "wirebench.toml";

/// Where a value comes from; one that stands higher wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// Nobody said anything.
    Default,
    /// [`FILE`], on this line.
    File(usize),
    /// The environment variable of this name.
    Environment(String),
    /// The command line.
    Flag,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.pad("default"),
            Self::File(line) => f.pad(&format!("{FILE}:{line}")),
            Self::Environment(name) => f.pad(name),
            Self::Flag => f.pad("flag"),
        }
    }
}

/// The options of one subcommand that somebody has set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// By long name: the values (none for an option without one), and where they came from.
    set: BTreeMap<String, (Vec<OsString>, Source)>,
}

impl Settings {
    /// Whether anybody has set the option `name`; if not, its default is in force.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.set.contains_key(name)
    }

    /// Whether the command line has set the option `name`.
    pub(crate) fn is_flag(&self, name: &str) -> bool {
        self.set.get(name).is_some_and(|(_, source)| *source == Source::Flag)
    }

    /// Everything that was set, as flags in the order of the options of `command`, but those that `left_out` wants
    /// left out by their name and source.
    pub(crate) fn flags(
        &self,
        command: &Command,
        left_out: impl Fn(&str, &Source) -> bool,
    ) -> Vec<String> {
        let mut flags = Vec::new();
        for option in command.get_arguments() {
            let Some(name) = option.get_long() else { continue };
            let Some((values, source)) = self.set.get(name) else { continue };
            if left_out(name, source) {
                continue;
            }
            if values.is_empty() {
                flags.push(format!("--{name}"));
            }
            for value in values.iter().map(|value| value.to_string_lossy()) {
                match option.is_require_equals_set() {
                    false => flags.extend([format!("--{name}"), value.into_owned()]),
                    true if value.is_empty() => flags.push(format!("--{name}")),
                    true => flags.push(format!("--{name}={value}")),
                }
            }
        }
        flags
    }

    /// `command` with what the environment and the file say in the place of its defaults.
    pub(crate) fn apply(&self, mut command: Command) -> Command {
        for (name, (values, source)) in &self.set {
            let id = option(&command, name).map(|option| option.get_id().clone());
            if let Some(id) = id.filter(|_| *source != Source::Flag) {
                command = command.mut_arg(id, |option| option.default_values(values));
            }
        }
        command
    }
}

/// What the environment and the file say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layers {
    said: Vec<Said>,
}

/// One option, as it was set outside of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    /// The subcommand; empty for what all have.
    section: String,
    name: String,
    values: Vec<OsString>,
    source: Source,
}

impl Layers {
    /// Reads `variables` and the file in `folder`, for the options of `program`. Also gives back the names of variables
    /// that look like ours and are not.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not TOML, or sets what does not exist or to what cannot be.
    pub(crate) fn read(
        program: &Command,
        variables: impl Iterator<Item = (OsString, OsString)>,
        folder: &Path,
    ) -> Result<(Self, Vec<String>), Failure> {
        let (mut said, remarks) = from_environment(program, variables);
        let path = folder.join(FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => said.extend(from_file(program, &text).map_err(Failure::usage)?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::usage(format!("cannot read {FILE}: {error}"))),
        }
        for said in &said {
            said.check(program).map_err(Failure::usage)?;
        }
        Ok((Self { said }, remarks))
    }

    /// What is in force for `command`: what `given` has from the command line, and below that what the environment and
    /// the file say, unless it contradicts something that stands higher.
    ///
    /// # Errors
    ///
    /// Two options of one layer exclude each other; the message names both and the cure.
    pub(crate) fn settle(
        &self,
        command: &Command,
        given: &ArgMatches,
        conflicts: &[Conflict],
    ) -> Result<Settings, Failure> {
        let section = command.get_name();
        let said = self.said.iter().filter(|said| said.section == section).cloned();
        let flags = command.get_arguments().filter_map(|option| from_flags(section, option, given));
        let mut all: Vec<Said> = flags.chain(said).collect();
        all.sort_by_key(|said| std::cmp::Reverse(said.source.rank()));
        let mut settings = Settings::default();
        for said in all {
            if settings.is_set(&said.name) {
                continue;
            }
            let against = conflicts.iter().find_map(|conflict| {
                let other = conflict.other(&said.name)?;
                settings.set.get(other).map(|(_, source)| (conflict, other, source))
            });
            match against {
                Some((conflict, other, source)) if source.rank() == said.source.rank() => {
                    let (one, two) = (source.name_of(section, other), said.called());
                    return Err(Failure::usage(format!(
                        "{one} and {two} exclude each other: {}",
                        conflict.cure
                    )));
                }
                Some(_) => {}
                None => drop(settings.set.insert(said.name, (said.values, said.source))),
            }
        }
        Ok(settings)
    }

    /// The value of an option that all subcommands have.
    pub(crate) fn shared(&self, name: &str) -> Option<&str> {
        let highest = self
            .said
            .iter()
            .filter(|said| said.section.is_empty() && said.name == name)
            .max_by_key(|said| said.source.rank())?;
        highest.values.first()?.to_str()
    }

    /// Every option of `program`: its name with its section, its value (`None` if it has none), and its source.
    pub(crate) fn all(&self, program: &Command) -> Vec<(String, Option<String>, Source)> {
        let mut all = Vec::new();
        for (section, name) in known(program) {
            let said = self
                .said
                .iter()
                .filter(|said| said.section == section && said.name == name)
                .max_by_key(|said| said.source.rank());
            let (values, source) = match said {
                Some(said) => (said.values.clone(), said.source.clone()),
                None => (defaults(program, &section, &name), Source::Default),
            };
            let values: Vec<String> =
                values.iter().map(|value| value.to_string_lossy().into_owned()).collect();
            let value = (!values.is_empty()).then(|| values.join(", "));
            let full = if section.is_empty() { name } else { format!("{section}.{name}") };
            all.push((full, value, source));
        }
        all
    }
}

/// Two options of which only one can be meant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conflict {
    /// Their long names.
    pub(crate) between: [&'static str; 2],
    /// Why, and what to do about it.
    pub(crate) cure: &'static str,
}

impl Conflict {
    fn other(&self, name: &str) -> Option<&'static str> {
        match self.between {
            [one, two] if one == name => Some(two),
            [one, two] if two == name => Some(one),
            _ => None,
        }
    }
}

impl Source {
    /// Which layer it is, the highest number being the highest layer.
    fn rank(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File(_) => 1,
            Self::Environment(_) => 2,
            Self::Flag => 3,
        }
    }

    /// How the option `name` of `section` is called where this source sets it.
    fn name_of(&self, section: &str, name: &str) -> String {
        match self {
            Self::Environment(_) => variable(section, name),
            Self::File(line) if section.is_empty() => format!("`{name}` ({FILE}, line {line})"),
            Self::File(line) => format!("`{section}.{name}` ({FILE}, line {line})"),
            Self::Default | Self::Flag => format!("--{name}"),
        }
    }
}

impl Said {
    /// The option and where it was set.
    fn called(&self) -> String {
        self.source.name_of(&self.section, &self.name)
    }

    /// Lets the parser of the command line look at the values.
    fn check(&self, program: &Command) -> Result<(), String> {
        let Some(option) = section(program, &self.section).and_then(|at| option(at, &self.name))
        else {
            return Ok(());
        };
        let words = self.values.iter().map(|value| {
            let mut word = OsString::from(format!("--{}=", self.name));
            word.push(value);
            word
        });
        let parser =
            Command::new("values").no_binary_name(true).arg(option.clone().required(false));
        match parser.try_get_matches_from(words) {
            Ok(_) => Ok(()),
            Err(error) => {
                Err(format!("{}: {}", self.called(), first_paragraph(&error.to_string())))
            }
        }
    }
}

/// What clap says, without what it says to everybody.
fn first_paragraph(message: &str) -> &str {
    let message = message.strip_prefix("error: ").unwrap_or(message);
    message.split("\n\n").next().unwrap_or(message)
}

/// What the command line set for `option`.
fn from_flags(section: &str, option: &Arg, given: &ArgMatches) -> Option<Said> {
    let name = option.get_long()?;
    let id = option.get_id().as_str();
    if given.value_source(id) != Some(ValueSource::CommandLine) {
        return None;
    }
    let takes_values = option.get_action().takes_values();
    let raw = given.get_raw(id).filter(|_| takes_values);
    Some(Said {
        section: section.to_owned(),
        name: name.to_owned(),
        values: raw.map_or_else(Vec::new, |values| values.map(OsString::from).collect()),
        source: Source::Flag,
    })
}

fn from_environment(
    program: &Command,
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> (Vec<Said>, Vec<String>) {
    let known: BTreeMap<String, (String, String)> = known(program)
        .into_iter()
        .map(|(section, name)| (variable(&section, &name), (section, name)))
        .collect();
    let (mut said, mut remarks) = (Vec::new(), Vec::new());
    for (variable, value) in variables {
        let Some(variable) = variable.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        match known.get(variable) {
            // Set to nothing is how shells unset for one command.
            Some(_) if value.is_empty() => {}
            Some((section, name)) => said.push(Said {
                section: section.clone(),
                name: name.clone(),
                values: vec![value],
                source: Source::Environment(variable.to_owned()),
            }),
            None => remarks.extend(near(variable, known.keys().map(String::as_str)).map(|near| {
                format!("the variable {variable} means nothing here; did you mean {near}?")
            })),
        }
    }
    (said, remarks)
}

fn from_file(program: &Command, text: &str) -> Result<Vec<Said>, String> {
    let table = DeTable::parse(text).map_err(|error| format!("{FILE}: {error}"))?;
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let known = known(program);
    let mut said = Vec::new();
    for (key, value) in table.get_ref() {
        let section = key.get_ref().to_string();
        let is_section = known.iter().any(|(known, _)| *known == section);
        let keys = match value.get_ref().as_table().filter(|_| is_section) {
            Some(table) => table.iter().map(|(key, value)| (section.clone(), key, value)).collect(),
            None => vec![(String::new(), key, value)],
        };
        for (section, key, value) in keys {
            let name = key.get_ref().to_string();
            let source = Source::File(line(key.span().start));
            let called = source.name_of(&section, &name);
            if !known.contains(&(section.clone(), name.clone())) {
                return Err(unknown(&known, &section, &name, &called));
            }
            let values = values(value.get_ref())
                .ok_or_else(|| format!("{called}: is a table, and should be a value"))?;
            said.push(Said { section, name, values, source });
        }
    }
    Ok(said)
}

/// A value of the file as it would be typed; several for a list.
fn values(value: &DeValue<'_>) -> Option<Vec<OsString>> {
    let one = |text: &str| vec![OsString::from(text)];
    match value {
        DeValue::String(text) => Some(one(text)),
        DeValue::Integer(number) => Some(one(&number.to_string())),
        DeValue::Float(number) => Some(one(&number.to_string())),
        DeValue::Boolean(is_so) => Some(one(&is_so.to_string())),
        DeValue::Datetime(date) => Some(one(&date.to_string())),
        DeValue::Array(values) => {
            let parts: Option<Vec<_>> =
                values.iter().map(|value| self::values(value.get_ref())).collect();
            Some(parts?.concat())
        }
        DeValue::Table(_) => None,
    }
}

fn unknown(known: &[(String, String)], section: &str, name: &str, called: &str) -> String {
    let full = |section: &str, name: &str| {
        if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
    };
    let mut names: Vec<String> = known.iter().map(|(section, name)| full(section, name)).collect();
    names.extend(known.iter().map(|(section, _)| section.clone()));
    match near(&full(section, name), names.iter().map(String::as_str)) {
        Some(near) => format!("{called} means nothing; did you mean `{near}`?"),
        None => format!("{called} means nothing; `wirebench config show` lists all names"),
    }
}

/// Sections and names of all options that can be set outside of the command line.
fn known(program: &Command) -> Vec<(String, String)> {
    let sections = SECTIONS.iter().filter_map(|name| Some((*name, section(program, name)?)));
    let named = sections.flat_map(|(section, command)| {
        let options = command
            .get_arguments()
            .filter(|option| option.get_action().takes_values() && !option.is_hide_set());
        let names = options.filter_map(Arg::get_long).filter(|name| !OF_ONE_CALL.contains(name));
        names.map(move |name| (section.to_owned(), name.to_owned()))
    });
    named.collect()
}

fn section<'a>(program: &'a Command, name: &str) -> Option<&'a Command> {
    if name.is_empty() { Some(program) } else { program.find_subcommand(name) }
}

fn option<'a>(command: &'a Command, long: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|option| option.get_long() == Some(long))
}

fn defaults(program: &Command, section: &str, name: &str) -> Vec<OsString> {
    let option = self::section(program, section).and_then(|command| option(command, name));
    option.map_or_else(Vec::new, |option| {
        option.get_default_values().iter().map(|value| OsString::from(value.as_os_str())).collect()
    })
}

fn variable(section: &str, name: &str) -> String {
    let joined = if section.is_empty() { name.to_owned() } else { format!("{section}_{name}") };
    format!("{PREFIX}{}", joined.replace('-', "_").to_uppercase())
}

/// The one of `known` that is almost `name`.
pub(crate) fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let close = known.map(|known| (strsim::damerau_levenshtein(name, known), known));
    close.filter(|(distance, _)| *distance <= TYPOS_MAX).min().map(|(_, known)| known)
}

/// The subcommands that have settings; the empty one is what all have.
const SECTIONS: &[&str] = &["", "ladder", "run", "serve"];
/// Options that belong to one call.
const OF_ONE_CALL: &[&str] = &["ca-out", "output"];
/// How our environment variables begin.
const PREFIX: &str = "WIREBENCH_";
/// What is further away was not meant.
const TYPOS_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ArgAction;

    fn program() -> Command {
        let run = Command::new("run")
            .arg(Arg::new("size").long("size").default_value("64B"))
            .arg(Arg::new("payload").long("payload"))
            .arg(
                Arg::new("warm_up")
                    .long("warm-up")
                    .default_value("1")
                    .value_parser(clap::value_parser!(u32)),
            )
            .arg(Arg::new("header").long("header").action(ArgAction::Append))
            .arg(Arg::new("output").long("output"))
            .arg(Arg::new("json").long("json").action(ArgAction::SetTrue))
            .arg(
                Arg::new("deflate")
                    .long("deflate")
                    .num_args(0..=1)
                    .require_equals(true)
                    .default_missing_value(""),
            );
        Command::new("wirebench").arg(Arg::new("color").long("color")).subcommand(run)
    }

    /// Names and values.
    type Variables = &'static [(&'static str, &'static str)];

    const CONFLICTS: &[Conflict] =
        &[Conflict { between: ["payload", "size"], cure: "leave one out" }];

    fn layers(variables: &[(&str, &str)], file: &str) -> Result<(Layers, Vec<String>), String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), file).unwrap();
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        Layers::read(&program(), variables, folder.path()).map_err(|failure| failure.to_string())
    }

    /// The settings of `run` as flags, from all three layers.
    fn check(flags: &[&str], variables: &[(&str, &str)], file: &str) -> Result<String, String> {
        let words = ["wirebench", "run"].iter().chain(flags);
        let matches = program().try_get_matches_from(words).unwrap();
        let (layers, _) = layers(variables, file)?;
        let given = matches.subcommand_matches("run").unwrap();
        let program = program();
        let run = program.find_subcommand("run").unwrap();
        let settings =
            layers.settle(run, given, CONFLICTS).map_err(|failure| failure.to_string())?;
        Ok(settings.flags(run, |_, _| false).join(" "))
    }

    #[test]
    fn flags_win_over_the_environment_and_that_over_the_file() {
        let file = "[run]\nsize = \"1B\"\nwarm-up = 5\nheader = [\"A: 1\", \"B: 2\"]";
        #[rustfmt::skip]
        let table: [(&[&str], Variables, &str); 8] = [
            (&[], &[], "--size 1B --warm-up 5 --header A: 1 --header B: 2"),
            (&[], &[("WIREBENCH_RUN_WARM_UP", "6")], "--size 1B --warm-up 6 --header A: 1 --header B: 2"),
            (&["--warm-up", "7"], &[("WIREBENCH_RUN_WARM_UP", "6")], "--size 1B --warm-up 7 --header A: 1 --header B: 2"),
            (&["--header", "C: 3"], &[], "--size 1B --warm-up 5 --header C: 3"),
            (&["--json"], &[("WIREBENCH_RUN_SIZE", "")], "--size 1B --warm-up 5 --header A: 1 --header B: 2 --json"),
            // Of an option whose value may be left out, the value is no word of its own.
            (&["--deflate", "--size", "2B"], &[], "--size 2B --warm-up 5 --header A: 1 --header B: 2 --deflate"),
            (&["--deflate=level=1"], &[], "--size 1B --warm-up 5 --header A: 1 --header B: 2 --deflate=level=1"),
            // What contradicts something higher gives way to it.
            (&["--payload", "x"], &[], "--payload x --warm-up 5 --header A: 1 --header B: 2"),
        ];
        for (flags, variables, expected) in table {
            assert_eq!(check(flags, variables, file).as_deref(), Ok(expected), "{flags:?}");
        }
    }

    #[test]
    fn what_excludes_each_other_in_one_layer_is_an_error() {
        #[rustfmt::skip]
        let table: [(&[&str], Variables, &str, &str); 3] = [
            (&["--size", "1", "--payload", "x"], &[], "",
             "--payload and --size exclude each other: leave one out"),
            (&[], &[("WIREBENCH_RUN_SIZE", "1"), ("WIREBENCH_RUN_PAYLOAD", "x")], "",
             "WIREBENCH_RUN_PAYLOAD and WIREBENCH_RUN_SIZE exclude each other: leave one out"),
            (&[], &[], "[run]\npayload = \"x\"\nsize = 1",
             "`run.payload` (wirebench.toml, line 2) and `run.size` (wirebench.toml, line 3) exclude each other: leave one out"),
        ];
        for (flags, variables, file, expected) in table {
            let names = |message: String| {
                let (both, cure) = message.split_once(" exclude").unwrap();
                let mut both: Vec<&str> = both.split(" and ").collect();
                both.sort_unstable();
                format!("{} exclude{cure}", both.join(" and "))
            };
            assert_eq!(names(check(flags, variables, file).unwrap_err()), expected);
        }
    }

    #[test]
    fn what_is_wrong_in_the_file_is_named_with_its_line() {
        #[rustfmt::skip]
        let table = [
            ("[run]\nsiez = 1",          "`run.siez` (wirebench.toml, line 2) means nothing; did you mean `run.size`?"),
            ("colour = \"never\"",       "`colour` (wirebench.toml, line 1) means nothing; did you mean `color`?"),
            ("\n[rnu]\nsize = 1",        "`rnu` (wirebench.toml, line 2) means nothing; did you mean `run`?"),
            ("[run]\nelephant = 1",      "`run.elephant` (wirebench.toml, line 2) means nothing; `wirebench config show` lists all names"),
            ("[run]\noutput = \"x\"",    "`run.output` (wirebench.toml, line 2) means nothing; `wirebench config show` lists all names"),
            ("[run.size]\nx = 1",        "`run.size` (wirebench.toml, line 1): is a table, and should be a value"),
            ("[run]\nwarm-up = \"soon\"", "`run.warm-up` (wirebench.toml, line 2): invalid value 'soon' for '--warm-up <warm_up>': invalid digit found in string"),
        ];
        for (file, expected) in table {
            assert_eq!(layers(&[], file).err().as_deref(), Some(expected), "{file}");
        }
        let message = layers(&[], "[run]\nsize = ").unwrap_err();
        assert!(message.starts_with("wirebench.toml: ") && message.contains("line 2"), "{message}");
    }

    #[test]
    fn what_is_wrong_in_the_environment_is_named() {
        assert_eq!(
            layers(&[("WIREBENCH_RUN_WARM_UP", "soon")], "").err().as_deref(),
            Some(
                "WIREBENCH_RUN_WARM_UP: invalid value 'soon' for '--warm-up <warm_up>': invalid digit found in string"
            )
        );
        let (_, remarks) =
            layers(&[("WIREBENCH_RUN_SIEZ", "1"), ("WIREBENCH_OF_OTHERS", "1")], "").unwrap();
        assert_eq!(
            remarks,
            [
                "the variable WIREBENCH_RUN_SIEZ means nothing here; did you mean WIREBENCH_RUN_SIZE?"
            ]
        );
    }

    #[test]
    fn every_setting_is_listed_with_its_source() {
        let (layers, _) = layers(&[("WIREBENCH_RUN_SIZE", "2B")], "color = \"never\"").unwrap();
        let lines: Vec<String> = layers
            .all(&program())
            .into_iter()
            .map(|(name, value, source)| format!("{name} {} {source}", value.unwrap_or_default()))
            .collect();
        assert_eq!(
            lines,
            [
                "color never wirebench.toml:1",
                "run.size 2B WIREBENCH_RUN_SIZE",
                "run.payload  default",
                "run.warm-up 1 default",
                "run.header  default",
                "run.deflate  default",
            ]
        );
        assert_eq!(layers.shared("color"), Some("never"));
    }
}
