//! Tests of the fuzz targets of a crate, included by each: all inputs of the corpora hold, and so do others near them.

use super::TARGETS;
use std::fs;
use std::path::Path;
use units::Random;

#[test]
fn every_input_of_the_corpora_holds() {
    for (target, check) in TARGETS {
        let corpus = corpus(target);
        assert!(!corpus.is_empty(), "{target} has no corpus");
        for (name, input) in corpus {
            let _named = Named(&name);
            check(&input);
        }
    }
}

#[test]
fn mutations_of_the_corpora_hold() {
    let mut random = Random::new(7);
    for (target, check) in TARGETS {
        let corpus = corpus(target);
        for _ in 0..MUTATIONS {
            let (name, mut input) = corpus[random.below(corpus.len())].clone();
            mutate(&mut input, &corpus[random.below(corpus.len())].1, &mut random);
            let _named = Named(&name);
            check(&input);
        }
    }
}

/// The inputs of a target with their names, in the order of these.
pub(super) fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files =
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = files
        .map(|file| file.unwrap().path())
        .map(|path| (path.display().to_string(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

/// Names the input of a check that fails, or of which it is a mutation.
struct Named<'a>(&'a str);

impl Drop for Named<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

/// Changes, cuts out, doubles or joins a few bytes.
fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(input.len() + 1);
        let end = (at + 1 + random.below(8)).min(input.len());
        match random.below(5) {
            0 => input.truncate(at),
            1 => drop(input.drain(at..end)),
            2 => input.extend_from_within(at..end),
            3 => input.extend_from_slice(&other[random.below(other.len() + 1)..]),
            _ => input[at..end].iter_mut().for_each(|byte| *byte ^= 1 << random.below(8)),
        }
    }
}

/// Mutations for each target; enough to find shallow faults, few enough for every run of the tests.
const MUTATIONS: usize = 300;
