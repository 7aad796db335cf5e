//! Nodes of the tests' network, and the faults of the network.

use std::time::Duration;

use ring_codec::lab2::Token;

use super::notation::{BLANK, ip};
use crate::lab2::{Constants, Lab2, State, StoredState};
use crate::time::Instant;

/// Faults of the network.
#[derive(Debug, Clone, Copy)]
pub(super) struct NetworkConditions {
    /// Frames lost in 1,000.
    pub lost: u32,
    /// Frames duplicated in 1,000.
    pub doubled: u32,
    /// The longest delay of a frame. If it is longer than the time between two frames, they are reordered.
    pub delay: Duration,
}

impl NetworkConditions {
    pub(super) const CLEAR: Self = Self {
        lost: 0,
        doubled: 0,
        delay: Duration::from_micros(100),
    };
}

/// A state machine and its place in the network.
pub(super) struct Node {
    pub number: u8,
    /// `None` if the process is dead.
    pub machine: Option<Lab2>,
    /// The state that it has stored last.
    pub durable: StoredState,
    /// Only nodes with the same value hear each other.
    pub island: bool,
    /// Whether the link refuses its frames.
    pub refused: bool,
    /// The frames that have arrived while the process is stalled; `None` if it runs.
    pub stalled_queue: Option<Vec<(Instant, Vec<u8>)>>,
    /// The last token that it held.
    pub held: Option<Token>,
    /// How often it has become OWNER, or OWNER of another token.
    pub tenures: usize,
    pub ip: [u8; 16],
}

impl Node {
    pub(super) fn new(number: u8, constants: &Constants) -> Self {
        Self {
            number,
            machine: Some(Lab2::new(constants.clone(), BLANK)),
            durable: BLANK,
            island: false,
            refused: false,
            stalled_queue: None,
            held: None,
            tenures: 0,
            ip: ip(number),
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.machine.is_some() && self.stalled_queue.is_none()
    }

    pub(super) fn state(&self) -> Option<State> {
        self.machine.as_ref().map(Lab2::state)
    }

    /// Returns the held token; `None` if it is not OWNER.
    pub(super) fn token(&self) -> Option<Token> {
        let machine = self.machine.as_ref()?;
        machine.token().filter(|_| machine.state() == State::Owner)
    }

    pub(super) fn may_use_token(&self) -> bool {
        self.machine.as_ref().is_some_and(Lab2::may_use_token)
    }
}
