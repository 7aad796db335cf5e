//! Read access to the state machine, for status and tests.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Token, Version};

use super::timer::Timer;
use crate::lab2::tenure::Tenure;
use crate::lab2::{Constants, Diagnostic, Difference, HolderProgram, Lab2, State};
use crate::time::Instant;

/// Whether a member takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// It was heard recently.
    Alive,
    /// It was not heard recently, or never.
    Silent,
    /// It has sent LEAVING, and no frame since.
    Left,
    /// It is heard, and says that it hears no member.
    Deaf,
    /// It is heard, but owns nothing.
    Paused,
}

impl Presence {
    /// Returns the name that users see.
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

/// A member, as people see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberView {
    /// Its MAC address.
    pub mac: MacAddr,
    /// Its IP address: IPv6, IPv4 mapped, or `::`.
    pub ip: [u8; 16],
    /// How many more rotations pass it over.
    pub penalty: u32,
    /// Whether it takes part, but owns nothing.
    pub paused: bool,
    /// Whether it takes part.
    pub presence: Presence,
    /// When its last frame came; `None` if none has. For this node itself, the present.
    pub last_seen: Option<Instant>,
    /// The options that differ from this node's although all members must agree; `None` if none do.
    pub differs: Option<Difference>,
    /// Its version, if it has announced one.
    pub version: Option<Version>,
}

impl Lab2 {
    /// Whether an address is this node's.
    pub fn is_own(&self, mac: MacAddr) -> bool {
        self.context.is_own(mac)
    }

    /// Returns the constants in force.
    pub fn constants(&self) -> &Constants {
        self.context.constants()
    }

    /// Returns the state.
    pub fn state(&self) -> State {
        self.role.state()
    }

    /// Returns the token held, or the strongest known one if none is held.
    pub fn token(&self) -> Option<Token> {
        let held = self.role.tenure().map(Tenure::token);
        held.or(self.known.token())
    }

    /// Whether the node is OWNER and may use the token: it does not offer the token, has not left, and may own it.
    pub fn may_use_token(&self) -> bool {
        !self.has_left() && self.may_own() && self.role.unoffered().is_some()
    }

    /// Returns the token if an application may be granted it now: the node [may use it](Self::may_use_token), and no
    /// other application relies on an earlier one any longer ([`reliable_from`](Self::reliable_from)).
    pub fn grantable_token(&self, now: Instant) -> Option<Token> {
        let settled = self.reliable_from().is_some_and(|at| at <= now);
        self.token().filter(|_| settled && self.may_use_token())
    }

    /// Returns from when on an application may rely on the token; `None` if the link was never up.
    pub fn reliable_from(&self) -> Option<Instant> {
        // An owner that this node has never heard may have told its application to rely on its token for the longest
        // WAITER_TIMEOUT of all members. And the giver of a token that was acknowledged too late may have minted
        // another one.
        let context = &self.context;
        let settled = context.up_since()? + self.members.longest_waiter_timeout(context);
        let tenure = self.role.tenure();
        let unsettled = tenure.and_then(|tenure| tenure.unsettled_until(context));
        Some(unsettled.map_or(settled, |until| until.max(settled)))
    }

    /// Returns until when no other application is granted the token held here, whatever happens to this node; `None` if
    /// no token is held.
    pub fn lease_until(&self) -> Option<Instant> {
        let held = self.role.tenure().is_some();
        self.out.due(Timer::Lease).filter(|_| held)
    }

    /// Whether another member has asked for the token and has not had it since.
    pub fn is_wanted(&self) -> bool {
        self.members.is_wanted(&self.context)
    }

    /// Returns the holder of the token, as far as this node knows.
    pub fn owner(&self) -> Option<MacAddr> {
        self.known.owner()
    }

    /// Returns the data of the strongest known token.
    pub fn data(&self) -> &[u8] {
        self.known.data()
    }

    /// Returns heardAboutToken: when the token was last heard of.
    pub fn heard_about_token(&self) -> Option<Instant> {
        self.known.heard()
    }

    /// Returns the member table in the order of MAC addresses.
    pub fn members(&self) -> impl ExactSizeIterator<Item = MemberView> {
        let (context, members) = (&self.context, &self.members);
        let alive = context.now().before(members.silent_after(context));
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
            } else if self.diagnostics.is_reported_deaf(context, members, mac) {
                Presence::Deaf
            } else if paused {
                Presence::Paused
            } else {
                Presence::Alive
            };
            let differs = members.difference_to(context, mac);
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

    /// Returns how many members take part, this node included, as far as it can tell.
    pub fn present_members(&self) -> usize {
        self.members.present_members(&self.context)
    }

    /// Returns the largest number of members that any member expects; 0 if no member expects a number.
    pub fn expected_members(&self) -> usize {
        self.members.expected(&self.context).unwrap_or(0)
    }

    /// Returns the silent members in the order of the table. For a member that was never heard, the time counts from
    /// the first table that listed it.
    pub fn silent_members(&self) -> impl Iterator<Item = MacAddr> {
        self.diagnostics
            .silent_members(&self.context, &self.members)
    }

    /// Whether this node announces to be deaf: it has heard no frame for a certain time.
    pub fn is_deaf(&self) -> bool {
        self.members.is_deaf(&self.context)
    }

    /// Returns the shortest WAITER_TIMEOUT in the ring, as far as this node knows. This long after its last heartbeat
    /// an OWNER may be replaced.
    pub fn shortest_waiter_timeout(&self) -> Duration {
        self.members.shortest_waiter_timeout(&self.context)
    }

    /// Returns the present problems.
    pub fn problems(&self) -> impl Iterator<Item = Diagnostic> {
        let own = (self.token(), self.is_apart());
        self.diagnostics.problems(&self.context, &self.members, own)
    }

    /// Returns the program that holds the token, as its owner has announced.
    pub fn work(&self) -> Option<&HolderProgram> {
        if self.state() == State::Owner {
            self.diagnostics.own_work()
        } else {
            self.diagnostics.work_of(self.owner())
        }
    }

    /// Returns the size and hash of the member table.
    pub fn digest(&self) -> Digest {
        self.members.digest()
    }
}
