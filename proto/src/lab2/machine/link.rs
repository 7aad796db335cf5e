//! The interface's ups and downs.

use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::NO_IP;

use crate::LinkState;
use crate::lab2::machine::outbox::Content;
use crate::lab2::machine::snapshot::Writer;
use crate::lab2::machine::timer::Timer;
use crate::lab2::members::table::Inserted;
use crate::lab2::tenure::role::{Role, Search};
use crate::lab2::{Event, Lab2, Reason};
use crate::time::Instant;

/// The interface as the machine was last told.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Link {
    /// Nothing is known of it, not even the own address.
    NeverUp,
    /// Nothing can be sent. This is what it was like when it was last up.
    Down(Interface),
    Up(Interface),
}

/// What an interface is like that is up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interface {
    mac: MacAddr,
    ip: [u8; 16],
    mtu: usize,
    /// Since when it is up.
    since: Instant,
}

impl Link {
    pub(crate) const fn is_up(&self) -> bool {
        matches!(self, Self::Up(_))
    }

    /// What the interface is like, or was when it was last up.
    const fn interface(&self) -> Option<&Interface> {
        match self {
            Self::NeverUp => None,
            Self::Down(interface) | Self::Up(interface) => Some(interface),
        }
    }

    pub(crate) fn mac(&self) -> Option<MacAddr> {
        self.interface().map(|interface| interface.mac)
    }

    pub(crate) fn ip(&self) -> [u8; 16] {
        self.interface().map_or(NO_IP, |interface| interface.ip)
    }

    pub(crate) fn mtu(&self) -> usize {
        self.interface().map_or(0, |interface| interface.mtu)
    }

    /// When it last came up.
    pub(crate) fn up_since(&self) -> Option<Instant> {
        self.interface().map(|interface| interface.since)
    }

    /// What the future depends on.
    pub(crate) fn snapshot(&self, writer: &mut Writer) {
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
    pub(crate) fn link_changed(&mut self, link: LinkState) {
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
        let moved = self
            .table
            .find(mac)
            .is_some_and(|at| self.table.set_ip(at, ip));
        let Some(before) = before else {
            return self.link_found();
        };
        if moved {
            self.event(Event::MemberMoved { mac, ip });
            self.broadcast(Content::Ping);
        }
        if before.mtu != mtu {
            self.troubles.reach.refused = None;
            self.broadcast(if self.is_too_small_to_say() {
                Content::WhereIsToken
            } else {
                Content::Ping
            });
            self.fit_data();
        }
    }

    /// Frames can be sent, and could not be until now.
    fn link_found(&mut self) {
        self.hearing.last = self.context.up_since();
        self.hearing.since = self.context.up_since();
        self.hearing.deaf = false;
        if self.hearing.unfit {
            self.timer_in(Timer::Probe, self.context.constants().waiter_timeout());
        }
        self.last_broadcast = None;
        self.ask();
        self.say_want();
        if self.storage.failed || self.apart {
            self.timer_in(Timer::Store, Duration::ZERO);
        }
    }

    /// Nothing can be sent: an OWNER cannot keep the token alive, so it has none. The node is a
    /// silent LOOSER until the link is back.
    fn link_lost(&mut self) {
        if !self.context.link.fall() {
            return;
        }
        self.out.outbox.clear();
        self.forget_troubles();
        self.hearing.told = false;
        if matches!(self.role, Role::Looser(_)) {
            self.role = Role::Looser(Search::default());
            self.set_owner(None);
        } else {
            self.enter_looser(Reason::LinkLost, self.token());
        }
        self.review_once();
        self.out.stop_all();
        if self.is_shutting_down() {
            self.finish();
        }
    }

    /// The interface has an address that it did not have before.
    fn take_address(&mut self, mac: MacAddr) {
        if let Some(old) = self.context.mac() {
            let now = self.context.now();
            if let Some(at) = self.table.find(old) {
                // Nobody answers there.
                self.table.set_left(at, true);
                let peer = self.table.peer_at(at);
                peer.penalty.leave();
                peer.seen = now.as_nanos();
            }
            // Else the others wait for a member that is none any longer.
            self.broadcast(Content::Left(old));
            // Under its old address it may have promised something: it is not to be counted twice.
            self.context.start_anew();
            // Another station with the old address no longer disturbs anybody.
            self.troubles.shared_at = None;
        }
        // What a node says of itself under an address that is its own now binds nobody.
        if self.table.set_profile(mac, None) {
            self.review_constants();
        }
        if let Inserted::New(_) = self.table.insert_own(mac) {
            self.event(Event::MemberAdded {
                mac,
                members: self.table.len(),
            });
        } else if let Some(at) = self.table.find(mac) {
            // The address is in use again.
            self.table.peer_at(at).penalty.heard();
            self.table.set_left(at, false);
        }
    }

    /// Whether frames can be sent.
    #[must_use]
    pub fn is_link_up(&self) -> bool {
        self.context.is_up()
    }
}
