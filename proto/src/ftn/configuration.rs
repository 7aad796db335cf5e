//! Who leads, and the state of each server: the configuration and its number (`docs/ftn.md`, section 2).

use ring_codec::ftn::ServerState;

/// A configuration. A later one has a larger number, whoever made it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Configuration {
    number: u32,
    states: Box<[ServerState]>,
}

impl Configuration {
    /// The configuration `number` with the state of each server, of which there is at least one.
    #[must_use]
    pub fn new(number: u32, states: impl Into<Box<[ServerState]>>) -> Self {
        Self {
            number,
            states: states.into(),
        }
    }

    /// Its number, c.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The leader's index: c mod n.
    #[must_use]
    pub fn leader(&self) -> usize {
        self.number as usize % self.states.len().max(1)
    }

    /// The state of each server.
    #[must_use]
    pub fn states(&self) -> &[ServerState] {
        &self.states
    }

    /// A server's state; one that does not exist is DOWN.
    #[must_use]
    pub fn state(&self, index: usize) -> ServerState {
        self.states.get(index).copied().unwrap_or(ServerState::Down)
    }

    /// Whether a server is DOWN.
    #[must_use]
    pub fn is_down(&self, index: usize) -> bool {
        self.state(index) == ServerState::Down
    }
}

/// The next number of a leader after `number`: the smallest above it that is `leader` modulo `servers`.
/// `None`: there is none left.
#[must_use]
pub fn next_number(number: u32, leader: usize, servers: usize) -> Option<u32> {
    let (number, leader, servers) = (u64::from(number) + 1, leader as u64, servers as u64);
    let ahead = (leader + servers - number % servers) % servers;
    // It travels as a signed int.
    u32::try_from(number + ahead)
        .ok()
        .filter(|&next| i32::try_from(next).is_ok())
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
                    assert!(next > number && next as usize % servers == leader);
                    assert!(next as usize - number as usize <= servers);
                }
            }
        }
        assert_eq!(next_number(i32::MAX as u32, 0, 1), None);
    }
}
