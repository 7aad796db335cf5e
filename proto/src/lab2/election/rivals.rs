//! Tokens beside the one that counts, and how often somebody speaks of them. It outlasts a tenure: a rival
//! that goes round as fast is answered by the next owner too.

use std::hash::Hash;
use std::time::Duration;

use ring_codec::lab2::Token;

use crate::lab2::machine::{Context, Writer};
use crate::lab2::tenure::Tenure;
use crate::throttle::Throttle;
use crate::time::Instant;

/// By how much a token gets ahead of a rival: more hops than what is heard of a token is old.
pub(crate) const LEAD: u64 = 1 << 10;

/// What is remembered of them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rivals {
    /// The token that is to get ahead when a rival of it was last heard of, and when that was.
    outrun: Option<(Instant, Token)>,
    /// An OWNER's answers to weaker claims.
    answers: Throttle,
    /// A WAITER's objections to tokens that are weaker than the known one.
    objections: Throttle,
}

impl Rivals {
    /// Two tokens that go round equally fast may never meet: what is heard of each is some hops
    /// old, and weaker than the other by then. One of the two, by name, is to get ahead: then
    /// everybody who has heard of it refuses the other.
    pub(crate) fn note(&mut self, now: Instant, theirs: Token, mine: Token) {
        let name = |token: Token| (token.author, token.number);
        let close = mine.progress.abs_diff(theirs.progress) < LEAD;
        if close && name(mine) < name(theirs) {
            self.outrun = Some((now, mine));
        }
    }

    /// By how much the progress of `token`, the one held, grows when it is handed over: by more if a
    /// rival was heard of less than `lately` ago.
    pub(crate) fn take_step(&mut self, now: Instant, token: Token, lately: Duration) -> u64 {
        let is_rivalled =
            |(at, mine): (_, Token)| mine.same_chain(&token) && now.since(at) < lately;
        if self.outrun.take().is_some_and(is_rivalled) {
            LEAD
        } else {
            1
        }
    }

    /// Whether a claim to a weaker token needs no answer: an earlier tenure of the own chain that the token has
    /// overtaken on its way, or a claim soon after one that was answered, to all. The answers may
    /// be overtaken in their turn, and be answered by the next OWNER: they would double every time.
    pub(crate) fn is_echo(&mut self, context: &Context, theirs: Token, tenure: &Tenure) -> bool {
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
        !self.answers.allow(context.now(), pause)
    }

    /// Whether the holder of a weaker token may be told so, a `period` or more after the last time.
    pub(crate) fn may_object(&mut self, now: Instant, period: Duration) -> bool {
        self.objections.allow(now, period)
    }

    /// How long ago counts up to WAITER_TIMEOUT for a rival, up to the longer pause for an answer and up to a
    /// HEART_BEAT_PERIOD for an objection.
    pub(crate) fn snapshot(&self, writer: &mut Writer, context: &Context) {
        let Self {
            outrun,
            answers,
            objections,
        } = self;
        let constants = context.constants();
        let (heartbeat, patience) = (constants.heartbeat, context.waiter_timeout());
        writer.within(answers.last(), heartbeat.max(constants.take_timeout));
        let now = writer.now;
        let outrun = outrun.filter(|(at, _)| now.since(*at) <= patience);
        outrun.map(|(_, mine)| mine).hash(writer);
        writer.within(outrun.map(|(at, _)| at), patience);
        writer.within(objections.last(), heartbeat);
    }
}
