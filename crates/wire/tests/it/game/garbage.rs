//! Whatever arrives, a bot answers with events or an error, always the same however the input is cut.

use super::{arrives, binary, event, frame, json, opening, packed, says, seated, text};
use crate::script::{Step, play};
use proptest::prelude::*;
use wire::styx::Packet;

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_events_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let told = play(&binary, &seated([event(0, false), Step::First(bytes), Step::End]));
        prop_assert_eq!(&*told.events[3], "open");
    }

    #[test]
    fn any_packets_are_events_or_an_error(
        class_ids in proptest::collection::vec(0_u8..=211, 1..6),
        change in any::<(u16, u8)>(),
    ) {
        let packets: Vec<_> = class_ids.into_iter().filter_map(Packet::empty).collect();
        let mut frames: Vec<_> = packets.iter().cloned().flat_map(frame).collect();
        let at = usize::from(change.0) % frames.len().max(1);
        if let Some(byte) = frames.get_mut(at) {
            *byte ^= change.1;
        }
        play(&binary, &[Step::First(frames), Step::Close, Step::End]);
        play(&binary, &packets.into_iter().map(arrives).collect::<Vec<_>>());
    }

    #[test]
    fn any_text_is_events_or_an_error(
        class_ids in proptest::collection::vec(0_u8..=211, 0..4),
        cut in any::<u16>(),
    ) {
        let mut texts: Vec<_> = class_ids.into_iter().filter_map(Packet::empty).map(text).collect();
        texts.extend(opening().map(text));
        let array = format!("[{}]", texts.join(","));
        let (left, right) = array.split_at(usize::from(cut) % array.len());
        play(&json, &[says(&array), says(left), says(right), Step::End]);
        play(&json, &[says(left), Step::End]);
        play(&json, &[says(right), Step::Close]);
    }
}

#[test]
fn every_packet_is_understood_in_any_state() {
    for class_id in 0..=u8::MAX {
        let Some(packet) = Packet::empty(class_id) else { continue };
        let bytes = packed(packet.clone());
        for seated_after in 0..=opening().len() {
            let before = opening().into_iter().take(seated_after).map(arrives);
            let steps: Vec<_> = before.chain([arrives(packet.clone())]).collect();
            let told = play(&binary, &steps);
            assert_eq!(told.events.len(), seated_after + 1, "one event for {bytes:?}");
        }
    }
}
