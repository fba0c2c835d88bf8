//! Quantities are read exactly, refused clearly, and shown so that they read back.

mod read;
mod round_trip;
mod show;
