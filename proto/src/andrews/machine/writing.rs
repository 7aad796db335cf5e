//! What is written next (`docs/board.md`, sections 5 to 9).

use super::Andrews;
use crate::andrews::database::{Try, View};
use crate::andrews::election::Victory;
use crate::andrews::ring::{Membership, Role};
use crate::andrews::{Change, Seat, Work, Write};
use crate::time::Instant;

impl Andrews {
    /// Starts what the database is to do next, if it is free.
    pub(super) fn use_database(&mut self) {
        self.on_plea_due();
        if let Some(how) = self.database.next_try(self.now) {
            let drop = self.options.drop;
            let work = match how {
                Try::Prepare => Work::Prepare { drop },
                Try::Write => Work::Write(Write::Try),
                Try::Look => Work::Look,
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
        let seat = self.view.as_ref()?.seat();
        let is_coordinator = self.duties.is_some();
        match self.role {
            Role::Starting(_) => return self.entry(),
            Role::Joining(_) if is_coordinator => return self.own_insertion(),
            Role::Joining(_) if seat.id.is_none() => return self.entry(),
            _ => {}
        }
        self.ready_plea()
            .or_else(|| self.elected())
            .or_else(|| self.claim_for_silence())
            .or_else(|| self.new_token())
            .or_else(|| self.next_member_request())
            .or_else(|| self.beat())
            .or_else(|| self.try_to_write())
    }

    /// Where this node is put in: a member at random, and its successor.
    pub(super) fn insertion(&mut self, node: u32) -> Option<Change> {
        let view = self.view.as_ref()?;
        let count = u32::try_from(view.len()).unwrap_or(u32::MAX);
        let after = view.members().nth(self.draw.below(count) as usize)?;
        let before = view.successor(after)?;
        Some(Change::Insert {
            node,
            after,
            before,
        })
    }

    fn founding(&self, view: &View, acting: bool) -> Write {
        Write::Found {
            seen: view.seat(),
            term: view.next_term(self.token.highest()),
            acting,
        }
    }

    /// At the start: nobody is coordinator, or a former life of this node.
    fn entry(&mut self) -> Option<Write> {
        let own = self.options.id;
        let view = self.view.as_ref()?;
        let seen = view.seat();
        if view.len() == 0 {
            return Some(self.founding(view, seen.id.is_some()));
        }
        let is_member = view.is_member(own);
        let change = if is_member { None } else { self.insertion(own) };
        self.watch.on_claim(false);
        Some(Write::Claim { seen, change })
    }

    /// A coordinator that is no member puts itself in first.
    fn own_insertion(&mut self) -> Option<Write> {
        let view = self.view.as_ref()?;
        let term = view.seat().term;
        if view.len() == 0 {
            return Some(self.founding(view, view.acting()));
        }
        let change = self.insertion(self.options.id)?;
        Some(Write::Change { term, change })
    }

    /// What a JOIN or a SUCCESSOR_REQUEST that is no use has come to.
    fn ready_plea(&mut self) -> Option<Write> {
        let (own, failed) = (self.options.id, self.role.failed());
        if !self.role.plea_mut()?.take_ready() {
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
            return Some(self.founding(view, true));
        }
        let change = removal.or_else(|| self.insertion(own));
        self.watch.on_claim(false);
        Some(Write::Claim { seen, change })
    }

    /// No token for 2 × R: whoever should have made one is not there.
    fn claim_for_silence(&mut self) -> Option<Write> {
        let (now, own) = (self.now, self.options.id);
        let due = self.silence_due().filter(|due| *due <= now)?;
        if self.view.as_ref()?.read_at() < due {
            // Its beat may have moved since.
            self.database.want_look();
            return None;
        }
        // The acknowledgement of the last token is later than that token: it says nothing of what came after it.
        let since = now.before(self.silence());
        let is_still = self.is_beat_still(self.options.still_timeout());
        let is_alone = self.is_beat_still(self.options.lonely_timeout());
        let is_proven = is_still && self.proof.is_there_since(since);
        if !(is_alone || is_proven) {
            return None;
        }
        let seen = self.view.as_ref()?.seat();
        let failed = self.role.failed();
        let change = failed.map(|node| Change::Remove { node, after: own });
        self.watch.on_claim(true);
        Some(Write::Claim { seen, change })
    }

    /// When a member that has seen no token claims.
    fn silence_due(&self) -> Option<Instant> {
        if self.duties.is_some() || self.role.member().is_none() {
            return None;
        }
        let since = self.watch.seat_since();
        let since = self.token.seen(self.now).map_or(since, |it| it.max(since));
        Some(since + self.silence().saturating_mul(2))
    }

    fn new_token(&mut self) -> Option<Write> {
        let due = self.make_due().filter(|due| *due <= self.now)?;
        let view = self.view.as_ref()?;
        // The rows may have to say that somebody uses one.
        if view.read_at() < due {
            self.database.want_look();
            return None;
        }
        let new = view.next_term(self.token.highest());
        let term = view.seat().term;
        Some(Write::Token { term, new })
    }

    /// When the coordinator makes a token.
    fn make_due(&self) -> Option<Instant> {
        let duties = self.duties.as_ref()?;
        if !self.token.is_away() || self.role.member().is_none() {
            return None;
        }
        let seen = self.token.seen(self.now);
        Some(duties.token_due(seen, self.silence()))
    }

    /// A coordinator that has lost its successor and hears no node does not show that it lives: it is to be replaced.
    fn beat(&mut self) -> Option<Write> {
        let Seat { term, .. } = self.view.as_ref()?.seat();
        let lost_at = self.role.member().and_then(Membership::lost_at);
        if lost_at.is_some_and(|since| !self.proof.is_there_since(since)) {
            return None;
        }
        let is_due = self.duties.as_mut()?.take_beat_due();
        is_due.then_some(Write::Beat { term })
    }

    /// A node that only reads learns by a beat that stands still that the database may be one that can be read alone.
    fn try_to_write(&mut self) -> Option<Write> {
        let is_still = self.is_beat_still(self.options.still_timeout());
        let is_due = is_still && self.duties.is_none();
        (is_due && self.watch.take_try_due()).then_some(Write::Try)
    }

    /// When there is something to write that is not yet due. What is due already waits for the database.
    pub(super) fn write_due(&self) -> Option<Instant> {
        let victory = self.victory.as_ref().map(Victory::due);
        [victory, self.silence_due(), self.make_due()]
            .into_iter()
            .flatten()
            .filter(|due| *due > self.now)
            .min()
    }
}
