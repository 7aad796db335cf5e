//! Which of two owners gives way: members that confirm a tenure come before the strength of its token.

use std::time::Duration;

use ring_codec::lab2::{Backing, MAX_PROGRESS, Token};

use super::Confidence;
use crate::lab2::Grade;
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Context, Writer};
use crate::lab2::tenure::Tenure;
use crate::time::Instant;

/// Whether an owner with the first backing outbids a stronger token of an owner that tells this of its own. A
/// quorum is the only one of its ring. Less than a quorum outbids only tokens that no program has seen: its own
/// program could not go on under an older fencing token.
const fn outranks(own: Backing, theirs: Option<Backing>) -> bool {
    match own {
        Backing::Quorum => !matches!(theirs, Some(Backing::Quorum)),
        Backing::Confirmed => matches!(theirs, Some(Backing::Unused)),
        Backing::Used | Backing::Unused => false,
    }
}

/// What an owner remembers of other owners. It belongs to the tenure of the token that it names.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Contest {
    /// The token that is held, and the one under which its tenure began: others were outbid since.
    carried: Option<(Token, Token)>,
    /// The token that is held, and when the owner of a weaker one first told that it is better backed.
    outranked: Option<(Token, Instant)>,
    /// The token that is held, and when a stronger one was first told of to this node alone.
    told: Option<(Token, Instant)>,
}

impl Contest {
    /// What the future depends on: only applications are told of what was outbid.
    pub(super) fn snapshot(&self, writer: &mut Writer, token: Token, period: Duration) {
        let Self {
            carried: _,
            outranked,
            told,
        } = self;
        let since = |of: Option<(Token, Instant)>| {
            let of = of.filter(|&(of, _)| of == token);
            of.map(|(_, at)| at)
        };
        writer.age_up_to(since(*outranked), period / 2);
        writer.age_up_to(since(*told), 2 * period);
    }
}

/// Since when something holds of the tenure with this token: from now on, if it did not.
fn since(of: &mut Option<(Token, Instant)>, token: Token, now: Instant) -> Instant {
    let before = of.filter(|&(of, _)| of == token);
    of.insert(before.unwrap_or((token, now))).1
}

impl Confidence {
    /// Returns how a tenure is backed; `None`: its token is offered.
    pub(crate) fn backing(&self, context: &Context, tenure: &Tenure) -> Option<Backing> {
        if tenure.offer().is_some() {
            return None;
        }
        let (token, now) = (tenure.token(), context.now());
        if self.support.confirmed(token, now) == 0 {
            return Some(if tenure.is_used() {
                Backing::Used
            } else {
                Backing::Unused
            });
        }
        let grade = self.support.grade(token);
        let has_quorum = grade.is_some_and(|(grade, until)| grade == Grade::Quorum && until > now);
        Some(if has_quorum {
            Backing::Quorum
        } else {
            Backing::Confirmed
        })
    }

    /// Returns whether this owner outbids the stronger token of another, of whose backing it was told this.
    pub(crate) fn outbids(
        &self,
        context: &Context,
        tenure: &Tenure,
        (other, theirs): (Token, Option<Backing>),
    ) -> bool {
        let own = self.backing(context, tenure);
        let outranks = own.is_some_and(|own| outranks(own, theirs));
        outranks && !other.same_chain(&tenure.token()) && other.progress < MAX_PROGRESS
    }

    /// Returns whether this owner, which members confirm, is told of a stronger token by a frame to it alone. That does
    /// not tell how its owner is backed, whose next heartbeat does; if that does not come, it cannot be heard here.
    pub(crate) fn awaits_backing(
        &mut self,
        context: &Context,
        tenure: &Tenure,
        (envelope, stronger): (Envelope, Token),
    ) -> bool {
        let is_confirmed = self.backing(context, tenure) >= Some(Backing::Confirmed);
        if envelope.broadcast || !is_confirmed || stronger.same_chain(&tenure.token()) {
            return false;
        }
        let now = context.now();
        let told = since(&mut self.contest.told, tenure.token(), now);
        now.since(told) < 2 * context.constants().heartbeat
    }

    /// Returns whether this owner gives way to a weaker token, whose owner is better backed and has had the time to
    /// outbid this one. Its answers do not get there.
    pub(crate) fn is_outranked(
        &mut self,
        context: &Context,
        tenure: &Tenure,
        (envelope, weaker): (Envelope, Token),
    ) -> bool {
        let own = self.backing(context, tenure);
        let theirs = envelope.backing.zip(own);
        if !theirs.is_some_and(|(theirs, own)| outranks(theirs, Some(own)))
            || weaker.same_chain(&tenure.token())
        {
            return false;
        }
        let now = context.now();
        let outranked = since(&mut self.contest.outranked, tenure.token(), now);
        now.since(outranked) >= context.constants().heartbeat / 2
    }

    /// A tenure goes on with a token that outdoes another owner's, as far as members and applications are
    /// concerned: members have promised their help to this node, and it has offered its token to nobody.
    pub(crate) fn carry_on(&mut self, context: &Context, old: Token, minted: Token) {
        self.support.rename(old, minted);
        if self.is_free_for(context, old, context.me()) {
            // What was promised to an earlier owner of the old chain ended when that chain came here.
            self.promise = None;
        }
        self.contest.carried = Some((minted, self.began_with(old)));
    }

    /// Returns the token under which the tenure of this one began.
    pub(crate) fn began_with(&self, token: Token) -> Token {
        let carried = self.contest.carried;
        let carried = carried.filter(|&(held, _)| held == token);
        carried.map_or(token, |(_, first)| first)
    }
}
