//! Stub of the simulated network.
