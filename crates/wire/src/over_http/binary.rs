//! Binary packets of Engine.IO in the bodies of requests and responses: a `b`, and Base64.

use crate::styx::{append_base64, decode_base64};

/// Encodes bytes as a binary packet.
pub(crate) fn binary_packet(bytes: &[u8]) -> Vec<u8> {
    let mut packet = vec![b'b'];
    append_base64(bytes, &mut packet);
    packet
}

/// True for a binary packet.
pub(crate) fn is_binary(packet: &[u8]) -> bool {
    packet.starts_with(b"b")
}

/// The bytes in a binary packet; `None` if it is not one.
pub(crate) fn bytes_in(packet: &[u8]) -> Option<Vec<u8>> {
    decode_base64(packet.strip_prefix(b"b")?).ok()
}

/// The length of the packet of this many bytes.
pub(crate) const fn packet_len(len: usize) -> usize {
    len.div_ceil(3).saturating_mul(4).saturating_add(1)
}

/// True for a Socket.IO packet that announces binary ones, which go into the same body.
pub(crate) fn announces(packet: &[u8]) -> bool {
    matches!(packet, [b'4', b'5' | b'6', b'1'..=b'9', ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_their_packet_and_nothing_else_is_one() {
        #[rustfmt::skip]
        let table: [(&[u8], &[u8]); _] = [
            (b"",         b"b"),
            (b"\x01",     b"bAQ=="),
            (b"\x01\x02\x03", b"bAQID"),
            (b"\xff\xfe", b"b//4="),
        ];
        for (bytes, packet) in table {
            assert_eq!(binary_packet(bytes), packet);
            assert_eq!(bytes_in(packet).as_deref(), Some(bytes));
            assert_eq!(packet.len(), packet_len(bytes.len()));
        }
        for packet in [&b"bA"[..], b"bAQ", b"bAQ==\n", b"b_-4=", b"AQ==", b"4AQ==", b"", b"bAR=="] {
            assert_eq!(bytes_in(packet), None, "{}", packet.escape_ascii());
        }
    }

    #[test]
    fn a_packet_says_if_binary_ones_follow() {
        for (packet, expected) in [
            ("451-[]", true),
            ("4612-[]", true),
            ("450-[]", false),
            ("45-[]", false),
            ("42[]", false),
        ] {
            assert_eq!(announces(packet.as_bytes()), expected, "{packet}");
        }
    }
}
