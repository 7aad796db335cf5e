//! One inbound connection. The node checks the giver's messages when they arrive (`docs/jitterbug/protocol/passing.md`
//! C1 to C9, `docs/jitterbug/protocol/messages.md` X1 to X5).

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::{Kind, Message, Node, Terms, TokenId};
use ring_codec::{StreamState, Streamed};

use super::list_reader::{ListProgress, ListReader};
use crate::buffer::append;
use crate::jitterbug::terms::separates;
use crate::jitterbug::{Difference, Options, Reason};
use crate::time::Instant;

/// The length of the type and the token_id.
const HEADER_LEN: usize = 5;

/// The content of TP1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenOffer {
    pub(crate) id: TokenId,
    pub(crate) hash: i32,
    /// The length of TP1 in bytes.
    pub(crate) len: usize,
}

#[derive(Debug)]
enum ExchangeStage {
    /// TP1 is not complete.
    Opening,
    /// TP1 is complete. The exchange waits until this node's own pass ends.
    Held,
    /// The pass of this node ended. TP1 is read again.
    Released,
    /// TP1 was answered with TP2, so TP4 is due.
    List(TokenOffer, ListReader),
    /// TP5 is due.
    ReceivedToken(TokenOffer, Option<ListReader>),
    /// The data is arriving.
    Data(TokenOffer, Option<ListReader>, Vec<u8>),
}

/// The result of reading the arrived bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadProgress {
    /// The exchange consumed this many bytes, and needs more bytes.
    Wait(usize),
    /// TP1 is complete. The exchange consumed this many bytes before TP1. TP1 itself is not consumed.
    OfferedToken(usize, TokenOffer),
    /// The token is complete.
    Complete,
    /// The exchange must be reset.
    Dropped(Reason),
}

/// A token that a giver sent.
#[derive(Debug)]
pub(crate) struct ReceivedToken {
    pub(crate) id: TokenId,
    /// The giver's list, or `None` if it equals this node's list.
    pub(crate) list: Option<Vec<Node>>,
    pub(crate) data: Vec<u8>,
    /// The giver's terms; `None` if the giver sent no terms.
    pub(crate) terms: Option<Terms>,
}

#[derive(Debug)]
pub(crate) struct Exchange {
    from: IpAddr,
    accepted: Instant,
    /// The giver's terms; `None` if the giver sent no terms.
    terms: Option<Terms>,
    stage: ExchangeStage,
    /// The answer, TP2 or TP3, until it is written to the connection.
    answer: Option<Kind>,
}

impl Exchange {
    pub(crate) const fn new(from: IpAddr, accepted: Instant) -> Self {
        Self {
            from,
            accepted,
            terms: None,
            stage: ExchangeStage::Opening,
            answer: None,
        }
    }

    pub(crate) const fn from(&self) -> IpAddr {
        self.from
    }

    pub(super) const fn accept_time(&self) -> Instant {
        self.accepted
    }

    /// Whether at least `time` has passed since the exchange was accepted.
    pub(crate) fn is_late(&self, now: Instant, time: Duration) -> bool {
        self.accepted + time <= now
    }

    pub(crate) const fn terms(&self) -> Option<Terms> {
        self.terms
    }

    pub(crate) const fn is_opening(&self) -> bool {
        matches!(self.stage, ExchangeStage::Opening)
    }

    pub(crate) const fn is_held(&self) -> bool {
        matches!(self.stage, ExchangeStage::Held)
    }

    pub(crate) const fn is_answered(&self) -> bool {
        matches!(
            self.stage,
            ExchangeStage::List(..) | ExchangeStage::ReceivedToken(..) | ExchangeStage::Data(..)
        )
    }

    /// Whether TP1 was answered, or will be answered as the next step.
    pub(crate) const fn blocks_pass(&self) -> bool {
        // A released TP1 is answered before the next candidate is tried.
        self.is_answered() || matches!(self.stage, ExchangeStage::Released)
    }

    /// Leaves TP1, and everything behind it, unread for now.
    pub(crate) fn hold(&mut self) {
        if self.is_opening() || matches!(self.stage, ExchangeStage::Released) {
            self.stage = ExchangeStage::Held;
        }
    }

    pub(crate) fn release(&mut self) {
        if self.is_held() {
            self.stage = ExchangeStage::Released;
        }
    }

    /// Answers TP1: with TP3 if the giver's list equals this node's list, otherwise with TP2.
    pub(crate) fn answer(&mut self, offer: TokenOffer, own_hash: i32) {
        // Lists rarely change, so most passes need no list.
        if offer.hash == own_hash {
            self.answer = Some(Kind::Tp3);
            self.stage = ExchangeStage::ReceivedToken(offer, None);
        } else {
            self.answer = Some(Kind::Tp2);
            self.stage = ExchangeStage::List(offer, ListReader::default());
        }
    }

    /// Writes the answer into `room`.
    pub(crate) fn write(&mut self, room: &mut [u8]) -> usize {
        let message = match self.answer {
            Some(Kind::Tp2) => Message::Tp2,
            Some(_) => Message::Tp3,
            None => return 0,
        };
        let len = message.encode(room).unwrap_or_default();
        // If the room was too small, the driver asks again.
        if len > 0 {
            self.answer = None;
        }
        len
    }

    /// Reads the next bytes. `bytes` are all bytes that arrived and are not consumed. `end` is `true` if the giver has
    /// closed its side.
    pub(crate) fn receive(&mut self, bytes: &[u8], end: bool, options: &Options) -> ReadProgress {
        let mut used = 0;
        loop {
            let rest = bytes.get(used..).unwrap_or_default();
            match self.read_step(rest, options) {
                // Only the data of TP5 lasts until the end of the stream.
                Ok(ReadStep::Wait(_)) if end && !matches!(self.stage, ExchangeStage::Data(..)) => {
                    return ReadProgress::Dropped(Reason::Truncated);
                }
                Ok(ReadStep::Wait(_)) if end => return ReadProgress::Complete,
                Ok(ReadStep::Wait(count)) => return ReadProgress::Wait(used + count),
                Ok(ReadStep::OfferedToken(offer)) => {
                    return ReadProgress::OfferedToken(used, offer);
                }
                Ok(ReadStep::Continue(count)) => used += count,
                Err(reason) => return ReadProgress::Dropped(reason),
            }
        }
    }

    fn read_step(&mut self, bytes: &[u8], options: &Options) -> Result<ReadStep, Reason> {
        match &mut self.stage {
            // TP1 stays unread, so that the driver delivers it again after the pass.
            ExchangeStage::Held => Ok(ReadStep::Wait(0)),
            // A second TP6 does not match here, so it is refused below as a wrong message.
            ExchangeStage::Opening if is_kind(bytes, Kind::Tp6) && self.terms.is_none() => {
                match decode_message(bytes, options)? {
                    Some((Message::Tp6 { terms }, consumed)) => {
                        // The terms are kept even if the exchange is refused, because the node reports how the giver
                        // differs.
                        self.terms = Some(terms);
                        match separates(&terms, options) {
                            None => Ok(ReadStep::Continue(consumed)),
                            Some(Difference::Lease) => Err(Reason::Lease),
                            Some(_) => Err(Reason::Policy),
                        }
                    }
                    Some(_) => Err(Reason::Order),
                    None => Ok(ReadStep::Wait(0)),
                }
            }
            ExchangeStage::Opening | ExchangeStage::Released => {
                check_kind(bytes, Kind::Tp1)?;
                // A wrong id is refused before the rest of TP1 arrives.
                decode_token_id(bytes)?;
                let Some((message, len)) = decode_message(bytes, options)? else {
                    return Ok(ReadStep::Wait(0));
                };
                let Message::Tp1 {
                    token_id: id,
                    node_list_hash: hash,
                } = message
                else {
                    return Err(Reason::Order);
                };
                Ok(ReadStep::OfferedToken(TokenOffer { id, hash, len }))
            }
            ExchangeStage::List(offer, reader) => {
                if reader.is_new() {
                    check_kind(bytes, Kind::Tp4)?;
                }
                let count = match reader.read(bytes, options.max_nodes)? {
                    ListProgress::Wait(count) => return Ok(ReadStep::Wait(count)),
                    ListProgress::Complete(count) => count,
                };
                reader.check(offer.hash)?;
                self.stage = ExchangeStage::ReceivedToken(*offer, Some(std::mem::take(reader)));
                Ok(ReadStep::Continue(count))
            }
            ExchangeStage::ReceivedToken(offer, list) => {
                check_kind(bytes, Kind::Tp5)?;
                let Some(id) = decode_token_id(bytes)? else {
                    return Ok(ReadStep::Wait(0));
                };
                // The node has judged the id of TP1, so the token must have the same id.
                if id != offer.id {
                    return Err(Reason::Order);
                }
                self.stage = ExchangeStage::Data(*offer, list.take(), Vec::new());
                Ok(ReadStep::Continue(HEADER_LEN))
            }
            ExchangeStage::Data(_, _, data) => {
                // The length of the data is not announced, and a giver could send without end. So only the bytes that
                // have arrived are buffered.
                if bytes.len() > options.max_data - data.len() {
                    return Err(Reason::Data);
                }
                append(data, bytes, options.max_data);
                Ok(ReadStep::Wait(bytes.len()))
            }
        }
    }

    pub(crate) fn into_token(self) -> Option<ReceivedToken> {
        let terms = self.terms;
        match self.stage {
            ExchangeStage::Data(offer, list, data) => Some(ReceivedToken {
                id: offer.id,
                list: list.map(|list| list.nodes()),
                data,
                terms,
            }),
            _ => None,
        }
    }
}

enum ReadStep {
    /// The node consumed this many bytes, and needs more bytes.
    Wait(usize),
    OfferedToken(TokenOffer),
    /// The node consumed this many bytes, and a further message must follow.
    Continue(usize),
}

/// Decodes the message at the front. Returns the message with its length, or `None` if the message is incomplete.
fn decode_message<'a>(
    bytes: &'a [u8],
    options: &Options,
) -> Result<Option<(Message<'a>, usize)>, Reason> {
    let read = Message::decode_stream(bytes, StreamState::Open, options.max_nodes);
    Ok(match read.map_err(|error| Reason::of(&error))? {
        Streamed::Message { message, consumed } => Some((message, consumed)),
        Streamed::Incomplete { .. } => None,
    })
}

/// Checks that the first byte belongs to a message of the kind `kind`.
fn check_kind(bytes: &[u8], kind: Kind) -> Result<(), Reason> {
    // A wrong message is refused at its first byte, before its other bytes can use memory.
    let Some(&first) = bytes.first() else {
        return Ok(());
    };
    Message::decode_stream(&[first], StreamState::Open, 0).map_err(|error| Reason::of(&error))?;
    if !is_kind(bytes, kind) {
        return Err(Reason::Order);
    }
    Ok(())
}

fn is_kind(bytes: &[u8], kind: Kind) -> bool {
    // The lower half of the byte is the version.
    let first = bytes.first();
    first.and_then(|first| Kind::from_wire(first >> 4)) == Some(kind)
}

/// Decodes the token_id behind the first byte, if the whole token_id has arrived. Returns an error if the token_id is
/// not positive, because the token_id of a leader is always positive.
fn decode_token_id(bytes: &[u8]) -> Result<Option<TokenId>, Reason> {
    let Some(&[_, id @ ..]) = bytes.first_chunk::<HEADER_LEN>() else {
        return Ok(None);
    };
    let id = TokenId::from_wire(i32::from_be_bytes(id)).ok_or(Reason::Token)?;
    if !id.is_leader() {
        return Err(Reason::NotLeader);
    }
    Ok(Some(id))
}
