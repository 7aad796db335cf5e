//! Which nodes follow the token (`docs/jitterbug.md`, section 8).

use std::time::Duration;

use ring_codec::jitterbug::TokenId;

use super::Jitterbug;
use super::rival::Rank;
use crate::time::Instant;

/// A node that waits asks once in `renew_timeout` who leads: one that has said nothing for so many is none that follows.
const SILENT: u32 = 3;
/// A node that has had no token yet knows no lease of its ring: its restore lasts longer than the lease of a leader that
/// knows no other node.
pub(super) const FIRST_RESTORE: Duration = Duration::from_millis(600);

/// The terms of a node count at least this long after it was heard.
const TERMS_COUNT: Duration = Duration::from_secs(20);
/// The same in `renew_timeout`. The nodes of a ring with different options hear each other more than twice in this time.
const TERMS_COUNT_RENEWS: u32 = 4;
/// A node that has sent no TR1 to all for so long may be unknown to the others. Half of [`TERMS_COUNT`]: it must not
/// rely on its terms for longer than they count.
const UNHEARD: Duration = Duration::from_secs(10);

/// What is known of who follows whom.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Company {
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
    pub(super) const fn made(&mut self) {
        self.followed = None;
        self.had_token = true;
        self.is_unheard = false;
        self.lease = None;
    }

    /// Another node has given its token, and follows the one here.
    pub(super) fn received(&mut self, now: Instant, lease: Option<Duration>) {
        self.followed = Some(now);
        self.had_token = true;
        self.is_unheard = false;
        self.lease = lease.map(|lease| (lease, now));
    }

    /// A restore begins, and the node has spoken to all at this time last.
    pub(super) fn begins_restore(&mut self, now: Instant, spoke: Option<Instant>) {
        self.is_unheard |= spoke.is_none_or(|spoke| now.since(spoke) >= UNHEARD);
    }

    /// A node that follows the token with this id is there.
    pub(super) const fn seen(&mut self, now: Instant) {
        self.followed = Some(now);
    }

    pub(super) const fn follow(&mut self, id: TokenId) {
        self.follows = Some(id);
    }

    pub(super) const fn follows(&self) -> Option<TokenId> {
        self.follows
    }

    pub(super) const fn had_token(&self) -> bool {
        self.had_token
    }

    pub(super) const fn is_unheard(&self) -> bool {
        self.is_unheard
    }

    /// The lease that the giver of the last token used, if it has given it within `age`.
    pub(super) fn lease(&self, now: Instant, age: Duration) -> Option<Duration> {
        let given = self.lease.filter(|(_, at)| now.since(*at) < age);
        given.map(|(lease, _)| lease)
    }

    fn is_followed(&self, now: Instant, renew_timeout: Duration) -> bool {
        self.followed
            .is_some_and(|at| now.since(at) < renew_timeout.saturating_mul(SILENT))
    }
}

impl Jitterbug {
    /// How long the terms of a node count after it was heard.
    pub(super) fn terms_count_for(&self) -> Duration {
        let renew_timeout = self.options.renew_timeout;
        TERMS_COUNT.max(renew_timeout.saturating_mul(TERMS_COUNT_RENEWS))
    }

    /// How strong the own token is.
    pub(super) fn rank(&self) -> Rank {
        let period = self.options.renew_timeout;
        Rank {
            is_followed: Some(self.company.is_followed(self.now, period)),
            id: self.token_id,
        }
    }

    /// Whether a stronger token than the one that came from a node is about, as far as this node knows.
    pub(super) fn knows_stronger(&self, from: std::net::IpAddr, incoming: Rank) -> bool {
        let period = self.options.renew_timeout;
        let asked = self.peers.last_asked(from);
        // The leader of a node that asked, and leads now, has not answered it: that leader is gone.
        let holds = |rank: Rank, at: Instant| {
            let is_larger = rank.id.compare(incoming.id).is_gt();
            rank.is_above(incoming) && (is_larger || asked.is_none_or(|asked| asked < at))
        };
        let gave = self.gave.of_late(self.now, period);
        if gave.is_some_and(|(rank, at)| holds(rank, at)) {
            return true;
        }
        let heard = self.rival.of_late(self.now, period);
        let heard = heard.filter(|heard| {
            let is_lone = incoming.is_followed == Some(false);
            is_lone && heard.rank.is_followed == Some(true) && heard.leader.ip != from
        });
        heard.is_some_and(|heard| holds(heard.rank, heard.at))
    }
}
