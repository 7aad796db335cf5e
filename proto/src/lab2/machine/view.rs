//! The machine as status and tests see it.

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Token, Version};

use crate::lab2::machine::timer::Timer;
use crate::lab2::tenure::role::Role;
use crate::lab2::{Constants, Difference, Lab2, State};
use crate::time::Instant;

/// Whether a member is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// It was heard not long ago.
    Alive,
    /// It was not, or never.
    Silent,
    /// It has said that it leaves, and nothing since.
    Left,
    /// It is there, and says that it hears nobody.
    Deaf,
    /// It is there, but owns nothing for now.
    Paused,
}

impl Presence {
    /// The name that users see.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Silent => "silent",
            Self::Left => "left",
            Self::Deaf => "deaf",
            Self::Paused => "paused",
        }
    }
}

/// A member as people want to see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberView {
    /// Its address on the segment.
    pub mac: MacAddr,
    /// IPv6, IPv4 mapped, or `::`.
    pub ip: [u8; 16],
    /// For how many more turns it is passed over.
    pub penalty: u32,
    /// It takes part, but owns nothing for now.
    pub paused: bool,
    /// Whether it is there.
    pub presence: Presence,
    /// When its last frame came; `None`: never, it is only heard of. For the node itself the
    /// machine's present.
    pub last_seen: Option<Instant>,
    /// In what it differs from this node although all members must agree.
    pub differs: Option<Difference>,
    /// Its version, if it has told that.
    pub version: Option<Version>,
}

impl Lab2 {
    /// Whether an address is this node's own.
    #[must_use]
    pub fn is_own(&self, mac: MacAddr) -> bool {
        self.context.is_own(mac)
    }

    /// The constants in force.
    #[must_use]
    pub fn constants(&self) -> &Constants {
        &self.context.constants()
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> State {
        self.role.state()
    }

    /// The token held, or else the strongest known.
    #[must_use]
    pub fn token(&self) -> Option<Token> {
        match self.role {
            Role::Owner(tenure) => Some(tenure.token),
            Role::Waiter(_) | Role::Looser(_) | Role::Generating(_) => self.known.token(),
        }
    }

    /// Whether the node is OWNER and may use the token: it has not begun to pass it on, has not
    /// left, and is not paused.
    #[must_use]
    pub fn may_use_token(&self) -> bool {
        !self.has_left() && !self.owns_nothing() && self.role.unoffered().is_some()
    }

    /// The token, if an application may be granted it now: the node [may use it](Self::may_use_token), and
    /// nobody else relies on it any longer, as [`settled_at`](Self::settled_at) has it.
    #[must_use]
    pub fn grantable(&self, now: Instant) -> Option<Token> {
        let settled = self.settled_at().is_some_and(|at| at <= now);
        self.token().filter(|_| settled && self.may_use_token())
    }

    /// From when on an application may rely on the token: an owner that was there before this node
    /// could hear anything, and is stopped or dead by now, may have told its own to rely on its token
    /// for WAITER_TIMEOUT, the longest of all members'. And a token that was acknowledged too late, or is not
    /// yet, may have been given up before. `None`: the link was never up.
    #[must_use]
    pub fn settled_at(&self) -> Option<Instant> {
        let settled = self.context.up_since()? + self.longest_patience();
        Some(
            self.unsettled_until()
                .map_or(settled, |until| until.max(settled)),
        )
    }

    /// Until when nobody else is granted the token that is held here, whatever happens to this
    /// node; `None` if it holds none.
    #[must_use]
    pub fn lease_until(&self) -> Option<Instant> {
        let held = matches!(self.role, Role::Owner(_));
        self.out.due(Timer::Lease).filter(|_| held)
    }

    /// Whether another member has asked for the token and has not had it since.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.table.wanting > 0
            && self
                .table
                .is_wanted_by_others(self.me(), self.alive_since())
    }

    /// Who holds the token as far as is known.
    #[must_use]
    pub fn owner(&self) -> Option<MacAddr> {
        self.owner
    }

    /// The data of the strongest token known.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        self.known.data()
    }

    /// heardAboutToken: when the token was last heard of.
    #[must_use]
    pub fn heard_about_token(&self) -> Option<Instant> {
        self.known.heard()
    }

    /// The member table in order of MAC.
    #[must_use]
    pub fn members(&self) -> impl ExactSizeIterator<Item = MemberView> {
        let order = self.table.order();
        let alive = self.context.now().before(self.silence());
        (0..self.table.len()).map(move |at| {
            let at = order.get(at).copied().unwrap_or(at);
            let (member, peer) = (&self.table.members()[at], &self.table.peers()[at]);
            let own = self.is_own(member.mac);
            let paused = if own { self.paused } else { peer.paused };
            let presence = if peer.left {
                Presence::Left
            } else if !own && !peer.was_heard_since(alive) {
                Presence::Silent
            } else if self.is_told_deaf(member.mac) {
                Presence::Deaf
            } else if paused {
                Presence::Paused
            } else {
                Presence::Alive
            };
            MemberView {
                mac: member.mac,
                ip: member.ip,
                penalty: peer.penalty.turns(),
                paused,
                presence,
                last_seen: if own {
                    Some(self.context.now())
                } else {
                    peer.last_seen()
                },
                differs: self.differs(member.mac).filter(|_| !own),
                version: self.version_of(member.mac),
            }
        })
    }

    /// Size and hash of the member table.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.table.digest()
    }
}
