//! libFuzzer's way into `wire::fuzz::websocket_deflate`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::fuzz::websocket_deflate(bytes));
