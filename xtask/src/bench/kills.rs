//! `cargo xtask bench kills`: SIGKILL at random instants of each command, and what that leaves behind: processes,
//! files, and the blocks that were finished by then.
//!
//! Each kill has a folder and an environment of its own. Its instant is uniform over the life of the command, which is
//! measured before the kills, with as many other commands running at the same time. Fleets under load are left out:
//! `bench fleet --only kills` covers them.
//!
//! Start reading at [`Bench::kill`].

mod commands;
mod sandbox;

use crate::turns::in_turns;
use anyhow::{Context as _, Result, bail, ensure};
use commands::{COMMANDS, Command, EXPERIMENT, Given, INSTALLED};
use sandbox::{Block, PATIENCE, Sandbox, Started};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use units::Random;

/// Kill each command at random instants, and look for what is left of it
#[derive(clap::Args, Debug)]
pub(super) struct KillsArgs {
    /// Only these commands, with commas between them
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    only: Vec<String>,
    /// Kills of each command
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    times: u32,
    /// Commands that run at a time
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16))]
    jobs: u32,
    /// Origin of the instants
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,
    /// The binary to kill, which has the feature `fleet`, in place of the release build of this tree
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Prints the table as Markdown. Fails if a kill left what it should not.
pub(super) fn run(arguments: &KillsArgs) -> Result<()> {
    let chosen = chosen(&arguments.only)?;
    let wirebench = super::program_of_fleet(arguments.program.as_deref())?;
    let jobs = arguments.jobs as usize;
    let folder = Folder::new()?;
    let fleet = chosen.iter().any(|command| command.is_of_fleet()).then_some(jobs);
    let given = Given::start(&wirebench, &folder.0, fleet)?;
    let bench = Bench { given, folder: &folder.0, count: AtomicUsize::new(0) };

    let lives = in_turns(jobs, chosen.len(), |index, job| bench.undisturbed(chosen[index], job))?;
    let times = arguments.times as usize;
    let all = chosen.len() * times;
    let done = AtomicUsize::new(0);
    let kills = in_turns(jobs, all, |index, job| {
        // The first kill of each command, then the second of each: every command runs next to all others.
        let (command, life) = (chosen[index % chosen.len()], lives[index % chosen.len()]);
        let seed = arguments.seed.wrapping_mul(1 << 32).wrapping_add(index as u64);
        let killed = bench.kill(command, life, job, &mut Random::new(seed));
        let killed = killed.with_context(|| format!("{}, kill {index}", command.name))?;
        killed.wrong().iter().for_each(|wrong| eprintln!("  {}: {wrong}", command.name));
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(all.div_ceil(20)) {
            eprintln!("  {done} of {all} kills");
        }
        Ok(killed)
    })?;

    let of = |place: usize| kills.iter().skip(place).step_by(chosen.len()).collect::<Vec<_>>();
    let rows: Vec<Row> = (0..chosen.len())
        .map(|place| Row::of(chosen[place].name, lives[place], &of(place)))
        .collect();
    println!("{}", table(&rows));
    let wrong = kills.iter().filter(|killed| !killed.wrong().is_empty()).count();
    if wrong > 0 {
        bail!("{wrong} of {all} kills left what they should not");
    }
    Ok(())
}

/// The commands of these names; all if none is named.
fn chosen(names: &[String]) -> Result<Vec<&'static Command>> {
    let all = || COMMANDS.iter().map(|command| command.name);
    if let Some(unknown) = names.iter().find(|name| !all().any(|known| known == *name)) {
        bail!(
            "no command `{unknown}` is killed; there are: {}",
            all().collect::<Vec<_>>().join("; ")
        );
    }
    let is_chosen =
        |command: &&Command| names.is_empty() || names.iter().any(|name| name == command.name);
    Ok(COMMANDS.iter().filter(is_chosen).collect())
}

/// A folder of temporary files with a short path, because there are sockets in it. Removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("kills-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path.canonicalize()?))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

struct Bench<'a> {
    given: Given,
    folder: &'a Path,
    /// The number of sandboxes made so far.
    count: AtomicUsize,
}

impl Bench<'_> {
    /// Measures the life of a command that nothing kills, and checks that it does its task, leaves nothing behind, and
    /// keeps all blocks.
    fn undisturbed(&self, command: &Command, job: usize) -> Result<Duration> {
        eprintln!("  {}", command.name);
        let sandbox = self.sandbox(command)?;
        let mut started = sandbox.start(&self.given.words(command, job)?)?;
        let began = Instant::now();
        if let Some(stays) = &command.stays {
            started.wait_for(stays.ready)?;
            ensure!(command.give_task(&self.given, &mut started)?, "{} is ready", command.name);
            sleep_until(began + stays.life);
            ensure!(started.ended()?.is_none(), "{} ended by itself", command.name);
            started.interrupt()?;
        }
        let status = started.wait(PATIENCE)?.context("it does not end")?;
        let life = command.stays.as_ref().map_or_else(|| began.elapsed(), |stays| stays.life);
        let is_good = status.code().is_some_and(|code| CODES.contains(&code));
        ensure!(is_good, "{}: {status}: {}", command.name, started.words());
        let killed = Killed {
            gone: sandbox.await_end(GONE_WITHIN),
            until_next: 0,
            left: sandbox.left(&OWN).into_iter().collect(),
            finished: started.told().len(),
            recovered: sandbox.recovered()?.len(),
            lost: Block::missing(&started.told(), &sandbox.recovered()?),
        };
        ensure!(killed.wrong().is_empty(), "{}, undisturbed: {:?}", command.name, killed.wrong());
        Ok(life)
    }

    /// Kills a command once, at a random instant of its life.
    fn kill(
        &self,
        command: &Command,
        life: Duration,
        job: usize,
        random: &mut Random,
    ) -> Result<Killed> {
        for _ in 0..TRIES {
            let sandbox = self.sandbox(command)?;
            let mut started = sandbox.start(&self.given.words(command, job)?)?;
            if !self.lives_until(command, life.mul_f64(random.unit_f64()), &mut started)? {
                // It was faster this time, and has ended already.
                continue;
            }
            started.kill()?;
            let gone = sandbox.await_end(GONE_WITHIN);
            let before = sandbox.left(&OWN);
            let told = started.told();
            let finished = sandbox.kept_blocks()?.max(told.len());
            let recovered = sandbox.recovered()?;
            if !before.is_empty() {
                self.next(command, &sandbox, job)?;
            }
            return Ok(Killed {
                gone,
                until_next: before.len(),
                left: sandbox.left(&OWN).into_iter().collect(),
                finished,
                recovered: recovered.len(),
                lost: Block::missing(&told, &recovered),
            });
        }
        bail!("it ended {TRIES} times before it was killed")
    }

    /// Waits until a command has this `age`, and gives it its task meanwhile. Returns false if it has ended on its own.
    fn lives_until(&self, command: &Command, age: Duration, started: &mut Started) -> Result<bool> {
        let (born, mut has_task) = (Instant::now(), false);
        while born.elapsed() < age {
            if !has_task {
                has_task = command.give_task(&self.given, started)?;
            }
            sleep_until((Instant::now() + LOOK_EVERY).min(born + age));
        }
        Ok(started.ended()?.is_none())
    }

    /// Runs the next command in the same place: a short ladder, and a list of subjects if the command needs them; or,
    /// for a command that stays, the same one again, which is then asked to end.
    fn next(&self, command: &Command, sandbox: &Sandbox<'_>, job: usize) -> Result<()> {
        let Some(stays) = &command.stays else {
            let look = command.needs_subjects().then_some("subjects list --installed installed");
            let lines = [Some(NEXT), look].into_iter().flatten();
            let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
            return lines.map(words).try_for_each(|words| sandbox.finish(&words, &CODES).map(drop));
        };
        let mut started = sandbox.start(&self.given.words(command, job)?)?;
        started.wait_for(stays.ready)?;
        started.interrupt()?;
        started.wait(PATIENCE)?.context("the next one does not end").map(drop)
    }

    fn sandbox(&self, command: &Command) -> Result<Sandbox<'_>> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        command.sandbox(&self.given, self.folder.join(number.to_string()))
    }
}

/// The traces of a kill.
#[derive(Debug)]
struct Killed {
    /// The time from the kill until no process was left, or the processes that stayed.
    gone: Result<Duration, Vec<String>>,
    /// The number of files and folders that were left until the next command ran.
    until_next: usize,
    /// The files and folders that were left after that.
    left: Vec<String>,
    /// The blocks that were finished when it was killed.
    finished: usize,
    recovered: usize,
    /// The blocks that were reported as finished and were not recovered.
    lost: Vec<String>,
}

impl Killed {
    /// Everything that should not be, as sentences.
    fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        if let Err(processes) = &self.gone {
            wrong.push(format!("{} processes stayed: {}", processes.len(), processes.join("; ")));
        }
        if !self.left.is_empty() {
            wrong.push(format!("{} files stayed: {}", self.left.len(), self.left.join(" ")));
        }
        if self.recovered < self.finished || !self.lost.is_empty() {
            wrong.push(format!(
                "of {} finished blocks {} are recovered; lost: {:?}",
                self.finished, self.recovered, self.lost
            ));
        }
        wrong
    }
}

/// A line of the table: all kills of a command.
#[derive(Debug, PartialEq)]
struct Row {
    name: &'static str,
    life: Duration,
    kills: usize,
    processes: usize,
    /// The longest time until no process was left.
    gone_within: Duration,
    /// The kills that left files until the next command ran.
    until_next: usize,
    files: usize,
    finished: usize,
    recovered: usize,
}

impl Row {
    fn of(name: &'static str, life: Duration, kills: &[&Killed]) -> Self {
        let sum = |of: fn(&Killed) -> usize| -> usize { kills.iter().map(|it| of(it)).sum() };
        Self {
            name,
            life,
            kills: kills.len(),
            processes: sum(|killed| killed.gone.as_ref().map_or_else(Vec::len, |_| 0)),
            gone_within: kills
                .iter()
                .filter_map(|killed| killed.gone.as_ref().ok())
                .max()
                .copied()
                .unwrap_or_default(),
            until_next: sum(|killed| usize::from(killed.until_next > 0)),
            files: sum(|killed| killed.left.len()),
            finished: sum(|killed| killed.finished),
            recovered: sum(|killed| killed.recovered),
        }
    }
}

/// The rows as Markdown, with their sum.
fn table(rows: &[Row]) -> String {
    let mut text = "| command | life | kills | processes left | all gone within | had files until the next command | \
                    files left | blocks finished | recovered |\n|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    let mut line = |row: &Row, name: &str, life: String| {
        writeln!(
            text,
            "| {name} | {life} | {} | {} | {} ms | {} | {} | {} | {} |",
            row.kills,
            row.processes,
            row.gone_within.as_millis(),
            row.until_next,
            row.files,
            row.finished,
            row.recovered
        )
        .expect("writing to memory does not fail");
    };
    for row in rows {
        line(row, row.name, format!("{:.1} s", row.life.as_secs_f64()));
    }
    let sum = |of: fn(&Row) -> usize| -> usize { rows.iter().map(of).sum() };
    let all = Row {
        name: "all",
        life: Duration::ZERO,
        kills: sum(|row| row.kills),
        processes: sum(|row| row.processes),
        gone_within: rows.iter().map(|row| row.gone_within).max().unwrap_or_default(),
        until_next: sum(|row| row.until_next),
        files: sum(|row| row.files),
        finished: sum(|row| row.finished),
        recovered: sum(|row| row.recovered),
    };
    line(&all, all.name, String::new());
    text.truncate(text.trim_end().len());
    text
}

fn sleep_until(instant: Instant) {
    thread::sleep(instant.saturating_duration_since(Instant::now()));
}

/// The files of a sandbox that the bench itself puts there.
const OWN: [&str; 2] = [EXPERIMENT, INSTALLED];
/// The exit codes of a command that did its task, however busy the machine is; 130 after an interrupt.
const CODES: [i32; 4] = [0, 12, 13, 130];
/// The command run after a killed one that left files behind.
const NEXT: &str = "ladder --only unix --rounds 1 --block 20ms -c 1 -q";
/// The longest time from a kill until no process is left. A program that ignores SIGTERM is killed after 2 s.
const GONE_WITHIN: Duration = Duration::from_secs(5);
/// The time between two tries to give a command its task.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The most lives in a row that may end before their kill.
const TRIES: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    fn killed() -> Killed {
        Killed {
            gone: Ok(Duration::from_millis(7)),
            until_next: 0,
            left: Vec::new(),
            finished: 3,
            recovered: 4,
            lost: Vec::new(),
        }
    }

    #[test]
    fn a_kill_is_wrong_if_anything_is_left_or_lost() {
        assert_eq!(killed().wrong(), [""; 0]);
        assert_eq!(
            Killed { until_next: 2, ..killed() }.wrong(),
            [""; 0],
            "the next one removes it"
        );
        let stayed = Killed { gone: Err(vec!["serve ws".to_owned()]), ..killed() };
        assert_eq!(stayed.wrong(), ["1 processes stayed: serve ws"]);
        let left = Killed { left: vec!["a".to_owned(), "b".to_owned()], ..killed() };
        assert_eq!(left.wrong(), ["2 files stayed: a b"]);
        let fewer = Killed { recovered: 2, ..killed() };
        assert_eq!(fewer.wrong(), ["of 3 finished blocks 2 are recovered; lost: []"]);
        let other = Killed { lost: vec!["ws, round 1".to_owned()], ..killed() };
        assert_eq!(
            other.wrong(),
            ["of 3 finished blocks 4 are recovered; lost: [\"ws, round 1\"]"]
        );
    }

    #[test]
    fn a_table_has_a_line_for_each_command_and_their_sum() {
        let stayed = Killed {
            gone: Err(vec![String::new(), String::new()]),
            until_next: 3,
            left: vec![String::new()],
            ..killed()
        };
        let row = Row::of("run", Duration::from_millis(1250), &[&killed(), &stayed]);
        let other = Row::of("ui", Duration::from_secs(2), &[&killed()]);
        let text = table(&[row, other]);
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| run | 1.2 s | 2 | 2 | 7 ms | 1 | 1 | 6 | 8 |",
                "| ui | 2.0 s | 1 | 0 | 7 ms | 0 | 0 | 3 | 4 |",
                "| all |  | 3 | 2 | 7 ms | 1 | 1 | 9 | 12 |",
            ]
        );
    }

    #[test]
    fn commands_are_chosen_by_their_names() {
        assert_eq!(chosen(&[]).unwrap().len(), COMMANDS.len());
        let two = chosen(&["ui".to_owned(), "run".to_owned()]).unwrap();
        assert_eq!(two.iter().map(|command| command.name).collect::<Vec<_>>(), ["run", "ui"]);
        let error = chosen(&["walk".to_owned()]).unwrap_err().to_string();
        assert!(
            error.starts_with("no command `walk` is killed; there are: ladder; run; "),
            "{error}"
        );
    }
}
