//! libFuzzer's way into `wire::fuzz::styx_packet`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::fuzz::styx_packet(bytes));
