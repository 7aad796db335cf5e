//! The shutdown of a node: it hands the token over and sends LEAVING.

use ring_codec::MacAddr;

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::{Lab2, State};

/// Progress of a shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) enum Shutdown {
    No,
    /// The shutdown has begun. If this node has the token, it is handing the token over.
    Wanted,
    /// The LEAVING frame waits to be sent.
    Leaving,
    Finished,
}

impl Lab2 {
    /// Begins the shutdown. If this node is OWNER, it first hands the token over.
    pub(super) fn shut_down(&mut self) {
        if self.shutdown != Shutdown::No {
            return;
        }
        self.shutdown = Shutdown::Wanted;
        // The members learn of released locks before LEAVING.
        self.review_locks();
        if !self.context.is_up() {
            self.finish();
        } else if self.can_hand_over() {
            self.hand_over();
        // An owner without a successor has no handover to wait for. During a handover, `leave_if_free` leaves later.
        } else if self.role.unoffered_tenure().is_some() {
            self.leave();
        }
    }

    /// Sends LEAVING if the node is shutting down and is not OWNER.
    pub(super) fn leave_if_free(&mut self) {
        if self.state() != State::Owner {
            self.leave();
        }
    }

    pub(super) fn is_shutting_down(&self) -> bool {
        self.shutdown != Shutdown::No
    }

    /// Whether LEAVING was sent or waits to be sent. No frame may follow LEAVING.
    pub(super) fn has_left(&self) -> bool {
        matches!(self.shutdown, Shutdown::Leaving | Shutdown::Finished)
    }

    /// Sends LEAVING, the last frame.
    pub(super) fn leave(&mut self) {
        if self.shutdown == Shutdown::Wanted {
            if !self.out.may_reply() {
                // The current frame has already caused its two answers, so LEAVING waits for a timeout that is due at
                // once.
                let again = if self.state() == State::Owner {
                    Timer::Handover
                } else {
                    Timer::Acknowledge
                };
                return self.out.set(again, self.context.now());
            }
            if self.state() == State::Waiter && self.role.pending_ack().is_some() {
                if self.out.is_replying() {
                    // The acknowledgement answers an earlier frame. Together with LEAVING, it could be a third answer
                    // to the current frame.
                    return self.out.set(Timer::Acknowledge, self.context.now());
                }
                // Without the acknowledgement, the giver would think that its offer has failed, and would mint a new
                // token.
                self.acknowledge();
            }
            self.shutdown = Shutdown::Leaving;
            // A timer could cause a frame after LEAVING, and the members would think that the node is alive.
            self.out.stop_all();
            self.locks.drop_actions();
            self.survey.abort(&self.context);
            self.send(MacAddr::BROADCAST, Content::Leaving);
        }
    }

    pub(super) fn finish(&mut self) {
        self.shutdown = Shutdown::Finished;
        self.out.stop_all();
    }

    /// Whether the shutdown after [`Command::ShutDown`](crate::lab2::Command::ShutDown) is complete, so that no frame
    /// is left to send.
    pub fn is_finished(&self) -> bool {
        self.shutdown == Shutdown::Finished
    }
}
