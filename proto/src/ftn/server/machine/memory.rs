//! The limit for memory that clients use, and the tokens that are dropped because of it (`docs/ftn.md`, section 6).

use super::Server;
use crate::ftn::server::knowledge::Survey;
use crate::ftn::server::options::{
    PARTY_BYTES, QUEUE_BYTES, SURVEYED_TOKEN_BYTES, TOKEN_BYTES, WAITING_REQUEST_BYTES,
    session_bytes,
};
use crate::time::Instant;

/// Least memory of a survey above the limit, in bytes.
const SURVEY_MIN: usize = 64 << 10;
/// Most free tokens without data that one call forgets.
const FORGOTTEN_PER_CALL_MAX: usize = 1_024;

impl Server {
    /// Returns the memory that clients use, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let survey = self.knowledge.survey();
        let survey = survey.map_or(0, Survey::bytes);
        let left = self.knowledge.ids_from_leaving().len() * SURVEYED_TOKEN_BYTES;
        let sessions = self.sessions.len() * session_bytes(self.servers.len());
        self.tokens.bytes() + sessions + survey + left
    }

    /// Makes room for more bytes: drops tokens that are neither held nor awaited, except `kept`, the longest unused
    /// first. Returns `false` if the room is not enough.
    pub(super) fn make_room(&mut self, bytes: usize, kept: Option<u32>) -> bool {
        while self.memory_bytes() + bytes > self.options.max_memory {
            let Some(id) = self.tokens.longest_idle(kept) else {
                return false;
            };
            self.tokens.remove(id);
            self.out.counters.unassigned_dropped += 1;
        }
        true
    }

    /// Makes room for claims in a survey. A survey may take an eighth or [`SURVEY_MIN`] more until it ends: if the
    /// server dropped a holder's claim, it could grant the token to a second holder.
    pub(super) fn make_room_in_survey(&mut self, bytes: usize) -> bool {
        let has_room = self.make_room(bytes, None) || {
            let max = self.options.max_memory;
            self.memory_bytes() + bytes <= max.saturating_add(SURVEY_MIN.max(max / 8))
        };
        if !has_room {
            self.out.counters.refused_memory += 1;
        }
        has_room
    }

    /// Makes room for tokens of a server that leaves. No data are dropped for them, because that server keeps its data
    /// if this one does not answer.
    pub(super) fn make_room_for_leaving(&mut self, bytes: usize) -> bool {
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

    /// Returns whether a session may become a party of a token, and also wait in its queue if `waits`.
    pub(super) fn make_room_for_party(&mut self, id: u32, session: i32, waits: bool) -> bool {
        let Some(token) = self.tokens.get(id) else {
            return false;
        };
        let is_new = token.party(session).is_none() && !token.parties().is_empty();
        let party = usize::from(is_new) * (PARTY_BYTES + token.name().len());
        let is_waiting = token.wait_of(session).is_some();
        let queue = usize::from(!token.is_awaited()) * QUEUE_BYTES + WAITING_REQUEST_BYTES;
        let bytes = party + usize::from(waits && !is_waiting) * queue;
        let may = bytes == 0 || self.make_room(bytes, Some(id));
        if !may {
            self.out.counters.refused_memory += 1;
        }
        may
    }

    /// Makes room after a survey, which adds holders without asking for room.
    pub(super) fn make_room_after_survey(&mut self, now: Instant) {
        self.make_room(0, None);
        self.on_memory_due(now);
    }

    /// Adds a token. Returns `None` if there is no memory for it.
    pub(super) fn new_token(&mut self, name: &[u8]) -> Option<u32> {
        let has_room = self.make_room(name.len() + TOKEN_BYTES, None);
        if !has_room {
            self.out.counters.refused_memory += 1;
        }
        has_room.then(|| self.tokens.add(name))
    }

    /// Returns whether there is memory for data of this length. The token itself is not dropped.
    pub(super) fn make_room_for_data(&mut self, id: u32, len: usize) -> bool {
        let before = self.tokens.get(id).map_or(0, |token| token.data().len());
        let has_room = len <= before || self.make_room(len - before, Some(id));
        if !has_room {
            self.out.counters.refused_memory += 1;
        }
        has_room
    }

    /// Forgets tokens that are free and without data, and were unused for CT.
    pub(super) fn on_memory_due(&mut self, now: Instant) {
        for _ in 0..FORGOTTEN_PER_CALL_MAX {
            match self.tokens.longest_empty() {
                Some((since, id)) if now.since(since) >= self.options.client_timeout => {
                    self.tokens.remove(id);
                }
                _ => return,
            }
        }
    }

    /// Returns when the next such token is forgotten.
    pub(super) fn memory_due(&self) -> Option<Instant> {
        let (since, _) = self.tokens.longest_empty()?;
        Some(since + self.options.client_timeout)
    }
}
