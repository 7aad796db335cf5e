//! What lives on the tests' segment, and what the segment does to it.

use std::time::Duration;

use ring_codec::lab2::Token;

use super::notation::{BLANK, ip};
use crate::lab2::{Constants, Durable, Lab2, State};
use crate::time::Instant;

/// What the segment does to frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct NetworkConditions {
    /// Frames lost in 1,000.
    pub lost: u32,
    /// Frames doubled in 1,000.
    pub doubled: u32,
    /// The longest that a frame is under way: more than the time between two frames reorders them.
    pub delay: Duration,
}

impl NetworkConditions {
    pub(super) const CLEAR: Self = Self {
        lost: 0,
        doubled: 0,
        delay: Duration::from_micros(100),
    };
}

/// One machine with its place on the segment.
pub(super) struct Node {
    pub number: u8,
    /// `None`: the process is dead.
    pub machine: Option<Lab2>,
    /// What it has had stored last.
    pub durable: Durable,
    /// Only nodes of one island hear each other.
    pub island: bool,
    /// The link refuses its frames.
    pub refused: bool,
    /// The process stands still; what arrived meanwhile.
    pub stopped: Option<Vec<(Instant, Vec<u8>)>>,
    /// The last token that it held.
    pub held: Option<Token>,
    /// How often it has become OWNER, or OWNER of another token.
    pub tenures: usize,
    pub ip: [u8; 16],
}

impl Node {
    /// A node that is about to start.
    pub(super) fn new(number: u8, constants: &Constants) -> Self {
        Self {
            number,
            machine: Some(Lab2::new(constants.clone(), BLANK)),
            durable: BLANK,
            island: false,
            refused: false,
            stopped: None,
            held: None,
            tenures: 0,
            ip: ip(number),
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.machine.is_some() && self.stopped.is_none()
    }

    pub(super) fn state(&self) -> Option<State> {
        self.machine.as_ref().map(Lab2::state)
    }

    /// The token, if it is OWNER.
    pub(super) fn token(&self) -> Option<Token> {
        let machine = self.machine.as_ref()?;
        machine.token().filter(|_| machine.state() == State::Owner)
    }

    pub(super) fn may_use_token(&self) -> bool {
        self.machine.as_ref().is_some_and(Lab2::may_use_token)
    }
}
