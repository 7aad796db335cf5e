//! Fuzzes the codec of Jitterbug with any bytes, and with any message that is made from these bytes.

#![no_main]

#[path = "../../tests/wire/checks/mod.rs"]
#[expect(dead_code, reason = "each of the other formats has a separate target")]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::jitterbug::bytes(data);
    checks::jitterbug::value(data);
});
