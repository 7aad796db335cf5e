//! The sessions: the locks that programs of this node hold or want (`docs/reference/lab2/locks.md`).

use std::collections::BTreeMap;
use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{LockMode, LockState, LocksPurpose, Token};

use super::fence;
use super::kept::REUSES_MAX;
use super::record::{Key, Record, key};
use super::{Locks, LocksContext, Side};
use crate::lab2::machine::Writer;
use crate::lab2::{Event, LockRequest};
use crate::time::Instant;

/// The sessions of this node, and the records that the owner should remove for this node.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Sessions {
    pub(super) open: BTreeMap<u64, Session>,
    pub(super) releases: BTreeMap<Key, Release>,
    /// A lower bound for the due time of the next request or release; `None` if no request and no release will be due.
    requests_from: Option<Instant>,
    /// A lower bound for the start of every lease; `None` if no session has a lease.
    leases_from: Option<Instant>,
    /// The last chain of tokens in which this node claimed its locks of lower grades.
    claimed_in: Option<Token>,
    /// The number of times at which leases were renewed.
    renewals: u64,
}

/// A lock that a program of this node holds or wants.
#[derive(Debug, Clone, Copy, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct Session {
    pub(super) request: LockRequest,
    /// The request number of the program that uses the session now.
    user: u64,
    /// The number of programs that used the session after its first program.
    reuses: u32,
    /// The time of the first request to an owner.
    pub(super) began: Instant,
    repeats: Repeats,
    /// Whether this node's copy of the table has the session's record.
    pub(super) is_known: bool,
    /// The owner reports when a majority has stored the record of a held lock. This is the fencing token of the last
    /// reported record.
    confirmed: Option<Token>,
    /// The fencing token of the granted lock; `None` while the program waits.
    pub(super) granted: Option<Token>,
    /// The time from which the lease counts.
    pub(super) lease_from: Instant,
    /// Whether the lock is lost. The session continues until its program has ended, or until the lease ends.
    is_lost: bool,
}

/// A record that the owner should remove.
#[derive(Debug, Clone, Copy, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct Release {
    pub(super) record: Record,
    began: Instant,
    repeats: Repeats,
}

/// The times at which this node repeats a request.
#[derive(Debug, Clone, Copy, Hash, serde::Serialize, serde::Deserialize)]
struct Repeats {
    count: u32,
    next: Instant,
}

impl Repeats {
    const fn at(next: Instant) -> Self {
        Self { count: 0, next }
    }

    /// Schedules the next repetition. The pause doubles each time, up to half of WAITER_TIMEOUT.
    fn note(&mut self, locks: &LocksContext<'_>) {
        let pause = locks.take_timeout() * 2u32.saturating_pow(self.count);
        let longest = locks.context.waiter_timeout() / 2;
        self.count = self.count.saturating_add(1).min(16);
        self.next = locks.now() + pause.min(longest);
    }
}

impl Session {
    fn key(&self, me: MacAddr) -> Key {
        key(me, &self.request.name, self.request.session)
    }

    /// Returns the request number of the program that uses the session.
    pub(super) const fn user(&self) -> u64 {
        self.user
    }

    pub(super) fn side(&self) -> Side {
        Side::of(self.request.grade)
    }

    /// Returns the record with which this node asks for the lock. If the lock is granted, the record claims it.
    fn record(&self, me: MacAddr) -> Record {
        let record = Record::new(me, self.request, self.began);
        match self.granted {
            Some(fence) => Record {
                state: LockState::Held,
                fence,
                ..record
            },
            None => record,
        }
    }

    /// Whether this node may keep the lock after its program has ended.
    pub(super) fn may_be_kept(&self) -> bool {
        let is_exclusive = self.request.mode == LockMode::Exclusive;
        is_exclusive && self.granted.is_some() && self.is_known && !self.is_lost
    }

    /// Gives the lock to the program of another request, and returns the program's fencing token. Returns `None` if the
    /// request differs from the session's request, or if the lease began before `earliest`.
    pub(super) fn reuse(&mut self, request: &LockRequest, earliest: Instant) -> Option<Token> {
        let wanted = LockRequest {
            session: self.request.session,
            ..*request
        };
        let fits = wanted == self.request && self.may_be_kept() && self.lease_from >= earliest;
        let fence = self.granted.filter(|_| fits && self.reuses < REUSES_MAX)?;
        let fence = fence::later(fence, 1);
        (self.user, self.granted) = (request.session, Some(fence));
        self.reuses += 1;
        Some(fence)
    }

    /// Returns the time at which this node asks again for the lock.
    pub(super) fn next_request(&self) -> Option<Instant> {
        (!self.is_known && !self.is_lost).then_some(self.repeats.next)
    }
}

impl Sessions {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.releases.is_empty()
    }

    /// Returns a lower bound for the due time of the next request or release.
    pub(super) const fn requests_from(&self) -> Option<Instant> {
        self.requests_from
    }

    /// Returns a lower bound for the start of every lease.
    pub(super) const fn leases_from(&self) -> Option<Instant> {
        self.leases_from
    }

    pub(super) fn note_request(&mut self, at: Instant) {
        self.requests_from = Some(self.requests_from.map_or(at, |known| known.min(at)));
    }

    pub(super) const fn renewals(&self) -> u64 {
        self.renewals
    }

    fn note_lease(&mut self, from: Instant) {
        self.leases_from = Some(self.leases_from.map_or(from, |known| known.min(from)));
    }

    /// Looks at all sessions to find the next due times. Most inputs affect few sessions, so the caller calls this
    /// function only at timeouts.
    pub(super) fn find_next_times(&mut self, kept_until: Option<Instant>) {
        let requests = self.open.values().filter_map(Session::next_request);
        let releases = self.releases.values().map(|it| it.repeats.next);
        self.requests_from = requests.chain(releases).chain(kept_until).min();
        let holding = self.open.values().filter(|it| it.granted.is_some());
        self.leases_from = holding.map(|it| it.lease_from).min();
    }
}

impl Locks {
    /// Begins a session for a program of this node.
    pub(super) fn take(&mut self, locks: &LocksContext<'_>, request: LockRequest) {
        if self.reuse(locks, &request) {
            return;
        }
        let now = locks.now();
        let session = Session {
            request,
            user: request.session,
            reuses: 0,
            began: now,
            repeats: Repeats::at(now),
            is_known: false,
            confirmed: None,
            granted: None,
            lease_from: now,
            is_lost: false,
        };
        self.sessions.open.insert(request.session, session);
        self.renewals.begin(now + locks.renewal_period());
        self.send_request(locks, request.session);
    }

    /// Handles the end of the program with this request, or the end of the program's wait. The owner may grant the lock
    /// to another session.
    pub(super) fn release(&mut self, locks: &LocksContext<'_>, request: u64) {
        let id = self.kept.session_of(request);
        self.kept.forget_user(request);
        // Another program may use the session by now.
        let session = self.sessions.open.get(&id);
        let is_used = session.is_some_and(|it| it.user == request) && !self.kept.has(id);
        if is_used && !self.keep(locks, id) {
            self.end_session(locks, id);
        }
    }

    /// Ends a session of this node.
    pub(super) fn end_session(&mut self, locks: &LocksContext<'_>, id: u64) {
        if let Some(session) = self.sessions.open.remove(&id) {
            self.begin_release(locks, session.record(locks.me()));
        }
    }

    fn begin_release(&mut self, locks: &LocksContext<'_>, record: Record) {
        let began = locks.now();
        let release = Release {
            record,
            began,
            repeats: Repeats::at(began),
        };
        self.sessions.releases.insert(record.key(), release);
        self.send_release(locks, record.key());
    }

    /// Sends the requests and releases that are due.
    pub(super) fn repeat_requests(&mut self, locks: &LocksContext<'_>) {
        let now = locks.now();
        let (quorum, others) = (&self.quorum, &self.others);
        let is_known = |key| quorum.get(key).is_some() || others.get(key).is_some();
        let me = locks.me();
        self.sessions.releases.retain(|&key, release| {
            // If the MAC address of this node has changed, the owner removes the records of the old address, because
            // that address is silent.
            release.record.member == me
                // An earlier request that is still on its way could bring the record back.
                && (is_known(key) || now < release.began + locks.take_timeout() * 2)
        });
        let open = self.sessions.open.iter();
        let requests = open.filter(|(_, it)| it.next_request().is_some_and(|at| at <= now));
        let requests = requests.map(|(&id, _)| id).collect::<Vec<_>>();
        let releases = self.sessions.releases.iter();
        let releases = releases.filter(|(_, it)| it.repeats.next <= now);
        let releases = releases.map(|(&key, _)| (key, is_known(key)));
        let releases = releases.collect::<Vec<_>>();
        for id in requests {
            self.send_request(locks, id);
        }
        for (key, is_known) in releases {
            if is_known {
                self.send_release(locks, key);
            } else if let Some(release) = self.sessions.releases.get_mut(&key) {
                release.repeats.note(locks);
            }
        }
    }

    /// Sends the request of a session.
    fn send_request(&mut self, locks: &LocksContext<'_>, id: u64) {
        if locks.tenure.known.is_none() {
            // This node has not joined a ring yet. It sends the request as soon as it knows a token.
            return self.sessions.note_request(locks.now());
        }
        let me = locks.me();
        let Some(session) = self.sessions.open.get_mut(&id) else {
            return;
        };
        let record = session.record(me);
        session.repeats.note(locks);
        let again = session.repeats.next;
        self.sessions.note_request(again);
        self.request(locks, LocksPurpose::Request, record);
    }

    fn send_release(&mut self, locks: &LocksContext<'_>, key: Key) {
        let Some(release) = self.sessions.releases.get_mut(&key) else {
            return;
        };
        let record = release.record;
        release.repeats.note(locks);
        let again = release.repeats.next;
        self.sessions.note_request(again);
        self.request(locks, LocksPurpose::Release, record);
    }

    fn request(&mut self, locks: &LocksContext<'_>, purpose: LocksPurpose, record: Record) {
        let side = Side::of(record.request.grade);
        let may_change = self.may_change(locks, side);
        if locks.tenure.held.is_some() {
            if purpose != LocksPurpose::Release {
                return self.serve(locks, record);
            }
            self.serve_release(locks, record);
            // An owner that is about to leave hands the token over without the change. The next owner makes the change.
            if may_change {
                return;
            }
        }
        let frame = self.frame(locks, purpose, side);
        // An idle token moves from member to member, and only the giver learns of each hop. So the request goes to all
        // members.
        self.send(locks, MacAddr::BROADCAST, frame, &[record]);
    }

    /// Claims all locks of lower grades from the owners of a new chain. Such an owner may not have the records of these
    /// locks, and it does not announce its table while it waits for claims.
    pub(super) fn claim_in_new_chain(&mut self, locks: &LocksContext<'_>, known: Token) {
        let is_new = |claimed: Token| !claimed.same_chain(&known);
        if locks.tenure.held.is_none() && self.sessions.claimed_in.is_none_or(is_new) {
            self.sessions.claimed_in = Some(known);
            self.send_claims(locks);
        }
    }

    /// Repeats the claims while an owner may wait for them, because a frame may be lost.
    pub(super) fn repeat_claims(&mut self, locks: &LocksContext<'_>) {
        let longest = locks.members.longest_waiter_timeout(locks.context);
        let is_young = self
            .chain
            .is_some_and(|(_, since)| locks.now().since(since) < longest);
        if is_young && locks.tenure.held.is_none() {
            self.send_claims(locks);
        }
    }

    fn send_claims(&mut self, locks: &LocksContext<'_>) {
        let open = self.sessions.open.values();
        let held = open.filter(|it| it.granted.is_some() && !it.is_lost);
        let held = held.filter(|it| it.side() == Side::Others);
        let claims = held.map(|it| it.record(locks.me())).collect::<Vec<_>>();
        if !claims.is_empty() {
            let frame = self.frame(locks, LocksPurpose::Request, Side::Others);
            self.send(locks, MacAddr::BROADCAST, frame, &claims);
        }
    }

    /// Compares all sessions with this node's copy of the tables.
    pub(super) fn review_sessions(&mut self, locks: &LocksContext<'_>) {
        let ids = self.sessions.open.keys().copied().collect::<Vec<_>>();
        for id in ids {
            self.review_session(locks, id);
        }
        let me = locks.me();
        let own = self.quorum.of_member(me).chain(self.others.of_member(me));
        for record in own.copied().collect::<Vec<_>>() {
            self.release_unknown(locks, record);
        }
        self.review_kept(locks);
    }

    /// Compares the sessions of these records with this node's copy of the tables.
    pub(super) fn review_changed(&mut self, locks: &LocksContext<'_>, changed: &[Record]) {
        // Another session waits for each of these names.
        for record in changed.iter().filter(|it| it.state == LockState::Waiting) {
            self.release_kept(locks, record.request.name);
        }
        for &record in changed.iter().filter(|it| it.member == locks.me()) {
            self.review_session(locks, record.request.session);
            if record.state != LockState::Gone {
                self.release_unknown(locks, record);
            }
        }
    }

    fn review_session(&mut self, locks: &LocksContext<'_>, id: u64) {
        let (now, me) = (locks.now(), locks.me());
        let Some(session) = self.sessions.open.get_mut(&id).filter(|it| !it.is_lost) else {
            return;
        };
        let table = match session.side() {
            Side::Quorum => &self.quorum,
            Side::Others => &self.others,
        };
        let record = table.get(session.key(me)).copied();
        let was_known = std::mem::replace(&mut session.is_known, record.is_some());
        let is_excluded = record.is_some_and(|own| {
            session.side() == Side::Quorum && {
                // An owner that did not know this record may have granted a lock of a lower grade.
                let mut lower = self.others.held(session.request.name);
                lower.any(|other| own.excludes(other))
            }
        });
        match record {
            Some(record) if record.is_held() && !is_excluded => {
                self.try_grant(locks, id, record.fence);
            }
            Some(record) if record.is_held() => {}
            Some(_) if session.granted.is_some() && session.side() == Side::Others => {
                // An older table of another member replaced the record, so this node claims its lock.
                session.is_known = false;
                if was_known {
                    session.repeats = Repeats::at(now);
                    self.sessions.note_request(now);
                }
            }
            Some(_) if session.granted.is_some() => self.lose(id),
            Some(_) if !was_known => {
                let session = session.user;
                self.report(Event::LockQueued { session });
            }
            None if session.granted.is_some() && session.side() == Side::Quorum => self.lose(id),
            None if was_known => {
                // The new owner does not know the record, so this node asks or claims again.
                session.repeats = Repeats::at(now);
                self.sessions.note_request(now);
            }
            Some(_) | None => {}
        }
    }

    /// Releases a record of this node if it belongs to no session.
    fn release_unknown(&mut self, locks: &LocksContext<'_>, record: Record) {
        let is_known = self.sessions.open.contains_key(&record.request.session)
            || self.sessions.releases.contains_key(&record.key());
        // A program of this node's earlier process may still rely on its lock.
        if !is_known && locks.context.has_run_for(locks.lease_ends()) {
            // Only the earlier process knew how many programs used the session.
            let is_held = record.is_held();
            let last = if is_held {
                record.after_last_reuse()
            } else {
                record
            };
            self.begin_release(locks, last);
        }
    }

    /// Grants the lock of a session to its program, if at least half of the lease is left.
    fn try_grant(&mut self, locks: &LocksContext<'_>, id: u64, fence: Token) {
        let Some(session) = self.sessions.open.get_mut(&id) else {
            return;
        };
        // An owner may have removed a record that was stored, and may have granted the lock again later.
        let is_confirmed = session.side() == Side::Others || session.confirmed == Some(fence);
        if session.granted.is_some() || !is_confirmed {
            return;
        }
        if session.lease_from + locks.lease_lasts() / 2 <= locks.now() {
            // The session waited for a long time, so little of the lease is left. The program would lose the lock
            // before the next renewal.
            self.renewals.hasten(locks.now(), locks.take_timeout());
            return;
        }
        session.granted = Some(fence);
        let (session, lease_from) = (session.user, session.lease_from);
        self.sessions.note_lease(lease_from);
        self.report(Event::LockGranted { session, fence });
    }

    /// Grants the locks of this node's held records, because a majority has stored them.
    pub(super) fn confirm_own(&mut self, locks: &LocksContext<'_>, records: &[Record]) {
        let me = locks.me();
        for record in records.iter().filter(|it| it.member == me && it.is_held()) {
            self.on_confirmed(locks, record);
        }
    }

    /// Handles the owner's report that a majority has stored the held record.
    pub(super) fn on_confirmed(&mut self, locks: &LocksContext<'_>, record: &Record) {
        let id = record.request.session;
        if let Some(session) = self.sessions.open.get_mut(&id) {
            session.confirmed = Some(record.fence);
            self.review_session(locks, id);
        }
    }

    /// Handles the owner's refusal of a request or a claim.
    pub(super) fn on_refused(&mut self, locks: &LocksContext<'_>, refused: &Record) {
        let session = refused.request.session;
        let open = self.sessions.open.get(&session);
        let Some(open) = open.filter(|it| !it.is_lost) else {
            return;
        };
        // An older owner may have refused the request before this grant.
        let is_claim = open.side() == Side::Others && refused.fence.progress != 0;
        if open.granted.is_some() {
            if is_claim {
                self.lose(session);
            }
        } else {
            self.sessions.open.remove(&session);
            self.report(Event::LockRefused { session });
            // Members keep the request for the next owner. They must forget it.
            let request = Record {
                state: LockState::Waiting,
                ..*refused
            };
            self.begin_release(locks, request);
        }
    }

    /// Reports that a session has lost its lock. The program may still work until the lease ends, so the owner must not
    /// grant the lock to another session yet.
    fn lose(&mut self, id: u64) {
        let is_kept = self.kept.has(id);
        let Some(open) = self.sessions.open.get_mut(&id) else {
            return;
        };
        open.is_lost = true;
        let session = open.user;
        if !is_kept {
            self.report(Event::LockLost { session });
        }
    }

    /// Ends the sessions whose leases are over.
    pub(super) fn expire_leases(&mut self, locks: &LocksContext<'_>) {
        let (now, lasts) = (locks.now(), locks.lease_lasts());
        let open = self.sessions.open.iter();
        let over = open.filter(|(_, it)| it.granted.is_some() && it.lease_from + lasts <= now);
        for id in over.map(|(&id, _)| id).collect::<Vec<_>>() {
            let Some(session) = self.sessions.open.remove(&id) else {
                continue;
            };
            let is_kept = self.kept.has(id);
            self.kept.forget(session.request.name, id);
            self.kept.forget_user(session.user);
            self.begin_release(locks, session.record(locks.me()));
            if !session.is_lost && !is_kept {
                let session = session.user;
                self.report(Event::LockLost { session });
            }
        }
    }

    /// Returns the time until which the program with this request may rely on its lock. Returns `None` if the program
    /// has no lock.
    pub(crate) fn lease_end(&self, request: u64, lasts: Duration) -> Option<Instant> {
        let id = self.kept.session_of(request);
        let session = self.sessions.open.get(&id)?;
        let is_held = session.granted.is_some() && !session.is_lost;
        let is_used = session.user == request && !self.kept.has(id);
        (is_held && is_used).then_some(session.lease_from + lasts)
    }

    /// Restarts leases of sessions in a table. The owner must have known the records of these sessions at the time
    /// `sent`.
    pub(super) fn extend_leases(&mut self, locks: &LocksContext<'_>, side: Side, sent: Instant) {
        let me = locks.me();
        self.sessions.renewals += 1;
        self.renewals.note_answered(side);
        for session in self.sessions.open.values_mut() {
            if session.side() == side && session.is_known && !session.is_lost {
                session.lease_from = session.lease_from.max(sent);
                // The owner renews leases only if a majority has its table, and the owner has the same records.
                let table = match side {
                    Side::Quorum => &self.quorum,
                    Side::Others => &self.others,
                };
                let record = table.get(session.key(me)).filter(|it| it.is_held());
                session.confirmed = record.map(|it| it.fence).or(session.confirmed);
            }
        }
        self.review_sessions(locks);
    }
}

impl Sessions {
    pub(super) fn snapshot(&self, writer: &mut Writer) {
        let Self {
            open,
            releases,
            requests_from,
            leases_from,
            claimed_in,
            // Only the driver uses this number.
            renewals: _,
        } = self;
        let now = writer.now;
        requests_from.map(|at| at.since(now)).hash(writer);
        leases_from.map(|at| now.since(at)).hash(writer);
        claimed_in
            .map(|token| (token.author, token.number))
            .hash(writer);
        let repeats = |it: &Repeats| (it.count, it.next.since(now));
        open.len().hash(writer);
        for session in open.values() {
            let Session {
                request,
                user,
                reuses,
                began,
                repeats: repeated,
                is_known,
                confirmed,
                is_lost,
                granted,
                lease_from,
            } = session;
            (request, user, reuses, now.since(*began), repeats(repeated)).hash(writer);
            (
                is_known,
                confirmed,
                is_lost,
                granted,
                now.since(*lease_from),
            )
                .hash(writer);
        }
        for (key, release) in releases {
            (key, now.since(release.began), repeats(&release.repeats)).hash(writer);
        }
    }
}
