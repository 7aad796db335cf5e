//! Checks that the ring recovers after the faults (`docs/reference/lab2/promises.md Q2` to Q5).

use std::collections::BTreeMap;
use std::time::Duration;

use ring_codec::lab2::{Kind, PING_LEN, Profile};
use ring_proto::lab2::{Constants, Diagnostic};

use super::Inspect;
use super::notation::node_of;
use super::outcome::Rule;
use super::schedule::{Fault, Schedule};
use super::settings::FaultKind;
use super::system::World;
use super::unresponsive_station::long_work;
use crate::kernel::schedule::FaultFields as _;

/// After this number of failed handovers in a row, an OWNER offers the token only to members that it has heard
/// recently.
const FAILED_HANDOVERS_MAX: u32 = 3;
/// The maximum number of members that request the token at the same time.
const WANTING_MEMBERS_MAX: usize = 32;
/// The duration of the work of a member that requests the token, in nanoseconds.
const WORK_NANOS: u64 = 2_000_000;
/// If exactly one owner exists for this time, the check ends early. In small rings, the check reaches its bound before
/// this time.
const SOLE_OWNER_TIME: Duration = Duration::from_secs(3);
/// The maximum time after a start in which a node makes no promises, in WAITER_TIMEOUTs.
const NO_PROMISE_TIMEOUTS_MAX: u32 = 10;
/// The interval at which the tables are compared.
const TABLES_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The maximum number of broadcasts of one kind that an election costs per member.
const BROADCASTS_PER_MEMBER_MAX: u64 = 3;

/// The bounds on the recovery, which follow from the constants in force.
struct Bounds {
    /// Invariant 2: the time until one owner is left.
    one_owner: Duration,
    /// Invariant 4: the time until a dead owner is replaced.
    replaced: Duration,
    /// Invariant 5: the time until the tables are equal. The protocol states no bound. Each difference disappears after
    /// a few heartbeats. A dispute about the IP of a silent member lasts for some WAITER_TIMEOUTs. A long table needs
    /// one heartbeat for every two of its frames.
    equal_tables: Duration,
    /// The time until every live member has had the token, including failed handovers to dead members.
    round: Duration,
    waiter_timeout: Duration,
    /// The time after which a node that gave up the token asks whether it may be the owner again.
    probe: Duration,
}

/// The time within which a live member ends a dispute about its own IP, in WAITER_TIMEOUTs.
const IP_DISPUTE_TIMEOUTS: u32 = 4;
/// The number of heartbeats after which a member that sent no frame counts as silent.
const SILENT_AFTER_HEARTBEATS: u32 = 128;
/// The length of a PING that contains its author's MTU, in bytes.
const MTU_PING_LEN: usize = 79;
/// The time for which a removed member stays out of the tables, in WAITER_TIMEOUTs.
const REMOVED_TIMEOUTS: u32 = 16;

/// If no member accepts a node's token, the node asks after this time whether it may be the owner again. The unit is
/// WAITER_TIMEOUT.
const PROBE_TIMEOUTS: u32 = 4;
/// With an MTU of this size, frames have room for a preference.
const PREFERENCE_MTU: usize = 200;
/// The sign-of-life period, in heartbeat periods.
const SIGN_OF_LIFE_PERIODS: u32 = 64;

/// The comparisons of all tables.
#[derive(Debug, Default)]
struct Tables {
    next: Duration,
    since: Option<Duration>,
    /// The time of the last comparison at which the tables were equal.
    seen: Option<Duration>,
}

impl Tables {
    fn compare<M: Inspect>(&mut self, sim: &World<M>) {
        let now = sim.now();
        if now >= self.next {
            self.next = now + TABLES_POLL_INTERVAL;
            let equal = sim.common_digest().is_some();
            self.since = equal.then(|| self.since.unwrap_or(now));
            if equal {
                self.seen = Some(now);
            }
        }
    }
}

impl Bounds {
    /// Returns the bounds. The largest table has `members` members, and `live` of these members exist. Each live member
    /// spends at most [`FAILED_HANDOVERS_MAX`] handovers per rotation on dead members. One frame carries up to
    /// `per_frame` members of a table.
    fn of(
        constants: &Constants,
        (members, live, per_frame): (u32, u32, u32),
        latency: Duration,
    ) -> Self {
        let known = members;
        let members = known.min(live.saturating_mul(1 + FAILED_HANDOVERS_MAX));
        let waiter = constants.waiter_timeout();
        let looser = constants.looser_timeout();
        let answer = constants.looser_answer_timeout();
        let hop = constants.handover_timeout() + 2 * latency;
        // No clock is wrong by more than 1 %.
        let with_drift = |bound: Duration| bound + bound / 50 + 10 * latency;
        let in_flight = with_drift(hop * members);
        let round = with_drift((constants.idle_hold + hop) * members);
        let parts = known.div_ceil(per_frame);
        let heartbeats = 20 + 2 * (parts + parts / 3);
        Self {
            one_owner: with_drift(waiter + 2 * looser + 2 * answer) + in_flight,
            replaced: with_drift(waiter + looser + 2 * answer),
            equal_tables: with_drift(
                (3 + IP_DISPUTE_TIMEOUTS) * waiter + constants.heartbeat * heartbeats,
            ) + round,
            round,
            waiter_timeout: with_drift(waiter),
            probe: with_drift(waiter * PROBE_TIMEOUTS),
        }
    }
}

impl<M: Inspect> World<M> {
    /// Ends the faults and checks the recovery.
    pub(super) fn recover(&mut self, schedule: &Schedule) {
        self.begin_phase("the faults end");
        self.end_faults(&schedule.stay_dead);
        self.system.stats.counters.calm_at = Some(self.now());
        let calm = self.now();
        let bounds = self.bounds();
        let seen_equal = self.await_one_owner(&bounds);
        self.await_equal_tables(calm, seen_equal, &bounds);
        self.check_diagnostics(&bounds);
        let lasting = schedule.lasting.as_ref();
        let afflicted = lasting.and_then(|fault| self.apply_lasting_fault(fault));
        // If a predecessor does not hear a member, the ring skips the member once, and then the member gets the token.
        // For a member that answers too late, there is no bound.
        let (again, rounds, late) = match (afflicted, lasting) {
            (Some(_), Some(Fault::Cut { .. } | Fault::Broadcast { .. })) => (afflicted, 2, None),
            (Some(_), Some(Fault::Slow { .. })) => (None, 1, afflicted),
            _ => (afflicted, 1, None),
        };
        if !self.system.has_unresponsive_station {
            self.check_resting_place(&bounds);
        }
        self.check_service(again, rounds, late, false);
        if afflicted.is_none() && self.may_have_quorum() {
            self.await_promises();
            self.check_service(None, 1, None, true);
        }
        if self.system.stats.fault_count(FaultKind::Lock) == 0 {
            // In a run without locks, this check is omitted, so that the run stays the same.
        } else if afflicted.is_none() {
            let round = self.bounds().round + self.bounds().probe;
            self.check_locks(round);
        } else {
            self.cancel_locks(false);
        }
        if let Some(fault) = lasting.filter(|_| afflicted.is_some()) {
            self.act(&fault.end());
            self.run(bounds.waiter_timeout);
            self.await_one_owner(&self.bounds());
        }
        self.check_replacement();
    }

    /// Checks that the idle token comes to a live node with the highest preference, and rests there.
    fn check_resting_place(&mut self, bounds: &Bounds) {
        let preference = |sim: &Self, at: usize| sim.nodes[at].own.preference;
        let highest = self.live().map(|at| preference(self, at)).max();
        let announced = self.live().all(|at| self.payload_max(at) >= PREFERENCE_MTU);
        let matters = |&highest: &u8| highest > 0 && announced && self.live().count() > 1;
        let Some(highest) = highest.filter(matters) else {
            return;
        };
        self.begin_phase("the idle token rests with the highest preference");
        let period = self.system.constants.heartbeat * SIGN_OF_LIFE_PERIODS;
        let rests = |sim: &Self| match sim.system.owners[..] {
            [owner] => preference(sim, owner) == highest,
            _ => false,
        };
        // Programs that still want the token may take it away from its resting place again.
        let end = self.now() + bounds.round + 6 * period;
        while !self.over {
            let left = end.saturating_sub(self.now());
            if self.run_until(left, rests).is_none() && !self.over {
                // Work that waits for a quorum that never comes moves the token again and again.
                if self.nodes.iter().any(|node| node.own.job.is_some()) {
                    return;
                }
                let what = format!("not at a node with the preference {highest}, or not for long");
                return self.report(Rule::Rested, what);
            }
            if self.run_until(2 * period, |sim| !rests(sim)).is_none() {
                return;
            }
        }
    }

    /// Waits until restarted members may promise again. Before restarted members may promise again, a slow member may
    /// still rely on an earlier promise.
    fn await_promises(&mut self) {
        let usual = self.system.constants.waiter_timeout();
        if self.system.slowest > usual {
            self.begin_phase("restarted members may promise again");
            self.run(self.system.slowest.min(usual * NO_PROMISE_TIMEOUTS_MAX));
        }
    }

    /// Applies the permanent fault to a live node, which then requests the token repeatedly. Returns the node.
    fn apply_lasting_fault(&mut self, fault: &Fault) -> Option<usize> {
        let (Fault::Broadcast { node, .. }
        | Fault::Cut { to: node, .. }
        | Fault::Slow { node, .. }) = *fault
        else {
            return None;
        };
        // With a station that never takes the token, recovery may take longer: `docs/explanation/guarantees.md`, "Not
        // promised".
        if self.system.has_unresponsive_station || !self.live().any(|at| at == node) {
            return None;
        }
        self.begin_phase("one node misses frames or is slow");
        self.act(fault);
        self.run(self.bounds().waiter_timeout);
        Some(node)
    }

    pub(super) fn begin_phase(&mut self, name: &'static str) {
        let at = self.now();
        if let Some(recorder) = &mut self.system.recorder {
            recorder.on_phase(at, name);
        }
    }

    fn bounds(&self) -> Bounds {
        let sizes = self
            .live()
            .filter_map(|at| Some(self.machine(at)?.digest().size));
        let members = sizes.max().unwrap_or(1).max(1);
        let live = u32::try_from(self.live().count()).unwrap_or(u32::MAX);
        let (least, spread) = self.network.latency;
        let latency = Duration::from_nanos(least + spread);
        // The smallest MTU limits the parts of tables: 22 bytes for each member, after a header of 22 bytes.
        let mtu = self.live().map(|at| self.payload_max(at)).min();
        let per_frame = mtu.map_or(0, |mtu| mtu.saturating_sub(22) / 22);
        let per_frame = u32::try_from(per_frame.clamp(1, 66)).unwrap_or(1);
        let mut bounds = Bounds::of(&self.system.constants, (members, live, per_frame), latency);
        if self.system.stats.sent(Kind::Forget.name()) > 0 {
            // A member that one side of a split has forgotten returns to the tables only through its own frames.
            bounds.equal_tables += self.system.constants.waiter_timeout() * REMOVED_TIMEOUTS;
        }
        let says_its_mtu = mtu.is_none_or(|mtu| mtu >= MTU_PING_LEN);
        let leaves_dead = |kind| self.system.stats.fault_count(kind) > 0;
        let dead = [FaultKind::Dead, FaultKind::Card]
            .into_iter()
            .any(leaves_dead);
        if dead || !says_its_mtu {
            // Until dead stations count as silent, they take the places of members that answer. A member with the
            // smallest MTU can announce its MTU only in its signs of life.
            bounds.equal_tables += self.system.constants.heartbeat * SILENT_AFTER_HEARTBEATS;
        }
        bounds
    }

    /// Checks invariant 2. Returns the last time at which all tables were equal.
    fn await_one_owner(&mut self, bounds: &Bounds) -> Option<Duration> {
        self.begin_phase("one owner must remain");
        let begin = self.now();
        let mut limit = bounds.one_owner;
        // A handover to a station that never takes the token fails; then the token is re-created, and the rotation
        // starts again.
        let round = bounds.round;
        let delayed = if self.system.has_unresponsive_station {
            round
        } else {
            Duration::ZERO
        };
        limit += delayed;
        if self.system.checks.exemptions.may_names_clash() {
            // The token is lost one more time within a rotation, when it reaches the node that takes it for an earlier
            // part of its chain.
            limit += round + delayed + bounds.one_owner;
            // The token does not reach this node before the work under the token is done.
            let works = self.nodes.iter().filter_map(|node| node.own.job);
            let work = works.map(|job| job.work).max();
            limit += Duration::from_nanos(work.unwrap_or(0));
        }
        let mut since = self.has_one_owner().then_some(begin);
        let mut tables = Tables::default();
        // A member that gives up the token leaves the ring to other members. If all members have given up, the ring has
        // no owner until one of them may own again.
        let longer = limit + bounds.probe + bounds.one_owner;
        let mut unfit = false;
        self.run_watching(longer + bounds.waiter_timeout, |sim| {
            tables.compare(sim);
            unfit |= sim.live().any(|at| sim.is_unfit(at));
            if !unfit && sim.now() >= begin + limit + bounds.waiter_timeout {
                return false;
            }
            since = match since {
                _ if !sim.has_one_owner() => None,
                None => Some(sim.now()),
                since => since,
            };
            // In a ring of thousands of members, a rotation takes minutes. In these minutes, no other event would
            // happen.
            since.is_none_or(|at| sim.now() < at + SOLE_OWNER_TIME)
        });
        let equal_after = self.system.stats.counters.tables_equal_after;
        let equal_since = tables.since.and_then(|at| at.checked_sub(begin));
        self.system.stats.counters.tables_equal_after = equal_after.or(equal_since);
        let limit = if unfit { longer } else { limit };
        match since {
            Some(at) if at <= begin + limit => {
                // Only the first measurement counts: the second one is the time until a dead owner was replaced.
                let after = self.system.stats.counters.one_owner_after;
                self.system.stats.counters.one_owner_after = after.or(at.checked_sub(begin));
            }
            // If a run ended early, its bounds are not checked.
            _ if self.over => {}
            _ => {
                let what = format!("{} within {:?}", self.describe_owners(), limit);
                self.report(Rule::OneOwner, what);
            }
        }
        tables.seen
    }

    fn is_unfit(&self, at: usize) -> bool {
        self.machine(at).is_some_and(Inspect::is_unfit)
    }

    fn describe_owners(&self) -> String {
        let owner = |&at: &usize| {
            let held = self.nodes[at].own.held.as_ref().map(ToString::to_string)?;
            Some(format!("n{at} with {held}"))
        };
        let owners: Vec<_> = self.system.owners.iter().filter_map(owner).collect();
        match owners.as_slice() {
            [] => "there is no owner".into(),
            [one] => format!("{one} alone, but not long enough, not"),
            _ => owners.join(", "),
        }
    }

    /// Checks invariant 5. `seen_equal` is the last time after the faults at which the tables were equal. If the tables
    /// differ again later, for example because a member is forgotten, the same time limit begins again.
    fn await_equal_tables(
        &mut self,
        calm: Duration,
        seen_equal: Option<Duration>,
        bounds: &Bounds,
    ) {
        self.begin_phase("all tables must become equal");
        let from = seen_equal.unwrap_or(calm);
        while !self.over {
            if self.common_digest().is_some() {
                let after = self.system.stats.counters.tables_equal_after;
                self.system.stats.counters.tables_equal_after =
                    after.or(self.now().checked_sub(calm));
                return;
            }
            self.system.stats.counters.tables_equal_after = None;
            if self.now() > from + bounds.equal_tables {
                let what = format!("not within {:?}", bounds.equal_tables);
                return self.report(Rule::EqualTables, what);
            }
            self.run(TABLES_POLL_INTERVAL);
        }
    }

    /// Checks that no node reports a diagnostic after the end of its cause. A member that hears again announces this in
    /// its next broadcast. If the owner sends no heartbeats, this broadcast is the member's next sign of life.
    fn check_diagnostics(&mut self, bounds: &Bounds) {
        let limit = bounds.waiter_timeout * IP_DISPUTE_TIMEOUTS
            + self.system.constants.heartbeat * SILENT_AFTER_HEARTBEATS;
        let over = self.run_until(limit, |sim| sim.find_unfounded_diagnostic().is_none());
        if let Some(what) = self
            .find_unfounded_diagnostic()
            .filter(|_| over.is_none() && !self.over)
        {
            self.report(Rule::Trouble, what);
        }
    }

    /// Returns a reported diagnostic that has no cause. A report about a dead member does not count, because the dead
    /// member cannot end the report.
    fn find_unfounded_diagnostic(&self) -> Option<String> {
        let present = |mac| self.live().any(|at| self.nodes[at].own.mac == mac);
        // If an MTU is too small for a PING with a profile, members may never learn the new times of another member.
        let learns = || {
            self.live()
                .all(|at| self.payload_max(at) >= PING_LEN + Profile::LEN)
        };
        let is_over = |trouble: &Diagnostic| match *trouble {
            Diagnostic::MemberDeaf { mac } => present(mac),
            Diagnostic::Apart { mac: Some(mac) } => present(mac) && learns(),
            _ => true,
        };
        self.live().find_map(|at| {
            let told = self.machine(at)?.lasting_problems();
            let told = told.into_iter().find(is_over)?;
            Some(format!("n{at} reports {told:?}"))
        })
    }

    /// Checks invariant 3: all members request the token at the same time. The member `again` requests the token
    /// repeatedly. If a station requests the token and never takes it, all members request the token repeatedly. With
    /// `quorum`, all members request the token with a quorum.
    fn check_service(
        &mut self,
        again: Option<usize>,
        rounds: u32,
        late: Option<usize>,
        quorum: bool,
    ) {
        self.begin_phase(if quorum {
            "members want a quorum"
        } else {
            "members want the token"
        });
        let bounds = self.bounds();
        let live: Vec<usize> = self.live().collect();
        let count = live.len().min(WANTING_MEMBERS_MAX);
        let chosen: Vec<usize> = (0..count).map(|k| live[k * live.len() / count]).collect();
        let each = if self.system.has_unresponsive_station {
            long_work(self.system.constants.heartbeat)
        } else {
            WORK_NANOS
        };
        self.system.repeating_member = again.filter(|_| !self.system.has_unresponsive_station);
        let repeats = self.system.has_unresponsive_station || again.is_some();
        self.system.repeated_work = repeats.then_some(each);
        // The members asked for the token earlier, and gave up these requests. They may get the token out of turn.
        let machines = live.iter().filter_map(|&at| self.machine(at));
        let mut overdue = machines.flat_map(M::overdue_members);
        let has_old_request = overdue.any(|mac| node_of(mac).is_some());
        let rounds = rounds.max(1 + u32::from(has_old_request));
        // All members request the token at once, because otherwise the bound of members + 1 tenures would not be
        // tested.
        for &at in &chosen {
            self.nodes[at].own.job = None;
            self.want_token(at, each, quorum);
        }
        let work = Duration::from_nanos(each) * u32::try_from(count).unwrap_or(u32::MAX);
        let limit = bounds.round * rounds + work + 2 * bounds.waiter_timeout + bounds.probe;
        let mut most = 0;
        let mut waiting = chosen.clone();
        waiting.retain(|&at| Some(at) != late);
        let mut fit_since = BTreeMap::new();
        let members = self
            .live()
            .filter_map(|at| Some(self.machine(at)?.digest().size));
        let members = u64::from(members.max().unwrap_or(1));
        let members = members.min(live.len() as u64 * u64::from(1 + FAILED_HANDOVERS_MAX));
        let served = self.run_until(limit, |sim| {
            waiting.retain(|&at| match sim.nodes[at].own.job {
                Some(job) => {
                    let now = sim.system.stats.counters.tenures;
                    // A member that gave up the token requests it only when it may own again.
                    let since = fit_since.entry(at).or_insert(job.tenures);
                    if sim.is_unfit(at) {
                        *since = now;
                    }
                    most = most.max(now - *since);
                    !job.begun
                }
                None => false,
            });
            waiting.is_empty()
        });
        (self.system.repeated_work, self.system.repeating_member) = (None, None);
        self.system.stats.counters.tenures_waited = most;
        let at_grade = if quorum { " for a quorum" } else { "" };
        if served.is_none() && !self.over {
            let what = format!(
                "{} of {count} wait{at_grade} after {limit:?}",
                waiting.len()
            );
            self.report(Rule::Served, what);
        } else if most > (members + 1) * u64::from(rounds) {
            let what = format!("{most} tenures{at_grade}, of {members} members");
            self.report(Rule::Served, what);
        }
        self.run(work + bounds.waiter_timeout);
    }

    /// Checks invariant 4: kills the owner.
    fn check_replacement(&mut self) {
        let bounds = self.bounds();
        // During a handover, there is already a successor. Without IDLE_HOLD, a handover is under way for about half of
        // the time.
        let rests = !self.system.constants.idle_hold.is_zero();
        self.run_until(bounds.round, |sim| match sim.system.owners[..] {
            [alone] => sim.nodes[alone].own.may_use || !rests,
            _ => false,
        });
        let owner = self.owner();
        let Some(owner) = owner.filter(|_| self.live().count() > 1) else {
            return;
        };
        self.begin_phase("the owner dies");
        // Heartbeats before the owner's death do not count as costs of the election.
        let before = self.system.broadcast.clone();
        self.kill(owner);
        let all_let_go = self.live().all(|at| self.is_unfit(at));
        let limit = bounds.replaced
            + if all_let_go {
                bounds.probe
            } else {
                Duration::ZERO
            };
        let replaced = self.run_until(limit, |sim| !sim.system.owners.is_empty());
        self.system.stats.counters.replaced_after = replaced;
        if replaced.is_none() && !self.over {
            let what = format!("n{owner} not within {limit:?}");
            self.report(Rule::Replaced, what);
        }
        self.check_broadcasts(&before);
        self.await_one_owner(&bounds);
    }

    /// Checks that the election since `before` has cost at most O(n) broadcasts.
    fn check_broadcasts(&mut self, before: &BTreeMap<&'static str, u64>) {
        let live = self.live().count() as u64;
        for kind in [Kind::WhereIsToken, Kind::GeneratingToken, Kind::TokenIsHere] {
            let cost = self.broadcasts(kind) - before.get(kind.name()).copied().unwrap_or(0);
            if cost > BROADCASTS_PER_MEMBER_MAX * live {
                let what = format!("{cost} {kind} among {live} nodes");
                self.report(Rule::Broadcasts, what);
            }
        }
    }

    pub(super) fn report(&mut self, rule: Rule, what: String) {
        self.system.checks.report(self.now, None, rule, what);
        self.system.report_new_violations();
    }
}

#[cfg(test)]
mod tests;
