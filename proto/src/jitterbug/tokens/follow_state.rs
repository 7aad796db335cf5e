//! The nodes that follow a token (`docs/jitterbug.md`, section 8).

use std::time::Duration;

use ring_codec::jitterbug::TokenId;

use crate::time::Instant;

/// A waiter asks once in `renew_timeout` who leads. A node that is silent for this many of them no longer follows.
const FOLLOWED_RENEWS: u32 = 3;
/// A node that has sent no TR1 to all for this time may be unknown to the others. It is half as long as terms count, so
/// that the node stops relying on its own terms before the others forget them.
const UNHEARD_AFTER: Duration = Duration::from_secs(10);

/// The relation between this node and the nodes that follow its token, or whose token it follows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FollowState {
    /// When another node last had this node's token, or reported that it follows it.
    followed: Option<Instant>,
    follows: Option<TokenId>,
    had_token: bool,
    /// The lease of the giver of the last token, and when it gave the token.
    lease: Option<(Duration, Instant)>,
    /// Whether the node was silent for so long that other nodes can have dropped its terms.
    is_unheard: bool,
}

impl FollowState {
    pub(crate) const fn on_token_created(&mut self) {
        self.followed = None;
        self.had_token = true;
        self.is_unheard = false;
        self.lease = None;
    }

    /// Notes that another node has given its token, and so follows the token here.
    pub(crate) fn on_token_received(&mut self, now: Instant, lease: Option<Duration>) {
        self.followed = Some(now);
        self.had_token = true;
        self.is_unheard = false;
        self.lease = lease.map(|lease| (lease, now));
    }

    /// Notes that a restore begins. `spoke` is when the node last sent a TR1 to all.
    pub(crate) fn on_restore_begun(&mut self, now: Instant, last_broadcast: Option<Instant>) {
        self.is_unheard |=
            last_broadcast.is_none_or(|last_broadcast| now.since(last_broadcast) >= UNHEARD_AFTER);
    }

    pub(crate) const fn note_follower(&mut self, now: Instant) {
        self.followed = Some(now);
    }

    pub(crate) const fn follow(&mut self, id: TokenId) {
        self.follows = Some(id);
    }

    pub(crate) const fn followed_token(&self) -> Option<TokenId> {
        self.follows
    }

    pub(crate) const fn had_token(&self) -> bool {
        self.had_token
    }

    pub(crate) const fn is_unheard(&self) -> bool {
        self.is_unheard
    }

    /// Returns the lease of the giver of the last token, if it gave the token within `age`.
    pub(crate) fn lease(&self, now: Instant, age: Duration) -> Option<Duration> {
        let given = self.lease.filter(|(_, at)| now.since(*at) < age);
        given.map(|(lease, _)| lease)
    }

    pub(crate) fn is_followed(&self, now: Instant, renew_timeout: Duration) -> bool {
        self.followed
            .is_some_and(|at| now.since(at) < renew_timeout.saturating_mul(FOLLOWED_RENEWS))
    }
}
