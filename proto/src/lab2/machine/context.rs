//! What every rule may ask for: the time, the constants and the interface. Only the machine changes them.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Profile;

use super::link::Link;
use crate::lab2::Constants;
use crate::time::{Instant, Now, nanos};

/// The time, the constants and the interface of one node.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// The constants that the node was started with. It lives by them unless it is apart.
    configured: Constants,
    constants: Constants,
    /// Kept, since every frame asks for it.
    waiter_timeout: Duration,
    /// What a node with the configured constants says of itself, but for its MTU.
    profile: Profile,
    /// The latest time that the machine was told.
    clock: Now,
    /// When the machine was told the time for the first time, or got another address.
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

    /// Moves the clock, which never goes back. Returns whether this is the first time that it is told.
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

    /// Counts as started just now: under an earlier address it may have promised something.
    pub(super) fn start_anew(&mut self) {
        self.started = Some(self.now());
    }

    /// Lives by other constants from now on, and says of itself what it said before.
    pub(super) fn live_by(&mut self, constants: Constants) {
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

    /// Whether the node was started so long ago.
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

    /// After so long without a frame a node is deaf: members that hear only their holder hear each other by
    /// then, when that is dead.
    pub(crate) fn deaf_after(&self) -> Duration {
        self.waiter_timeout + self.constants.looser_answer_timeout()
    }

    /// Returns what this node says of itself in a ring whose members agree.
    pub(crate) fn profile(&self) -> Profile {
        Profile {
            mtu: u16::try_from(self.mtu()).unwrap_or(u16::MAX),
            ..self.profile
        }
    }

    /// The own address; `None`: the link was never up.
    pub(crate) fn mac(&self) -> Option<MacAddr> {
        self.link.mac()
    }

    /// The own address. Only asked for while the link is or was up.
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
