//! The Lab2 machine: sequences of frames, time-outs, link changes and commands, against an oracle.

#![no_main]

#[path = "../../checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::run(data));
