//! The configuration: its number, the leader and the state of each server (`docs/token-service/protocol/numbers.md`
//! N1).

use ring_codec::ftn::ServerState;

/// Largest number of a configuration. A fencing number consists of a configuration's number and a counter of 31 bits.
/// So it has at most 88 bits.
pub const CONFIGURATION_NUMBER_MAX: u64 = (1 << 56) - 1;

/// A configuration: its number, and the state of each server. A later configuration has a larger number, even if a
/// different server made it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Configuration {
    number: u64,
    states: Box<[ServerState]>,
}

impl Configuration {
    /// Returns the configuration `number` with these states of the servers. There is at least one server.
    pub fn new(number: u64, states: impl Into<Box<[ServerState]>>) -> Self {
        Self {
            number,
            states: states.into(),
        }
    }

    /// Returns the configuration's number, c.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Returns the leader's index: c mod n.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is less than the number of servers"
    )]
    pub fn leader(&self) -> usize {
        // The number names the leader, so two leaders never use the same number.
        (self.number % self.states.len().max(1) as u64) as usize
    }

    /// Returns the state of each server.
    pub fn states(&self) -> &[ServerState] {
        &self.states
    }

    /// Returns a server's state, or DOWN for an unknown server.
    pub fn state(&self, index: usize) -> ServerState {
        // A server without a state must never become responsible for a token.
        self.states.get(index).copied().unwrap_or(ServerState::Down)
    }

    /// Whether a server is DOWN.
    pub fn is_down(&self, index: usize) -> bool {
        self.state(index) == ServerState::Down
    }
}

/// Returns the number of a leader's next configuration: the smallest number above `number` that is `leader` modulo
/// `servers`. Returns `None` if the new number would be too large.
pub fn next_number(number: u64, leader: usize, servers: usize) -> Option<u64> {
    let (above, leader, servers) = (number.checked_add(1)?, leader as u64, servers as u64);
    let ahead = (leader + servers - above % servers) % servers;
    above
        .checked_add(ahead)
        .filter(|next| *next <= CONFIGURATION_NUMBER_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_number_of_a_leader_is_the_smallest_above_that_names_it() {
        for number in 0..20 {
            for servers in 1..6 {
                for leader in 0..servers {
                    let next = next_number(number, leader, servers).unwrap();
                    let (leader, servers) = (leader as u64, servers as u64);
                    assert!(next > number && next % servers == leader);
                    assert!(next - number <= servers);
                }
            }
        }
        for number in [CONFIGURATION_NUMBER_MAX, u64::MAX] {
            assert_eq!(next_number(number, 0, 1), None);
        }
    }
}
