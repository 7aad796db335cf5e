//! Fuzzes the Lab2 state machine: sequences of frames, timeouts, link changes and commands.

#![no_main]

#[path = "../../checks/mod.rs"]
mod checks;
#[path = "../../script.rs"]
#[expect(dead_code, reason = "the harness of Lab2 has its own clock")]
mod script;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::run(data));
