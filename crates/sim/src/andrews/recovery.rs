//! Checks that the ring recovers after the faults, when the database works.

use std::time::Duration;

use ring_codec::andrews::Kind;
use ring_proto::andrews::{Command, State};

use ring_proto::time::nanos;

use super::bounds::Bounds;
use super::node::HostInput;
use super::outcome::Rule;
use super::schedule::{DatabaseBehavior, Schedule};
use super::system::World;

impl World {
    /// Ends the faults and checks the recovery.
    pub(super) fn recover(&mut self, schedule: &Schedule) {
        self.end_faults(schedule);
        let bounds = Bounds::of(schedule, self.live().count());
        if self.check_recovery(&bounds, bounds.calm) && self.check_calm(&bounds) {
            self.check_crash(schedule, &bounds);
        }
    }

    fn end_faults(&mut self, schedule: &Schedule) {
        self.system.faults_have_ended = true;
        self.end_network_faults(None);
        self.end_stream_faults();
        for at in 0..self.len() {
            self.nodes[at].own.behavior = DatabaseBehavior::Quick;
            self.end_process_faults(at);
            self.resume_late(at);
            self.set_list(at, None);
            let is_alive = self.nodes[at].driver.is_some();
            if schedule.stay_dead.contains(&at) {
                if is_alive {
                    self.kill_process(at);
                }
            } else if is_alive {
                self.nodes[at].unplugged = false;
                self.nodes[at].own.process.alone_since = None;
                self.give_input(at, HostInput::Command(Command::Listeners(false)));
            } else {
                self.start(at, false);
            }
        }
    }

    /// Whether the rows of the database and the connections of the nodes each form one ring of all live nodes.
    fn is_ring(&self) -> bool {
        let ring = &self.system.tables.topology.ring;
        ring.len() == self.live().count()
            && self.live().all(|at| {
                let own = self.nodes[at].own.id;
                let snapshot = self.machine(at).map(|it| (it.summary(), it.snapshot()));
                snapshot.is_some_and(|(standing, snapshot)| {
                    standing.state == State::Member
                        && ring.get(&own).is_some()
                        && snapshot.successor == ring.get(&own).copied()
                })
            })
    }

    /// Whether the largest live node is the elected coordinator, not only the acting coordinator.
    fn is_led(&self) -> bool {
        let topology = &self.system.tables.topology;
        let largest = self.live().map(|at| self.nodes[at].own.id).max();
        topology.seat.id == largest && !topology.acting
    }

    /// Whether exactly one node has a usable token. If no node has a usable token now, some node had a usable token at
    /// most one hop ago.
    fn is_one_token(&self) -> bool {
        let options = self.system.schedule.options(0);
        match self.system.holders {
            0 => Duration::from_nanos(self.now - self.system.idle_since) < options.poll,
            1 => {
                let used = self.system.tables.topology.sequence;
                let mut holders = self.nodes.iter().filter(|node| node.own.process.holds);
                holders.all(|node| node.own.process.highest >= used)
            }
            _ => false,
        }
    }

    fn report_late(&mut self, rule: Rule, limit: Duration) -> bool {
        let now = self.now;
        let what = format!("not within {limit:?}: {}", self.describe_nodes());
        self.system.findings.report(now, None, rule, what);
        false
    }

    /// Checks that the ring, the coordinator and the token recover in time, and do not change later. `calm` is the time
    /// until late messages have arrived.
    fn check_recovery(&mut self, bounds: &Bounds, calm: Duration) -> bool {
        let start = self.now();
        let (mut ring, mut led, mut token) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        // If a second token is created, it is created within R plus two polls.
        let options = self.system.schedule.options(0);
        let settled = bounds.silence + 2 * options.poll;
        let mut seen = (usize::MAX, u64::MAX);
        self.run_watching(calm + bounds.token + settled, |sim| {
            let passed = sim.now().saturating_sub(start);
            let mark = (sim.system.holders, sim.system.stats.counters.jobs_done);
            // Only an input or a transaction changes the ring or the coordinator.
            if mark != seen || passed.saturating_sub(ring.max(led)) < options.ack_timeout {
                seen = mark;
                if !sim.is_ring() {
                    ring = passed;
                }
                if !sim.is_led() {
                    led = passed;
                }
            }
            if !sim.is_one_token() {
                token = passed;
            }
            passed.saturating_sub(ring.max(led).max(token)) < settled
        });
        let counters = &mut self.system.stats.counters;
        counters.ring_after = counters.ring_after.max(Some(ring));
        counters.led_after = counters.led_after.max(Some(led));
        counters.token_after = counters.token_after.max(Some(token));
        let is_late = |elapsed: Duration, bound| elapsed > calm + bound;
        if is_late(ring, bounds.ring) {
            self.report_late(Rule::Ring, bounds.ring)
        } else if is_late(led, bounds.led) {
            self.report_late(Rule::Led, bounds.led)
        } else if is_late(token, bounds.token) {
            self.report_late(Rule::Token, bounds.token)
        } else {
            self.check_all_answered()
        }
    }

    /// Checks that every request has an answer. A request may wait for the token for request-timeout, and then for the
    /// database for another request-timeout.
    fn check_all_answered(&mut self) -> bool {
        let open = self.system.clients.open();
        let left = open.filter(|(_, it)| {
            let node = &self.nodes[it.node];
            node.life == it.life && node.driver.is_some()
        });
        let late: Vec<(u64, usize)> = left
            .filter(|(_, it)| self.now - it.at > 2 * self.system.request_timeout)
            .map(|(request, it)| (request, it.node))
            .collect();
        for &(request, at) in &late {
            self.report_at(at, Rule::Answered, format!("{request} is never answered"));
        }
        late.is_empty()
    }

    fn visits(&self) -> Vec<u64> {
        self.nodes.iter().map(|node| node.own.visits).collect()
    }

    fn have_all_had_token(&self, before: &[u64]) -> bool {
        let mut live = self.live();
        live.all(|at| self.nodes[at].own.visits > before[at])
    }

    /// Checks that the ring does not change, that each member has the token once per rotation, and that posts are
    /// acknowledged.
    fn check_calm(&mut self, bounds: &Bounds) -> bool {
        let before = self.unusual_events();
        let visits = self.visits();
        // The limit includes the time of the current hop.
        let limit = 2 * bounds.round;
        if self
            .run_until(limit, |sim| sim.have_all_had_token(&visits))
            .is_none()
        {
            return self.report_late(Rule::Round, limit);
        }
        let first = self.system.clients.count();
        let live: Vec<usize> = self.live().collect();
        for &at in &live {
            self.ask(at, true, None);
            self.ask(at, false, None);
        }
        let options = self.system.schedule.options(0);
        let limit = 2 * bounds.round + options.ack_timeout;
        let done = |sim: &Self| sim.system.clients.are_done(first);
        if self.run_until(limit, done).is_none() {
            return self.report_late(Rule::Served, limit);
        }
        self.run(bounds.silence);
        let after = self.unusual_events();
        if before != after || !self.is_one_token() || !self.is_ring() {
            let what = format!("{before:?} became {after:?}: {}", self.describe_nodes());
            let now = self.now;
            self.system.findings.report(now, None, Rule::Calm, what);
        }
        before == after
    }

    /// Returns eight counts of events that only faults cause: tokens returned, created and lost, claims, removals,
    /// insertions, changes of the term, and election messages.
    fn unusual_events(&self) -> [u64; 8] {
        let counters = &self.system.stats.counters;
        let term = self.system.tables.topology.seat.term;
        let live = self.live().filter_map(|at| self.machine(at));
        let sent = live.map(|it| it.counters().sent(Kind::CoordinatorElection));
        [
            counters.tokens_returned,
            counters.tokens_made,
            counters.tokens_lost,
            counters.claims,
            counters.removals,
            counters.joined,
            term,
            sent.sum(),
        ]
    }

    /// Kills a node. Checks that the token moves again in time, and that the ring recovers.
    fn check_crash(&mut self, schedule: &Schedule, bounds: &Bounds) {
        if self.live().count() < 2 {
            return;
        }
        let place = self.rng.index(self.live().count());
        let Some(victim) = self.live().nth(place) else {
            return;
        };
        let waits = self.rng.below(1 + nanos(bounds.round));
        self.run(Duration::from_nanos(waits));
        let had_it = self.machine(victim).is_some_and(|it| {
            let snapshot = it.snapshot();
            snapshot.token.held || self.system.holders == 0
        });
        self.kill_process(victim);
        let visits = self.visits();
        let options = self.system.schedule.options(0);
        let limit = if had_it {
            bounds.goes_on + bounds.silence + 2 * options.poll
        } else {
            bounds.goes_on
        };
        let elapsed = self.run_until(limit, |sim| sim.have_all_had_token(&visits));
        let Some(elapsed) = elapsed else {
            self.report_late(Rule::GoesOn, limit);
            return;
        };
        if !had_it {
            self.system.stats.counters.went_on_after = Some(elapsed);
        }
        let bounds = Bounds::of(schedule, self.live().count());
        if self.check_recovery(&bounds, Duration::ZERO) {
            self.start(victim, false);
            let bounds = Bounds::of(schedule, self.live().count());
            self.check_recovery(&bounds, Duration::ZERO);
        }
    }

    /// Describes the state of the nodes for a violation.
    fn describe_nodes(&self) -> String {
        let topology = &self.system.tables.topology;
        let nodes = (0..self.len()).map(|at| {
            let id = self.nodes[at].own.id;
            let Some(machine) = self.machine(at) else {
                return format!("n{at} ({id}) dead");
            };
            let it = machine.snapshot();
            let token = if it.token.held { "has" } else { "had" };
            format!(
                "n{at} ({id}) {} to {:?} {token} {}:{} {}",
                it.state.name(),
                it.successor,
                it.token.sequence >> 32,
                it.token.sequence & 0xffff_ffff,
                it.database.name()
            )
        });
        let nodes: Vec<String> = nodes.collect();
        let (seat, ring) = (topology.seat, &topology.ring);
        let acting = if topology.acting { " acting" } else { "" };
        format!(
            "row {:?} term {}{acting}, ring {ring:?}; {}",
            seat.id,
            seat.term,
            nodes.join("; ")
        )
    }
}
