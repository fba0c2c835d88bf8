//! Packets that await an acknowledgement, and their identifiers.

use std::collections::VecDeque;

/// The packets of one connection that await an acknowledgement, the oldest first.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// The identifier that was taken last; 0 if none was.
    last: u16,
    packets: VecDeque<Sent>,
    /// True once identifiers have wrapped around.
    has_wrapped: bool,
}

/// A packet that awaits an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sent {
    packet: u16,
    kind: Kind,
    id: Option<u64>,
}

/// The kinds of packets that await an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Publish,
    Subscribe,
    Unsubscribe,
}

impl InFlight {
    /// Takes an identifier for a packet: never 0, and never one that is in flight (§2.3.1); `None` if all are.
    pub(super) fn take(&mut self, kind: Kind, id: Option<u64>) -> Option<u16> {
        let mut packet = self.last.checked_add(1).unwrap_or(1);
        self.has_wrapped |= packet < self.last;
        if self.has_wrapped && self.packets.iter().any(|sent| sent.packet == packet) {
            packet = self.free(packet)?;
        }
        self.last = packet;
        self.packets.push_back(Sent { packet, kind, id });
        Some(packet)
    }

    /// The first identifier that is not in flight, from `packet` on and then from 1 on.
    fn free(&self, packet: u16) -> Option<u16> {
        let mut is_taken = vec![false; 1 << u16::BITS];
        self.packets.iter().for_each(|sent| is_taken[usize::from(sent.packet)] = true);
        (packet..=u16::MAX).chain(1..packet).find(|packet| !is_taken[usize::from(*packet)])
    }

    /// Ends the packet that an acknowledgement is for, and returns its `id`; `None` if no such packet awaits one.
    #[inline]
    pub(super) fn end(&mut self, kind: Kind, packet: u16) -> Option<Option<u64>> {
        let is_it = |sent: &Sent| sent.packet == packet && sent.kind == kind;
        let index = self.packets.iter().position(is_it)?;
        let sent = self.packets.remove(index)?;
        if self.packets.is_empty() && self.packets.capacity() > KEPT_COUNT_MAX {
            self.packets = VecDeque::new();
        }
        Some(sent.id)
    }

    /// Takes back the packet that was taken last: it was not sent.
    pub(super) fn forget(&mut self, packet: u16) {
        if self.packets.back().is_some_and(|sent| sent.packet == packet) {
            self.packets.pop_back();
        }
    }
}

/// Most packets that an idle connection keeps memory for.
const KEPT_COUNT_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_never_0_and_none_that_is_in_flight() {
        let mut in_flight = InFlight::default();
        assert_eq!(in_flight.take(Kind::Publish, Some(7)), Some(1));
        for packet in 2..=u16::MAX {
            assert_eq!(in_flight.take(Kind::Publish, None), Some(packet));
            assert_eq!(in_flight.end(Kind::Publish, packet), Some(None));
        }
        assert_eq!(in_flight.take(Kind::Subscribe, None), Some(2), "1 is in flight");
        assert_eq!(in_flight.end(Kind::Publish, 2), None, "it awaits another acknowledgement");
        assert_eq!(in_flight.end(Kind::Publish, 1), Some(Some(7)));
        assert_eq!(in_flight.end(Kind::Publish, 1), None, "it was acknowledged");
        assert_eq!(in_flight.end(Kind::Subscribe, 2), Some(None));
        assert!(in_flight.packets.capacity() <= KEPT_COUNT_MAX);
    }

    #[test]
    fn there_are_no_more_than_65_535_in_flight() {
        let mut in_flight = InFlight::default();
        let taken = (0..).map_while(|_| in_flight.take(Kind::Publish, None)).count();
        assert_eq!(taken, 65_535);
        assert_eq!(in_flight.end(Kind::Publish, 40_000), Some(None));
        assert_eq!(in_flight.take(Kind::Unsubscribe, None), Some(40_000));
        in_flight.forget(40_000);
        assert_eq!(in_flight.take(Kind::Unsubscribe, None), Some(40_000));
        assert_eq!(in_flight.take(Kind::Unsubscribe, None), None);
    }
}
