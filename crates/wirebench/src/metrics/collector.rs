//! `--otlp URL`: sends metrics to a collector, every second and once the run is over.
//!
//! The types of OTLP are those of its library. The HTTP client is our own, because those of the library bring an
//! asynchronous runtime into the process that measures.

use crate::exit::Failure;
use crate::metrics::numbers::{Numbers, State};
use engine::clock::{self, Clock};
use report::{Sender, Span};
use run::Post;
use spec::{Context, Endpoint, Options, Protocol, Server, Workload};
use std::sync::{Mutex, MutexGuard, PoisonError};
use units::{Instant, Nanos};

/// A collector to send metrics to.
#[derive(Debug)]
pub(super) struct Collector {
    /// Its URL, without secrets.
    url: String,
    workload: Workload,
    sender: Sender,
    /// The start of the program by the wall clock, to the second.
    start_unix_ns: u64,
    clock: Clock,
    sent: Mutex<Sent>,
}

/// The requests that were made.
#[derive(Debug, Default)]
struct Sent {
    all: u64,
    lost: u64,
    /// The fault of the first lost request, and that of the last request if it was lost.
    first: Option<String>,
    last: Option<String>,
}

impl Collector {
    /// Prepares the collector at `url`; without a path it has that of the standard.
    ///
    /// # Errors
    ///
    /// It is not an HTTP URL.
    pub(super) fn at(url: &str) -> Result<Self, Failure> {
        let wrong = |what: &dyn std::fmt::Display| {
            Failure::usage(format!(
                "--otlp: {url}: {what}; name a collector, as in http://127.0.0.1:4318"
            ))
        };
        let mut endpoint: Endpoint = url.parse().map_err(|error| wrong(&error))?;
        if endpoint.protocol != Protocol::Http {
            return Err(wrong(&"OTLP is sent over http:// or https://"));
        }
        if endpoint.path == "/" {
            "/v1/metrics".clone_into(&mut endpoint.path);
        }
        let version = env!("CARGO_PKG_VERSION");
        let options = Options {
            header: vec![
                "Content-Type: application/x-protobuf".to_owned(),
                format!("User-Agent: wirebench/{version}"),
            ],
            method: Some("POST".to_owned()),
            timeout: Some(PATIENCE),
            ..Options::default()
        };
        let url = endpoint.to_string();
        let context = Context {
            read: &|path, _| Err(format!("{path} is not read")),
            environment: &|_| None,
            pack: &|_, _, _| Err("nothing is packed".to_owned()),
            seed: 0,
        };
        let workloads = options.workloads("otlp", &Server::Given(endpoint), &context);
        let workload = workloads.map_err(|error| wrong(&error))?.remove(0);
        let sender =
            Sender { version: version.to_owned(), instance: std::process::id().to_string() };
        let start_unix_ns = clock::unix_seconds().unwrap_or(0) * 1_000_000_000;
        let clock = Clock::start();
        Ok(Self { url, workload, sender, start_unix_ns, clock, sent: Mutex::default() })
    }

    /// Sends the metrics of each second, and those of the entire run when it is over.
    pub(super) fn send_all(&self, numbers: &Numbers) {
        let mut post = Post::new(&self.workload, PATIENCE);
        loop {
            let goes_on = |state: &mut State| !state.is_over;
            let waited = numbers.over.wait_timeout_while(numbers.lock(), PERIOD.into(), goes_on);
            let is_over = waited.unwrap_or_else(PoisonError::into_inner).0.is_over;
            let span = Span {
                start_unix_ns: self.start_unix_ns,
                end_unix_ns: self.start_unix_ns + self.clock.now().since(Instant::START).0,
            };
            let body = numbers.written(|metrics| report::otlp(metrics, &self.sender, span));
            let taken = post.send(&body).and_then(|answer| report::otlp_taken(&answer));
            self.sent().add(taken);
            if is_over {
                return;
            }
        }
    }

    /// The warning about requests that were lost.
    pub(super) fn loss(&self) -> Option<String> {
        let sent = self.sent();
        Some(format!("--otlp: {}: {}", self.url, sent.loss()?))
    }

    fn sent(&self) -> MutexGuard<'_, Sent> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sent {
    fn add(&mut self, taken: Result<(), String>) {
        self.all += 1;
        self.last = taken.err();
        if let Some(fault) = &self.last {
            self.lost += 1;
            self.first.get_or_insert_with(|| fault.clone());
        }
    }

    fn loss(&self) -> Option<String> {
        let Self { all, lost, .. } = self;
        let first = self.first.as_ref()?;
        Some(match &self.last {
            None => format!(
                "{lost} of {all} requests were lost; the last arrived, and has the complete run ({first})"
            ),
            Some(last) => format!(
                "{lost} of {all} requests were lost, the last among them: the collector does not have the complete run ({last})"
            ),
        })
    }
}

/// The time from one request to the next.
const PERIOD: Nanos = Nanos::from_secs(1);
/// The longest wait for a name, a connection and an answer, each.
const PATIENCE: Nanos = Nanos::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_path_is_that_of_the_standard() {
        for (url, expected) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics"),
            ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/metrics"),
            ("http://127.0.0.1:4318/otlp/v1/metrics", "http://127.0.0.1:4318/otlp/v1/metrics"),
        ] {
            assert_eq!(Collector::at(url).unwrap().url, expected);
        }
        for url in ["127.0.0.1:4318", "ws://127.0.0.1:4318"] {
            let error = Collector::at(url).unwrap_err().to_string();
            assert!(error.contains("as in http://127.0.0.1:4318"), "{error}");
        }
    }

    #[test]
    fn a_loss_tells_if_the_collector_has_all_of_the_run() {
        let loss = |taken: &[bool]| {
            let mut sent = Sent::default();
            for (number, is_taken) in taken.iter().enumerate() {
                sent.add(is_taken.then_some(()).ok_or_else(|| format!("fault {number}")));
            }
            sent.loss()
        };
        assert_eq!(loss(&[true, true]), None);
        let some = loss(&[true, false, false, true]).unwrap();
        assert!(
            some.starts_with("2 of 4") && some.ends_with("has the complete run (fault 1)"),
            "{some}"
        );
        let last = loss(&[false, true, false]).unwrap();
        assert!(last.contains("does not have the complete run (fault 2)"), "{last}");
    }
}
