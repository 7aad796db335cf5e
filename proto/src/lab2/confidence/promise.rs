//! A member's side of a holder's grade: whom it has promised its help, and when it is free again
//! (`docs/protocol.md`, "Grades").

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{self, Digest, Token};

use crate::lab2::Lab2;
use crate::lab2::machine::input::Envelope;
use crate::lab2::machine::outbox::Content;
use crate::lab2::members::apart::APART;
use crate::lab2::tenure::role::{Role, Tenure};
use crate::time::{Instant, nanos};

/// So many members any ring may turn out to have a quarter of.
const FEW: usize = 256;

/// A promise to help nobody but this holder until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Promise {
    pub(crate) token: Token,
    pub(crate) holder: MacAddr,
    pub(crate) until: Instant,
}

impl Promise {
    /// Whether the holder has let go, or goes on under another token: its chain has gone on, or it asks for help with
    /// that one, which it does not do while its application may still work under this one in another tenure.
    fn is_released_by(&self, token: Token, holder: MacAddr) -> bool {
        let gone_on = token.same_chain(&self.token) || holder == self.holder;
        gone_on && token.is_stronger_than(&self.token)
    }
}

impl Lab2 {
    /// A heartbeat is answered with PING: with a promise if there is none to another holder.
    /// Whether it was.
    pub(crate) fn confirm(
        &mut self,
        envelope: Envelope,
        token: Token,
        digest: Digest,
        beat: Option<u32>,
    ) -> bool {
        let known = self.known.token();
        // A stronger token that is known of another owner does not end what was promised.
        let is_bound = self.is_bound_to(token, envelope.from)
            && known.is_some_and(|known| !known.same_chain(&token));
        let heard = matches!(self.role, Role::Waiter(_)) && (known == Some(token) || is_bound);
        if !envelope.broadcast || !heard || !self.out.may_reply() {
            return false;
        }
        let members = self.believed_size(digest);
        let rank = u32::try_from(self.table.rank(self.me())).unwrap_or(u32::MAX);
        let number = beat.unwrap_or(0);
        if !number
            .wrapping_add(rank)
            .is_multiple_of(Self::stride(members))
        {
            return false;
        }
        let to = self.audience(envelope.from);
        match beat {
            Some(beat)
                if self.may_promise_to(to) && self.may_vote_for(token, envelope.from, members) =>
            {
                let lasts = self.promise_lasts(members).min(self.most_to_promise());
                self.promise(token, envelope.from, self.context.now() + lasts);
                self.send(
                    to,
                    Content::Promise(lab2::Promise {
                        token,
                        beat,
                        lasts: nanos(lasts),
                    }),
                );
            }
            Some(_) => self.send(to, Content::Ping),
            None if self.once_a_period(envelope.from, |notes| &mut notes.pinged) => {
                self.send(to, Content::Ping);
            }
            None => return false,
        }
        if let Some(peer) = self.table.peer_mut(envelope.from) {
            // It has been greeted with that.
            peer.owed_ping = false;
        }
        self.say_mtu_in_time();
        true
    }

    /// A node that is apart promises nothing for longer than it would be [quiet](Self::quiet) for if it were started
    /// anew and were not apart then.
    fn most_to_promise(&self) -> Duration {
        if self.apart {
            self.context
                .configured()
                .waiter_timeout()
                .saturating_mul(APART)
        } else {
            Duration::MAX
        }
    }

    /// How many members a heartbeat's ring has, as far as promises go: those that are expected, which
    /// a restart does not change, or as many as it says. One that says far more than this node knows of
    /// does not bind it for as long as so many would.
    fn believed_size(&self, digest: Digest) -> usize {
        if let Some(expected) = self.expected() {
            return expected;
        }
        let roster = self.roster();
        let bound = FEW.max(roster).saturating_mul(4);
        roster.max((digest.size as usize).min(bound))
    }

    /// A promise is kept for as long as any of those to the same holder lasts.
    fn promise(&mut self, token: Token, holder: MacAddr, until: Instant) {
        // It may be the same tenure, under a token that outbids another owner's.
        let same = |it: &Promise| it.holder == holder;
        let before = self.promise.filter(same).map(|promise| promise.until);
        let until = before.map_or(until, |before| before.max(until));
        self.promise = Some(Promise {
            token,
            holder,
            until,
        });
    }

    /// Whether this node may help the holder of a token in a ring of `members`: it has promised
    /// nothing else. A node that was started not long ago may have, before.
    pub(crate) fn may_vote_for(&self, token: Token, holder: MacAddr, members: usize) -> bool {
        let quiet = self.quiet(members);
        let settled = self.context.has_run_for(quiet);
        settled && self.is_free_for(token, holder)
    }

    /// How long a node that was started promises nothing: as long as what it may have promised before
    /// lasts, be it that it had other constants then, as others still have.
    pub(crate) fn quiet(&self, members: usize) -> Duration {
        self.promise_lasts(members).max(self.longest_patience())
    }

    pub(crate) fn is_free_for(&self, token: Token, holder: MacAddr) -> bool {
        let now = self.context.now();
        self.promise.is_none_or(|promise| {
            let same = promise.token == token && promise.holder == holder;
            let released = promise.holder != self.me() && promise.is_released_by(token, holder);
            same || promise.until <= now || released
        })
    }

    /// All tenures of a chain before this token are over: whoever had one has offered the token to another since. A
    /// promise to the holder of such a tenure ends. This node's own vote does not: its application may go on for as
    /// long as it was told.
    pub(crate) fn release(&mut self, token: Token) {
        let me = self.me();
        self.promise.take_if(|promise| {
            promise.holder != me
                && token.same_chain(&promise.token)
                && token.is_stronger_than(&promise.token)
        });
    }

    /// An OWNER that loses its token without having handed it over keeps its own vote: its
    /// application may go on for as long as it was told.
    pub(crate) fn keep_own_vote(&mut self) {
        let Some(&Tenure { token, .. }) = self.role.unoffered() else {
            return;
        };
        let me = self.me();
        if !self.is_free_for(token, me) {
            return;
        }
        let now = self.context.now();
        let end = self.support.ends(token);
        if let Some(until) = end.filter(|&end| end > now) {
            self.promise(token, me, until);
        }
    }
}
