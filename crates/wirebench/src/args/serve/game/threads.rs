//! The additional threads of a game server, each with a front and an engine of its own.

use crate::args::serve::listening::cannot_listen;
use crate::args::subject_folders;
use crate::exit::Failure;
use anyhow::anyhow;
use engine::clock::Clock;
use engine::epoll::Epoll;
use engine::{Address, Engine, Node, Sharing, Step};
use lab::PrivateFolder;
use serve::game::{Front, Options, Totals};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// The settings that all fronts share.
pub(super) struct Plan<'a> {
    /// The addresses on which they listen, together with the first thread.
    pub(super) doors: [Address; 2],
    pub(super) options: Options,
    /// The bytes that each of them may hold.
    pub(super) memory_max: usize,
    /// The CPU of each thread of the server, the first included; reused from the start if there are more threads.
    pub(super) cpus: Vec<usize>,
    pub(super) stop: &'a Arc<AtomicBool>,
}

/// The running threads; each ends when the server is stopped.
pub(super) struct Fronts(Vec<JoinHandle<Totals>>);

/// Starts `count` fronts for the server on `engine`; all of them listen when this returns.
pub(super) fn start(count: u32, plan: &Plan<'_>, engine: &mut Epoll) -> Result<Fronts, Failure> {
    if count == 0 {
        return Ok(Fronts(Vec::new()));
    }
    let folder =
        PrivateFolder::new(&subject_folders::scratch(), "game").map_err(anyhow::Error::msg)?;
    let world = Address::Unix(folder.path("world"));
    engine.listen(&world).map_err(|error| cannot_listen(&world, error))?;
    let (ready, is_ready) = channel();
    let mut fronts = Vec::new();
    for number in 1..=count {
        let cpu = plan.cpus.iter().cycle().nth(number as usize).copied();
        let stop = Arc::clone(plan.stop);
        let front = Front::new(plan.options.clone(), world.clone(), stop);
        let front = front.with_memory_max(plan.memory_max);
        let (doors, ready) = (plan.doors.clone(), ready.clone());
        let work = move || run(front, &doors, cpu, &ready);
        let thread = engine::thread::start(&format!("front-{number}"), work);
        fronts.push(thread.map_err(Failure::usage)?);
    }
    drop(ready);
    for _ in 0..count {
        is_ready.recv().map_err(|_| anyhow!("a thread ended before it listened"))??;
    }
    Ok(Fronts(fronts)) // All fronts are connected, so the folder is no longer needed.
}

impl Fronts {
    /// Waits for all threads to end, and adds their totals to those of the server.
    pub(super) fn end(self, server: Totals) -> Result<Totals, Failure> {
        let mut totals = server;
        for front in self.0 {
            totals = totals.and(&front.join().map_err(|_| anyhow!("a thread has failed"))?);
        }
        Ok(totals)
    }
}

/// The body of a thread. Reports over `ready` that it listens and is connected to the game, or why it cannot.
fn run(
    mut front: Front,
    doors: &[Address],
    cpu: Option<usize>,
    ready: &Sender<Result<(), Failure>>,
) -> Totals {
    let (engine, said) = match begin(doors, cpu) {
        Ok(mut engine) => match front.step(&mut engine) {
            Step::Wait(_) => (Some(engine), Ok(())),
            Step::Done => (None, Ok(())), // The server is stopping already.
        },
        Err(error) => (None, Err(error)),
    };
    // Nobody listens any more if another front has failed.
    ready.send(said).ok();
    if let Some(mut engine) = engine {
        front.run(&mut engine);
    }
    front.totals()
}

fn begin(doors: &[Address], cpu: Option<usize>) -> Result<Epoll, Failure> {
    if let Some(cpu) = cpu {
        probe::pin_current_thread(&[cpu]).map_err(anyhow::Error::from)?;
    }
    let mut engine = Epoll::new(Clock::start()).map_err(anyhow::Error::from)?;
    for door in doors {
        let got = engine.listen_shared(door, Sharing::Next);
        got.map_err(|error| cannot_listen(door, error))?;
    }
    Ok(engine)
}
