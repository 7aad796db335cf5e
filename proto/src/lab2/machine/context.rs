//! The time, the constants and the interface of one node. Every rule may read this data. Only the code in the `machine`
//! folder changes this data.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Profile;

use super::link::Link;
use crate::lab2::{Adjustment, Constants};
use crate::time::{Instant, Now, nanos};

/// Time, constants and interface of one node.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Context {
    /// The constants from the options. The node uses these constants unless it is apart.
    configured: Constants,
    constants: Constants,
    /// The WAITER_TIMEOUT that follows from `constants`. The WAITER_TIMEOUT is cached, because every frame needs it.
    waiter_timeout: Duration,
    /// The profile of this node. It follows from the configured constants and contains no MTU.
    profile: Profile,
    /// The time of the latest input.
    clock: Now,
    /// The time of the first input. If the address changed later, this is the time of the last change.
    started: Option<Instant>,
    /// The preference that this node announces.
    preference: u8,
    pub(super) link: Link,
}

/// Returns the expected number of members for the profile; 0 if this node expects no number.
fn announced_number(constants: &Constants) -> u32 {
    u32::try_from(constants.expect.unwrap_or(0)).unwrap_or(u32::MAX)
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
                expect: announced_number(&constants),
            },
            configured: constants.clone(),
            constants,
            clock: Now {
                monotonic: Instant::default(),
                wall: 0,
            },
            started: None,
            preference: 0,
            link: Link::NeverUp,
        }
    }

    /// Sets the clock to this time, but never sets it back. Returns whether this input is the first input.
    pub(super) fn advance(&mut self, to: Now) -> bool {
        // The driver reads the clock once for a batch of frames, and again when answers have left the host. So this
        // time may be earlier than the time of the last input.
        let monotonic = self.clock.monotonic.max(to.monotonic);
        self.clock = Now {
            monotonic,
            wall: to.wall,
        };
        let is_first = self.started.is_none();
        // The node starts with its first input, because the machine cannot read a clock when it is created.
        self.started.get_or_insert(monotonic);
        is_first
    }

    /// Restarts the time since the start. A promise under the old address may still hold, so the node must not make
    /// another promise yet. Call this function when the address has changed.
    pub(super) fn restart_clock(&mut self) {
        self.started = Some(self.now());
    }

    /// Replaces the constants in force. The profile still announces the configured constants.
    pub(super) fn set_constants(&mut self, constants: Constants) {
        // The profile keeps the configured times. If it announced the ring's times, this node would no longer count as
        // apart.
        self.waiter_timeout = constants.waiter_timeout();
        self.constants = constants;
    }

    /// Replaces some constants, and announces the new expected number of members in the profile.
    pub(super) fn adjust(&mut self, adjustment: Adjustment) {
        let Adjustment {
            idle_hold,
            expect,
            forget,
            preference,
            host_name: _,
        } = adjustment;
        self.preference = preference;
        for constants in [&mut self.configured, &mut self.constants] {
            constants.idle_hold = idle_hold;
            constants.expect = expect;
            constants.forget = forget;
        }
        self.profile.expect = announced_number(&self.configured);
    }

    pub(super) fn set_preference(&mut self, preference: u8) {
        self.preference = preference;
    }

    /// Returns this node's preference: how much an operator wants the idle token to rest with this node.
    pub(crate) const fn preference(&self) -> u8 {
        self.preference
    }

    pub(crate) const fn now(&self) -> Instant {
        self.clock.monotonic
    }

    pub(crate) const fn clock(&self) -> Now {
        self.clock
    }

    pub(crate) const fn start_time(&self) -> Option<Instant> {
        self.started
    }

    /// Whether at least this time has passed since the node's start.
    pub(crate) fn has_run_for(&self, time: Duration) -> bool {
        self.started.is_some_and(|at| self.now().since(at) >= time)
    }

    pub(crate) const fn constants(&self) -> &Constants {
        &self.constants
    }

    pub(crate) const fn configured_constants(&self) -> &Constants {
        &self.configured
    }

    pub(crate) const fn waiter_timeout(&self) -> Duration {
        self.waiter_timeout
    }

    /// Returns the time without received frames after which a node is deaf.
    pub(crate) fn deaf_after(&self) -> Duration {
        // After a holder's death, members that heard only the holder hear each other's questions within this time. With
        // a shorter time all of them would count as deaf.
        self.waiter_timeout + self.constants.looser_answer_timeout()
    }

    /// Returns this node's profile. The profile does not contain the shorter timeouts that other members announce. The
    /// caller adds them.
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

    /// Returns this node's address, or zero bytes if the link was never up.
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
