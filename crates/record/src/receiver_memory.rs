//! Memory that a server takes for each receiver of rooms: its growth under the first load of its life.
//!
//! The growth is from before the first connection of a block to the end of its measurement, when all receivers are
//! present. Left out: kernel memory such as socket buffers, which belongs to no process.

use crate::{Block, Memory, Workload};

/// The growth of a server due to its receivers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverMemory {
    /// The growth divided by the number of receivers, in bytes.
    pub each: f64,
    /// The receivers of all rooms.
    pub receivers: u64,
    /// The server's memory before the first connection of the block, in bytes.
    pub before: u64,
    /// The same at the end of the measurement.
    pub end: u64,
    /// True if both are proportional (PSS); else resident (RSS).
    pub is_proportional: bool,
}

impl Workload {
    /// The memory for each receiver of rooms; `None` without rooms, or if the server's memory is not known.
    ///
    /// # Errors
    ///
    /// The reason why the growth of the server in this block is not due to its receivers.
    pub fn receiver_memory(&self, block: &Block) -> Option<Result<ReceiverMemory, &'static str>> {
        let rooms = self.spec.load.rooms()?;
        let memory = block.memory.as_ref()?;
        let is_first = memory.server_before?.is_first;
        let (before, end, is_proportional) = growth(memory)?;
        let receivers = u64::from(rooms.count.get()) * u64::from(rooms.receivers.get());
        let reason = match end.saturating_sub(before) {
            _ if !is_first => Some(NOT_FIRST),
            _ if !rooms.conduct.is_steady() => Some(NOT_STEADY),
            _ if block.tabs.is_some() => Some(TABS),
            _ if block.connections.failed + block.connections.lost > 0 => Some(NOT_HELD),
            growth if growth < GROWTH_MIN => Some(TOO_LITTLE),
            _ => None,
        };
        #[expect(clippy::cast_precision_loss, reason = "memory of a process")]
        let each = end.saturating_sub(before) as f64 / receivers as f64;
        let found = ReceiverMemory { each, receivers, before, end, is_proportional };
        Some(reason.map_or(Ok(found), Err))
    }
}

/// The server's memory before the block and at its end, and true if it is proportional.
fn growth(memory: &Memory) -> Option<(u64, u64, bool)> {
    let before = memory.server_before?;
    let proportional = before.pss_bytes.zip(memory.server_pss_bytes);
    let resident = before.rss_bytes.zip(memory.server_rss_bytes);
    let known = |both: (u64, u64), is_proportional| (both.0, both.1, is_proportional);
    let proportional = proportional.map(|both| known(both, true));
    proportional.or_else(|| resident.map(|both| known(both, false)))
}

/// The least growth that is attributed to receivers. What a server takes once, whatever the number of its receivers, is
/// less: buffers, and the pages of its program that are read for the first time. For our relay with 1 to 100 receivers
/// that was at most 58 KiB (PSS) and 128 KiB (RSS), and sometimes negative.
const GROWTH_MIN: u64 = 256 << 10;

const NOT_FIRST: &str = "the server had served before in this run, and may have kept memory from that; only its first block has a figure";
const NOT_STEADY: &str = "not all of its receivers stay and read";
const TABS: &str = "it serves the tabs of a browser as well";
const NOT_HELD: &str = "connections failed or were lost";
const TOO_LITTLE: &str = "the server grew by less than 256 KiB, which may not be due to its receivers; use more of them (--receivers)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Connections, MemoryBefore, TabDeliveries};
    use spec::{Conduct, Endpoint, Load, Rooms, Server, Spacing};
    use std::num::NonZeroU32;

    const MIB: u64 = 1 << 20;

    fn count(count: u32) -> NonZeroU32 {
        NonZeroU32::new(count).unwrap()
    }

    fn workload(conduct: Conduct) -> Workload {
        let rooms = Rooms { count: count(4), publishers: count(1), receivers: count(256), conduct };
        let load = Load::Publish {
            rooms,
            rate: "5/s".parse().unwrap(),
            spacing: Spacing::Uniform,
            in_flight_max: count(200),
        };
        let url: Endpoint = "ws://127.0.0.1:1".parse().unwrap();
        Workload {
            spec: spec::Workload::new("relay", Server::Given(url), load),
            target: String::new(),
            transport: "ws".to_owned(),
            size_bytes: 64,
            source_addresses: Vec::new(),
            pinning: crate::Pinning::default(),
            server: None,
            client: None,
            found: None,
            processes: Vec::new(),
        }
    }

    /// A block in which the server grew by `grown` bytes from 3 MiB (RSS: 4 MiB).
    fn block(grown: u64) -> Block {
        let before =
            MemoryBefore { rss_bytes: Some(4 * MIB), pss_bytes: Some(3 * MIB), is_first: true };
        let memory = Memory {
            server_rss_bytes: Some(4 * MIB + grown),
            server_pss_bytes: Some(3 * MIB + grown),
            generator_rss_bytes: None,
            server_before: Some(before),
        };
        Block { memory: Some(memory), ..Block::empty(0, 0, 0, "not looked at") }
    }

    #[test]
    fn the_growth_of_a_server_is_shared_by_its_receivers() {
        let steady = workload(Conduct::default());
        let found = steady.receiver_memory(&block(2 * MIB)).unwrap().unwrap();
        let expected = ReceiverMemory {
            each: 2048.0,
            receivers: 1024,
            before: 3 * MIB,
            end: 5 * MIB,
            is_proportional: true,
        };
        assert_eq!(found, expected);
        let mut resident = block(2 * MIB);
        resident.memory.as_mut().unwrap().server_pss_bytes = None;
        let found = steady.receiver_memory(&resident).unwrap().unwrap();
        assert_eq!((found.before, found.end), (4 * MIB, 6 * MIB), "both are of one kind");
        assert!(!found.is_proportional);
    }

    #[test]
    fn a_growth_that_is_not_that_of_its_receivers_has_no_figure() {
        let steady = workload(Conduct::default());
        let with = |change: &dyn Fn(&mut Block)| {
            let mut block = block(2 * MIB);
            change(&mut block);
            steady.receiver_memory(&block)
        };
        let later = with(&|block| {
            let memory = block.memory.as_mut().unwrap();
            memory.server_before.as_mut().unwrap().is_first = false;
        });
        assert_eq!(later, Some(Err(NOT_FIRST)));
        assert_eq!(with(&|block| block.tabs = Some(TabDeliveries::default())), Some(Err(TABS)));
        let lost = |connections| with(&move |block| block.connections = connections);
        let one = Connections { lost: 1, ..Connections::default() };
        assert_eq!(lost(one), Some(Err(NOT_HELD)));
        let one = Connections { failed: 1, ..Connections::default() };
        assert_eq!(lost(one), Some(Err(NOT_HELD)));
        assert_eq!(steady.receiver_memory(&block(GROWTH_MIN - 1)), Some(Err(TOO_LITTLE)));
        assert!(steady.receiver_memory(&block(GROWTH_MIN)).unwrap().is_ok());
        let slow = workload(Conduct { slow: 1, ..Conduct::default() });
        assert_eq!(slow.receiver_memory(&block(2 * MIB)), Some(Err(NOT_STEADY)));
        // Memory was not measured, or the record is from before memory at the start was kept.
        assert_eq!(with(&|block| block.memory = None), None);
        let unseen = with(&|block| block.memory.as_mut().unwrap().server_before = None);
        assert_eq!(unseen, None);
    }
}
