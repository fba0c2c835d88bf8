//! libFuzzer's way into `wire::fuzz::tls_records`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::fuzz::tls_records(bytes));
