//! `wirebench ui`: runs and records in a browser.

use super::subject_folders::scratch;
use crate::exit::{Exit, Failure};
use crate::terminal::{Label, Terminal};
use crate::{history, random, signals};
use anyhow::Context as _;
use lab::PrivateFolder;
use report::Depth;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use web::{Over, Runs, Settings, Ui as Page};

/// Start and watch runs, and find records again, in a browser
///
/// Prints the URL of a page, and serves it until Ctrl-C. The page starts a run from a form or from the file of an
/// experiment, shows it while it goes on, changes the rate of an open loop, and stops it; it lists the records of this
/// folder, with their reports, comparisons and trends. Each run is a process of its own. The token in the URL is the
/// key: whoever has it can start runs.
#[derive(Debug, clap::Args)]
#[command(
    before_help = EXAMPLES,
    after_long_help = super::help::exit_codes(),
    help_template = super::help::TEMPLATE,
)]
pub(crate) struct Ui {
    /// Address to listen at; with port 0 the system chooses a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

#[rustfmt::skip]
const EXAMPLES: &str = "\
Examples:
  wirebench ui                                     prints the URL to open
  wirebench ui --listen 127.0.0.1:9400             at the same port each time
  wirebench ws://127.0.0.1:8080 --rate 2k/s --ui   one run, to be watched";

impl Ui {
    /// Answers until a signal arrives.
    pub(crate) fn run(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let (page, _files) = listen(self.listen)?;
        // Before the URL is printed: whoever reads it may end the page at once.
        let wish = signals::listen()?;
        terminal.result(&format!("{}\n", page.url()))?;
        terminal.say("open this URL in a browser; Ctrl-C ends the page, and a run with it");
        let is_over = |runs: &Runs| wish.signal.load(Ordering::Relaxed) != 0 && runs.stop_all();
        page.serve(is_over).map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Exit::DONE)
    }
}

/// Starts the run of this command line, without `--ui`, and shows it in a browser. Prints its page when it is over; the
/// browser can show the run and its report until a signal arrives.
pub(super) fn watched(name: &str, terminal: &Terminal) -> Result<Exit, Failure> {
    let words: Vec<OsString> = std::env::args_os().skip(1).filter(|word| word != "--ui").collect();
    let (page, _files) = listen(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let wish = signals::listen()?;
    let number = page.runs().start_words(name, &words).map_err(anyhow::Error::from)?;
    terminal.say(&format!("watch it at {}#run/{number}", page.url()));
    let mut ended: Option<Over> = None;
    let is_over = |runs: &Runs| {
        if ended.is_none() {
            ended = runs.over(number);
            if let Some(over) = &ended {
                tell(over, terminal);
            }
        }
        wish.signal.load(Ordering::Relaxed) != 0 && runs.stop_all()
    };
    page.serve(is_over).map_err(|error| Failure::usage(error.to_string()))?;
    let code = ended.and_then(|over| over.code);
    Ok(code.and_then(Exit::of_code).unwrap_or(Exit::INTERRUPTED))
}

/// Shows the result of a run: its page, as if there had been no browser, or why there is none.
fn tell(over: &Over, terminal: &Terminal) {
    let record = over.record.as_deref().map(|path| (path, super::show::record(path)));
    match record {
        Some((path, Ok(record))) => {
            terminal.result(&report::terminal(&record, Depth::First, &terminal.style())).ok();
            terminal.say_labelled(Label::Record, &path.display().to_string());
        }
        Some((_, Err(error))) => terminal.say_labelled(Label::Warning, &error),
        None => terminal.say(over.words.trim_end()),
    }
    terminal.say("the page stays until Ctrl-C");
}

/// Opens the page, and a private folder for the files of experiments while they are measured, which may contain
/// secrets. The folder is removed with the page, or, if this process is killed, by the next one.
fn listen(address: SocketAddr) -> Result<(Page, PrivateFolder), Failure> {
    let files = PrivateFolder::new(&scratch(), "ui");
    let files =
        files.map_err(|error| Failure::new(Exit::NOT_WRITTEN, anyhow::Error::msg(error)))?;
    let settings = Settings {
        listen: address,
        token: token()?,
        program: std::env::current_exe().context("this program cannot be found")?,
        folder: files.path(""),
        history: Box::new(|| history::open().map_err(|failure| failure.to_string())),
    };
    let page = Page::listen(settings).map_err(|error| Failure::usage(error.to_string()))?;
    Ok((page, files))
}

/// 128 random bits, as digits.
fn token() -> anyhow::Result<String> {
    let mut token = String::new();
    for byte in random::bytes::<16>()? {
        write!(token, "{byte:02x}").expect("writing to memory does not fail");
    }
    Ok(token)
}
