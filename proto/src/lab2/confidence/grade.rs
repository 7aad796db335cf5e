//! The grade of a tenure, and the end of the grade. The grade tells an application how safe it is to assume that no
//! other holder exists.

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

/// The holder shortens each promise by 1/32, because the clocks of two machines may run at different rates.
const MARGIN_DIVISOR: u32 = 32;

/// Two numbers of members. They show whether the tenure has a quorum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Votes {
    /// Members that confirm the tenure.
    pub confirmed: usize,
    /// Members of the ring.
    pub ring: usize,
    /// Number of members that form a quorum.
    pub quorum: usize,
}

/// Returns the time for which the grade `all-heard` must last before this node reports it.
pub(super) fn view_settle_time(context: &Context) -> Duration {
    let constants = context.constants();
    constants.take_timeout.max(constants.heartbeat / 4)
}

/// Returns the other members that this node has heard recently.
fn recently_heard(context: &Context, members: &Members) -> impl Iterator<Item = MacAddr> {
    let lasts = promise_duration(context, members.ring_size(context));
    let lately = context.now().before(lasts / 2);
    let others = members.others(context);
    let heard = others.filter(move |(_, peer)| peer.last_seen().is_some_and(|at| at >= lately));
    heard.map(|(mac, _)| mac)
}

impl Confidence {
    /// Returns the number of the heartbeat that this node sends now. Returns `None` if this heartbeat must not ask
    /// members for promises.
    pub(crate) fn number_heartbeat(
        &mut self,
        context: &Context,
        members: &Members,
        token: Token,
    ) -> Option<u32> {
        // An application that has worked under an earlier tenure of this node may continue until its lease ends. A
        // numbered heartbeat would free the members from their promises for that earlier tenure.
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

    /// Whether this node may ask members for promises before the next heartbeat is due. Two such requests must be at
    /// least TAKE_TIMEOUT apart.
    pub(crate) fn may_ask_now(&self, context: &Context, members: &Members, token: Token) -> bool {
        let asked = self.confirmations.last_sent_at(token);
        let pause = context.constants().take_timeout;
        self.may_ask(context, members, token)
            && asked.is_none_or(|at| context.now().since(at) >= pause)
    }

    /// Begins a tenure without confirmations.
    pub(crate) fn begin_tenure(&mut self, token: Token) {
        self.confirmations.begin_tenure(token);
    }

    /// Notes a member's promise for this node's tenure. Returns whether the caller must compute the grade immediately.
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
        // Only answers to recent heartbeats count: the promise in a slow answer may already have ended.
        let Some(sent_at) = self.confirmations.sent_at(token, promise.beat) else {
            return false;
        };
        // A member that follows the rules never promises for longer. So a forged promise cannot last longer than a real
        // promise.
        let most = promise_duration(context, members.ring_size(context));
        let lasts = Duration::from_nanos(promise.lasts).min(most);
        let reliable = lasts / MARGIN_DIVISOR * (MARGIN_DIVISOR - 1);
        // The member measures the promise from the arrival of the heartbeat. This node measures it from the sending of
        // the heartbeat, so it ends earlier here.
        self.confirmations.add(from, sent_at + reliable);
        let is_quorum = matches!(self.confirmations.grade(token), Some((Grade::Quorum, _)));
        if !is_quorum || !members.is_large() {
            return true;
        }
        // A large ring sends many promises at once, so one computation serves them all.
        let soon = context.now() + context.constants().heartbeat / 4;
        let due = out.due(Timer::Grade);
        out.set(Timer::Grade, due.map_or(soon, |due| due.min(soon)));
        false
    }

    /// Computes the grade of a tenure, and the end of the grade. Before `lease`, no other node grants its token to a
    /// program.
    pub(crate) fn recompute_grade(
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
        // Two majorities of one ring share at least one member, and this member promises to only one holder.
        let majority = ring_size / 2 + 1;
        // A node that knows no other member and expects no number cannot know that it is the only node.
        let known = ring_size > 1 || members.expected_size(context).is_some();
        if known {
            let others = majority.saturating_sub(own);
            let end = self.confirmations.promised_by_count(token, others, lease);
            if let Some(end) = end.filter(|&end| end > now) {
                return (Grade::Quorum, end);
            }
        }
        // The grade `all-heard` lasts until the first of these promises ends. A member that becomes silent leaves the
        // list `heard` before its promise ends.
        let heard = recently_heard(context, members);
        let end = self.confirmations.promised_by_all(token, heard);
        let end = end.filter(|&end| own == 1 && end > now);
        end.map_or((Grade::Alone, now), |end| (Grade::AllHeard, end))
    }

    /// Whether the grade was computed for a different size of the ring.
    pub(crate) fn is_other_ring_size(&self, context: &Context, members: &Members) -> bool {
        self.confirmations
            .is_other_ring_size(members.ring_size(context))
    }

    /// Returns the computed grade of a tenure, and the end of the grade. Returns `None` if the grade is
    /// [`Grade::Alone`].
    pub(crate) fn grade(&self, token: Token) -> Option<(Grade, Instant)> {
        self.confirmations.grade(token)
    }

    /// Returns three numbers for the tenure of this token: the members whose confirmations last beyond `at`, the
    /// members of the ring, and the quorum. If this node is free to confirm the tenure, this node counts as a
    /// confirming member.
    pub(crate) fn votes(
        &self,
        context: &Context,
        members: &Members,
        (token, at): (Option<Token>, Instant),
    ) -> Votes {
        let ring = members.ring_size(context);
        let confirmed = token.map_or(0, |token| {
            usize::from(self.may_ask(context, members, token))
                + self.confirmations.count_confirmations(token, at)
        });
        Votes {
            confirmed,
            ring,
            quorum: ring / 2 + 1,
        }
    }

    /// Returns the number of other members that must confirm the tenure for the grade [`Grade::AllHeard`]. All members
    /// that were heard recently must confirm the tenure.
    pub(crate) fn heard_lately(context: &Context, members: &Members) -> usize {
        recently_heard(context, members).count()
    }
}
