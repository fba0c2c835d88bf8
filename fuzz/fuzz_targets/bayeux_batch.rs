//! libFuzzer's way into `wire::fuzz::bayeux_batch`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::fuzz::bayeux_batch(bytes));
