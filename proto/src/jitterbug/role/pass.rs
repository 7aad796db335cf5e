//! One pass to one candidate, the giver's side (`docs/jitterbug.md`, section 6).

use ring_codec::jitterbug::{Kind, Message, Node, Terms, TokenId};
use ring_codec::{StreamState, Streamed};

use crate::jitterbug::Failure;
use crate::time::Instant;
use crate::{Closed, StreamId};

/// How far a pass has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The connection is asked for, or on its way.
    Connecting,
    /// TP1 was given; TP2 or TP3 is due.
    Offered,
    /// TP5, after TP4 if it was asked for, is being given.
    Giving,
    /// The own side is closed: the candidate may have the token.
    Closed,
}

/// What a pass has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The candidate has the token.
    Done,
    /// It cannot have it.
    Failed(Failure),
    /// It may have it.
    Unknown(Failure),
    /// The pass was broken off before the candidate could have it.
    Aborted,
}

/// A token that is offered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offered {
    pub(crate) id: TokenId,
    /// The giver's terms; `None`: the candidate does not know any.
    pub(crate) terms: Option<Terms>,
}

/// A pass that goes on. Its id and data are those of when it began; the list does not change before it ends.
#[derive(Debug)]
pub(crate) struct Pass {
    to: Node,
    /// The candidate leads with a stronger token.
    is_rival: bool,
    deadline: Instant,
    offer: Offered,
    data: Vec<u8>,
    stream: Option<StreamId>,
    stage: Stage,
    out: Vec<u8>,
    given: usize,
    /// Where TP5 begins in `out`.
    token_at: Option<usize>,
}

impl Pass {
    pub(crate) fn new(
        to: Node,
        is_rival: bool,
        deadline: Instant,
        offer: Offered,
        data: &[u8],
    ) -> Self {
        Self {
            to,
            is_rival,
            deadline,
            offer: Offered {
                id: offer.id.said_by(true),
                terms: offer.terms,
            },
            data: data.to_vec(),
            stream: None,
            stage: Stage::Connecting,
            out: Vec::new(),
            given: 0,
            token_at: None,
        }
    }

    pub(crate) const fn to(&self) -> Node {
        self.to
    }

    pub(crate) const fn is_rival(&self) -> bool {
        self.is_rival
    }

    pub(crate) const fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.deadline <= now
    }

    pub(crate) const fn offered(&self) -> &Offered {
        &self.offer
    }

    pub(crate) const fn stream(&self) -> Option<StreamId> {
        self.stream
    }

    pub(crate) const fn opened(&mut self, stream: StreamId) {
        self.stream = Some(stream);
    }

    /// Whether a byte of the token has left.
    pub(crate) fn has_sent_token(&self) -> bool {
        self.token_at.is_some_and(|at| self.given > at)
    }

    /// The connection stands: TP1 is to be written.
    pub(crate) fn connected(&mut self, node_list_hash: i32) {
        if self.stage != Stage::Connecting {
            return;
        }
        self.stage = Stage::Offered;
        if let Some(terms) = self.offer.terms {
            self.put(&Message::Tp6 { terms });
        }
        self.put(&Message::Tp1 {
            token_id: self.offer.id,
            node_list_hash,
        });
    }

    /// The candidate has sent all this so far, and perhaps its end. `None`: the pass goes on, with more to write: the
    /// `list` as TP4, if it was asked for.
    pub(crate) fn received(
        &mut self,
        bytes: &[u8],
        end: bool,
        list: impl FnOnce() -> Vec<u8>,
    ) -> Option<End> {
        if self.stage == Stage::Closed {
            return Some(match (bytes, end) {
                ([], true) => End::Done,
                _ => End::Unknown(Failure::Unexpected),
            });
        }
        let answer = Message::decode_stream(bytes, StreamState::Open, 0);
        let answer = match answer {
            Ok(Streamed::Message {
                message,
                consumed: 1,
            }) if bytes.len() == 1 => message.kind(),
            _ if bytes.is_empty() => return Some(End::Failed(Failure::Ended)),
            _ => return Some(End::Failed(Failure::Unexpected)),
        };
        // A candidate that has died may leave an end behind its answer. Later it would look like the end of one that
        // has taken the token.
        if end {
            return Some(End::Failed(Failure::Ended));
        }
        if self.stage != Stage::Offered || self.given < self.out.len() {
            return Some(End::Failed(Failure::Unexpected));
        }
        self.out.clear();
        self.given = 0;
        if answer == Kind::Tp2 {
            self.out = list();
        }
        self.stage = Stage::Giving;
        self.token_at = Some(self.out.len());
        let data = std::mem::take(&mut self.data);
        self.put(&Message::Tp5 {
            token_id: self.offer.id,
            data: &data,
        });
        None
    }

    /// The connection is gone.
    pub(crate) fn closed(&self, why: Closed) -> End {
        self.broken(match why {
            Closed::Refused => Failure::Refused,
            Closed::Reset => Failure::Reset,
            Closed::TimedOut => Failure::TimedOut,
            Closed::Failed => Failure::Unreachable,
        })
    }

    /// Nothing comes of it any more.
    pub(crate) fn broken(&self, why: Failure) -> End {
        if self.stage == Stage::Closed {
            End::Unknown(why)
        } else {
            End::Failed(why)
        }
    }

    /// Writes what is next into `room`. The driver asks until there is nothing, so that the answer 0 means that all
    /// was written.
    pub(crate) fn write(&mut self, room: &mut [u8]) -> usize {
        let rest = self.out.get(self.given..).unwrap_or_default();
        let count = rest.len().min(room.len());
        if let (Some(to), Some(from)) = (room.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.given += count;
        count
    }

    /// Closes the own side, if all is written. Returns whether that is to be done.
    pub(crate) fn close(&mut self) -> bool {
        let closes = self.stage == Stage::Giving && self.given == self.out.len();
        if closes {
            self.stage = Stage::Closed;
        }
        closes
    }

    fn put(&mut self, message: &Message<'_>) {
        let begin = self.out.len();
        self.out.resize(begin + message.encoded_len(), 0);
        // The room is as long as the message.
        let _ = message.encode(&mut self.out[begin..]);
    }
}
