//! The state of the link, and the effects of an interface that comes up, goes down or changes.

use std::hash::Hash;

use ring_codec::MacAddr;
use ring_codec::lab2::NO_IP;

use super::outbox::Content;
use super::snapshot::Writer;
use super::timer::Timer;
use crate::LinkState;
use crate::lab2::election::Search;
use crate::lab2::locks::LocksInput;
use crate::lab2::members::Members;
use crate::lab2::tenure::Role;
use crate::lab2::{Event, Lab2, Reason, State};
use crate::time::Instant;

/// The interface at the time of the last link event.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(super) enum Link {
    /// The link was never up, so this node does not know its own address.
    NeverUp,
    /// Frames cannot be sent. Contains the properties of the interface from the time when the link was last up.
    Down(Interface),
    Up(Interface),
}

/// Properties of an interface that is up.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(super) struct Interface {
    mac: MacAddr,
    ip: [u8; 16],
    mtu: usize,
    since: Instant,
}

impl Link {
    pub(super) const fn is_up(&self) -> bool {
        matches!(self, Self::Up(_))
    }

    /// Returns the interface's properties. While the link is down, returns the properties of the interface from the
    /// time when the link was last up.
    const fn interface(&self) -> Option<&Interface> {
        match self {
            Self::NeverUp => None,
            Self::Down(interface) | Self::Up(interface) => Some(interface),
        }
    }

    pub(super) fn mac(&self) -> Option<MacAddr> {
        self.interface().map(|interface| interface.mac)
    }

    pub(super) fn ip(&self) -> [u8; 16] {
        self.interface().map_or(NO_IP, |interface| interface.ip)
    }

    pub(super) fn mtu(&self) -> usize {
        self.interface().map_or(0, |interface| interface.mtu)
    }

    pub(super) fn up_since(&self) -> Option<Instant> {
        self.interface().map(|interface| interface.since)
    }

    pub(super) fn snapshot(&self, writer: &mut Writer) {
        (self.is_up(), self.interface().is_some()).hash(writer);
        if let Some(Interface {
            mac,
            ip,
            mtu,
            // Only reports and grants of locks depend on this time.
            since: _,
        }) = self.interface()
        {
            (mac, ip, mtu).hash(writer);
        }
    }

    /// Marks the link as down. Returns whether the link was up before.
    fn go_down(&mut self) -> bool {
        let Self::Up(interface) = *self else {
            return false;
        };
        *self = Self::Down(interface);
        true
    }
}

impl Lab2 {
    pub(super) fn on_link_changed(&mut self, link: LinkState) {
        if self.is_finished() {
            return;
        }
        match link {
            LinkState::Down => self.on_link_down(),
            LinkState::Up { mac, ip, mtu } => {
                // A node with another address is another member, so it cannot keep the token, its requests or its
                // promises.
                if !self.is_own(mac) {
                    self.on_link_down();
                    if self.is_finished() {
                        return;
                    }
                    self.adopt_address(mac);
                }
                self.on_link_up(mac, ip, mtu);
            }
        }
    }

    fn on_link_up(&mut self, mac: MacAddr, ip: [u8; 16], mtu: usize) {
        let before = match self.context.link {
            Link::Up(interface) => Some(interface),
            Link::NeverUp | Link::Down(_) => None,
        };
        self.context.link = Link::Up(Interface {
            mac,
            ip,
            mtu,
            // A change of the IP address or MTU does not interrupt the link.
            since: before.map_or(self.context.now(), |before| before.since),
        });
        let moved = self.members.set_own_ip(&self.context);
        let Some(before) = before else {
            return self.on_link_came_up();
        };
        // Members accept a new IP address only from its owner, so no other frame would correct the tables.
        if moved {
            self.event(Event::MemberMoved { mac, ip });
            self.broadcast(Content::Ping);
        }
        if before.mtu != mtu {
            self.diagnostics.note_new_mtu();
            // If the MTU is smaller now, longer frames of the members do not arrive, so the node announces it at once.
            // WHERE_IS_TOKEN is shorter than PING.
            self.broadcast(if Members::is_mtu_too_small_for_ping(&self.context) {
                Content::WhereIsToken
            } else {
                Content::Ping
            });
            self.fit_data();
        }
    }

    /// Begins the search for the token after the link comes up. The node asks for the token at once.
    fn on_link_came_up(&mut self) {
        self.members.on_link_up(self.context.up_since());
        if self.fitness.is_unfit() {
            self.timer_in(Timer::Probe, self.context.waiter_timeout());
        }
        // A heartbeat from before the interruption says nothing about the present owner.
        self.known.forget_heartbeat();
        self.ask_for_token();
        self.request_token();
        if self.fitness.is_unstored() || self.fitness.is_apart() {
            self.out.set(Timer::Store, self.context.now());
        }
    }

    /// Makes the node a LOOSER that sends no frames until the link is up again.
    fn on_link_down(&mut self) {
        if !self.context.link.go_down() {
            return;
        }
        // Frames from before the interruption may be wrong when the link is back, so they are dropped.
        self.out.outbox.clear();
        self.locks.drop_frames();
        self.diagnostics.note_link_lost(&mut self.out);
        // An OWNER without heartbeats would be replaced, so it gives the token up. A LOOSER does not change its state,
        // but begins a new search.
        if self.state() == State::Looser {
            self.role = Role::Looser(Search::default());
            self.set_owner(None);
        } else {
            self.enter_looser(Reason::LinkLost, self.token());
        }
        self.review_jobs();
        // The node can neither send nor hear, so no deadline has a meaning.
        self.out.stop_all();
        self.survey.abort(&self.context);
        if self.is_shutting_down() {
            self.finish();
        } else {
            // The leases of locks end even without a link.
            self.handle_locks_input(LocksInput::TenureChanged);
        }
    }

    /// Adopts a new address. Under its old address, the node leaves the ring.
    fn adopt_address(&mut self, mac: MacAddr) {
        if let Some(old) = self.context.mac() {
            self.members.leave_address(&self.context, old);
            // Without LEAVING, the other members would wait for a member that no longer exists.
            self.broadcast(Content::LeavingOld(old));
            // The node may have given a promise under its old address. A new promise would count it twice.
            self.context.restart_clock();
            self.diagnostics.note_new_address();
        }
        // If the table has a profile under the new address, the profile belongs to this node. It must not count as the
        // profile of another member.
        if self.members.forget_profile(mac) {
            self.review_constants();
        }
        if self.members.adopt_address(mac) {
            let members = self.members.len();
            self.event(Event::MemberAdded { mac, members });
        }
    }

    /// Whether the link is up.
    pub fn is_link_up(&self) -> bool {
        self.context.is_up()
    }
}
