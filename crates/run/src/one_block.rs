//! One block of a measurement: its programs are resumed, it is measured or fails, they are paused.

use crate::RunError;
use crate::block::{Stage, Task};
use crate::block_record;
use crate::other_machines;
use crate::plan::{Measurement, Peer, Place, Plan};
use crate::reach::Context;
use crate::restart::Restart;
use crate::results::{Headline, Kept};
use crate::setup::SetUp;
use crate::tabs::Tabs;
use record::Block;
use spec::secrets::Secrets;

/// Runs one block; a block that cannot be run is recorded as failed with the reason.
pub(crate) fn one_block(
    stage: &mut Stage<'_>,
    plan: &Plan,
    set_up: &mut SetUp,
    place: Place,
    number: (usize, usize),
) -> Result<Kept, RunError> {
    let workload = place.workload;
    let measurement = &plan.measurements[workload];
    let context = Context { clock: stage.clock, interrupt: stage.interrupt };
    let began = stage.clock.now();
    let awake = set_up.wake(plan, workload, context);
    let awake = awake.and_then(|()| set_up.program_ended(measurement).map_or(Ok(()), Err));
    let block = match awake {
        Ok(()) => block_awake(stage, plan, set_up, place, number)?,
        Err(reason) => Err(reason),
    };
    let block = survived(set_up, measurement, block);
    let block = match (block, set_up.program_ended(measurement)) {
        (Ok(block), Some(reason)) => Ok(block_record::failed_midway(block, reason)),
        (block, _) => block,
    };
    set_up.rest(measurement, workload);
    let block = block.unwrap_or_else(|reason| block_record::failed(place, began, reason));
    let block = without_secrets(block, &plan.experiment.secrets());
    Ok(match Kept::of(&measurement.spec.load, block.clone()) {
        Some(kept) => kept,
        None => Kept { block, headline: Headline::RoundTrip },
    })
}

/// `block` without secrets that the server was given and has sent back.
fn without_secrets(mut block: Block, secrets: &Secrets) -> Block {
    let errors = block.errors.iter_mut().map(|error| &mut error.example);
    for words in errors.chain(&mut block.failed).chain(&mut block.cut_short) {
        *words = secrets.cut(words);
    }
    block
}

/// Runs the block once its server runs.
fn block_awake(
    stage: &mut Stage<'_>,
    plan: &Plan,
    set_up: &mut SetUp,
    place: Place,
    number: (usize, usize),
) -> Result<Result<Block, String>, RunError> {
    let workload = place.workload;
    let measurement = &plan.measurements[workload];
    let jit_warm_up_max = plan.experiment.jit_warm_up_max;
    let server_starts = set_up.servers.of(measurement).map_or(0, |server| server.starts);
    let ready = match &set_up.ready[workload] {
        Ok(ready) => ready,
        Err(reason) => return Ok(Err(reason.clone())),
    };
    let task = Task {
        measurement,
        target: &ready.target,
        server: set_up.server(measurement, workload),
        cpus: &set_up.generator_cpus,
        memory: set_up.memory(measurement),
        looks: set_up.lets_workers_look(measurement, &ready.target.address),
        number,
    };
    if let Some(elsewhere) = &mut stage.elsewhere {
        let context = Context { clock: stage.clock, interrupt: stage.interrupt };
        let asked = other_machines::asked(&plan.experiment, measurement, place, number, context);
        return Ok(match elsewhere.measure(&asked)? {
            Ok(merged) => Ok(block_record::of_agents(place, &task, merged, ready.resolve)),
            Err(reason) => Err(reason),
        });
    }
    let rooms = measurement.workload.rooms.map(load::RoomShare::all);
    let before = task.server.as_ref().ok().and_then(|server| match rooms {
        Some(_) => Some(set_up.driven.before(server)),
        None => {
            set_up.driven.add(server);
            None
        }
    });
    let is_warm = set_up.is_warm(workload, server_starts);
    let limit = |is_warm: bool| {
        Some(jit_warm_up_max).filter(|_| measurement.compiles_while_it_runs() && !is_warm)
    };
    if measurement.client.is_none() || rooms.is_some() {
        let warmed = limit(is_warm).map(|limit| stage.warm_up(&task, limit)).transpose();
        let warmed = warmed?.flatten();
        let context = Context { clock: stage.clock, interrupt: stage.interrupt };
        let tabs = rooms.filter(|_| measurement.client.is_some()).map(|rooms| {
            let (client, _) =
                set_up.clients.running(workload, measurement, ready, server_starts)?;
            Tabs::open(client, &ready.url, measurement, rooms, context)
        });
        let tabs = match tabs.transpose() {
            Ok(tabs) => tabs,
            Err(reason) => return Ok(Err(reason)),
        };
        let restart = Restart::of(measurement, &mut set_up.servers, context);
        let measured = stage.run_restarting(&task, restart)?;
        let mut block = block_record::block(place, &task, &measured, ready.resolve);
        if let Some(memory) = &mut block.memory {
            memory.server_before = before;
        }
        if let Ok(server) = &task.server {
            set_up.driven.add(server); // The server may have been started again.
        }
        if let Some(Err(reason)) = &measured.restart {
            block = block_record::failed_midway(block, reason.clone());
        }
        let broken = measured.broken.map(|broken| format!("{broken}{}", first_error(&block)));
        let block = Block { cut_short: broken, ..block };
        let block = match tabs {
            Some(tabs) => tabs.close(&measured.outcome, block),
            None => Ok(block),
        };
        set_up.warmed(workload, warmed, server_starts);
        return Ok(block);
    }
    let running = set_up.clients.running(workload, measurement, ready, server_starts);
    let result = running.and_then(|(client, is_new)| {
        let limit = limit(is_warm && !is_new);
        let warmed =
            limit.map(|limit| stage.warm_client(client, measurement, limit)).transpose()?;
        Ok((stage.run_client(client, &task, place)?, warmed))
    });
    Ok(result.map(|(block, warmed)| {
        set_up.warmed(workload, warmed, server_starts);
        block
    }))
}

/// The block of `measurement` after its server was checked again. The block fails, keeping its counts, if the server
/// has ended in the meantime, or is a subject that answered nothing, which is then ended.
///
/// # Errors
///
/// The reason why there is no block: the end of the server, if it has ended.
fn survived(
    set_up: &mut SetUp,
    measurement: &Measurement,
    block: Result<Block, String>,
) -> Result<Block, String> {
    let Some(server) = set_up.servers.of_mut(measurement) else { return block };
    let is_subject = matches!(measurement.peer, Peer::Subject(_) | Peer::Started(_));
    let died = match is_subject {
        true => server.died_in(block.as_ref().ok()),
        // A server of ours does not end on its own: there is nothing to wait for.
        false => server.died_by_now(),
    };
    if let Some(died) = died {
        return match block {
            Ok(block) => Ok(block_record::failed_midway(block, died)),
            Err(_) => Err(died),
        };
    }
    match block {
        Ok(block) if is_subject && !block.is_answered() && block.counts.sent > 0 => {
            server.end();
            let reason =
                format!("the server answered no message as it should{}", first_error(&block));
            Ok(block_record::failed_midway(block, reason))
        }
        block => block,
    }
}

/// `, 3 x connect_failed, first: …`, or nothing.
fn first_error(block: &Block) -> String {
    block.errors.first().map_or_else(String::new, |error| {
        format!(", {} x {}, first: {}", error.count, error.class, error.example)
    })
}
