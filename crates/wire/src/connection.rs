//! Stub of the sum of all protocols.
