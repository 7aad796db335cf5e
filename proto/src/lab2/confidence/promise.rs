//! A member's promise to confirm no other tenure, and when it is free again.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{self, Digest, Token};

use super::{ANSWERS_PER_HEARTBEAT_MAX, Confidence};
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Content, Context, Output};
use crate::lab2::members::{APART_FACTOR, Members};
use crate::time::{Instant, nanos};

/// A ring may have four times as many members as this node knows, or four times this number.
const KNOWN_SIZE_MIN: usize = 256;

/// A promise to confirm only this holder's tenure until a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Promise {
    pub(super) token: Token,
    pub(super) holder: MacAddr,
    pub(super) until: Instant,
}

impl Promise {
    /// Whether the promised tenure is over, or goes on under this token.
    fn is_released_by(&self, token: Token, holder: MacAddr) -> bool {
        // The chain has moved on, or its holder asks for confirmations of a later token. A holder does that only when
        // no application of its works under the earlier token in another tenure.
        let gone_on = token.same_chain(&self.token) || holder == self.holder;
        gone_on && token.is_stronger_than(&self.token)
    }
}

/// Returns the interval of heartbeats that a member answers, in a ring of `members`: each one, or every second, third …
pub(crate) fn answer_stride(members: usize) -> u32 {
    u32::try_from(members.div_ceil(ANSWERS_PER_HEARTBEAT_MAX).max(1)).unwrap_or(u32::MAX)
}

/// Returns how long a promise holds in a ring of `members`.
pub(crate) fn promise_duration(context: &Context, members: usize) -> Duration {
    // As long as a member trusts in the token, from the last heartbeat that it answers.
    let skipped = answer_stride(members) - 1;
    let waiting = context.constants().heartbeat.saturating_mul(skipped);
    context.waiter_timeout().saturating_add(waiting)
}

/// Returns how long a node makes no promise after its start, in a ring of `ring` members.
pub(crate) fn promise_delay(context: &Context, members: &Members, ring: usize) -> Duration {
    // Before the restart it may have promised for that long, perhaps with other constants, which other members still
    // have.
    promise_duration(context, ring).max(members.longest_waiter_timeout(context))
}

/// Returns the number of members on which the length of a promise depends.
fn assumed_ring_size(context: &Context, members: &Members, digest: Digest) -> usize {
    // A restart does not change the expected number. Without one, a forged digest must not bind this node for much
    // longer.
    if let Some(expected) = members.expected(context) {
        return expected;
    }
    let ring_size = members.ring_size(context);
    let bound = KNOWN_SIZE_MIN.max(ring_size).saturating_mul(4);
    ring_size.max((digest.size as usize).min(bound))
}

impl Confidence {
    /// Answers a heartbeat with PING, with a promise if this node is free to confirm. Returns whether it did.
    pub(crate) fn answer_heartbeat(
        &mut self,
        context: &Context,
        members: &mut Members,
        out: &mut Output,
        (envelope, token, beat): (Envelope, Token, Option<u32>),
        (digest, is_apart): (Digest, bool),
    ) -> bool {
        let size = assumed_ring_size(context, members, digest);
        let number = beat.unwrap_or(0).wrapping_add(members.own_rank(context));
        // Otherwise each heartbeat of a large ring would cost one answer per member.
        if !number.is_multiple_of(answer_stride(size)) {
            return false;
        }
        let holder = envelope.from;
        let to = members.ping_receiver(context, holder);
        let promises = members.does_promise_fit(context, to)
            && self.may_vote_for(context, members, (token, holder), size);
        match beat {
            Some(beat) if promises => {
                // This node may be restarted, and may not be apart then. It would wait for only this long before it
                // promises again.
                let most = context
                    .configured()
                    .waiter_timeout()
                    .saturating_mul(APART_FACTOR);
                let lasts = promise_duration(context, size);
                let lasts = if is_apart { lasts.min(most) } else { lasts };
                self.make_promise(token, holder, context.now() + lasts);
                let lasts = nanos(lasts);
                out.send(to, Content::Promise(lab2::Promise { token, beat, lasts }));
            }
            // Bound by another promise, the member still shows that it is alive.
            Some(_) => out.send(to, Content::Ping),
            None if members.allow_ping(context, holder) => out.send(to, Content::Ping),
            None => return false,
        }
        members.note_greeted(holder);
        members.schedule_mtu_announcement(context, out);
        true
    }

    /// Makes a promise. It lasts as long as the longest one to the same holder.
    fn make_promise(&mut self, token: Token, holder: MacAddr, until: Instant) {
        // It may be the same tenure, under a minted token.
        let same = |it: &Promise| it.holder == holder;
        let before = self.promise.filter(same).map(|promise| promise.until);
        let until = before.map_or(until, |before| before.max(until));
        self.promise = Some(Promise {
            token,
            holder,
            until,
        });
    }

    /// Whether this node may confirm the tenure of a token, in a ring of this size.
    pub(super) fn may_vote_for(
        &self,
        context: &Context,
        members: &Members,
        (token, holder): (Token, MacAddr),
        ring: usize,
    ) -> bool {
        // A node that was started recently may have promised something before.
        let settled = context.has_run_for(promise_delay(context, members, ring));
        settled && self.is_free_for(context, token, holder)
    }

    pub(super) fn is_free_for(&self, context: &Context, token: Token, holder: MacAddr) -> bool {
        self.promise.is_none_or(|promise| {
            let same = promise.token == token && promise.holder == holder;
            let released = promise.holder != context.me() && promise.is_released_by(token, holder);
            same || promise.until <= context.now() || released
        })
    }

    /// Whether this node's promise is for this tenure and has not ended.
    pub(crate) fn is_bound_to(&self, context: &Context, token: Token, holder: MacAddr) -> bool {
        self.promise.is_some_and(|promise| {
            let is_this = promise.token == token && promise.holder == holder;
            is_this && promise.until > context.now()
        })
    }

    /// Ends the promise for an earlier tenure of this token's chain: its holder has offered the token since.
    pub(crate) fn release_promise(&mut self, context: &Context, token: Token) {
        // This node's own vote stays: its application may continue for as long as it was told.
        let me = context.me();
        self.promise.take_if(|promise| {
            promise.holder != me
                && token.same_chain(&promise.token)
                && token.is_stronger_than(&promise.token)
        });
    }

    /// Keeps this node's own vote after it has lost this token without a handover.
    pub(crate) fn keep_own_vote(&mut self, context: &Context, token: Token) {
        // Its application may continue for as long as it was told.
        let me = context.me();
        if !self.is_free_for(context, token, me) {
            return;
        }
        let end = self.confirmations.last_end(token);
        if let Some(until) = end.filter(|&end| end > context.now()) {
            self.make_promise(token, me, until);
        }
    }
}
