#![forbid(unsafe_code)]
//! Everything that needs a network: real daemons, the kernel's rooms and `ringctl`, in worlds of
//! their own, side by side.
//!
//! `cargo test --test network` runs all of it, `cargo test --test network locks::` one part.

mod chaos;
mod fencing;
mod ftn;
mod grades;
mod hooks;
mod locks;
mod note;
mod peer;
mod recipes;
mod ring;
mod service;
mod station;
mod sys;
mod untidy;

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

/// How far a file's time may be behind the clock.
const TICK: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    // Tests start this program again as a process that they want something of.
    ring_chaos::burn::burn_if_asked();
    let asked = grades::work_if_asked()
        .or_else(sys::act_as_a_child)
        .or_else(note::run_if_asked)
        .or_else(ftn::run_if_asked);
    if let Some(code) = asked {
        return code;
    }
    let parts = [
        chaos::tests(),
        ring::tests(),
        grades::tests(),
        fencing::tests(),
        ftn::tests(),
        locks::tests(),
        note::tests(),
        hooks::tests(),
        peer::tests(),
        recipes::tests(),
        service::tests(),
        station::tests(),
        sys::tests(),
        untidy::tests(),
    ];
    let began = SystemTime::now() - TICK;
    let code = ring_segment::main(parts.into_iter().flatten().collect());
    // The others of this program's processes run single tests.
    if ring_segment::is_runner() && recipes::record::untried(began) > 0 {
        return ExitCode::FAILURE;
    }
    code
}
