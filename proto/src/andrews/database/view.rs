//! The rows as this node read them last (`docs/board/protocol/members.md`, rules L).

use std::collections::BTreeMap;

use crate::andrews::{Change, CoordinatorRow, Rows};
use crate::time::Instant;

/// The rows of the last look, with the later changes of this node as coordinator.
#[derive(Debug)]
pub(crate) struct View {
    successors: BTreeMap<u32, u32>,
    seat: CoordinatorRow,
    acting: bool,
    beat: u64,
    sequence: u64,
    /// The time at which the look began.
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

    pub(crate) const fn seat(&self) -> CoordinatorRow {
        self.seat
    }

    pub(crate) const fn acting(&self) -> bool {
        self.acting
    }

    pub(crate) const fn beat(&self) -> u64 {
        self.beat
    }

    /// Returns the largest sequence with which the token was used.
    pub(crate) const fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(crate) const fn read_at(&self) -> Instant {
        self.read_at
    }

    /// Returns N, the number of members.
    pub(crate) fn len(&self) -> usize {
        self.successors.len()
    }

    /// Returns the members with their successors.
    pub(crate) const fn ring(&self) -> &BTreeMap<u32, u32> {
        &self.successors
    }

    pub(crate) fn successor(&self, id: u32) -> Option<u32> {
        self.successors.get(&id).copied()
    }

    pub(crate) fn predecessor(&self, id: u32) -> Option<u32> {
        // Only rare requests need this direction, so there is no second map.
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

    /// Returns the members in ring order, from the smallest id. Each member occurs once, even if the rows are not one
    /// cycle.
    pub(crate) fn in_order(&self) -> Vec<u32> {
        let mut rest = self.successors.clone();
        let mut order = Vec::new();
        // Each step removes a row, so rows that are not a cycle cause no endless loop.
        while let Some((&start, _)) = rest.first_key_value() {
            let mut at = start;
            while let Some(next) = rest.remove(&at) {
                order.push(at);
                at = next;
            }
        }
        order
    }

    /// Applies a committed change of this node as coordinator. The guard of the change ensures that the rows were
    /// otherwise unchanged.
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

    /// Raises the coordinator's term because this node makes a new token.
    pub(crate) const fn raise_term(&mut self, term: u64) {
        self.seat.term = term;
        // The job has written this sequence too, so older tokens count as outrun without another look.
        self.sequence = term << 32;
    }

    /// Returns the term of a new token. The new term is larger than all earlier terms.
    pub(crate) fn next_term(&self, highest: u64) -> u64 {
        // The rows may lack a term: after `--drop` they start again, while an old token may still circulate.
        let used = [self.seat.term, self.sequence >> 32, highest >> 32];
        used.into_iter().max().unwrap_or_default().saturating_add(1)
    }
}
