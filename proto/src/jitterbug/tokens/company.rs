//! Which nodes follow the token (`docs/jitterbug.md`, section 8).

use std::time::Duration;

use ring_codec::jitterbug::TokenId;

use crate::time::Instant;

/// A node that waits asks once in `renew_timeout` who leads: one that has said nothing for so many is none that follows.
const SILENT: u32 = 3;
/// A node that has sent no TR1 to all for so long may be unknown to the others. Half as long as terms
/// count: it must not rely on its own for longer than that.
const UNHEARD: Duration = Duration::from_secs(10);

/// What is known of who follows whom.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Company {
    /// When another node had the own token last, or said that it follows it.
    followed: Option<Instant>,
    /// Whose token the node follows as a waiter.
    follows: Option<TokenId>,
    /// Whether the node has ever had a token.
    had_token: bool,
    /// The lease that the giver of the last token used, and when it gave the token.
    lease: Option<(Duration, Instant)>,
    /// Whether the node has been silent for so long that the others may not know its terms.
    is_unheard: bool,
}

impl Company {
    /// The node has made a token.
    pub(crate) const fn made(&mut self) {
        self.followed = None;
        self.had_token = true;
        self.is_unheard = false;
        self.lease = None;
    }

    /// Another node has given its token, and follows the one here.
    pub(crate) fn received(&mut self, now: Instant, lease: Option<Duration>) {
        self.followed = Some(now);
        self.had_token = true;
        self.is_unheard = false;
        self.lease = lease.map(|lease| (lease, now));
    }

    /// A restore begins, and the node has spoken to all at this time last.
    pub(crate) fn begins_restore(&mut self, now: Instant, spoke: Option<Instant>) {
        self.is_unheard |= spoke.is_none_or(|spoke| now.since(spoke) >= UNHEARD);
    }

    /// A node that follows the token with this id is there.
    pub(crate) const fn seen(&mut self, now: Instant) {
        self.followed = Some(now);
    }

    pub(crate) const fn follow(&mut self, id: TokenId) {
        self.follows = Some(id);
    }

    pub(crate) const fn follows(&self) -> Option<TokenId> {
        self.follows
    }

    pub(crate) const fn had_token(&self) -> bool {
        self.had_token
    }

    pub(crate) const fn is_unheard(&self) -> bool {
        self.is_unheard
    }

    /// The lease that the giver of the last token used, if it has given it within `age`.
    pub(crate) fn lease(&self, now: Instant, age: Duration) -> Option<Duration> {
        let given = self.lease.filter(|(_, at)| now.since(*at) < age);
        given.map(|(lease, _)| lease)
    }

    pub(crate) fn is_followed(&self, now: Instant, renew_timeout: Duration) -> bool {
        self.followed
            .is_some_and(|at| now.since(at) < renew_timeout.saturating_mul(SILENT))
    }
}
