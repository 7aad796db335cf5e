//! The tables of the database, and the transactions with their guards (`docs/board/protocol/database.md`, rules D).
//! Each transaction is one step: a reader sees either all of its changes or no change.

use std::collections::{BTreeMap, BTreeSet};

use ring_proto::andrews::{Change, CoordinatorRow, Outcome, Rows, Work, Write};

/// The first term with sequences that are too large for the tables.
const MAX_TERM: u64 = 1 << 31;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Post {
    /// The request that has written the post.
    pub(super) request: u64,
    /// The node that got the request.
    pub(super) node: u32,
    pub(super) sequence: u64,
    /// The unique key, if the post has a key.
    pub(super) key: Option<u64>,
}

/// The contents of the database.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) topology: Topology,
    nodes: BTreeSet<u32>,
    /// The posts in the order of their ids.
    pub(super) posts: Vec<Post>,
    /// The keys of all posts.
    keys: BTreeSet<u64>,
    /// The number of posts of each request.
    written: BTreeMap<u64, usize>,
}

/// Everything except the posts.
#[derive(Debug, Clone, Default)]
pub(super) struct Topology {
    /// Members and their successors.
    pub(super) ring: BTreeMap<u32, u32>,
    pub(super) seat: CoordinatorRow,
    pub(super) acting: bool,
    pub(super) beat: u64,
    pub(super) sequence: u64,
    pub(super) holder: Option<u32>,
}

impl Tables {
    /// Runs one transaction of a node. `key` returns the key of a request's post.
    pub(super) fn carry_out(
        &mut self,
        own: u32,
        work: &Work,
        key: impl Fn(u64) -> Option<u64>,
    ) -> Outcome {
        match work {
            Work::Prepare { drop } => {
                self.nodes.insert(own);
                if *drop {
                    let topology = &mut self.topology;
                    topology.ring.clear();
                    topology.seat.id = None;
                    topology.seat.term += 1;
                }
                Outcome::Done
            }
            Work::ReadRing => Outcome::Rows(self.topology.rows(&self.nodes)),
            Work::Write(write) => self.write(own, *write),
            Work::Serve {
                sequence, requests, ..
            } => {
                if !fits(*sequence >> 32) {
                    return Outcome::Failed;
                }
                if !self.topology.use_token(own, *sequence) {
                    return Outcome::Refused;
                }
                for request in requests.iter().filter(|request| request.is_post) {
                    let key = key(request.id);
                    if key.is_none_or(|key| self.keys.insert(key)) {
                        *self.written.entry(request.id).or_default() += 1;
                        self.posts.push(Post {
                            request: request.id,
                            node: own,
                            sequence: *sequence,
                            key,
                        });
                    }
                }
                Outcome::Done
            }
        }
    }

    fn write(&mut self, own: u32, write: Write) -> Outcome {
        let term = match write {
            Write::Token { new, .. } => new,
            Write::Claim { seen, .. } | Write::Elected { seen } => seen.term.saturating_add(1),
            Write::Found { term, .. } | Write::Change { term, .. } | Write::Beat { term } => term,
            Write::Test => return Outcome::Done,
        };
        if !fits(term) {
            return Outcome::Failed;
        }
        // A transaction whose guard fails is rolled back as a whole.
        let before = self.topology.clone();
        if self.topology.rewrite(own, write).is_none() {
            self.topology = before;
            return Outcome::Refused;
        }
        Outcome::Done
    }

    /// Returns the number of posts of a request. If the request has a key, counts the posts of all requests with this
    /// key.
    pub(super) fn count(&self, request: u64, key: Option<u64>) -> usize {
        match key {
            Some(key) => self.posts.iter().filter(|it| it.key == Some(key)).count(),
            None => self.written.get(&request).copied().unwrap_or_default(),
        }
    }
}

impl Topology {
    fn rows(&self, nodes: &BTreeSet<u32>) -> Rows {
        Rows {
            nodes: nodes.iter().copied().collect(),
            members: self.ring.iter().map(|(&id, &next)| (id, next)).collect(),
            seat: self.seat,
            acting: self.acting,
            beat: self.beat,
            sequence: self.sequence,
        }
    }

    /// Checks that no newer token was used, and records the use of this token.
    fn use_token(&mut self, own: u32, sequence: u64) -> bool {
        let is_again = self.sequence == sequence && self.holder == Some(own);
        let is_newer = self.sequence < sequence;
        if is_newer {
            (self.sequence, self.holder) = (sequence, Some(own));
        }
        is_newer || is_again
    }

    /// Writes the row first, and then the ring and the token. Returns `None` if a guard fails.
    fn rewrite(&mut self, own: u32, write: Write) -> Option<()> {
        self.write_row(own, write)?;
        match write {
            Write::Found { term, .. } => {
                self.ring.is_empty().then_some(())?;
                self.ring.insert(own, own);
                (self.sequence, self.holder) = (term << 32, Some(own));
            }
            Write::Token { new, .. } => {
                (self.sequence, self.holder) = (new << 32, Some(own));
            }
            Write::Claim { change, .. } => {
                if let Some(change) = change {
                    self.change(change)?;
                }
            }
            Write::Change { change, .. } => self.change(change)?,
            Write::Elected { .. } | Write::Beat { .. } | Write::Test => {}
        }
        Some(())
    }

    fn write_row(&mut self, own: u32, write: Write) -> Option<()> {
        let own_seat = |term| CoordinatorRow {
            id: Some(own),
            term,
        };
        let (guard, row) = match write {
            Write::Found { seen, term, .. } => (seen, own_seat(term)),
            Write::Claim { seen, .. } | Write::Elected { seen } => (seen, own_seat(seen.term + 1)),
            Write::Change { term, .. } | Write::Beat { term } => (own_seat(term), own_seat(term)),
            Write::Token { term, new } => (own_seat(term), own_seat(new)),
            Write::Test => return Some(()),
        };
        (self.seat == guard).then_some(())?;
        self.seat = row;
        match write {
            Write::Found { acting, .. } => self.acting = acting,
            Write::Claim { .. } => self.acting = true,
            Write::Elected { .. } => self.acting = false,
            Write::Change { .. } | Write::Beat { .. } => self.beat += 1,
            Write::Token { .. } | Write::Test => {}
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
                let next = self.ring.remove(&node)?;
                (self.ring.get(&after) == Some(&node)).then_some(())?;
                self.ring.insert(after, next);
            }
        }
        Some(())
    }

    /// Whether the members form one cycle, or there are no members.
    pub(super) fn is_cycle(&self) -> bool {
        let Some((&first, _)) = self.ring.first_key_value() else {
            return true;
        };
        let mut at = first;
        for step in 1..=self.ring.len() {
            let Some(&next) = self.ring.get(&at) else {
                return false;
            };
            at = next;
            if at == first {
                return step == self.ring.len();
            }
        }
        false
    }
}

const fn fits(term: u64) -> bool {
    term < MAX_TERM
}

#[cfg(test)]
mod tests {
    use ring_proto::andrews::Request;

    use super::*;

    fn seat(id: u32, term: u64) -> CoordinatorRow {
        CoordinatorRow { id: Some(id), term }
    }

    fn write(tables: &mut Tables, own: u32, write: Write) -> Outcome {
        tables.carry_out(own, &Work::Write(write), |_| None)
    }

    fn post(tables: &mut Tables, own: u32, sequence: u64, key: Option<u64>) -> Outcome {
        let request = Request {
            id: sequence,
            is_post: true,
        };
        let work = Work::Serve {
            sequence,
            requests: vec![request],
            feed: false,
        };
        tables.carry_out(own, &work, |_| key)
    }

    /// Returns tables in which node 1 has founded the ring and has inserted node 2.
    fn two() -> Tables {
        let mut tables = Tables::default();
        let found = Write::Found {
            seen: CoordinatorRow::default(),
            term: 1,
            acting: false,
        };
        assert_eq!(write(&mut tables, 1, found), Outcome::Done);
        let (term, change) = (1, insert(2, 1, 1));
        let join = Write::Change { term, change };
        assert_eq!(write(&mut tables, 1, join), Outcome::Done);
        tables
    }

    const fn insert(node: u32, after: u32, before: u32) -> Change {
        Change::Insert {
            node,
            after,
            before,
        }
    }

    #[test]
    fn a_node_that_has_not_read_the_row_writes_nothing() {
        let mut tables = two();
        let before = format!("{tables:?}");
        for (own, stale) in [
            (
                2,
                Write::Found {
                    seen: seat(1, 1),
                    term: 2,
                    acting: false,
                },
            ),
            (2, Write::Elected { seen: seat(1, 0) }),
            (2, Write::Beat { term: 1 }),
            (1, Write::Token { term: 2, new: 3 }),
            (
                2,
                Write::Claim {
                    seen: seat(1, 1),
                    change: Some(insert(3, 2, 2)),
                },
            ),
        ] {
            assert_eq!(write(&mut tables, own, stale), Outcome::Refused);
            assert_eq!(format!("{tables:?}"), before, "{stale:?}");
        }
    }

    #[test]
    fn members_come_and_go_and_are_one_cycle() {
        let mut tables = two();
        let seen = seat(1, 1);
        let change = Some(insert(3, 2, 1));
        let claim = Write::Claim { seen, change };
        assert_eq!(write(&mut tables, 2, claim), Outcome::Done);
        assert_eq!(tables.topology.seat, seat(2, 2));
        let ring = [(1, 2), (2, 3), (3, 1)];
        assert!(tables.topology.ring == ring.into() && tables.topology.is_cycle());
        let change = Change::Remove { node: 1, after: 3 };
        let removal = Write::Change { term: 2, change };
        assert_eq!(write(&mut tables, 2, removal), Outcome::Done);
        assert_eq!(tables.topology.ring, [(2, 3), (3, 2)].into());
        assert_eq!(write(&mut tables, 2, removal), Outcome::Refused);
        tables.topology.ring.insert(3, 3);
        assert!(!tables.topology.is_cycle());
    }

    #[test]
    fn an_older_token_or_one_of_another_holder_writes_no_post() {
        let mut tables = two();
        let (first, next) = (1 << 32, (1 << 32) + 1);
        assert_eq!(post(&mut tables, 2, first, None), Outcome::Refused);
        assert_eq!(post(&mut tables, 1, first, None), Outcome::Done);
        assert_eq!(post(&mut tables, 2, next, Some(7)), Outcome::Done);
        assert_eq!(post(&mut tables, 1, next, None), Outcome::Refused);
        assert_eq!(post(&mut tables, 2, next, Some(7)), Outcome::Done);
        assert_eq!(tables.posts.len(), 2, "a key is there once");
        assert_eq!((tables.count(next, None), tables.count(0, Some(7))), (1, 1));
    }

    #[test]
    fn a_term_that_does_not_fit_fails() {
        let mut tables = two();
        let new = MAX_TERM;
        let token = Write::Token { term: 1, new };
        assert_eq!(write(&mut tables, 1, token), Outcome::Failed);
        assert_eq!(post(&mut tables, 1, new << 32, None), Outcome::Failed);
    }
}
