//! Andrews: any bytes, and any value made from them.

#![no_main]

#[path = "../../tests/wire/checks/mod.rs"]
#[expect(dead_code, reason = "the other formats have targets of their own")]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::andrews::bytes(data);
    checks::andrews::value(data);
});
