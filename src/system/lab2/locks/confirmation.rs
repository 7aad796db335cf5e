//! The token is here, but it has the required grade for none of the clients that wait.

use ring_codec::lab2::Token;
use ring_proto::lab2::Command;
use ring_proto::time::Instant;

use super::{Locks, MachineState};

/// How many TAKE_TIMEOUTs the token is kept from other members that want it.
const PATIENCE: u32 = 8;

/// A time in which the members are asked to confirm the tenure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Confirmation {
    token: Token,
    /// When other members get their turn.
    until: Instant,
    /// When to ask the members again.
    ask: Option<Instant>,
}

impl Confirmation {
    /// The next deadline.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.ask
    }
}

impl Locks {
    /// Has the machine ask the members to confirm the tenure, for a while and more often than it does anyway. Then
    /// other members that want the token have their turn.
    pub(super) fn ask_for_grade(
        &mut self,
        now: Instant,
        machine: &MachineState,
        token: Token,
    ) -> Option<Command> {
        let known = self
            .confirmation
            .filter(|confirmation| confirmation.token == token);
        let mut confirmation = known.unwrap_or(Confirmation {
            token,
            until: now + machine.take_timeout * PATIENCE,
            ask: Some(now),
        });
        if now >= confirmation.until {
            confirmation.ask = None;
            self.confirmation = Some(confirmation);
            let is_late = now >= confirmation.until + machine.patience;
            let gives_way = machine.others_want || machine.turn_over && is_late;
            return gives_way.then(|| self.want_no_more()).flatten();
        }
        let due = confirmation.ask.is_some_and(|at| at <= now);
        if due {
            confirmation.ask = Some(now + machine.take_timeout);
        }
        self.confirmation = Some(confirmation);
        due.then_some(Command::Confirm)
    }
}
