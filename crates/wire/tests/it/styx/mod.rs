//! Styx from outside: examples of its bytes and its JSON, what is refused, definitions, and what costs no memory.

mod definition;
mod json;
mod memory;
mod packets;
