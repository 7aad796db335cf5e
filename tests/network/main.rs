#![forbid(unsafe_code)]
//! All tests that need a network: real daemons, control sockets and `ringctl`. Each worker process runs its tests
//! in its own namespaces, in parallel with the others.
//!
//! `cargo test --test network` runs all tests, `cargo test --test network locks::` a part.

mod chaos;
mod daemon;
mod faulty_machines;
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
mod runtime;
mod service;

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

/// Maximum difference between a file's time and the clock.
const CLOCK_TOLERANCE: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    // Tests start this program again as a helper process.
    ring_chaos::burners::burn_if_asked();
    let asked = grades::work_if_asked().or_else(runtime::run_as_child);
    if let Some(code) = asked {
        return code;
    }
    // Parts with long tests come first: otherwise all others would wait for the last one.
    let parts = [
        fencing::tests(),
        faulty_machines::tests(),
        grades::tests(),
        health::tests(),
        locks::tests(),
        recipes::tests(),
        ring::tests(),
        ftn::tests(),
        jitterbug::tests(),
        peer::tests(),
        daemon::tests(),
        service::tests(),
        hooks::tests(),
        runtime::tests(),
        chaos::tests(),
    ];
    let began = SystemTime::now() - CLOCK_TOLERANCE;
    let code = ring_segment::main(parts.into_iter().flatten().collect());
    // Only the process that runs all tests checks this; the others run single tests.
    if ring_segment::is_runner() && recipes::record::report_untried(began) > 0 {
        return ExitCode::FAILURE;
    }
    code
}
