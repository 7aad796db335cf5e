//! The copies of the table `Quorum` that members announced to this owner (`docs/reference/lab2/locks.md`).

use std::hash::Hash;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::table::Version;
use crate::lab2::machine::Writer;
use crate::time::Instant;

/// A member's copy of the table `Quorum`. A digest can occur again, so only the version tells old reports from new
/// reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct TableCopy {
    /// The last change. It is `None` if the table never changed.
    pub(super) version: Option<Version>,
    pub(super) digest: u64,
}

impl TableCopy {
    fn is_newer_than(&self, other: &Self) -> bool {
        self.version
            .is_some_and(|own| other.version.is_none_or(|other| own.is_newer_than(&other)))
    }
}

/// The copies that members announced under one token. The next token uses the same memory, so that a hop allocates
/// none.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Agreements {
    token: Option<Token>,
    /// The last copy of each member, and the time of the report.
    copies: Vec<(MacAddr, TableCopy, Instant)>,
}

impl Agreements {
    /// Notes the copy that a member announced under a token; `None` if it announced none. A delayed report does not
    /// replace the report of a newer copy.
    pub(super) fn note(
        &mut self,
        token: Token,
        member: MacAddr,
        copy: Option<TableCopy>,
        now: Instant,
    ) {
        if self.token != Some(token) {
            self.token = Some(token);
            self.copies.clear();
        }
        let at = self.copies.iter().position(|(of, ..)| *of == member);
        match (at, copy) {
            (Some(at), None) => {
                self.copies.swap_remove(at);
            }
            (Some(at), Some(copy)) if !self.copies[at].1.is_newer_than(&copy) => {
                self.copies[at] = (member, copy, now);
            }
            (None, Some(copy)) => self.copies.push((member, copy, now)),
            (_, _) => {}
        }
    }

    /// Returns the members whose copy equals `own`, the copy of this node. The members must have reported their copies
    /// under this token, at the time `from` or later.
    pub(super) fn agreeing(
        &self,
        token: Token,
        own: TableCopy,
        from: Instant,
    ) -> impl Iterator<Item = MacAddr> {
        let copies = self
            .copies
            .iter()
            .filter(move |_| self.token == Some(token));
        let agreeing = copies.filter(move |(_, copy, at)| *copy == own && *at >= from);
        agreeing.map(|&(member, ..)| member)
    }

    /// Hashes the copies that were announced under this token.
    pub(super) fn snapshot(&self, writer: &mut Writer, token: Token) {
        let Self {
            token: known,
            copies,
        } = self;
        if *known != Some(token) {
            return;
        }
        let mut copies = copies.clone();
        copies.sort_unstable_by_key(|(member, ..)| *member);
        for (member, copy, at) in copies {
            (member, copy, writer.now.since(at)).hash(writer);
        }
    }
}
