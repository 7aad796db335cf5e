//! The leases of holders, and the flags of silent members (`docs/reference/lab2/locks.md`).

use std::collections::{BTreeSet, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{LockState, LocksPurpose, Token};
use xxhash_rust::xxh3::xxh3_64;

use super::frames::{LocksFrame, ReceivedLocks};
use super::record::{FLAG_CONFIRMED, Record};
use super::{Locks, LocksContext, Side};
use crate::lab2::machine::Writer;
use crate::time::Instant;

/// The number of renewals whose times are remembered.
const SENT_MAX: usize = 8;
/// An owner flags the records of a member that was silent for this number of renewal periods.
const SILENT_PERIODS: u32 = 2;

/// The renewals of this node.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Renewals {
    next: Option<Instant>,
    serial: u64,
    /// The serial numbers and times of the last renewals.
    sent: VecDeque<(u64, Instant)>,
    /// For each side, the token that this node knew when it sent a renewal that no owner has answered yet.
    missed: [Option<Token>; 2],
    /// Renewals that this owner may not answer yet. If the token leaves earlier, the renewals wait for the next tenure.
    unanswered: Vec<Renewal>,
    /// The time at which an owner next looks for silent members, for each side.
    next_checks: [Option<Instant>; 2],
}

/// A renewal of a member's leases in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Renewal {
    member: MacAddr,
    side: Side,
    serial: u64,
    arrived: Instant,
}

impl Renewals {
    pub(super) const fn next(&self) -> Option<Instant> {
        self.next
    }

    pub(super) const fn next_check(&self, side: Side) -> Option<Instant> {
        self.next_checks[side as usize]
    }

    /// Makes the first renewal due at a time, unless this node already renews leases.
    pub(super) fn begin(&mut self, at: Instant) {
        self.next.get_or_insert(at);
    }

    /// Makes a renewal due now, but at the earliest `pause` after the last renewal.
    pub(super) fn hasten(&mut self, now: Instant, pause: Duration) {
        let last = self.sent.back().map(|&(_, at)| at + pause);
        let due = last.map_or(now, |last| last.max(now));
        self.next = Some(self.next.map_or(due, |next| next.min(due)));
    }

    /// Makes a renewal due if another tenure began before an owner answered the last renewal. An owner of a version
    /// without named locks never answers. If every renewal arrived in a tenure of such an owner, the leases would end.
    pub(super) fn follow_token(&mut self, known: Token, now: Instant, pause: Duration) {
        if self.missed.iter().flatten().any(|token| *token != known) {
            self.missed = [None, None];
            self.hasten(now, pause);
        }
    }

    pub(super) fn note_answered(&mut self, side: Side) {
        self.missed[side as usize] = None;
    }

    /// Keeps a renewal until this owner may answer it. A later renewal of the same member replaces it.
    fn keep(&mut self, renewal: Renewal) {
        let is_same = |it: &Renewal| it.member == renewal.member && it.side == renewal.side;
        self.unanswered.retain(|it| !is_same(it));
        self.unanswered.push(renewal);
    }

    /// Removes and returns the renewals of a table that arrived after `oldest`. Also removes older renewals.
    pub(super) fn take_unanswered(&mut self, side: Side, oldest: Instant) -> Vec<Renewal> {
        self.unanswered.retain(|it| it.arrived > oldest);
        let (taken, kept) = std::mem::take(&mut self.unanswered)
            .into_iter()
            .partition(|it| it.side == side);
        self.unanswered = kept;
        taken
    }

    /// Whether members that renewed their leases after `oldest` wait for an answer.
    pub(super) fn has_unanswered(&self, side: Side, oldest: Instant) -> bool {
        let mut unanswered = self.unanswered.iter();
        unanswered.any(|it| it.side == side && it.arrived > oldest)
    }

    /// Whether a member that renewed its leases after the time `oldest` waits for an answer.
    pub(super) fn has_unanswered_since(&self, oldest: impl Fn() -> Instant) -> bool {
        let mut unanswered = self.unanswered.iter();
        unanswered.any(|it| it.arrived > oldest())
    }

    fn sent_at(&self, serial: u64) -> Option<Instant> {
        let sent = self.sent.iter().find(|(number, _)| *number == serial);
        sent.map(|&(_, at)| at)
    }
}

impl Locks {
    /// Renews the leases of this node's sessions, if a renewal is due.
    pub(super) fn renew(&mut self, locks: &LocksContext<'_>) {
        let now = locks.now();
        if self.sessions.open.is_empty() {
            self.renewals.next = None;
            return;
        }
        if self.renewals.next.is_some_and(|at| at > now) || locks.tenure.known.is_none() {
            return;
        }
        self.renewals.next = Some(now + locks.renewal_period());
        self.repeat_claims(locks);
        for side in Side::ALL {
            let mut open = self.sessions.open.values();
            if open.any(|it| it.side() == side && it.is_known) {
                self.send_renewal(locks, side);
            }
        }
    }

    fn send_renewal(&mut self, locks: &LocksContext<'_>, side: Side) {
        let (now, me) = (locks.now(), locks.me());
        let serial = self.renewals.serial.checked_add(1).unwrap_or(1);
        self.renewals.serial = serial;
        self.renewals.sent.push_back((serial, now));
        if self.renewals.sent.len() > SENT_MAX {
            self.renewals.sent.pop_front();
        }
        let frame = LocksFrame {
            serial,
            digest: self.table(side).digest_of(me),
            ..self.frame(locks, LocksPurpose::Renew, side)
        };
        self.send(locks, MacAddr::BROADCAST, frame, &[]);
        self.renewals.missed[side as usize] = locks.tenure.known;
        self.serve_renewal(
            locks,
            Renewal {
                member: me,
                side,
                serial,
                arrived: now,
            },
        );
    }

    pub(super) fn on_renewal(
        &mut self,
        locks: &LocksContext<'_>,
        from: MacAddr,
        side: Side,
        frame: &ReceivedLocks<'_>,
    ) {
        if !locks.members.has(from) {
            return;
        }
        self.heard.insert(from, locks.now());
        // A node that has just started must know the locks of the grade `quorum` before it grants locks of lower
        // grades.
        if side == Side::Quorum && self.quorum.version().is_none() && frame.digest != 0 {
            self.ask(locks, from, side);
        }
        self.serve_renewal(
            locks,
            Renewal {
                member: from,
                side,
                serial: frame.serial,
                arrived: locks.now(),
            },
        );
    }

    /// Clears the flags of a member that renews its leases, and answers the member as soon as a majority knows that the
    /// flags are cleared.
    pub(super) fn serve_renewal(&mut self, locks: &LocksContext<'_>, renewal: Renewal) {
        let Renewal {
            member,
            side,
            serial,
            arrived: _,
        } = renewal;
        if self.may_change(locks, side) {
            let flagged = self.table(side).flagged();
            let flagged = flagged.filter(|it| it.member == member);
            let flagged = flagged.copied().collect::<Vec<_>>();
            if !flagged.is_empty() {
                self.set_flags(locks, side, flagged, 0);
            }
            // After the answer, the member relies on its lock. So a majority must know that the flags are cleared.
            if side == Side::Others || self.is_agreed(locks) {
                return self.answer_renewal(locks, member, side, serial);
            }
        }
        if locks.tenure.held.is_some() {
            self.renewals.keep(renewal);
        }
    }

    /// Answers the renewals of the table `Others` that waited for this owner's duty.
    pub(super) fn serve_renewals(&mut self, locks: &LocksContext<'_>) {
        let oldest = Self::oldest_renewal(locks);
        if !self.may_change(locks, Side::Others) {
            return;
        }
        for renewal in self.renewals.take_unanswered(Side::Others, oldest) {
            self.serve_renewal(locks, renewal);
        }
    }

    /// Renews the leases of a member's locks in a table.
    fn answer_renewal(
        &mut self,
        locks: &LocksContext<'_>,
        member: MacAddr,
        side: Side,
        serial: u64,
    ) {
        if member == locks.me() {
            if let Some(sent) = self.renewals.sent_at(serial) {
                self.extend_leases(locks, side, sent);
            }
            return;
        }
        let renewed = LocksFrame {
            serial,
            digest: self.table(side).digest_of(member),
            ..self.frame(locks, LocksPurpose::Renewed, side)
        };
        self.send(locks, member, renewed, &[]);
    }

    fn set_flags(&mut self, locks: &LocksContext<'_>, side: Side, records: Vec<Record>, flag: u64) {
        let mut changed = BTreeSet::new();
        for record in records {
            changed.insert(record.key());
            let flag_seen = locks.now();
            self.table_mut(side).put(Record {
                flag,
                flag_seen,
                ..record
            });
        }
        self.commit(locks, side, &changed);
    }

    /// Handles the owner's answer to a request or a renewal.
    pub(super) fn on_renewed(
        &mut self,
        locks: &LocksContext<'_>,
        from: MacAddr,
        side: Side,
        frame: &ReceivedLocks<'_>,
        records: &[Record],
    ) {
        let me = locks.me();
        for record in records.iter().filter(|it| it.member == me) {
            if record.state == LockState::Refused {
                self.on_refused(locks, record);
            } else {
                self.on_confirmed(locks, record);
                // Without the record in its table, this node would mistake the next change for the loss of its lock.
                if self.table(side).get(record.key()).is_none() {
                    self.ask(locks, from, side);
                }
            }
        }
        let Some(sent) = self.renewals.sent_at(frame.serial) else {
            return;
        };
        if frame.digest == self.table(side).digest_of(me) {
            self.extend_leases(locks, side, sent);
        } else {
            self.ask(locks, from, side);
        }
    }

    /// Whether this node should look for silent members in a table.
    pub(super) fn is_check_due(&self, locks: &LocksContext<'_>, side: Side) -> bool {
        let next = self.renewals.next_check(side);
        !self.table(side).is_empty() && next.is_none_or(|at| at <= locks.now())
    }

    /// Flags the records of silent members, and removes records that were flagged for the length of a lease.
    pub(super) fn check_silent_members(&mut self, locks: &LocksContext<'_>) {
        let now = locks.now();
        let silent_after = locks.renewal_period() * SILENT_PERIODS + locks.take_timeout();
        for side in Side::ALL {
            if !self.is_check_due(locks, side) || !self.may_change(locks, side) {
                continue;
            }
            self.renewals.next_checks[side as usize] = Some(now + locks.renewal_period() / 2);
            self.heard.retain(|&member, _| locks.members.has(member));
            let expired = self.table(side).expired(now, locks.lease_ends());
            let expired = expired.map(Record::after_last_reuse).collect::<Vec<_>>();
            self.remove_records(locks, side, expired);
            let silent = self.silent_records(locks, side, silent_after);
            if let Some(first) = silent.first() {
                let flag = self.new_flag(locks, side, first);
                self.set_flags(locks, side, silent, flag);
            }
        }
    }

    /// Returns the records without a flag whose members were silent for at least this time.
    fn silent_records(
        &self,
        locks: &LocksContext<'_>,
        side: Side,
        silent_after: Duration,
    ) -> Vec<Record> {
        let is_silent = |at: Instant| locks.now().since(at) >= silent_after;
        let table = self.table(side);
        let members = table.members().filter(|&member| {
            let heard = self.heard.get(&member).copied();
            member != locks.me() && heard.is_none_or(is_silent)
        });
        let records = members.flat_map(|member| table.of_member(member));
        let silent = records.filter(|it| it.flag == 0 && is_silent(it.flag_seen));
        silent.copied().collect()
    }

    /// Marks flags that a majority has stored. Only such flags count, because every later owner knows them.
    pub(super) fn confirm_flags(&mut self, locks: &LocksContext<'_>) {
        let side = Side::Quorum;
        let new = self.quorum.flagged();
        let new = new.filter(|it| !it.is_flag_confirmed());
        let new = new.copied().collect::<Vec<_>>();
        if let Some(flag) = new.first().map(|it| it.flag | FLAG_CONFIRMED) {
            self.set_flags(locks, side, new, flag);
        }
    }

    /// Returns a flag that no owner has used before.
    fn new_flag(&self, locks: &LocksContext<'_>, side: Side, record: &Record) -> u64 {
        let mut bytes = record.key().to_be_bytes().to_vec();
        bytes.extend(locks.me().0);
        if let Some(duty) = &self.duty {
            bytes.extend(duty.token().priority());
            bytes.extend(duty.changes().to_be_bytes());
        }
        let flag = xxh3_64(&bytes) & !FLAG_CONFIRMED;
        // The other table needs no majority.
        flag.max(2) | u64::from(side == Side::Others)
    }
}

impl Renewals {
    pub(super) fn snapshot(&self, writer: &mut Writer) {
        let Self {
            next,
            // A serial number is only compared with the numbers in `sent`.
            serial,
            sent,
            missed,
            unanswered,
            next_checks,
        } = self;
        missed.hash(writer);
        let now = writer.now;
        let checks = next_checks.map(|it| it.map(|at| at.since(now)));
        (next.map(|at| at.since(now)), checks).hash(writer);
        for it in unanswered {
            (it.member, it.side, it.serial, now.since(it.arrived)).hash(writer);
        }
        for (number, at) in sent {
            (serial.wrapping_sub(*number), now.since(*at)).hash(writer);
        }
    }
}
