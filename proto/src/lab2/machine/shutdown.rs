//! The node's own end.

use std::time::Duration;

use ring_codec::MacAddr;

use crate::lab2::Lab2;
use crate::lab2::machine::outbox::Content;
use crate::lab2::machine::timer::Timer;
use crate::lab2::tenure::role::Role;

/// How far a shutdown has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Shutdown {
    No,
    /// The token, if there is one, is being handed over.
    Wanted,
    /// LEAVING waits to be sent.
    Leaving,
    Finished,
}

impl Lab2 {
    /// An OWNER hands the token over first.
    pub(crate) fn shut_down(&mut self) {
        if self.shutdown != Shutdown::No {
            return;
        }
        self.shutdown = Shutdown::Wanted;
        if !self.context.is_up() {
            self.finish();
        } else if self.may_pass() {
            self.pass();
        } else if self.role.unoffered().is_some() {
            self.leave();
        }
    }

    /// A node that is shutting down and no longer has a token says so and is finished.
    pub(crate) fn leave_if_free(&mut self) {
        if !matches!(self.role, Role::Owner(_)) {
            self.leave();
        }
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.shutdown != Shutdown::No
    }

    /// Whether LEAVING is said, or about to be: nothing may follow it.
    pub(crate) fn has_left(&self) -> bool {
        matches!(self.shutdown, Shutdown::Leaving | Shutdown::Finished)
    }

    /// Says LEAVING, the last word.
    pub(crate) fn leave(&mut self) {
        if self.shutdown == Shutdown::Wanted {
            if !self.out.may_reply() {
                // The frame in hand has had its answers.
                let again = if matches!(self.role, Role::Owner(_)) {
                    Timer::Pass
                } else {
                    Timer::Acknowledge
                };
                return self.timer_in(again, Duration::ZERO);
            }
            if matches!(self.role, Role::Waiter(_)) && self.role.unacknowledged().is_some() {
                if self.out.is_replying() {
                    // It is no answer to the frame in hand.
                    return self.timer_in(Timer::Acknowledge, Duration::ZERO);
                }
                self.acknowledge();
            }
            self.shutdown = Shutdown::Leaving;
            self.out.stop_all();
            self.send(MacAddr::BROADCAST, Content::Leaving);
        }
    }

    pub(crate) fn finish(&mut self) {
        self.shutdown = Shutdown::Finished;
        self.out.stop_all();
    }

    /// Whether a [`Command::ShutDown`](crate::lab2::Command::ShutDown) is carried out: nothing is left
    /// to send.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.shutdown == Shutdown::Finished
    }
}
