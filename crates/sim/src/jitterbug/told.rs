//! What the machines tell, and what follows from it for the tokens.

use std::net::IpAddr;

use ring_proto::jitterbug::{Acceptance, Event, State};
use ring_proto::time::nanos;

use super::node::Own;
use super::notation::owner_of;
use super::outcome::Rule;
use super::segment::Segment;

/// Stands for all strangers among those who have followed a token.
pub(super) const STRANGER: usize = usize::MAX;

impl Segment {
    /// A machine has told something.
    pub fn told(&mut self, at: u64, own: &mut Own, node: usize, event: &Event) {
        let counters = &mut self.stats.counters;
        match *event {
            Event::StateChanged { state, token_id } => {
                let becomes = own.state != State::Leader && state == State::Leader;
                own.led += u64::from(becomes);
                if becomes && std::mem::take(&mut own.input.has_won) {
                    self.checks.chain.made(token_id);
                    self.checks.chain.held(token_id, node);
                    own.received = None;
                }
                (own.state, own.id) = (state, token_id);
                let leads = (state == State::Leader).then_some(token_id);
                self.checks.chain.leads(node, leads);
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
                    self.checks.chain.accepted(token_id, giver, node);
                    if how != Acceptance::Absorbed {
                        own.received = Some(at);
                        self.checks.chain.held(token_id, node);
                    }
                    if how == Acceptance::Merged {
                        // Who gives its token to a leader follows that one's.
                        self.checks.chain.held(own.id.max(token_id), giver);
                    }
                } else {
                    if how == Acceptance::Merged {
                        // So does a stranger, as far as the leader can know.
                        self.checks.chain.held(own.id.max(token_id), STRANGER);
                    }
                    self.checks.chain.forged(token_id);
                    self.checks.exempt.note_forged(token_id);
                    self.checks.exempt.is_disturbed = true;
                }
            }
            Event::Passed { to } => {
                counters.passes_done += 1;
                if !self.has_taken(own.id, node, to.ip) {
                    let what = format!("it gave {} to {}, who has not taken it", own.id, to.ip);
                    self.checks.found.broken(at, Some(node), Rule::Chain, what);
                }
            }
            Event::PassFailed { to, .. } => {
                counters.passes_failed += 1;
                self.not_passed(own, node, to.ip);
            }
            Event::PassAborted { to } => {
                counters.passes_aborted += 1;
                self.not_passed(own, node, to.ip);
            }
            Event::PassUnknown { to, .. } => {
                counters.passes_unknown += 1;
                self.has_taken(own.id, node, to.ip);
            }
            Event::Stalled { .. } => {
                counters.stalls += 1;
                own.stalls += 1;
            }
            Event::DecideFailed | Event::DataDropped => own.input.is_undecided = true,
            Event::GaveWay { token_id, .. } => self.gives_way(at, own, node, token_id),
            Event::NodeForgotten { node } => {
                self.checks.exempt.has_forgotten = true;
                own.input.forgotten.push(node.ip);
            }
            Event::NodeRefused { node } => own.input.refused.push(node.ip),
            Event::Dropped { .. } => self.stats.dropped += 1,
            Event::ShutDown => own.left = true,
            _ => {}
        }
    }

    /// A leader gives its token to another. One that other nodes follow does not do so for one that was always alone.
    fn gives_way(&mut self, at: u64, own: &Own, node: usize, rival: u32) {
        let renew_timeout = nanos(self.options.renew_timeout);
        let is_followed = own
            .received
            .is_some_and(|since| at.saturating_sub(since) < 2 * renew_timeout);
        if is_followed && self.checks.chain.is_lone(rival) {
            let what = format!("it gives {} to {rival}, which one node has had", own.id);
            let checks = &mut self.checks;
            let excuse = checks.chain.excuse(rival).or(checks.chain.excuse(own.id));
            checks
                .found
                .judge(at, Some(node), excuse, Rule::Company, what);
        }
    }

    /// A pass has ended otherwise than done. If the candidate has the token the node must not go on with it.
    fn not_passed(&mut self, own: &mut Own, node: usize, to: IpAddr) {
        if self.has_taken(own.id, node, to) {
            own.input.is_gone = Some((own.id, to));
        }
    }

    /// Whether a candidate has taken a token in the pass that ends.
    fn has_taken(&mut self, id: u32, giver: usize, to: IpAddr) -> bool {
        owner_of(to).is_some_and(|by| self.checks.chain.passed(id, giver, by))
    }
}
