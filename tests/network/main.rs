#![forbid(unsafe_code)]
//! Everything that needs a network: real daemons, the kernel's rooms and `ringctl`, in worlds of
//! their own, side by side.
//!
//! `cargo test --test network` runs all of it, `cargo test --test network locks::` one part.

mod chaos;
mod fencing;
mod ftn;
mod grades;
mod health;
mod hooks;
mod jitterbug;
mod locks;
mod peer;
mod recipes;
mod record;
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
    let asked = grades::work_if_asked().or_else(sys::act_as_a_child);
    if let Some(code) = asked {
        return code;
    }
    // Those with long tests come first: one that began last would be waited for alone.
    let parts = [
        fencing::tests(),
        untidy::tests(),
        grades::tests(),
        health::tests(),
        locks::tests(),
        recipes::tests(),
        ring::tests(),
        ftn::tests(),
        jitterbug::tests(),
        peer::tests(),
        station::tests(),
        service::tests(),
        hooks::tests(),
        sys::tests(),
        chaos::tests(),
    ];
    let began = SystemTime::now() - TICK;
    let code = ring_segment::main(parts.into_iter().flatten().collect());
    // The others of this program's processes run single tests.
    if ring_segment::is_runner() && recipes::record::untried(began) > 0 {
        return ExitCode::FAILURE;
    }
    code
}
