//! Arguments: the options of the command line, and what each subcommand does with them.
//!
//! A subcommand is a file with its options and one function that reads as a list of steps. Start reading at
//! [`Invocation::read`].

mod ab;
#[cfg(feature = "fleet")]
mod agent;
mod by_hand;
mod certs;
mod compare;
mod completions;
mod config;
mod doctor;
mod experiment;
mod export;
#[cfg(feature = "fleet")]
mod fleet;
#[cfg(feature = "fleet")]
mod fleet_way;
mod footprint;
mod gate;
mod goal_options;
mod help;
mod history;
mod import;
mod init;
mod lab;
mod ladder;
mod man;
mod outcome;
mod report;
mod run;
mod selftest;
mod serve;
mod show;
mod sides;
mod subject_folders;
mod subjects;
mod sweep;
mod talk;
#[cfg(feature = "web")]
mod ui;
mod values;
mod version;
#[cfg(feature = "fleet")]
mod watch;

use crate::exit::{Exit, Failure};
use crate::terminal::{Talk, Terminal, When};
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches, ValueEnum};
use std::collections::BTreeSet;
use std::ffi::OsString;

/// The cost of a real-time transport, measured beside a bare TCP socket
#[derive(Debug, clap::Parser)]
#[command(
    name = "wirebench",
    version,
    disable_help_flag = true,
    disable_version_flag = true,
    subcommand_required = true,
    max_term_width = 80,
    override_usage = "wirebench [OPTIONS] [COMMAND | URL]",
    before_help = EXAMPLES,
    after_long_help = format!("{SHELLS}\n\n{FLEET}{}", help::exit_codes()),
    help_template = help::TEMPLATE,
)]
pub(crate) struct Program {
    #[command(flatten)]
    shared: Shared,
    #[command(subcommand)]
    command: Subcommand,
    /// Print help: all of it, or with -h what fits on a screen
    // Replaces clap's flag for the same reason as `version` below.
    #[arg(short, long, global = true, action = clap::ArgAction::Help, hide_short_help = true, display_order = 910)]
    help: Option<bool>,
    /// Print version; with --verbose also commit, target, features, engine and TLS
    // Replaces clap's flag, so that its line of the short help is free for the commands.
    #[arg(short = 'V', long, action = clap::ArgAction::Version, hide_short_help = true)]
    version: (),
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench                                      the ladder, in under 45 s
  wirebench serve ws --listen 127.0.0.1:8080     a server to try things on
  wirebench ws://127.0.0.1:8080 -c 100 -d 30s    100 connections, for 30 s";

/// The commands that are needed once, for the long help.
const SHELLS: &str = "\
Records that were kept:
  wirebench history             a list of them, tags, baselines, trends

Before you measure:
  wirebench selftest            a check on this machine that measured times are true

For shells and other tools:
  wirebench footprint SUBJECT   packages, bytes and build time of a subject
  wirebench certs DIR           test certificates for other servers and clients
  wirebench config              the defaults of the project, and their source
  wirebench completions SHELL   completions: bash, zsh or fish
  wirebench man [COMMAND]       a manual page
  wirebench report [RECORD]     a record as one HTML page, which each run writes too
  wirebench import …            results of google-benchmark as a record";

/// The commands for many machines, also for the long help.
const FLEET: &str = if cfg!(feature = "fleet") {
    "\
Many machines, as one (with --fleet for what measures):
  wirebench fleet up --local 4  a NATS server and four agents, to try it here
  wirebench fleet …             keys, and runs in progress
  wirebench agent --join FILE   this machine's part
  wirebench watch --join FILE   the server's machine: its CPU time and memory\n\n"
} else {
    ""
};

/// The options that every subcommand has.
#[derive(Debug, clap::Args)]
struct Shared {
    /// Use of colours
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value = "auto",
        hide_short_help = true,
        display_order = 900
    )]
    color: When,
    /// Print only errors on stderr
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        hide_short_help = true,
        display_order = 900
    )]
    quiet: bool,
    /// Print more on stderr: what each block measured
    #[arg(short, long, global = true, hide_short_help = true, display_order = 900)]
    verbose: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Subcommand {
    Ladder(ladder::Ladder),
    Run(Box<run::Run>),
    Sweep(Box<sweep::Sweep>),
    Lab(Box<lab::Lab>),
    Subjects(subjects::Subjects),
    #[command(hide = true)] // The long help names it.
    Footprint(footprint::Footprint),
    Serve(Box<serve::Serve>),
    Talk(Box<talk::Talk>),
    Init(init::Init),
    Show(show::Show),
    #[command(hide = true)] // As above.
    Report(report::Report),
    Ab(Box<ab::Ab>),
    Compare(compare::Compare),
    Gate(Box<gate::Gate>),
    #[command(hide = true)] // The long help names it.
    History(history::History),
    #[cfg(feature = "web")]
    Ui(ui::Ui),
    #[command(hide = true)] // The long help names it.
    Import(import::Import),
    #[cfg(feature = "fleet")]
    #[command(hide = true)] // As above.
    Fleet(fleet::Fleet),
    #[cfg(feature = "fleet")]
    #[command(hide = true)] // As above.
    Agent(agent::Agent),
    #[cfg(feature = "fleet")]
    #[command(hide = true)] // As above.
    Watch(watch::Watch),
    Doctor(doctor::Doctor),
    #[command(hide = true)] // The long help names it, and those below.
    Certs(certs::Certs),
    #[command(hide = true)]
    Selftest(selftest::Selftest),
    #[command(hide = true)]
    Config(config::Config),
    #[command(hide = true)]
    Completions(completions::Completions),
    #[command(hide = true)]
    Man(man::Man),
}

/// The subcommand to run, with every setting resolved.
#[derive(Debug)]
pub(crate) struct Invocation {
    command: Subcommand,
    terminal: Terminal,
}

impl Invocation {
    /// Reads the command line, and WIREBENCH_COLOR.
    ///
    /// # Errors
    ///
    /// [`Stop::Told`] if help, the version or an error of usage is all there is to print.
    pub(crate) fn read(arguments: Vec<OsString>) -> Result<Self, Stop> {
        let program = version::told(Program::command(), &arguments);
        let arguments = with_command(arguments, &program);
        let given = program.try_get_matches_from(&arguments)?;
        let Program { shared, command, help: _, version: () } = Program::from_arg_matches(&given)?;
        Ok(Self { command, terminal: shared.terminal(&given) })
    }

    /// Does what was asked for.
    ///
    /// # Errors
    ///
    /// A [`Failure`] with its cause and its exit code.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Self { command, terminal } = self;
        match command {
            Subcommand::Ladder(ladder) => ladder.run(&terminal),
            Subcommand::Run(run) => run.run(&terminal),
            Subcommand::Sweep(sweep) => sweep.run(&terminal),
            Subcommand::Lab(lab) => lab.run(&terminal),
            Subcommand::Subjects(subjects) => subjects.run(&terminal),
            Subcommand::Footprint(footprint) => footprint.run(&terminal),
            Subcommand::Serve(serve) => serve.run(&terminal),
            Subcommand::Talk(talk) => talk.run(&terminal),
            Subcommand::Init(init) => init.run(&terminal),
            Subcommand::Show(show) => show.run(&terminal),
            Subcommand::Report(report) => report.run(&terminal),
            Subcommand::Ab(ab) => ab.run(&terminal),
            Subcommand::Compare(compare) => compare.run(&terminal),
            Subcommand::Gate(gate) => gate.run(&terminal),
            Subcommand::History(history) => history.run(&terminal),
            #[cfg(feature = "web")]
            Subcommand::Ui(ui) => ui.run(&terminal),
            Subcommand::Import(import) => import.run(&terminal),
            #[cfg(feature = "fleet")]
            Subcommand::Fleet(fleet) => fleet.run(&terminal),
            #[cfg(feature = "fleet")]
            Subcommand::Agent(agent) => agent.run(&terminal),
            #[cfg(feature = "fleet")]
            Subcommand::Watch(watch) => watch.run(&terminal),
            Subcommand::Doctor(doctor) => doctor.run(&terminal),
            Subcommand::Certs(certs) => certs.run(&terminal),
            Subcommand::Selftest(selftest) => selftest.run(&terminal),
            Subcommand::Config(config) => config.run(&terminal),
            Subcommand::Completions(completions) => completions.run(Program::command(), &terminal),
            Subcommand::Man(man) => man.run(Program::command(), &terminal),
        }
    }
}

impl Shared {
    /// Sets up both streams as the flags say, or else as WIREBENCH_COLOR says.
    fn terminal(&self, matches: &ArgMatches) -> Terminal {
        let by_flag = matches.value_source("color") == Some(clap::parser::ValueSource::CommandLine);
        let variable = std::env::var_os("WIREBENCH_COLOR");
        let variable = variable.and_then(|when| When::from_str(when.to_str()?, true).ok());
        let color = variable.filter(|_| !by_flag).unwrap_or(self.color);
        let talk = match self {
            Self { quiet: true, .. } => Talk::Quiet,
            Self { verbose: true, .. } => Talk::Verbose,
            Self { .. } => Talk::Usual,
        };
        Terminal::new(color, talk)
    }
}

/// The reason that there is nothing to run.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Something is wrong.
    Failed(Failure),
    /// Clap has the last word: help, the version, or an error of usage.
    Told(clap::Error),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<clap::Error> for Stop {
    fn from(error: clap::Error) -> Self {
        Self::Told(error)
    }
}

/// Returns `arguments` with the subcommand that is meant if they name none: `wirebench` is the ladder, `wirebench URL`
/// a run.
fn with_command(mut arguments: Vec<OsString>, program: &Command) -> Vec<OsString> {
    let words = arguments.get(1..).unwrap_or_default();
    let asks_for_help = |word: &OsString| HELP.iter().any(|help| word == help);
    let meant = match first_word(words, program) {
        Some(word) if looks_like_url(word) => Some(run::NAME),
        None if !words.iter().any(asks_for_help) => Some(ladder::NAME),
        Some(_) | None => None,
    };
    if let Some(meant) = meant {
        arguments.insert(arguments.len().min(1), meant.into());
    }
    arguments
}

/// The first argument that is neither an option nor the value of one.
fn first_word<'a>(words: &'a [OsString], program: &Command) -> Option<&'a str> {
    let with_value = options_with_value(program);
    let mut words = words.iter().map(|word| word.to_str().unwrap_or_default());
    while let Some(word) = words.next() {
        match word {
            "--" => return words.next(),
            "-" => return Some(word),
            long if long.starts_with("--") => {
                if with_value.contains(long) {
                    words.next();
                }
            }
            // The first letter in a word that takes a value takes the rest of the word as its value.
            short if short.starts_with('-') => {
                let takes = |letter: char| with_value.contains(&format!("-{letter}"));
                if short[1..].find(takes).is_some_and(|at| short[1..].chars().nth(at + 1).is_none())
                {
                    words.next();
                }
            }
            word => return Some(word),
        }
    }
    None
}

/// Returns all options of all subcommands that take a value, as they are typed, except those whose value has to be in
/// the same word.
fn options_with_value(program: &Command) -> BTreeSet<String> {
    let all = program.get_subcommands().chain([program]).flat_map(Command::get_arguments);
    let takes_word =
        |option: &&Arg| option.get_action().takes_values() && !option.is_require_equals_set();
    let with_value = all.filter(takes_word);
    let names = |option: &Arg| {
        let long = option.get_long().map(|long| format!("--{long}"));
        let short = option.get_short().map(|short| format!("-{short}"));
        let aliases = option.get_all_aliases().unwrap_or_default();
        let aliases = aliases.into_iter().map(|alias| format!("--{alias}"));
        aliases.chain(long).chain(short).collect::<Vec<_>>()
    };
    with_value.flat_map(names).collect()
}

/// Tells URLs from subcommands, whose names have none of these characters.
fn looks_like_url(word: &str) -> bool {
    word.contains([':', '/', '.'])
}

const HELP: &[&str] = &["-h", "--help", "-V", "--version"];

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(line: &str) -> String {
        let words = line.split(' ').map(OsString::from).collect();
        let words = with_command(words, &Program::command());
        words.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_meant_without_a_command_is_the_ladder_or_a_run() {
        #[rustfmt::skip]
        let table = [
            ("wirebench",                     "wirebench ladder"),
            ("wirebench --seed 7",            "wirebench ladder --seed 7"),
            ("wirebench -c 10 --size=1B",     "wirebench ladder -c 10 --size=1B"),
            ("wirebench --color never -q",    "wirebench ladder --color never -q"),
            ("wirebench -qc 10",              "wirebench ladder -qc 10"),
            ("wirebench ws://h",              "wirebench run ws://h"),
            ("wirebench -c 10 ws://h",        "wirebench run -c 10 ws://h"),
            ("wirebench -c10 ws://h",         "wirebench run -c10 ws://h"),
            ("wirebench -qc10 ws://h",        "wirebench run -qc10 ws://h"),
            ("wirebench --repeat 7 ws://h",   "wirebench run --repeat 7 ws://h"),
            ("wirebench --size=10B ws://h -q", "wirebench run --size=10B ws://h -q"),
            ("wirebench --deflate ws://h",    "wirebench run --deflate ws://h"),
            ("wirebench -- ws://h",           "wirebench run -- ws://h"),
            ("wirebench localhost:8080",      "wirebench run localhost:8080"),
            ("wirebench unix:a.sock",         "wirebench run unix:a.sock"),
            ("wirebench ws://h --help",       "wirebench run ws://h --help"),
            ("wirebench ladder",              "wirebench ladder"),
            ("wirebench -q run ws://h",       "wirebench -q run ws://h"),
            ("wirebench --color never serve tcp", "wirebench --color never serve tcp"),
            ("wirebench lader",               "wirebench lader"),
            ("wirebench help run",            "wirebench help run"),
            ("wirebench -h",                  "wirebench -h"),
            ("wirebench --version",           "wirebench --version"),
        ];
        for (line, expected) in table {
            assert_eq!(completed(line), expected);
        }
        assert_eq!(with_command(Vec::new(), &Program::command()), ["ladder"]);
    }

    #[test]
    fn the_definitions_are_consistent() {
        Program::command().debug_assert();
    }

    #[test]
    fn an_option_takes_a_value_in_all_subcommands_or_in_none() {
        let program = Program::command();
        let with_value = options_with_value(&program);
        let all = program.get_subcommands().flat_map(Command::get_arguments);
        for flag in all.filter(|option| !option.get_action().takes_values()) {
            let long = flag.get_long().map(|long| format!("--{long}")).unwrap_or_default();
            let short = flag.get_short().map(|short| format!("-{short}")).unwrap_or_default();
            assert!(!with_value.contains(&long) && !with_value.contains(&short), "{long} {short}");
        }
    }
}
