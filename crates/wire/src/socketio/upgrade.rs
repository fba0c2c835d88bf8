//! The packets of Engine.IO that upgrade a session from polling to WebSocket.

/// The packet with which a client tries the WebSocket on which its session is to continue.
pub const PROBE: &[u8] = b"2probe";

/// The packet that answers a probe.
pub const PROBED: &str = "3probe";

/// The packet with which a client that has stopped polling continues over WebSocket.
pub const UPGRADE: &[u8] = b"5";

/// The packet that answers a poll of a session that its client has ended, or that continues over WebSocket.
pub const NOOP: &str = "6";
