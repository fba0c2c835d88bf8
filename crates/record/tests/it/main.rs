//! The record: written, read back, checked against its schema, refused where it cannot be read.

mod counts;
mod drift;
mod example;
mod good;
mod google_benchmark;
mod imported;
mod json;
mod merging;
mod old;
mod pooling;
mod relative;
mod requirements;
mod schema;
mod sides;
mod signatures;
mod summary;
mod trend;
mod verdict;
