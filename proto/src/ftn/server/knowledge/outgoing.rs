//! Handing tokens over to the server that is responsible for them now (`docs/ftn.md`, section 4).

use crate::backoff::Backoff;
use crate::ftn::{PART, RETRY, RETRY_MAX, WINDOW};
use crate::time::Instant;

/// What an assignment and a datagram take beside name, data and holders, in bytes at most.
const OVERHEAD: usize = 16;
/// What a session takes among the holders, in bytes at most.
const HOLDER: usize = 5;
/// The most holders that a TRANSFER names: a survey finds the others.
pub(crate) const HOLDERS: usize = 100;

/// The tokens that go to a server which is BOOTING.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Outgoing {
    to: usize,
    configuration: u64,
    parts: Vec<Vec<u32>>,
    /// Bytes of the last part.
    filled: usize,
    /// The next part to be sent for the first time.
    next: usize,
    /// Parts that were sent and not acknowledged.
    flight: Vec<(usize, Backoff)>,
    tokens: usize,
    /// This server leaves. It keeps what was acknowledged: under another configuration it has to send it again.
    is_of_leaving: bool,
}

impl Outgoing {
    /// At least one part, even if empty.
    pub(crate) fn new(to: usize, configuration: u64) -> Self {
        Self {
            to,
            configuration,
            parts: vec![Vec::new()],
            filled: 0,
            next: 0,
            flight: Vec::new(),
            tokens: 0,
            is_of_leaving: false,
        }
    }

    /// That of a server that leaves.
    pub(crate) fn of_leaving(to: usize, configuration: u64) -> Self {
        Self {
            is_of_leaving: true,
            ..Self::new(to, configuration)
        }
    }

    /// TRANSFER's msgnum.
    pub(crate) fn msgnum(&self) -> i64 {
        let number = msgnum_of(self.configuration);
        if self.is_of_leaving { -number } else { number }
    }

    pub(crate) const fn to(&self) -> usize {
        self.to
    }

    /// A token is to go as well. `len`: the bytes of its name and data.
    pub(crate) fn add(&mut self, id: u32, len: usize, holders: usize) {
        let size = len + holders.min(HOLDERS) * HOLDER + OVERHEAD;
        if self.filled > 0 && self.filled + size + OVERHEAD > PART {
            self.parts.push(Vec::new());
            self.filled = 0;
        }
        self.filled += size;
        self.tokens += 1;
        if let Some(part) = self.parts.last_mut() {
            part.push(id);
        }
    }

    /// When a part is to be repeated.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.flight.iter().map(|(_, backoff)| backoff.due()).min()
    }

    /// The parts that are to be sent now: those that are to be repeated, and new ones up to the window.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<usize> {
        let mut due = Vec::new();
        for (part, backoff) in &mut self.flight {
            if backoff.is_due(now) {
                backoff.repeated(now, RETRY_MAX);
                due.push(*part);
            }
        }
        while self.flight.len() < WINDOW && self.next < self.parts.len() {
            self.flight.push((self.next, Backoff::new(now, RETRY)));
            due.push(self.next);
            self.next += 1;
        }
        due
    }

    /// A part has come to its server; `None`: that was known.
    pub(crate) fn acknowledge(&mut self, part: usize) -> Option<Vec<u32>> {
        let at = self.flight.iter().position(|(sent, _)| *sent == part)?;
        self.flight.swap_remove(at);
        self.parts.get_mut(part).map(std::mem::take)
    }

    /// The tokens of a part.
    pub(crate) fn part(&self, part: usize) -> &[u32] {
        &self.parts[part]
    }

    /// How many parts there are.
    pub(crate) const fn parts(&self) -> usize {
        self.parts.len()
    }

    /// How many tokens go there in all.
    pub(crate) const fn tokens(&self) -> usize {
        self.tokens
    }

    pub(crate) const fn is_of_leaving(&self) -> bool {
        self.is_of_leaving
    }

    pub(crate) fn is_over(&self) -> bool {
        self.flight.is_empty() && self.next == self.parts.len()
    }
}

/// TRANSFER's msgnum for a configuration, whose number has 56 bits.
pub(crate) fn msgnum_of(configuration: u64) -> i64 {
    i64::try_from(configuration).unwrap_or(i64::MAX)
}
