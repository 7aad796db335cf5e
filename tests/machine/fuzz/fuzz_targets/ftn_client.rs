//! Fuzzes a client of the token service: sequences of datagrams, timeouts and commands.

#![no_main]

#[path = "../../ftn/mod.rs"]
#[expect(
    dead_code,
    reason = "each of the two targets uses one half of the module"
)]
mod ftn;
#[path = "../../script.rs"]
mod script;

libfuzzer_sys::fuzz_target!(|data: &[u8]| ftn::run_client(data));
