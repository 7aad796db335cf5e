//! The rules of a WAITER. A WAITER assumes that the owner is alive, until it has heard nothing about the token for
//! WAITER_TIMEOUT.

use super::timer::Timer;
use crate::lab2::tenure::Role;
use crate::lab2::{Lab2, Reason};
use ring_codec::lab2::Token;

impl Lab2 {
    /// Enters WAITER.
    pub(super) fn become_waiter(&mut self, reason: Reason, token: Token) {
        // The previous giver may still wait for its acknowledgement although the token has moved on.
        let unacknowledged = self.role.pending_ack();
        self.change_role(Role::Waiter(unacknowledged), reason, Some(token));
        self.restart_waiter_timeout();
    }

    /// Restarts WAITER_TIMEOUT. It counts from heardAboutToken.
    pub(super) fn restart_waiter_timeout(&mut self) {
        let heard = self.known.last_heard().unwrap_or(self.context.now());
        self.out
            .set(Timer::Waiter, heard + self.context.waiter_timeout());
    }

    /// Handles the end of WAITER_TIMEOUT. The owner now counts as dead. The node becomes LOOSER and asks for the token.
    pub(super) fn on_waiter_timeout(&mut self) {
        self.become_looser(Reason::WaiterTimeout);
        self.shorten_probe();
    }
}
