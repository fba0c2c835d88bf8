//! libFuzzer's way into `wire::fuzz::framed`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::fuzz::framed(bytes));
