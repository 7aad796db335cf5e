//! WAITER: another node has the token.

use ring_codec::lab2::Token;

use crate::lab2::machine::timer::Timer;
use crate::lab2::{Lab2, Reason};

impl Lab2 {
    /// Enters WAITER with full patience.
    pub(crate) fn become_waiter(&mut self, reason: Reason, token: Token) {
        self.change(self.role.to_waiter(), reason, Some(token));
        self.trust_the_token();
    }

    /// WAITER_TIMEOUT runs from heardAboutToken.
    pub(crate) fn trust_the_token(&mut self) {
        let heard = self.known.heard().unwrap_or(self.context.now());
        self.out.set(
            Timer::Waiter,
            heard + self.context.constants().waiter_timeout(),
        );
    }
}
