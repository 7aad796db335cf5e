//! One inbound connection: what a giver sends, judged as it comes (`docs/jitterbug.md`, sections 7 and 11).

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::{Kind, Message, Node, Terms, TokenId};
use ring_codec::{StreamState, Streamed};

use super::list_reader::{ListReader, Read};
use crate::buffer::append;
use crate::jitterbug::terms::separates;
use crate::jitterbug::{Difference, Options, Reason};
use crate::time::Instant;

/// The type and the token_id.
const HEAD: usize = 5;

/// What TP1 says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) id: TokenId,
    pub(crate) hash: i32,
    /// Bytes that it took.
    pub(crate) len: usize,
}

/// How far an exchange has come.
#[derive(Debug)]
enum Stage {
    /// TP1 is not complete.
    Opening,
    /// TP1 is complete, and waits for the end of a pass of this node.
    Held,
    /// That pass has ended: TP1 is about to be told of again.
    Released,
    /// TP2 was answered, and TP4 is due.
    List(Offer, ListReader),
    /// TP5 is due.
    Token(Offer, Option<ListReader>),
    /// The data is coming.
    Data(Offer, Option<ListReader>, Vec<u8>),
}

/// What the bytes at hand have come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// So many are done with; more are needed.
    Wait(usize),
    /// TP1 is complete, behind so many bytes that are done with; none of it is.
    Offered(usize, Offer),
    /// The token is there, whole.
    Complete,
    /// The exchange is to be reset.
    Dropped(Reason),
}

/// A token that came.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) id: TokenId,
    /// The giver's list; `None`: it is the own one.
    pub(crate) list: Option<Vec<Node>>,
    pub(crate) data: Vec<u8>,
    /// The giver's terms.
    pub(crate) terms: Option<Terms>,
}

/// An exchange with a giver.
#[derive(Debug)]
pub(crate) struct Exchange {
    from: IpAddr,
    accepted: Instant,
    /// The giver's terms, if it has sent any.
    terms: Option<Terms>,
    stage: Stage,
    /// TP2 or TP3, until it is written.
    answer: Option<Kind>,
}

impl Exchange {
    pub(crate) const fn new(from: IpAddr, accepted: Instant) -> Self {
        Self {
            from,
            accepted,
            terms: None,
            stage: Stage::Opening,
            answer: None,
        }
    }

    pub(crate) const fn from(&self) -> IpAddr {
        self.from
    }

    pub(super) const fn accepted(&self) -> Instant {
        self.accepted
    }

    /// Whether it was accepted `time` ago or earlier.
    pub(crate) fn is_late(&self, now: Instant, time: Duration) -> bool {
        self.accepted + time <= now
    }

    /// The giver's terms, if it has sent any.
    pub(crate) const fn terms(&self) -> Option<Terms> {
        self.terms
    }

    pub(crate) const fn is_opening(&self) -> bool {
        matches!(self.stage, Stage::Opening)
    }

    pub(crate) const fn is_held(&self) -> bool {
        matches!(self.stage, Stage::Held)
    }

    /// Whether TP1 was answered.
    pub(crate) const fn is_answered(&self) -> bool {
        matches!(
            self.stage,
            Stage::List(..) | Stage::Token(..) | Stage::Data(..)
        )
    }

    /// Whether TP1 was answered or is about to be.
    pub(crate) const fn is_in_the_way(&self) -> bool {
        self.is_answered() || matches!(self.stage, Stage::Released)
    }

    /// Leaves TP1, and all behind it, for later.
    pub(crate) fn hold(&mut self) {
        if self.is_opening() || matches!(self.stage, Stage::Released) {
            self.stage = Stage::Held;
        }
    }

    pub(crate) fn release(&mut self) {
        if self.is_held() {
            self.stage = Stage::Released;
        }
    }

    /// Answers TP1.
    pub(crate) fn answer(&mut self, offer: Offer, own_hash: i32) {
        if offer.hash == own_hash {
            self.answer = Some(Kind::Tp3);
            self.stage = Stage::Token(offer, None);
        } else {
            self.answer = Some(Kind::Tp2);
            self.stage = Stage::List(offer, ListReader::default());
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
        if len > 0 {
            self.answer = None;
        }
        len
    }

    /// Reads on from all that was received and is not done with, and perhaps the end of it.
    pub(crate) fn receive(&mut self, bytes: &[u8], end: bool, options: &Options) -> Progress {
        let mut used = 0;
        loop {
            let rest = bytes.get(used..).unwrap_or_default();
            match self.step(rest, options) {
                Ok(Step::Wait(_)) if end && !matches!(self.stage, Stage::Data(..)) => {
                    return Progress::Dropped(Reason::Truncated);
                }
                Ok(Step::Wait(_)) if end => return Progress::Complete,
                Ok(Step::Wait(count)) => return Progress::Wait(used + count),
                Ok(Step::Offered(offer)) => return Progress::Offered(used, offer),
                Ok(Step::On(count)) => used += count,
                Err(reason) => return Progress::Dropped(reason),
            }
        }
    }

    fn step(&mut self, bytes: &[u8], options: &Options) -> Result<Step, Reason> {
        match &mut self.stage {
            Stage::Held => Ok(Step::Wait(0)),
            Stage::Opening if is_kind(bytes, Kind::Tp6) && self.terms.is_none() => {
                match message(bytes, options)? {
                    Some((Message::Tp6 { terms }, consumed)) => {
                        self.terms = Some(terms);
                        match separates(&terms, options) {
                            None => Ok(Step::On(consumed)),
                            Some(Difference::Lease) => Err(Reason::Lease),
                            Some(_) => Err(Reason::Policy),
                        }
                    }
                    Some(_) => Err(Reason::Order),
                    None => Ok(Step::Wait(0)),
                }
            }
            Stage::Opening | Stage::Released => {
                due(bytes, Kind::Tp1)?;
                token(bytes)?;
                let Some((message, len)) = message(bytes, options)? else {
                    return Ok(Step::Wait(0));
                };
                let Message::Tp1 {
                    token_id: id,
                    node_list_hash: hash,
                } = message
                else {
                    return Err(Reason::Order);
                };
                Ok(Step::Offered(Offer { id, hash, len }))
            }
            Stage::List(offer, reader) => {
                if reader.is_new() {
                    due(bytes, Kind::Tp4)?;
                }
                let count = match reader.read(bytes, options.max_nodes)? {
                    Read::Wait(count) => return Ok(Step::Wait(count)),
                    Read::Complete(count) => count,
                };
                reader.check(offer.hash)?;
                self.stage = Stage::Token(*offer, Some(std::mem::take(reader)));
                Ok(Step::On(count))
            }
            Stage::Token(offer, list) => {
                due(bytes, Kind::Tp5)?;
                let Some(id) = token(bytes)? else {
                    return Ok(Step::Wait(0));
                };
                if id != offer.id {
                    return Err(Reason::Order);
                }
                self.stage = Stage::Data(*offer, list.take(), Vec::new());
                Ok(Step::On(HEAD))
            }
            Stage::Data(_, _, data) => {
                if bytes.len() > options.max_data - data.len() {
                    return Err(Reason::Data);
                }
                append(data, bytes, options.max_data);
                Ok(Step::Wait(bytes.len()))
            }
        }
    }

    /// The token of an exchange that is complete.
    pub(crate) fn into_token(self) -> Option<Token> {
        let terms = self.terms;
        match self.stage {
            Stage::Data(offer, list, data) => Some(Token {
                id: offer.id,
                list: list.map(|list| list.nodes()),
                data,
                terms,
            }),
            _ => None,
        }
    }
}

/// What one step has come to.
enum Step {
    /// More bytes are needed; so many are done with.
    Wait(usize),
    Offered(Offer),
    /// So many bytes are done with, and something else is due.
    On(usize),
}

/// The message at the front and its length, if all of it is there.
fn message<'a>(bytes: &'a [u8], options: &Options) -> Result<Option<(Message<'a>, usize)>, Reason> {
    let read = Message::decode_stream(bytes, StreamState::Open, options.max_nodes);
    Ok(match read.map_err(|error| Reason::of(&error))? {
        Streamed::Message { message, consumed } => Some((message, consumed)),
        Streamed::Incomplete { .. } => None,
    })
}

/// Whether the first byte is that of the message which is due.
fn due(bytes: &[u8], kind: Kind) -> Result<(), Reason> {
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
    // The version is in the other half.
    let first = bytes.first();
    first.and_then(|first| Kind::from_wire(first >> 4)) == Some(kind)
}

/// The token_id behind the first byte, if it is there: a leader's.
fn token(bytes: &[u8]) -> Result<Option<TokenId>, Reason> {
    let Some(&[_, id @ ..]) = bytes.first_chunk::<HEAD>() else {
        return Ok(None);
    };
    let id = TokenId::from_wire(i32::from_be_bytes(id)).ok_or(Reason::Token)?;
    if !id.is_leader() {
        return Err(Reason::NotLeader);
    }
    Ok(Some(id))
}
