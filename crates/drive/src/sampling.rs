//! Reports the beginning and end of the window, and of connections inside it, to [`crate::stream`].

use crate::Worker;
use crate::connections::Connection;
use crate::recorder::{Observer, Phase};
use crate::stream::Sampled;
use engine::{ConnectionId, Metered};
use wire::Protocol;

impl<O: Observer> Worker<O> {
    /// Begins the window: leaves out what the layers have counted so far.
    pub(crate) fn begin_stream<E: Metered>(&mut self, engine: &E) {
        let stream = &mut self.recorder.stream;
        let live = self.connections.live() as usize;
        for (index, connection) in self.connections.iter_mut().enumerate() {
            if stream.stays(index, live) {
                let segments = segments(engine, connection.id, self.seconds.of(connection.id));
                connection.sampled = segments.map(|begin| Box::new(Sampled::stayed(begin)));
            }
            if self.has_layers {
                stream.leave_out(connection.machine.layers());
            }
        }
    }

    /// Ends the window: adds what the layers and the sampled connections have counted.
    pub(crate) fn end_stream<E: Metered>(&mut self, engine: &E) {
        let stream = &mut self.recorder.stream;
        for connection in self.connections.iter_mut() {
            if let Some(sampled) = connection.sampled.take()
                && let Some(segments) =
                    segments(engine, connection.id, self.seconds.of(connection.id))
            {
                stream.sampled(&sampled, segments);
            }
            if self.has_layers {
                stream.add(connection.machine.layers());
            }
        }
    }

    /// Counts a connection that begins. Returns `Some` if it is in the sample.
    pub(crate) fn join_stream(&mut self) -> Option<Box<Sampled>> {
        if self.phase == Phase::Measure { self.recorder.stream.came() } else { None }
    }

    /// Counts a connection that ends, before the engine closes it.
    pub(crate) fn leave_stream<E: Metered>(
        &mut self,
        engine: &E,
        connection: &Connection,
        second: Option<ConnectionId>,
    ) {
        if self.phase != Phase::Measure {
            return;
        }
        let stream = &mut self.recorder.stream;
        if self.has_layers {
            stream.add(connection.machine.layers());
        }
        if let Some(sampled) = &connection.sampled
            && let Some(segments) = segments(engine, connection.id, second)
        {
            stream.sampled(sampled, segments);
        }
    }
}

/// The segments of a connection, and of its second one if it has two.
fn segments<E: Metered>(
    engine: &E,
    first: ConnectionId,
    second: Option<ConnectionId>,
) -> Option<engine::Segments> {
    let first = engine.segments(first)?;
    let second = second.and_then(|id| engine.segments(id)).unwrap_or_default();
    Some(engine::Segments {
        sent: first.sent + second.sent,
        received: first.received + second.received,
    })
}
