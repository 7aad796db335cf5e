//! The time, the constants and the interface, which every rule may read. Only the `machine` folder changes them.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Profile;

use super::link::Link;
use crate::lab2::Constants;
use crate::time::{Instant, Now, nanos};

/// Time, constants and interface of one node.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// The constants that the node was started with. They are in force unless the node is apart.
    configured: Constants,
    constants: Constants,
    /// Cached, since every frame needs it.
    waiter_timeout: Duration,
    /// This node's profile under the configured constants, without its MTU.
    profile: Profile,
    /// The time of the latest input.
    clock: Now,
    /// The time of the first input, or of the last change of the address.
    started: Option<Instant>,
    pub(super) link: Link,
}

impl Context {
    pub(crate) fn new(constants: Constants) -> Self {
        let waiter_timeout = constants.waiter_timeout();
        Self {
            waiter_timeout,
            profile: Profile {
                flags: 0,
                mtu: 0,
                constants: constants.digest(),
                patience: nanos(waiter_timeout),
                shortest: nanos(waiter_timeout),
                take: nanos(constants.take_timeout),
                expect: u32::try_from(constants.expect.unwrap_or(0)).unwrap_or(u32::MAX),
            },
            configured: constants.clone(),
            constants,
            clock: Now {
                monotonic: Instant::default(),
                wall: 0,
            },
            started: None,
            link: Link::NeverUp,
        }
    }

    /// Moves the clock forward; it never goes back. Returns whether this is the first input.
    pub(super) fn advance(&mut self, to: Now) -> bool {
        let monotonic = self.clock.monotonic.max(to.monotonic);
        self.clock = Now {
            monotonic,
            wall: to.wall,
        };
        let is_first = self.started.is_none();
        self.started.get_or_insert(monotonic);
        is_first
    }

    /// Restarts the time since the start. The node may have promised something under its old address, so it must wait
    /// again.
    pub(super) fn restart_clock(&mut self) {
        self.started = Some(self.now());
    }

    /// Replaces the constants in force. The profile still announces the configured ones.
    pub(super) fn set_constants(&mut self, constants: Constants) {
        self.waiter_timeout = constants.waiter_timeout();
        self.constants = constants;
    }

    pub(crate) const fn now(&self) -> Instant {
        self.clock.monotonic
    }

    pub(crate) const fn clock(&self) -> Now {
        self.clock
    }

    pub(crate) const fn started(&self) -> Option<Instant> {
        self.started
    }

    /// Whether the node has run for at least this time.
    pub(crate) fn has_run_for(&self, time: Duration) -> bool {
        self.started.is_some_and(|at| self.now().since(at) >= time)
    }

    pub(crate) const fn constants(&self) -> &Constants {
        &self.constants
    }

    pub(crate) const fn configured(&self) -> &Constants {
        &self.configured
    }

    pub(crate) const fn waiter_timeout(&self) -> Duration {
        self.waiter_timeout
    }

    /// Returns the time without any frame after which a node is deaf.
    pub(crate) fn deaf_after(&self) -> Duration {
        // Members that hear only their holder hear each other's questions within this time after the holder has died.
        self.waiter_timeout + self.constants.looser_answer_timeout()
    }

    /// Returns this node's profile, before the members' shorter timeouts are added.
    pub(crate) fn profile(&self) -> Profile {
        Profile {
            mtu: u16::try_from(self.mtu()).unwrap_or(u16::MAX),
            ..self.profile
        }
    }

    /// Returns this node's address; `None` if the link was never up.
    pub(crate) fn mac(&self) -> Option<MacAddr> {
        self.link.mac()
    }

    /// Returns this node's address. Only valid once the link has been up.
    pub(crate) fn me(&self) -> MacAddr {
        self.link.mac().unwrap_or_default()
    }

    pub(crate) fn is_own(&self, mac: MacAddr) -> bool {
        self.link.mac() == Some(mac)
    }

    pub(crate) fn ip(&self) -> [u8; 16] {
        self.link.ip()
    }

    pub(crate) fn mtu(&self) -> usize {
        self.link.mtu()
    }

    pub(crate) const fn is_up(&self) -> bool {
        self.link.is_up()
    }

    pub(crate) fn up_since(&self) -> Option<Instant> {
        self.link.up_since()
    }
}
