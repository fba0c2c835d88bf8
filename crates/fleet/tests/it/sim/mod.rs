//! The simulated bus, what happens on it, and what must hold after every step.

pub(crate) mod clock;
pub(crate) mod faults;
pub(crate) mod invariants;
pub(crate) mod node;
pub(crate) mod world;
