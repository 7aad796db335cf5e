//! The token is here, but for none of those who wait is it as safe as they require.

use ring_codec::lab2::Token;
use ring_proto::lab2::Command;
use ring_proto::time::Instant;

use super::{Facts, Locks};

/// So many TAKE_TIMEOUTs the token is kept from others that want it.
const PATIENCE: u32 = 8;

/// The members are asked to confirm the tenure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seek {
    token: Token,
    /// Until when it is kept from others.
    until: Instant,
    /// When the members are to be asked again.
    ask: Option<Instant>,
}

impl Seek {
    /// When something is to be done.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.ask
    }
}

impl Locks {
    /// Has the members asked to confirm the tenure, for a while more often than they are anyway. Then
    /// others who want the token have their turn.
    pub(super) fn seek_grade(
        &mut self,
        now: Instant,
        facts: &Facts,
        token: Token,
    ) -> Option<Command> {
        let known = self.seek.filter(|seek| seek.token == token);
        let mut seek = known.unwrap_or(Seek {
            token,
            until: now + facts.take_timeout * PATIENCE,
            ask: Some(now),
        });
        if now >= seek.until {
            seek.ask = None;
            self.seek = Some(seek);
            return facts.others_want.then(|| self.want_no_more()).flatten();
        }
        let due = seek.ask.is_some_and(|at| at <= now);
        if due {
            seek.ask = Some(now + facts.take_timeout);
        }
        self.seek = Some(seek);
        due.then_some(Command::Confirm)
    }
}
