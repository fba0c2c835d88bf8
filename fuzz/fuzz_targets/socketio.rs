//! libFuzzer's way into `wire::fuzz::socketio`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::fuzz::socketio(bytes));
