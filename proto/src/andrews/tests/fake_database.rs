//! A database in memory: the transactions of `docs/board/protocol/database.md`, rules D, each with its guard.

use std::collections::{BTreeMap, BTreeSet};

use crate::andrews::{Change, CoordinatorRow, Outcome, Rows, Work, Write};

/// Returns a row of the coordinator.
pub(crate) const fn seat(id: u32, term: u64) -> CoordinatorRow {
    CoordinatorRow { id: Some(id), term }
}

/// A post: its sequence, the node that wrote it, and its request.
pub(crate) type Post = (u64, u32, u64);

#[derive(Debug, Clone, Default)]
/// The rows of a database in memory.
pub(crate) struct FakeDatabase {
    /// Every node with a row. Only tests about unlisted nodes need this field.
    pub(crate) nodes: BTreeSet<u32>,
    /// Members with their successors.
    pub(crate) ring: BTreeMap<u32, u32>,
    pub(crate) seat: CoordinatorRow,
    pub(crate) acting: bool,
    pub(crate) beat: u64,
    pub(crate) sequence: u64,
    pub(crate) holder: Option<u32>,
    pub(crate) posts: Vec<Post>,
    /// Committed writes, each with the node that wrote it.
    pub(crate) written: Vec<(u32, Write)>,
    /// Whether the test starts with rows that do not form one cycle.
    pub(crate) is_broken: bool,
}

impl FakeDatabase {
    /// Returns the rows of a ring with these members in this order.
    pub(crate) fn ring(members: &[u32], coordinator: u32, term: u64) -> Self {
        let next = members.iter().cycle().skip(1);
        Self {
            ring: members.iter().copied().zip(next.copied()).collect(),
            seat: seat(coordinator, term),
            ..Self::default()
        }
    }

    pub(crate) fn rows(&self) -> Rows {
        Rows {
            nodes: self.nodes.iter().copied().collect(),
            members: self.ring.iter().map(|(&id, &next)| (id, next)).collect(),
            seat: self.seat,
            acting: self.acting,
            beat: self.beat,
            sequence: self.sequence,
        }
    }

    /// Carries out a transaction of a node.
    pub(crate) fn run(&mut self, node: u32, work: &Work) -> Outcome {
        match work {
            Work::Prepare { drop } => {
                if *drop {
                    self.ring.clear();
                    self.seat.id = None;
                    self.seat.term += 1;
                }
                Outcome::Done
            }
            Work::ReadRing => Outcome::Rows(self.rows()),
            Work::Write(write) => {
                let mut after = self.clone();
                if after.write(node, *write).is_none() {
                    return Outcome::Refused;
                }
                after.written.push((node, *write));
                *self = after;
                if !self.is_broken {
                    self.check();
                }
                Outcome::Done
            }
            Work::Serve {
                sequence, requests, ..
            } => {
                let is_again = self.sequence == *sequence && self.holder == Some(node);
                if self.sequence >= *sequence && !is_again {
                    return Outcome::Refused;
                }
                self.sequence = *sequence;
                self.holder = Some(node);
                let posts = requests.iter().filter(|request| request.is_post);
                self.posts
                    .extend(posts.map(|request| (*sequence, node, request.id)));
                Outcome::Done
            }
        }
    }

    fn write(&mut self, node: u32, write: Write) -> Option<()> {
        let own = Some(node);
        match write {
            Write::Found { seen, term, acting } => {
                (self.seat == seen && self.ring.is_empty()).then_some(())?;
                self.seat = CoordinatorRow { id: own, term };
                self.acting = acting;
                self.ring.insert(node, node);
                self.sequence = term << 32;
                self.holder = own;
            }
            Write::Claim { seen, change } => {
                (self.seat == seen).then_some(())?;
                self.seat = CoordinatorRow {
                    id: own,
                    term: seen.term.wrapping_add(1),
                };
                self.acting = true;
                if let Some(change) = change {
                    self.change(change)?;
                }
            }
            Write::Elected { seen } => {
                (self.seat == seen).then_some(())?;
                self.seat = CoordinatorRow {
                    id: own,
                    term: seen.term.wrapping_add(1),
                };
                self.acting = false;
            }
            Write::Change { term, change } => {
                (self.seat == CoordinatorRow { id: own, term }).then_some(())?;
                self.beat = self.beat.wrapping_add(1);
                self.change(change)?;
            }
            Write::Test => {}
            Write::Beat { term } => {
                (self.seat == CoordinatorRow { id: own, term }).then_some(())?;
                self.beat = self.beat.wrapping_add(1);
            }
            Write::Token { term, new } => {
                (self.seat == CoordinatorRow { id: own, term }).then_some(())?;
                self.seat.term = new;
                self.sequence = new << 32;
                self.holder = own;
            }
        }
        Some(())
    }

    fn change(&mut self, change: Change) -> Option<()> {
        match change {
            Change::Insert {
                node,
                after,
                before,
            } => {
                (self.ring.get(&after) == Some(&before)).then_some(())?;
                (!self.ring.contains_key(&node)).then_some(())?;
                self.ring.insert(node, before);
                self.ring.insert(after, node);
            }
            Change::Remove { node, after } => {
                (self.ring.get(&after) == Some(&node)).then_some(())?;
                let next = self.ring.remove(&node)?;
                self.ring.insert(after, next);
            }
        }
        Some(())
    }

    /// Checks that the members form one cycle, or that there are no members.
    fn check(&self) {
        let Some((&first, _)) = self.ring.first_key_value() else {
            return;
        };
        let mut at = first;
        for _ in 1..self.ring.len() {
            at = self.ring[&at];
            assert_ne!(at, first, "{:?} is no cycle", self.ring);
        }
        assert_eq!(self.ring[&at], first, "{:?} is no cycle", self.ring);
    }
}
