//! What must be so in the end, when the faults have ended.

use std::collections::BTreeSet;
use std::time::Duration;

use ring_proto::jitterbug::{Command, Jitterbug, MOST_LEASE, Options, State};

use super::bounds::{AGAIN, Bounds};
use super::node::Told;
use super::outcome::{Excuse, Rule};
use super::plan::{Mood, Schedule};
use super::segment::World;
use crate::kernel::streams::StreamWeather;

/// Cuts and restores that may follow one another until one token is left, after the faults.
const MERGES: u32 = 3;
/// What a stranger has said of leases counts no longer, nor what a node has said that heard it.
const TERMS_COUNT: Duration = Duration::from_secs(44);

impl World {
    /// Ends the faults, and looks whether all is well in time.
    pub fn recover(&mut self, schedule: &Schedule) {
        self.end_faults(schedule);
        let has_long_lease = self.system.checks.exempt.has_long_lease;
        let heard = if has_long_lease {
            MOST_LEASE
        } else {
            Duration::ZERO
        };
        if !self.settles(schedule, &Bounds::of(schedule, heard)) {
            return;
        }
        if has_long_lease {
            self.run(TERMS_COUNT);
            self.look_at_leases();
        }
        let bounds = Bounds::of(schedule, Duration::ZERO);
        if !self.all_lead(&bounds, Rule::Leads) {
            return;
        }
        // From here on nothing but what follows may make a second leader.
        self.system.checks.exempt.is_disturbed = false;
        self.run(schedule.options().renew_timeout);
        if self.live().count() < 2 {
            return;
        }
        if !self.replaces_the_leader(&bounds) || !self.all_lead(&bounds, Rule::Leads) {
            return;
        }
        self.system.checks.exempt.is_disturbed = true;
        self.system.checks.exempt.has_forgotten = false;
        self.merges_after_a_cut(schedule, &bounds);
    }

    fn end_faults(&mut self, schedule: &Schedule) {
        self.system.is_calm = true;
        self.calm_network(None);
        self.set_stream_weather(StreamWeather::default());
        for at in 0..self.len() {
            self.nodes[at].own.programs.mood = Mood::Quick;
            self.calm_process(at);
            self.resume(at);
            if schedule.stay_dead.contains(&at) {
                self.die(at);
            } else if self.nodes[at].driver.is_none() {
                self.start(at);
            } else {
                self.nodes[at].unplugged = false;
                self.tell_network(at);
                self.tell(at, Told::Asked(Command::Work(false)));
            }
        }
    }

    /// No lease is one that a stranger told of.
    fn look_at_leases(&mut self) {
        let all = self.live().map(|at| self.system.options_of(at).stall());
        let least = all.chain([Options::default().stall()]).min();
        let leases = self.live().filter_map(|at| self.machine(at));
        let short = leases
            .map(Jitterbug::lease)
            .find(|lease| Some(*lease) < least);
        if let Some(lease) = short {
            let what = format!("a lease of {lease:?} after the strangers have gone");
            self.broken(Rule::Terms, what);
        }
    }

    /// The ids of the tokens that there are.
    fn tokens(&self) -> BTreeSet<u32> {
        let owns = self.live().map(|at| &self.nodes[at].own);
        let leaders = owns.filter(|own| own.state == State::Leader);
        leaders.map(|own| own.id).collect()
    }

    /// Watches for a time, and says after how much of it there was one token for good: for as long as none can keep
    /// hidden, each being announced twice a `renew_timeout`.
    fn one_token_after(&mut self, window: Duration) -> Duration {
        let start = self.now();
        let hidden = 2 * self.system.options.renew_timeout;
        let mut last = Duration::ZERO;
        self.run_watching(window, |world| {
            let passed = world.now().saturating_sub(start);
            if world.tokens().len() != 1 {
                last = passed;
            }
            passed.saturating_sub(last) < hidden
        });
        last
    }

    fn settles(&mut self, schedule: &Schedule, bounds: &Bounds) -> bool {
        let options = schedule.options();
        let dead = u32::try_from(self.dead_entries()).unwrap_or(u32::MAX);
        let replaced = bounds.replaced();
        let mut limit = schedule.latest()
            + options.compute_timeout
            + 2 * (replaced + bounds.first())
            + MERGES * bounds.merged()
            + dead * options.token_pass_timeout;
        limit += self.while_ids_wrap(replaced);
        let took = self.one_token_after(limit + options.renew_timeout);
        self.system.stats.counters.settled_after = Some(took);
        if took > limit {
            let what = format!("not within {limit:?}: {}", self.how_they_stand());
            self.broken(Rule::Settled, what);
        }
        took <= limit
    }

    /// How much longer it may take once ids have begun again at the bottom: each node has to draw one of its own before
    /// none stands in the way of the others.
    fn while_ids_wrap(&mut self, replaced: Duration) -> Duration {
        if !self.system.checks.exempt.is_wrapped {
            return Duration::ZERO;
        }
        self.system.checks.found.excuse(Excuse::Wrapped);
        2 * replaced * u32::try_from(self.len()).unwrap_or(u32::MAX)
    }

    /// Every live node leads, and all lists become equal.
    fn all_lead(&mut self, bounds: &Bounds, rule: Rule) -> bool {
        let (live, dead) = (self.live().count(), self.dead_entries());
        let round = bounds.round(live, dead);
        let before: Vec<u64> = self.nodes.iter().map(|node| node.own.led).collect();
        let all = |world: &Self| {
            let mut live = world.live();
            live.all(|at| world.nodes[at].own.led > before[at])
        };
        if self.system.checks.exempt.is_full {
            // Who is in no list is given no token.
            self.system.checks.found.excuse(Excuse::Full);
            self.run(2 * round);
            return false;
        }
        let replaced = bounds.replaced();
        let limit = replaced + 2 * round + self.while_ids_wrap(replaced);
        let Some(took) = self.run_until(limit, all) else {
            let what = format!("not within {limit:?}: {}", self.how_they_stand());
            self.broken(rule, what);
            return false;
        };
        let counters = &mut self.system.stats.counters;
        counters.led_after = counters.led_after.max(Some(took));
        self.lists_become_equal(2 * round, took)
    }

    fn lists_become_equal(&mut self, limit: Duration, before: Duration) -> bool {
        self.system.checks.exempt.doubled = None;
        let Some(took) = self.run_until(limit, Self::has_equal_lists) else {
            let exempt = &self.system.checks.exempt;
            let forgotten = exempt.has_forgotten.then_some(Excuse::Forgotten);
            if let Some(excuse) = exempt.doubled.or(forgotten) {
                self.system.checks.found.excuse(excuse);
                return false;
            }
            let what = format!("not within {limit:?}: {}", self.how_they_stand());
            self.broken(Rule::EqualLists, what);
            return false;
        };
        let counters = &mut self.system.stats.counters;
        counters.equal_after = counters.equal_after.max(Some(before + took));
        true
    }

    fn has_equal_lists(&self) -> bool {
        let mut live = self.live();
        let list = |at| self.machine(at).map(|it| it.lists().0);
        let first = live.next().and_then(list);
        live.all(|at| list(at) == first)
    }

    /// The leader dies: another leads in time. It is started again.
    fn replaces_the_leader(&mut self, bounds: &Bounds) -> bool {
        let leads = |world: &Self| world.live().find(|&at| world.nodes[at].own.uses);
        let found = self.run_until(bounds.round(2, self.dead_entries()), |world| {
            leads(world).is_some()
        });
        let Some(leader) = leads(self).filter(|_| found.is_some()) else {
            let what = format!("nobody uses the token: {}", self.how_they_stand());
            self.broken(Rule::Settled, what);
            return false;
        };
        self.die(leader);
        let limit = bounds.replaced() + self.while_ids_wrap(bounds.replaced());
        let is_led = |world: &Self| world.live().any(|at| world.nodes[at].own.uses);
        let Some(took) = self.run_until(limit, is_led) else {
            let what = format!(
                "not within {limit:?} of the death of n{leader}: {}",
                self.how_they_stand()
            );
            self.broken(Rule::Replaced, what);
            return false;
        };
        self.system.stats.counters.replaced_after = Some(took);
        self.start(leader);
        true
    }

    /// The segment is cut in two and heals: one token is left in time, and all lists are equal two rounds later.
    fn merges_after_a_cut(&mut self, schedule: &Schedule, bounds: &Bounds) {
        let options = schedule.options();
        let mut groups: Vec<u8> = (0..self.len())
            .map(|_| u8::from(self.rng.chance(500)))
            .collect();
        let live: Vec<usize> = self.live().collect();
        if let [first, .., last] = live[..] {
            (groups[first], groups[last]) = (0, 1);
        }
        self.part(&groups);
        self.run(2 * (bounds.replaced() + bounds.first()) + options.token_pass_timeout);
        self.part(&[]);
        let healed = self.now();
        let unknown = self.system.stats.counters.passes_unknown;
        let mut limit = bounds.merged();
        let window = limit + bounds.replaced() + options.renew_timeout;
        let took = self.one_token_after(window);
        if took > limit && self.system.stats.counters.passes_unknown > unknown {
            self.system.checks.found.excuse(Excuse::Lost);
            limit += bounds.replaced();
        }
        let waited = self.now().saturating_sub(healed + took);
        self.system.stats.counters.merged_after = Some(took);
        if took > limit {
            let what = format!("not within {limit:?}: {}", self.how_they_stand());
            return self.broken(Rule::Merged, what);
        }
        let round = bounds.round(live.len(), self.dead_entries());
        let mut limit = (2 * round).saturating_sub(waited);
        if self.skips_somebody() {
            self.system.checks.found.excuse(Excuse::Skipped);
            limit += bounds.replaced() + 2 * round;
        }
        if self.lists_become_equal(limit + AGAIN, Duration::ZERO) {
            self.all_lead(bounds, Rule::Leads);
        }
    }

    fn broken(&mut self, rule: Rule, what: String) {
        let now = self.now;
        self.system.checks.found.broken(now, None, rule, what);
    }

    /// What the nodes are doing, for who reads of a violation.
    fn how_they_stand(&self) -> String {
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
