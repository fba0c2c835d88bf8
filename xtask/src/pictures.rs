//! `cargo xtask pictures`: draws every page into docs/pictures, light and dark, wide and narrow, for people to look at.
//!
//! The program measures short runs of each kind. A browser then opens their reports and the views of `wirebench ui`
//! (`pictures.mjs`). README.md has the report of the first one as a picture, and its page as text. The figures are
//! real, and nobody should quote them.

use crate::process::{self, Process};
use crate::{bench, files, shell, third_party};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Draw every page into docs/pictures, reports and the views of `wirebench ui`, and write the page of README.md
#[derive(clap::Args, Debug)]
pub(crate) struct PicturesArgs {
    /// The binary to draw with, in place of the release build of this tree
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Measures, draws, and prints the folder of the pictures.
pub(crate) fn run(arguments: &PicturesArgs) -> Result<()> {
    let wirebench = bench::program(arguments.program.as_deref())?;
    let browser = third_party::install_browser()?;
    let scratch = &files::empty(shell::target().join("pictures"))?;
    let mut serve = Command::new(&wirebench);
    serve.args(["serve", "oracle", "ws", "--listen", "127.0.0.1:0", "--cap", "1500/s"]);
    let mut server = Process::start("server", bench::SERVER_CORE, &serve, scratch)?;
    let url = format!("ws://{}/", process::await_ready(&mut server)?);
    let mut reports = Vec::new();
    for (name, words) in RECORDS {
        measure(&wirebench, name, words, &url, scratch)?;
        let record = scratch.join(format!("{name}.json"));
        shell::output(shell::command(&wirebench).arg("report").arg(&record))?;
        if name != AGAIN {
            reports.push(record.with_extension("html"));
        }
    }
    measure_series(&wirebench, scratch)?;

    let mut import = Command::new(&wirebench);
    import.args(["history", "import", "."]).current_dir(scratch);
    shell::output(&mut import)?;
    let mut open = Command::new("env");
    open.arg("--chdir").arg(scratch).arg(&wirebench).arg("ui");
    let mut ui = Process::start("ui", BOTH_CORES, &open, scratch)?;
    let address = ui.wait_for("address", PATIENCE, |ui| {
        Ok(ui.printed().lines().next().filter(|line| line.ends_with('/')).map(str::to_owned))
    })?;
    let folder = files::empty(shell::root().join("docs/pictures"))?;
    draw(&browser, &folder, &[address, url], &reports)?;
    let (charts, chart) = (scratch.join("charts"), "throughput.svg");
    let mut sweep = shell::command(&wirebench);
    sweep.arg("report").arg(scratch.join("sweep.json")).arg("--svg").arg(&charts);
    shell::output(&mut sweep)?;
    fs::copy(charts.join(chart), folder.join(chart))?;
    let (readme, record) = (shell::root().join("README.md"), scratch.join("ladder.json"));
    let page = shell::output(shell::command(&wirebench).arg("show").arg(record))?;
    let text = with_page(&fs::read_to_string(&readme)?, &page);
    fs::write(readme, text.context("README.md has no page of the ladder")?)?;
    ui.signal("INT")?;
    ui.finish_with(&[0], PATIENCE)?;
    println!("{}", folder.display());
    Ok(())
}

/// Carries out a command in `scratch`, so that no path of a machine is in a picture; its record is `NAME.json` there.
fn measure(wirebench: &Path, name: &str, words: &str, url: &str, scratch: &Path) -> Result<()> {
    eprintln!("  {name}");
    let mut measure = Command::new("env");
    measure.arg("--chdir").arg(scratch).arg(wirebench);
    measure.args(words.split_whitespace().map(|word| if word == "URL" { url } else { word }));
    measure.arg("--output").arg(format!("{name}.json"));
    measure.env(third_party::SUBJECTS_VARIABLE, shell::target().join("subjects"));
    // Invalid and partial records have a page as well.
    Process::start(name, BOTH_CORES, &measure, scratch)?.finish_with(&[0, 12, 13], PATIENCE)?;
    Ok(())
}

/// Measures a trend: the same load of a server at one address, which becomes slower.
fn measure_series(wirebench: &Path, scratch: &Path) -> Result<()> {
    let mut address = "127.0.0.1:0".to_owned();
    for (part, work) in [("before", "10us"), ("after", "50us")] {
        let mut serve = Command::new(wirebench);
        serve.args(["serve", "ws", "--work", work, "--listen", &address]);
        let mut server = Process::start("trend-server", bench::SERVER_CORE, &serve, scratch)?;
        address = process::await_ready(&mut server)?.to_string();
        for number in 0..SERIES_HALF {
            let name = format!("trend-{part}-{number}");
            measure(wirebench, &name, SERIES, &format!("ws://{address}/"), scratch)?;
        }
        server.signal("INT")?;
        server.finish_with(&[0], PATIENCE)?;
    }
    Ok(())
}

/// Returns `readme` with its page replaced by `page`.
fn with_page(readme: &str, page: &str) -> Option<String> {
    let (above, rest) = readme.split_once(ABOVE_PAGE)?;
    let line = |line: &str| format!("{}{line}\n", if line.is_empty() { "" } else { INDENT });
    let page: String = page.trim().lines().map(line).collect();
    let is_old = |line: &&str| line.trim().is_empty() || line.starts_with(INDENT);
    let below: String = rest.split_inclusive('\n').skip_while(is_old).collect();
    Some(format!("{above}{ABOVE_PAGE}{page}\n{below}"))
}

/// Draws all pages.
fn draw(browser: &Path, folder: &Path, places: &[String; 2], reports: &[PathBuf]) -> Result<()> {
    let mut command = shell::command(browser.join("start"));
    command.arg("xtask/src/pictures.mjs").arg(folder).args(places).args(reports);
    shell::output(&mut command)?;
    let count = fs::read_dir(folder)?.count();
    // One more for the part of the first report that a reader sees first.
    let expected = (reports.len() + VIEWS) * LOOKS + 1;
    ensure!(count == expected, "{count} pictures, and {expected} were to be");
    Ok(())
}

/// The records whose reports are drawn, and the commands that measure them; `URL` is a server of 1500 replies a
/// second.
const RECORDS: [(&str, &str); 7] = [
    ("ladder", "ladder"),
    (AGAIN, "ladder"),
    ("run", "run URL --rate 500/s --connections 20 --duration 2s --rounds 5"),
    ("sweep", "sweep URL --from 200 --quick"),
    ("game", "sweep --preset cubeia --quick"),
    ("lab", "lab kifi --quick --install --packages"),
    ("ab", "ab URL --aa --quick"),
];
/// The record that is compared with the first one, and has no picture of its own.
const AGAIN: &str = "ladder-again";
/// A load of a trend, in less than a second each time.
const SERIES: &str = "run URL --connections 4 --duration 500ms --warm-up 100ms";
/// The number of records before the server becomes slower, and after that: a change needs five on either side.
const SERIES_HALF: usize = 8;
/// The end of the paragraph above the page in README.md, and the beginning of each line of the page.
const ABOVE_PAGE: &str = "prints this page in less than 45 seconds:\n\n";
const INDENT: &str = "    ";
/// The views of `wirebench ui`: a form, a run in progress, one that is over, all runs, history, trends, a comparison.
const VIEWS: usize = 7;
/// Light and dark, wide and narrow.
const LOOKS: usize = 4;
const BOTH_CORES: &str = "0,1";
/// The longest time of a command: the lab may compile what it compares. A longer one has failed.
const PATIENCE: Duration = Duration::from_secs(1800);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_the_readme_is_replaced_and_nothing_else() {
        let readme = fs::read_to_string(shell::root().join("README.md")).unwrap();
        let changed = with_page(&readme, "an answer\n\n  a row\n").unwrap();
        let (above, below) = changed.split_once("    an answer\n\n      a row\n\n").unwrap();
        assert!(readme.starts_with(above) && readme.ends_with(below));
        let old = &readme[above.len()..readme.len() - below.len()];
        assert!(old.starts_with(INDENT) && old.contains("p50 to tcp") && !below.starts_with(' '));
        assert_eq!(with_page("no page", "an answer"), None);
    }
}
