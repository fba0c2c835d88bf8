//! libFuzzer's way into `wire::fuzz::http1_request`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::fuzz::http1_request(bytes));
