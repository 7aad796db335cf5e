//! Asks the members about a job until enough members agree.

use ring_codec::lab2::Token;
use ring_control::lab2::Grade;
use ring_proto::lab2::{Command, RunEnd};
use ring_proto::time::Instant;

use super::client::JobRequirements;
use super::{ClientId, Locks, MachineState};

/// A question to the members about the job of a client.
#[derive(Debug, Clone, Copy)]
pub(super) struct JobQuestion {
    token: Token,
    client: ClientId,
    /// The time at which the turn of other members and clients begins.
    until: Instant,
    /// The time `until` as a deadline; `None` after it has passed.
    deadline: Option<Instant>,
}

impl JobQuestion {
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
}

impl Locks {
    /// Drops an outdated question, and a deadline that has passed.
    pub(super) fn update_asking(&mut self, now: Instant, machine: &MachineState) {
        self.asking = self
            .asking
            .filter(|asking| machine.token == Some(asking.token) && self.involves(asking.client));
        if let Some(asking) = &mut self.asking {
            asking.deadline = asking.deadline.filter(|&deadline| deadline > now);
        }
    }

    /// Continues to ask the members about the job of the client at index `at`. Returns the next command for the
    /// machine. Other members and clients that have waited long enough get their turn before the next attempt for the
    /// job.
    pub(super) fn continue_asking(
        &mut self,
        at: usize,
        now: Instant,
        machine: &MachineState,
        token: Token,
    ) -> Option<Command> {
        let client = self.queue.waiting.get(at)?.client.id;
        let known = self.asking.filter(|asking| asking.client == client);
        let asking = known.unwrap_or_else(|| {
            let until = now + machine.asking_lasts;
            JobQuestion {
                token,
                client,
                until,
                deadline: Some(until),
            }
        });
        self.asking = Some(asking);
        if now < asking.until || !self.blocks_others(client, now, machine) {
            return self.request_token();
        }
        self.asking = None;
        if machine.others_may_want() {
            self.last_granted = Some(token);
        }
        if let Some(waiter) = self.queue.waiting.remove(at) {
            self.queue.waiting.push_back(waiter);
        }
        Some(Command::EndOnce(client, RunEnd::NotRun))
    }

    /// Whether another member or client could use the token.
    fn blocks_others(&self, client: ClientId, now: Instant, machine: &MachineState) -> bool {
        let is_safe = |require: Grade| machine.grantable_until(now, require).is_some();
        let mut others = self
            .queue
            .waiting
            .iter()
            .filter(|it| it.client.id != client);
        machine.others_may_want() || others.any(|it| is_safe(it.requires()))
    }
}
