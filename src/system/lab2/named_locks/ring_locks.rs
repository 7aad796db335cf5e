//! The part of the state machine's state that the clients of named locks depend on.

use ring_codec::lab2::LockMode;
use ring_proto::lab2::{Lab2, LockName, LockView};
use ring_proto::time::Instant;

use super::WantedLock;

/// The named locks of the ring, from the view of this node.
pub(crate) trait RingLocks {
    /// Returns the end of the lease of a session of this node; `None` if the session has no lock.
    fn lease_end(&self, session: u64) -> Option<Instant>;

    /// Returns the number of times at which leases were renewed.
    fn renewals(&self) -> u64;

    /// Whether other sessions keep this session from its lock: sessions that hold the lock, or that wait longer for it.
    fn is_taken(&self, lock: WantedLock, session: u64) -> bool;
}

impl RingLocks for Lab2 {
    fn lease_end(&self, session: u64) -> Option<Instant> {
        self.lock_lease_end(session)
    }

    fn renewals(&self) -> u64 {
        self.lock_renewals()
    }

    fn is_taken(&self, lock: WantedLock, session: u64) -> bool {
        let is_own = |it: &LockView| it.session == session && self.is_own(it.member);
        let own = self.locks().find(is_own).map(|it| it.place);
        let mut others = records(self, lock.name).filter(|it| !is_own(it));
        others.any(|it| {
            let is_earlier = it.is_held || own.is_some_and(|place| it.place < place);
            is_earlier && (it.mode == LockMode::Exclusive || lock.mode == LockMode::Exclusive)
        })
    }
}

/// Returns the sessions that hold the lock with this name or wait for it.
pub(super) fn records(machine: &Lab2, name: LockName) -> impl Iterator<Item = LockView> {
    machine.locks().filter(move |it| it.name == name)
}
