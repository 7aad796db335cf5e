//! The machine as status and tests see it.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Token, Version};

use super::timer::Timer;
use crate::lab2::tenure::Tenure;
use crate::lab2::{Constants, Difference, Lab2, State, Trouble, Work};
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
    pub fn is_own(&self, mac: MacAddr) -> bool {
        self.context.is_own(mac)
    }

    /// The constants in force.
    pub fn constants(&self) -> &Constants {
        self.context.constants()
    }

    /// The state.
    pub fn state(&self) -> State {
        self.role.state()
    }

    /// The token held, or else the strongest known.
    pub fn token(&self) -> Option<Token> {
        let held = self.role.tenure().map(Tenure::token);
        held.or(self.known.token())
    }

    /// Whether the node is OWNER and may use the token: it has not begun to pass it on, has not
    /// left, and is not paused.
    pub fn may_use_token(&self) -> bool {
        !self.has_left() && !self.owns_nothing() && self.role.unoffered().is_some()
    }

    /// The token, if an application may be granted it now: the node [may use it](Self::may_use_token), and
    /// nobody else relies on it any longer, as [`settled_at`](Self::settled_at) has it.
    pub fn grantable(&self, now: Instant) -> Option<Token> {
        let settled = self.settled_at().is_some_and(|at| at <= now);
        self.token().filter(|_| settled && self.may_use_token())
    }

    /// From when on an application may rely on the token: an owner that was there before this node
    /// could hear anything, and is stopped or dead by now, may have told its own to rely on its token
    /// for WAITER_TIMEOUT, the longest of all members'. And a token that was acknowledged too late, or is not
    /// yet, may have been given up before. `None`: the link was never up.
    pub fn settled_at(&self) -> Option<Instant> {
        let context = &self.context;
        let settled = context.up_since()? + self.members.longest_patience(context);
        let tenure = self.role.tenure();
        let unsettled = tenure.and_then(|tenure| tenure.unsettled_until(context));
        Some(unsettled.map_or(settled, |until| until.max(settled)))
    }

    /// Until when nobody else is granted the token that is held here, whatever happens to this
    /// node; `None` if it holds none.
    pub fn lease_until(&self) -> Option<Instant> {
        let held = self.role.tenure().is_some();
        self.out.due(Timer::Lease).filter(|_| held)
    }

    /// Whether another member has asked for the token and has not had it since.
    pub fn is_wanted(&self) -> bool {
        self.members.is_wanted(&self.context)
    }

    /// Who holds the token as far as is known.
    pub fn owner(&self) -> Option<MacAddr> {
        self.known.owner()
    }

    /// The data of the strongest token known.
    pub fn data(&self) -> &[u8] {
        self.known.data()
    }

    /// heardAboutToken: when the token was last heard of.
    pub fn heard_about_token(&self) -> Option<Instant> {
        self.known.heard()
    }

    /// The member table in order of MAC.
    pub fn members(&self) -> impl ExactSizeIterator<Item = MemberView> {
        let (context, members) = (&self.context, &self.members);
        let alive = context.now().before(members.silence(context));
        members.in_order().map(move |(member, peer)| {
            let mac = member.mac;
            let own = context.is_own(mac);
            let paused = if own {
                self.is_paused()
            } else {
                peer.is_paused()
            };
            let presence = if peer.has_left() {
                Presence::Left
            } else if !own && !peer.was_heard_since(alive) {
                Presence::Silent
            } else if self.diagnostics.is_told_deaf(context, members, mac) {
                Presence::Deaf
            } else if paused {
                Presence::Paused
            } else {
                Presence::Alive
            };
            let differs = members.difference_of(context, mac);
            MemberView {
                mac,
                ip: member.ip,
                penalty: peer.penalty(),
                paused,
                presence,
                last_seen: if own {
                    Some(context.now())
                } else {
                    peer.last_seen()
                },
                differs: differs.filter(|_| !own),
                version: self.diagnostics.version_of(context, members, mac),
            }
        })
    }

    /// Returns how many members are there, this node included, as far as it can tell.
    pub fn present_members(&self) -> usize {
        self.members.present_members(&self.context)
    }

    /// How many members the ring is to have, as far as anybody says; 0: nobody does.
    pub fn expected_members(&self) -> usize {
        self.members.expected(&self.context).unwrap_or(0)
    }

    /// Returns the silent members other than this node, in the order of the table. For a member that was never heard, the
    /// time counts from the first table that listed it.
    pub fn silent_members(&self) -> impl Iterator<Item = MacAddr> {
        self.diagnostics
            .silent_members(&self.context, &self.members)
    }

    /// Whether nobody was heard for so long that this node says so in what it broadcasts.
    pub fn is_deaf(&self) -> bool {
        self.members.is_deaf(&self.context)
    }

    /// The shortest patience in the ring, as far as this node or a member has been told: so long after
    /// its last heartbeat an OWNER may be replaced.
    pub fn shortest_patience(&self) -> Duration {
        self.members.shortest_patience(&self.context)
    }

    /// What is wrong just now.
    pub fn troubles(&self) -> impl Iterator<Item = Trouble> {
        let own = (self.token(), self.is_apart());
        self.diagnostics.troubles(&self.context, &self.members, own)
    }

    /// Returns the program that holds the token, as far as its owner has told.
    pub fn work(&self) -> Option<&Work> {
        if self.state() == State::Owner {
            self.diagnostics.own_work()
        } else {
            self.diagnostics.work_of(self.owner())
        }
    }

    /// Size and hash of the member table.
    pub fn digest(&self) -> Digest {
        self.members.digest()
    }
}
