//! Released locks that this node keeps for a moment (`docs/reference/lab2/locks.md I54`). A program that takes the same
//! lock again then gets it without an answer of the owner.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::time::Duration;

use super::{Locks, LocksContext};
use crate::lab2::machine::Writer;
use crate::lab2::{Event, LockName, LockRequest};
use crate::time::Instant;

/// The maximum age of a session whose lock a node keeps. People see the age of the session instead of the age of its
/// last program, so the session must not become old.
const SESSION_AGE_MAX: Duration = Duration::from_secs(1);
/// The maximum number of times that programs use the same session again. Each program has its own fencing token.
pub(super) const REUSES_MAX: u32 = 100_000;

/// The released locks that this node keeps.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct KeptLocks {
    /// The sessions of the kept locks, and the times at which the node releases them.
    names: BTreeMap<LockName, (u64, Instant)>,
    /// The sessions that a later program uses now. The key is the number of the program's request, and the value is the
    /// number of the session.
    users: BTreeMap<u64, u64>,
}

impl KeptLocks {
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether this node keeps the lock of this session, so that no program uses the session.
    pub(super) fn has(&self, session: u64) -> bool {
        self.names.values().any(|&(kept, _)| kept == session)
    }

    /// Returns the number of the session that the program with this request uses.
    pub(super) fn session_of(&self, request: u64) -> u64 {
        self.users.get(&request).copied().unwrap_or(request)
    }

    /// Forgets which program uses a session.
    pub(super) fn forget_user(&mut self, request: u64) {
        self.users.remove(&request);
    }

    /// Forgets a session.
    pub(super) fn forget(&mut self, name: LockName, session: u64) {
        if self
            .names
            .get(&name)
            .is_some_and(|&(kept, _)| kept == session)
        {
            self.names.remove(&name);
        }
    }

    pub(super) fn next_end(&self) -> Option<Instant> {
        self.names.values().map(|&(_, until)| until).min()
    }
}

impl Locks {
    /// Keeps the lock of a program that has ended. Returns `false` if this node must release the lock now.
    pub(super) fn keep(&mut self, locks: &LocksContext<'_>, id: u64) -> bool {
        let now = locks.now();
        let Some(session) = self.sessions.open.get(&id) else {
            return false;
        };
        let name = session.request.name;
        let may_keep = locks.tenure.stays
            && session.may_be_kept()
            && now.since(session.began) < SESSION_AGE_MAX
            && !self.is_wanted(name)
            && !self.kept.names.contains_key(&name);
        if may_keep {
            let until = now + locks.take_timeout();
            self.kept.names.insert(name, (id, until));
            self.sessions.note_request(until);
        }
        may_keep
    }

    /// Gives a kept lock to a program that takes it again. Returns `false` if this node keeps no such lock.
    pub(super) fn reuse(&mut self, locks: &LocksContext<'_>, request: &LockRequest) -> bool {
        let Some((id, _)) = self.kept.names.remove(&request.name) else {
            return false;
        };
        let half = locks.lease_lasts() / 2;
        let session = self.sessions.open.get_mut(&id);
        let fence = session.and_then(|it| it.reuse(request, locks.now().before(half)));
        let Some(fence) = fence else {
            self.end_session(locks, id);
            return false;
        };
        self.kept.users.insert(request.session, id);
        let session = request.session;
        self.report(Event::LockGranted { session, fence });
        true
    }

    fn is_wanted(&self, name: LockName) -> bool {
        let mut pending = self.pending.iter();
        let mut open = self.sessions.open.values();
        [&self.quorum, &self.others]
            .iter()
            .any(|table| table.waiting(name).next().is_some())
            || pending.any(|it| it.is_for(name))
            || open.any(|it| it.granted.is_none() && it.request.name == name)
    }

    /// Releases the lock with this name, if this node keeps it.
    pub(super) fn release_kept(&mut self, locks: &LocksContext<'_>, name: LockName) {
        if let Some((id, _)) = self.kept.names.remove(&name) {
            self.end_session(locks, id);
        }
    }

    /// Releases the kept locks that are wanted, or whose time is over. A node that leaves keeps no lock.
    pub(super) fn review_kept(&mut self, locks: &LocksContext<'_>) {
        let now = locks.now();
        let kept = self.kept.names.iter();
        let over = kept.filter(|&(&name, &(_, until))| {
            !locks.tenure.stays || until <= now || self.is_wanted(name)
        });
        for name in over.map(|(&name, _)| name).collect::<Vec<_>>() {
            self.release_kept(locks, name);
        }
    }
}

impl KeptLocks {
    pub(super) fn snapshot(&self, writer: &mut Writer) {
        let Self { names, users } = self;
        names.len().hash(writer);
        for (name, (session, until)) in names {
            (name, session, until.since(writer.now)).hash(writer);
        }
        users.hash(writer);
    }
}
