//! Runs that were interrupted and then resumed.

use crate::plans::{execute_with, plan, workload};
use crate::scripts::{Script, state};
use record::{RunRecord, SCHEMA_VERSION};
use run::{Entry, Journal, JournalFile, NoJournal, Plan, recovered};
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

crate::tests![
    a_plan_that_was_interrupted_runs_exactly_what_is_missing,
    a_journal_is_read_back_as_far_as_it_was_written,
    a_run_that_was_killed_is_recovered_from_its_journal,
    a_journal_of_another_version_is_refused,
    servers_are_stopped_when_it_is_not_their_turn,
];

/// Keeps entries in memory, and asks to stop after a number of blocks.
#[derive(Default)]
struct Memory<'a> {
    before: Vec<Entry>,
    kept: Vec<Entry>,
    stop_after: Option<(usize, &'a AtomicUsize)>,
}

impl Journal for Memory<'_> {
    fn take(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.before)
    }

    fn begin(&mut self, _: &RunRecord) {}

    fn keep(&mut self, entry: &Entry) {
        self.kept.push(entry.clone());
        if let Some((_, interrupt)) = self.stop_after.filter(|(count, _)| *count == self.kept.len())
        {
            interrupt.store(2, Ordering::Relaxed);
        }
    }
}

fn two(rounds: u32) -> (Script, Script, Plan) {
    let (server, client) = (Script::server(&[]), Script::client(&[]));
    let ours = workload("ours", server.as_server());
    let mut theirs = workload("theirs", server.as_server());
    theirs.client = Some(client.as_client());
    let plan = plan(vec![ours, theirs], rounds);
    (server, client, plan)
}

fn a_plan_that_was_interrupted_runs_exactly_what_is_missing() {
    let (server, client, plan) = two(3);
    let interrupt = AtomicUsize::new(0);
    let mut first = Memory { stop_after: Some((4, &interrupt)), ..Memory::default() };
    let record = execute_with(&plan, &mut first, &interrupt).unwrap();
    assert_eq!(record.ended, record::Ended::Interrupted { signal: 2 });
    assert_eq!((first.kept.len(), record.blocks.len()), (4, 4));

    let mut second = Memory { before: first.kept.clone(), ..Memory::default() };
    let record = execute_with(&plan, &mut second, &AtomicUsize::new(0)).unwrap();
    assert_eq!((second.kept.len(), record.blocks.len()), (2, 6));
    let before: Vec<_> = first.kept.iter().map(|entry| &entry.block).collect();
    assert_eq!(record.blocks[..4].iter().collect::<Vec<_>>(), before);
    let mut places: Vec<_> =
        record.blocks.iter().map(|block| (block.round, block.workload)).collect();
    assert!(record.blocks.is_sorted_by_key(|block| block.started_at_ns));
    places.sort_unstable();
    assert_eq!(places, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]);
    assert!(record.warnings.iter().any(|warning| warning.code == "resumed"));
    assert_eq!(record.results[1].blocks, 3, "distributions of the journal count");

    // Nothing is left to do: nothing is started, and the record is complete all the same.
    let started = (server.pids().len(), client.pids().len());
    let all = first.kept.into_iter().chain(second.kept).collect();
    let mut third = Memory { before: all, ..Memory::default() };
    let again = execute_with(&plan, &mut third, &AtomicUsize::new(0)).unwrap();
    assert_eq!(again.blocks, record.blocks);
    assert_eq!((server.pids().len(), client.pids().len()), started);
    let found = again.plan.workloads[1].client.as_ref().unwrap().version_found.as_deref();
    assert_eq!(found, Some("1.0"));
}

fn a_journal_is_read_back_as_far_as_it_was_written() {
    let (_server, _client, plan) = two(1);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal");
    let mut journal = JournalFile::open(&path, "plan 1").unwrap();
    execute_with(&plan, &mut journal, &AtomicUsize::new(0)).unwrap();
    let busy = JournalFile::open(&path, "plan 1").unwrap_err().to_string();
    assert_eq!(busy, "another process writes it");
    drop(journal);

    let mut again = JournalFile::open(&path, "plan 1").unwrap();
    assert_eq!(again.blocks(), 2);
    let entries = again.take();
    drop(again);
    let mut memory = Memory { before: entries.clone(), ..Memory::default() };
    let record = execute_with(&plan, &mut memory, &AtomicUsize::new(0)).unwrap();
    assert_eq!((memory.kept.len(), record.blocks.len()), (0, 2));

    // A crash in the middle of a line.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 10]).unwrap();
    let mut cut = JournalFile::open(&path, "plan 1").unwrap();
    assert_eq!(cut.take(), entries[..1]);
    cut.keep(&entries[1]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    drop(cut);
    let mut other = JournalFile::open(&path, "plan 2").unwrap();
    assert_eq!(other.blocks(), 0, "blocks of another plan do not count");
    other.keep(&entries[0]);
    assert_eq!(other.blocks(), 1);
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("plan 2\n{\"block\":"));
    other.finish().unwrap();
    assert!(!path.exists());
    assert_eq!(NoJournal.take(), []);
}

fn a_run_that_was_killed_is_recovered_from_its_journal() {
    let (_server, _client, plan) = two(2);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("below/journal");
    let mut journal = JournalFile::open(&path, "plan 1").unwrap();
    assert!(!path.exists(), "there is no file before there is a block");
    let record = execute_with(&plan, &mut journal, &AtomicUsize::new(0)).unwrap();
    let text = std::fs::read(&path).unwrap();
    let found = recovered(&text).unwrap();
    assert_eq!((&found.blocks, &found.results), (&record.blocks, &record.results));
    assert_eq!((&found.spec, &found.plan), (&record.spec, &record.plan));
    assert!(found.verdict.is_some());
    assert!(matches!(found.ended, record::Ended::Partial { .. }), "{:?}", found.ended);

    // However little of it was written, its complete blocks are recovered.
    let mut blocks = Vec::new();
    for len in (0..text.len()).rev().step_by(text.len() / 50) {
        blocks.push(recovered(&text[..len]).map_or(0, |found| found.blocks.len()));
    }
    assert!(blocks.is_sorted_by(|more, fewer| more >= fewer), "{blocks:?}");
    assert_eq!((blocks[0], blocks.last().copied()), (3, Some(0)));
    let error = |text: &[u8]| recovered(text).unwrap_err().to_string();
    assert_eq!(error(b"no journal"), "not a journal, or it has no finished block");
}

fn a_journal_of_another_version_is_refused() {
    let (_server, _client, plan) = two(1);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal");
    let mut journal = JournalFile::open(&path, "plan 1").unwrap();
    execute_with(&plan, &mut journal, &AtomicUsize::new(0)).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let version = format!("\"schema_version\":{SCHEMA_VERSION}");
    let changed = |to: &str| {
        let changed = text.replacen(&version, to, 1);
        assert_ne!(changed, text);
        recovered(changed.as_bytes()).unwrap_err().to_string()
    };
    assert_eq!(
        changed("\"schema_version\":4"),
        "a journal of records of schema version 4, but this program writes 2: recover it with the version of the \
         program that wrote it"
    );
    let other_shape = changed("\"schema_version\":1,\"plan\":7");
    assert!(other_shape.starts_with("a journal of records of schema version 1,"), "{other_shape}");
    // A plan that names a workload that it does not have.
    let damaged = text.replacen("\"rounds\":[[", "\"rounds\":[[9,", 1);
    assert_eq!(
        recovered(damaged.as_bytes()).unwrap_err().to_string(),
        "a damaged journal: workload 9 is named, but the plan has 2 (counted from 0)"
    );
}

/// Looks at processes when a block has ended.
struct Looking<'a> {
    scripts: &'a [&'a Script],
    seen: Vec<Vec<Option<char>>>,
}

impl Journal for Looking<'_> {
    fn take(&mut self) -> Vec<Entry> {
        Vec::new()
    }

    fn begin(&mut self, _: &RunRecord) {}

    fn keep(&mut self, _: &Entry) {
        let states = self.scripts.iter().flat_map(|script| script.pids()).map(state);
        self.seen.push(states.collect());
    }
}

fn servers_are_stopped_when_it_is_not_their_turn() {
    let (server, client, plan) = two(2);
    let scripts = [&server, &client];
    let mut looking = Looking { scripts: &scripts, seen: Vec::new() };
    execute_with(&plan, &mut looking, &AtomicUsize::new(0)).unwrap();
    assert_eq!(looking.seen.len(), 4);
    assert!(looking.seen.iter().flatten().all(|state| *state == Some('T')), "{:?}", looking.seen);
}
