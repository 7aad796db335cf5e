//! The queue of challenges and answers. Its limits bound the work that replayed messages cause.

use std::collections::VecDeque;
use std::time::Duration;

use crate::keyring::KeyId;
use crate::trailer::{Kind, NONCE_LEN};

/// Maximum number of answers to unproven peers per millisecond.
pub(crate) const ANSWERS_PER_MILLISECOND_MAX: u32 = 64;
/// Maximum number of challenges and answers in the queue.
const LEN_MAX: usize = 128;

/// A challenge or an answer that the caller has to send.
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Reply<A> {
    pub to: A,
    pub kind: Kind,
    /// Key that signs the reply: usually the key of the message that caused the reply.
    pub key_id: KeyId,
    pub nonce: [u8; NONCE_LEN],
}

/// Challenges and answers in the order in which the node sends them.
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Outbox<A> {
    replies: VecDeque<Reply<A>>,
    /// The last millisecond in which this node answered an unproven peer, and the number of such answers in this
    /// millisecond.
    answers: (u128, u32),
}

impl<A> Outbox<A> {
    pub(crate) fn new() -> Self {
        Self {
            replies: VecDeque::with_capacity(LEN_MAX),
            answers: (0, 0),
        }
    }

    /// Adds a reply, unless the queue is full.
    pub(crate) fn push(&mut self, reply: Reply<A>) {
        if self.replies.len() < LEN_MAX {
            self.replies.push_back(reply);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Reply<A>> {
        self.replies.pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.replies.is_empty()
    }

    /// Returns whether this node may answer one more unproven peer in this millisecond.
    pub(crate) fn take_answer_permit(&mut self, now: Duration) -> bool {
        let (last, count) = self.answers;
        let count = if last == now.as_millis() { count } else { 0 };
        let may = count < ANSWERS_PER_MILLISECOND_MAX;
        self.answers = (now.as_millis(), count + u32::from(may));
        may
    }
}
