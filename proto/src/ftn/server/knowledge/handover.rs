//! A handover of tokens to another server, in parts (`docs/token-service/protocol/surveys.md` K5).

use crate::backoff::Backoff;
use crate::ftn::{PART, RETRY, RETRY_MAX, WINDOW};
use crate::time::Instant;

/// Upper limit for the length of an assignment without its name, data and holders, in bytes. The same limit applies to
/// the other fields of a datagram.
const ASSIGNMENT_BYTES: usize = 16;
/// Maximum length of a holder's entry, in bytes.
const HOLDER_BYTES: usize = 5;
/// Largest number of holders that a TRANSFER names for a token. If a token has more holders, a survey finds the
/// remaining holders.
pub(crate) const HOLDERS_MAX: usize = 100;

/// Tokens that this server hands over to a BOOTING server. A leaving server hands its tokens over to the servers that
/// are responsible next.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Handover {
    to: usize,
    configuration: u64,
    parts: Vec<Vec<u32>>,
    /// Size of the last part, in bytes.
    filled: usize,
    /// Next part that was never sent.
    next: usize,
    /// Parts that were sent and not acknowledged.
    flight: Vec<(usize, Backoff)>,
    tokens: usize,
    /// Whether this server leaves. A leaving server keeps acknowledged tokens, because it sends them again in a new
    /// configuration.
    is_departure: bool,
}

impl Handover {
    // There is at least one part, which may be empty, because the receiver waits for a part.
    pub(crate) fn new(to: usize, configuration: u64) -> Self {
        Self {
            to,
            configuration,
            parts: vec![Vec::new()],
            filled: 0,
            next: 0,
            flight: Vec::new(),
            tokens: 0,
            is_departure: false,
        }
    }

    pub(crate) fn for_departure(to: usize, configuration: u64) -> Self {
        Self {
            is_departure: true,
            ..Self::new(to, configuration)
        }
    }

    /// Returns TRANSFER's msgnum.
    pub(crate) fn msgnum(&self) -> i64 {
        let number = msgnum_of(self.configuration);
        // The receiver treats tokens of a leaving server differently.
        if self.is_departure { -number } else { number }
    }

    pub(crate) const fn receiver(&self) -> usize {
        self.to
    }

    /// Adds a token with `len` bytes of name and data.
    pub(crate) fn add(&mut self, id: u32, len: usize, holders: usize) {
        let size = len + holders.min(HOLDERS_MAX) * HOLDER_BYTES + ASSIGNMENT_BYTES;
        // A token that is too long for PART gets a part without other tokens.
        if self.filled > 0 && self.filled + size + ASSIGNMENT_BYTES > PART {
            self.parts.push(Vec::new());
            self.filled = 0;
        }
        self.filled += size;
        self.tokens += 1;
        if let Some(part) = self.parts.last_mut() {
            part.push(id);
        }
    }

    /// Returns the time of the next repetition of a part.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.flight.iter().map(|(_, backoff)| backoff.due()).min()
    }

    /// Returns the parts to send now: due repetitions, and new parts up to WINDOW.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<usize> {
        let mut due = Vec::new();
        for (part, backoff) in &mut self.flight {
            // Repetitions come first: the receiver can finish only when no part is missing.
            if backoff.is_due(now) {
                backoff.advance(now, RETRY_MAX);
                due.push(*part);
            }
        }
        // More parts at once could overflow the receiver's socket.
        while self.flight.len() < WINDOW && self.next < self.parts.len() {
            self.flight.push((self.next, Backoff::new(now, RETRY)));
            due.push(self.next);
            self.next += 1;
        }
        due
    }

    /// Records that a part was acknowledged. Returns the tokens of the part, or `None` if the part was already
    /// acknowledged.
    pub(crate) fn acknowledge(&mut self, part: usize) -> Option<Vec<u32>> {
        let at = self.flight.iter().position(|(sent, _)| *sent == part)?;
        self.flight.swap_remove(at);
        self.parts.get_mut(part).map(std::mem::take)
    }

    pub(crate) fn part(&self, part: usize) -> &[u32] {
        &self.parts[part]
    }

    pub(crate) const fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Returns the number of tokens in all parts.
    pub(crate) const fn tokens(&self) -> usize {
        self.tokens
    }

    pub(crate) const fn is_departure(&self) -> bool {
        self.is_departure
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.flight.is_empty() && self.next == self.parts.len()
    }
}

/// Returns TRANSFER's msgnum for a configuration. The configuration's number has at most 56 bits.
pub(crate) fn msgnum_of(configuration: u64) -> i64 {
    i64::try_from(configuration).unwrap_or(i64::MAX)
}
