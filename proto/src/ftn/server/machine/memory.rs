//! How much memory clients may make the server take, and which tokens go for want of it (`docs/ftn.md`, section 6).

use super::Server;
use crate::ftn::server::knowledge::Survey;
use crate::ftn::server::options::{
    GAINED_BYTES, PARTY_BYTES, QUEUE_BYTES, TOKEN_BYTES, WAIT_BYTES, session_bytes,
};
use crate::time::Instant;

/// What a survey may take above the limit in any case, in bytes.
const SURVEY_MIN: usize = 64 << 10;
/// How many free tokens without data a call forgets at most.
const FORGOTTEN: usize = 1_024;

impl Server {
    /// What clients have made this server take, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let survey = self.knowledge.survey();
        let survey = survey.map_or(0, Survey::bytes);
        let left = self.knowledge.left().len() * GAINED_BYTES;
        let sessions = self.sessions.len() * session_bytes(self.servers.len());
        self.tokens.bytes() + sessions + survey + left
    }

    /// Makes room for so many bytes more; what is neither held nor awaited goes, longest unused first, other than `kept`.
    /// `false`: that is not enough.
    pub(super) fn has_room(&mut self, bytes: usize, kept: Option<u32>) -> bool {
        while self.memory_bytes() + bytes > self.options.max_memory {
            let Some(id) = self.tokens.longest_idle(kept) else {
                return false;
            };
            self.tokens.remove(id);
            self.out.counters.unassigned_dropped += 1;
        }
        true
    }

    /// The same for what clients or servers say of tokens in a survey, which may take an eighth or [`SURVEY_MIN`] more until its end:
    /// a holder that is not heeded would be one of two.
    pub(super) fn has_room_in_survey(&mut self, bytes: usize) -> bool {
        let has_room = self.has_room(bytes, None) || {
            let max = self.options.max_memory;
            self.memory_bytes() + bytes <= max.saturating_add(SURVEY_MIN.max(max / 8))
        };
        if !has_room {
            self.out.counters.refused_memory += 1;
        }
        has_room
    }

    /// The same for tokens of a server that leaves. It is told if there is none, so no other data go for theirs.
    pub(super) fn has_room_for_left(&mut self, bytes: usize) -> bool {
        let max = self.options.max_memory;
        let max = max.saturating_add(SURVEY_MIN.max(max / 8));
        while self.memory_bytes() + bytes > max {
            let Some((_, id)) = self.tokens.longest_empty() else {
                self.out.counters.refused_memory += 1;
                return false;
            };
            self.tokens.remove(id);
        }
        true
    }

    /// Whether a session may have to do with a token from now on, and wait for it in its queue if `waits`.
    pub(super) fn may_join(&mut self, id: u32, session: i32, waits: bool) -> bool {
        let Some(token) = self.tokens.get(id) else {
            return false;
        };
        let is_new = token.party(session).is_none() && !token.parties().is_empty();
        let party = usize::from(is_new) * (PARTY_BYTES + token.name().len());
        let is_waiting = token.wait_of(session).is_some();
        let queue = usize::from(!token.is_awaited()) * QUEUE_BYTES + WAIT_BYTES;
        let bytes = party + usize::from(waits && !is_waiting) * queue;
        let may = bytes == 0 || self.has_room(bytes, Some(id));
        if !may {
            self.out.counters.refused_memory += 1;
        }
        may
    }

    /// The same after a survey, which takes what is held without asking for room.
    pub(super) fn make_room(&mut self, now: Instant) {
        self.has_room(0, None);
        self.on_memory_due(now);
    }

    /// A new token of this name; `None`: there is no memory for it.
    pub(super) fn new_token(&mut self, name: &[u8]) -> Option<u32> {
        let has_room = self.has_room(name.len() + TOKEN_BYTES, None);
        if !has_room {
            self.out.counters.refused_memory += 1;
        }
        has_room.then(|| self.tokens.add(name))
    }

    /// Whether a token's data may become so long. The token is in use, and does not go itself.
    pub(super) fn may_grow(&mut self, id: u32, len: usize) -> bool {
        let before = self.tokens.get(id).map_or(0, |token| token.data().len());
        let has_room = len <= before || self.has_room(len - before, Some(id));
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
