//! If the grade of a token is too low for every waiting client, asks the members to confirm the token.

use ring_codec::lab2::Token;
use ring_proto::lab2::Command;
use ring_proto::time::Instant;

use super::{Locks, MachineState};

/// Number of TAKE_TIMEOUTs for which the node keeps the token although other members request it.
const TAKE_TIMEOUTS_KEPT: u32 = 8;

/// A period in which the machine asks the members to confirm the tenure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Confirmation {
    token: Token,
    /// The time at which the turn of other members begins.
    until: Instant,
    /// The time of the next question to the members.
    ask_at: Option<Instant>,
}

impl Confirmation {
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.ask_at
    }
}

impl Locks {
    /// Makes the machine ask the members to confirm the tenure. Without this call, the state machine asks the members
    /// less often. After a limited time, other members that request the token get their turn.
    pub(super) fn ask_for_confirmation(
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
            until: now + machine.take_timeout * TAKE_TIMEOUTS_KEPT,
            ask_at: Some(now),
        });
        if now >= confirmation.until {
            confirmation.ask_at = None;
            self.confirmation = Some(confirmation);
            let is_late = now >= confirmation.until + machine.waiter_timeout;
            let gives_way = machine.others_want || machine.is_turn_over && is_late;
            return gives_way.then(|| self.release_token()).flatten();
        }
        let due = confirmation.ask_at.is_some_and(|at| at <= now);
        if due {
            confirmation.ask_at = Some(now + machine.take_timeout);
        }
        self.confirmation = Some(confirmation);
        due.then_some(Command::Confirm)
    }
}
