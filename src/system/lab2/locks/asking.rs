//! Asks the members about a job while not enough of them agree.

use ring_codec::lab2::Token;
use ring_control::lab2::Grade;
use ring_proto::lab2::{Command, RunEnd};
use ring_proto::time::Instant;

use super::client::Asks;
use super::{ClientId, Locks, MachineState};

/// The members are asked about a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking {
    token: Token,
    client: ClientId,
    /// When other members get their turn.
    until: Instant,
    /// The same, until it has been looked at then.
    due: Option<Instant>,
}

impl Asking {
    /// The next deadline.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.due
    }
}

impl Locks {
    /// Drops deadlines that have passed.
    pub(super) fn review_asking(&mut self, now: Instant, machine: &MachineState) {
        self.asking = self
            .asking
            .filter(|asking| machine.token == Some(asking.token) && self.concerns(asking.client));
        if let Some(asking) = &mut self.asking {
            asking.due = asking.due.filter(|&due| due > now);
        }
    }

    /// Returns the command for a machine that asks the members about the job of the client at this place: to go on
    /// until others that want the token have waited long enough. Then they have their turn, and other clients of
    /// this machine theirs, before the job is tried again.
    pub(super) fn go_on_asking(
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
            Asking {
                token,
                client,
                until,
                due: Some(until),
            }
        });
        self.asking = Some(asking);
        if now < asking.until || !self.is_in_the_way(client, now, machine) {
            return self.want();
        }
        self.asking = None;
        if machine.others_may_want() {
            self.served = Some(token);
        }
        if let Some(waiter) = self.queue.waiting.remove(at) {
            self.queue.waiting.push_back(waiter);
        }
        Some(Command::EndOnce(client, RunEnd::NotRun))
    }

    /// Whether another client could use the token.
    fn is_in_the_way(&self, client: ClientId, now: Instant, machine: &MachineState) -> bool {
        let is_safe = |require: Grade| machine.worth_granting_until(now, require).is_some();
        let mut others = self
            .queue
            .waiting
            .iter()
            .filter(|it| it.client.id != client);
        machine.others_may_want() || others.any(|it| is_safe(it.requires()))
    }
}
