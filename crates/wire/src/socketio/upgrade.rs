//! The packets of Engine.IO by which a session goes over from polling to WebSocket.

/// The packet by which a client tries the WebSocket that its session is to go on over.
pub const PROBE: &[u8] = b"2probe";

/// The packet that answers a probe.
pub const PROBED: &str = "3probe";

/// The packet by which a client that has stopped polling goes on over WebSocket.
pub const UPGRADE: &[u8] = b"5";

/// The packet that answers a poll of a session that its client has ended, or that goes on over WebSocket.
pub const NOOP: &str = "6";
