//! The ways in which a server can break MQTT.

use crate::excerpt::Excerpt;

/// A violation of MQTT 3.1.1 by a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The connection ended within a packet.
    #[error("MQTT: the connection ended {len} bytes into a packet")]
    Cut {
        /// The number of its bytes that had arrived.
        len: usize,
    },
    /// The lowest four bits of the first byte are not those of the packet (§2.2.2).
    #[error("MQTT: {name} with flags {flags:#06b} (MQTT 3.1.1, §2.2.2)")]
    Flags {
        /// The packet.
        name: &'static str,
        /// The bits.
        flags: u8,
    },
    /// An acknowledgement of a packet that does not await it.
    #[error("MQTT: {name} for packet {packet}, which is not waiting for one (MQTT 3.1.1, §2.3.1)")]
    Identifier {
        /// The acknowledgement.
        name: &'static str,
        /// Its packet identifier.
        packet: u16,
    },
    /// The rest of a packet does not have the form that the standard requires.
    #[error("MQTT: malformed {name}, expected {expected} (MQTT 3.1.1, §{section}): {said}")]
    Malformed {
        /// The packet.
        name: &'static str,
        /// The form.
        expected: &'static str,
        /// The section of the standard.
        section: &'static str,
        /// The packet after its length.
        said: Excerpt,
    },
    /// The remaining length has more than four bytes (§2.2.3).
    #[error("MQTT: a remaining length of more than four bytes (MQTT 3.1.1, §2.2.3): {said}")]
    RemainingLength {
        /// The first bytes of the packet.
        said: Excerpt,
    },
    /// There is no such packet, or a client sends it (§2.2.1).
    #[error("MQTT: a packet of type {kind}, which no server sends (MQTT 3.1.1, §2.2.1)")]
    Type {
        /// The type.
        kind: u8,
    },
    /// The packet is not allowed at this time, or not to a client that asked for what this one did.
    #[error("MQTT: {name} {when} (MQTT 3.1.1, §{section})")]
    Unexpected {
        /// The packet.
        name: &'static str,
        /// The reason why it is unexpected.
        when: &'static str,
        /// The section of the standard.
        section: &'static str,
    },
}
