//! Percent-encoded text: in targets, and in the bodies of forms (RFC 3986 §2.1).

/// Appends `bytes`, and encodes all but unreserved characters.
pub(crate) fn append_percent_encoded(bytes: &[u8], out: &mut Vec<u8>) {
    let digit = |half: u8| b"0123456789ABCDEF"[usize::from(half)];
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(*byte),
            _ => out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 15)]),
        }
    }
}

/// The bytes of a percent-encoded text; `None` if a code is cut off or not hexadecimal.
pub fn percent_decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = text.iter().copied();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        decoded.push(u8::try_from(high * 16 + low).ok()?);
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_and_a_cut_code_is_none() {
        let all: Vec<u8> = (0..=255).collect();
        let mut encoded = Vec::new();
        append_percent_encoded(&all, &mut encoded);
        assert!(encoded.iter().all(u8::is_ascii_graphic));
        assert_eq!(percent_decoded(&encoded), Some(all));
        for (text, decoded) in [
            ("", Some("")),
            ("%61+%2f%2F", Some("a+//")),
            ("%6", None),
            ("%", None),
            ("%zz", None),
            ("a%+1", None),
        ] {
            let expected = decoded.map(|text| text.as_bytes().to_vec());
            assert_eq!(percent_decoded(text.as_bytes()), expected, "{text}");
        }
    }
}
