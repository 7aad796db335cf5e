//! The rows as this node has read them last (`docs/board.md`, section 4).

use std::collections::BTreeMap;

use crate::andrews::{Change, Rows, Seat};
use crate::time::Instant;

/// What a look has read, and what this coordinator has changed since.
#[derive(Debug)]
pub(crate) struct View {
    successors: BTreeMap<u32, u32>,
    seat: Seat,
    acting: bool,
    beat: u64,
    sequence: u64,
    /// When the look began.
    read_at: Instant,
}

impl View {
    pub(crate) fn new(rows: Rows, read_at: Instant) -> Self {
        Self {
            successors: rows.members.into_iter().collect(),
            seat: rows.seat,
            acting: rows.acting,
            beat: rows.beat,
            sequence: rows.sequence,
            read_at,
        }
    }

    pub(crate) const fn seat(&self) -> Seat {
        self.seat
    }

    /// Whether the coordinator is an acting one.
    pub(crate) const fn acting(&self) -> bool {
        self.acting
    }

    pub(crate) const fn beat(&self) -> u64 {
        self.beat
    }

    /// The largest sequence with which the token was used.
    pub(crate) const fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(crate) const fn read_at(&self) -> Instant {
        self.read_at
    }

    /// N.
    pub(crate) fn len(&self) -> usize {
        self.successors.len()
    }

    /// Members and their successors.
    pub(crate) const fn ring(&self) -> &BTreeMap<u32, u32> {
        &self.successors
    }

    pub(crate) fn successor(&self, id: u32) -> Option<u32> {
        self.successors.get(&id).copied()
    }

    pub(crate) fn predecessor(&self, id: u32) -> Option<u32> {
        let mut all = self.successors.iter();
        all.find_map(|(&node, &next)| (next == id).then_some(node))
    }

    pub(crate) fn is_member(&self, id: u32) -> bool {
        self.successors.contains_key(&id)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = u32> {
        self.successors.keys().copied()
    }

    pub(crate) fn has_same_members(&self, other: &Self) -> bool {
        self.successors == other.successors
    }

    /// The members in ring order from the smallest: once each, whatever the rows are.
    pub(crate) fn in_order(&self) -> Vec<u32> {
        let mut rest = self.successors.clone();
        let mut order = Vec::new();
        while let Some((&start, _)) = rest.first_key_value() {
            let mut at = start;
            while let Some(next) = rest.remove(&at) {
                order.push(at);
                at = next;
            }
        }
        order
    }

    /// Notes what this coordinator has changed: under its guard nobody else has changed anything.
    pub(crate) fn apply(&mut self, change: Change) {
        match change {
            Change::Insert {
                node,
                after,
                before,
            } => {
                self.successors.insert(node, before);
                self.successors.insert(after, node);
            }
            Change::Remove { node, after } => {
                if let Some(next) = self.successors.remove(&node) {
                    self.successors.insert(after, next);
                }
            }
        }
    }

    /// This coordinator has raised the term, for a new token.
    pub(crate) const fn raise_term(&mut self, term: u64) {
        self.seat.term = term;
        self.sequence = term << 32;
    }

    /// The term of a new token: above all that was used.
    pub(crate) fn next_term(&self, highest: u64) -> u64 {
        let used = [self.seat.term, self.sequence >> 32, highest >> 32];
        used.into_iter().max().unwrap_or_default().saturating_add(1)
    }
}
