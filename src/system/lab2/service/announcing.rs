//! Announces to the ring's members the program of this machine that holds the token.

use ring_host::HeldLock;
use ring_process::ClientId;
use ring_proto::lab2::{Command, HolderProgram};
use ring_proto::time::{Instant, Now};

use super::Service;

impl Service {
    /// Returns the time at which to announce the holder. A hold is not announced if it is shorter than a heartbeat.
    pub(super) fn announcement_due(&self) -> Option<Instant> {
        let lock = self.lock_log.held()?;
        let is_announced = self.announced == Some(tenure(lock));
        (!is_announced).then(|| lock.since + self.heartbeat)
    }

    /// If the members do not know the current holder, returns the command that announces it. The command can also
    /// announce that there is no holder.
    pub(super) fn announce(&mut self, now: Now) -> Option<Command> {
        let is_due = self
            .announcement_due()
            .is_some_and(|at| at <= now.monotonic);
        let held = self.lock_log.held();
        if let Some(lock) = held.filter(|_| is_due) {
            self.announced = Some(tenure(lock));
            return Some(Command::Announce(Some(work(lock))));
        }
        let holder = held.map(tenure);
        self.announced
            .take_if(|announced| Some(*announced) != holder)?;
        Some(Command::Announce(None))
    }
}

/// Returns the identity of a lock. A client may take several locks. Each lock has its own label.
fn tenure(lock: &HeldLock) -> (ClientId, Instant) {
    (lock.client.id, lock.since)
}

fn work(lock: &HeldLock) -> HolderProgram {
    let program = match (lock.label.as_str(), lock.client.pid) {
        ("", Some(pid)) => format!("process {pid}"),
        (label, _) => label.to_owned(),
    };
    HolderProgram {
        program,
        since: lock.since,
    }
}
