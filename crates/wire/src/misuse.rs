//! Misuse of a machine by its caller.

/// A misuse of a machine by its caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MisuseError {
    /// The protocol carries only messages of a certain form.
    #[error("the message is not {expected}")]
    Malformed {
        /// The form.
        expected: &'static str,
    },
    /// The value of a hole is not a whole number, or one that does not fit in its bytes. It may be a secret, so the
    /// error does not show it.
    #[error("the value of `{hole}` is not a whole number from {min} to {max}")]
    Misfit {
        /// The hole, with the form of the number.
        hole: String,
        /// The least value of the form.
        min: i128,
        /// The greatest value of the form.
        max: i128,
    },
    /// The text does not stand for a packet of MQTT.
    #[error(transparent)]
    Mqtt(#[from] spec::conversation::MqttError),
    /// The protocol has no ping for a client to send.
    #[error("the protocol has no ping")]
    NoPing,
    /// The opening handshake is not complete, or the end has begun.
    #[error("the connection is not open")]
    NotOpen,
    /// A text message is not UTF-8.
    #[error("text message is not UTF-8")]
    NotUtf8,
    /// The message is longer than the protocol or our limit allows.
    #[error("message of {len} bytes, limit is {max}")]
    TooLong {
        /// Its length in bytes.
        len: u64,
        /// The limit in bytes.
        max: u64,
    },
    /// The message is shorter than any message of the protocol.
    #[error("message of {len} bytes, the minimum is {min}")]
    TooShort {
        /// Its length in bytes.
        len: u64,
        /// The least in bytes.
        min: u64,
    },
}
