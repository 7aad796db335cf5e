//! Fuzzes a Jitterbug node: sequences of datagrams, bytes on connections, timeouts and commands.

#![no_main]

#[path = "../../jitterbug/mod.rs"]
mod jitterbug;
#[path = "../../script.rs"]
mod script;

libfuzzer_sys::fuzz_target!(|data: &[u8]| jitterbug::run(data));
