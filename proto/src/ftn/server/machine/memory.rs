//! The limit for memory that clients use, and the tokens that the server drops because of this limit
//! (`docs/token-service/protocol/tokens.md` M1 to M7).

use super::Server;
use crate::ftn::server::knowledge::Survey;
use crate::ftn::server::options::{
    PARTY_BYTES, QUEUE_BYTES, SURVEYED_TOKEN_BYTES, TOKEN_BYTES, WAITING_REQUEST_BYTES,
    session_bytes,
};
use crate::time::Instant;

/// Minimum amount of memory above the limit that a survey may use, in bytes.
// An eighth of a small limit could be less than one token with its data.
const SURVEY_MIN: usize = 64 << 10;
/// Maximum number of free tokens without data that one call forgets.
// The number is bounded, so that many idle tokens do not delay other inputs.
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

    /// Frees memory for `bytes` bytes by dropping tokens that are neither held nor awaited. The token with the longest
    /// idle time is dropped first. The token `kept` is not dropped. Returns `false` if the dropped tokens do not free
    /// enough memory.
    pub(super) fn free_memory(&mut self, bytes: usize, kept: Option<u32>) -> bool {
        while self.memory_bytes() + bytes > self.options.max_memory {
            // A held token is never dropped, because a second client could then get it.
            let Some(id) = self.tokens.longest_idle(kept) else {
                return false;
            };
            self.tokens.remove(id);
            self.out.counters.unassigned_dropped += 1;
        }
        true
    }

    /// Returns the memory limit for surveys, and for tokens from servers that leave.
    fn survey_limit(&self) -> usize {
        let max = self.options.max_memory;
        max.saturating_add(SURVEY_MIN.max(max / 8))
    }

    /// Returns `is_free`. If `is_free` is `false`, counts a message that the server refuses for lack of memory.
    fn count_refusal(&mut self, is_free: bool) -> bool {
        self.out.counters.refused_memory += u64::from(!is_free);
        is_free
    }

    /// Frees memory for claims in a survey. Until the survey ends, the used memory may exceed the limit by an eighth of
    /// the limit or by [`SURVEY_MIN`], whichever is larger. If the server dropped a holder's claim, the server could
    /// grant the token to a second holder.
    pub(super) fn free_memory_in_survey(&mut self, bytes: usize) -> bool {
        let is_free =
            self.free_memory(bytes, None) || self.memory_bytes() + bytes <= self.survey_limit();
        self.count_refusal(is_free)
    }

    /// Frees memory for tokens of a server that leaves. Drops only tokens without data. If there is still too little
    /// memory, this server does not answer, and the leaving server keeps its data.
    pub(super) fn free_memory_for_leaving(&mut self, bytes: usize) -> bool {
        while self.memory_bytes() + bytes > self.survey_limit() {
            let Some((_, id)) = self.tokens.longest_empty() else {
                return self.count_refusal(false);
            };
            self.tokens.remove(id);
        }
        true
    }

    /// Frees memory for a session that becomes a party of a token. If `waits` is `true`, the session also needs a place
    /// in the queue.
    pub(super) fn free_memory_for_party(&mut self, id: u32, session: i32, waits: bool) -> bool {
        let Some(token) = self.tokens.get(id) else {
            return false;
        };
        // TOKEN_BYTES includes the first party.
        let is_new = token.party(session).is_none() && !token.parties().is_empty();
        let party = usize::from(is_new) * (PARTY_BYTES + token.name().len());
        let is_waiting = token.wait_of(session).is_some();
        let queue = usize::from(!token.is_awaited()) * QUEUE_BYTES + WAITING_REQUEST_BYTES;
        let bytes = party + usize::from(waits && !is_waiting) * queue;
        // A repeated REQUEST takes no more memory, so it is answered even above the limit.
        let is_free = bytes == 0 || self.free_memory(bytes, Some(id));
        self.count_refusal(is_free)
    }

    /// Frees memory after a survey, because a survey adds holders without checking the memory limit.
    pub(super) fn free_memory_after_survey(&mut self, now: Instant) {
        self.free_memory(0, None);
        self.on_memory_due(now);
    }

    /// Adds a token. Returns `None` if there is no memory for the token.
    pub(super) fn new_token(&mut self, name: &[u8]) -> Option<u32> {
        let is_free = self.free_memory(name.len() + TOKEN_BYTES, None);
        self.count_refusal(is_free).then(|| self.tokens.add(name))
    }

    /// Frees memory for data of this length. The token that gets the data is never dropped.
    pub(super) fn free_memory_for_data(&mut self, id: u32, len: usize) -> bool {
        let before = self.tokens.get(id).map_or(0, |token| token.data().len());
        // Data that shrink are always accepted, because they free memory.
        let is_free = len <= before || self.free_memory(len - before, Some(id));
        self.count_refusal(is_free)
    }

    /// Forgets free tokens without data that were idle for CT.
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

    /// Returns the time at which the server will forget the next free token without data.
    pub(super) fn memory_due(&self) -> Option<Instant> {
        let (since, _) = self.tokens.longest_empty()?;
        Some(since + self.options.client_timeout)
    }
}
