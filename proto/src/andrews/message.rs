//! Frames with owned content. A frame with owned content may outlive the received bytes, for example while the frame
//! waits for a successor.

use ring_codec::U32;
use ring_codec::andrews::{Election, Frame, HEADER_LEN, Kind, MAX_PAYLOAD_LEN, Message, Method};

/// The length of the longest frame, in bytes.
pub(crate) const FRAME_LEN_MAX: usize = HEADER_LEN + MAX_PAYLOAD_LEN;

/// A frame's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OwnedMessage {
    Join,
    Successor(u32),
    SuccessorRequest,
    Token(u64),
    TokenAck(u64),
    Election(OwnedElection),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OwnedElection {
    RingBased(Vec<U32>),
    ChangRoberts(u32),
    Bully,
    Ok,
    Coordinator(Method, u32),
}

impl OwnedElection {
    pub(crate) const fn method(&self) -> Method {
        match self {
            Self::RingBased(_) => Method::RingBased,
            Self::ChangRoberts(_) => Method::ChangRoberts,
            Self::Bully | Self::Ok => Method::Bully,
            Self::Coordinator(method, _) => *method,
        }
    }
}

impl OwnedMessage {
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

    /// Encodes the message as a frame of the sender `src_id`. If an election has more ids than fit into a frame,
    /// returns no bytes.
    pub(crate) fn encode(&self, src_id: u32) -> Vec<u8> {
        let message = match self {
            Self::Join => Message::Join,
            &Self::Successor(successor_id) => Message::Successor { successor_id },
            Self::SuccessorRequest => Message::SuccessorRequest,
            &Self::Token(sequence) => Message::Token { sequence },
            &Self::TokenAck(sequence) => Message::TokenAck { sequence },
            Self::Election(election) => Message::CoordinatorElection {
                election: match election {
                    OwnedElection::RingBased(ids) => Election::RingBased { ids },
                    &OwnedElection::ChangRoberts(candidate) => Election::ChangRoberts { candidate },
                    OwnedElection::Bully => Election::Bully,
                    OwnedElection::Ok => Election::BullyOk,
                    &OwnedElection::Coordinator(method, coordinator_id) => Election::Coordinator {
                        method,
                        coordinator_id,
                    },
                },
            },
        };
        let frame = Frame { src_id, message };
        let mut bytes = vec![0; frame.encoded_len()];
        // One ELECTION has room for the ids of the longest list, so each message of this node fits.
        let len = frame.encode(&mut bytes).unwrap_or_default();
        bytes.truncate(len);
        bytes
    }
}

impl From<Message<'_>> for OwnedMessage {
    fn from(message: Message<'_>) -> Self {
        match message {
            Message::Join => Self::Join,
            Message::Successor { successor_id } => Self::Successor(successor_id),
            Message::SuccessorRequest => Self::SuccessorRequest,
            Message::Token { sequence } => Self::Token(sequence),
            Message::TokenAck { sequence } => Self::TokenAck(sequence),
            Message::CoordinatorElection { election } => Self::Election(match election {
                Election::RingBased { ids } => OwnedElection::RingBased(ids.to_vec()),
                Election::ChangRoberts { candidate } => OwnedElection::ChangRoberts(candidate),
                Election::Bully => OwnedElection::Bully,
                Election::BullyOk => OwnedElection::Ok,
                Election::Coordinator {
                    method,
                    coordinator_id,
                } => OwnedElection::Coordinator(method, coordinator_id),
            }),
        }
    }
}
