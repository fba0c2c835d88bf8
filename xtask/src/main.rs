//! All automation of wirebench: `cargo xtask check` is the one gate, and `.ci/run` calls nothing else.
//!
//! Each subcommand is a module that reads as a list of steps. Nothing here ships to a user; what the modules share
//! is [`shell`] (commands that can be repeated by hand) and [`packages`] (what a new machine lacks).

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people, not a library"
)]

mod bench;
mod book;
mod check;
mod deny;
mod dist;
mod files;
mod front_end;
mod fuzz;
mod lines;
mod mutants;
mod needs;
mod packages;
mod pictures;
mod process;
mod shell;
mod third_party;
mod tidy;
mod turns;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// All automation of wirebench
#[derive(Parser, Debug)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand, Debug)]
enum Task {
    Bench(bench::BenchArgs),
    /// Build the documentation as a book, below the target folder
    Book,
    Check(check::CheckArgs),
    /// Check the licences, sources and names of all dependencies, with cargo-deny
    Deny,
    Dist(dist::DistArgs),
    Fuzz(fuzz::FuzzArgs),
    Lines(lines::LinesArgs),
    Mutants(mutants::MutantsArgs),
    Pictures(pictures::PicturesArgs),
    /// Install the servers and clients that we did not write, for the integration tests
    ThirdParty,
    /// Check what rustfmt and clippy cannot: arrows between crates, purity, headers, links
    Tidy,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Book => book::run(),
        Task::Check(arguments) => check::run(&arguments),
        Task::Deny => deny::run(),
        Task::Dist(arguments) => dist::run(&arguments),
        Task::Fuzz(arguments) => fuzz::run(&arguments),
        Task::Lines(arguments) => lines::run(&arguments),
        Task::Mutants(arguments) => mutants::run(&arguments),
        Task::Pictures(arguments) => pictures::run(&arguments),
        Task::ThirdParty => third_party::install_all()
            .map(|folders| folders.iter().for_each(|folder| println!("{}", folder.display()))),
        Task::Tidy => tidy::run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_task_of_the_pages_is_one() {
        let docs = fs::read_dir(shell::root().join("docs")).unwrap();
        let mut pages: Vec<_> = docs.map(|entry| entry.unwrap().path()).collect();
        pages.extend(["README.md", "CONTRIBUTING.md"].map(|page| shell::root().join(page)));
        let mut count = 0;
        for page in pages.iter().filter(|page| page.extension().is_some_and(|end| end == "md")) {
            for line in fs::read_to_string(page).unwrap().lines() {
                let Some(words) = line.strip_prefix("    cargo xtask ") else { continue };
                let words = words.split(" # ").next().unwrap_or_default().split_whitespace();
                let read = Arguments::try_parse_from(["cargo xtask"].into_iter().chain(words));
                assert!(read.is_ok(), "{}: {line}: {read:?}", page.display());
                count += 1;
            }
        }
        assert!(count >= 5, "{count} tasks");
    }
}
