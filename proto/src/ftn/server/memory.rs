//! How much memory tokens may take, and which go for want of it (`docs/ftn.md`, section 6).

use super::Server;
use super::options::TOKEN_BYTES;
use crate::time::Instant;

/// How many free tokens without data a call forgets at most.
const FORGOTTEN: usize = 1_024;

impl Server {
    /// Makes room for so many bytes more; what is neither held nor awaited goes, longest unused first.
    /// `false`: that is not enough.
    pub(super) fn has_room(&mut self, bytes: usize) -> bool {
        while self.tokens.bytes() + bytes > self.options.max_memory {
            let Some(id) = self.tokens.longest_idle() else {
                return false;
            };
            self.tokens.remove(id);
            self.out.counters.unassigned_dropped += 1;
        }
        true
    }

    /// The same after a survey, which takes what is held without asking for room.
    pub(super) fn make_room(&mut self, now: Instant) {
        self.has_room(0);
        self.on_memory_due(now);
    }

    /// A new token of this name; `None`: there is no memory for it.
    pub(super) fn new_token(&mut self, name: &[u8]) -> Option<u32> {
        let has_room = self.has_room(name.len() + TOKEN_BYTES);
        if !has_room {
            self.out.counters.refused_memory += 1;
        }
        has_room.then(|| self.tokens.add(name))
    }

    /// Whether a token's data may become so long. The token is in use, and does not go itself.
    pub(super) fn may_grow(&mut self, id: u32, len: usize) -> bool {
        let before = self.tokens.get(id).map_or(0, |token| token.data().len());
        let has_room = len <= before || self.has_room(len - before);
        if !has_room {
            self.out.counters.refused_memory += 1;
        }
        has_room
    }

    /// Forgets free tokens without data that were unused for CT.
    pub(super) fn on_memory_due(&mut self, now: Instant) {
        for _ in 0..FORGOTTEN {
            match self.tokens.longest_empty() {
                Some((since, id)) if now.since(since) >= self.options.client_timeout => {
                    self.tokens.remove(id);
                }
                _ => return,
            }
        }
    }

    /// When a free token without data is to be forgotten.
    pub(super) fn memory_due(&self) -> Option<Instant> {
        let (since, _) = self.tokens.longest_empty()?;
        Some(since + self.options.client_timeout)
    }
}
