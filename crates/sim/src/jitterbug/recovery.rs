//! Checks that the ring recovers after the faults.

use std::collections::BTreeSet;
use std::time::Duration;

use ring_proto::jitterbug::{Command, Jitterbug, LEASE_MAX, Options, State};

use super::bounds::{Bounds, RESEND_INTERVAL};
use super::node::HostInput;
use super::outcome::{Excuse, Rule};
use super::schedule::{ProgramBehavior, Schedule};
use super::system::World;
use crate::kernel::streams::StreamConditions;

/// The maximum number of merges and restores until one token is left after the faults.
const MERGES_MAX: u32 = 3;
/// The time after which the leases that strangers announced no longer count. After this time, the leases of nodes that
/// heard the strangers do not count either.
const TERMS_EXPIRY: Duration = Duration::from_secs(44);

impl World {
    /// Ends the faults and checks the recovery.
    pub(super) fn recover(&mut self, schedule: &Schedule) {
        self.end_faults(schedule);
        let has_long_lease = self.system.checks.exemptions.has_long_lease;
        let heard = if has_long_lease {
            LEASE_MAX
        } else {
            Duration::ZERO
        };
        if !self.check_one_token(schedule, &Bounds::of(schedule, heard)) {
            return;
        }
        if has_long_lease {
            self.run(TERMS_EXPIRY);
            self.check_leases();
        }
        let bounds = Bounds::of(schedule, Duration::ZERO);
        if !self.await_all_lead(&bounds, Rule::Leads) {
            return;
        }
        // From here on the network works, so there must be no second leader.
        self.system.checks.exemptions.is_disturbed = false;
        self.run(schedule.options().renew_timeout);
        if self.live().count() < 2 {
            return;
        }
        if !self.check_leader_replacement(&bounds) || !self.await_all_lead(&bounds, Rule::Leads) {
            return;
        }
        self.system.checks.exemptions.is_disturbed = true;
        self.system.checks.exemptions.has_forgotten = false;
        self.check_merge(schedule, &bounds);
    }

    fn end_faults(&mut self, schedule: &Schedule) {
        self.system.faults_have_ended = true;
        self.end_network_faults(None);
        self.set_stream_conditions(StreamConditions::default());
        for at in 0..self.len() {
            self.nodes[at].own.programs.behavior = ProgramBehavior::Quick;
            self.end_process_faults(at);
            self.resume(at);
            if schedule.stay_dead.contains(&at) {
                self.kill_process(at);
            } else if self.nodes[at].driver.is_none() {
                self.start(at);
            } else {
                self.nodes[at].unplugged = false;
                self.report_network(at);
                self.give_input(at, HostInput::Command(Command::Work(false)));
            }
        }
    }

    /// Checks that no node uses a lease that a stranger announced.
    fn check_leases(&mut self) {
        let all = self.live().map(|at| self.system.options_of(at).own_lease());
        let least = all.chain([Options::default().own_lease()]).min();
        let leases = self.live().filter_map(|at| self.machine(at));
        let short = leases
            .map(Jitterbug::lease)
            .find(|lease| Some(*lease) < least);
        if let Some(lease) = short {
            let what = format!("a lease of {lease:?} after the strangers have gone");
            self.report(Rule::Terms, what);
        }
    }

    /// Returns the ids of all tokens.
    fn tokens(&self) -> BTreeSet<u32> {
        let owns = self.live().map(|at| &self.nodes[at].own);
        let leaders = owns.filter(|own| own.state == State::Leader);
        leaders.map(|own| own.id).collect()
    }

    /// Watches the segment for a time. Returns the time after which there was always exactly one token. Each token is
    /// announced twice in a `renew_timeout`, so the nodes soon hear of a second token.
    fn one_token_after(&mut self, window: Duration) -> Duration {
        let start = self.now();
        let hidden = 2 * self.system.options.renew_timeout;
        let mut last = Duration::ZERO;
        self.run_watching(window, |sim| {
            let passed = sim.now().saturating_sub(start);
            if sim.tokens().len() != 1 {
                last = passed;
            }
            passed.saturating_sub(last) < hidden
        });
        last
    }

    fn check_one_token(&mut self, schedule: &Schedule, bounds: &Bounds) -> bool {
        let options = schedule.options();
        let dead = u32::try_from(self.dead_entries()).unwrap_or(u32::MAX);
        let replaced = bounds.replacement_time();
        let mut limit = schedule.latest()
            + options.compute_timeout
            + 2 * (replaced + bounds.first())
            + MERGES_MAX * bounds.merge_time()
            + dead * options.token_pass_timeout;
        limit += self.extra_time_for_ids(replaced);
        let elapsed = self.one_token_after(limit + options.renew_timeout);
        self.system.stats.counters.settled_after = Some(elapsed);
        if elapsed > limit {
            let what = format!("not within {limit:?}: {}", self.describe_nodes());
            self.report(Rule::Settled, what);
        }
        elapsed <= limit
    }

    /// Returns the additional time that the nodes need if ids began again at 1. A node blocks the other nodes until it
    /// draws a new id.
    fn extra_time_for_ids(&mut self, replaced: Duration) -> Duration {
        if !self.system.checks.exemptions.is_wrapped {
            return Duration::ZERO;
        }
        self.system.checks.findings.excuse(Excuse::Wrapped);
        2 * replaced * u32::try_from(self.len()).unwrap_or(u32::MAX)
    }

    /// Waits until every live node has led and all lists are equal.
    fn await_all_lead(&mut self, bounds: &Bounds, rule: Rule) -> bool {
        let (live, dead) = (self.live().count(), self.dead_entries());
        let round = bounds.rotation_time(live, dead);
        let before: Vec<u64> = self.nodes.iter().map(|node| node.own.led).collect();
        let all = |sim: &Self| {
            let mut live = sim.live();
            live.all(|at| sim.nodes[at].own.led > before[at])
        };
        if self.system.checks.exemptions.is_full {
            // A node that is in no list gets no token.
            self.system.checks.findings.excuse(Excuse::Full);
            self.run(2 * round);
            return false;
        }
        let replaced = bounds.replacement_time();
        let limit = replaced + 2 * round + self.extra_time_for_ids(replaced);
        let Some(elapsed) = self.run_until(limit, all) else {
            let what = format!("not within {limit:?}: {}", self.describe_nodes());
            self.report(rule, what);
            return false;
        };
        let counters = &mut self.system.stats.counters;
        counters.led_after = counters.led_after.max(Some(elapsed));
        let limit = 2 * round + self.extra_time_for_penalties(bounds, round);
        self.await_equal_lists(limit, elapsed)
    }

    /// Returns the additional time until all lists are equal, if leaders skip a live node because of its penalties.
    fn extra_time_for_penalties(&mut self, bounds: &Bounds, round: Duration) -> Duration {
        if !self.skips_live_node() {
            return Duration::ZERO;
        }
        self.system.checks.findings.excuse(Excuse::Skipped);
        bounds.replacement_time() + 2 * round
    }

    fn await_equal_lists(&mut self, limit: Duration, before: Duration) -> bool {
        self.system.checks.exemptions.doubled = None;
        let Some(elapsed) = self.run_until(limit, Self::has_equal_lists) else {
            let exemptions = &self.system.checks.exemptions;
            let forgotten = exemptions.has_forgotten.then_some(Excuse::Forgotten);
            if let Some(excuse) = exemptions.doubled.or(forgotten) {
                self.system.checks.findings.excuse(excuse);
                return false;
            }
            let what = format!("not within {limit:?}: {}", self.describe_nodes());
            self.report(Rule::EqualLists, what);
            return false;
        };
        let counters = &mut self.system.stats.counters;
        counters.equal_after = counters.equal_after.max(Some(before + elapsed));
        true
    }

    fn has_equal_lists(&self) -> bool {
        let mut live = self.live();
        let list = |at| self.machine(at).map(|it| it.lists().0);
        let first = live.next().and_then(list);
        live.all(|at| list(at) == first)
    }

    /// Checks that another node leads in time after the leader's death, and starts the dead node again.
    fn check_leader_replacement(&mut self, bounds: &Bounds) -> bool {
        let leads = |sim: &Self| sim.live().find(|&at| sim.nodes[at].own.uses);
        let found = self.run_until(bounds.rotation_time(2, self.dead_entries()), |sim| {
            leads(sim).is_some()
        });
        let Some(leader) = leads(self).filter(|_| found.is_some()) else {
            let what = format!("no node uses the token: {}", self.describe_nodes());
            self.report(Rule::Settled, what);
            return false;
        };
        self.kill_process(leader);
        let limit = bounds.replacement_time() + self.extra_time_for_ids(bounds.replacement_time());
        let is_led = |sim: &Self| sim.live().any(|at| sim.nodes[at].own.uses);
        let Some(elapsed) = self.run_until(limit, is_led) else {
            let what = format!(
                "not within {limit:?} of the death of n{leader}: {}",
                self.describe_nodes()
            );
            self.report(Rule::Replaced, what);
            return false;
        };
        self.system.stats.counters.replaced_after = Some(elapsed);
        self.start(leader);
        true
    }

    /// Splits the segment into two parts, and heals the split. Checks that after a limited time only one token is left,
    /// and that all lists are equal two rotations later.
    fn check_merge(&mut self, schedule: &Schedule, bounds: &Bounds) {
        let options = schedule.options();
        let mut groups: Vec<u8> = (0..self.len())
            .map(|_| u8::from(self.rng.chance(500)))
            .collect();
        let live: Vec<usize> = self.live().collect();
        if let [first, .., last] = live[..] {
            (groups[first], groups[last]) = (0, 1);
        }
        self.part(&groups);
        self.run(2 * (bounds.replacement_time() + bounds.first()) + options.token_pass_timeout);
        self.part(&[]);
        let healed = self.now();
        let unknown = self.system.stats.counters.passes_unknown;
        let mut limit = bounds.merge_time();
        let window = limit + bounds.replacement_time() + options.renew_timeout;
        let elapsed = self.one_token_after(window);
        if elapsed > limit && self.system.stats.counters.passes_unknown > unknown {
            self.system.checks.findings.excuse(Excuse::Lost);
            limit += bounds.replacement_time();
        }
        let waited = self.now().saturating_sub(healed + elapsed);
        self.system.stats.counters.merged_after = Some(elapsed);
        if elapsed > limit {
            let what = format!("not within {limit:?}: {}", self.describe_nodes());
            return self.report(Rule::Merged, what);
        }
        let round = bounds.rotation_time(live.len(), self.dead_entries());
        let limit =
            (2 * round).saturating_sub(waited) + self.extra_time_for_penalties(bounds, round);
        if self.await_equal_lists(limit + RESEND_INTERVAL, Duration::ZERO) {
            self.await_all_lead(bounds, Rule::Leads);
        }
    }

    fn report(&mut self, rule: Rule, what: String) {
        let now = self.now;
        self.system.checks.findings.report(now, None, rule, what);
    }

    /// Describes the state of the nodes for a violation.
    fn describe_nodes(&self) -> String {
        let nodes = (0..self.len()).map(|at| {
            let machine = self.machine(at);
            machine.map_or_else(
                || format!("n{at} dead"),
                |it| {
                    let it = it.snapshot();
                    let nodes = it.nodes.iter().map(|it| {
                        let (node, t, c) = (it.node, it.threshold, it.count);
                        format!("{}:{} {t}/{c}", node.ip, node.port)
                    });
                    let nodes: Vec<String> = nodes.collect();
                    format!(
                        "n{at} {} {} led {} [{}]",
                        it.state.name(),
                        it.token_id,
                        self.nodes[at].own.led,
                        nodes.join(", ")
                    )
                },
            )
        });
        let nodes: Vec<String> = nodes.collect();
        nodes.join("; ")
    }
}
