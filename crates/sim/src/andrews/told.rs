//! What the machines tell, and what follows from it.

use ring_proto::andrews::{Event, State};

use super::circle::Circle;
use super::node::Own;
use super::outcome::Rule;

impl Circle {
    /// A machine has told something.
    pub fn told(&mut self, at: u64, own: &mut Own, node: usize, event: &Event) {
        let stats = &mut self.stats;
        match *event {
            Event::TokenHeld { sequence }
            | Event::TokenMade { sequence, .. }
            | Event::TokenReturned { sequence } => {
                let place = match event {
                    Event::TokenHeld { .. } => 0,
                    Event::TokenReturned { .. } => 1,
                    _ => 2,
                };
                stats.tokens[place] += 1;
                own.visits += 1;
                self.mix(at ^ sequence, &node.to_be_bytes());
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
                stats.tokens[3] += 1;
                own.input.has_lost = true;
            }
            Event::SuccessorLost { .. }
            | Event::StateChanged {
                state: State::Joining,
            } => {
                own.lost_at.get_or_insert(at);
            }
            Event::SuccessorUp { .. } => own.lost_at = None,
            Event::Claimed => stats.topology[0] += 1,
            Event::NodeRemoved { .. } => stats.topology[1] += 1,
            Event::NodeJoined { .. } => {
                stats.topology[2] += 1;
                own.ledger.joined += 1;
            }
            Event::ElectionStarted { .. } => stats.elections[0] += 1,
            Event::ElectionWon { .. } => stats.elections[1] += 1,
            Event::Answered { request, answer } => own.input.answers.push((request, answer)),
            Event::Dropped { .. } => stats.dropped += 1,
            Event::ShutDown => own.left = true,
            _ => {}
        }
    }
}
