//! The interface's ups and downs, and the node's own end.

use std::time::Duration;

use ring_codec::MacAddr;

use super::machine::Shutdown;
use super::outbox::Content;
use super::role::Role;
use super::table::Inserted;
use super::timer::Timer;
use super::{Event, Lab2, Reason};
use crate::LinkState;

impl Lab2 {
    pub(super) fn link_changed(&mut self, link: LinkState) {
        if self.is_finished() {
            return;
        }
        match link {
            LinkState::Down => self.link_lost(),
            LinkState::Up { mac, ip, mtu } => {
                let resized = std::mem::replace(&mut self.mtu, mtu) != mtu;
                if self.mac != Some(mac) {
                    self.link_lost();
                    if self.is_finished() {
                        return;
                    }
                    self.take_address(mac);
                }
                self.take_ip(ip);
                if !self.link_up {
                    self.link_up = true;
                    self.up_since = Some(self.now.monotonic);
                    self.hearing.last = self.up_since;
                    self.hearing.since = self.up_since;
                    if self.hearing.unfit {
                        self.timer_in(Timer::Probe, self.constants.waiter_timeout());
                    }
                    self.last_broadcast = None;
                    self.ask();
                    self.say_want();
                    if self.storage.failed {
                        self.timer_in(Timer::Store, Duration::ZERO);
                    }
                } else if resized {
                    self.broadcast(Content::Ping);
                    self.fit_data();
                }
            }
        }
    }

    /// Nothing can be sent: an OWNER cannot keep the token alive, so it has none. The node is a
    /// silent LOOSER until the link is back.
    fn link_lost(&mut self) {
        if !self.link_up {
            return;
        }
        self.link_up = false;
        self.outbox.clear();
        self.forget_troubles();
        self.hearing.told = false;
        self.in_turn = None;
        self.against = None;
        if matches!(self.role, Role::Looser) {
            self.set_owner(None);
        } else {
            self.enter_looser(Reason::LinkLost, self.token());
        }
        self.review_once();
        self.timers.stop_all();
        if self.is_shutting_down() {
            self.finish();
        }
    }

    fn take_address(&mut self, mac: MacAddr) {
        let now = self.now.monotonic;
        if let Some(old) = self.mac.and_then(|old| self.table.peer_mut(old)) {
            // Nobody answers there any more.
            old.penalty.leave();
            (old.left, old.seen) = (true, now.as_nanos());
        }
        if self.mac.is_some_and(|old| old != mac) {
            // Under its old address it may have promised something: it is not to be counted twice.
            self.started = Some(self.now.monotonic);
            // Who has the old one too disturbs nobody any more.
            self.shared_at = None;
        }
        self.mac = Some(mac);
        if let Inserted::New(_) = self.table.insert_own(mac) {
            self.event(Event::MemberAdded {
                mac,
                members: self.table.len(),
            });
        } else if let Some(own) = self.table.peer_mut(mac) {
            // The address is in use again.
            own.penalty.heard();
            own.left = false;
        }
    }

    fn take_ip(&mut self, ip: [u8; 16]) {
        self.ip = ip;
        let Some(at) = self.table.find(self.me()) else {
            return;
        };
        if self.table.set_ip(at, ip) && self.link_up {
            self.event(Event::MemberMoved { mac: self.me(), ip });
            self.broadcast(Content::Ping);
        }
    }

    /// An OWNER hands the token over first.
    pub(super) fn shut_down(&mut self) {
        if self.shutdown != Shutdown::No {
            return;
        }
        self.shutdown = Shutdown::Wanted;
        if !self.link_up {
            self.finish();
        } else if self.may_pass() {
            self.pass();
        } else if self.may_use_token() {
            self.leave();
        }
    }

    /// A node that is to shut down and has no token, or none any more, says so and is finished.
    pub(super) fn leave_if_free(&mut self) {
        if !matches!(self.role, Role::Owner(_)) {
            self.leave();
        }
    }

    pub(super) fn is_shutting_down(&self) -> bool {
        self.shutdown != Shutdown::No
    }

    /// Whether LEAVING is said, or about to be: nothing may follow it.
    pub(super) fn has_left(&self) -> bool {
        matches!(self.shutdown, Shutdown::Leaving | Shutdown::Finished)
    }

    /// Says LEAVING, the last word.
    pub(super) fn leave(&mut self) {
        if self.shutdown == Shutdown::Wanted {
            self.shutdown = Shutdown::Leaving;
            self.timers.stop_all();
            self.send(MacAddr::BROADCAST, Content::Leaving);
        }
    }

    pub(super) fn finish(&mut self) {
        self.shutdown = Shutdown::Finished;
        self.timers.stop_all();
    }

    /// Whether a [`Command::ShutDown`](super::Command::ShutDown) is carried out: nothing is left
    /// to send.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.shutdown == Shutdown::Finished
    }
}
