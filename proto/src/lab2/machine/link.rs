//! The interface's ups and downs.

use std::hash::Hash;

use ring_codec::MacAddr;
use ring_codec::lab2::NO_IP;

use super::outbox::Content;
use super::snapshot::Writer;
use super::timer::Timer;
use crate::LinkState;
use crate::lab2::election::Search;
use crate::lab2::members::Members;
use crate::lab2::tenure::Role;
use crate::lab2::{Event, Lab2, Reason, State};
use crate::time::Instant;

/// The interface as the machine was last told.
#[derive(Debug, Clone, Copy)]
pub(super) enum Link {
    /// Nothing is known of it, not even the own address.
    NeverUp,
    /// Nothing can be sent. This is what it was like when it was last up.
    Down(Interface),
    Up(Interface),
}

/// What an interface is like that is up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interface {
    mac: MacAddr,
    ip: [u8; 16],
    mtu: usize,
    /// Since when it is up.
    since: Instant,
}

impl Link {
    pub(super) const fn is_up(&self) -> bool {
        matches!(self, Self::Up(_))
    }

    /// What the interface is like, or was when it was last up.
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

    /// When it last came up.
    pub(super) fn up_since(&self) -> Option<Instant> {
        self.interface().map(|interface| interface.since)
    }

    /// What the future depends on.
    pub(super) fn snapshot(&self, writer: &mut Writer) {
        (self.is_up(), self.interface().is_some()).hash(writer);
        if let Some(Interface {
            mac,
            ip,
            mtu,
            // Which only people and applications are told of.
            since: _,
        }) = self.interface()
        {
            (mac, ip, mtu).hash(writer);
        }
    }

    /// Goes down, and says whether it was up.
    fn fall(&mut self) -> bool {
        let Self::Up(interface) = *self else {
            return false;
        };
        *self = Self::Down(interface);
        true
    }
}

impl Lab2 {
    pub(super) fn link_changed(&mut self, link: LinkState) {
        if self.is_finished() {
            return;
        }
        match link {
            LinkState::Down => self.link_lost(),
            LinkState::Up { mac, ip, mtu } => {
                if !self.is_own(mac) {
                    self.link_lost();
                    if self.is_finished() {
                        return;
                    }
                    self.take_address(mac);
                }
                self.link_is_like(mac, ip, mtu);
            }
        }
    }

    fn link_is_like(&mut self, mac: MacAddr, ip: [u8; 16], mtu: usize) {
        let before = match self.context.link {
            Link::Up(interface) => Some(interface),
            Link::NeverUp | Link::Down(_) => None,
        };
        self.context.link = Link::Up(Interface {
            mac,
            ip,
            mtu,
            since: before.map_or(self.context.now(), |before| before.since),
        });
        let moved = self.members.set_own_ip(&self.context);
        let Some(before) = before else {
            return self.link_found();
        };
        if moved {
            self.event(Event::MemberMoved { mac, ip });
            self.broadcast(Content::Ping);
        }
        if before.mtu != mtu {
            self.diagnostics.note_new_mtu();
            self.broadcast(if Members::is_too_small_to_say(&self.context) {
                Content::WhereIsToken
            } else {
                Content::Ping
            });
            self.fit_data();
        }
    }

    /// Frames can be sent, and could not be until now.
    fn link_found(&mut self) {
        self.members.begin_to_hear(self.context.up_since());
        if self.fitness.is_unfit() {
            self.timer_in(Timer::Probe, self.context.waiter_timeout());
        }
        self.known.forget_heartbeat();
        self.ask();
        self.say_want();
        if self.fitness.is_unstored() || self.fitness.is_apart() {
            self.out.set(Timer::Store, self.context.now());
        }
    }

    /// Nothing can be sent: an OWNER cannot keep the token alive, so it has none. The node is a
    /// silent LOOSER until the link is back.
    fn link_lost(&mut self) {
        if !self.context.link.fall() {
            return;
        }
        self.out.outbox.clear();
        self.diagnostics.note_link_lost(&mut self.out);
        if self.state() == State::Looser {
            self.role = Role::Looser(Search::default());
            self.set_owner(None);
        } else {
            self.enter_looser(Reason::LinkLost, self.token());
        }
        self.review_jobs();
        self.out.stop_all();
        if self.is_shutting_down() {
            self.finish();
        }
    }

    /// The interface has an address that it did not have before.
    fn take_address(&mut self, mac: MacAddr) {
        if let Some(old) = self.context.mac() {
            self.members.leave_address(&self.context, old);
            // Else the others wait for a member that is none any longer.
            self.broadcast(Content::Left(old));
            // Under its old address it may have promised something: it is not to be counted twice.
            self.context.start_anew();
            self.diagnostics.note_new_address();
        }
        // What a node says of itself under an address that is its own now binds nobody.
        if self.members.forget_profile(mac) {
            self.review_constants();
        }
        if self.members.take_address(mac) {
            let members = self.members.len();
            self.event(Event::MemberAdded { mac, members });
        }
    }

    /// Whether frames can be sent.
    pub fn is_link_up(&self) -> bool {
        self.context.is_up()
    }
}
