//! Checks of a server that may be another implementation (`docs/token-service/protocol/conformance.md`).
//!
//! Each check starts two servers of this repository and the program under test on its own segment. A check uses only
//! datagrams, the status of the two other servers, and clients. Each failure names the rule. `stand.rs` contains the
//! servers, `test_peer.rs` contains a socket of the test, and `test_client.rs` contains a client that the test
//! controls.

mod follower;
mod full;
mod leader;
mod stand;
mod test_client;
mod test_peer;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use ring_segment::{Test, WAIT_LIMIT};

const POLL_INTERVAL: Duration = Duration::from_millis(5);

pub(super) fn tests() -> Vec<Test> {
    // The first check of the level full lasts for longer than all other checks.
    let levels = [full::tests(), leader::tests(), follower::tests()];
    levels.into_iter().flatten().collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until a condition is true. The error names the rule.
fn wait_until(rule: &str, mut is_so: impl FnMut() -> bool) -> Result<()> {
    let began = Instant::now();
    while !is_so() {
        ensure!(
            began.elapsed() < WAIT_LIMIT,
            "{rule}: an expected datagram is missing after {WAIT_LIMIT:?}"
        );
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}
