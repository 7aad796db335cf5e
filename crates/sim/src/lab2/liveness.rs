//! What must come about once the faults have ended (`docs/protocol.md`, section 5: 2 to 5).

use std::collections::BTreeMap;
use std::time::Duration;

use ring_codec::lab2::{Kind, PING_LEN, Profile};
use ring_proto::lab2::{Constants, Trouble};

use super::Subject;
use super::outcome::Rule;
use super::plan::{Fault, Schedule};
use super::ring::World;
use super::settings::FaultKind;
use super::unresponsive::long_work;
use crate::kernel::schedule::Fault as _;

/// After so many failed hand-overs in a row an OWNER tries only members that speak meanwhile.
const DOUBTS: u32 = 3;
/// In larger rings only so many members want the token at a time.
const WANTING: usize = 32;
/// How much work a member wants it for, in nanoseconds.
const WORK: u64 = 2_000_000;
/// One owner that was alone for so long is taken for the only one before the bound is over. In small
/// rings the bound comes first.
const SURE: Duration = Duration::from_secs(3);
/// After a start a node promises nothing for at most so many WAITER_TIMEOUTs.
const QUIET: u32 = 10;
/// How often it is looked whether the tables are equal.
const LOOK: Duration = Duration::from_millis(20);
/// Of each kind of broadcast that belongs to an election, so many a member.
const BROADCASTS: u64 = 3;

/// How long things may take, from the constants in force.
struct Bounds {
    /// 2: until one owner is left.
    one_owner: Duration,
    /// 4: until a dead owner is replaced.
    replaced: Duration,
    /// 5: until the tables are equal. The protocol names no bound: each difference takes a few
    /// heartbeats, a dispute about the ip of a silent member the waiters' patience, and a table
    /// of many frames a heartbeat for every two of them.
    equal_tables: Duration,
    /// Until a turn of every member is over, the dead ones included.
    round: Duration,
    patience: Duration,
    /// Until a node that has let go of the token asks whether it may own again.
    probe: Duration,
}

/// So many WAITER_TIMEOUTs a member that is heard has to say which of two ips is its own.
const DISPUTE: u32 = 4;
/// After so many heartbeats without a frame a member is silent.
const SILENCE: u32 = 128;
/// A PING that says its author's MTU has so many bytes.
const SAYS_ITS_MTU: usize = 79;
/// So many WAITER_TIMEOUTs a member that was removed stays away, whatever tables tell.
const AWAY: u32 = 16;

/// So many WAITER_TIMEOUTs a node that nobody takes the token from owns nothing before it asks.
const PROBE: u32 = 4;

/// Since when all tables are equal, as far as was looked.
#[derive(Debug, Default)]
struct Tables {
    next: Duration,
    since: Option<Duration>,
    /// When they were last.
    seen: Option<Duration>,
}

impl Tables {
    fn look<M: Subject>(&mut self, world: &World<M>) {
        let now = world.now();
        if now >= self.next {
            self.next = now + LOOK;
            let equal = world.common_digest().is_some();
            self.since = equal.then(|| self.since.unwrap_or(now));
            if equal {
                self.seen = Some(now);
            }
        }
    }
}

impl Bounds {
    /// `members`: of the largest table; `live`: so many of them are there. Each of these spends no more
    /// than some hand-overs a round on those that are not.
    /// A part of a table has `per_frame` members.
    fn of(
        constants: &Constants,
        (members, live, per_frame): (u32, u32, u32),
        latency: Duration,
    ) -> Self {
        let known = members;
        let members = known.min(live.saturating_mul(1 + DOUBTS));
        let waiter = constants.waiter_timeout();
        let looser = constants.looser_timeout();
        let answer = constants.looser_answer_timeout();
        let hop = constants.hand_over_timeout() + 2 * latency;
        // No clock is off by more than a hundredth.
        let drift = |bound: Duration| bound + bound / 50 + 10 * latency;
        let in_flight = drift(hop * members);
        let round = drift((constants.idle_hold + hop) * members);
        let parts = known.div_ceil(per_frame);
        let heartbeats = 20 + 2 * (parts + parts / 3);
        Self {
            one_owner: drift(waiter + 2 * looser + 2 * answer) + in_flight,
            replaced: drift(waiter + looser + 2 * answer),
            equal_tables: drift((3 + DISPUTE) * waiter + constants.heartbeat * heartbeats) + round,
            round,
            patience: drift(waiter),
            probe: drift(waiter * PROBE),
        }
    }
}

impl<M: Subject> World<M> {
    /// Ends the faults and holds the ring to its promises.
    pub(super) fn recover(&mut self, schedule: &Schedule) {
        self.phase("the faults end");
        self.end_faults(&schedule.stay_dead);
        self.system.stats.counters.calm_at = Some(self.now());
        let calm = self.now();
        let bounds = self.bounds();
        let seen_equal = self.await_one_owner(&bounds);
        self.equal_tables(calm, seen_equal, &bounds);
        self.look_for_troubles(&bounds);
        let lasting = schedule.lasting.as_ref();
        let afflicted = lasting.and_then(|fault| self.afflict(fault));
        // A member that its predecessor does not hear is passed over once, and then has its turn. One that answers
        // too late is promised nothing.
        let (again, rounds, late) = match (afflicted, lasting) {
            (Some(_), Some(Fault::Cut { .. } | Fault::Broadcast { .. })) => (afflicted, 2, None),
            (Some(_), Some(Fault::Slow { .. })) => (None, 1, afflicted),
            _ => (afflicted, 1, None),
        };
        self.serve(again, rounds, late, false);
        if afflicted.is_none() && self.may_have_quorum() {
            self.let_them_promise();
            self.serve(None, 1, None, true);
        }
        if let Some(fault) = lasting.filter(|_| afflicted.is_some()) {
            self.act(&fault.end());
            self.run(bounds.patience);
            self.await_one_owner(&self.bounds());
        }
        self.replace();
    }

    /// Who was just started promises nothing for as long as a slow member may have relied on what it promised before.
    fn let_them_promise(&mut self) {
        let usual = self.system.constants.waiter_timeout();
        if self.system.slowest > usual {
            self.phase("who was just started may promise again");
            self.run(self.system.slowest.min(usual * QUIET));
        }
    }

    /// One node does not hear what it should from now on, and wants the token again and again: who that is, if it is
    /// there.
    fn afflict(&mut self, fault: &Fault) -> Option<usize> {
        let (Fault::Broadcast { node, .. }
        | Fault::Cut { to: node, .. }
        | Fault::Slow { node, .. }) = *fault
        else {
            return None;
        };
        // Beside a station that never takes the token it may take longer: `docs/guarantees.md`, "Not promised".
        if self.system.is_asked || !self.live().any(|at| at == node) {
            return None;
        }
        self.phase("one node does not hear all");
        self.act(fault);
        self.run(self.bounds().patience);
        Some(node)
    }

    fn phase(&mut self, name: &'static str) {
        let at = self.now();
        if let Some(record) = &mut self.system.record {
            record.phase(at, name);
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
        // The smallest MTU bounds the parts of tables: 22 bytes a member, after as many others.
        let mtu = self.live().map(|at| self.nodes[at].mtu).min();
        let per_frame = mtu.map_or(0, |mtu| mtu.saturating_sub(22) / 22);
        let per_frame = u32::try_from(per_frame.clamp(1, 66)).unwrap_or(1);
        let mut bounds = Bounds::of(&self.system.constants, (members, live, per_frame), latency);
        if self.system.stats.sent(Kind::Forget.name()) > 0 {
            // Whom one side of a cut has forgotten is brought back by its own frames only.
            bounds.equal_tables += self.system.constants.waiter_timeout() * AWAY;
        }
        let says_its_mtu = mtu.is_none_or(|mtu| mtu >= SAYS_ITS_MTU);
        let leaves_dead = |kind| self.system.stats.met(kind) > 0;
        let dead = [FaultKind::Dead, FaultKind::Card]
            .into_iter()
            .any(leaves_dead);
        if dead || !says_its_mtu {
            // They take the places of those that answer until they count as silent. A member of the smallest
            // MTU says so with its signs of life only.
            bounds.equal_tables += self.system.constants.heartbeat * SILENCE;
        }
        bounds
    }

    /// Invariant 2. Returns when all tables were equal last meanwhile.
    fn await_one_owner(&mut self, bounds: &Bounds) -> Option<Duration> {
        self.phase("one owner is to remain");
        let begin = self.now();
        let mut limit = bounds.one_owner;
        // A hand-over in flight to a station that never takes the token mints, and is in flight again.
        let round = bounds.round;
        let delayed = if self.system.is_asked {
            round
        } else {
            Duration::ZERO
        };
        limit += delayed;
        if self.system.checks.exempt.names_clash() {
            // The token is lost once more when it gets to who takes it for its past: within a round.
            limit += round + delayed + bounds.one_owner;
            // It does not get there before the work under it is done.
            let works = self.nodes.iter().filter_map(|node| node.own.job);
            let work = works.map(|job| job.work).max();
            limit += Duration::from_nanos(work.unwrap_or(0));
        }
        let mut since = self.has_one_owner().then_some(begin);
        let mut tables = Tables::default();
        // Who lets go leaves the ring to others, and if all have, until one of them may own again.
        let longer = limit + bounds.probe + bounds.one_owner;
        let mut unfit = false;
        self.run_watching(longer + bounds.patience, |world| {
            tables.look(world);
            unfit |= world.live().any(|at| world.is_unfit(at));
            if !unfit && world.now() >= begin + limit + bounds.patience {
                return false;
            }
            since = match since {
                _ if !world.has_one_owner() => None,
                None => Some(world.now()),
                since => since,
            };
            // A round of thousands of members takes minutes, in which nothing else would happen.
            since.is_none_or(|at| world.now() < at + SURE)
        });
        let equal_after = self.system.stats.counters.tables_equal_after;
        let equal_since = tables.since.and_then(|at| at.checked_sub(begin));
        self.system.stats.counters.tables_equal_after = equal_after.or(equal_since);
        let limit = if unfit { longer } else { limit };
        match since {
            Some(at) if at <= begin + limit => {
                // The first time counts: later there is only a dead owner's place to fill.
                let after = self.system.stats.counters.one_owner_after;
                self.system.stats.counters.one_owner_after = after.or(at.checked_sub(begin));
            }
            // Where the world has come to an end nothing can be expected.
            _ if self.over => {}
            _ => {
                let what = format!("{} within {:?}", self.all_owners(), limit);
                self.broken(Rule::OneOwner, what);
            }
        }
        tables.seen
    }

    fn is_unfit(&self, at: usize) -> bool {
        self.machine(at).is_some_and(Subject::is_unfit)
    }

    fn all_owners(&self) -> String {
        let owner = |&at: &usize| {
            let held = self.nodes[at].own.held.as_ref().map(ToString::to_string)?;
            Some(format!("n{at} with {held}"))
        };
        let owners: Vec<_> = self.system.owners.iter().filter_map(owner).collect();
        match owners.as_slice() {
            [] => "nobody is owner".into(),
            [one] => format!("{one} alone only lately, not"),
            _ => owners.join(", "),
        }
    }

    /// Invariant 5.
    /// `seen_equal`: when they were equal last, since the faults have ended. What differs now has come since, as when a
    /// member is forgotten, and has the same time again.
    fn equal_tables(&mut self, calm: Duration, seen_equal: Option<Duration>, bounds: &Bounds) {
        self.phase("all tables are to be equal");
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
                return self.broken(Rule::EqualTables, what);
            }
            self.run(LOOK);
        }
    }

    /// Nobody tells of what is over, soon after it is: a member that hears again says so in its next frame to all,
    /// which is its next sign of life where an owner that rests nowhere sends no heartbeats.
    fn look_for_troubles(&mut self, bounds: &Bounds) {
        let limit = bounds.patience * DISPUTE + self.system.constants.heartbeat * SILENCE;
        let over = self.run_until(limit, |world| world.told_troubles().is_none());
        if let Some(what) = self
            .told_troubles()
            .filter(|_| over.is_none() && !self.over)
        {
            self.broken(Rule::Trouble, what);
        }
    }

    /// What a node tells of though nothing is wrong. What a member has said last before it died is not over.
    fn told_troubles(&self) -> Option<String> {
        let present = |mac| self.live().any(|at| self.nodes[at].own.mac == mac);
        // Beside an MTU that no PING with a profile fits, members may never hear that another has new times.
        let learns = || {
            self.live()
                .all(|at| self.nodes[at].mtu >= PING_LEN + Profile::LEN)
        };
        let is_over = |trouble: &Trouble| match *trouble {
            Trouble::MemberDeaf { mac } => present(mac),
            Trouble::Apart { mac: Some(mac) } => present(mac) && learns(),
            _ => true,
        };
        self.live().find_map(|at| {
            let told = self.machine(at)?.lasting_troubles();
            let told = told.into_iter().find(is_over)?;
            Some(format!("n{at} tells of {told:?}"))
        })
    }

    /// Invariant 3: all members at once want the token. If there is a station that asks and never takes,
    /// they want it again and again; so does the one that does not hear all. `quorum`: all want it with a quorum.
    fn serve(&mut self, again: Option<usize>, rounds: u32, late: Option<usize>, quorum: bool) {
        self.phase(if quorum {
            "members want a quorum"
        } else {
            "members want the token"
        });
        let bounds = self.bounds();
        let live: Vec<usize> = self.live().collect();
        let count = live.len().min(WANTING);
        let chosen: Vec<usize> = (0..count).map(|k| live[k * live.len() / count]).collect();
        let each = if self.system.is_asked {
            long_work(self.system.constants.heartbeat)
        } else {
            WORK
        };
        self.system.again_only = again.filter(|_| !self.system.is_asked);
        let repeats = self.system.is_asked || again.is_some();
        self.system.again = repeats.then_some(each);
        for &at in &chosen {
            self.nodes[at].own.job = None;
            self.want_for(at, each, quorum);
        }
        let work = Duration::from_nanos(each) * u32::try_from(count).unwrap_or(u32::MAX);
        let limit = bounds.round * rounds + work + 2 * bounds.patience + bounds.probe;
        let mut most = 0;
        let mut waiting = chosen.clone();
        waiting.retain(|&at| Some(at) != late);
        let mut fit_since = BTreeMap::new();
        let members = self
            .live()
            .filter_map(|at| Some(self.machine(at)?.digest().size));
        let members = u64::from(members.max().unwrap_or(1));
        let members = members.min(live.len() as u64 * u64::from(1 + DOUBTS));
        let served = self.run_until(limit, |world| {
            waiting.retain(|&at| match world.nodes[at].own.job {
                Some(job) => {
                    let now = world.system.stats.counters.tenures;
                    // Who has let go of the token does not ask for it before it may own again.
                    let since = fit_since.entry(at).or_insert(job.tenures);
                    if world.is_unfit(at) {
                        *since = now;
                    }
                    most = most.max(now - *since);
                    !job.begun
                }
                None => false,
            });
            waiting.is_empty()
        });
        (self.system.again, self.system.again_only) = (None, None);
        self.system.stats.counters.tenures_waited = most;
        let at_grade = if quorum { " for a quorum" } else { "" };
        if served.is_none() && !self.over {
            let what = format!(
                "{} of {count} wait{at_grade} after {limit:?}",
                waiting.len()
            );
            self.broken(Rule::Served, what);
        } else if most > (members + 1) * u64::from(rounds) {
            let what = format!("{most} tenures{at_grade}, of {members} members");
            self.broken(Rule::Served, what);
        }
        self.run(work + bounds.patience);
    }

    /// Invariant 4: the owner dies.
    fn replace(&mut self) {
        let bounds = self.bounds();
        // In the middle of a hand-over there is a successor already. Where all hand over without a
        // pause it is as likely as not.
        let rests = !self.system.constants.idle_hold.is_zero();
        self.run_until(bounds.round, |world| match world.system.owners[..] {
            [alone] => world.nodes[alone].own.may_use || !rests,
            _ => false,
        });
        let owner = self.owner();
        let Some(owner) = owner.filter(|_| self.live().count() > 1) else {
            return;
        };
        self.phase("the owner dies");
        let before = self.system.broadcast.clone();
        self.kill(owner);
        let all_let_go = self.live().all(|at| self.is_unfit(at));
        let limit = bounds.replaced
            + if all_let_go {
                bounds.probe
            } else {
                Duration::ZERO
            };
        let replaced = self.run_until(limit, |world| !world.system.owners.is_empty());
        self.system.stats.counters.replaced_after = replaced;
        if replaced.is_none() && !self.over {
            let what = format!("n{owner} not within {limit:?}");
            self.broken(Rule::Replaced, what);
        }
        self.count_broadcasts(&before);
        self.await_one_owner(&bounds);
    }

    /// An election costs O(n) broadcasts: since `before` there were no more.
    fn count_broadcasts(&mut self, before: &BTreeMap<&'static str, u64>) {
        let live = self.live().count() as u64;
        for kind in [Kind::WhereIsToken, Kind::GeneratingToken, Kind::TokenIsHere] {
            let cost = self.broadcasts(kind) - before.get(kind.name()).copied().unwrap_or(0);
            if cost > BROADCASTS * live {
                let what = format!("{cost} {kind} among {live} nodes");
                self.broken(Rule::Broadcasts, what);
            }
        }
    }

    fn broken(&mut self, rule: Rule, what: String) {
        self.system.checks.broken(self.now, None, rule, what);
        self.system.tell_broken();
    }
}

#[cfg(test)]
mod tests;
