//! MQTT 3.1.1 (OASIS Standard, 29 October 2014), a client's end: packets for texts, and texts for packets.
//!
//! [`Mqtt`] is a layer between a conversation and the connection that carries it. A text that is sent is a
//! [`MqttCommand`](spec::conversation::MqttCommand); a packet that arrives becomes a text:
//!
//! ```text
//! CONNACK accepted                  PUBACK id=10000017        PUBLISH bench/3 qos=0 retain dup
//! CONNACK accepted session-present  SUBACK qos=0 id=10000018  the payload, to the end of the message
//! CONNACK refused 5: not authorized SUBACK refused
//! PINGRESP                          UNSUBACK id=10000019
//! ```
//!
//! Packet identifiers are the layer's own. An acknowledgement has the `id` that the text of its packet had.
//! Deliveries of QoS 1 are acknowledged here.
//!
//! Start reading at [`Mqtt`]; `packet` has the bytes. Left out: QoS 2, wills, and the keep-alive, which is a heartbeat
//! of the conversation: nothing here has a clock.

mod error;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzz;
mod in_flight;
mod packet;
mod session;
#[cfg(test)]
mod tests;

pub use error::PeerError;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use fuzz::fuzz_mqtt;
pub(crate) use packet::head;
pub use session::Mqtt;
