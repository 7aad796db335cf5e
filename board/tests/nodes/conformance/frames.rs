//! Encoder and decoder of the board's messages. They follow `docs/board/messages.md`, and share no code with the nodes.

use anyhow::{Context, Result, bail, ensure};

pub(super) const HEADER_LEN: usize = 12;
const VERSION: u8 = 1;
const PAYLOAD_LEN_MAX: u32 = 65_536;
const ELECTION_TYPE: u8 = 6;
const STEP_ELECTION: u8 = 1;
const STEP_COORDINATOR: u8 = 2;
const STEP_OK: u8 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    RingBased = 1,
    ChangRoberts = 2,
    Bully = 3,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    Join,
    Successor(u32),
    SuccessorRequest,
    Token(u64),
    TokenAck(u64),
    /// An ELECTION of RING_BASED, with its ids.
    RingElection(Vec<u32>),
    /// An ELECTION of CHANG_ROBERTS, with its candidate.
    ChangElection(u32),
    BullyElection,
    BullyOk,
    Coordinator(Method, u32),
}

impl Message {
    pub(super) const fn is_election(&self) -> bool {
        matches!(
            self,
            Self::RingElection(_) | Self::ChangElection(_) | Self::BullyElection
        )
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Join => 1,
            Self::Successor(_) => 2,
            Self::SuccessorRequest => 3,
            Self::Token(_) => 4,
            Self::TokenAck(_) => 5,
            _ => ELECTION_TYPE,
        }
    }

    fn payload(&self) -> Vec<u8> {
        let election = |method: Method, step: u8, rest: &[u32]| {
            let mut payload = vec![method as u8, step, 0, 0];
            payload.extend(rest.iter().flat_map(|number| number.to_be_bytes()));
            payload
        };
        match self {
            Self::Join | Self::SuccessorRequest => Vec::new(),
            Self::Successor(id) => id.to_be_bytes().to_vec(),
            Self::Token(sequence) | Self::TokenAck(sequence) => sequence.to_be_bytes().to_vec(),
            Self::RingElection(ids) => {
                let count = u32::try_from(ids.len()).expect("the list is short");
                let rest: Vec<u32> = [count].into_iter().chain(ids.iter().copied()).collect();
                election(Method::RingBased, STEP_ELECTION, &rest)
            }
            Self::ChangElection(id) => election(Method::ChangRoberts, STEP_ELECTION, &[*id]),
            Self::BullyElection => election(Method::Bully, STEP_ELECTION, &[]),
            Self::BullyOk => election(Method::Bully, STEP_OK, &[]),
            Self::Coordinator(method, id) => election(*method, STEP_COORDINATOR, &[*id]),
        }
    }

    /// Returns the frame of this message from a node.
    pub(super) fn frame(&self, source: u32) -> Vec<u8> {
        let payload = self.payload();
        let length = u32::try_from(payload.len()).expect("the payload is short");
        let mut frame = vec![VERSION, self.kind(), 0, 0];
        frame.extend(source.to_be_bytes());
        frame.extend(length.to_be_bytes());
        frame.extend(payload);
        frame
    }
}

/// Returns the length of the frame that begins with these bytes, or `None` if the header is incomplete.
pub(super) fn frame_len(bytes: &[u8]) -> Result<Option<usize>> {
    let Some(header) = bytes.get(..HEADER_LEN) else {
        return Ok(None);
    };
    let length = number(&header[8..])?;
    ensure!(
        length <= PAYLOAD_LEN_MAX,
        "a payload of {length} bytes is too long (messages.md)"
    );
    Ok(Some(HEADER_LEN + usize::try_from(length)?))
}

/// Decodes a frame. Returns the sender and the message.
pub(super) fn decode(frame: &[u8]) -> Result<(u32, Message)> {
    let decoded = decode_strictly(frame);
    decoded.with_context(|| format!("the program sent the frame {frame:02x?} (messages.md)"))
}

fn decode_strictly(frame: &[u8]) -> Result<(u32, Message)> {
    ensure!(
        frame_len(frame)? == Some(frame.len()),
        "payloadLen is not the length of the payload"
    );
    ensure!(frame[0] == VERSION, "unknown version");
    ensure!(frame[2..4] == [0, 0], "reserved bytes are not 0");
    let (source, payload) = (number(&frame[4..])?, &frame[HEADER_LEN..]);
    let message = match (frame[1], payload.len()) {
        (1, 0) => Message::Join,
        (2, 4) => Message::Successor(number(payload)?),
        (3, 0) => Message::SuccessorRequest,
        (4, 8) => Message::Token(sequence(payload)?),
        (5, 8) => Message::TokenAck(sequence(payload)?),
        (ELECTION_TYPE, 4..) => decode_election(payload)?,
        (kind, length) => bail!("type {kind} with a payload of {length} bytes"),
    };
    Ok((source, message))
}

fn decode_election(payload: &[u8]) -> Result<Message> {
    ensure!(payload[2..4] == [0, 0], "reserved bytes are not 0");
    let rest = &payload[4..];
    let method = match payload[0] {
        1 => Method::RingBased,
        2 => Method::ChangRoberts,
        3 => Method::Bully,
        method => bail!("unknown method {method}"),
    };
    Ok(match (method, payload[1], rest.len()) {
        (Method::RingBased, STEP_ELECTION, 4..) => {
            let ids: Result<Vec<u32>> = rest[4..].chunks(4).map(number).collect();
            let ids = ids?;
            ensure!(
                usize::try_from(number(rest)?)? == ids.len(),
                "count is not the number of ids"
            );
            Message::RingElection(ids)
        }
        (Method::ChangRoberts, STEP_ELECTION, 4) => Message::ChangElection(number(rest)?),
        (Method::Bully, STEP_ELECTION, 0) => Message::BullyElection,
        (Method::Bully, STEP_OK, 0) => Message::BullyOk,
        (method, STEP_COORDINATOR, 4) => Message::Coordinator(method, number(rest)?),
        (method, step, length) => bail!("{method:?}, electionType {step}, {length} bytes"),
    })
}

fn number(bytes: &[u8]) -> Result<u32> {
    let bytes = bytes.get(..4).context("too short")?;
    Ok(u32::from_be_bytes(bytes.try_into()?))
}

fn sequence(bytes: &[u8]) -> Result<u64> {
    Ok(u64::from_be_bytes(bytes.try_into()?))
}
