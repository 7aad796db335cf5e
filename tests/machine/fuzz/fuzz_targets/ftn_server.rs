//! A server of the token service: sequences of datagrams, time-outs and commands, against what must hold of it.

#![no_main]

#[path = "../../ftn/mod.rs"]
mod ftn;

libfuzzer_sys::fuzz_target!(|data: &[u8]| ftn::run_server(data));
