//! The events of the state machines, and their effects on the checks.

use std::net::IpAddr;

use ring_proto::jitterbug::{Acceptance, Event, State};
use ring_proto::time::nanos;

use super::node::NodeData;
use super::notation::owner_of;
use super::outcome::Rule;
use super::system::JitterbugSystem;

/// The number that represents all strangers among the followers of a token.
pub(super) const STRANGER: usize = usize::MAX;

impl JitterbugSystem {
    pub(super) fn on_event(&mut self, at: u64, own: &mut NodeData, node: usize, event: &Event) {
        let counters = &mut self.stats.counters;
        match *event {
            Event::StateChanged { state, token_id } => {
                let becomes = own.state != State::Leader && state == State::Leader;
                own.led += u64::from(becomes);
                if becomes && std::mem::take(&mut own.input.has_won) {
                    self.checks.tokens.on_created(token_id);
                    self.checks.tokens.on_held(token_id, node);
                    own.received = None;
                }
                (own.state, own.id) = (state, token_id);
                let leads = (state == State::Leader).then_some(token_id);
                self.checks.tokens.on_leads(node, leads);
                let seen = [state as u8, node.to_be_bytes()[7]];
                self.stats.mix(at ^ u64::from(token_id) << 32, &seen);
            }
            Event::RestoreWon => {
                counters.restores += 1;
                own.input.has_won = true;
            }
            Event::Accepted {
                how,
                token_id,
                from,
            } => {
                *match how {
                    Acceptance::Taken => &mut counters.tokens_taken,
                    Acceptance::Merged => &mut counters.tokens_merged,
                    Acceptance::Absorbed => &mut counters.tokens_absorbed,
                } += 1;
                own.input.has_taken |= how == Acceptance::Taken;
                if let Some(giver) = owner_of(from) {
                    self.checks.tokens.on_accepted(token_id, giver, node);
                    if how != Acceptance::Absorbed {
                        own.received = Some(at);
                        self.checks.tokens.on_held(token_id, node);
                    }
                    if how == Acceptance::Merged {
                        // A node that gives its token to a leader follows the leader's token.
                        self.checks.tokens.on_held(own.id.max(token_id), giver);
                    }
                } else {
                    if how == Acceptance::Merged {
                        // The leader must assume that the stranger follows the token too.
                        self.checks.tokens.on_held(own.id.max(token_id), STRANGER);
                    }
                    self.checks.tokens.on_forged(token_id);
                    self.checks.exemptions.note_forged(token_id);
                    self.checks.exemptions.is_disturbed = true;
                }
            }
            Event::Passed { to } => {
                counters.passes_done += 1;
                if !self.end_pass(own.id, node, to.ip) {
                    let what =
                        format!("it gave {} to {}, which has not accepted it", own.id, to.ip);
                    self.checks
                        .findings
                        .report(at, Some(node), Rule::Chain, what);
                }
            }
            Event::PassFailed { to, .. } => {
                counters.passes_failed += 1;
                self.on_not_passed(own, node, to.ip);
            }
            Event::PassAborted { to } => {
                counters.passes_aborted += 1;
                self.on_not_passed(own, node, to.ip);
            }
            Event::PassUnknown { to, .. } => {
                counters.passes_unknown += 1;
                self.end_pass(own.id, node, to.ip);
            }
            Event::Stalled { .. } => {
                counters.stalls += 1;
                own.stalls += 1;
            }
            Event::DecideFailed | Event::DataDropped => own.input.is_undecided = true,
            Event::GaveWay { token_id, .. } => self.check_giving_way(at, own, node, token_id),
            Event::NodeForgotten { node } => {
                self.checks.exemptions.has_forgotten = true;
                own.input.forgotten.push(node.ip);
            }
            Event::NodeRefused { node } => own.input.refused.push(node.ip),
            Event::Dropped { .. } => self.stats.dropped += 1,
            Event::ShutDown => own.left = true,
            _ => {}
        }
    }

    /// Checks a leader that gives up its token because of a stronger token. If the leader has followers, it must not
    /// give way to a token that only one node has had.
    fn check_giving_way(&mut self, at: u64, own: &NodeData, node: usize, rival: u32) {
        let renew_timeout = nanos(self.options.renew_timeout);
        let is_followed = own
            .received
            .is_some_and(|since| at.saturating_sub(since) < 2 * renew_timeout);
        if is_followed && self.checks.tokens.is_lone(rival) {
            let what = format!(
                "it gives {} to {rival}, which only one node has had",
                own.id
            );
            let checks = &mut self.checks;
            let excuse = checks.tokens.excuse(rival).or(checks.tokens.excuse(own.id));
            checks
                .findings
                .report_unless_excused(at, Some(node), excuse, Rule::Company, what);
        }
    }

    /// Handles a pass that failed or that the giver aborted. If the candidate has the token, the giver must not
    /// continue with this token.
    fn on_not_passed(&mut self, own: &mut NodeData, node: usize, to: IpAddr) {
        if self.end_pass(own.id, node, to) {
            own.input.is_gone = Some((own.id, to));
        }
    }

    /// Ends a pass. Returns whether the candidate accepted the token.
    fn end_pass(&mut self, id: u32, giver: usize, to: IpAddr) -> bool {
        owner_of(to).is_some_and(|by| self.checks.tokens.on_pass_ended(id, giver, by))
    }
}
