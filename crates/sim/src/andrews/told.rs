//! What the machines tell, and what follows from it.

use ring_proto::andrews::{Event, State};

use super::circle::Circle;
use super::node::Own;
use super::outcome::Rule;

impl Circle {
    /// A machine has told something.
    pub fn told(&mut self, at: u64, own: &mut Own, node: usize, event: &Event) {
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
                if sequence <= own.highest {
                    let what = format!("{event:?}, after {}", own.highest);
                    self.found.broken(at, Some(node), Rule::Sequence, what);
                }
                own.highest = own.highest.max(sequence);
                own.passed = None;
                own.held_at = at;
            }
            Event::TokenPassed { sequence } => own.passed = Some(sequence),
            Event::TokenLost { .. } => {
                counters.tokens_lost += 1;
                own.input.has_lost = true;
            }
            Event::SuccessorLost { .. }
            | Event::StateChanged {
                state: State::Joining,
            } => {
                own.lost_at.get_or_insert(at);
            }
            Event::SuccessorUp { .. } => own.lost_at = None,
            Event::Claimed => counters.claims += 1,
            Event::NodeRemoved { .. } => counters.removals += 1,
            Event::NodeJoined { .. } => {
                counters.joined += 1;
                own.ledger.joined += 1;
            }
            Event::ElectionStarted { .. } => counters.elections_started += 1,
            Event::ElectionWon { .. } => counters.elections_won += 1,
            Event::Answered { request, answer } => own.input.answers.push((request, answer)),
            Event::Dropped { .. } => self.stats.dropped += 1,
            Event::ShutDown => own.left = true,
            _ => {}
        }
    }
}
