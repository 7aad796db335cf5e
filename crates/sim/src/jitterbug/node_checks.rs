//! The checks of a node after each input.

use std::net::IpAddr;

use ring_codec::jitterbug::Node;
use ring_proto::jitterbug::{LEASE_MIN, State};
use ring_runtime::driver::Driver;

use super::data;
use super::node::{InputEvents, LeaderStall, NodeData};
use super::outcome::{Excuse, Rule};
use super::schedule::{DataPlan, Decider};
use super::system::World;

impl World {
    /// Checks a node after an input.
    pub(super) fn check_node(&mut self, at: usize) {
        self.take_jobs(at);
        let node = &mut self.nodes[at];
        node.own.busy_until = node.clock.monotonic(self.now + node.slow);
        let input = std::mem::take(&mut self.nodes[at].own.input);
        self.check_answers(at);
        self.check_lists(at, &input);
        self.check_data(at, &input);
        self.check_use(at);
        self.check_token(at, &input);
    }

    fn check_answers(&mut self, at: usize) {
        let delivered = self.system.stats.delivered;
        let heard = delivered - std::mem::replace(&mut self.system.checked_datagrams, delivered);
        let answers = std::mem::take(&mut self.system.answers);
        if answers > heard {
            let what = format!("{answers} answers to {heard} datagrams");
            let now = self.now;
            let checks = &mut self.system.checks;
            checks.findings.report(now, Some(at), Rule::Answers, what);
        }
    }

    /// Checks that a node does not continue with a token that another node has accepted.
    fn check_token(&mut self, at: usize, input: &InputEvents) {
        let now = self.now;
        let own = &self.nodes[at].own;
        if let Some((id, to)) = input.is_gone
            && own.state == State::Leader
            && own.id == id
        {
            let checks = &mut self.system.checks;
            let excuse = checks.tokens.excuse(id);
            let what = format!("{to} has taken {id}, and it goes on with it");
            checks
                .findings
                .report_unless_excused(now, Some(at), excuse, Rule::Chain, what);
        }
    }

    fn check_lists(&mut self, at: usize, input: &InputEvents) {
        let now = self.now;
        let most = self.system.max_nodes;
        self.system.checks.exemptions.is_full |= !input.refused.is_empty();
        let node = &mut self.nodes[at];
        let Some(machine) = node.driver.as_ref().map(Driver::machine) else {
            return;
        };
        let (list, to_add) = machine.lists();
        let NodeData {
            list: before,
            to_add: waited,
            ..
        } = &mut node.own;
        if list == before.as_slice() && to_add == waited.as_slice() {
            return;
        }
        let checks = &mut self.system.checks;
        if list.len() + to_add.len() > 2 * most || list.len() > most {
            let what = format!("{} entries and {} to add", list.len(), to_add.len());
            checks.findings.report(now, Some(at), Rule::Memory, what);
        }
        let has = |ip: IpAddr| list.iter().any(|it| it.ip == ip);
        let waits = |ip: IpAddr| to_add.iter().any(|it| it.ip == ip);
        let left = before.iter().find(|it| !has(it.ip));
        let left_waiting = waited.iter().find(|it| !has(it.ip) && !waits(it.ip));
        if let Some(gone) = left.or(left_waiting) {
            let is_refused = input.refused.contains(&gone.ip);
            let excuse = is_refused.then_some(Excuse::Full);
            let is_forgotten = input.forgotten.contains(&gone.ip);
            let excuse = excuse.or(is_forgotten.then_some(Excuse::Forgotten));
            let what = format!("{} is gone from {before:?} and {waited:?}", gone.ip);
            checks
                .findings
                .report_unless_excused(now, Some(at), excuse, Rule::Lists, what);
        } else if !input.has_taken && input.forgotten.is_empty() && !is_prefix(before, list) {
            let what = format!("{before:?} became {list:?}");
            checks.findings.report(now, Some(at), Rule::Lists, what);
        }
        list.clone_into(before);
        to_add.clone_into(waited);
    }

    fn check_data(&mut self, at: usize, input: &InputEvents) {
        let now = self.now;
        let plan = &self.system.data;
        let node = &mut self.nodes[at];
        let Some(machine) = node.driver.as_ref().map(Driver::machine) else {
            return;
        };
        let own = machine.data();
        if own == node.own.data {
            return;
        }
        let checks = &mut self.system.checks;
        if !data::is_whole(own, plan) {
            let what = format!("it has {}", data::describe(own));
            checks.findings.report(now, Some(at), Rule::Torn, what);
        }
        if is_behind(own, &node.own.data, plan) {
            let what = format!(
                "{} became {}",
                data::describe(&node.own.data),
                data::describe(own)
            );
            let excuse = input.is_undecided.then_some(Excuse::Undecided);
            checks
                .findings
                .report_unless_excused(now, Some(at), excuse, Rule::Data, what);
        }
        if own.len() > machine.options().max_data {
            let what = format!("{} bytes of data", own.len());
            checks.findings.report(now, Some(at), Rule::Memory, what);
        }
        own.clone_into(&mut node.own.data);
    }

    /// Stalls a process. In a slow loop iteration, the stall begins at the end of the iteration, because the state
    /// machine calculates with this time.
    pub(super) fn stall(&mut self, at: usize) {
        let now = self.now;
        let node = &mut self.nodes[at];
        if node.is_running() && node.own.state == State::Leader {
            node.own.stall = Some(LeaderStall {
                since: node.clock.monotonic(now).max(node.own.busy_until),
                stalls: node.own.stalls,
            });
        }
        self.pause(at);
    }

    /// Continues a process. A leader must notice a stall that was too long.
    pub(super) fn check_stall(&mut self, at: usize) {
        let now = self.now;
        let node = &mut self.nodes[at];
        let Some(LeaderStall { since, stalls }) = node.own.stall.take() else {
            return;
        };
        let stood = node.clock.monotonic(now).since(since);
        if stood >= self.system.options_of(at).own_lease() && node.own.stalls == stalls {
            let what = format!("it was stalled for {stood:?}");
            let checks = &mut self.system.checks;
            checks.findings.report(now, Some(at), Rule::Stall, what);
        }
    }

    /// Checks the use of the token by a node and by all other nodes.
    pub(super) fn check_use(&mut self, at: usize) {
        let machine = self.machine(at);
        let standing = machine.map(ring_proto::jitterbug::Jitterbug::summary);
        let uses = standing.is_some_and(|it| it.may_use);
        let lease = machine.map(ring_proto::jitterbug::Jitterbug::lease);
        let now = self.now;
        if let Some(lease) = lease.filter(|lease| *lease < LEASE_MIN) {
            let what = format!("a lease of {lease:?}");
            let checks = &mut self.system.checks;
            checks.findings.report(now, Some(at), Rule::Terms, what);
        }
        let node = &mut self.nodes[at];
        let clock = node.clock.monotonic(now);
        let own = &mut node.own;
        own.uses = uses;
        own.lease_until = clock + lease.unwrap_or_default();
        if let Some(standing) = standing {
            own.id = standing.token_id;
        }
        let id = own.id;
        if !uses {
            return self.system.checks.clear_clashes(at);
        }
        self.system.checks.check_left_programs(now, (at, id));
        for other in (0..self.len()).filter(|&other| other != at) {
            let node = &self.nodes[other];
            let its = node.own.id;
            // A stalled node does not use its token, but still has it.
            let lasts = node.own.lease_until > node.clock.monotonic(now);
            let checks = &mut self.system.checks;
            if node.own.uses && (its == id || node.is_running()) {
                checks.check_clash(now, (at, id), (other, its));
            } else if node.own.uses && lasts {
                checks.report_lasting_lease(now, (at, id), (other, its));
            }
        }
    }
}

/// Whether a list begins with all entries of the list `before`, in the same order. Ports may differ.
fn is_prefix(before: &[Node], list: &[Node]) -> bool {
    let pairs = before.iter().zip(list);
    list.len() >= before.len() && pairs.into_iter().all(|(one, other)| one.ip == other.ip)
}

/// Whether a decision would prefer `before` to `data`.
fn is_behind(data: &[u8], before: &[u8], plan: &DataPlan) -> bool {
    match plan.decides {
        Decider::Longer => data.len() < before.len(),
        Decider::Greater | Decider::Program => (data.len(), data) < (before.len(), before),
    }
}
