//! Takes a plan to its end: carries it out, keeps and shows the record, and says how to do it again.

use super::export::Export;
use crate::ci::Ci;
use crate::exit::{Exit, Failure};
use crate::files::{self, Destination};
use crate::metrics::Metrics;
use crate::progress::Progress;
use crate::terminal::{Label, Terminal};
use crate::{certificate, date, lines, signals};
use anyhow::Context;
use engine::thread;
use record::{Block, Ended, Kind, Level, Required, RunRecord, Tool};
use report::Depth;
use run::{Commands, Feed, Host, RateWish, RunError};
use spec::Load;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The options that say where results go.
#[derive(Debug, clap::Args)]
pub(crate) struct Output {
    /// File for the record; `-` is stdout
    ///
    /// Without it the record goes into a new file in `.wirebench/records`, named by time.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Show the record as JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Show everything, not only the first page
    #[arg(long, conflicts_with = "json")]
    details: bool,
    /// Print progress as JSON lines instead of the page, and take commands on stdin (docs/UI.md)
    #[arg(long, conflicts_with_all = ["json", "details"], hide_short_help = true)]
    pub(super) feed: bool,
    /// With --feed: end when stdin ends, as if the terminal were gone; for the runs of `wirebench ui`
    #[arg(long, requires = "feed", hide = true)]
    tied: bool,
}

/// Everything that a record is written to.
pub(crate) struct Writers<'a> {
    pub(crate) output: &'a Output,
    pub(crate) exports: &'a [Export],
    pub(crate) ci: Option<&'a Ci>,
    pub(crate) metrics: &'a Metrics,
}

/// Everything that the program gives to a measurement.
pub(crate) struct With<'a> {
    pub(crate) feed: &'a Feed,
    pub(crate) commands: Commands<'a>,
    pub(crate) interrupt: &'a AtomicUsize,
}

/// Measures with `execute`, keeps the record, shows it, exports it, and reports it to the service of a gate.
pub(crate) fn carry_out(
    host: &Host,
    writers: &Writers<'_>,
    terminal: &Terminal,
    execute: impl FnOnce(With<'_>) -> Result<RunRecord, RunError>,
) -> Result<Exit, Failure> {
    let Writers { output, exports, ci, metrics } = *writers;
    let destination = Destination::new(output.output.as_deref());
    let as_json = output.json || output.feed || destination == Destination::Stdout;
    if output.feed && destination == Destination::Stdout {
        return Err(Failure::usage(
            "--feed writes its lines to stdout; name a file for the record with -o",
        ));
    }
    files::check(&destination)?;
    exports.iter().try_for_each(Export::check)?;
    let wish = signals::listen()?;
    let rate = Arc::<RateWish>::default();
    if output.feed {
        lines::obey(&wish, &rate, output.tied, terminal).map_err(anyhow::Error::from)?;
    }
    let heading = format!("wirebench {}", command_line().join(" "));
    let mut progress = Progress::new(terminal, heading.trim_end().to_owned(), !as_json);
    if host.kind == Kind::Sweep {
        (progress.shows_blocks, progress.expects_lag) = (true, true);
    }
    let mut record = std::thread::scope(|scope| {
        // It ends with this scope, and so does the thread that listens to it.
        let feed = Feed::default();
        let listener = feed.listen();
        let (interrupt, rate) = (&*wish.signal, &*rate);
        let commands = Commands::new(interrupt).with_rate(rate);
        let show = move || {
            thread::run_when_idle();
            progress.show(listener, interrupt, rate);
        };
        thread::start_scoped(scope, "progress", show)?;
        if output.feed {
            let listener = feed.listen();
            let print = move || {
                // With a lower priority it lags seconds behind when all cores are busy: it writes far more than a
                // screen shows.
                thread::give_way();
                lines::print(listener, terminal);
            };
            thread::start_scoped(scope, "feed", print)?;
        }
        metrics.serve(scope, &feed)?;
        execute(With { feed: &feed, commands, interrupt })
    })?;
    record.conclusion = report::conclusion(&record);

    // The next signal does not end the program while the record is written; one after that does.
    wish.asked.store(false, Ordering::Relaxed);
    let kept = files::keep(&record, &destination);
    let page = match (output.feed, as_json) {
        (true, _) => {
            let path = kept.as_ref().ok().and_then(|kept| kept.path.as_deref());
            lines::record(&record, path)
        }
        (false, true) => record.to_json(),
        (false, false) => report::terminal(&record, depth(output.details), &terminal.style()),
    };
    let shown = terminal.result(&page);
    let elsewhere = kept.as_ref().ok().and_then(|kept| kept.tell(terminal));
    let path = kept.as_ref().ok().and_then(|kept| kept.path.as_deref());
    if let (Some(path), Destination::Records) = (path, &destination) {
        draw(&record, path, terminal);
    }
    if let (Some(path), Some(_)) = (path, &record.spec) {
        let path = quoted(&path.display().to_string());
        terminal.say_labelled(Label::Repeat, &format!("wirebench run {path}{}", secrets(&record)));
    }
    if let Some(loss) = metrics.loss() {
        terminal.say_labelled(Label::Warning, &loss);
    }
    if let Some(next) = next(&record) {
        terminal.say_next(&next);
    }
    let exported = exports.iter().try_for_each(|export| export.write(&record));
    let told = ci.map_or(Ok(()), |ci| ci.tell(&record, terminal));
    kept?;
    shown?;
    exported?;
    told?;
    Ok(elsewhere.unwrap_or_else(|| exit(&record)))
}

/// Everything that a run needs to know about this program.
///
/// # Errors
///
/// The clock is before 1970, or this program cannot be found.
pub(super) fn host(kind: Kind) -> anyhow::Result<Host> {
    let now =
        engine::clock::unix_seconds().context("the clock of this machine is set before 1970")?;
    Ok(Host {
        launch: super::subject_folders::launch()?,
        command_line: command_line(),
        started_at: date::rfc3339(now),
        repository: std::env::current_dir().ok().and_then(|folder| probe::repository(&folder)),
        tool: Tool {
            name: env!("CARGO_PKG_NAME").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("WIREBENCH_COMMIT").map(str::to_owned),
        },
        kind,
        selftest: certificate::of_this_boot(),
        server_pid: None,
        lab: None,
        baseline: None,
    })
}

/// The exit code of the program after this record.
fn exit(record: &RunRecord) -> Exit {
    let succeeded = record.blocks.iter().any(Block::is_answered);
    exit_of(&record.ended, succeeded, level(record), record.required())
}

/// Returns the exit code that says most, of all that apply; `docs/CLI.md` has the same order.
fn exit_of(ended: &Ended, succeeded: bool, level: Level, required: Required) -> Exit {
    match (ended, required) {
        (Ended::Interrupted { signal }, _) => Exit::of_signal(*signal),
        _ if !succeeded => Exit::UNREACHABLE,
        // The answer needs a required number, and here that is invalid.
        (_, Required::Invalid) => Exit::INVALID,
        _ if level == Level::Invalid => Exit::INVALID,
        (_, Required::NotMet) => Exit::NOT_MET,
        (_, Required::Regressed) => Exit::REGRESSED,
        (Ended::Partial { .. }, Required::Met) => Exit::PARTIAL,
        (Ended::Completed, Required::Met) => Exit::DONE,
    }
}

/// The level of the verdict.
fn level(record: &RunRecord) -> Level {
    record.verdict.as_ref().map_or(Level::Trusted, |verdict| verdict.level)
}

/// The depth of the page that `--details` asks for.
pub(super) const fn depth(details: bool) -> Depth {
    if details { Depth::Details } else { Depth::First }
}

/// Writes the page of a record next to it, and prints the name of the file.
fn draw(record: &RunRecord, path: &Path, terminal: &Terminal) {
    let page = path.with_extension("html");
    match files::write(&page, report::html(record).as_bytes()) {
        Ok(()) => terminal.say_labelled(Label::Report, &page.display().to_string()),
        Err(error) => {
            let page = page.display();
            let text =
                format!("cannot write the page {page}: {error}; `wirebench report` draws it");
            terminal.say_labelled(Label::Warning, &text);
        }
    }
}

/// Suggests what to do next: what the verdict advises; after a ladder, a run against the user's own server; after a
/// closed loop, an open loop well below the rate that the closed loop reached.
fn next(record: &RunRecord) -> Option<String> {
    let verdict = record.verdict.as_ref();
    if let Some(verdict) = verdict.filter(|verdict| verdict.level > Level::Trusted) {
        let worst = verdict.reasons.iter().find(|reason| reason.level == verdict.level);
        return worst.map(|reason| reason.advice.clone()).filter(|advice| !advice.is_empty());
    }
    if record.ended != Ended::Completed {
        return None;
    }
    let workload = record.plan.workloads.first()?;
    match (record.kind, &workload.spec.load) {
        (Kind::Ladder, _) => {
            Some("wirebench ws://127.0.0.1:8080, with the URL of your own server".to_owned())
        }
        (Kind::Run, Load::Closed { .. }) => {
            let reached = record.results.first()?.pooled.messages_per_s?.value;
            let rate = one_digit(reached / 2.0)?;
            let target = quoted(&workload.target);
            Some(format!(
                "wirebench run {target} --rate {rate}/s, for response times at half of that load"
            ))
        }
        (Kind::Ab | Kind::Imported | Kind::Lab | Kind::Run | Kind::Sweep | Kind::Other, _) => None,
    }
}

/// Rounds down to one significant digit: 98,765 becomes 90,000. Returns `None` below one.
fn one_digit(value: f64) -> Option<u64> {
    let power = value.log10().floor();
    let unit = 10_f64.powf(power);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate of messages"
    )]
    (value >= 1.0 && value.is_finite()).then(|| ((value / unit).floor() * unit) as u64)
}

/// The arguments of this program without its name, and without secrets.
fn command_line() -> Vec<String> {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    spec::secrets::without_secrets(words.iter().map(String::as_str))
}

/// The options that supply what a record does not contain: the values of headers, and secrets in URLs.
fn secrets(record: &RunRecord) -> &'static str {
    let has_secrets = |workload: &spec::Workload| {
        let is_secret = workload.server.url().is_some_and(|url| url.whole() != url.to_string());
        is_secret || !workload.http.headers.is_empty()
    };
    if record.spec.iter().flat_map(|spec| &spec.workloads).any(has_secrets) {
        " -H @FILE"
    } else {
        ""
    }
}

/// Quotes `word`, if necessary, so that a shell takes it as one word.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=+:,./@%^".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_all_that_holds_the_exit_code_tells_what_says_most() {
        let signal = Ended::Interrupted { signal: 2 };
        let partial = Ended::Partial { reason: String::new() };
        #[rustfmt::skip]
        let table = [
            (&Ended::Completed, true,  Level::Trusted,  0),
            (&Ended::Completed, true,  Level::Degraded, 0),
            (&Ended::Completed, true,  Level::Invalid,  12),
            (&Ended::Completed, false, Level::Invalid,  15),
            (&partial,          true,  Level::Trusted,  13),
            (&partial,          true,  Level::Degraded, 13),
            (&partial,          true,  Level::Invalid,  12),
            (&partial,          false, Level::Invalid,  15),
            (&signal,           true,  Level::Invalid,  130),
            (&signal,           false, Level::Invalid,  130),
        ];
        for (ended, succeeded, level, code) in table {
            let of = |required| exit_of(ended, succeeded, level, required).code();
            assert_eq!(of(Required::Met), code, "{ended:?} {succeeded} {level:?}");
            // An unmet requirement says more than a loss, and less than everything else.
            for (required, expected) in
                [(Required::Regressed, 11), (Required::NotMet, 10), (Required::Invalid, 12)]
            {
                let expected = if [0, 13].contains(&code) { expected } else { code };
                assert_eq!(of(required), expected, "{ended:?} {required:?}");
            }
        }
    }

    #[test]
    fn rates_are_suggested_with_one_digit() {
        for (value, expected) in [
            (0.9, None),
            (1.0, Some(1)),
            (19.9, Some(10)),
            (98_765.4, Some(90_000)),
            (f64::NAN, None),
        ] {
            assert_eq!(one_digit(value), expected, "{value}");
        }
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        for (word, expected) in [
            ("--size", "--size"),
            ("ws://127.0.0.1:8080/a", "ws://127.0.0.1:8080/a"),
            ("ws://h/?a=1&b=2", "'ws://h/?a=1&b=2'"),
            ("Name: it's", r"'Name: it'\''s'"),
            ("", "''"),
            ("~", "'~'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
