//! A node of a Jitterbug ring: sequences of datagrams, bytes on connections, time-outs and commands, against what must hold
//! of it.

#![no_main]

#[path = "../../jitterbug/mod.rs"]
mod jitterbug;
#[path = "../../script.rs"]
mod script;

libfuzzer_sys::fuzz_target!(|data: &[u8]| jitterbug::run(data));
