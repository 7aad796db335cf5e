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
    /// Longest delay of a frame. If the delay is longer than the time between two frames, the network may reorder these
    /// frames.
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
    /// State machine of the process; `None` if the process is dead.
    pub machine: Option<Lab2>,
    /// State that the node stored last.
    pub durable: StoredState,
    /// Side of the split on which the node is. Nodes on different sides do not hear each other.
    pub island: bool,
    /// Whether the link refuses the node's frames.
    pub refused: bool,
    /// Frames that arrived during a stall of the process; `None` if the process runs.
    pub stalled_queue: Option<Vec<(Instant, Vec<u8>)>>,
    /// Last token that the node held.
    pub held: Option<Token>,
    /// Number of times that the node became OWNER, or replaced its token by a different token.
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

    /// Returns the held token; `None` if the node is not OWNER.
    pub(super) fn token(&self) -> Option<Token> {
        let machine = self.machine.as_ref()?;
        machine.token().filter(|_| machine.state() == State::Owner)
    }

    pub(super) fn may_use_token(&self) -> bool {
        self.machine.as_ref().is_some_and(Lab2::may_use_token)
    }
}
