//! Checks that programs get their named locks after the faults, and that no record of a lock remains.

use std::time::Duration;

use ring_codec::lab2::Kind;
use ring_proto::lab2::Grade;

use super::Inspect;
use super::named_locks::{LockHolder, LockOptions};
use super::outcome::Rule;
use super::system::World;

/// The maximum number of members that request locks at the same time.
const PROGRAMS_MAX: usize = 32;
/// The duration of a program's work, in nanoseconds.
const WORK_NANOS: u64 = 2_000_000;
/// The smallest MTU with which members can compare their tables of locks.
const COMPARING_MTU: usize = 600;
/// In WAITER_TIMEOUTs: the lease of a lock, the time until its member is flagged, and the time without agreement after
/// a start. The last two WAITER_TIMEOUTs are for an owner that waits for claims, and for repeated requests.
const LEASE_TIMEOUTS: u32 = 4 + 2 + 5 + 2;
/// The time in which a ring without locks must not send frames about locks, in heartbeats.
const QUIET_HEARTBEATS: u32 = 8;

impl<M: Inspect> World<M> {
    /// Checks that each live member gets a lock, and that the tables are empty afterwards. A rotation of the token
    /// takes at most `round`.
    pub(super) fn check_locks(&mut self, round: Duration) {
        self.stop_repeats();
        let quorum = self.may_have_quorum();
        let exemptions = &self.system.checks.exemptions;
        let has_large_mtu = self.live().all(|at| self.payload_max(at) >= COMPARING_MTU);
        // A station that asks for the token and never takes it makes owners give the token up again and again. In this
        // case, no tenure lasts long enough for the claims of holders.
        let is_disturbed = self.system.has_unresponsive_station;
        let may_be_wrong = exemptions.may_locks_be_wrong() || exemptions.may_names_clash();
        if may_be_wrong || is_disturbed || !has_large_mtu {
            self.cancel_locks(false);
            return;
        }
        if !quorum {
            self.cancel_locks(true);
            // Without a quorum, no owner may remove the record of a dead member, and programs wait for its lock.
            if self.knows_lost_quorum_lock() {
                self.cancel_locks(false);
                return;
            }
        }
        self.begin_phase("members want named locks");
        let live: Vec<usize> = self.live().take(PROGRAMS_MAX).collect();
        for (count, &at) in live.iter().enumerate() {
            let is_first = count % 2 == 0;
            let lock = LockOptions {
                name: u8::from(is_first),
                shared: false,
                quorum: quorum && is_first,
                work: WORK_NANOS,
                stubborn: false,
                repeats: 0,
            };
            self.take_lock(at, lock);
        }
        let waiter = self.system.constants.waiter_timeout();
        let longest = self.system.slowest.max(waiter);
        let (programs, work) = self.lock_programs();
        let turns = u32::try_from(programs)
            .unwrap_or(u32::MAX)
            .saturating_add(2);
        let limit =
            (longest * LEASE_TIMEOUTS + (round + waiter) * turns + Duration::from_nanos(work)) * 51
                / 50;
        let served = self.run_until(limit, |sim| sim.lock_programs().0 == 0);
        if served.is_none() && !self.over {
            let what = format!("{} after {limit:?}", self.describe_lock_programs());
            return self.report(Rule::LockServed, what);
        }
        let emptied = self.run_until(limit, |sim| sim.find_known_lock().is_none());
        if let Some(what) = self
            .find_known_lock()
            .filter(|_| emptied.is_none() && !self.over)
        {
            return self.report(Rule::LockTables, format!("{what} after {limit:?}"));
        }
        self.check_lock_frames(round);
    }

    /// Whether a live node knows a record of grade `quorum` whose process has ended.
    fn knows_lost_quorum_lock(&self) -> bool {
        let mut views = self
            .live()
            .filter_map(|at| self.machine(at))
            .flat_map(Inspect::lock_views);
        views.any(|view| {
            let of_view = |it: &&LockHolder| it.session == view.session;
            let program = self.system.named_locks.programs().iter().find(of_view);
            view.grade == Grade::Quorum && !program.is_some_and(|it| self.is_of_live_process(it))
        })
    }

    /// Returns a text about a record that a live node still knows.
    fn find_known_lock(&self) -> Option<String> {
        self.live().find_map(|at| {
            let view = self.machine(at)?.lock_views().into_iter().next()?;
            Some(format!(
                "n{at} knows session {} of {}",
                view.session, view.name
            ))
        })
    }

    /// Checks that a ring without locks sends no frames about locks.
    fn check_lock_frames(&mut self, round: Duration) {
        // Programs that have just released their locks may still repeat the release.
        self.run(self.system.constants.waiter_timeout());
        let before = self.lock_frames();
        self.run(round + self.system.constants.heartbeat * QUIET_HEARTBEATS);
        let sent = self.lock_frames() - before;
        if sent > 0 && !self.over {
            self.report(Rule::LockFrames, format!("{sent} frames"));
        }
    }

    fn lock_frames(&self) -> u64 {
        self.sent(Kind::Locks) + self.sent(Kind::LocksQuestion)
    }
}
