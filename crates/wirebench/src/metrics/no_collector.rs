//! `--otlp URL` in a build without the feature `otlp`: an error that says so.

use crate::exit::Failure;
use crate::metrics::numbers::Numbers;

/// A collector; no value of it exists.
#[derive(Debug)]
pub(super) enum Collector {}

impl Collector {
    pub(super) fn at(_: &str) -> Result<Self, Failure> {
        let what = "this wirebench was built without OTLP; build it with `--features otlp`";
        Err(Failure::usage(format!("--otlp: {what}")))
    }

    pub(super) fn send_all(&self, _: &Numbers) {
        match *self {}
    }

    pub(super) fn loss(&self) -> Option<String> {
        match *self {}
    }
}
