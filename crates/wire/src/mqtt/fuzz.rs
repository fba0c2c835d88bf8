//! Properties that hold for any bytes that arrive at an MQTT client.

use super::Mqtt;
use crate::connection::Connection;
use crate::contract::{Kind, Message, Protocol};
use crate::conversation::packets;
use crate::transcript::check_splits_of_replies;
use crate::websocket::{Limits, WebSocket};

/// Feeds packets on a byte stream, and in WebSocket frames, to a client that awaits the answer to CONNECT and
/// acknowledgements of packets 1 to 3.
pub(crate) fn fuzz_mqtt(bytes: &[u8]) {
    check_splits_of_replies(bytes, &|| awaiting(packets(PACKET_MAX).into()));
    let websocket = || WebSocket::established(crate::contract::Side::Client, Limits::default(), 7);
    check_splits_of_replies(bytes, &|| awaiting(websocket().into()));
}

/// A client that has sent CONNECT, a PUBLISH, a SUBSCRIBE and an UNSUBSCRIBE over `inner`.
pub(super) fn awaiting(inner: Connection) -> Mqtt<Connection> {
    let mut client = Mqtt::new(inner, PACKET_MAX);
    client.open(&mut Vec::new());
    for text in
        ["CONNECT\nclient-id=c", "PUBLISH a qos=1 id=7\nx", "SUBSCRIBE a id=8", "UNSUBSCRIBE a"]
    {
        let message = Message { kind: Kind::Text, payload: text.as_bytes() };
        client.send(message, &mut Vec::new()).expect("it stands for a packet");
    }
    client
}

/// The longest packet here, in bytes after its head.
pub(super) const PACKET_MAX: usize = 200;
