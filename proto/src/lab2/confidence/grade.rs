//! How safe a tenure is: who has promised to help no other holder, and until when
//! (`docs/protocol.md`, "Grades").

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use crate::lab2::confidence::support::News;
use crate::lab2::machine::timer::Timer;
use crate::lab2::members::crowd::LISTENERS;
use crate::lab2::tenure::role::{Role, Tenure};
use crate::lab2::{Event, Grade, Lab2};
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

impl Lab2 {
    /// How many members make up the ring: as many as are expected, by whoever expects the most, or have
    /// been heard and have not left if those are more; all that are known if this node expects nothing. Tables keep members that are gone, and who
    /// is told of them learns them anew.
    pub(crate) fn roster(&self) -> usize {
        let known = self.table.len();
        match self.expected() {
            Some(expected) if self.context.constants().expect.is_none() => {
                expected.max(known - self.table.left_members())
            }
            Some(expected) if known > expected => expected.max(self.heard_members()),
            Some(expected) => expected,
            None => known,
        }
    }

    /// This node, and those of whom a frame has come since it was started, unless they have left.
    pub(crate) fn heard_members(&self) -> usize {
        1 + self.table.heard
    }

    /// Of how many heartbeats a member of a ring of `members` answers one.
    pub(crate) fn stride(members: usize) -> u32 {
        u32::try_from(members.div_ceil(LISTENERS).max(1)).unwrap_or(u32::MAX)
    }

    /// For how long a member of a ring of `members` promises to help no other holder: as long as it
    /// trusts in the token, from the last heartbeat that it answers.
    pub(crate) fn promise_lasts(&self, members: usize) -> Duration {
        let skipped = Self::stride(members) - 1;
        let waiting = self.context.constants().heartbeat.saturating_mul(skipped);
        self.context
            .constants()
            .waiter_timeout()
            .saturating_add(waiting)
    }

    /// The number of a heartbeat that leaves now. It has none, and asks for no promise, while this
    /// node itself may not help its own tenure: an application that has worked under an earlier one
    /// may go on for as long as it was told.
    pub(crate) fn number_beat(&mut self, token: Token) -> Option<u32> {
        let now = self.context.now();
        let may_ask = self.may_vote_for(token, self.me(), self.roster());
        may_ask.then(|| self.support.begin_beat(token, now))
    }

    /// PING with a promise for the tenure of this node.
    pub(crate) fn on_promise(&mut self, from: MacAddr, promise: &ring_codec::lab2::Promise) {
        let Role::Owner(tenure) = self.role else {
            return;
        };
        let token = tenure.token;
        if promise.token != token || self.table.find(from).is_none() {
            return;
        }
        let Some(left_at) = self.support.left_at(token, promise.beat) else {
            return;
        };
        // Nobody promises more than that.
        let most = self.promise_lasts(self.roster());
        let lasts = Duration::from_nanos(promise.lasts).min(most);
        self.support
            .add(from, left_at + lasts / MARGIN * (MARGIN - 1));
        let is_quorum = matches!(self.support.grade(token), Some((Grade::Quorum, _)));
        if !is_quorum || !self.is_large() {
            self.review_grade();
        } else {
            // Once for many promises.
            let soon = self.context.now() + self.context.constants().heartbeat / 4;
            let due = self.out.due(Timer::Grade);
            self.out
                .set(Timer::Grade, due.map_or(soon, |due| due.min(soon)));
        }
    }

    /// Finds out how safe the tenure is now, and until when.
    pub(crate) fn review_grade(&mut self) {
        self.out.stop(Timer::Grade);
        let Some(&Tenure { token, .. }) = self.role.unoffered() else {
            return;
        };
        let before = self.grade();
        let now = self.context.now();
        let (grade, until) = self.find_grade(token);
        self.support.set_grade(grade, until, self.roster());
        if grade != Grade::Alone {
            self.out.set(Timer::Grade, until.max(now));
        }
        self.tell_grade(token, grade);
        if grade != before {
            self.review_once();
        }
    }

    /// For how long a view has to last before people are told of it.
    pub(crate) fn view_settles(&self) -> Duration {
        let answered = self.context.constants().take_timeout;
        answered.max(self.context.constants().heartbeat / 4)
    }

    /// Tells people of another grade.
    fn tell_grade(&mut self, token: Token, grade: Grade) {
        let (now, settles) = (self.context.now(), self.view_settles());
        match self.support.news(token, now, settles) {
            News::Old => {}
            News::NotYet(at) => self.out.set(Timer::Grade, at),
            News::New => self.event(Event::GradeChanged { grade, token }),
        }
    }

    fn find_grade(&mut self, token: Token) -> (Grade, Instant) {
        let now = self.context.now();
        let roster = self.roster();
        let own = usize::from(self.may_vote_for(token, self.me(), roster));
        let majority = roster / 2 + 1;
        // Who knows nobody, and was not told that there is nobody, cannot know.
        let known = roster > 1 || self.expected().is_some();
        if known {
            let alone = self.lease_until();
            let others = majority.saturating_sub(own);
            let end = self.support.promised_by(token, others, alone);
            if let Some(end) = end.filter(|&end| end > now) {
                return (Grade::Quorum, end);
            }
        }
        let end = self.view_until(token).filter(|_| own == 1);
        end.filter(|&end| end > now)
            .map_or((Grade::Alone, now), |end| (Grade::View, end))
    }

    /// Until when all members that were heard lately have promised; `None` if one has not, or none
    /// was heard. Who falls silent is not waited for until its promise ends.
    fn view_until(&self, token: Token) -> Option<Instant> {
        self.support.promised_by_all(token, self.others_heard())
    }

    /// The members that were heard lately, but for this node.
    fn others_heard(&self) -> impl Iterator<Item = MacAddr> {
        let lately = self
            .context
            .now()
            .before(self.promise_lasts(self.roster()) / 2);
        let members = self.table.members().iter().zip(self.table.peers());
        let heard = members.filter(move |(member, peer)| {
            !self.is_own(member.mac) && peer.last_seen().is_some_and(|seen| seen >= lately)
        });
        heard.map(|(member, _)| member.mac)
    }

    /// How many other members must confirm a [`Grade::View`]: those that were heard lately.
    #[must_use]
    pub fn heard_lately(&self) -> usize {
        self.others_heard().count()
    }

    /// A grade ends when the promises do. Called before anything else that an input does.
    pub(crate) fn expire_grade(&mut self) {
        if self.out.take_due(Timer::Grade, self.context.now()) {
            self.review_grade();
        }
    }

    /// Members that were not known when the grade was found out make the majority larger.
    pub(crate) fn recount(&mut self) {
        if self.support.is_miscounted(self.roster()) {
            self.review_grade();
        }
    }

    /// Asks the members to confirm the tenure now, instead of at the next heartbeat, if it may ask;
    /// not again within TAKE_TIMEOUT.
    pub(crate) fn ask_to_confirm(&mut self) {
        let Some(&Tenure { token, .. }) = self.role.unoffered() else {
            return;
        };
        if !self.may_vote_for(token, self.me(), self.roster()) {
            // Nobody promises anything for that.
            return;
        }
        let asked = self.support.last_left_at(token);
        let pause = self.context.constants().take_timeout;
        if asked.is_none_or(|at| self.context.now().since(at) >= pause) {
            self.token_is_here(MacAddr::BROADCAST);
        }
    }

    /// How safe the token is that is held here; [`Grade::Alone`] if none is.
    #[must_use]
    pub fn grade(&self) -> Grade {
        self.confirmed().map_or(Grade::Alone, |(grade, _)| grade)
    }

    /// Until when the [grade](Self::grade) holds if nobody confirms the tenure again; `None`: it is
    /// [`Grade::Alone`].
    #[must_use]
    pub fn grade_until(&self) -> Option<Instant> {
        self.confirmed().map(|(_, until)| until)
    }

    /// How many members confirm the tenure of this node, itself included, as far as it may.
    #[must_use]
    pub fn votes(&self) -> Votes {
        let now = self.context.now();
        let ring = self.roster();
        let mut confirmed = 0;
        if let Role::Owner(tenure) = self.role {
            confirmed += usize::from(self.may_vote_for(tenure.token, self.me(), ring));
            confirmed += self.support.confirmed(tenure.token, now);
        }
        Votes {
            confirmed,
            ring,
            quorum: ring / 2 + 1,
        }
    }

    fn confirmed(&self) -> Option<(Grade, Instant)> {
        let Role::Owner(tenure) = self.role else {
            return None;
        };
        let grade = self.support.grade(tenure.token);
        grade.filter(|_| self.may_use_token())
    }
}
