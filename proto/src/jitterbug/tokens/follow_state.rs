//! The nodes that follow a token (`docs/jitterbug/protocol/announcements.md` N4, N7).

use std::time::Duration;

use ring_codec::jitterbug::TokenId;

use crate::time::Instant;

/// A waiter asks once per `renew_timeout` which node leads. A node that is silent for this many renew timeouts does not
/// count as a follower.
const FOLLOWED_RENEWS: u32 = 3;
/// If a node sends no TR1 to all nodes for this time, the other nodes may have forgotten it. Terms are valid for twice
/// this time. So the node stops relying on its own terms before other nodes drop them.
const UNHEARD_AFTER: Duration = Duration::from_secs(10);

/// Whether other nodes follow this node's token, and which token this node follows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FollowState {
    /// The last time at which another node had this node's token, or reported that it follows this token.
    followed: Option<Instant>,
    follows: Option<TokenId>,
    had_token: bool,
    /// The lease of the last token's giver, and the time at which the giver gave the token.
    lease: Option<(Duration, Instant)>,
    /// Whether the node was silent for so long that other nodes may have dropped its terms.
    is_unheard: bool,
}

impl FollowState {
    pub(crate) const fn on_token_created(&mut self) {
        // No node follows a new token yet, so a token of the old ring is stronger.
        self.followed = None;
        self.had_token = true;
        self.is_unheard = false;
        // A new token has no giver.
        self.lease = None;
    }

    /// Notes that another node gave its token to this node. The giver follows the token from then on.
    pub(crate) fn on_token_received(&mut self, now: Instant, lease: Option<Duration>) {
        self.followed = Some(now);
        self.had_token = true;
        self.is_unheard = false;
        self.lease = lease.map(|lease| (lease, now));
    }

    /// Notes that a restore begins. `last_broadcast` is the time of the node's last TR1 to all nodes.
    pub(crate) fn on_restore_begun(&mut self, now: Instant, last_broadcast: Option<Instant>) {
        // The flag stays set until the node has a token. Only then do other nodes surely know its terms.
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

    /// If another node gave the last token less than `age` ago, returns the lease of this giver.
    pub(crate) fn lease(&self, now: Instant, age: Duration) -> Option<Duration> {
        let given = self.lease.filter(|(_, at)| now.since(*at) < age);
        given.map(|(lease, _)| lease)
    }

    pub(crate) fn is_followed(&self, now: Instant, renew_timeout: Duration) -> bool {
        self.followed
            .is_some_and(|at| now.since(at) < renew_timeout.saturating_mul(FOLLOWED_RENEWS))
    }
}
