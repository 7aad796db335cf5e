//! The limit for memory that clients use, and the tokens that are dropped because of it (`docs/ftn.md`, section 6).

use super::Server;
use crate::ftn::server::knowledge::Survey;
use crate::ftn::server::options::{
    PARTY_BYTES, QUEUE_BYTES, SURVEYED_TOKEN_BYTES, TOKEN_BYTES, WAITING_REQUEST_BYTES,
    session_bytes,
};
use crate::time::Instant;

/// Least memory that a survey may take above the limit, in bytes.
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

    /// Frees memory for more bytes: drops tokens that are neither held nor awaited, except `kept`, the longest unused
    /// first. Returns `false` if this is not enough.
    pub(super) fn free_memory(&mut self, bytes: usize, kept: Option<u32>) -> bool {
        while self.memory_bytes() + bytes > self.options.max_memory {
            let Some(id) = self.tokens.longest_idle(kept) else {
                return false;
            };
            self.tokens.remove(id);
            self.out.counters.unassigned_dropped += 1;
        }
        true
    }

    /// Returns the limit for memory that surveys and servers that leave may use.
    fn survey_limit(&self) -> usize {
        let max = self.options.max_memory;
        max.saturating_add(SURVEY_MIN.max(max / 8))
    }

    /// Counts a refusal if `is_free` is `false`, and returns `is_free`.
    fn count_refusal(&mut self, is_free: bool) -> bool {
        self.out.counters.refused_memory += u64::from(!is_free);
        is_free
    }

    /// Frees memory for claims in a survey. A survey may take an eighth or [`SURVEY_MIN`] more until it ends: if the
    /// server dropped a holder's claim, it could grant the token to a second holder.
    pub(super) fn free_memory_in_survey(&mut self, bytes: usize) -> bool {
        let is_free =
            self.free_memory(bytes, None) || self.memory_bytes() + bytes <= self.survey_limit();
        self.count_refusal(is_free)
    }

    /// Frees memory for tokens of a server that leaves. No data are dropped for them, because that server keeps its data
    /// if this one does not answer.
    pub(super) fn free_memory_for_leaving(&mut self, bytes: usize) -> bool {
        while self.memory_bytes() + bytes > self.survey_limit() {
            let Some((_, id)) = self.tokens.longest_empty() else {
                return self.count_refusal(false);
            };
            self.tokens.remove(id);
        }
        true
    }

    /// Frees memory for a session that becomes a party of a token, and also waits in its queue if `waits`.
    pub(super) fn free_memory_for_party(&mut self, id: u32, session: i32, waits: bool) -> bool {
        let Some(token) = self.tokens.get(id) else {
            return false;
        };
        let is_new = token.party(session).is_none() && !token.parties().is_empty();
        let party = usize::from(is_new) * (PARTY_BYTES + token.name().len());
        let is_waiting = token.wait_of(session).is_some();
        let queue = usize::from(!token.is_awaited()) * QUEUE_BYTES + WAITING_REQUEST_BYTES;
        let bytes = party + usize::from(waits && !is_waiting) * queue;
        let is_free = bytes == 0 || self.free_memory(bytes, Some(id));
        self.count_refusal(is_free)
    }

    /// Frees memory after a survey, which adds holders without a check of the limit.
    pub(super) fn free_memory_after_survey(&mut self, now: Instant) {
        self.free_memory(0, None);
        self.on_memory_due(now);
    }

    /// Adds a token. Returns `None` if there is no memory for it.
    pub(super) fn new_token(&mut self, name: &[u8]) -> Option<u32> {
        let is_free = self.free_memory(name.len() + TOKEN_BYTES, None);
        self.count_refusal(is_free).then(|| self.tokens.add(name))
    }

    /// Frees memory for data of this length. The token itself is not dropped.
    pub(super) fn free_memory_for_data(&mut self, id: u32, len: usize) -> bool {
        let before = self.tokens.get(id).map_or(0, |token| token.data().len());
        let is_free = len <= before || self.free_memory(len - before, Some(id));
        self.count_refusal(is_free)
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
