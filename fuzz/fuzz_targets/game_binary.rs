//! libFuzzer's way into `wire::fuzz::game_binary`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire::fuzz::game_binary(bytes));
