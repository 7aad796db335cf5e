//! A client of a Lab2 node. The client waits for the token or holds the token.

use std::time::Duration;

use ring_codec::lab2::Token;
use ring_control::lab2::{ClientStatus, Grade};
use ring_proto::lab2;
use ring_proto::time::{Instant, nanos};

use super::super::grades;

/// A job that runs once per period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Job {
    pub name: lab2::JobName,
    pub every: Duration,
    /// Whether the job may run again in the same period after a failed or lost run.
    pub retry: bool,
}

/// A waiting client. The client may have a job.
pub(super) type Waiter = ring_host::Waiter<Grade, Option<Job>>;
/// The client that holds the token.
type Holder = ring_host::Holder<Grade, Option<Job>, Token>;

/// The requirements of a waiting client of a Lab2 node.
pub(super) trait JobRequirements {
    fn requires(&self) -> Grade;
    /// Returns the machine's request for the job.
    fn once(&self) -> Option<lab2::OnceRequest>;
    fn status(&self, now: Instant) -> ClientStatus;
}

impl JobRequirements for Waiter {
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
            require: grades::for_machine(self.requires()),
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

pub(super) fn holder_status(holder: &Holder, now: Instant) -> ClientStatus {
    ClientStatus {
        holds: true,
        since_ns: nanos(now.since(holder.since)),
        ..holder.waiter.status(now)
    }
}
