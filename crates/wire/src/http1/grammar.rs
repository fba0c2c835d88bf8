//! The characters that are allowed in tokens and in field values (RFC 9110 §5.5 and §5.6.2).

/// True if `byte` may be in a token: a method, the name of a field, a coding.
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// True if `text` is a token.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_byte)
}

/// True if `byte` may be in the value of a field: no control character except the tab.
pub(crate) fn is_text_byte(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}
