//! The numbers of a run for other programs, while it goes on: `--metrics` answers those who ask, `--otlp` sends.
//!
//! A thread adds up what the feed tells, and each way out has one of its own. None is waited for by those who measure:
//! a feed that is not read drops intervals, and a metric says how many.
//!
//! Start reading at [`Metrics`].

#[cfg_attr(not(feature = "otlp"), path = "metrics/no_collector.rs")]
mod collector;
mod numbers;
mod scrapes;

use crate::exit::Failure;
use crate::terminal::Terminal;
use collector::Collector;
use engine::thread::{self, ThreadError};
use numbers::Numbers;
use run::{Event, Feed, Listener};
use scrapes::Scrapes;
use std::net::SocketAddr;
use std::thread::Scope;

/// The ways out that were asked for.
#[derive(Debug)]
pub(crate) struct Metrics {
    numbers: Numbers,
    collector: Option<Collector>,
    scrapes: Option<Scrapes>,
}

impl Metrics {
    /// Listens at `address`, and knows the collector at `otlp`. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// The address is taken, or none of this machine; the URL is none of a collector, or this build has no OTLP.
    pub(crate) fn open(address: Option<SocketAddr>, otlp: Option<&str>) -> Result<Self, Failure> {
        Ok(Self {
            numbers: Numbers::default(),
            collector: otlp.map(Collector::at).transpose()?,
            scrapes: address.map(Scrapes::listen).transpose()?,
        })
    }

    /// Says where to scrape.
    pub(crate) fn announce(&self, terminal: &Terminal) {
        if let Some(scrapes) = &self.scrapes {
            terminal.say(&format!("metrics: {}", scrapes.url()));
        }
    }

    /// Answers and sends until `feed` ends.
    ///
    /// # Errors
    ///
    /// A thread cannot be started.
    pub(crate) fn serve<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        feed: &Feed,
    ) -> Result<(), ThreadError> {
        let Self { numbers, collector, scrapes } = self;
        if collector.is_none() && scrapes.is_none() {
            return Ok(());
        }
        let listener = feed.listen();
        giving_way(scope, "metrics", move || self.follow(listener))?;
        if let Some(scrapes) = scrapes {
            giving_way(scope, "scrapes", move || scrapes.answer_all(numbers))?;
        }
        if let Some(collector) = collector {
            giving_way(scope, "otlp", move || collector.send_all(numbers))?;
        }
        Ok(())
    }

    /// Adds up what is told, and ends the other threads.
    fn follow(&self, mut listener: Listener) {
        while let Some(event) = listener.next() {
            let mut state = self.numbers.lock();
            state.dropped = listener.dropped();
            if let Event::Interval(tick) = event {
                state.add(&tick);
            }
        }
        self.numbers.lock().is_over = true;
        self.numbers.over.notify_all();
        if let Some(scrapes) = &self.scrapes {
            scrapes.wake();
        }
    }

    /// The warning about metrics that did not arrive, once the run is over; `None` if all did.
    pub(crate) fn loss(&self) -> Option<String> {
        self.collector.as_ref().and_then(Collector::loss)
    }
}

/// Starts a thread that lets those who measure run before it.
fn giving_way<'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    body: impl FnOnce() + Send + 'scope,
) -> Result<(), ThreadError> {
    let body = move || {
        thread::give_way();
        body();
    };
    thread::start_scoped(scope, name, body).map(drop)
}
