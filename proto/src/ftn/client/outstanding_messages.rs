//! REQUESTs and RETURNs that wait for an answer, and their repetition (`docs/token-service/protocol/tokens.md` T9).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::Backoff;
use crate::ftn::{RETRY, RETRY_MAX};
use crate::time::Instant;

/// Due time of a new message that the client sends at once. This time is before all other times, so the client sends
/// the message at the end of the present call.
pub(super) const DUE_AT_ONCE: Instant = Instant::from_nanos(0);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum MessageKind {
    /// REQUEST of a token.
    Request,
    /// RETURN of a token.
    Return,
    /// REQUEST for a page of this server's listing. The page begins after the entry's name.
    List(usize),
}

/// A message that waits for an answer.
#[derive(Debug, Clone, Hash)]
pub(super) struct OutstandingMessage {
    pub(super) name: Box<[u8]>,
    pub(super) kind: MessageKind,
    due: Instant,
    /// Interval of the repetitions; `None` until the message is sent to the server that is now responsible.
    backoff: Option<Backoff>,
}

/// All messages of a session that wait for an answer.
#[derive(Debug, Clone, Hash, Default)]
pub(super) struct OutstandingMessages {
    by_number: BTreeMap<i64, OutstandingMessage>,
    // Each call looks for the message that is due next, and many messages may wait.
    by_due: BTreeSet<(Instant, i64)>,
}

impl OutstandingMessages {
    /// Adds a message. The client sends it at once and then repeats it.
    pub(super) fn begin(&mut self, number: i64, name: Box<[u8]>, kind: MessageKind) {
        let entry = OutstandingMessage {
            name,
            kind,
            due: DUE_AT_ONCE,
            backoff: None,
        };
        self.by_number.insert(number, entry);
        self.by_due.insert((DUE_AT_ONCE, number));
    }

    /// Removes a message that was answered or given up.
    pub(super) fn end(&mut self, number: i64) -> Option<OutstandingMessage> {
        let entry = self.by_number.remove(&number)?;
        self.by_due.remove(&(entry.due, number));
        Some(entry)
    }

    /// Sends a message to a new server at once. The next interval is RETRY.
    // The long interval of the old server says nothing about the new server.
    pub(super) fn restart(&mut self, number: i64) {
        if let Some(entry) = self.end(number) {
            self.begin(number, entry.name, entry.kind);
        }
    }

    pub(super) fn get(&self, number: i64) -> Option<&OutstandingMessage> {
        self.by_number.get(&number)
    }

    /// Returns all messages in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (i64, &OutstandingMessage)> {
        self.by_number
            .iter()
            .map(|(&number, entry)| (number, entry))
    }

    /// Whether both indexes contain the same messages.
    pub(super) fn is_consistent(&self) -> bool {
        let mut all = self
            .by_number
            .iter()
            .map(|(&number, entry)| (entry.due, number));
        self.by_due.len() == self.by_number.len() && all.all(|place| self.by_due.contains(&place))
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.by_due.first().map(|&(due, _)| due)
    }

    /// Returns the next message that is due by `limit`, and counts it as sent at `now`.
    pub(super) fn take_due(
        &mut self,
        now: Instant,
        limit: Instant,
    ) -> Option<(i64, &OutstandingMessage)> {
        // After a stall, only new messages are sent at once, because answers to the other messages may wait in the
        // socket.
        let range = (Bound::Unbounded, Bound::Included((limit, i64::MAX)));
        let &(due, number) = self.by_due.range(range).next()?;
        self.by_due.remove(&(due, number));
        let entry = self.by_number.get_mut(&number)?;
        let backoff = match entry.backoff {
            // The first interval begins when the message is sent, not when the program gives the command.
            None => Backoff::new(now, RETRY),
            Some(mut backoff) => {
                backoff.advance(now, RETRY_MAX);
                backoff
            }
        };
        entry.backoff = Some(backoff);
        entry.due = backoff.due();
        self.by_due.insert((entry.due, number));
        Some((number, entry))
    }
}

#[cfg(test)]
mod tests {
    impl super::OutstandingMessages {
        pub(in crate::ftn::client) fn spoil(&mut self) {
            self.by_due.clear();
        }
    }
}
