//! One client, waiting or holding.

use std::time::Duration;

use ring_codec::lab2::Token;
use ring_proto::lab2;
use ring_proto::time::{Instant, nanos};

use super::{Client, ClientId};
use crate::control::lab2::{ClientStatus, Grade, LockRequest};

/// How long before the end of its maximum hold a holder gets notice.
const WARNING: Duration = Duration::from_secs(1);

/// A job that is to run once in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Its name.
    pub name: lab2::JobName,
    /// The period.
    pub every: Duration,
    /// Whether a run that has failed or was lost does not count.
    pub retry: bool,
}

/// A client that waits.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) client: ClientId,
    pid: Option<i32>,
    uid: Option<u32>,
    pub(super) request: LockRequest,
    since: Instant,
    /// When it gives up.
    pub(super) until: Option<Instant>,
    /// The grade that it requires.
    pub(super) require: Grade,
    /// The job that it wants the token for.
    pub(super) job: Option<Job>,
}

impl Waiter {
    /// A client that does not want to wait for others' work still waits for `way`: upper bound for fetching an
    /// idle token.
    pub(super) fn new(now: Instant, client: Client, request: LockRequest, way: Duration) -> Self {
        let patience = request.wait_ms.map(|ms| match ms {
            0 => way,
            ms => Duration::from_millis(ms),
        });
        Self {
            client: client.id,
            pid: client.pid,
            uid: client.uid,
            since: now,
            until: patience.map(|patience| now + patience),
            require: request.require.unwrap_or(Grade::Alone),
            request,
            job: None,
        }
    }

    /// Who it is.
    pub(super) const fn who(&self) -> Client {
        Client {
            id: self.client,
            pid: self.pid,
            uid: self.uid,
        }
    }

    /// Returns what to ask the machine for the job.
    pub(super) fn once(&self) -> Option<lab2::OnceRequest> {
        let job = self.job?;
        Some(lab2::OnceRequest {
            id: self.client,
            name: job.name,
            every: job.every,
            retry: job.retry,
            require: match self.require {
                Grade::Alone => lab2::Grade::Alone,
                Grade::View => lab2::Grade::View,
                Grade::Quorum => lab2::Grade::Quorum,
            },
        })
    }

    pub(super) fn status(&self, now: Instant) -> ClientStatus {
        ClientStatus {
            label: self.request.label.clone(),
            pid: self.pid,
            holds: false,
            since_ns: nanos(now.since(self.since)),
            require: (self.require > Grade::Alone).then_some(self.require),
        }
    }
}

/// The client that has the token.
#[derive(Debug)]
pub(super) struct Holder {
    /// Its request.
    pub(super) asked: Waiter,
    /// Since when it has it.
    since: Instant,
    pub(super) token: Token,
    /// The end of the lease that it was told last: nobody else is granted the token before then.
    pub(super) until: Instant,
    /// When its work must have ended, as it was told.
    pub(super) ends_by: Option<Instant>,
}

impl Holder {
    pub(super) const fn new(now: Instant, asked: Waiter, token: Token, until: Instant) -> Self {
        Self {
            asked,
            since: now,
            token,
            until,
            ends_by: None,
        }
    }

    /// Its next deadline.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.gone_at().or_else(|| Some(self.warn_at()?.0))
    }

    /// When none of its work is left, if it was told to end. It may not have heard that, for example because the
    /// process that would end its work is stopped. The end of the lease that it was told before ends it all the
    /// same.
    pub(super) fn gone_at(&self) -> Option<Instant> {
        self.ends_by.map(|ends_by| ends_by.max(self.until))
    }

    /// Returns the end of its maximum hold, if it must get notice of that now.
    pub(super) fn overdue(&self, now: Instant) -> Option<Instant> {
        let (warn_at, end) = self.warn_at()?;
        (warn_at <= now).then_some(end)
    }

    /// When it gets notice of its end, and the end.
    fn warn_at(&self) -> Option<(Instant, Instant)> {
        let max_hold = self.asked.request.max_hold_ms.map(Duration::from_millis)?;
        let warning = WARNING.min(max_hold / 4);
        let end = self.since + max_hold;
        Some((self.since + max_hold.saturating_sub(warning), end))
    }

    pub(super) fn status(&self, now: Instant) -> ClientStatus {
        ClientStatus {
            holds: true,
            since_ns: nanos(now.since(self.since)),
            ..self.asked.status(now)
        }
    }
}
