//! Which of two owners gives way: members that confirm a tenure come before the strength of its token
//! (`docs/protocol.md`, "Backing").

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Backing, MAX_PROGRESS, Profile, Token};

use crate::lab2::election::rivals::LEAD;
use crate::lab2::machine::input::Envelope;
use crate::lab2::machine::outbox::Content;
use crate::lab2::machine::snapshot::Writer;
use crate::lab2::tenure::role::{Role, Tenure};
use crate::lab2::{Grade, Lab2, Reason};
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
pub(crate) struct Contest {
    /// The token that is held, and the one under which its tenure began: others were outbid since.
    carried: Option<(Token, Token)>,
    /// The token that is held, and when the owner of a weaker one first told that it is better backed.
    outranked: Option<(Token, Instant)>,
    /// The token that is held, and when a stronger one was first told of to this node alone.
    told: Option<(Token, Instant)>,
}

impl Contest {
    /// What the future depends on: only applications are told of what was outbid.
    pub(crate) fn snapshot(&self, writer: &mut Writer, token: Option<Token>, period: Duration) {
        let Self {
            carried: _,
            outranked,
            told,
        } = self;
        let since = |of: Option<(Token, Instant)>| {
            let of = of.filter(|&(of, _)| Some(of) == token);
            of.map(|(_, at)| at)
        };
        writer.age_up_to(since(*outranked), period / 2);
        writer.age_up_to(since(*told), 2 * period);
    }
}

impl Lab2 {
    /// Returns how the tenure of this node is backed; `None` if there is none, or its token is offered.
    pub(crate) fn backing(&self) -> Option<Backing> {
        let tenure = self.role.unoffered()?;
        let (token, now) = (tenure.token, self.context.now());
        if self.support.confirmed(token, now) == 0 {
            return Some(if tenure.is_used {
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

    /// Adds to a profile's flags how the tenure is backed, in a heartbeat.
    pub(crate) fn with_backing(&self, flags: u8, content: Content) -> u8 {
        let backing = match content {
            Content::TokenIsHere(_) => self.backing(),
            Content::Elected(_) if !self.want => Some(Backing::Unused),
            _ => None,
        };
        backing.map_or(flags, |backing| Profile::with_backing(flags, backing))
    }

    /// Returns whether this owner outbids the stronger token of another, of whose backing it was told this.
    pub(crate) fn outbids(&self, tenure: &Tenure, other: Token, theirs: Option<Backing>) -> bool {
        let outranks = self.backing().is_some_and(|own| outranks(own, theirs));
        outranks && !other.same_chain(&tenure.token) && other.progress < MAX_PROGRESS
    }

    /// Returns whether this owner, which members confirm, is told of a stronger token by a frame to it alone. That does
    /// not tell how its owner is backed, whose next heartbeat does; if that does not come, it cannot be heard here.
    pub(crate) fn awaits_backing(
        &mut self,
        envelope: Envelope,
        stronger: Token,
        tenure: &Tenure,
    ) -> bool {
        let is_confirmed = self.backing() >= Some(Backing::Confirmed);
        if envelope.broadcast || !is_confirmed || stronger.same_chain(&tenure.token) {
            return false;
        }
        let now = self.context.now();
        let before = self.contest.told.filter(|&(of, _)| of == tenure.token);
        let (_, since) = *self
            .contest
            .told
            .insert(before.unwrap_or((tenure.token, now)));
        now.since(since) < 2 * self.context.constants().heartbeat
    }

    /// Goes on with a token that outdoes another owner's, in the same tenure as far as members and applications are
    /// concerned: members have promised their help to this node, and it has offered its token to nobody.
    pub(crate) fn carry_on(&mut self, tenure: &Tenure, other: Token) {
        let old = tenure.token;
        let minted = self.mint(other.progress.saturating_add(LEAD));
        self.support.rename(old, minted);
        if self.is_free_for(old, self.me()) {
            // What was promised to an earlier owner of the old chain ended when that chain came here.
            self.promise = None;
        }
        if let Some(once) = &mut self.jobs.once
            && once.token == old
        {
            once.token = minted;
        }
        self.contest.carried = self.tenure_began_with().map(|first| (minted, first));
        let renewed = tenure.renewed(minted, self.outlived(tenure.ack));
        self.change(Role::Owner(renewed), Reason::StrongerToken, Some(minted));
        self.on_heartbeat_due();
    }

    /// Returns whether this owner gives way to a weaker token, whose owner is better backed and has had the time to
    /// outbid this one. Its answers do not get there.
    pub(crate) fn is_outranked(
        &mut self,
        envelope: Envelope,
        weaker: Token,
        tenure: &Tenure,
    ) -> bool {
        let own = self.backing();
        let theirs = envelope.backing.zip(own);
        if !theirs.is_some_and(|(theirs, own)| outranks(theirs, Some(own)))
            || weaker.same_chain(&tenure.token)
        {
            return false;
        }
        let (now, period) = (self.context.now(), self.context.constants().heartbeat);
        let before = self.contest.outranked.filter(|&(of, _)| of == tenure.token);
        let (_, since) = *self
            .contest
            .outranked
            .insert(before.unwrap_or((tenure.token, now)));
        now.since(since) >= period / 2
    }

    /// Whether this node has promised its help to that tenure, and the promise has not ended.
    pub(crate) fn is_bound_to(&self, token: Token, holder: MacAddr) -> bool {
        self.promise.is_some_and(|promise| {
            let is_this = promise.token == token && promise.holder == holder;
            is_this && promise.until > self.context.now()
        })
    }

    /// Whether a lock that was granted under this token is still good, as far as the tenure is concerned.
    #[must_use]
    pub fn carries(&self, token: Token) -> bool {
        self.role.unoffered().is_some() && self.has_held(token)
    }

    /// Whether this is the token that is held, be it offered, or one that it took the place of in the same tenure.
    #[must_use]
    pub fn has_held(&self, token: Token) -> bool {
        let Role::Owner(tenure) = &self.role else {
            return false;
        };
        token.is_between(&self.first_of(tenure), &tenure.token)
    }

    /// Returns the token under which the tenure began, which is not [the one held](Self::token) if this node has
    /// outbid another owner since: a lock that was granted under it, or under any since, is still good.
    #[must_use]
    pub fn tenure_began_with(&self) -> Option<Token> {
        let tenure = self.role.unoffered()?;
        Some(self.first_of(tenure))
    }

    fn first_of(&self, tenure: &Tenure) -> Token {
        let carried = self.contest.carried;
        let carried = carried.filter(|&(held, _)| held == tenure.token);
        carried.map_or(tenure.token, |(_, first)| first)
    }
}
