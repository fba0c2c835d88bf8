//! The numbers of a run in progress, for other programs: `--metrics` answers requests, `--otlp` sends.
//!
//! One thread adds up the events of the feed, and each output has a thread of its own. The threads that measure wait
//! for none of them: a feed that is not read drops intervals, and a metric says how many.
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

/// The outputs that were asked for.
#[derive(Debug)]
pub(crate) struct Metrics {
    numbers: Numbers,
    collector: Option<Collector>,
    scrapes: Option<Scrapes>,
}

impl Metrics {
    /// Listens on `address`, and prepares the collector at `otlp`. Sends nothing yet.
    ///
    /// # Errors
    ///
    /// The address is taken or is not one of this machine, the URL is not a collector's, or this build has no OTLP.
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

    /// Adds up the events until the run is over, and then ends the other threads.
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

/// Starts a thread that gives way to the threads that measure.
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
