//! When two owners meet, their backing decides which of them gives way. An owner whose tenure members confirm can win
//! over an owner with a stronger token.

use std::time::Duration;

use ring_codec::lab2::{Backing, PROGRESS_MAX, Token};

use super::Confidence;
use crate::lab2::Grade;
use crate::lab2::envelope::Envelope;
use crate::lab2::machine::{Context, Writer};
use crate::lab2::tenure::Tenure;
use crate::time::Instant;

/// Whether an owner with the backing `own` outbids the owner of a stronger token. The owner of the stronger token
/// announces the backing `theirs`.
const fn does_outrank(own: Backing, theirs: Option<Backing>) -> bool {
    // A ring has at most one quorum, so an owner with a quorum outbids every other owner. A confirmed owner without a
    // quorum outbids only an owner whose token no program has used. Otherwise, that program would have to continue with
    // an outdated fencing token.
    match own {
        Backing::Quorum => !matches!(theirs, Some(Backing::Quorum)),
        Backing::Confirmed => matches!(theirs, Some(Backing::Unused)),
        Backing::Used | Backing::Unused => false,
    }
}

/// Data about competing owners. Each field begins with a token. The field is valid only while this node holds this
/// token.
#[derive(Debug, Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Competition {
    /// The held token, and the first token of the present tenure. The pair is `None` if this node outbid no other owner
    /// in the present tenure.
    continued: Option<(Token, Token)>,
    /// The held token, and the time at which the owner of a weaker token first announced a better backing.
    outranked: Option<(Token, Instant)>,
    /// The held token, and the time at which a unicast frame first named a stronger token.
    named_by_unicast: Option<(Token, Instant)>,
}

impl Competition {
    /// Writes the fields that affect rules. `continued` is omitted, because only applications use it.
    pub(super) fn snapshot(&self, writer: &mut Writer, token: Token, period: Duration) {
        let Self {
            continued: _,
            outranked,
            named_by_unicast,
        } = self;
        let since = |of: Option<(Token, Instant)>| {
            let of = of.filter(|&(of, _)| of == token);
            of.map(|(_, at)| at)
        };
        writer.age_up_to(since(*outranked), period / 2);
        writer.age_up_to(since(*named_by_unicast), 2 * period);
    }
}

/// Notes that a condition holds now. Returns the time at which the condition began to hold while this node held
/// `token`.
fn first_seen(of: &mut Option<(Token, Instant)>, token: Token, now: Instant) -> Instant {
    // A new tenure starts without a history.
    let before = of.filter(|&(of, _)| of == token);
    of.insert(before.unwrap_or((token, now))).1
}

impl Confidence {
    /// Returns the backing of a tenure. Returns `None` while this node offers its token to another member.
    pub(crate) fn backing(&self, context: &Context, tenure: &Tenure) -> Option<Backing> {
        // The member to which the token is offered may already be the owner.
        if tenure.offer().is_some() {
            return None;
        }
        let (token, now) = (tenure.token(), context.now());
        if self.confirmations.count_confirmations(token, now) == 0 {
            return Some(if tenure.is_used() {
                Backing::Used
            } else {
                Backing::Unused
            });
        }
        let grade = self.confirmations.grade(token);
        // An owner that forms a quorum without other members has no confirmations, so the earlier `return` applies to
        // it.
        let has_quorum = grade.is_some_and(|(grade, until)| grade == Grade::Quorum && until > now);
        Some(if has_quorum {
            Backing::Quorum
        } else {
            Backing::Confirmed
        })
    }

    /// Whether this owner can outbid the owner of the stronger token `other`. The other owner announces the backing
    /// `theirs`.
    pub(crate) fn can_outbid(
        &self,
        context: &Context,
        tenure: &Tenure,
        (other, theirs): (Token, Option<Backing>),
    ) -> bool {
        let own = self.backing(context, tenure);
        let does_outrank = own.is_some_and(|own| does_outrank(own, theirs));
        // A stronger token of the same chain is this node's token after further hops, so it is no rival. If the other
        // token has the largest progress, this node cannot mint a stronger token.
        does_outrank && !other.same_chain(&tenure.token()) && other.progress < PROGRESS_MAX
    }

    /// Returns whether this owner waits before it gives way to a stronger token. The owner waits if a unicast frame
    /// named the stronger token. A unicast frame does not announce the backing of the other owner.
    pub(crate) fn wait_for_backing(
        &mut self,
        context: &Context,
        tenure: &Tenure,
        (envelope, stronger): (Envelope, Token),
    ) -> bool {
        let is_confirmed = self.backing(context, tenure) >= Some(Backing::Confirmed);
        // A broadcast heartbeat would have announced the backing.
        if envelope.broadcast || !is_confirmed || stronger.same_chain(&tenure.token()) {
            return false;
        }
        // The other owner's next heartbeat announces the backing. If no heartbeat arrives within this time, the other
        // owner's broadcasts do not reach this node.
        let now = context.now();
        let named_by_unicast =
            first_seen(&mut self.competition.named_by_unicast, tenure.token(), now);
        now.since(named_by_unicast) < 2 * context.constants().heartbeat
    }

    /// Returns whether this owner must give way to an owner that has a weaker token but a better backing.
    pub(crate) fn must_give_way(
        &mut self,
        context: &Context,
        tenure: &Tenure,
        (envelope, weaker): (Envelope, Token),
    ) -> bool {
        let own = self.backing(context, tenure);
        let theirs = envelope.backing.zip(own);
        if !theirs.is_some_and(|(theirs, own)| does_outrank(theirs, Some(own)))
            || weaker.same_chain(&tenure.token())
        {
            return false;
        }
        let now = context.now();
        // After this time, the other owner would have outbid this owner. If it did not, this node's answers do not
        // reach it.
        let outranked = first_seen(&mut self.competition.outranked, tenure.token(), now);
        now.since(outranked) >= context.constants().heartbeat / 2
    }

    /// Replaces the token of a tenure by the new token `minted`. The members' promises for the old token also count for
    /// the minted token.
    pub(crate) fn continue_tenure(&mut self, context: &Context, old: Token, minted: Token) {
        self.confirmations.replace_token(old, minted);
        if self.is_free_for(context, old, context.me()) {
            // This node may have voted for an earlier owner of the old chain. That owner's tenure ended when the chain
            // came here.
            self.promise = None;
        }
        self.competition.continued = Some((minted, self.first_token(old)));
    }

    /// Returns the first token of this token's tenure.
    pub(crate) fn first_token(&self, token: Token) -> Token {
        let continued = self.competition.continued;
        let continued = continued.filter(|&(held, _)| held == token);
        continued.map_or(token, |(_, first)| first)
    }
}
