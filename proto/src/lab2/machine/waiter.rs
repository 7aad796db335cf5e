//! WAITER: the node relies on an owner until it has not heard of the token for WAITER_TIMEOUT.

use super::timer::Timer;
use crate::lab2::tenure::Role;
use crate::lab2::{Lab2, Reason};
use ring_codec::lab2::Token;

impl Lab2 {
    /// Enters WAITER.
    pub(super) fn become_waiter(&mut self, reason: Reason, token: Token) {
        let unacknowledged = self.role.unacknowledged();
        self.change_role(Role::Waiter(unacknowledged), reason, Some(token));
        self.restart_waiter_timeout();
    }

    /// Restarts WAITER_TIMEOUT from heardAboutToken on.
    pub(super) fn restart_waiter_timeout(&mut self) {
        let heard = self.known.heard().unwrap_or(self.context.now());
        self.out
            .set(Timer::Waiter, heard + self.context.waiter_timeout());
    }

    /// Treats the owner as dead. The node becomes LOOSER and asks for the token.
    pub(super) fn on_waiter_timeout(&mut self) {
        self.become_looser(Reason::WaiterTimeout);
        self.shorten_probe();
    }
}
