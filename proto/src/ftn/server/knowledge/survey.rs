//! A survey of all clients' tokens (`docs/token-service/protocol/surveys.md` V1 to V8).

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use crate::backoff::Backoff;
use crate::ftn::server::knowledge::{ArrivedParts, PartStatus, SurveyedToken};
use crate::ftn::server::options::{PART_BYTES, SURVEYED_TOKEN_BYTES};
use crate::ftn::{RETRY, RETRY_MAX};
use crate::time::Instant;

/// Data that exist only during a survey.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Survey {
    configuration: u64,
    /// Whether the server is BOOTING. The survey of a BOOTING server also waits for tokens of other servers.
    is_booting: bool,
    awaited: BTreeMap<i32, AwaitedSession>,
    /// Number of arrived parts from `awaited` sessions.
    // The sum is kept, because the memory is computed often and there may be many sessions.
    parts: usize,
    /// For each session: the time of the server's next question.
    due: BTreeSet<(Instant, i32)>,
    /// Parts of the TRANSFERs that other servers must send.
    transfers: BTreeMap<usize, ArrivedParts>,
    /// State of the tokens that were unknown to the server.
    tokens: BTreeMap<u32, SurveyedToken>,
}

/// A session whose answer is missing.
#[derive(Debug, Clone, Hash)]
struct AwaitedSession {
    address: SocketAddr,
    /// Time of the next question; `None` before the first question.
    backoff: Option<Backoff>,
    parts: ArrivedParts,
}

/// Effect of one part of a session's answer.
pub(crate) struct AnswerProgress {
    pub(crate) part: PartStatus,
    /// Whether the answer is complete.
    pub(crate) is_whole: bool,
    /// Number of arrived parts.
    pub(crate) parts: usize,
}

impl Survey {
    /// Returns a survey for a configuration. The survey waits for TRANSFERs of `senders`.
    pub(crate) fn new(
        configuration: u64,
        is_booting: bool,
        senders: impl Iterator<Item = usize>,
    ) -> Self {
        Self {
            configuration,
            is_booting,
            awaited: BTreeMap::new(),
            parts: 0,
            due: BTreeSet::new(),
            // Each sender has an entry from the start, so that the survey also waits for a server that has sent no
            // part.
            transfers: senders
                .map(|server| (server, ArrivedParts::default()))
                .collect(),
            tokens: BTreeMap::new(),
        }
    }

    pub(crate) const fn configuration(&self) -> u64 {
        self.configuration
    }

    pub(crate) const fn is_booting(&self) -> bool {
        self.is_booting
    }

    /// Returns the sessions whose answers are missing.
    pub(crate) fn awaited_sessions(&self) -> impl Iterator<Item = i32> {
        self.awaited.keys().copied()
    }

    pub(crate) fn is_awaited(&self, id: i32) -> bool {
        self.awaited.contains_key(&id)
    }

    /// Whether all awaited messages have arrived.
    pub(crate) fn is_whole(&self) -> bool {
        self.awaited.is_empty() && self.transfers.values().all(ArrivedParts::is_whole)
    }

    /// Whether the survey awaits TRANSFERs.
    pub(crate) fn has_senders(&self) -> bool {
        !self.transfers.is_empty()
    }

    /// Records a part of a TRANSFER. If the survey waits for no TRANSFER of this server, the part counts as a
    /// duplicate.
    pub(crate) fn take_transfer(&mut self, server: usize, part: u32, of: u32) -> PartStatus {
        let parts = self.transfers.get_mut(&server);
        parts.map_or(PartStatus::Duplicate, |parts| parts.take(part, of))
    }

    pub(crate) fn has_token(&self, id: u32) -> bool {
        self.tokens.contains_key(&id)
    }

    pub(crate) fn token_ids(&self) -> impl Iterator<Item = u32> {
        self.tokens.keys().copied()
    }

    /// Whether only clients, and no server, named a token in this survey.
    pub(crate) fn is_known_by_clients_only(&self, id: u32) -> bool {
        let surveyed = self.tokens.get(&id);
        surveyed.is_some_and(|surveyed| !surveyed.has_data_of_servers())
    }

    pub(crate) fn add_token(&mut self, id: u32, surveyed: SurveyedToken) {
        self.tokens.insert(id, surveyed);
    }

    pub(crate) fn token_mut(&mut self, id: u32) -> Option<&mut SurveyedToken> {
        self.tokens.get_mut(&id)
    }

    pub(crate) fn into_tokens(self) -> BTreeMap<u32, SurveyedToken> {
        self.tokens
    }

    /// Adds a session to ask.
    pub(crate) fn add(&mut self, now: Instant, id: i32, address: SocketAddr) {
        let awaited = AwaitedSession {
            address,
            backoff: None,
            parts: ArrivedParts::default(),
        };
        self.awaited.insert(id, awaited);
        // The session is asked at once, because an adopted session may hold tokens.
        self.due.insert((now, id));
    }

    /// Removes a session that answered or ended.
    pub(crate) fn remove(&mut self, id: i32) {
        let Some(awaited) = self.awaited.remove(&id) else {
            return;
        };
        self.parts -= awaited.parts.len();
        if let Some(backoff) = awaited.backoff {
            self.due.remove(&(backoff.due(), id));
        }
    }

    /// Records a part of a session's answer. When the answer is complete, removes the session. Returns `None` if the
    /// survey expects no answer of this session.
    pub(crate) fn take(&mut self, id: i32, part: u32, of: u32) -> Option<AnswerProgress> {
        let awaited = self.awaited.get_mut(&id)?;
        let part = awaited.parts.take(part, of);
        self.parts += usize::from(part == PartStatus::New);
        let (is_whole, parts) = (awaited.parts.is_whole(), awaited.parts.len());
        if is_whole {
            self.remove(id);
        }
        Some(AnswerProgress {
            part,
            is_whole,
            parts,
        })
    }

    /// Returns the memory that the survey uses until its end, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.tokens.len() * SURVEYED_TOKEN_BYTES + self.parts * PART_BYTES
    }

    /// Returns the time of the next question to a session.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Returns the next session whose question is due by `now`, and counts this session as asked.
    pub(crate) fn next(&mut self, now: Instant) -> Option<(i32, SocketAddr)> {
        loop {
            let (due, id) = self.due.first().copied().filter(|(due, _)| *due <= now)?;
            self.due.remove(&(due, id));
            // A session that was removed before its first question is still in the index.
            let Some(awaited) = self.awaited.get_mut(&id) else {
                continue;
            };
            let backoff = match awaited.backoff {
                None => Backoff::new(now, RETRY),
                Some(mut backoff) => {
                    backoff.advance(now, RETRY_MAX);
                    backoff
                }
            };
            awaited.backoff = Some(backoff);
            self.due.insert((backoff.due(), id));
            return Some((id, awaited.address));
        }
    }
}
