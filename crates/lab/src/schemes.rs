//! What subjects can speak.

/// Whether `scheme` is spoken inside TLS.
pub fn is_secure(scheme: &str) -> bool {
    SCHEMES.iter().any(|(known, is_secure)| *known == scheme && *is_secure)
}

/// The schemes that a manifest may name, and whether each is spoken inside TLS.
pub const SCHEMES: [(&str, bool); 12] = [
    ("http", false),
    ("https", true),
    ("socketio", false),
    ("socketios", true),
    ("sockjs", false),
    ("sockjss", true),
    ("tcp", false),
    ("tcp-framed", false),
    ("tls", true),
    ("tls-framed", true),
    ("ws", false),
    ("wss", true),
];
