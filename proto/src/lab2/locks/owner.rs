//! The owner of the token grants and removes locks (`docs/reference/lab2/locks.md`).

use std::collections::BTreeSet;
use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{LockState, LocksPurpose, LocksStanding, Token};

use super::agreements::TableCopy;
use super::duty::Duty;
use super::frames::{LocksFrame, may_ask};
use super::record::{Key, Record};
use super::{Locks, LocksContext, Side};
use crate::lab2::confidence::promise_duration;
use crate::lab2::machine::Writer;
use crate::lab2::{Grade, LockName};
use crate::time::Instant;

/// A request that no owner has served is kept for this number of WAITER_TIMEOUTs. The member repeats its request
/// earlier.
const PENDING_PERIODS: u32 = 1;
/// The maximum number of kept requests.
const PENDING_MAX: usize = 4_096;
/// After it took the token, an owner asks its giver for the giver's table during this number of TAKE_TIMEOUTs.
const ASKING_PERIODS: u32 = 4;

impl Locks {
    /// Notes the chain of the known token.
    pub(super) fn follow_chain(&mut self, locks: &LocksContext<'_>) {
        if let Some(known) = locks.tenure.known {
            let same = self.chain.filter(|(token, _)| token.same_chain(&known));
            self.chain = Some(same.unwrap_or((known, locks.now())));
            let pause = locks.take_timeout() / 4;
            self.renewals.follow_token(known, locks.now(), pause);
            self.claim_in_new_chain(locks, known);
        }
    }

    /// Begins or ends the duty if this node took or lost a token.
    pub(super) fn follow_tenure(&mut self, locks: &LocksContext<'_>) {
        let Some(token) = locks.tenure.held else {
            self.duty = None;
            return;
        };
        if self.duty.as_ref().is_some_and(|it| it.token() == token) {
            return;
        }
        // Holders learn of the new chain within this time, and claim the locks that this table lacks.
        let now = locks.now();
        let settled_at = now + locks.members.longest_waiter_timeout(locks.context);
        self.duty = Some(Duty::new(token, now, (settled_at, None)));
    }

    /// Continues the duty under the token `minted`, which replaces `old` in the same tenure.
    pub(crate) fn on_token_renamed(&mut self, old: Token, minted: Token, now: Instant) {
        if let Some(duty) = &mut self.duty
            && duty.token() == old
        {
            duty.rename(minted, now);
        }
    }

    /// Waits for claims until this time or later, because a member may have granted locks that this node does not know.
    pub(crate) fn wait_for_claims(&mut self, until: Instant) {
        if let Some(duty) = &mut self.duty {
            duty.wait_for_claims(until);
        }
    }

    /// Notes the offer that this node is about to take.
    pub(super) fn on_token_taken(
        &mut self,
        locks: &LocksContext<'_>,
        from: MacAddr,
        token: Token,
        standing: Option<LocksStanding>,
    ) {
        let now = locks.now();
        let longest = locks.members.longest_waiter_timeout(locks.context);
        // Holders claim the locks that an owner lacks as soon as they know its chain.
        let since = self.chain.filter(|(known, _)| known.same_chain(&token));
        let since = since.map_or(now, |(_, since)| since);
        let told = standing.map_or(longest, |it| Duration::from_nanos(it.settles).min(longest));
        let settled_at = (since + longest).min(now + told);
        // A giver that still waits for the table of its giver does not have the right table.
        let standing = standing.filter(|it| it.settles != LocksStanding::NOT_KNOWN);
        let wanted = standing.map(|it| (from, it.others));
        let mut duty = Duty::new(token, now, (settled_at, wanted));
        duty.note_table(self.others.digest());
        self.duty = Some(duty);
        if let Some(standing) = standing {
            self.compare(locks, from, standing);
        }
    }

    /// Asks the giver again for its table, or gives up.
    pub(super) fn review_duty(&mut self, locks: &LocksContext<'_>) {
        let Some(duty) = &mut self.duty else {
            return;
        };
        let Some(giver) = duty.asks() else {
            return;
        };
        let now = locks.now();
        let is_over = now >= duty.since() + locks.take_timeout() * ASKING_PERIODS;
        if is_over || !may_ask(locks) {
            duty.stop_asking(now + locks.members.longest_waiter_timeout(locks.context));
        } else {
            self.ask(locks, giver, Side::Others);
        }
    }

    /// If this owner may grant more than before, grants locks to waiting sessions.
    pub(super) fn review_power(&mut self, locks: &LocksContext<'_>) {
        let grades = [Grade::Alone, Grade::AllHeard, Grade::Quorum];
        let power = grades.map(|grade| self.may_grant(locks, grade));
        let before = std::mem::replace(&mut self.power, power);
        if power
            .iter()
            .zip(before)
            .any(|(now, before)| *now && !before)
        {
            self.grant_waiting(locks);
        }
    }

    /// Whether this owner may change the table.
    pub(super) fn may_change(&self, locks: &LocksContext<'_>, side: Side) -> bool {
        let Some(duty) = self.duty.as_ref().filter(|_| locks.tenure.may_serve) else {
            return false;
        };
        match side {
            Side::Quorum => locks.tenure.grade == Grade::Quorum && duty.is_opened(),
            Side::Others => duty.asks().is_none(),
        }
    }

    /// Whether this owner may grant locks that need this grade.
    fn may_grant(&self, locks: &LocksContext<'_>, grade: Grade) -> bool {
        let is_settled = |duty: &Duty| duty.settled_at() <= locks.now();
        // Even a lock of the grade `quorum` waits until this owner knows the locks of lower grades.
        self.may_change(locks, Side::of(grade))
            && self.may_change(locks, Side::Others)
            && locks.tenure.grade >= grade
            && (grade == Grade::Quorum || self.duty.as_ref().is_some_and(is_settled))
    }

    /// Whether a majority of the ring has the same table `Quorum` as this owner.
    pub(super) fn is_agreed(&self, locks: &LocksContext<'_>) -> bool {
        let ring = locks.members.ring_size(locks.context);
        let own = self.quorum.copy();
        let Some(duty) = self.duty.as_ref().filter(|_| locks.may_agree()) else {
            return false;
        };
        // After a restart, a member agrees only when a lease and this time have passed. By then, no program relies on a
        // lock that the member has forgotten.
        let lasts = promise_duration(locks.context, ring) / 32 * 31;
        let lately = locks.now().before(lasts);
        let agreeing = self.agreements.agreeing(duty.token(), own, lately);
        let others = agreeing.filter(|&member| locks.members.has(member)).count();
        locks.tenure.may_serve && locks.tenure.grade == Grade::Quorum && (others + 1) * 2 > ring
    }

    /// Returns 1 if this owner and one other member are more than half of the ring, and otherwise 0.
    fn needs_one_member(locks: &LocksContext<'_>) -> u64 {
        let agreeing = 2;
        u64::from(agreeing * 2 > locks.members.ring_size(locks.context))
    }

    /// Notes the copy of the table `Quorum` that a member announced under a token.
    pub(super) fn note_copy(
        &mut self,
        locks: &LocksContext<'_>,
        member: MacAddr,
        token: Token,
        copy: Option<TableCopy>,
    ) {
        if self.duty.as_ref().is_some_and(|it| it.token() == token) && locks.members.has(member) {
            self.agreements.note(token, member, copy, locks.now());
        }
    }

    /// If a majority agrees to the table `Quorum`, reports this to the holders of new locks.
    pub(super) fn review_agreement(&mut self, locks: &LocksContext<'_>) {
        if !self.is_agreed(locks) {
            return;
        }
        let Some(duty) = &mut self.duty else {
            return;
        };
        duty.note_opened();
        let unconfirmed = duty.take_unconfirmed();
        let oldest = Self::oldest_renewal(locks);
        let renewals = self.renewals.take_unanswered(Side::Quorum, oldest);
        for key in unconfirmed {
            let Some(record) = self.quorum.get(key).copied() else {
                continue;
            };
            if record.is_held() {
                self.confirm(locks, &record);
            }
        }
        // The member may have been flagged since its renewal arrived.
        for renewal in renewals {
            self.serve_renewal(locks, renewal);
        }
        self.confirm_flags(locks);
    }

    /// Reports to the holder that a majority has stored its record.
    fn confirm(&mut self, locks: &LocksContext<'_>, record: &Record) {
        if record.member == locks.me() {
            self.on_confirmed(locks, record);
        } else {
            let digest = self.quorum.digest_of(record.member);
            let frame = LocksFrame {
                digest,
                ..self.frame(locks, LocksPurpose::Renewed, Side::Quorum)
            };
            self.send(locks, record.member, frame, std::slice::from_ref(record));
        }
    }

    /// Serves a member's request for a lock, or keeps the request for later.
    pub(super) fn serve(&mut self, locks: &LocksContext<'_>, wanted: Record) {
        let side = Side::of(wanted.request.grade);
        let claims = wanted.state == LockState::Held && side == Side::Others;
        let known = self.table(side).get(wanted.key()).copied();
        let known = known.filter(|it| !claims || it.is_held());
        if let Some(known) = known {
            self.repeat_answer(locks, &known);
            return;
        }
        if !self.may_change(locks, side) {
            self.keep_request(locks, wanted);
            return;
        }
        let name = wanted.request.name;
        if !self.table(side).has_room_for(&name) {
            self.refuse(locks, wanted);
            return;
        }
        // Only the table `Others` can lack the record of a holder. A majority never forgets a record of the table
        // `Quorum`.
        let wanted = if claims {
            wanted
        } else {
            Record::new(wanted.member, wanted.request, wanted.since)
        };
        if claims && !self.is_free_for(&wanted) {
            self.refuse(locks, wanted);
            return;
        }
        let record = Record {
            ticket: self.next_ticket(name),
            flag: 0,
            flag_seen: locks.now(),
            ..wanted
        };
        self.table_mut(side).put(record);
        let mut changed = BTreeSet::from([record.key()]);
        self.grant(locks, name, &mut changed);
        self.commit(locks, side, &changed);
    }

    /// Repeats the present state of a record, because its member may have missed the change.
    fn repeat_answer(&mut self, locks: &LocksContext<'_>, known: &Record) {
        let side = Side::of(known.request.grade);
        if self.duty.is_none() || !locks.tenure.may_serve {
            return;
        }
        let is_confirmed = side == Side::Quorum && known.is_held() && self.is_agreed(locks);
        if known.member != locks.me() {
            let version = self.table(side).version();
            if let Some(version) = version {
                let frame = LocksFrame {
                    token: version.token,
                    serial: version.change,
                    digest: self.table(side).digest(),
                    from: Self::needs_one_member(locks),
                    ..self.frame(locks, LocksPurpose::Change, side)
                };
                self.send(locks, known.member, frame, std::slice::from_ref(known));
            }
        }
        if is_confirmed {
            self.confirm(locks, known);
        }
    }

    /// Removes a member's record, and grants the lock to the next sessions that wait.
    pub(super) fn serve_release(&mut self, locks: &LocksContext<'_>, released: Record) {
        let side = Side::of(released.request.grade);
        self.pending.retain(|it| it.record.key() != released.key());
        let key = released.key();
        if !self.may_change(locks, side) {
            if self.table(side).get(key).is_some() {
                self.keep_request(
                    locks,
                    Record {
                        state: LockState::Gone,
                        ..released
                    },
                );
            }
            return;
        }
        let known = self.table(side).get(key).copied();
        let removed = known.map(|known| Record {
            // Several programs may have used the session, and each program had a larger fencing token than the previous
            // program.
            fence: if released.fence.is_stronger_than(&known.fence) {
                released.fence
            } else {
                known.fence
            },
            ..known
        });
        self.remove_records(locks, side, removed);
    }

    /// Removes records, and grants their locks to the next sessions. Each record has the last fencing token that its
    /// session may have used.
    pub(super) fn remove_records(
        &mut self,
        locks: &LocksContext<'_>,
        side: Side,
        records: impl IntoIterator<Item = Record>,
    ) {
        let mut gone = Vec::new();
        for record in records {
            self.table_mut(side).remove(record.key());
            gone.push(Record {
                state: LockState::Gone,
                ..record
            });
        }
        let names = gone.iter().map(|record| record.request.name);
        let names = names.collect::<BTreeSet<_>>();
        let mut changed = BTreeSet::new();
        for name in names {
            self.grant(locks, name, &mut changed);
        }
        self.commit_with(locks, side, gone, &changed);
    }

    fn next_ticket(&self, name: LockName) -> u64 {
        let of_name = [&self.quorum, &self.others].into_iter().flat_map(|table| {
            let last = table.waiting(name).next_back();
            table.held(name).chain(last)
        });
        let last = of_name.map(|record| record.ticket).max();
        last.map_or(1, |last| last.saturating_add(1))
    }

    /// Returns the records of this name that are held, of both tables.
    pub(super) fn held(&self, name: LockName) -> impl Iterator<Item = &Record> {
        self.quorum.held(name).chain(self.others.held(name))
    }

    /// Returns the records of this name that wait, of both tables, in the order of their tickets.
    fn waiting(&self, name: LockName) -> impl Iterator<Item = &Record> {
        let mut quorum = self.quorum.waiting(name).peekable();
        let mut others = self.others.waiting(name).peekable();
        std::iter::from_fn(move || match (quorum.peek(), others.peek()) {
            (Some(first), Some(second)) if second.ticket < first.ticket => others.next(),
            (Some(_), _) => quorum.next(),
            (None, _) => others.next(),
        })
    }

    /// Whether the lock of this record may be held now, because no other record excludes it.
    pub(super) fn is_free_for(&self, wanted: &Record) -> bool {
        let mut held = self.held(wanted.request.name);
        held.all(|it| it.key() == wanted.key() || !wanted.excludes(it))
    }

    /// Grants the locks of this name to waiting sessions, in the order of their tickets. Adds the keys of the records
    /// that are held now to `changed`.
    pub(super) fn grant(
        &mut self,
        locks: &LocksContext<'_>,
        name: LockName,
        changed: &mut BTreeSet<u64>,
    ) {
        let mut granted = Vec::new();
        // If this owner does not have the grade of a session, this session must not delay the other sessions.
        let mut waiting = self
            .waiting(name)
            .filter(|it| self.may_grant(locks, it.request.grade));
        while let Some(record) = waiting.next().filter(|it| self.is_free_for(it)) {
            // An exclusive lock has only one holder.
            if record.is_exclusive() && !granted.is_empty() {
                break;
            }
            granted.push(*record);
            if record.is_exclusive() {
                break;
            }
        }
        drop(waiting);
        for record in granted {
            let side = Side::of(record.request.grade);
            let state = LockState::Held;
            self.table_mut(side).put(Record { state, ..record });
            changed.insert(record.key());
        }
    }

    /// Announces changed records of both tables. The table `side` has certainly changed, and the other table may have
    /// changed.
    pub(super) fn commit(&mut self, locks: &LocksContext<'_>, side: Side, changed: &BTreeSet<u64>) {
        self.commit_with(locks, side, Vec::new(), changed);
    }

    fn commit_with(
        &mut self,
        locks: &LocksContext<'_>,
        side: Side,
        gone: Vec<Record>,
        changed: &BTreeSet<u64>,
    ) {
        let other = if side == Side::Quorum {
            Side::Others
        } else {
            Side::Quorum
        };
        let mut reviewed = self.commit_side(locks, side, gone, changed);
        reviewed.extend(self.commit_side(locks, other, Vec::new(), changed));
        self.review_agreement(locks);
        self.review_changed(locks, &reviewed);
    }

    fn commit_side(
        &mut self,
        locks: &LocksContext<'_>,
        side: Side,
        mut records: Vec<Record>,
        changed: &BTreeSet<u64>,
    ) -> Vec<Record> {
        let here = changed.iter().filter_map(|&key| self.table(side).get(key));
        records.extend(here.copied().collect::<Vec<_>>());
        let versions = [self.quorum.version(), self.others.version()];
        let versions = versions.into_iter().flatten();
        let versions = versions.map(|version| version.fence());
        let Some(duty) = self.duty.as_mut().filter(|_| !records.is_empty()) else {
            return records;
        };
        let version = duty.next_version(versions.chain(records.iter().map(|it| it.fence)));
        for record in &mut records {
            // A record that is held for the first time has no fencing token yet.
            if record.is_held() && record.fence.progress == 0 {
                record.fence = version.fence();
                if side == Side::Quorum {
                    duty.add_unconfirmed(record.key());
                }
            }
        }
        for record in records.iter().filter(|it| it.state != LockState::Gone) {
            self.table_mut(side).put(*record);
        }
        self.table_mut(side).set_version(version);
        let frame = LocksFrame {
            token: version.token,
            serial: version.change,
            digest: self.table(side).digest(),
            from: Self::needs_one_member(locks),
            ..self.frame(locks, LocksPurpose::Change, side)
        };
        // If the records need several frames, the digests become equal only with the last frame. So a member that
        // missed no frame asks no question.
        self.send(locks, MacAddr::BROADCAST, frame, &records);
        records
    }

    fn refuse(&mut self, locks: &LocksContext<'_>, wanted: Record) {
        let refused = Record {
            state: LockState::Refused,
            ..wanted
        };
        if wanted.member == locks.me() {
            self.on_refused(locks, &refused);
            return;
        }
        let side = Side::of(wanted.request.grade);
        let frame = self.frame(locks, LocksPurpose::Renewed, side);
        self.send(locks, wanted.member, frame, &[refused]);
    }

    /// Keeps a request until this node may serve it, or until another owner has served it.
    pub(super) fn keep_request(&mut self, locks: &LocksContext<'_>, wanted: Record) {
        let key = wanted.key();
        self.pending.retain(|it| it.record.key() != key);
        if self.pending.len() < PENDING_MAX {
            let until = locks.now() + locks.context.waiter_timeout() * PENDING_PERIODS;
            self.pending.push_back(Pending {
                until,
                record: wanted,
            });
        }
    }

    /// Whether a record is a claim of a lock that this node's table already has. Such a claim needs no answer later.
    pub(super) fn knows_held(&self, claim: &Record) -> bool {
        let is_claim = claim.is_held() && Side::of(claim.request.grade) == Side::Others;
        let known = self.others.get(claim.key());
        is_claim && known.is_some_and(Record::is_held)
    }

    /// Serves the requests that waited for this node's duty or grade.
    pub(super) fn serve_pending(&mut self, locks: &LocksContext<'_>) {
        let now = locks.now();
        while self.pending.front().is_some_and(|it| it.until <= now) {
            self.pending.pop_front();
        }
        self.ask_for_confirmation(locks);
        if self.duty.is_none() || self.pending.is_empty() {
            return;
        }
        let (ready, waiting) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|it| self.may_change(locks, Side::of(it.record.request.grade)));
        self.pending = waiting;
        for it in ready {
            if it.record.state == LockState::Gone {
                self.serve_release(locks, it.record);
            } else if !self.knows_held(&it.record) {
                self.serve(locks, it.record);
            }
        }
    }

    /// Grants the locks that this owner could not grant before. Call this function when its grade or its knowledge of
    /// the tables becomes sufficient.
    pub(super) fn grant_waiting(&mut self, locks: &LocksContext<'_>) {
        if self.duty.is_none() || !locks.tenure.may_serve {
            return;
        }
        for side in Side::ALL {
            let names = self.table(side).wanted().collect::<Vec<_>>();
            for name in names {
                let mut changed = BTreeSet::new();
                self.grant(locks, name, &mut changed);
                self.commit(locks, side, &changed);
            }
        }
    }
}

/// A request that no owner has served yet.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(super) struct Pending {
    until: Instant,
    record: Record,
}

impl Pending {
    pub(super) const fn until(&self) -> Instant {
        self.until
    }

    pub(super) fn key(&self) -> Key {
        self.record.key()
    }

    /// Whether the member wants the lock with this name.
    pub(super) fn is_for(&self, name: LockName) -> bool {
        self.record.request.name == name && self.record.state != LockState::Gone
    }

    pub(super) const fn grade(&self) -> Grade {
        self.record.request.grade
    }
}

impl Pending {
    pub(super) fn snapshot(&self, writer: &mut Writer) {
        let Self { until, record } = self;
        until.since(writer.now).hash(writer);
        record.snapshot(writer);
    }
}
