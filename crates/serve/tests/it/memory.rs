//! Incomplete messages take no more memory than there is for them.

use crate::world::{World, address, framed, ms};
use engine::sim::{Outcome, Sim};
use engine::{Completion, ConnectionId, Engine, Node, Step};
use units::Instant;

#[test]
fn connections_are_ended_that_hold_more_than_there_is_memory_for() {
    check(World::with_memory(framed(), 3 << 20));
    check(World::oracle_with_memory(framed(), 3 << 20));
}

fn check(mut world: World) {
    let mut clients = Unfinished::default();
    let outcome = world.run(&mut clients, Instant(10_000_000_000));
    assert_eq!(
        outcome,
        Outcome::Done,
        "{} left, {} answered",
        clients.open.len(),
        clients.answered
    );
    let left = clients.answered / LEN;
    assert!(
        (2..=3).contains(&left),
        "there is room for three messages of a MiB, less their headers: {left}"
    );
    let totals = world.totals();
    assert_eq!((totals.connections, totals.messages), (60, left as u64));
    assert_eq!(totals.broken, 60 - left as u64);
}

/// Clients that send all of a message but its last byte, and the last byte once nothing has happened for a while.
#[derive(Default)]
struct Unfinished {
    open: Vec<ConnectionId>,
    began: bool,
    finished: bool,
    answered: usize,
}

const LEN: usize = 1 << 20;

impl Node<Sim> for Unfinished {
    fn step(&mut self, engine: &mut Sim) -> Step {
        if !std::mem::replace(&mut self.began, true) {
            for _ in 0..60 {
                let id = engine.connect(&address(), None);
                engine.send(id, &u32::try_from(LEN).unwrap().to_be_bytes());
                engine.send(id, &vec![7; LEN - 1]);
                self.open.push(id);
            }
        }
        let mut rx = vec![0; 1 << 16];
        while let Some(completion) = engine.complete(&mut rx) {
            match completion {
                Completion::Received { len, .. } => self.answered += len,
                Completion::Ended(id) => {
                    engine.close(id);
                    self.open.retain(|open| *open != id);
                }
                Completion::Failed(id, _) => self.open.retain(|open| *open != id),
                Completion::Accepted(_) | Completion::Connected(_) => {}
            }
        }
        let now = engine.now();
        if now >= Instant(2_000_000_000) && !std::mem::replace(&mut self.finished, true) {
            assert_eq!(self.answered, 0);
            for id in &self.open {
                engine.send(*id, &[7]);
            }
        }
        // Each answer has a header too.
        let is_done = self.finished && self.answered == self.open.len() * (LEN + 4);
        if is_done { Step::Done } else { Step::Wait(now + ms(100)) }
    }
}
