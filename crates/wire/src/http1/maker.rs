//! A factory of HTTP connections.

use super::Delivery;
use std::fmt;
use std::sync::Arc;

/// Makes HTTP connections for a machine that opens several in its life: clients of
/// [`Http1::exchanges`](super::Http1::exchanges), inside TLS or not.
pub struct Maker<C>(Arc<dyn Fn(Delivery) -> C + Send + Sync>);

impl<C> Maker<C> {
    /// A maker that calls `make` for every connection.
    pub fn new(make: impl Fn(Delivery) -> C + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// Another connection, whose responses are handed out as `delivery` says.
    pub fn make(&self, delivery: Delivery) -> C {
        (self.0)(delivery)
    }
}

impl<C> Clone for Maker<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C> fmt::Debug for Maker<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Maker")
    }
}
