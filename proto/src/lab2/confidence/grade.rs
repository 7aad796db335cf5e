//! The grade of a tenure: how safe it is to rely on being the only holder, and until when.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{self, Token};

use super::confirmations::GradeReport;
use super::{Confidence, promise_duration};
use crate::lab2::machine::{Context, Output, Timer};
use crate::lab2::members::Members;
use crate::lab2::tenure::Tenure;
use crate::lab2::{Event, Grade};
use crate::time::Instant;

/// The last 1/32 of a promise is not relied on, because clocks may differ in their rates.
const MARGIN_DIVISOR: u32 = 32;

/// Numbers of members that decide about a quorum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Votes {
    /// Members that confirm the tenure.
    pub confirmed: usize,
    /// Members of the ring.
    pub ring: usize,
    /// Members that make a quorum.
    pub quorum: usize,
}

/// Returns how long a view must last before people are told of it.
pub(super) fn view_settle_time(context: &Context) -> Duration {
    let constants = context.constants();
    constants.take_timeout.max(constants.heartbeat / 4)
}

/// Returns the members that were heard recently, without this node.
fn recently_heard(context: &Context, members: &Members) -> impl Iterator<Item = MacAddr> {
    let lasts = promise_duration(context, members.ring_size(context));
    let lately = context.now().before(lasts / 2);
    let others = members.others(context);
    let heard = others.filter(move |(_, peer)| peer.last_seen().is_some_and(|at| at >= lately));
    heard.map(|(mac, _)| mac)
}

impl Confidence {
    /// Returns the number of a heartbeat that leaves now; `None` if it may not ask for promises.
    pub(crate) fn number_heartbeat(
        &mut self,
        context: &Context,
        members: &Members,
        token: Token,
    ) -> Option<u32> {
        // An application that has worked under an earlier tenure of this node may continue for as long as it was told.
        // A numbered heartbeat would free members of their promises for that tenure.
        let may_ask = self.may_ask(context, members, token);
        may_ask.then(|| self.confirmations.note_heartbeat(token, context.now()))
    }

    fn may_ask(&self, context: &Context, members: &Members, token: Token) -> bool {
        self.may_vote_for(
            context,
            members,
            (token, context.me()),
            members.ring_size(context),
        )
    }

    /// Whether members may be asked to confirm before the next heartbeat is due: not again within TAKE_TIMEOUT.
    pub(crate) fn may_ask_now(&self, context: &Context, members: &Members, token: Token) -> bool {
        let asked = self.confirmations.last_sent_at(token);
        let pause = context.constants().take_timeout;
        self.may_ask(context, members, token)
            && asked.is_none_or(|at| context.now().since(at) >= pause)
    }

    /// Counts a promise for this node's tenure. Returns whether the grade must be computed now.
    pub(crate) fn on_promise(
        &mut self,
        context: &Context,
        members: &Members,
        out: &mut Output,
        (tenure, from): (&Tenure, MacAddr),
        promise: &lab2::Promise,
    ) -> bool {
        let token = tenure.token();
        if promise.token != token || !members.has(from) {
            return false;
        }
        // Only answers to recent heartbeats count: a slow answer may carry a promise that has ended.
        let Some(sent_at) = self.confirmations.sent_at(token, promise.beat) else {
            return false;
        };
        // No member that follows the rules promises more.
        let most = promise_duration(context, members.ring_size(context));
        let lasts = Duration::from_nanos(promise.lasts).min(most);
        let reliable = lasts / MARGIN_DIVISOR * (MARGIN_DIVISOR - 1);
        self.confirmations.add(from, sent_at + reliable);
        let is_quorum = matches!(self.confirmations.grade(token), Some((Grade::Quorum, _)));
        if !is_quorum || !members.is_large() {
            return true;
        }
        // A large ring sends many promises at once, and one computation serves them all.
        let soon = context.now() + context.constants().heartbeat / 4;
        let due = out.due(Timer::Grade);
        out.set(Timer::Grade, due.map_or(soon, |due| due.min(soon)));
        false
    }

    /// Computes the grade of a tenure, and until when it holds. No other node is granted its token before `lease` ends.
    pub(crate) fn review(
        &mut self,
        context: &Context,
        members: &Members,
        out: &mut Output,
        (token, lease): (Token, Option<Instant>),
    ) {
        let now = context.now();
        let (grade, until) = self.compute_grade(context, members, token, lease);
        self.confirmations
            .set_grade(grade, until, members.ring_size(context));
        if grade != Grade::Alone {
            out.set(Timer::Grade, until.max(now));
        }
        match self
            .confirmations
            .take_report(token, now, view_settle_time(context))
        {
            GradeReport::Old => {}
            GradeReport::Later(at) => out.set(Timer::Grade, at),
            GradeReport::New => out.event(Event::GradeChanged { grade, token }),
        }
    }

    fn compute_grade(
        &mut self,
        context: &Context,
        members: &Members,
        token: Token,
        lease: Option<Instant>,
    ) -> (Grade, Instant) {
        let now = context.now();
        let ring_size = members.ring_size(context);
        let own = usize::from(self.may_ask(context, members, token));
        // Two majorities of one ring share a member, which promises to only one holder.
        let majority = ring_size / 2 + 1;
        // A node that knows no other member, and expects no number, cannot know that it is the only one.
        let known = ring_size > 1 || members.expected(context).is_some();
        if known {
            let others = majority.saturating_sub(own);
            let end = self.confirmations.promised_by_count(token, others, lease);
            if let Some(end) = end.filter(|&end| end > now) {
                return (Grade::Quorum, end);
            }
        }
        // A view lasts until the first of the recently heard members' promises ends. A member that falls silent is not
        // waited for until its own promise ends.
        let heard = recently_heard(context, members);
        let end = self.confirmations.promised_by_all(token, heard);
        let end = end.filter(|&end| own == 1 && end > now);
        end.map_or((Grade::Alone, now), |end| (Grade::AllHeard, end))
    }

    /// Whether the ring has another size than when the grade was computed.
    pub(crate) fn is_other_ring_size(&self, context: &Context, members: &Members) -> bool {
        self.confirmations
            .is_other_ring_size(members.ring_size(context))
    }

    /// Returns the computed grade of a tenure, and until when it holds; `None` if it is [`Grade::Alone`].
    pub(crate) fn grade(&self, token: Token) -> Option<(Grade, Instant)> {
        self.confirmations.grade(token)
    }

    /// Returns the numbers of members for the tenure with this token. This node counts if it is free to confirm.
    pub(crate) fn votes(
        &self,
        context: &Context,
        members: &Members,
        token: Option<Token>,
    ) -> Votes {
        let ring = members.ring_size(context);
        let confirmed = token.map_or(0, |token| {
            usize::from(self.may_ask(context, members, token))
                + self.confirmations.count_confirmations(token, context.now())
        });
        Votes {
            confirmed,
            ring,
            quorum: ring / 2 + 1,
        }
    }

    /// Returns how many other members must confirm a [`Grade::AllHeard`]: all that were heard recently.
    pub(crate) fn heard_lately(context: &Context, members: &Members) -> usize {
        recently_heard(context, members).count()
    }
}
