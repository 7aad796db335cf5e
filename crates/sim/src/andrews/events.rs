//! The events of the state machines, and their effects on the checks.

use ring_proto::andrews::{Event, State};

use super::node::NodeData;
use super::outcome::Rule;
use super::system::AndrewsSystem;

impl AndrewsSystem {
    pub(super) fn on_event(&mut self, at: u64, own: &mut NodeData, node: usize, event: &Event) {
        let counters = &mut self.stats.counters;
        match *event {
            Event::TokenHeld { sequence }
            | Event::TokenMade { sequence, .. }
            | Event::TokenReturned { sequence } => {
                *match event {
                    Event::TokenHeld { .. } => &mut counters.tokens_held,
                    Event::TokenReturned { .. } => &mut counters.tokens_returned,
                    _ => &mut counters.tokens_made,
                } += 1;
                own.visits += 1;
                self.stats.mix(at ^ sequence, &node.to_be_bytes());
                if sequence <= own.process.highest {
                    let what = format!("{event:?}, after {}", own.process.highest);
                    self.findings.report(at, Some(node), Rule::Sequence, what);
                }
                own.process.highest = own.process.highest.max(sequence);
                own.process.passed = None;
                own.process.held_at = at;
            }
            Event::TokenPassed { sequence } => own.process.passed = Some(sequence),
            Event::TokenLost { .. } => {
                counters.tokens_lost += 1;
                own.process.input.has_lost = true;
            }
            Event::SuccessorLost { .. }
            | Event::StateChanged {
                state: State::Joining,
            } => {
                own.process.lost_at.get_or_insert(at);
            }
            Event::SuccessorUp { .. } => own.process.lost_at = None,
            Event::Claimed => counters.claims += 1,
            Event::NodeRemoved { .. } => counters.removals += 1,
            Event::NodeJoined { .. } => {
                counters.joined += 1;
                own.process.datagrams.joined += 1;
            }
            Event::ElectionStarted { .. } => counters.elections_started += 1,
            Event::ElectionWon { .. } => counters.elections_won += 1,
            Event::Answered { request, answer } => {
                own.process.input.answers.push((request, answer));
            }
            Event::Dropped { .. } => self.stats.dropped += 1,
            Event::ShutDown => own.process.left = true,
            _ => {}
        }
    }
}
