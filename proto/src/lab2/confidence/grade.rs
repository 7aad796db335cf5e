//! How safe a tenure is, and until when.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{self, Token};

use super::support::News;
use super::{Confidence, promise_lasts};
use crate::lab2::machine::{Context, Output, Timer};
use crate::lab2::members::Members;
use crate::lab2::tenure::Tenure;
use crate::lab2::{Event, Grade};
use crate::time::Instant;

/// This part of a promise is not relied on, so that clocks may differ in their rates.
const MARGIN: u32 = 32;

/// How many members confirm a tenure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Votes {
    /// So many do.
    pub confirmed: usize,
    /// So many make up the ring.
    pub ring: usize,
    /// So many are a quorum.
    pub quorum: usize,
}

/// For how long a view has to last before people are told of it.
pub(super) fn settles(context: &Context) -> Duration {
    let constants = context.constants();
    constants.take_timeout.max(constants.heartbeat / 4)
}

/// Returns the members that were heard lately, but for this node.
fn others_heard(context: &Context, members: &Members) -> impl Iterator<Item = MacAddr> {
    let lasts = promise_lasts(context, members.roster(context));
    let lately = context.now().before(lasts / 2);
    let others = members.others(context);
    let heard = others.filter(move |(_, peer)| peer.last_seen().is_some_and(|at| at >= lately));
    heard.map(|(mac, _)| mac)
}

impl Confidence {
    /// Returns the number of a heartbeat that leaves now. It has none, and asks for no promise, while this
    /// node itself may not help its own tenure: an application that has worked under an earlier one
    /// may go on for as long as it was told.
    pub(crate) fn number_heartbeat(
        &mut self,
        context: &Context,
        members: &Members,
        token: Token,
    ) -> Option<u32> {
        let may_ask = self.may_ask(context, members, token);
        may_ask.then(|| self.support.begin_beat(token, context.now()))
    }

    /// Whether members may be asked to confirm this node's tenure.
    fn may_ask(&self, context: &Context, members: &Members, token: Token) -> bool {
        self.may_vote_for(
            context,
            members,
            (token, context.me()),
            members.roster(context),
        )
    }

    /// Whether members may be asked to confirm this node's tenure now, instead of at the next heartbeat: not again within
    /// TAKE_TIMEOUT.
    pub(crate) fn may_ask_now(&self, context: &Context, members: &Members, token: Token) -> bool {
        let asked = self.support.last_left_at(token);
        let pause = context.constants().take_timeout;
        self.may_ask(context, members, token)
            && asked.is_none_or(|at| context.now().since(at) >= pause)
    }

    /// A member promises its help to the tenure of this node. Returns whether the grade is to be found out now. In a
    /// large ring that is done once for many promises.
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
        let Some(left_at) = self.support.left_at(token, promise.beat) else {
            return false;
        };
        // Nobody promises more than that.
        let most = promise_lasts(context, members.roster(context));
        let lasts = Duration::from_nanos(promise.lasts).min(most);
        self.support
            .add(from, left_at + lasts / MARGIN * (MARGIN - 1));
        let is_quorum = matches!(self.support.grade(token), Some((Grade::Quorum, _)));
        if !is_quorum || !members.is_large() {
            return true;
        }
        let soon = context.now() + context.constants().heartbeat / 4;
        let due = out.due(Timer::Grade);
        out.set(Timer::Grade, due.map_or(soon, |due| due.min(soon)));
        false
    }

    /// Finds out how safe a tenure is now, and until when. Nobody else is granted its token until the `lease` ends.
    pub(crate) fn review(
        &mut self,
        context: &Context,
        members: &Members,
        out: &mut Output,
        (token, lease): (Token, Option<Instant>),
    ) {
        let now = context.now();
        let (grade, until) = self.find_grade(context, members, token, lease);
        self.support
            .set_grade(grade, until, members.roster(context));
        if grade != Grade::Alone {
            out.set(Timer::Grade, until.max(now));
        }
        match self.support.news(token, now, settles(context)) {
            News::Old => {}
            News::NotYet(at) => out.set(Timer::Grade, at),
            News::New => out.event(Event::GradeChanged { grade, token }),
        }
    }

    fn find_grade(
        &mut self,
        context: &Context,
        members: &Members,
        token: Token,
        lease: Option<Instant>,
    ) -> (Grade, Instant) {
        let now = context.now();
        let roster = members.roster(context);
        let own = usize::from(self.may_ask(context, members, token));
        let majority = roster / 2 + 1;
        // Who knows nobody, and was not told that there is nobody, cannot know.
        let known = roster > 1 || members.expected(context).is_some();
        if known {
            let others = majority.saturating_sub(own);
            let end = self.support.promised_by(token, others, lease);
            if let Some(end) = end.filter(|&end| end > now) {
                return (Grade::Quorum, end);
            }
        }
        // Until when all members that were heard lately have promised. One that falls silent is not waited for until its
        // promise ends.
        let heard = others_heard(context, members);
        let end = self.support.promised_by_all(token, heard);
        let end = end.filter(|&end| own == 1 && end > now);
        end.map_or((Grade::Alone, now), |end| (Grade::View, end))
    }

    /// Whether members that were not known when the grade was found out make the majority larger.
    pub(crate) fn is_miscounted(&self, context: &Context, members: &Members) -> bool {
        self.support.is_miscounted(members.roster(context))
    }

    /// The grade of a tenure that was found out last, and until when it holds; `None`: it is [`Grade::Alone`].
    pub(crate) fn grade(&self, token: Token) -> Option<(Grade, Instant)> {
        self.support.grade(token)
    }

    /// How many members confirm the tenure with this token, this node included, as far as it may.
    pub(crate) fn votes(
        &self,
        context: &Context,
        members: &Members,
        token: Option<Token>,
    ) -> Votes {
        let ring = members.roster(context);
        let confirmed = token.map_or(0, |token| {
            usize::from(self.may_ask(context, members, token))
                + self.support.confirmed(token, context.now())
        });
        Votes {
            confirmed,
            ring,
            quorum: ring / 2 + 1,
        }
    }

    /// How many other members must confirm a [`Grade::View`]: those that were heard lately.
    pub(crate) fn heard_lately(context: &Context, members: &Members) -> usize {
        others_heard(context, members).count()
    }
}
