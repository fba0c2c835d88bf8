//! libFuzzer's way into `wire::fuzz::lines`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::fuzz::lines(bytes));
