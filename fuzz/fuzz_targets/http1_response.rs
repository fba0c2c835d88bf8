//! libFuzzer's way into `wire::fuzz::http1_response`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::fuzz::http1_response(bytes));
