//! Properties that hold for any input: a packet that is read and written again gives the same bytes, and the table of
//! packets agrees with the definition made from it.

use super::load_test::{LoadRequest, LoadResponse};
use super::{Definition, Limits, Packet, frames, json_packets};
use crate::transcript::check_splits;
use std::sync::LazyLock;

static FIREBASE: LazyLock<Definition> = LazyLock::new(Definition::firebase);

/// Frames, and the packets in them.
pub fn fuzz_styx_frames(bytes: &[u8]) {
    check_splits(bytes, &|| frames(Limits { frame_len_max: 1 << 10 }));
}

/// The payload of a frame.
pub fn fuzz_styx_packet(payload: &[u8]) {
    check_load_test(payload);
    let packet = Packet::decode(payload);
    let json = FIREBASE.unpack_json(payload);
    let packet = match (packet, json) {
        (Ok(packet), Ok(json)) => {
            let mut written = Vec::new();
            packet.write_json(&mut written);
            assert_eq!(json.as_bytes(), written, "{packet:?}");
            packet
        }
        (Err(packet), Err(json)) => {
            assert_eq!(packet, json, "the same fault");
            return;
        }
        (packet, json) => panic!("{packet:?}, and by the definition {json:?}"),
    };
    let mut encoded = Vec::new();
    packet.encode(&mut encoded);
    assert_eq!(encoded, payload, "{packet:?}");
    check_json(&packet);
}

/// One packet in JSON, or several.
pub fn fuzz_styx_json(text: &[u8]) {
    let Ok(packets) = json_packets(text) else { return };
    for text in packets {
        let dynamic = FIREBASE.pack_json(text);
        let Ok(packet) = Packet::read_json(text) else { continue };
        let mut encoded = Vec::new();
        packet.encode(&mut encoded);
        assert_eq!(Packet::decode(&encoded).as_ref(), Ok(&packet));
        // A definition reads all properties, also those that the table ignores, and some numbers are too large for it.
        if let Ok(dynamic) = dynamic {
            assert_eq!(dynamic, encoded, "{packet:?}");
        }
        check_json(&packet);
    }
}

/// A definition in XML.
pub fn fuzz_styx_definition(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    let Ok(definition) = Definition::from_xml(text) else { return };
    let xml = definition.to_xml();
    assert_eq!(Definition::from_xml(&xml).as_ref(), Ok(&definition), "{xml}");
    for (class_id, _) in definition.packets() {
        // A packet whose fields are all absent is empty, and as short as it can be.
        let json = format!("{{\"classId\":{class_id}}}");
        let payload = definition.pack_json(json.as_bytes()).expect("no field has a wrong type");
        if let Ok(json) = definition.unpack_json(&payload) {
            assert_eq!(definition.pack_json(json.as_bytes()), Ok(payload), "{json}");
        }
    }
}

/// Checks that the packet's JSON is read as the same packet, by the table and by the definition.
fn check_json(packet: &Packet<'_>) {
    let mut json = Vec::new();
    packet.write_json(&mut json);
    assert_eq!(Packet::read_json(&json).as_ref(), Ok(packet), "{}", json.escape_ascii());
    let mut encoded = Vec::new();
    packet.encode(&mut encoded);
    assert_eq!(FIREBASE.pack_json(&json), Ok(encoded), "{}", json.escape_ascii());
}

/// Checks that an event or an answer that is read and written again gives the same bytes, apart from the length, which
/// may count the header or not.
fn check_load_test(bytes: &[u8]) {
    if let Ok(request) = LoadRequest::unpack(bytes) {
        assert_eq!(request.pack()[4..], bytes[4..]);
    }
    if let Ok(response) = LoadResponse::unpack(bytes) {
        assert_eq!(response.pack()[4..], bytes[4..]);
    }
}
