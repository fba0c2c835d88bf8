//! Rooms whose publishers connect elsewhere than receivers: to an application or a broker that feeds the server.
//!
//! Left out: the messages of publishers and receivers (their conversations) and what is owed (crate `drive`).

use crate::RunError;
use crate::children::program::Program;
use crate::children::servers::RunningServer;
use crate::plan::{Measurement, Speech};
use crate::reach::{Asked, Context, check_public, reachable_from, resolve, stack, verify};
use drive::Target;
use spec::{Endpoint, Protocol, Workload};

/// The carriers of the publishers' conversation; `None` if publishers use that of receivers.
fn carriers(spec: &Workload) -> Option<&'static [Protocol]> {
    let publishers = spec.conversation.as_ref()?.publishers.as_ref()?;
    Some(publishers.carriers())
}

/// The place that publishers connect to: the one asked for; else that of receivers, at `url`, if its protocol can carry
/// the publishers' conversation; else the one that a subject reports.
///
/// # Errors
///
/// The subject reports none.
pub(crate) fn place(
    measurement: &Measurement,
    url: &Endpoint,
    running: Option<&RunningServer>,
) -> Result<Option<Endpoint>, RunError> {
    if let Some(url) = &measurement.spec.publish_to {
        return Ok(Some(url.clone()));
    }
    if measurement.spec.publish_with.is_some() {
        return Ok(None); // Publishers write to the program, not to a server.
    }
    let Some(carriers) = carriers(&measurement.spec) else { return Ok(None) };
    match running {
        Some(running) if !carriers.contains(&url.protocol) => {
            running.url_over(carriers).map(Some).map_err(RunError::NotStarted)
        }
        Some(_) | None => Ok(Some(url.clone())),
    }
}

/// The target of connections that publish, after it has answered a publication; `None` if publishers use the receivers'
/// conversation with the receivers' server, at `url`. `running` is that server, if we started it. A `program` that
/// publishes is not asked to answer: whatever it publishes counts.
///
/// # Errors
///
/// As [`verify`]; or the place is unknown, or has a public address.
pub(crate) fn target_of_publishers(
    measurement: &Measurement,
    url: &Endpoint,
    running: Option<&RunningServer>,
    program: Option<&Program>,
    public_allowed: bool,
    context: Context<'_>,
) -> Result<Option<Target>, RunError> {
    let (url, asked) = match program {
        Some(program) => (Some(program.place()), Asked::Opening),
        None => (place(measurement, url, running)?, Asked::Requests),
    };
    let Some(url) = url else { return Ok(None) };
    let speech = Speech::of_publishers(&measurement.spec, url.scheme())
        .map_err(|error| RunError::InvalidRequest(error.to_string()))?;
    let resolved = resolve(&url, measurement.workload.timeouts.resolve, context.clock)?;
    let addresses = reachable_from(resolved.addresses, &measurement.sources)?;
    check_public(&addresses, public_allowed)?;
    let stack = stack(&url, &speech, 0, None)?;
    let stacks = |_| Ok(stack.clone());
    let reached = verify(&url, &addresses, measurement, &stacks, asked, context)?;
    Ok(Some(Target { sources: measurement.sources.clone(), ..reached.target }))
}
