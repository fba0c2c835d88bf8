//! An engine and its receive buffer: one end of a test.

use engine::{Completion, ConnectionId, Engine};
use units::Nanos;

pub(crate) struct Process<E> {
    pub(crate) engine: E,
    pub(crate) rx: Vec<u8>,
}

impl<E: Engine> Process<E> {
    pub(crate) fn new(engine: E) -> Self {
        Self { engine, rx: vec![0; 4096] }
    }

    /// The next completion here.
    pub(crate) fn next(&mut self) -> Completion {
        for _ in 0..PATIENCE {
            if let Some(completion) = self.engine.complete(&mut self.rx) {
                return completion;
            }
            self.engine.wait(self.engine.now() + TICK);
        }
        panic!("nothing happens any more")
    }

    /// Receives exactly `len` bytes on `connection`, while nothing else happens here.
    pub(crate) fn receive(&mut self, connection: ConnectionId, len: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < len {
            match self.next() {
                Completion::Received { connection: on, len } if on == connection => {
                    bytes.extend_from_slice(&self.rx[..len]);
                }
                other => panic!("{other:?} after {} of {len} bytes", bytes.len()),
            }
        }
        assert_eq!(bytes.len(), len, "more came than was asked for");
        bytes
    }

    /// Checks that nothing happens here for a while.
    pub(crate) fn is_quiet(&mut self) {
        for _ in 0..3 {
            self.engine.wait(self.engine.now() + TICK);
            assert_eq!(self.engine.complete(&mut self.rx), None);
        }
    }
}

/// Lets both take their completions in turn, until `react` returns true.
pub(crate) fn take_turns<E: Engine>(
    mut processes: [&mut Process<E>; 2],
    mut react: impl FnMut(usize, &mut Process<E>, Completion) -> bool,
) {
    let mut idle = 0;
    while idle < PATIENCE {
        idle += 1;
        for (who, process) in processes.iter_mut().enumerate() {
            while let Some(completion) = process.engine.complete(&mut process.rx) {
                idle = 0;
                if react(who, process, completion) {
                    return;
                }
            }
            let length = if idle > 1 { TICK } else { Nanos::ZERO };
            process.engine.wait(process.engine.now() + length);
        }
    }
    panic!("nothing happens any more")
}

const PATIENCE: usize = 2000;
const TICK: Nanos = Nanos::from_millis(10);
