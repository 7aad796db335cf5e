#![forbid(unsafe_code)]
//! All tests that need a network, real daemons, control sockets and `ringctl`. Each worker process runs its tests in
//! its own namespaces, while other workers run too.
//!
//! `cargo test --test network` runs all tests. `cargo test --test network locks::` runs only the tests of `locks`.

mod chaos;
mod conformance;
mod daemon;
mod doctor;
mod faulty_machines;
mod fencing;
mod ftn;
mod grades;
mod health;
mod history;
mod hooks;
mod jitterbug;
mod locks;
mod metrics;
mod named_locks;
mod packages;
mod peer;
mod recipes;
mod record;
mod ring;
mod runtime;
mod service;
mod survey;
mod trust;
mod wireshark;

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

/// Maximum difference between the timestamp of a new file and the clock.
const CLOCK_TOLERANCE: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    // Some tests start this program again as a helper process.
    ring_chaos::burners::burn_if_asked();
    let helper = grades::work_if_asked()
        .or_else(runtime::run_as_child)
        .or_else(ring_chaos::conform::help_if_asked);
    if let Some(code) = helper {
        return code;
    }
    // Modules with long tests come first. Otherwise all other tests would have ended while the last long test still
    // runs.
    let parts = [
        packages::tests(),
        fencing::tests(),
        faulty_machines::tests(),
        grades::tests(),
        health::tests(),
        history::tests(),
        locks::tests(),
        metrics::tests(),
        named_locks::tests(),
        trust::tests(),
        recipes::tests(),
        ring::tests(),
        ftn::tests(),
        jitterbug::tests(),
        wireshark::tests(),
        peer::tests(),
        daemon::tests(),
        doctor::tests(),
        service::tests(),
        survey::tests(),
        hooks::tests(),
        runtime::tests(),
        chaos::tests(),
        conformance::tests(),
    ];
    let began = SystemTime::now() - CLOCK_TOLERANCE;
    let code = ring_segment::main(parts.into_iter().flatten().collect());
    // Only the runner checks this, because the workers run single tests.
    if ring_segment::is_runner() && recipes::record::report_untried(began) > 0 {
        return ExitCode::FAILURE;
    }
    code
}
