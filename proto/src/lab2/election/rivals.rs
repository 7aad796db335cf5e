//! Tokens that compete with the held token, and limits on the answers to the owners of such tokens. The data about
//! rivals survive the end of a tenure. A rival that circulates at the same speed as this node's token can meet each
//! owner of the token.

use std::hash::Hash;
use std::time::Duration;

use ring_codec::lab2::Token;

use crate::lab2::machine::{Context, Writer};
use crate::lab2::tenure::Tenure;
use crate::throttle::Throttle;
use crate::time::Instant;

/// The number by which a token's progress gets ahead of a rival. A token makes fewer hops than this number before all
/// members have heard of the token.
pub(crate) const RIVAL_LEAD: u64 = 1 << 10;

/// The latest rival, and the limits on the rates of answers and objections.
#[derive(Debug, Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Rivals {
    /// The token that must get ahead of a rival, and the time at which this node last heard of the rival.
    ahead_of_rival: Option<(Instant, Token)>,
    /// Limits how often an OWNER answers weaker claims.
    answers: Throttle,
    /// Limits how often a WAITER objects to tokens that are weaker than the known token.
    objections: Throttle,
}

impl Rivals {
    /// Notes the rival `theirs`, and decides whether this node's token must get ahead of the rival.
    pub(crate) fn note_rival(&mut self, now: Instant, theirs: Token, mine: Token) {
        // Two tokens that circulate equally fast may never meet. News of a token is some hops old when it arrives, and
        // the other token is then already stronger. If one token gets ahead, all members that have heard of this token
        // refuse the other token. Only one of the two tokens may get ahead, so their names decide which one.
        let name = |token: Token| (token.author, token.number);
        // Members refuse a rival that is far behind, even if this node's token gets no lead.
        let close = mine.progress.abs_diff(theirs.progress) < RIVAL_LEAD;
        if close && name(mine) < name(theirs) {
            self.ahead_of_rival = Some((now, mine));
        }
    }

    /// Returns the number by which the progress of the held `token` grows at the next handover. The number is larger if
    /// this node heard of a rival within the time `lately`.
    pub(crate) fn take_step(&mut self, now: Instant, token: Token, lately: Duration) -> u64 {
        let step = self.step(now, token, lately);
        // One large step is enough for one rival, so this node now forgets the rival.
        self.ahead_of_rival = None;
        step
    }

    /// Returns the number that [`take_step`](Self::take_step) would return.
    pub(crate) fn step(&self, now: Instant, token: Token, lately: Duration) -> u64 {
        let has_rival = |(at, mine): (_, Token)| mine.same_chain(&token) && now.since(at) < lately;
        if self.ahead_of_rival.is_some_and(has_rival) {
            RIVAL_LEAD
        } else {
            1
        }
    }

    /// Returns whether this node answers another node's claim to a weaker token. If this function returns `true`, the
    /// answer counts as sent. A claim needs no answer if its token is an earlier token of this chain. It also needs no
    /// answer if the node answered a claim shortly before.
    pub(crate) fn take_answer(
        &mut self,
        context: &Context,
        theirs: Token,
        tenure: &Tenure,
    ) -> bool {
        // The token may overtake an answer, and then the next OWNER answers the answer. Without a limit, the number of
        // answers would double each time.
        let own_chain = theirs.same_chain(&tenure.token());
        let overtaken = |before| theirs.is_stronger_than(&before);
        if own_chain && tenure.known_before().is_some_and(overtaken) {
            // This is a heartbeat of one of the token's last hops. The token has overtaken the heartbeat, and the
            // author no longer holds the token.
            return false;
        }
        let constants = context.constants();
        let pause = if own_chain {
            constants.heartbeat
        } else {
            constants.take_timeout
        };
        self.answers.try_take(context.now(), pause)
    }

    /// Returns whether this node may send an objection. At most one objection is sent per `period`. If an objection may
    /// be sent, it counts as sent.
    pub(crate) fn take_objection(&mut self, now: Instant, period: Duration) -> bool {
        self.objections.try_take(now, period)
    }

    /// Writes the state. The age of a rival is written only up to WAITER_TIMEOUT. The ages of answers and objections
    /// are written only up to the minimum pause between two answers or objections.
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
