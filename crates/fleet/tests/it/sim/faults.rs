//! Faults and their instants, all drawn from the seed before the world begins.

use units::Random;

/// The conditions under which messages travel while there are faults; afterwards they travel well.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Conditions {
    /// Shares of a thousand.
    pub(crate) loss: usize,
    pub(crate) double: usize,
    pub(crate) slow: usize,
    /// Writes that time out and are applied later.
    pub(crate) late_write: usize,
    /// Controllers do not hear who leads: both do.
    pub(crate) no_lead: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    ServerDown,
    ServerUp,
    Cut(usize),
    Join(usize),
    Freeze(usize),
    /// The flag is true if the clock stood still meanwhile.
    Thaw(usize, bool),
    Crash(usize),
    /// The flag is true if an agent keeps the spool of the previous process.
    Restart(usize, bool),
    Deny(usize),
    Allow(usize),
    Full,
    Room,
    /// The clock of a machine jumps forward by this many milliseconds.
    Jump(usize, i64),
    /// Somebody asks this controller to stop the run.
    Stop(usize),
    /// A signal asks this agent to end.
    Signal(usize),
}

/// The faults of a world until `calm` (nanoseconds): pairs of begin and end, so that all are over then.
pub(crate) fn drawn(
    random: &mut Random,
    nodes: usize,
    controllers: usize,
    calm: u64,
) -> Vec<(u64, Fault)> {
    let mut faults = Vec::new();
    let count = random.below(9);
    let millis = |random: &mut Random, from: usize, to: usize| {
        (from + random.below(to - from)) as u64 * 1_000_000
    };
    for _ in 0..count {
        let at = random.below(usize::try_from(calm).unwrap()) as u64;
        let node = random.below(nodes);
        let until = |random: &mut Random, from, to| (at + millis(random, from, to)).min(calm);
        match random.below(17) {
            0 | 1 => faults
                .extend([(at, Fault::ServerDown), (until(random, 100, 12_000), Fault::ServerUp)]),
            2..=4 => faults
                .extend([(at, Fault::Cut(node)), (until(random, 100, 15_000), Fault::Join(node))]),
            5..=7 => {
                let stands = random.below(3) == 0;
                faults.extend([
                    (at, Fault::Freeze(node)),
                    (until(random, 50, 15_000), Fault::Thaw(node, stands)),
                ]);
            }
            8..=11 => {
                faults.push((at, Fault::Crash(node)));
                // One agent in five never comes back; a controller always does.
                if node < controllers || random.below(5) > 0 {
                    let with_spool = random.below(3) > 0;
                    faults.push((until(random, 10, 12_000), Fault::Restart(node, with_spool)));
                }
            }
            12 => faults
                .extend([(at, Fault::Deny(node)), (until(random, 500, 8_000), Fault::Allow(node))]),
            13 => faults.extend([(at, Fault::Full), (until(random, 500, 8_000), Fault::Room)]),
            14 => faults.push((at, Fault::Jump(node, 1 + random.below(3_000) as i64))),
            15 if random.below(3) == 0 => faults.push((at, Fault::Stop(random.below(controllers)))),
            16 if node >= controllers => faults.push((at, Fault::Signal(node))),
            _ => {}
        }
    }
    faults
}
