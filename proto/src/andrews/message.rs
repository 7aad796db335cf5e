//! A frame that owns what it says: frames outlive the bytes that they came in, as elections that wait for a successor.

use ring_codec::U32;
use ring_codec::andrews::{Election, Frame, HEADER_LEN, Kind, MAX_PAYLOAD_LEN, Message, Method};

/// The longest frame in bytes.
pub(crate) const LONGEST: usize = HEADER_LEN + MAX_PAYLOAD_LEN;

/// What a frame says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Join,
    Successor(u32),
    SuccessorRequest,
    Token(u64),
    TokenAck(u64),
    Election(Ballot),
}

/// What an election's message says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ballot {
    RingBased(Vec<U32>),
    ChangRoberts(u32),
    Bully,
    Ok,
    Coordinator(Method, u32),
}

impl Ballot {
    pub(crate) const fn method(&self) -> Method {
        match self {
            Self::RingBased(_) => Method::RingBased,
            Self::ChangRoberts(_) => Method::ChangRoberts,
            Self::Bully | Self::Ok => Method::Bully,
            Self::Coordinator(method, _) => *method,
        }
    }
}

impl Said {
    pub(crate) const fn kind(&self) -> Kind {
        match self {
            Self::Join => Kind::Join,
            Self::Successor(_) => Kind::Successor,
            Self::SuccessorRequest => Kind::SuccessorRequest,
            Self::Token(_) => Kind::Token,
            Self::TokenAck(_) => Kind::TokenAck,
            Self::Election(_) => Kind::CoordinatorElection,
        }
    }

    /// The frame's bytes, from a sender; none for an election that names more than a payload holds.
    pub(crate) fn encode(&self, src_id: u32) -> Vec<u8> {
        let message = match self {
            Self::Join => Message::Join,
            &Self::Successor(successor_id) => Message::Successor { successor_id },
            Self::SuccessorRequest => Message::SuccessorRequest,
            &Self::Token(sequence) => Message::Token { sequence },
            &Self::TokenAck(sequence) => Message::TokenAck { sequence },
            Self::Election(ballot) => Message::CoordinatorElection {
                election: match ballot {
                    Ballot::RingBased(ids) => Election::RingBased { ids },
                    &Ballot::ChangRoberts(candidate) => Election::ChangRoberts { candidate },
                    Ballot::Bully => Election::Bully,
                    Ballot::Ok => Election::BullyOk,
                    &Ballot::Coordinator(method, coordinator_id) => Election::Coordinator {
                        method,
                        coordinator_id,
                    },
                },
            },
        };
        let frame = Frame { src_id, message };
        let mut bytes = vec![0; frame.encoded_len()];
        let len = frame.encode(&mut bytes).unwrap_or_default();
        bytes.truncate(len);
        bytes
    }
}

impl From<Message<'_>> for Said {
    fn from(message: Message<'_>) -> Self {
        match message {
            Message::Join => Self::Join,
            Message::Successor { successor_id } => Self::Successor(successor_id),
            Message::SuccessorRequest => Self::SuccessorRequest,
            Message::Token { sequence } => Self::Token(sequence),
            Message::TokenAck { sequence } => Self::TokenAck(sequence),
            Message::CoordinatorElection { election } => Self::Election(match election {
                Election::RingBased { ids } => Ballot::RingBased(ids.to_vec()),
                Election::ChangRoberts { candidate } => Ballot::ChangRoberts(candidate),
                Election::Bully => Ballot::Bully,
                Election::BullyOk => Ballot::Ok,
                Election::Coordinator {
                    method,
                    coordinator_id,
                } => Ballot::Coordinator(method, coordinator_id),
            }),
        }
    }
}
