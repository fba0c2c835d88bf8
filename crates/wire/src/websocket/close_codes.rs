//! The close codes that are sent (RFC 6455 §7.4.1).

/// The purpose of the connection is fulfilled.
pub(super) const NORMAL: u16 = 1000;

/// The server is going down, or the browser has left the page.
pub(super) const GOING_AWAY: u16 = 1001;

/// The peer broke the protocol.
pub(super) const PROTOCOL_ERROR: u16 = 1002;

/// The peer sent text that is not UTF-8, or compressed bytes that cannot be inflated.
pub(super) const BAD_PAYLOAD: u16 = 1007;

/// The peer exceeded a limit of ours.
pub(super) const TOO_BIG: u16 = 1009;
