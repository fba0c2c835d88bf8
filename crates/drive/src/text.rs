//! Bytes of a peer in messages to people.

/// The beginning of a peer's bytes, escaped so that no terminal takes them for anything but text.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(EXCERPT_LEN_MAX)];
    let rest = if shown.len() < bytes.len() { "…" } else { "" };
    format!("{}{rest}", shown.escape_ascii())
}

const EXCERPT_LEN_MAX: usize = 48;
