//! One pass to one candidate, from the view of the giver (`docs/jitterbug/protocol/passing.md` P1 to P10).

use ring_codec::jitterbug::{Kind, Message, Node, Terms, TokenId};
use ring_codec::{StreamState, Streamed};

use crate::jitterbug::PassFailure;
use crate::time::Instant;
use crate::{CloseReason, StreamId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PassStage {
    /// The connection is being opened.
    Connecting,
    /// TP1 was written; TP2 or TP3 is due.
    OfferedToken,
    /// The node is writing TP5. If the candidate asked for TP4, TP4 comes first.
    Giving,
    /// This node closed its side of the connection, so the candidate may have the token.
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassEnd {
    /// The candidate has the token.
    Done,
    /// The candidate cannot have the token.
    Failed(PassFailure),
    /// The candidate may have the token.
    Unknown(PassFailure),
    /// The pass was aborted before the candidate could have the token.
    Aborted,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct OfferedToken {
    pub(crate) id: TokenId,
    /// The giver's terms, or `None` if the candidate does not understand terms.
    pub(crate) terms: Option<Terms>,
}

/// A running pass. The pass uses the id and the data that the node had at the beginning of the pass. The list does not
/// change during the pass.
#[derive(Debug)]
pub(crate) struct Pass {
    to: Node,
    /// Whether the candidate leads with a stronger token.
    is_rival: bool,
    deadline: Instant,
    offer: OfferedToken,
    data: Vec<u8>,
    stream: Option<StreamId>,
    stage: PassStage,
    out: Vec<u8>,
    written_count: usize,
    /// The index in `out` where TP5 begins.
    token_at: Option<usize>,
}

impl Pass {
    pub(crate) fn new(
        to: Node,
        is_rival: bool,
        deadline: Instant,
        offer: OfferedToken,
        data: &[u8],
    ) -> Self {
        Self {
            to,
            is_rival,
            deadline,
            offer: OfferedToken {
                id: offer.id.with_leader(true),
                terms: offer.terms,
            },
            // A decision may change the node's data during the pass, so the pass keeps a copy.
            data: data.to_vec(),
            stream: None,
            stage: PassStage::Connecting,
            out: Vec::new(),
            written_count: 0,
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

    pub(crate) const fn offer(&self) -> &OfferedToken {
        &self.offer
    }

    pub(crate) const fn stream(&self) -> Option<StreamId> {
        self.stream
    }

    pub(crate) const fn on_opened(&mut self, stream: StreamId) {
        self.stream = Some(stream);
    }

    pub(crate) fn has_sent_token(&self) -> bool {
        self.token_at.is_some_and(|at| self.written_count > at)
    }

    /// Handles a connection that is up. TP1 is written next.
    pub(crate) fn on_connected(&mut self, node_list_hash: i32) {
        // A second report of the connection would queue a second offer.
        if self.stage != PassStage::Connecting {
            return;
        }
        self.stage = PassStage::OfferedToken;
        // TP6 comes first, because the candidate may refuse the token for its terms.
        if let Some(terms) = self.offer.terms {
            self.queue(&Message::Tp6 { terms });
        }
        self.queue(&Message::Tp1 {
            token_id: self.offer.id,
            node_list_hash,
        });
    }

    /// Handles all bytes that came from the candidate so far. `end` is `true` if the candidate closed its side. Returns
    /// `None` if the pass continues. If the candidate asked for the list, the pass writes `list` as TP4.
    pub(crate) fn on_received(
        &mut self,
        bytes: &[u8],
        end: bool,
        list: impl FnOnce() -> Vec<u8>,
    ) -> Option<PassEnd> {
        if self.stage == PassStage::Closed {
            // Only an end without further bytes is the acknowledgement. In all other cases the candidate may have the
            // token.
            return Some(match (bytes, end) {
                ([], true) => PassEnd::Done,
                _ => PassEnd::Unknown(PassFailure::Unexpected),
            });
        }
        let answer = Message::decode_stream(bytes, StreamState::Open, 0);
        let answer = match answer {
            Ok(Streamed::Message {
                message,
                consumed: 1,
            }) if bytes.len() == 1 => message.kind(),
            _ if bytes.is_empty() => return Some(PassEnd::Failed(PassFailure::Ended)),
            _ => return Some(PassEnd::Failed(PassFailure::Unexpected)),
        };
        // If the candidate died after its answer, the end of the stream follows the answer. If the pass read this end
        // later, it would look like an acknowledgement.
        if end {
            return Some(PassEnd::Failed(PassFailure::Ended));
        }
        // Bytes that arrive before TP1 has left are not an answer to it.
        if self.stage != PassStage::OfferedToken || self.written_count < self.out.len() {
            return Some(PassEnd::Failed(PassFailure::Unexpected));
        }
        self.out.clear();
        self.written_count = 0;
        if answer == Kind::Tp2 {
            self.out = list();
        }
        self.stage = PassStage::Giving;
        // Until the first byte of TP5 leaves, this node can still withdraw the token.
        self.token_at = Some(self.out.len());
        let data = std::mem::take(&mut self.data);
        self.queue(&Message::Tp5 {
            token_id: self.offer.id,
            data: &data,
        });
        None
    }

    pub(crate) fn end_on_close(&self, why: CloseReason) -> PassEnd {
        self.classify_failure(match why {
            CloseReason::Refused => PassFailure::Refused,
            CloseReason::Reset => PassFailure::Reset,
            CloseReason::TimedOut => PassFailure::TimedOut,
            CloseReason::Failed => PassFailure::Unreachable,
        })
    }

    /// Returns the end of a pass that cannot continue.
    pub(crate) fn classify_failure(&self, why: PassFailure) -> PassEnd {
        // Before the half-close the candidate cannot have seen the end of TP5, so it cannot have taken the token.
        if self.stage == PassStage::Closed {
            PassEnd::Unknown(why)
        } else {
            PassEnd::Failed(why)
        }
    }

    /// Writes the next bytes into `room`. The driver repeats the call until the call returns 0, so 0 means that
    /// everything was written.
    pub(crate) fn write(&mut self, room: &mut [u8]) -> usize {
        let rest = self.out.get(self.written_count..).unwrap_or_default();
        let count = rest.len().min(room.len());
        if let (Some(to), Some(from)) = (room.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.written_count += count;
        count
    }

    /// Closes this side after everything was written. Returns whether the driver must close this side of the connection
    /// now.
    pub(crate) fn close(&mut self) -> bool {
        let closes = self.stage == PassStage::Giving && self.written_count == self.out.len();
        if closes {
            self.stage = PassStage::Closed;
        }
        closes
    }

    fn queue(&mut self, message: &Message<'_>) {
        let begin = self.out.len();
        self.out.resize(begin + message.encoded_len(), 0);
        // The room has the length of the message.
        let _ = message.encode(&mut self.out[begin..]);
    }
}
