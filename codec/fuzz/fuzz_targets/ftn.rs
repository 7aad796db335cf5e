//! Fuzzes the codec of the FTN token service with any bytes, and with any message that is made from these bytes.

#![no_main]

#[path = "../../tests/wire/checks/mod.rs"]
#[expect(dead_code, reason = "each of the other formats has a separate target")]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::ftn::bytes(data);
    checks::ftn::value(data);
});
