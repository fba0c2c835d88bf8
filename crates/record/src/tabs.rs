//! Deliveries in the tabs of a browser: the messages published by wirebench that its pages got, by their own clock.

use crate::{DeliveryEnds, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Deliveries of a block to the tabs of a browser.
///
/// wirebench publishes, and has as many receivers of its own in the same rooms over the same transport, whose
/// deliveries are those of [`Block::deliveries`](crate::Block). Each tab says which messages it has had and when, by
/// its own clock; what it was owed, and by how much its clock is off, is worked out here from what was published and
/// from questions of its clock to ours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TabDeliveries {
    /// The tabs, each a receiver.
    pub tabs: u64,
    /// The transports that the library in them has used, as it calls them: one, unless a tab did not keep to it.
    pub transport: String,
    /// The deliveries by their end: each message that was published in the measurement is owed to all tabs of its room,
    /// which had joined before the first. Lost is what did not come before the end mark of the room, cut what had not
    /// come when the connection of a tab ended, and in flight what had not come when the time for the end mark was
    /// over.
    pub counts: DeliveryEnds,
    /// Deliveries that came once more.
    pub duplicate: u64,
    /// Deliveries that came after a later message of the same publisher.
    pub reordered: u64,
    /// Deliveries from another room.
    pub foreign: u64,
    /// Time from the instant at which a message was due until the page had it, by the clock of the page less its
    /// offset. Those that were lost or cut off count with the reply timeout.
    pub delivery: Option<Summary>,
    /// The clock of a page less ours, both as time since 1970: of the tab for which that is most.
    pub clock_offset_ns: i64,
    /// The most by which times may be wrong, because the offset of a tab is not known better.
    pub clock_bound_ns: u64,
}
