//! The frames that make all copies of the tables equal: changes, questions and parts (`docs/reference/lab2/locks.md`).

use ring_codec::MacAddr;
use ring_codec::lab2::{Kind, LocksPurpose, LocksStanding, Token};

use super::agreements::TableCopy;
use super::frames::{
    LocksFrame, QuestionFrame, ReceivedLocks, ReceivedQuestion, may_ask, per_frame,
};
use super::record::{Key, NO_TOKEN, Record};
use super::table::Version;
use super::{Locks, LocksAction, LocksContext, Side};
use crate::lab2::machine::Context;
use crate::lab2::members::Members;
use crate::time::nanos;

impl Locks {
    /// Returns what this node announces in the trailer of a frame. Returns `None` if it must not announce its table.
    pub(crate) fn standing(&self, locks: &LocksContext<'_>, kind: Kind) -> Option<LocksStanding> {
        // A giver may not have looked at its duty yet, because it had no reason.
        let duty = self.duty.as_ref();
        let duty = duty.filter(|it| locks.tenure.held == Some(it.token()) && it.asks().is_none());
        // An offer agrees to no table. A taker that has just started needs the locks of lower grades.
        let is_settled = duty.is_some_and(|it| it.settled_at() <= locks.now());
        let may_show = locks.may_agree() || kind == Kind::TakeToken && is_settled;
        if !may_show {
            return None;
        }
        let version = self.quorum.version();
        let settles = duty.map(|it| nanos(it.settled_at().since(locks.now())));
        let settles = settles.unwrap_or(LocksStanding::NOT_KNOWN);
        Some(LocksStanding {
            token: version.map_or(NO_TOKEN, |it| it.token),
            change: version.map_or(0, |it| it.change),
            quorum: self.quorum.digest(),
            others: self.others.digest(),
            settles,
        })
    }

    /// Whether a frame of this kind has a reason for a standing. A ring without named locks has none, so its frames
    /// stay short.
    pub(crate) fn has_standing(&self, context: &Context, members: &Members, kind: Kind) -> bool {
        let has_changed = self.quorum.has_changed() || self.others.has_changed();
        has_changed
            || self.others_show
            || match kind {
                // Before the first lock, the members must agree to the empty table.
                Kind::TokenIsHere => !self.pending.is_empty(),
                // Otherwise a taker that does not know the chain would wait for claims.
                Kind::TakeToken => self.is_chain_new(context, members),
                _ => false,
            }
    }

    fn is_chain_new(&self, context: &Context, members: &Members) -> bool {
        let longest = members.longest_waiter_timeout(context);
        let since = self.chain.map(|(_, since)| since);
        since.is_none_or(|since| context.now() < since + longest)
    }

    pub(super) fn on_locks(
        &mut self,
        locks: &LocksContext<'_>,
        from: MacAddr,
        frame: ReceivedLocks<'_>,
    ) {
        let now = locks.now();
        let side = Side::from_wire(frame.grade);
        let records = frame.records.iter();
        let records = records.filter_map(|it| Record::decode(it, now));
        let records = records.collect::<Vec<_>>();
        match frame.purpose {
            LocksPurpose::Request => {
                for record in records.into_iter().filter(|it| it.member == from) {
                    self.on_request(locks, record);
                }
            }
            LocksPurpose::Release => {
                for record in records.into_iter().filter(|it| it.member == from) {
                    self.serve_release(locks, record);
                }
            }
            LocksPurpose::Change => self.on_change(locks, from, side, &frame, &records),
            LocksPurpose::Agree if side == Side::Quorum => {
                // A member agrees to a change that was made under this token.
                let copy = TableCopy {
                    version: Some(frame.version()),
                    digest: frame.digest,
                };
                self.note_copy(locks, from, frame.token, Some(copy));
                self.review_agreement(locks);
            }
            LocksPurpose::Renew => self.on_renewal(locks, from, side, &frame),
            LocksPurpose::Agree => {}
            LocksPurpose::Renewed => self.on_renewed(locks, from, side, &frame, &records),
            LocksPurpose::Part => self.on_part(locks, from, side, &frame, &records),
        }
    }

    fn on_request(&mut self, locks: &LocksContext<'_>, record: Record) {
        if locks.tenure.held.is_some() {
            self.serve(locks, record);
        } else if !self.knows_held(&record) {
            // The next owner can serve the request at once.
            self.keep_request(locks, record);
            self.release_kept(locks, record.request.name);
        }
    }

    /// Applies a change of the owner.
    fn on_change(
        &mut self,
        locks: &LocksContext<'_>,
        from: MacAddr,
        side: Side,
        frame: &ReceivedLocks<'_>,
        records: &[Record],
    ) {
        let version = frame.version();
        let known = self.table(side).version();
        let is_new = known.is_none_or(|known| !known.is_newer_than(&version));
        let from_owner = locks.tenure.owner == Some(from)
            || locks
                .tenure
                .known
                .is_none_or(|known| !known.is_stronger_than(&frame.token));
        let counts = match side {
            Side::Quorum => is_new,
            // Only one owner decides. Its token may be weaker than the token of an owner that has given way.
            Side::Others => from_owner,
        };
        if !counts
            || locks
                .tenure
                .held
                .is_some_and(|held| !frame.token.is_stronger_than(&held))
        {
            return;
        }
        for record in records {
            self.table_mut(side).put(*record);
            self.pending.retain(|it| it.key() != record.key());
        }
        let is_last = frame.to == 0;
        if is_last && self.table(side).digest() == frame.digest {
            self.table_mut(side).set_version(version);
            if side == Side::Quorum && frame.is_bound && locks.may_agree() {
                let agree = LocksFrame {
                    token: frame.token,
                    serial: frame.serial,
                    ..self.frame(locks, LocksPurpose::Agree, side)
                };
                self.send(locks, from, agree, &[]);
                // The owner counts itself before it changes the table. So a majority has the table now.
                if frame.from == 1 {
                    self.confirm_own(locks, records);
                }
            }
        } else if is_last {
            self.ask(locks, from, side);
        }
        self.note_synced_table();
        self.review_changed(locks, records);
    }

    /// Handles the trailer of a PING. It shows the member's table, and whether the member agrees with this owner.
    pub(super) fn on_ping(
        &mut self,
        locks: &LocksContext<'_>,
        from: MacAddr,
        promised: Option<Token>,
        standing: Option<LocksStanding>,
    ) {
        if let Some(token) = promised {
            self.note_copy(locks, from, token, standing.as_ref().map(copy_of));
        }
        if locks.tenure.held.is_some()
            && let Some(standing) = standing
        {
            // The member may list locks that have ended. It compares its tables with this owner's standing.
            self.others_show = true;
            if self.lacks(&standing) {
                // A majority may have stored a change that this owner does not know.
                self.ask(locks, from, Side::Quorum);
            }
        }
        self.review_agreement(locks);
    }

    /// Handles the trailer of the owner's heartbeat.
    pub(super) fn on_standing(
        &mut self,
        locks: &LocksContext<'_>,
        from: MacAddr,
        standing: Option<LocksStanding>,
    ) {
        let follows = locks.tenure.held.is_none() && locks.tenure.owner == Some(from);
        if follows {
            self.others_show = standing.is_some();
        }
        if let Some(standing) = standing.filter(|_| follows) {
            self.compare(locks, from, standing);
        }
    }

    /// Asks the author of a trailer for the tables that this node lacks.
    pub(super) fn compare(
        &mut self,
        locks: &LocksContext<'_>,
        from: MacAddr,
        standing: LocksStanding,
    ) {
        if self.lacks(&standing) {
            self.ask(locks, from, Side::Quorum);
        }
        // An owner that still asks its giver for the table does not know how long it takes until it may grant locks.
        let is_synced = standing.settles != LocksStanding::NOT_KNOWN;
        if is_synced && self.others.digest() != standing.others {
            self.ask(locks, from, Side::Others);
        }
    }

    /// Whether this node should copy the table `Quorum` of the author of a trailer. This node may have a part of that
    /// table already, because its last question was not answered in full.
    fn lacks(&mut self, standing: &LocksStanding) -> bool {
        let theirs = copy_of(standing);
        let own = self.quorum.version();
        let is_older = own.is_some_and(|own| {
            let theirs = theirs.version;
            theirs.is_none_or(|theirs| own.is_newer_than(&theirs))
        });
        if let Some(version) = theirs.version
            && !is_older
            && theirs.digest == self.quorum.digest()
        {
            self.quorum.set_version(version);
        }
        !is_older && theirs.digest != self.quorum.digest()
    }

    /// Asks a member for the records of a table that differ.
    pub(super) fn ask(&mut self, locks: &LocksContext<'_>, from: MacAddr, side: Side) {
        let questions = &mut self.questions[side as usize];
        if may_ask(locks) && questions.try_start(locks.now(), locks.take_timeout()) {
            let question = QuestionFrame { side, from: 0 };
            self.actions.push_back(LocksAction::Ask(from, question));
        }
    }

    /// Asks the author of a part for the keys after the part.
    fn ask_next(&mut self, locks: &LocksContext<'_>, from: MacAddr, side: Side, next: Key) {
        let questions = &mut self.questions[side as usize];
        if may_ask(locks) && questions.try_continue(locks.now(), next) {
            let question = QuestionFrame { side, from: next };
            self.actions.push_back(LocksAction::Ask(from, question));
        }
    }

    pub(super) fn on_question(
        &mut self,
        locks: &LocksContext<'_>,
        from: MacAddr,
        question: &ReceivedQuestion<'_>,
    ) {
        let side = Side::from_wire(question.grade);
        // The table of an owner that still asks its giver may be old.
        if side == Side::Others && self.is_unsynced() {
            return;
        }
        let count = per_frame(locks);
        if count == 0 {
            return;
        }
        // A table that never changed is empty, and the asker should know that.
        let none = Version {
            token: NO_TOKEN,
            change: 0,
        };
        let version = self.table(side).version().unwrap_or(none);
        let sums = question.sums.iter().map(|sum| sum.get());
        let sums = sums.collect::<Vec<_>>();
        // One part for each question: the asker then asks for the next part.
        let found = self.table(side).part(question.from, &sums, count);
        if let Some((range, records)) = found {
            let frame = LocksFrame {
                token: version.token,
                serial: version.change,
                from: *range.start(),
                to: *range.end(),
                ..self.frame(locks, LocksPurpose::Part, side)
            };
            self.send(locks, from, frame, &records);
        }
    }

    fn on_part(
        &mut self,
        locks: &LocksContext<'_>,
        from: MacAddr,
        side: Side,
        frame: &ReceivedLocks<'_>,
        records: &[Record],
    ) {
        let version = frame.version();
        let known = self.table(side).version();
        let counts = match side {
            Side::Quorum => known.is_none_or(|known| !known.is_newer_than(&version)),
            // While this node may change the table, its own table counts.
            Side::Others => locks.tenure.owner == Some(from) || self.is_unsynced(),
        };
        if !counts || frame.from > frame.to {
            return;
        }
        self.table_mut(side)
            .replace_range(frame.from..=frame.to, records);
        if self.table(side).digest() == frame.digest {
            self.table_mut(side).set_version(version);
        } else if let Some(next) = frame.to.checked_add(1) {
            self.ask_next(locks, from, side, next);
        }
        self.note_synced_table();
        self.review_agreement(locks);
        self.review_sessions(locks);
    }

    fn is_unsynced(&self) -> bool {
        (self.duty.as_ref()).is_some_and(|duty| duty.asks().is_some())
    }

    /// If this owner now has the giver's table `Others`, it may change the table.
    fn note_synced_table(&mut self) {
        let digest = self.others.digest();
        if let Some(duty) = &mut self.duty {
            duty.note_table(digest);
        }
    }
}

fn copy_of(standing: &LocksStanding) -> TableCopy {
    let version = Version {
        token: standing.token,
        change: standing.change,
    };
    TableCopy {
        version: Some(version).filter(|it| it.token != NO_TOKEN),
        digest: standing.quorum,
    }
}
