//! The token is here, but for none of those who wait is it as safe as they require.

use ring_codec::lab2::Token;
use ring_proto::lab2::Command;
use ring_proto::time::Instant;

use super::{Facts, Locks};

/// So many TAKE_TIMEOUTs the token is kept from others that want it.
const PATIENCE: u32 = 8;

/// The members are asked to confirm the tenure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Confirmation {
    token: Token,
    /// Until when it is kept from others.
    until: Instant,
    /// When the members are to be asked again.
    ask: Option<Instant>,
}

impl Confirmation {
    /// When something is to be done.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.ask
    }
}

impl Locks {
    /// Has the members asked to confirm the tenure, for a while more often than they are anyway. Then
    /// others who want the token have their turn.
    pub(super) fn ask_for_grade(
        &mut self,
        now: Instant,
        facts: &Facts,
        token: Token,
    ) -> Option<Command> {
        let known = self
            .confirmation
            .filter(|confirmation| confirmation.token == token);
        let mut confirmation = known.unwrap_or(Confirmation {
            token,
            until: now + facts.take_timeout * PATIENCE,
            ask: Some(now),
        });
        if now >= confirmation.until {
            confirmation.ask = None;
            self.confirmation = Some(confirmation);
            return facts.others_want.then(|| self.want_no_more()).flatten();
        }
        let due = confirmation.ask.is_some_and(|at| at <= now);
        if due {
            confirmation.ask = Some(now + facts.take_timeout);
        }
        self.confirmation = Some(confirmation);
        due.then_some(Command::Confirm)
    }
}
