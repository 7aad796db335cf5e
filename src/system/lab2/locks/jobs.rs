//! Locks for jobs: the token is granted for one once the members know of its run.

use std::ops::ControlFlow;

use ring_codec::lab2::Token;
use ring_control::lab2::{LockRequest, RefusalReason};
use ring_process::ClientId;
use ring_proto::lab2::{Command, OnceRequest, OnceStanding, RunEnd, RunView};
use ring_proto::time::Instant;

use super::client::Asks;
use super::{Locks, MachineState, Notice};

impl Locks {
    /// Tells those who wait to run a job that has run elsewhere.
    pub(crate) fn dismiss(
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
            let notice = Notice::has_run(&once, run);
            tell(waiter.client.id, &waiter.request, notice);
            false
        });
    }

    /// The machine is at work for a client that is gone, or waits no longer.
    pub(super) fn end_deserted_job(&self, machine: &MachineState) -> Option<Command> {
        let (id, standing) = machine.once?;
        let end = match standing {
            OnceStanding::Begun if self.last_job == Some(id) => RunEnd::Unknown,
            _ => RunEnd::NotRun,
        };
        (!self.concerns(id)).then_some(Command::EndOnce(id, end))
    }

    /// What there is to do before the client at this place is granted the token, if it is for a job:
    /// the members must know of the run. It breaks off with what to tell the machine, if anything.
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
            None => return ControlFlow::Break(self.want().or(Some(Command::Once(once)))),
            Some((_, OnceStanding::Asking)) => {
                return ControlFlow::Break(self.go_on_asking(at, now, machine, token));
            }
            Some((_, OnceStanding::Begun)) => {
                self.last_job = Some(client);
                return ControlFlow::Continue(());
            }
            Some((_, OnceStanding::Ran(run))) => Notice::has_run(&once, run),
            Some((_, OnceStanding::Full)) => Notice::Refused(RefusalReason::Names),
            Some((_, OnceStanding::TooSmall)) => Notice::Refused(RefusalReason::Mtu),
        };
        if let Some(waiter) = self.queue.waiting.remove(at) {
            tell(client, &waiter.request, notice);
        }
        ControlFlow::Break(Some(Command::EndOnce(client, RunEnd::NotRun)))
    }
}
