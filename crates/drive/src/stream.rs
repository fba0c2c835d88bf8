//! The bytes of the transport's stream in the window, by layer, and the segments that carried them.
//!
//! No message costs an extra look: payloads are added up where they are counted anyway, the layers of a stack keep sums
//! of their own, and both are read when the window begins, when it ends, and when a connection ends inside it. Framing
//! is what remains, so that the parts always add up to the bytes. The same layers count the requests of sessions over
//! HTTP.
//!
//! Left out: the TCP/IP headers of the segments, which crate `run` estimates from their number.

use record::{Segments, Split, StreamLayers};
use wire::Layers;

/// Counts the window's bytes by layer.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Payload bytes since the last interval was handed over.
    payload_sent: u64,
    payload_received: u64,
    /// Bytes sent in the intervals of the measurement, and the payload bytes among them; likewise received.
    sent: (u64, u64),
    received: (u64, u64),
    layers: LayerSums,
    /// The machine of a conversation makes messages from cues: what encoding adds is payload.
    is_rendered: bool,
    stayed: Sample,
    came: Sample,
}

/// The growth of the counts of all connections' layers; negative while only the starting counts of some are subtracted.
#[derive(Clone, Copy, Debug, Default)]
struct LayerSums {
    tls_sent: i64,
    tls_received: i64,
    encoding_sent: i64,
    encoding_received: i64,
    requests: i64,
}

/// Connections of one kind, and the segments of some of them.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    sent: u64,
    received: u64,
    sampled: u64,
    connections: u64,
}

/// A connection that is in the sample.
#[derive(Debug)]
pub(crate) struct Sampled {
    /// The segments that it had when the window began.
    begin: engine::Segments,
    /// The connection began in the window.
    came: bool,
}

impl Sampled {
    /// A connection that existed when the window began, and had these segments then.
    pub(crate) const fn stayed(begin: engine::Segments) -> Self {
        Self { begin, came: false }
    }
}

impl Stream {
    /// An empty count; `is_rendered` if payloads are cues from which a machine makes messages.
    pub(crate) fn new(is_rendered: bool) -> Self {
        Self { is_rendered, ..Self::default() }
    }

    /// Counts payload bytes that were sent.
    #[inline]
    pub(crate) fn sent(&mut self, payload: u64) {
        self.payload_sent += payload;
    }

    /// Counts payload bytes that were decoded.
    #[inline]
    pub(crate) fn received(&mut self, payload: usize) {
        self.payload_received += payload as u64;
    }

    /// Ends an interval with this many bytes sent and received; `counts` if it belongs to the measurement.
    pub(crate) fn interval(&mut self, counts: bool, bytes_sent: u64, bytes_received: u64) {
        let sent = (bytes_sent, std::mem::take(&mut self.payload_sent));
        let received = (bytes_received, std::mem::take(&mut self.payload_received));
        if counts {
            self.sent = (self.sent.0 + sent.0, self.sent.1 + sent.1);
            self.received = (self.received.0 + received.0, self.received.1 + received.1);
        }
    }

    /// The bytes of the window by layer.
    pub(crate) fn layers(&self) -> StreamLayers {
        let (sent, received, sums) = (self.sent, self.received, self.layers);
        let (payload, encoding) = match self.is_rendered {
            true => (sent.1.saturating_add_signed(sums.encoding_sent), 0),
            false => (sent.1, sums.encoding_sent),
        };
        StreamLayers {
            sent: split(sent.0, payload, encoding, sums.tls_sent),
            received: split(received.0, received.1, sums.encoding_received, sums.tls_received),
        }
    }

    /// The requests that sessions over HTTP made in the window.
    pub(crate) fn requests(&self) -> u64 {
        u64::try_from(self.layers.requests).unwrap_or(0)
    }

    /// The number of segments; `None` if no connection reports it.
    pub(crate) fn segments(&self) -> Option<Segments> {
        let (stayed, came) = (self.stayed.scaled(), self.came.scaled());
        let connections_sampled = self.stayed.sampled + self.came.sampled;
        (connections_sampled > 0).then(|| Segments {
            sent: stayed.sent + came.sent,
            received: stayed.received + came.received,
            connections_sampled,
            connections: self.stayed.connections + self.came.connections,
        })
    }

    /// Counts connection number `index` of the `live` ones when the window begins. Returns true if it is to be in the
    /// sample.
    pub(crate) fn stays(&mut self, index: usize, live: usize) -> bool {
        self.stayed.connections += 1;
        index.is_multiple_of(live.div_ceil(SAMPLED_MAX).max(1))
    }

    /// Leaves out what the layers of a connection counted before the window.
    pub(crate) fn leave_out(&mut self, layers: Layers) {
        self.layers.subtract(layers);
    }

    /// Adds what the layers of a connection have counted, at its end or the end of the window.
    pub(crate) fn add(&mut self, layers: Layers) {
        self.layers.add(layers);
    }

    /// Counts a connection that begins inside the window. Returns `Some` if it is to be in the sample.
    pub(crate) fn came(&mut self) -> Option<Box<Sampled>> {
        self.came.connections += 1;
        let is_sampled = self.came.connections % SAMPLED_EACH == 1;
        is_sampled.then(|| Box::new(Sampled { begin: engine::Segments::default(), came: true }))
    }

    /// Adds the segments that a connection of the sample had in the window.
    pub(crate) fn sampled(&mut self, sampled: &Sampled, end: engine::Segments) {
        let sample = if sampled.came { &mut self.came } else { &mut self.stayed };
        sample.sent += end.sent.saturating_sub(sampled.begin.sent);
        sample.received += end.received.saturating_sub(sampled.begin.received);
        sample.sampled += 1;
    }
}

impl LayerSums {
    fn add(&mut self, layers: Layers) {
        self.tls_sent += layers.tls_sent.cast_signed();
        self.tls_received += layers.tls_received.cast_signed();
        self.encoding_sent += layers.encoding_sent;
        self.encoding_received += layers.encoding_received;
        self.requests += layers.requests.cast_signed();
    }

    fn subtract(&mut self, layers: Layers) {
        self.tls_sent -= layers.tls_sent.cast_signed();
        self.tls_received -= layers.tls_received.cast_signed();
        self.encoding_sent -= layers.encoding_sent;
        self.encoding_received -= layers.encoding_received;
        self.requests -= layers.requests.cast_signed();
    }
}

impl Sample {
    /// The segments of all its connections, scaled up from those in the sample.
    fn scaled(self) -> engine::Segments {
        let scale = |count: u64| {
            let all = u128::from(count) * u128::from(self.connections);
            let scaled = all.checked_div(self.sampled.into()).unwrap_or(0);
            u64::try_from(scaled).unwrap_or(u64::MAX)
        };
        engine::Segments { sent: scale(self.sent), received: scale(self.received) }
    }
}

/// The bytes of one direction by layer. Together the layers are exactly the bytes that the intervals of the measurement
/// count.
///
/// A message's payload, and what encoding added to it, counts where the message is sent or completely decoded. If the
/// edge of the window cuts a message, its bytes outside the window count as inside, or the other way round. If that
/// would leave less than nothing for the framing, they are taken off the payload again.
fn split(bytes: u64, payload: u64, encoding: i64, tls: i64) -> Split {
    let tls_bytes = u64::try_from(tls).unwrap_or(0).min(bytes);
    let plain = bytes - tls_bytes;
    let payload_bytes = payload.min(plain.saturating_add_signed(encoding.saturating_neg()));
    let encoded = payload_bytes.saturating_add_signed(encoding).min(plain);
    let encoding_bytes = encoded.cast_signed() - payload_bytes.cast_signed();
    let framing_bytes = plain - encoded;
    Split { payload_bytes, encoding_bytes, framing_bytes, tls_bytes, tcp_ip_estimated_bytes: None }
}

/// The largest number of connections in the sample, of those that exist when the window begins.
const SAMPLED_MAX: usize = 256;

/// The sampling of connections that begin in the window: one in this many is in the sample.
const SAMPLED_EACH: u64 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_always_add_up_to_the_bytes() {
        #[rustfmt::skip]
        let table = [
            // bytes, payload, encoding, tls  => payload, encoding, framing, tls
            ((100,        60,        0,   22), (60,      0,      18,   22)),
            ((100,       200,     -150,   22), (200,  -150,      28,   22)),
            ((100,        60,        5,    0), (60,      5,      35,    0)),
            ((0,           0,        0,    0), (0,       0,       0,    0)),
            // Cut by the edge of the window: more of a message than arrived in it, or a layer's count that went down.
            ((100,       150,        0,   22), (78,      0,       0,   22)),
            ((100,        60,        0,   -9), (60,      0,      40,    0)),
            ((100,        60,        0,  300), (0,       0,       0,  100)),
            ((100,        60,      -80,    0), (60,    -60,     100,    0)),
            ((100,        60,      300,    0), (0,     100,       0,    0)),
            ((100,       500,     -100,   20), (180,  -100,       0,   20)),
        ];
        for ((bytes, payload, encoding, tls), (payload_of, encoding_of, framing, tls_of)) in table {
            let split = split(bytes, payload, encoding, tls);
            let expected = Split {
                payload_bytes: payload_of,
                encoding_bytes: encoding_of,
                framing_bytes: framing,
                tls_bytes: tls_of,
                tcp_ip_estimated_bytes: None,
            };
            assert_eq!(split, expected, "{bytes} {payload} {encoding} {tls}");
            assert_eq!(split.total(), bytes);
        }
    }

    #[test]
    fn segments_of_a_sample_stand_for_those_of_all() {
        let sampled = |came| Sampled { begin: engine::Segments { sent: 5, received: 7 }, came };
        let mut stream = Stream::default();
        assert_eq!(stream.segments(), None, "nobody says it");
        stream.stayed.connections = 100;
        assert_eq!(stream.segments(), None, "nobody says it");
        for _ in 0..4 {
            stream.sampled(&sampled(false), engine::Segments { sent: 15, received: 27 });
        }
        let stayed =
            Segments { sent: 1000, received: 2000, connections_sampled: 4, connections: 100 };
        assert_eq!(stream.segments(), Some(stayed));

        let chosen = (0..64).filter(|_| stream.came().is_some()).count();
        assert_eq!(chosen, 2);
        assert_eq!(stream.segments().unwrap().sent, 1000, "none of those that came says it");
        stream.sampled(&sampled(true), engine::Segments { sent: 6, received: 10 });
        let all = Segments { sent: 1064, received: 2192, connections_sampled: 5, connections: 164 };
        assert_eq!(stream.segments(), Some(all));
    }
}
