//! Checks the records of named locks: the copies of all nodes, and the changes that owners announce
//! (`docs/reference/lab2/locks.md`). These checks find an error even if no second program wants the lock.
//!
//! | rule | checked when |
//! |---|---|
//! | more than half of the ring has stored the held record (I29) | a program gets a lock of grade quorum |
//! | no program relies on a removed lock (I16, I42) | an owner announces that it removed a record |
//! | no session with a smaller ticket waits (I17) | an owner announces that it granted a lock |

use std::collections::{BTreeMap, BTreeSet};

use ring_codec::MacAddr;
use ring_codec::lab2::{LockState, LocksPurpose, Message, Token};
use ring_proto::lab2::{Grade, LockView};

use super::Inspect;
use super::named_locks::LockHolder;
use super::outcome::Rule;
use super::system::World;

/// The nodes that have stored held records of grade quorum. The list contains only sessions whose programs wait.
#[derive(Debug, Default)]
pub(super) struct LockRecords {
    /// The stored records of each session.
    stored: BTreeMap<u64, Vec<StoredRecord>>,
    /// The last fencing token that programs of a node got for each name.
    last: BTreeMap<(usize, u8), Token>,
}

/// A held record that nodes have stored.
#[derive(Debug)]
struct StoredRecord {
    fence: Token,
    /// The nodes that have stored the record.
    nodes: BTreeSet<usize>,
    /// The size of a quorum when the last of these nodes stored the record. The table may grow before the program
    /// hears of its lock.
    needed: usize,
}

impl LockRecords {
    fn note(&mut self, node: usize, session: u64, fence: Token, needed: usize) {
        let records = self.stored.entry(session).or_default();
        let known = records.iter_mut().find(|known| known.fence == fence);
        if let Some(record) = known {
            if record.nodes.insert(node) {
                record.needed = needed;
            }
        } else {
            records.push(StoredRecord {
                fence,
                nodes: BTreeSet::from([node]),
                needed,
            });
        }
    }

    /// Returns the record with this fencing token, and forgets the session.
    fn take(&mut self, session: u64, fence: Token) -> Option<StoredRecord> {
        let records = self.stored.remove(&session).unwrap_or_default();
        records.into_iter().find(|known| known.fence == fence)
    }
}

/// A lock that an owner granted or removed.
#[derive(Debug, Clone, Copy)]
pub(super) struct LockChange {
    /// The address of the session's node.
    member: MacAddr,
    session: u64,
    /// The number of the lock's name; `None` for locks of lower grades than `quorum`.
    quorum_name: Option<u8>,
    fence: Token,
    is_removed: bool,
}

/// Returns the number of a name such as `lock-1`.
fn number_of(name: &str) -> Option<u8> {
    name.strip_prefix("lock-")?.parse().ok()
}

/// Returns the fencing token of a change (I20). A simulated owner makes fewer than 2³² changes under one token.
fn fence_of(token: Token, change: u64) -> Option<Token> {
    let number = u32::MAX - u32::try_from(change).ok()?;
    Some(Token { number, ..token })
}

/// Returns the locks that the author of a frame granted or removed.
pub(super) fn lock_changes(message: &Message<'_>) -> impl Iterator<Item = LockChange> {
    let (granted, is_quorum, locks) = match *message {
        Message::Locks {
            purpose: LocksPurpose::Change,
            token,
            serial,
            grade,
            locks,
            ..
        } => (fence_of(token, serial), grade == Grade::Quorum as u8, locks),
        _ => (None, false, [].as_slice()),
    };
    locks.iter().filter_map(move |lock| {
        let fence = lock.fence()?;
        let is_removed = lock.state() == Some(LockState::Gone);
        // A record keeps the fencing token of the change that granted the lock.
        let is_granted = lock.state() == Some(LockState::Held) && granted == Some(fence);
        (is_removed || is_granted).then_some(LockChange {
            member: lock.member,
            session: lock.session.get(),
            quorum_name: number_of(lock.name()?).filter(|_| is_quorum),
            fence,
            is_removed,
        })
    })
}

fn needs_quorum(view: &LockView) -> bool {
    view.grade == Grade::Quorum
}

impl<M: Inspect> World<M> {
    /// Notes the held records of grade quorum that a node has stored.
    pub(super) fn note_stored_locks(&mut self, at: usize) {
        let locks = &self.system.named_locks;
        if !locks.has_waiting_for_quorum() {
            return;
        }
        let node = &mut self.nodes[at];
        let Some(driver) = node.driver.as_ref() else {
            return;
        };
        let machine = driver.machine();
        let hash = machine.quorum_locks_hash();
        if std::mem::replace(&mut node.own.quorum_locks_hash, hash) == hash {
            return;
        }
        let mut held = machine.lock_views();
        held.retain(|it| it.is_held && needs_quorum(it) && locks.is_waiting(it.session));
        let needed = self.quorum_size();
        let records = &mut self.system.lock_records;
        for view in held {
            records.note(at, view.session, view.fence, needed);
        }
    }

    /// Checks that more than half of the ring has stored the record of a program's new lock.
    pub(super) fn check_stored(&mut self, own: &LockHolder, fence: Token) {
        let records = &mut self.system.lock_records;
        let record = records.take(own.session, fence);
        let last = records.last.insert((own.node, own.lock.name), fence);
        // A node that reuses a session needs no new record (I54).
        let is_reused = last.is_some_and(|last| {
            let next = last.number.checked_sub(1);
            next.map(|number| Token { number, ..last }) == Some(fence)
        });
        if is_reused {
            return;
        }
        let stored = record.as_ref().map_or(0, |it| it.nodes.len());
        let needed = self.quorum_size();
        let needed = record.map_or(needed, |it| it.needed.min(needed));
        if stored < needed {
            let what = format!("{}, {stored} of {needed} nodes", own.describe(fence));
            self.report_lock(own.node, fence, Rule::LockStored, what);
        }
    }

    /// Returns the number of nodes that a quorum needs. A node with wrong options may count fewer members than the
    /// other nodes.
    fn quorum_size(&self) -> usize {
        let machines = self.live().filter_map(|at| self.machine(at));
        machines.map(M::quorum_size).min().unwrap_or_default()
    }

    /// Checks the locks that a node granted and removed as an owner.
    pub(super) fn check_lock_changes(&mut self, at: usize) {
        for change in std::mem::take(&mut self.nodes[at].own.lock_changes) {
            if change.is_removed {
                self.check_removal(at, &change);
            } else {
                self.check_order(at, &change);
            }
        }
    }

    fn check_removal(&mut self, at: usize, removed: &LockChange) {
        let is_whole = self.is_whole_for_locks();
        let mut programs = self.system.named_locks.programs().iter();
        let holder = programs.find(|it| {
            let node = &self.nodes[it.node];
            let relies = it.claim().is_some_and(|(until, fence)| {
                // The removed record has the last fencing token that its session may have used.
                !fence.is_stronger_than(&removed.fence) && until > node.clock.monotonic(self.now)
            });
            let counts = it.lock.quorum || is_whole && self.is_of_live_process(it);
            // The session of a program that uses a lock of its node again differs from the session of the record (I54).
            let may_use =
                it.lock.quorum && !it.lock.shared && removed.quorum_name == Some(it.lock.name);
            // A node with a new address makes a new record of the session. The record of the old address ends because
            // this address is silent.
            let is_same = it.session == removed.session && it.member() == Some(removed.member);
            (is_same || may_use) && relies && counts
        });
        let Some(holder) = holder.copied() else {
            return;
        };
        let what = holder.describe(removed.fence);
        self.report_lock(at, removed.fence, Rule::LockRemoved, what);
    }

    fn check_order(&mut self, at: usize, granted: &LockChange) {
        let views = self.machine(at).map(M::lock_views).unwrap_or_default();
        let is_granted = |it: &&LockView| {
            it.session == granted.session && it.is_held && it.fence == granted.fence
        };
        let Some(own) = views.iter().find(is_granted) else {
            return;
        };
        // An owner may grant locks of one table earlier than locks of the other table.
        let earlier = views.iter().find(|it| {
            it.name == own.name
                && needs_quorum(it) == needs_quorum(own)
                && !it.is_held
                && it.place < own.place
        });
        let Some(earlier) = earlier else {
            return;
        };
        let what = format!(
            "{}: session {} before session {}",
            own.name, own.session, earlier.session
        );
        self.report_lock(at, granted.fence, Rule::LockOrder, what);
    }

    fn report_lock(&mut self, at: usize, fence: Token, rule: Rule, what: String) {
        if self.may_hold_twice(&fence, &fence) {
            self.system.checks.exempted += 1;
        } else {
            let checks = &mut self.system.checks;
            checks.report(self.now, Some(at), rule, what);
        }
    }
}
