//! A member's side of a holder's grade: whom it has promised its help, and when it is free again.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{self, Digest, Token};

use super::{Confidence, LISTENERS};
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Content, Context, Output};
use crate::lab2::members::{APART, Members};
use crate::time::{Instant, nanos};

/// So many members any ring may turn out to have a quarter of.
const FEW: usize = 256;

/// A promise to help nobody but this holder until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Promise {
    pub(super) token: Token,
    pub(super) holder: MacAddr,
    pub(super) until: Instant,
}

impl Promise {
    /// Whether the holder has let go, or goes on under another token: its chain has gone on, or it asks for help with
    /// that one, which it does not do while its application may still work under this one in another tenure.
    fn is_released_by(&self, token: Token, holder: MacAddr) -> bool {
        let gone_on = token.same_chain(&self.token) || holder == self.holder;
        gone_on && token.is_stronger_than(&self.token)
    }
}

/// Of how many heartbeats a member of a ring of `members` answers one.
pub(crate) fn stride(members: usize) -> u32 {
    u32::try_from(members.div_ceil(LISTENERS).max(1)).unwrap_or(u32::MAX)
}

/// For how long a member of a ring of `members` promises to help no other holder: as long as it
/// trusts in the token, from the last heartbeat that it answers.
pub(crate) fn promise_lasts(context: &Context, members: usize) -> Duration {
    let skipped = stride(members) - 1;
    let waiting = context.constants().heartbeat.saturating_mul(skipped);
    context.waiter_timeout().saturating_add(waiting)
}

/// How long a node that was started promises nothing in a ring of so many: as long as what it may have promised before
/// lasts, even with other constants, as others still have.
pub(crate) fn quiet(context: &Context, members: &Members, ring: usize) -> Duration {
    promise_lasts(context, ring).max(members.longest_patience(context))
}

/// How many members a heartbeat's ring has, as far as promises go: those that are expected, which
/// a restart does not change, or as many as it says. One that says far more than this node knows of
/// does not bind it for as long as so many would.
fn believed_size(context: &Context, members: &Members, digest: Digest) -> usize {
    if let Some(expected) = members.expected(context) {
        return expected;
    }
    let roster = members.roster(context);
    let bound = FEW.max(roster).saturating_mul(4);
    roster.max((digest.size as usize).min(bound))
}

impl Confidence {
    /// Answers a heartbeat with PING: with a promise if there is none to another holder. Returns whether it did.
    pub(crate) fn answer_heartbeat(
        &mut self,
        context: &Context,
        members: &mut Members,
        out: &mut Output,
        (envelope, token, beat): (Envelope, Token, Option<u32>),
        (digest, is_apart): (Digest, bool),
    ) -> bool {
        let size = believed_size(context, members, digest);
        let number = beat.unwrap_or(0).wrapping_add(members.own_rank(context));
        if !number.is_multiple_of(stride(size)) {
            return false;
        }
        let holder = envelope.from;
        let to = members.audience(context, holder);
        let promises = members.may_promise_to(context, to)
            && self.may_vote_for(context, members, (token, holder), size);
        match beat {
            Some(beat) if promises => {
                // A node that is apart promises nothing for longer than it would be quiet for if it were started
                // anew and were not apart then.
                let most = context.configured().waiter_timeout().saturating_mul(APART);
                let lasts = promise_lasts(context, size);
                let lasts = if is_apart { lasts.min(most) } else { lasts };
                self.promise(token, holder, context.now() + lasts);
                let lasts = nanos(lasts);
                out.send(to, Content::Promise(lab2::Promise { token, beat, lasts }));
            }
            Some(_) => out.send(to, Content::Ping),
            None if members.may_ping(context, holder) => out.send(to, Content::Ping),
            None => return false,
        }
        members.note_greeted(holder);
        members.say_mtu_in_time(context, out);
        true
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

    /// Whether this node may help the holder of a token in a ring of so many: it has promised
    /// nothing else. A node that was started not long ago may have, before.
    pub(super) fn may_vote_for(
        &self,
        context: &Context,
        members: &Members,
        (token, holder): (Token, MacAddr),
        ring: usize,
    ) -> bool {
        let settled = context.has_run_for(quiet(context, members, ring));
        settled && self.is_free_for(context, token, holder)
    }

    pub(super) fn is_free_for(&self, context: &Context, token: Token, holder: MacAddr) -> bool {
        self.promise.is_none_or(|promise| {
            let same = promise.token == token && promise.holder == holder;
            let released = promise.holder != context.me() && promise.is_released_by(token, holder);
            same || promise.until <= context.now() || released
        })
    }

    /// Whether this node has promised its help to that tenure, and the promise has not ended.
    pub(crate) fn is_bound_to(&self, context: &Context, token: Token, holder: MacAddr) -> bool {
        self.promise.is_some_and(|promise| {
            let is_this = promise.token == token && promise.holder == holder;
            is_this && promise.until > context.now()
        })
    }

    /// All tenures of a chain before this token are over: whoever had one has offered the token to another since. A
    /// promise to the holder of such a tenure ends. This node's own vote does not: its application may go on for as
    /// long as it was told.
    pub(crate) fn release(&mut self, context: &Context, token: Token) {
        let me = context.me();
        self.promise.take_if(|promise| {
            promise.holder != me
                && token.same_chain(&promise.token)
                && token.is_stronger_than(&promise.token)
        });
    }

    /// An OWNER that loses this token without having handed it over keeps its own vote: its
    /// application may go on for as long as it was told.
    pub(crate) fn keep_own_vote(&mut self, context: &Context, token: Token) {
        let me = context.me();
        if !self.is_free_for(context, token, me) {
            return;
        }
        let end = self.support.ends(token);
        if let Some(until) = end.filter(|&end| end > context.now()) {
            self.promise(token, me, until);
        }
    }
}
