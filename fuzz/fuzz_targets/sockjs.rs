//! libFuzzer's way into `wire::fuzz::sockjs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::fuzz::sockjs(bytes));
