//! One client, waiting or holding, as Lab2 has it.

use std::time::Duration;

use ring_codec::lab2::Token;
use ring_control::lab2::{ClientStatus, Grade};
use ring_proto::lab2;
use ring_proto::time::{Instant, nanos};

/// A job that is to run once in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Job {
    /// Its name.
    pub name: lab2::JobName,
    /// The period.
    pub every: Duration,
    /// Whether a run that has failed or was lost does not count.
    pub retry: bool,
}

/// A client that waits, perhaps for a job.
pub(super) type Waiter = ring_host::Waiter<Grade, Option<Job>>;
/// The client that has the token.
type Holder = ring_host::Holder<Grade, Option<Job>, Token>;

/// What Lab2 asks of a client that waits.
pub(super) trait Asks {
    /// The grade that it requires.
    fn requires(&self) -> Grade;
    /// Returns what to ask the machine for the job.
    fn once(&self) -> Option<lab2::OnceRequest>;
    /// Returns it as status shows it.
    fn status(&self, now: Instant) -> ClientStatus;
}

impl Asks for Waiter {
    fn requires(&self) -> Grade {
        self.request.require.unwrap_or(Grade::Alone)
    }

    fn once(&self) -> Option<lab2::OnceRequest> {
        let job = self.own?;
        Some(lab2::OnceRequest {
            id: self.client.id,
            name: job.name,
            every: job.every,
            retry: job.retry,
            require: match self.requires() {
                Grade::Alone => lab2::Grade::Alone,
                Grade::View => lab2::Grade::View,
                Grade::Quorum => lab2::Grade::Quorum,
            },
        })
    }

    fn status(&self, now: Instant) -> ClientStatus {
        let require = self.requires();
        ClientStatus {
            label: self.request.label.clone(),
            pid: self.client.pid,
            holds: false,
            since_ns: nanos(now.since(self.since)),
            require: (require > Grade::Alone).then_some(require),
        }
    }
}

/// Returns the holder as status shows it.
pub(super) fn holder_status(holder: &Holder, now: Instant) -> ClientStatus {
    ClientStatus {
        holds: true,
        since_ns: nanos(now.since(holder.since)),
        ..holder.asked.status(now)
    }
}
