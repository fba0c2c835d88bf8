//! The integration tests of `wire`: protocols seen from outside, a module for each.

mod conversations;
mod pair;
mod styx;
mod tls;
mod websocket;
