//! Tests of the table of packets against the definition made from it: values of every packet, cut at every position.

use super::definition::Kind;
use super::fuzz::fuzz_styx_packet;
use super::{DecodeError, Definition, Packet};
use proptest::prelude::{any, prop};
use proptest::proptest;

proptest! {
    #[test]
    fn every_packet_is_packed_the_same_by_the_table_and_by_the_definition(
        choices in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let definition = Definition::firebase();
        for (class_id, _) in definition.packets() {
            fuzz_styx_packet(&generate(&definition, class_id, &choices));
        }
    }
}

#[test]
fn packets_that_are_cut_or_go_on_are_no_packets() {
    let choices: Vec<u8> = (1..=200).collect();
    let definition = Definition::firebase();
    for (class_id, name) in definition.packets() {
        let mut payload = generate(&definition, class_id, &choices);
        assert_eq!(Packet::decode(&payload).map(|packet| packet.name()), Ok(name));
        for len in 0..payload.len() {
            let cut = Packet::decode(&payload[..len]);
            assert!(cut.is_err(), "{name} cut at {len}: {cut:?}");
            fuzz_styx_packet(&payload[..len]);
        }
        payload.push(0);
        assert_eq!(Packet::decode(&payload), Err(DecodeError::Trailing { len: 1 }), "{name}");
    }
}

#[test]
fn packets_whose_bytes_are_changed_are_treated_the_same_by_both() {
    let choices: Vec<u8> = (1..=200).rev().collect();
    let definition = Definition::firebase();
    for (class_id, _) in definition.packets() {
        let payload = generate(&definition, class_id, &choices);
        for at in 0..payload.len() {
            for change in [0x01, 0x7f, 0x80] {
                let mut payload = payload.clone();
                payload[at] ^= change;
                fuzz_styx_packet(&payload);
            }
        }
    }
}

/// The payload of a packet whose values are derived from `choices`, and are 0 when those are used up.
fn generate(definition: &Definition, class_id: u8, choices: &[u8]) -> Vec<u8> {
    let mut payload = vec![class_id];
    let kind = Kind::Struct(definition.by_class_id[&class_id]);
    let mut choices = choices.iter().copied();
    value(definition, &kind, &mut || choices.next().unwrap_or(0), &mut payload);
    payload
}

fn value(
    definition: &Definition,
    kind: &Kind,
    choice: &mut dyn FnMut() -> u8,
    payload: &mut Vec<u8>,
) {
    match kind {
        Kind::Bool => payload.push(choice() % 2),
        Kind::Bytes => {
            let len = choice() % 5;
            payload.extend_from_slice(&u32::from(len).to_be_bytes());
            payload.extend((0..len).map(|_| choice()));
        }
        Kind::Enum(index) => {
            let count = definition.enums[*index].values.len();
            payload.push(u8::try_from(usize::from(choice()) % count).unwrap());
        }
        Kind::Integer(integer) => payload.extend((0..integer.len).map(|_| choice())),
        Kind::List(element) => {
            let len = choice() % 4;
            payload.extend_from_slice(&u32::from(len).to_be_bytes());
            (0..len).for_each(|_| value(definition, element, choice, payload));
        }
        Kind::String => {
            let text: String =
                (0..choice() % 4).map(|_| CHARACTERS[usize::from(choice()) % 8]).collect();
            payload.extend_from_slice(&u16::try_from(text.len()).unwrap().to_be_bytes());
            payload.extend_from_slice(text.as_bytes());
        }
        Kind::Struct(index) => {
            for (_, kind) in &definition.structs[*index].fields {
                value(definition, kind, choice, payload);
            }
        }
    }
}

/// Characters that are escaped in JSON, and characters of one to four bytes.
const CHARACTERS: [char; 8] = ['"', '\\', '\n', '\0', '\u{7f}', 'é', '\u{2028}', '🂡'];
