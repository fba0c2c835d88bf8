//! The questions to a relay: everything that is published reaches every receiver of its room, once.

use super::Check;
use super::conversation_questions::{first_address, measurement};
use crate::plan::Measurement;
use crate::publishers::target_of_publishers;
use crate::reach::{Context, first_error, reply_len, run_once, stack, tls};
use drive::Target;
use engine::clock::Clock;
use lab::Held;
use record::{DeliveryCounts, Outcome};
use spec::{Endpoint, Options};
use std::sync::atomic::AtomicUsize;
use units::{Count, Nanos};

/// Publishes in rooms, and returns the outcome. `publish_to` is the place for publishers, if they connect elsewhere.
pub(super) fn verify_rooms(
    url: &Endpoint,
    publish_to: Option<&Endpoint>,
    authority_pem: Option<&[u8]>,
    held: &Held,
    interrupt: &AtomicUsize,
) -> Check {
    let name = &held.conversation.name;
    let context = Context { clock: Clock::start(), interrupt };
    let outcome = in_rooms(url, publish_to, held, RECEIVERS)
        .and_then(|measurement| publish(&measurement, url, authority_pem, context));
    match outcome {
        Err(reason) => Check::new(format!("{name}: rooms"), Err(reason)),
        Ok(outcome) => {
            let counts = outcome.deliveries.as_ref().map(|it| it.counts).unwrap_or_default();
            let DeliveryCounts { published, owed, delivered, .. } = counts;
            let what = format!("{name}: {published} published, {delivered} of {owed} delivered");
            Check::new(what, fault(&outcome, &counts).map_or(Ok(()), Err))
        }
    }
}

/// Rooms of a server, with `receivers` receivers each.
pub(super) fn in_rooms(
    url: &Endpoint,
    publish_to: Option<&Endpoint>,
    held: &Held,
    receivers: u64,
) -> Result<Measurement, String> {
    let rate = "20/s".parse().map_err(|error| format!("{error:?}"))?;
    let options = Options {
        publish: Some(rate),
        rooms: Some(Count(ROOMS)),
        receivers: Some(Count(receivers)),
        publish_to: publish_to.map(Endpoint::to_string),
        duration: Some(Nanos::from_secs(1)),
        warm_up: Some(Nanos::ZERO),
        ..Options::default()
    };
    measurement(url, held, options)
}

/// Publishes in the rooms of a measurement, whose receivers are ours, and returns the outcome.
pub(super) fn publish(
    measurement: &Measurement,
    url: &Endpoint,
    authority_pem: Option<&[u8]>,
    context: Context<'_>,
) -> Result<Outcome, String> {
    let words = |error: crate::RunError| error.to_string();
    let tls = tls(url, &measurement.speech, authority_pem).map_err(words)?;
    let len = reply_len(&measurement.workload);
    let publishers = target_of_publishers(measurement, url, None, None, false, context);
    let publishers = publishers.map_err(words)?.map(Box::new);
    let target = Target {
        address: first_address(url, context)?,
        sources: Vec::new(),
        stack: stack(url, &measurement.speech, len, tls).map_err(words)?,
        publishers,
        lives_on: false,
    };
    run_once(measurement.workload.clone(), 0, target, context).map_err(words)
}

fn fault(outcome: &Outcome, counts: &DeliveryCounts) -> Option<String> {
    let DeliveryCounts { published, owed, delivered, duplicate, foreign, reordered, .. } = *counts;
    let sums = counts.check().err().map(|error| error.to_string());
    let error = first_error(outcome).map(|(_, tally)| tally.example.clone());
    let is_whole = delivered == owed && published * RECEIVERS == owed && published > 0;
    let is_once = duplicate + foreign + reordered == 0;
    let count = || {
        format!(
            "not all {RECEIVERS} receivers of a room got every message exactly once: {duplicate} came twice, \
             {reordered} out of order, {foreign} from elsewhere"
        )
    };
    error.or(sums).or_else(|| (!is_whole || !is_once).then(count))
}

/// The number of rooms, and of receivers in each.
const ROOMS: u64 = 2;
const RECEIVERS: u64 = 3;
