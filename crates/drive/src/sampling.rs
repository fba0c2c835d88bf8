//! The window's begin and end, and those of connections inside it, as [`crate::stream`] wants to be told of them.

use crate::Worker;
use crate::connections::Connection;
use crate::recorder::{Observer, Phase};
use crate::stream::Sampled;
use engine::{ConnectionId, Metered};
use wire::Protocol;

impl<O: Observer> Worker<O> {
    /// The window begins: what the layers have counted so far is not of it.
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

    /// The window ends.
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

    /// A connection begins: whether it is in the sample.
    pub(crate) fn join_stream(&mut self) -> Option<Box<Sampled>> {
        if self.phase == Phase::Measure { self.recorder.stream.came() } else { None }
    }

    /// A connection ends; the engine has not closed it yet.
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
