//! Properties that hold for any input: fuzz targets (`cargo xtask fuzz`), whose corpora the tests replay.
//!
//! Left out: the files that options name. Here none can be read.

use crate::file::{Asked, Facts, File, Role, Subjects};
use crate::secrets::{text_without_secrets, url_without_secrets};
use crate::{Address, Context, Conversation, Endpoint, Experiment, Options, Profile, Server};
use std::fmt::{Debug, Display};
use std::str::FromStr;
use units::{Bytes, Count, Nanos, Rate, Share};

/// A corpus in `fuzz/corpus`, and the check of each of its inputs.
pub type Target = (&'static str, fn(&[u8]));

/// The targets of this crate.
pub const TARGETS: &[Target] = &[
    ("conversation_file", conversation_file),
    ("experiment", experiment),
    ("experiment_json", experiment_json),
    ("options", options),
    ("profile", profile),
    ("quantities", quantities),
    ("url", url),
];

/// A conversation in TOML: once read, it is the same after it was stored.
fn conversation_file(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let Ok(conversation) = Conversation::read("fuzz.toml", text) else { return };
    let json = serde_json::to_string(&conversation).expect("its keys are texts");
    let read: Conversation = serde_json::from_str(&json).expect("it was written just now");
    assert_eq!(read, conversation);
}

/// An experiment in TOML: once read, it is the same after it was stored.
fn experiment(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let Ok(file) = File::read("fuzz.toml", text) else { return };
    for quick in [false, true] {
        for is_sweep in [false, true] {
            let asked = Asked { quick, is_sweep, ..Asked::default() };
            if let Ok(experiment) = with_context(|context| file.experiment(&asked, &Two, context)) {
                check_stored(&experiment);
            }
        }
    }
}

/// An experiment in JSON, as `--dry-run` writes it.
fn experiment_json(bytes: &[u8]) {
    if let Ok(experiment) = serde_json::from_slice(bytes) {
        check_stored(&experiment);
    }
}

/// Options as in `[run]` of a project's file.
fn options(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let Ok(options) = toml::from_str::<Options>(text) else { return };
    for url in ["http://localhost/a?b=c", "tcp://127.0.0.1:9", "wss://h:8443/"] {
        let server = Server::Given(url.parse().expect("it is a URL"));
        let workloads = with_context(|context| options.workloads("fuzz", &server, context));
        for workload in workloads.into_iter().flatten() {
            check_stored(&Experiment::one(workload));
        }
    }
}

/// A rate over time.
fn profile(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let Ok(profile) = text.parse::<Profile>() else { return };
    check_shown(&profile, &profile.to_string());
    for length in [Nanos(1), Nanos::from_secs(5), Nanos(u64::MAX)] {
        let _longer = (profile.after_warm_up(length), profile.after_ramp(length));
    }
    assert!(profile.per_second().is_finite());
}

/// Quantities: a value that was read is the same after it was shown exactly.
fn quantities(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    if let Ok(time) = text.parse::<Nanos>() {
        check_shown(&time, &format!("{time:#}"));
    }
    if let Ok(size) = text.parse::<Bytes>() {
        check_shown(&size, &format!("{size:#}"));
    }
    if let Ok(count) = text.parse::<Count>() {
        check_shown(&count, &count.to_string());
    }
    if let Ok(rate) = text.parse::<Rate>() {
        check_shown(&rate, &rate.to_string());
    }
    if let Ok(share) = text.parse::<Share>() {
        check_shown(&share, &share.to_string());
    }
}

/// A URL, and text with URLs in it: text whose secrets were removed stays unchanged.
fn url(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let cut = text_without_secrets(text);
    assert_eq!(text_without_secrets(&cut), cut);
    let Ok(endpoint) = text.parse::<Endpoint>() else { return };
    check_shown(&endpoint, &endpoint.whole());
    if let Address::Host { name, .. } = &endpoint.address {
        let shown = endpoint.to_string();
        assert_eq!(url_without_secrets(&shown), shown);
        assert!(!name.contains('@'), "{name}");
    }
}

/// Checks that an experiment is the same after it was stored, including the places of its secrets.
fn check_stored(experiment: &Experiment) {
    let json = serde_json::to_string(experiment).expect("its keys are texts");
    let read: Experiment = serde_json::from_str(&json).expect("it was written just now");
    assert_eq!(serde_json::to_string(&read).expect("its keys are texts"), json);
    let _time = experiment.block_time();
}

fn check_shown<T: FromStr<Err: Display> + PartialEq + Debug>(value: &T, shown: &str) {
    match shown.parse::<T>() {
        Ok(read) => assert_eq!(read, *value, "{shown}"),
        Err(error) => panic!("{shown}: {error}"),
    }
}

fn text(bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes).ok().filter(|text| text.len() <= LEN_MAX)
}

fn with_context<T>(then: impl FnOnce(&Context<'_>) -> T) -> T {
    let read = |path: &str, _: Bytes| Err(format!("cannot read {path}"));
    let pack = |_: &str, json: &[u8], _: bool| Ok(json.to_vec());
    then(&Context { read: &read, environment: &|_| None, pack: &pack, seed: 7 })
}

/// Two subjects: `server` and `client`.
struct Two;

impl Subjects for Two {
    fn find(&self, name: &str) -> Result<Result<Facts, String>, String> {
        let role = match name {
            "server" => Role::Server,
            "client" => Role::Client,
            _ => return Err(format!("there is no subject `{name}`")),
        };
        Ok(Ok(Facts {
            name: name.to_owned(),
            role,
            speaks: ["tcp", "ws", "http"].map(str::to_owned).to_vec(),
            conversations: Vec::new(),
            replies: true,
            works: true,
            text_only: false,
            connections_max: Some(100),
            why: "select".to_owned(),
        }))
    }

    fn ready(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn refusal(&self, _: &str, method: &str, _: &str) -> Option<String> {
        (method == "PUT").then(|| "no PUT".to_owned())
    }
}

/// The longest text that is checked; longer ones would find nothing more.
const LEN_MAX: usize = 1 << 14;

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;
