//! Selects the next write to the database (`docs/board/protocol/members.md`, rules S; `failures.md`, rules F;
//! `database.md`, rules D; `elections.md`, rules E; `token.md`, rules T).

use super::Andrews;
use crate::andrews::database::{DatabaseAttempt, View};
use crate::andrews::election::Victory;
use crate::andrews::ring::{Membership, Role};
use crate::andrews::{Change, CoordinatorRow, Work, Write};
use crate::time::Instant;

impl Andrews {
    /// Starts the next job, if the database is free.
    pub(super) fn use_database(&mut self) {
        // A request that is due needs a look, which must start before the next write.
        self.on_repeat_due();
        // A look comes first, so that the write is decided on new rows. The gap between looks leaves time for a write.
        if let Some(how) = self.database.next_attempt(self.now) {
            let drop = self.options.drop;
            let work = match how {
                DatabaseAttempt::Prepare => Work::Prepare { drop },
                DatabaseAttempt::Write => Work::Write(Write::Test),
                DatabaseAttempt::Look => Work::ReadRing,
            };
            self.database.start(self.now, work);
        }
        if self.database.is_free()
            && self.database.is_fresh()
            && let Some(write) = self.next_write()
        {
            self.database.start(self.now, Work::Write(write));
        }
    }

    fn next_write(&mut self) -> Option<Write> {
        // The order matters: a node first repairs the ring for itself, then for others.
        let seat = self.view.as_ref()?.seat();
        let is_coordinator = self.duties.is_some();
        match self.role {
            Role::Starting(_) => return self.startup_write(),
            Role::Joining(_) if is_coordinator => return self.own_insertion_write(),
            Role::Joining(_) if seat.id.is_none() => return self.startup_write(),
            _ => {}
        }
        self.write_after_requests()
            .or_else(|| self.victory_write())
            .or_else(|| self.claim_without_token())
            .or_else(|| self.token_write())
            .or_else(|| self.next_member_request())
            .or_else(|| self.beat_write())
            .or_else(|| self.test_write())
    }

    /// Returns a change that inserts the node behind a random member.
    pub(super) fn insertion(&mut self, node: u32) -> Option<Change> {
        let view = self.view.as_ref()?;
        // A random place spreads the nodes, so that nodes that join at the same time do not all depend on one
        // predecessor.
        let count = u32::try_from(view.len()).unwrap_or(u32::MAX);
        let after = view.members().nth(self.draw.next_below(count) as usize)?;
        let before = view.successor(after)?;
        Some(Change::Insert {
            node,
            after,
            before,
        })
    }

    fn found_write(&self, view: &View, acting: bool) -> Write {
        Write::Found {
            seen: view.seat(),
            // A token of an earlier ring must not be newer than the token of this ring.
            term: view.next_term(self.token.highest()),
            acting,
        }
    }

    /// Returns a node's first write. The node writes if there is no coordinator, or if the row still names this node
    /// because of an earlier process.
    fn startup_write(&mut self) -> Option<Write> {
        let own = self.options.id;
        let view = self.view.as_ref()?;
        let seen = view.seat();
        if view.len() == 0 {
            return Some(self.found_write(view, seen.id.is_some()));
        }
        let is_member = view.is_member(own);
        // One transaction claims and inserts, so that no change of another node comes between the two.
        let change = if is_member { None } else { self.insertion(own) };
        self.watch.on_claim_started(false);
        Some(Write::Claim { seen, change })
    }

    /// If the coordinator is not a member, returns the write that inserts it into the ring.
    fn own_insertion_write(&mut self) -> Option<Write> {
        let view = self.view.as_ref()?;
        let term = view.seat().term;
        if view.len() == 0 {
            return Some(self.found_write(view, view.acting()));
        }
        let change = self.insertion(self.options.id)?;
        Some(Write::Change { term, change })
    }

    /// If a node's JOIN or SUCCESSOR_REQUEST had no effect, returns the write that the node makes instead.
    fn write_after_requests(&mut self) -> Option<Write> {
        let (own, failed) = (self.options.id, self.role.failed_successor());
        if !self.role.repeated_request_mut()?.take_ready() {
            return None;
        }
        let removal = failed.map(|node| Change::Remove { node, after: own });
        let view = self.view.as_ref()?;
        let seen = view.seat();
        if self.duties.is_some() {
            let term = seen.term;
            return removal.map(|change| Write::Change { term, change });
        }
        if view.len() == 0 {
            // No election has chosen this node, so this coordinator is only acting.
            return Some(self.found_write(view, true));
        }
        let change = removal.or_else(|| self.insertion(own));
        self.watch.on_claim_started(false);
        Some(Write::Claim { seen, change })
    }

    /// If this member saw no token for 2 × R, returns its claim of the coordinator's place. A live coordinator would
    /// make a token within 2 × R.
    fn claim_without_token(&mut self) -> Option<Write> {
        let (now, own) = (self.now, self.options.id);
        let due = self.tokenless_claim_due().filter(|due| *due <= now)?;
        if self.view.as_ref()?.read_at() < due {
            // The coordinator's beat may have moved since the last look.
            self.database.want_look();
            return None;
        }
        // Older proof is not enough. The acknowledgement of the last token came after that token. A node that was cut
        // off right after it would have proof indefinitely.
        let since = now.before(self.silence());
        let is_beat_late = self.is_beat_stalled(self.options.beat_timeout_with_proof());
        let is_beat_dead = self.is_beat_stalled(self.options.beat_timeout_without_proof());
        let is_proven = is_beat_late && self.proof.has_contact_since(since);
        if !(is_beat_dead || is_proven) {
            return None;
        }
        let seen = self.view.as_ref()?.seat();
        let failed = self.role.failed_successor();
        // The claim can remove the failed successor in the same transaction.
        let change = failed.map(|node| Change::Remove { node, after: own });
        self.watch.on_claim_started(true);
        Some(Write::Claim { seen, change })
    }

    /// Returns the time at which this member claims the coordinator's place unless it sees a token before.
    fn tokenless_claim_due(&self) -> Option<Instant> {
        if self.duties.is_some() || self.role.member().is_none() {
            return None;
        }
        // A new coordinator gets the full time to make a token.
        let since = self.watch.coordinator_since();
        let since = self
            .token
            .last_seen(self.now)
            .map_or(since, |it| it.max(since));
        Some(since + self.silence().saturating_mul(2))
    }

    fn token_write(&mut self) -> Option<Write> {
        let due = self.new_token_due().filter(|due| *due <= self.now)?;
        let view = self.view.as_ref()?;
        // A new look may show that another node has used a token since.
        if view.read_at() < due {
            self.database.want_look();
            return None;
        }
        let new = view.next_term(self.token.highest());
        let term = view.seat().term;
        Some(Write::Token { term, new })
    }

    /// Returns the time at which the coordinator makes a token.
    fn new_token_due(&self) -> Option<Instant> {
        let duties = self.duties.as_ref()?;
        if !self.token.is_away() || self.role.member().is_none() {
            return None;
        }
        let seen = self.token.last_seen(self.now);
        Some(duties.token_due(seen, self.silence()))
    }

    /// Returns the beat. A coordinator writes no beat if it lost its successor and has had no proof since then that the
    /// network works. Then another node can replace this coordinator.
    fn beat_write(&mut self) -> Option<Write> {
        let CoordinatorRow { term, .. } = self.view.as_ref()?.seat();
        let lost_at = self.role.member().and_then(Membership::lost_at);
        if lost_at.is_some_and(|since| !self.proof.has_contact_since(since)) {
            return None;
        }
        // Without proof the beat stays due, so that the node writes it as soon as proof arrives.
        let is_due = self.duties.as_mut()?.take_beat_due();
        is_due.then_some(Write::Beat { term })
    }

    /// Returns the write that tests the database. A node that only reads does not notice that the database refuses
    /// writes.
    fn test_write(&mut self) -> Option<Write> {
        // The only sign is a beat that does not move, because the coordinator cannot write either.
        let is_beat_late = self.is_beat_stalled(self.options.beat_timeout_with_proof());
        let is_due = is_beat_late && self.duties.is_none();
        (is_due && self.watch.take_try_due()).then_some(Write::Test)
    }

    /// Returns the time at which the next write is due. A write that is already due waits for the database, so it needs
    /// no timer.
    pub(super) fn write_due(&self) -> Option<Instant> {
        let victory = self.victory.as_ref().map(Victory::due);
        [victory, self.tokenless_claim_due(), self.new_token_due()]
            .into_iter()
            .flatten()
            .filter(|due| *due > self.now)
            .min()
    }
}
