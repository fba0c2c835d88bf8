//! A WebSocket client on tungstenite, blocking, a thread for each connection; `wss` by rustls with ring.
//!
//! Chosen: `TCP_NODELAY`; frames and messages of any length. Start reading at [`run`]; `lane` has the connections, and
//! `rust/contract.rs` what every client does.

#[path = "../rust/contract.rs"]
mod contract;
mod lane;

use std::sync::{Arc, RwLock};
use std::thread;

use contract::{Block, Result, Seen};
use lane::{Lane, Settings};

fn main() -> Result<()> {
    contract::main("tungstenite", include_str!("../Cargo.lock"), |settings| {
        let settings = Arc::new(Settings::new(settings)?);
        Ok(move |block| run(&settings, &Arc::new(block)))
    })
}

/// One block: opens, warms up, measures, closes, reports.
fn run(settings: &Arc<Settings>, block: &Arc<Block>) -> Result<()> {
    let mut lanes: Vec<Lane> =
        (0..settings.connections).map(|_| Lane::new(settings, block)).collect();
    if settings.life.is_none() {
        // One after the other, so that none of them delays another.
        lanes.iter_mut().for_each(Lane::open);
    }
    // All start together: they wait while this is locked.
    let gate = Arc::new(RwLock::new(()));
    let mut closed = gate.write().ok();
    let threads = lanes
        .into_iter()
        .map(|lane| {
            let gate = Arc::clone(&gate);
            thread::Builder::new().stack_size(lane::STACK_SIZE).spawn(move || lane.drive(&gate))
        })
        .collect::<Result<Vec<_>, _>>()?;
    if !block.warm_up.is_zero() {
        drop(closed.take());
        thread::sleep(block.warm_up);
    }
    let cpu = block.measure()?;
    drop(closed);
    let mut lanes = Vec::new();
    for thread in threads {
        lanes.push(thread.join().map_err(|_| "a thread panicked")?);
    }
    let cpu = block.measured(cpu)?;
    lanes.iter_mut().for_each(Lane::close);
    let seen: Vec<Seen> = lanes.into_iter().map(Lane::into_seen).collect();
    contract::report(block, &seen, cpu)
}
