//! Values of JSON: written, and bytes in Base64 read.

use base64::engine::Engine;
use base64::engine::general_purpose::STANDARD;

/// Appends a list whose elements are written by `write`.
pub(super) fn write_list<T>(list: &[T], out: &mut Vec<u8>, write: impl Fn(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (index, element) in list.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(element, out);
    }
    out.push(b']');
}

pub(super) fn write_bool(value: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

pub(super) fn write_integer(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut left = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b"0123456789"[(left % 10) as usize];
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends text in quotes, with quotes, backslashes and control characters escaped.
pub(crate) fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| matches!(byte, ..0x20 | b'"' | b'\\')) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            quoted @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', quoted]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => {
                let hex = |digit: u8| b"0123456789abcdef"[usize::from(digit)];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[hex(control >> 4), hex(control & 15)]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Appends bytes as Base64 in quotes.
pub(super) fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    append_base64(bytes, out);
    out.push(b'"');
}

/// Appends bytes as Base64.
pub(crate) fn append_base64(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    STANDARD.encode_slice(bytes, &mut out[start..]).expect("there is room for all of it");
}

pub(crate) fn decode_base64(text: &[u8]) -> Result<Vec<u8>, base64::DecodeError> {
    STANDARD.decode(text)
}
