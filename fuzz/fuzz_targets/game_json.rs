//! libFuzzer's way into `wire::fuzz::game_json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::fuzz::game_json(bytes));
