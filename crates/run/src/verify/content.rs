//! The messages that are sent, and the description of how a wrong reply differs.

use super::Extent;
use wire::{Excerpt, Kind};

/// Lengths of messages: around every length at which the header of a WebSocket frame changes, zero, one, and a length
/// that exceeds any socket buffer.
pub(super) const fn lens(extent: Extent) -> &'static [usize] {
    match extent {
        Extent::Full => &[0, 1, 125, 126, 127, 65_535, 65_536, 1 << 20],
        Extent::Short => &[0, 125, 126, 65_536],
    }
}

/// A message of `len` bytes: text has characters of one to four bytes, binary has every byte.
pub(super) fn payload(kind: Kind, len: usize) -> Vec<u8> {
    match kind {
        Kind::Binary => BYTES.into_iter().cycle().take(len).collect(),
        Kind::Text => {
            let mut text = CHARACTERS.repeat(len / CHARACTERS.len());
            text.push_str(&"x".repeat(len - text.len()));
            text.into_bytes()
        }
    }
}

/// Checks that `came` equals `expected`.
///
/// # Errors
///
/// The difference.
pub(super) fn compare(expected: &[u8], came: &[u8]) -> Result<(), String> {
    if came.len() != expected.len() {
        let (wanted, said) = (expected.len(), Excerpt::new(came));
        return Err(format!("a reply of {} B, {wanted} B expected: {said}", came.len()));
    }
    match expected.iter().zip(came).position(|(expected, came)| expected != came) {
        None => Ok(()),
        Some(at) => {
            let (expected, said) = (Excerpt::new(&expected[at..]), Excerpt::new(&came[at..]));
            Err(format!("the reply differs from byte {at} on: {said}, {expected} expected"))
        }
    }
}

/// Every byte, in a length that no power of two divides, so that data displaced by a buffer is noticed.
const BYTES: [u8; 257] = {
    let mut bytes = [0; 257];
    let mut value = 0_u8;
    let mut index = 0;
    while index < bytes.len() {
        bytes[index] = value;
        value = value.wrapping_add(1);
        index += 1;
    }
    bytes
};

/// One character of each length in UTF-8, characters that JSON must escape, and one that JavaScript treats as a line
/// terminator.
const CHARACTERS: &str = "aé€😀\"\\\n\u{2028}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_length_that_was_asked_for() {
        for kind in [Kind::Binary, Kind::Text] {
            for len in (0..300).chain(lens(Extent::Full).iter().copied()) {
                let payload = payload(kind, len);
                assert_eq!(payload.len(), len);
                assert!(kind == Kind::Binary || std::str::from_utf8(&payload).is_ok());
            }
        }
    }

    #[test]
    fn a_difference_says_where_it_is() {
        assert_eq!(compare(b"abc", b"abc"), Ok(()));
        let differs = "the reply differs from byte 1 on: \"xc\", \"bc\" expected";
        assert_eq!(compare(b"abc", b"axc"), Err(differs.to_owned()));
        let short = "a reply of 2 B, 3 B expected: \"ab\"";
        assert_eq!(compare(b"abc", b"ab"), Err(short.to_owned()));
    }
}
