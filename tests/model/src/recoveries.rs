//! From which states the faults end, and how that went.

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
    /// Runs a recovery from one state in `one_in`, chosen by the state alone; 0: from none. `false`: it has failed.
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
            Ok(took) => {
                self.slowest.fetch_max(nanos(took), Ordering::Relaxed);
                true
            }
            Err(_) => false,
        }
    }

    /// How many there were, and how long the slowest took.
    pub fn so_far(&self) -> (u64, Duration) {
        let slowest = Duration::from_nanos(self.slowest.load(Ordering::Relaxed));
        (self.count.load(Ordering::Relaxed), slowest)
    }
}

fn fingerprint(state: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new(); // with the same keys in every run
    state.hash(&mut hasher);
    hasher.finish()
}
