//! The contents of an election message.

use crate::U32;

/// An election's method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Method {
    /// A message goes around the ring and collects the ids of all nodes.
    RingBased = 1,
    /// A message goes around the ring and keeps only the greatest id.
    ChangRoberts = 2,
    /// A node sends a message to each node with a greater id.
    Bully = 3,
}

/// The contents of an election message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Election<'a> {
    /// RING_BASED, ELECTION.
    RingBased {
        /// The ids of the nodes that the message passed, at most [`MAX_IDS`](super::MAX_IDS).
        ids: &'a [U32],
    },
    /// CHANG_ROBERTS, ELECTION.
    ChangRoberts {
        /// The greatest id among the nodes that the message passed.
        candidate: u32,
    },
    /// BULLY, ELECTION.
    Bully,
    /// OK of BULLY: a node with a greater id takes over the election.
    BullyOk,
    /// COORDINATOR of any method: the result of the election.
    Coordinator {
        /// The election's method.
        method: Method,
        /// The new coordinator's id.
        coordinator_id: u32,
    },
}

pub(super) const ELECTION: u8 = 1;
pub(super) const COORDINATOR: u8 = 2;
pub(super) const OK: u8 = 3;

impl Method {
    pub(super) const fn from_wire(method: u8) -> Option<Self> {
        match method {
            1 => Some(Self::RingBased),
            2 => Some(Self::ChangRoberts),
            3 => Some(Self::Bully),
            _ => None,
        }
    }
}

impl Election<'_> {
    /// The election's method.
    pub const fn method(&self) -> Method {
        match self {
            Self::RingBased { .. } => Method::RingBased,
            Self::ChangRoberts { .. } => Method::ChangRoberts,
            Self::Bully | Self::BullyOk => Method::Bully,
            Self::Coordinator { method, .. } => *method,
        }
    }

    pub(super) const fn election_type(&self) -> u8 {
        match self {
            Self::RingBased { .. } | Self::ChangRoberts { .. } | Self::Bully => ELECTION,
            Self::Coordinator { .. } => COORDINATOR,
            Self::BullyOk => OK,
        }
    }
}
