//! libFuzzer's way into `wire::fuzz::bayeux_session`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::fuzz::bayeux_session(bytes));
