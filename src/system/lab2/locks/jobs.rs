//! Locks for jobs. For a job, a client gets the token only after the members know about the run.

use std::ops::ControlFlow;

use ring_codec::lab2::Token;
use ring_control::lab2::{LockRequest, RefusalReason};
use ring_process::ClientId;
use ring_proto::lab2::{Command, OnceProgress, OnceRequest, RunEnd, RunView};
use ring_proto::time::Instant;

use super::client::JobRequirements;
use super::{Locks, MachineState, Notice};

impl Locks {
    /// If a job ran elsewhere, notifies the clients that wait for it.
    pub(crate) fn refuse_finished_jobs(
        &mut self,
        met_by: impl Fn(&OnceRequest) -> Option<RunView>,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) {
        self.queue.waiting.retain(|waiter| {
            let Some(once) = waiter.once() else {
                return true;
            };
            let Some(run) = met_by(&once) else {
                return true;
            };
            let notice = Notice::already_ran(&once, run);
            tell(waiter.client.id, &waiter.request, notice);
            false
        });
    }

    /// If the client of a job disconnected or no longer waits, ends the machine's work on the job.
    pub(super) fn end_orphaned_job(&self, machine: &MachineState) -> Option<Command> {
        let (id, standing) = machine.once?;
        let end = match standing {
            OnceProgress::Begun if self.last_job == Some(id) => RunEnd::Unknown,
            _ => RunEnd::NotRun,
        };
        (!self.involves(id)).then_some(Command::EndOnce(id, end))
    }

    /// Prepares a grant to the client at index `at`. If the client has a job, the members must know about the run
    /// first. If the state machine must act before the grant, breaks with the command for this action.
    pub(super) fn prepare_job(
        &mut self,
        at: usize,
        now: Instant,
        machine: &MachineState,
        token: Token,
        tell: &mut impl FnMut(ClientId, &LockRequest, Notice),
    ) -> ControlFlow<Option<Command>> {
        let Some(waiter) = self.queue.waiting.get(at) else {
            return ControlFlow::Continue(());
        };
        let (client, once) = (waiter.client.id, waiter.once());
        let other = machine.once.filter(|&(id, _)| id != client);
        if let Some((id, _)) = other {
            return ControlFlow::Break(Some(Command::EndOnce(id, RunEnd::NotRun)));
        }
        let Some(once) = once else {
            return ControlFlow::Continue(());
        };
        let notice = match machine.once {
            None => return ControlFlow::Break(self.request_token().or(Some(Command::Once(once)))),
            Some((_, OnceProgress::Asking)) => {
                return ControlFlow::Break(self.continue_asking(at, now, machine, token));
            }
            Some((_, OnceProgress::Begun)) => {
                self.last_job = Some(client);
                return ControlFlow::Continue(());
            }
            Some((_, OnceProgress::Ran(run))) => Notice::already_ran(&once, run),
            Some((_, OnceProgress::Full)) => Notice::Refused(RefusalReason::JobTableFull),
            Some((_, OnceProgress::TooSmall)) => Notice::Refused(RefusalReason::Mtu),
        };
        if let Some(waiter) = self.queue.waiting.remove(at) {
            tell(client, &waiter.request, notice);
        }
        ControlFlow::Break(Some(Command::EndOnce(client, RunEnd::NotRun)))
    }
}
