//! The states from which a recovery without faults begins, and the durations of the recoveries.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ring_proto::time::nanos;

/// The recoveries of one exploration.
#[derive(Default)]
pub struct Recoveries {
    count: AtomicU64,
    slowest: AtomicU64,
}

impl Recoveries {
    /// Runs a recovery from this state if the hash of the state selects it. The hash selects one state in `one_in`
    /// states. 0 selects no state. Returns `false` if the recovery fails.
    pub fn run<E>(
        &self,
        state: &impl Hash,
        one_in: u64,
        recover: impl FnOnce() -> Result<Duration, E>,
    ) -> bool {
        if one_in == 0 || !fingerprint(state).is_multiple_of(one_in) {
            return true;
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        match recover() {
            Ok(elapsed) => {
                self.slowest.fetch_max(nanos(elapsed), Ordering::Relaxed);
                true
            }
            Err(_) => false,
        }
    }

    /// Returns the number of recoveries, and the duration of the slowest recovery.
    pub fn summary(&self) -> (u64, Duration) {
        let slowest = Duration::from_nanos(self.slowest.load(Ordering::Relaxed));
        (self.count.load(Ordering::Relaxed), slowest)
    }
}

fn fingerprint(state: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new(); // its keys are the same in every run
    state.hash(&mut hasher);
    hasher.finish()
}
