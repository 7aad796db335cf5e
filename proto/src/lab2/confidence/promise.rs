//! A member promises not to confirm any other tenure. This file contains the promise, and the rules for its end.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{self, Digest, Token};

use super::{ANSWERS_PER_HEARTBEAT_MAX, Confidence};
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Content, Context, Output};
use crate::lab2::members::{APART_FACTOR, Members};
use crate::time::{Instant, nanos};

/// A digest can announce a ring that is larger than the number of known members. The announced size counts only up to a
/// limit. The limit is four times the number of known members, but at least four times [`KNOWN_SIZE_MIN`].
const KNOWN_SIZE_MIN: usize = 256;

/// A promise to confirm only this holder's tenure until a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct Promise {
    pub(super) token: Token,
    pub(super) holder: MacAddr,
    pub(super) until: Instant,
}

impl Promise {
    /// Whether this token of `holder` shows that the promised tenure ended, or that it continues under this token.
    fn is_released_by(&self, token: Token, holder: MacAddr) -> bool {
        // The chain has moved on, or the holder asks for confirmations of a later token. A holder asks for them only if
        // none of its applications still works under the earlier token in another tenure.
        let gone_on = token.same_chain(&self.token) || holder == self.holder;
        gone_on && token.is_stronger_than(&self.token)
    }
}

/// Returns the stride of a member in a ring of `members`. With a stride of 1, the member answers every heartbeat. With
/// a stride of 2, it answers every second heartbeat.
pub(crate) fn answer_stride(members: usize) -> u32 {
    u32::try_from(members.div_ceil(ANSWERS_PER_HEARTBEAT_MAX).max(1)).unwrap_or(u32::MAX)
}

/// Returns the duration of a promise in a ring of `members`.
pub(crate) fn promise_duration(context: &Context, members: usize) -> Duration {
    // After an answer, a member may skip some heartbeats before its next answer. A promise lasts for the time of these
    // heartbeats, and then for WAITER_TIMEOUT.
    let skipped = answer_stride(members) - 1;
    let waiting = context.constants().heartbeat.saturating_mul(skipped);
    context.waiter_timeout().saturating_add(waiting)
}

/// Returns the time after its start during which a node makes no promises. `ring` is the number of members of the ring.
pub(crate) fn promise_delay(context: &Context, members: &Members, ring: usize) -> Duration {
    // Before a restart, the node may have made a promise of this duration. It may have had different constants then:
    // the constants that other members still have.
    promise_duration(context, ring).max(members.longest_waiter_timeout(context))
}

/// Returns the assumed size of the ring. The length of a promise depends on this size.
fn assumed_ring_size(context: &Context, members: &Members, digest: Digest) -> usize {
    // A restart does not change the expected number. If no number is expected, a forged digest must not make the
    // promises of this node much longer.
    if let Some(expected) = members.expected_size(context) {
        return expected;
    }
    let ring_size = members.ring_size(context);
    let bound = KNOWN_SIZE_MIN.max(ring_size).saturating_mul(4);
    ring_size.max((digest.size as usize).min(bound))
}

impl Confidence {
    /// Answers a heartbeat with PING. If this node is free to confirm the tenure, the PING contains a promise. Returns
    /// whether this node sent an answer.
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
        // Without this stride, each heartbeat of a large ring would cause one answer per member.
        if !number.is_multiple_of(answer_stride(size)) {
            return false;
        }
        let holder = envelope.from;
        let to = members.ping_receiver(context, holder);
        let promises = members.does_promise_fit(context, to)
            && self.may_vote_for(context, members, (token, holder), size);
        match beat {
            Some(beat) if promises => {
                // No promise may last longer than the time for which this node waits after a restart. After the
                // restart, this node may no longer be apart, and then it waits for only this time.
                let most = context
                    .configured_constants()
                    .waiter_timeout()
                    .saturating_mul(APART_FACTOR);
                let lasts = promise_duration(context, size);
                let lasts = if is_apart { lasts.min(most) } else { lasts };
                self.make_promise(token, holder, context.now() + lasts);
                let lasts = nanos(lasts);
                let promise = lab2::Promise { token, beat, lasts };
                out.send(to, Content::HeartbeatAnswer(Some(promise)));
            }
            // A member that must not make this promise still answers, to show that it is alive.
            Some(_) => out.send(to, Content::HeartbeatAnswer(None)),
            None if members.allow_ping(context, holder) => {
                out.send(to, Content::HeartbeatAnswer(None));
            }
            None => return false,
        }
        members.note_greeted(holder);
        members.schedule_mtu_announcement(context, out);
        true
    }

    /// Makes a promise. If an earlier promise to the same holder ends after `until`, the new promise ends with the
    /// earlier promise.
    fn make_promise(&mut self, token: Token, holder: MacAddr, until: Instant) {
        // Both promises may be for the same tenure, which continues under a minted token.
        let same = |it: &Promise| it.holder == holder;
        let before = self.promise.filter(same).map(|promise| promise.until);
        let until = before.map_or(until, |before| before.max(until));
        self.promise = Some(Promise {
            token,
            holder,
            until,
        });
    }

    /// Whether this node may confirm the tenure of this token. `ring` is the number of members of the ring.
    pub(super) fn may_vote_for(
        &self,
        context: &Context,
        members: &Members,
        (token, holder): (Token, MacAddr),
        ring: usize,
    ) -> bool {
        // A node that was started recently may have made a promise before its restart.
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

    /// Whether a promise of this node to confirm this tenure is still valid.
    pub(crate) fn is_bound_to(&self, context: &Context, token: Token, holder: MacAddr) -> bool {
        self.promise.is_some_and(|promise| {
            let is_this = promise.token == token && promise.holder == holder;
            is_this && promise.until > context.now()
        })
    }

    /// Ends this node's promise if it belongs to an earlier tenure of this token's chain. The earlier tenure is over,
    /// because its holder offered the token to another member.
    pub(crate) fn release_promise(&mut self, context: &Context, token: Token) {
        // The vote that this node gave itself stays, because the lease of its application may not have ended yet.
        let me = context.me();
        self.promise.take_if(|promise| {
            promise.holder != me
                && token.same_chain(&promise.token)
                && token.is_stronger_than(&promise.token)
        });
    }

    /// Makes this node confirm the tenure that it has lost, until the last promise for this tenure ends. Call this
    /// function when this node has lost this token without a handover.
    pub(crate) fn keep_own_vote(&mut self, context: &Context, token: Token) {
        // The lease of the application may not have ended yet, and no other holder may get this vote before it ends.
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
