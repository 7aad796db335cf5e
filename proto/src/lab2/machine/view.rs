//! Read access to the state machine, for the status and for tests.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Token, Version};

use super::timer::Timer;
use crate::lab2::tenure::Tenure;
use crate::lab2::{Constants, Diagnostic, Difference, HolderProgram, HostName, Lab2, Pause, State};
use crate::time::Instant;

/// The kind of a member's presence in the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    /// The member was heard recently.
    Alive,
    /// The member was not heard for a while, or never.
    Silent,
    /// LEAVING is the last frame of the member.
    Left,
    /// This node hears the member, and the member announces that it hears no other member.
    Deaf,
    /// This node hears the member, but the member announces that it does not take the token.
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

/// A member, in a form for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberView {
    /// MAC address of the member.
    pub mac: MacAddr,
    /// IP address of the member: IPv6, IPv4 mapped to IPv6, or `::` if the member has no address.
    pub ip: [u8; 16],
    /// Number of rotations in which this node will skip the member.
    pub penalty: u32,
    /// Whether the member is paused: it takes part in the ring, but does not take the token.
    pub paused: bool,
    /// End and reason of the pause; `None` if no operator paused the member, or if the member did not announce them.
    pub pause: Option<Pause>,
    /// Preference of the member; 0 if it has none, or did not announce it.
    pub preference: u8,
    /// Presence of the member in the ring.
    pub presence: Presence,
    /// Time at which the member's last frame arrived; `None` if no frame has arrived. For this node itself, the time is
    /// the present time.
    pub last_seen: Option<Instant>,
    /// Options of the member that differ from this node's options, although they must be equal. The value is `None` if
    /// all these options are equal.
    pub differs: Option<Difference>,
    /// Version of the member's program; `None` if the member did not announce it.
    pub version: Option<Version>,
    /// Host name of the member; `None` if the member did not announce it.
    pub host_name: Option<HostName>,
}

impl Lab2 {
    /// Whether this address belongs to this node.
    pub fn is_own(&self, mac: MacAddr) -> bool {
        self.context.is_own(mac)
    }

    /// Returns the constants that the node uses now.
    pub fn constants(&self) -> &Constants {
        self.context.constants()
    }

    /// Returns the state.
    pub fn state(&self) -> State {
        self.role.state()
    }

    /// Returns the held token. If this node holds no token, returns the strongest known token.
    pub fn token(&self) -> Option<Token> {
        let held = self.role.tenure().map(Tenure::token);
        held.or(self.known.token())
    }

    /// Whether the node may use its token. Four conditions must hold: the node is OWNER, it has not offered the token,
    /// it has not left, and it may own the token.
    pub fn may_use_token(&self) -> bool {
        !self.has_left() && self.may_own() && self.role.unoffered_tenure().is_some()
    }

    /// If the node may grant its token to an application now, returns the token. Two conditions must hold: the node
    /// [may use the token](Self::may_use_token), and no other application still relies on an earlier token
    /// ([`reliable_from`](Self::reliable_from)).
    pub fn grantable_token(&self, now: Instant) -> Option<Token> {
        let settled = self.reliable_from().is_some_and(|at| at <= now);
        self.token().filter(|_| settled && self.may_use_token())
    }

    /// Returns the time from which on applications may rely on the token. Returns `None` if the link was never up.
    pub fn reliable_from(&self) -> Option<Instant> {
        // An owner that this node has never heard may have granted its token to an application, for at most the longest
        // WAITER_TIMEOUT of all members. And the giver of a token that was acknowledged too late may have minted
        // another token.
        let context = &self.context;
        let settled = context.up_since()? + self.members.longest_waiter_timeout(context);
        let tenure = self.role.tenure();
        let unsettled = tenure.and_then(|tenure| tenure.unsettled_until(context));
        Some(unsettled.map_or(settled, |until| until.max(settled)))
    }

    /// Returns the end of the lease. Before this time no other node grants a token, whatever happens to this node.
    /// Returns `None` if this node holds no token.
    pub fn lease_until(&self) -> Option<Instant> {
        let held = self.role.tenure().is_some();
        self.out.due(Timer::Lease).filter(|_| held)
    }

    /// Whether another member asked for the token and still waits for it.
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

    /// Returns heardAboutToken, the time at which the node last heard of the token.
    pub fn heard_about_token(&self) -> Option<Instant> {
        self.known.last_heard()
    }

    /// Returns the member table in the order of MAC addresses.
    pub fn members(&self) -> impl ExactSizeIterator<Item = MemberView> {
        let (context, members) = (&self.context, &self.members);
        // The limit is the same for all members, so it is computed once.
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
            // A node does not hear itself, so its own entry would look silent.
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
                pause: if own {
                    self.diagnostics.own_pause().copied()
                } else {
                    members.pause_of(mac).filter(|_| paused)
                },
                preference: if own {
                    self.context.preference()
                } else {
                    members.preference_of(mac)
                },
                presence,
                last_seen: if own {
                    Some(context.now())
                } else {
                    peer.last_seen()
                },
                differs: differs.filter(|_| !own),
                version: self.diagnostics.version_of(context, members, mac),
                host_name: self.diagnostics.host_name_of(context, members, mac),
            }
        })
    }

    /// Returns the number of members that take part, as far as this node knows. The node itself counts.
    pub fn present_members(&self) -> usize {
        self.members.present_members(&self.context)
    }

    /// Returns the largest expected number of members that any member announced. Returns 0 if no member expects a
    /// number.
    pub fn expected_members(&self) -> usize {
        self.members.expected_size(&self.context).unwrap_or(0)
    }

    /// Returns the silent members in the order of the table. If a member was never heard, its silence is measured from
    /// the first table that listed the member.
    pub fn silent_members(&self) -> impl Iterator<Item = MacAddr> {
        self.diagnostics
            .silent_members(&self.context, &self.members)
    }

    /// Whether this node announces that it is deaf, because it has heard no frame for a certain time.
    pub fn is_deaf(&self) -> bool {
        self.members.is_deaf(&self.context)
    }

    /// Returns the shortest WAITER_TIMEOUT in the ring, as far as this node knows. When an OWNER has sent no heartbeat
    /// for this time, the other members may replace it.
    pub fn shortest_waiter_timeout(&self) -> Duration {
        self.members.shortest_waiter_timeout(&self.context)
    }

    /// Returns the problems that exist now.
    pub fn problems(&self) -> impl Iterator<Item = Diagnostic> {
        let own = (self.token(), self.is_apart());
        self.diagnostics.problems(&self.context, &self.members, own)
    }

    /// Returns the program that holds the token, according to the owner's announcement.
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
