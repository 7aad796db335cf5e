//! Tokens that compete with the held one, and limits on answers about them. They outlast a tenure: a rival that goes
//! round as fast as the token is answered by the next owner too.

use std::hash::Hash;
use std::time::Duration;

use ring_codec::lab2::Token;

use crate::lab2::machine::{Context, Writer};
use crate::lab2::tenure::Tenure;
use crate::throttle::Throttle;
use crate::time::Instant;

/// By how much a token gets ahead of a rival. It is more hops than news of a token are old.
pub(crate) const RIVAL_LEAD: u64 = 1 << 10;

/// The latest rival, and throttles of answers and objections.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rivals {
    /// The token that must get ahead of a rival, and when the rival was last heard of.
    ahead_of_rival: Option<(Instant, Token)>,
    /// An OWNER's answers to weaker claims.
    answers: Throttle,
    /// A WAITER's objections to tokens that are weaker than the known one.
    objections: Throttle,
}

impl Rivals {
    /// Notes a rival, and decides whether this node's token must get ahead of it.
    pub(crate) fn note_rival(&mut self, now: Instant, theirs: Token, mine: Token) {
        // Two tokens that go round equally fast may never meet: news of each is some hops old, and weaker than the
        // other by then. If one gets ahead, all members that have heard of it refuse the other. Only one may, so the
        // name decides.
        let name = |token: Token| (token.author, token.number);
        // A rival that is far behind is refused without a lead.
        let close = mine.progress.abs_diff(theirs.progress) < RIVAL_LEAD;
        if close && name(mine) < name(theirs) {
            self.ahead_of_rival = Some((now, mine));
        }
    }

    /// Returns by how much the progress of `token`, the held one, grows at the next handover. It is more if a rival was
    /// heard of less than `lately` ago.
    pub(crate) fn take_step(&mut self, now: Instant, token: Token, lately: Duration) -> u64 {
        let has_rival = |(at, mine): (_, Token)| mine.same_chain(&token) && now.since(at) < lately;
        // One jump suffices for one rival, so the note is used up.
        if self.ahead_of_rival.take().is_some_and(has_rival) {
            RIVAL_LEAD
        } else {
            1
        }
    }

    /// Returns whether a claim to a weaker token needs no answer: it is an earlier tenure of this chain, or it follows
    /// soon after an answered claim.
    pub(crate) fn is_answered_claim(
        &mut self,
        context: &Context,
        theirs: Token,
        tenure: &Tenure,
    ) -> bool {
        // Answers may be overtaken by the token and be answered by the next OWNER. Unlimited, they would double every
        // time.
        let own_chain = theirs.same_chain(&tenure.token());
        let overtaken = |before| theirs.is_stronger_than(&before);
        if own_chain && tenure.known_before().is_some_and(overtaken) {
            return true;
        }
        let constants = context.constants();
        let pause = if own_chain {
            constants.heartbeat
        } else {
            constants.take_timeout
        };
        !self.answers.try_take(context.now(), pause)
    }

    /// Returns whether an objection may be sent, at most one in a `period`. If so, it counts as sent.
    pub(crate) fn may_object(&mut self, now: Instant, period: Duration) -> bool {
        self.objections.try_take(now, period)
    }

    /// Ages count up to WAITER_TIMEOUT for a rival, to the longer pause for an answer, and to HEART_BEAT_PERIOD for an
    /// objection.
    pub(crate) fn snapshot(&self, writer: &mut Writer, context: &Context) {
        let Self {
            ahead_of_rival,
            answers,
            objections,
        } = self;
        let constants = context.constants();
        let (heartbeat, waiter_timeout) = (constants.heartbeat, context.waiter_timeout());
        writer.within(answers.last(), heartbeat.max(constants.take_timeout));
        let now = writer.now;
        let ahead_of_rival = ahead_of_rival.filter(|(at, _)| now.since(*at) <= waiter_timeout);
        ahead_of_rival.map(|(_, mine)| mine).hash(writer);
        writer.within(ahead_of_rival.map(|(at, _)| at), waiter_timeout);
        writer.within(objections.last(), heartbeat);
    }
}
