//! Shutdown: the node hands the token over, sends LEAVING, and is finished.

use ring_codec::MacAddr;

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::{Lab2, State};

/// Progress of a shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Shutdown {
    No,
    /// The token, if there is one, is being handed over.
    Wanted,
    /// LEAVING waits to be sent.
    Leaving,
    Finished,
}

impl Lab2 {
    /// Begins the shutdown. An OWNER hands the token over first.
    pub(super) fn shut_down(&mut self) {
        if self.shutdown != Shutdown::No {
            return;
        }
        self.shutdown = Shutdown::Wanted;
        if !self.context.is_up() {
            self.finish();
        } else if self.can_hand_over() {
            self.hand_over();
        } else if self.role.unoffered().is_some() {
            self.leave();
        }
    }

    /// Sends LEAVING if the node is shutting down and has no token.
    pub(super) fn leave_if_free(&mut self) {
        if self.state() != State::Owner {
            self.leave();
        }
    }

    pub(super) fn is_shutting_down(&self) -> bool {
        self.shutdown != Shutdown::No
    }

    /// Whether LEAVING was sent or is waiting to be sent. No frame may follow it.
    pub(super) fn has_left(&self) -> bool {
        matches!(self.shutdown, Shutdown::Leaving | Shutdown::Finished)
    }

    /// Sends LEAVING, the last frame.
    pub(super) fn leave(&mut self) {
        if self.shutdown == Shutdown::Wanted {
            if !self.out.may_reply() {
                // The current frame has had its two answers.
                let again = if self.state() == State::Owner {
                    Timer::Handover
                } else {
                    Timer::Acknowledge
                };
                return self.out.set(again, self.context.now());
            }
            if self.state() == State::Waiter && self.role.unacknowledged().is_some() {
                if self.out.is_replying() {
                    // The acknowledgement answers another frame than the current one.
                    return self.out.set(Timer::Acknowledge, self.context.now());
                }
                self.acknowledge();
            }
            self.shutdown = Shutdown::Leaving;
            // A timer could send a frame after LEAVING, and the members would take the node for alive.
            self.out.stop_all();
            self.send(MacAddr::BROADCAST, Content::Leaving);
        }
    }

    pub(super) fn finish(&mut self) {
        self.shutdown = Shutdown::Finished;
        self.out.stop_all();
    }

    /// Whether a [`Command::ShutDown`](crate::lab2::Command::ShutDown) is complete: no frame is left to send.
    pub fn is_finished(&self) -> bool {
        self.shutdown == Shutdown::Finished
    }
}
