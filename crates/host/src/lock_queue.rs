//! Which client of this machine holds the token, and which wait for it: the part of a queue of locks that
//! no system's rules change. No sockets, no clock.

use std::collections::VecDeque;
use std::time::Duration;

use ring_control::LockRequest;
use ring_proto::time::Instant;

use ring_process::{Client, ClientId};

/// The most clients that wait at a time.
pub const MAX_WAITING: usize = 400;
/// How long a holder has to end its work when somebody else decides that it ends, its own maximum hold included.
pub const NOTICE: Duration = Duration::from_secs(1);

/// Why a client may not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotQueued {
    /// A client of this machine has the token or waits for it, and this one is not to wait.
    Busy,
    /// Too many wait already.
    Crowded,
}

/// A client that waits. `R` is what a system may require of a lock, `O` what it keeps of the client besides.
#[derive(Debug)]
pub struct Waiter<R, O> {
    /// Who it is.
    pub client: Client,
    /// How it wants the lock.
    pub request: LockRequest<R>,
    /// Since when it waits.
    pub since: Instant,
    /// When it gives up.
    pub until: Option<Instant>,
    /// The system's own.
    pub own: O,
}

impl<R, O> Waiter<R, O> {
    /// Whether it waits on.
    pub fn is_patient(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| until > now)
    }
}

/// The client that has the token. `T` is what it was granted, as the system knows it.
#[derive(Debug)]
pub struct Holder<R, O, T> {
    /// As it has waited.
    pub asked: Waiter<R, O>,
    /// Since when it has the token.
    pub since: Instant,
    /// What it was granted.
    pub token: T,
    /// The end of the lease that it was told last: nobody else is granted the token before then.
    pub until: Instant,
    /// When its work must have ended, as it was told.
    pub ends_by: Option<Instant>,
}

impl<R, O, T> Holder<R, O, T> {
    /// Its next deadline.
    fn deadline(&self) -> Option<Instant> {
        self.gone_at().or_else(|| Some(self.warn_at()?.0))
    }

    /// When none of its work is left, if it was told to end. It may not have heard that, for example because the
    /// process that would end its work is stopped. The end of the lease that it was told before ends it all the
    /// same.
    pub fn gone_at(&self) -> Option<Instant> {
        self.ends_by.map(|ends_by| ends_by.max(self.until))
    }

    /// Returns the end of its maximum hold, if it must get notice of that now.
    pub fn overdue(&self, now: Instant) -> Option<Instant> {
        let (warn_at, end) = self.warn_at()?;
        (warn_at <= now).then_some(end)
    }

    /// When it gets notice of its end, and the end.
    fn warn_at(&self) -> Option<(Instant, Instant)> {
        let max_hold = self.asked.request.max_hold_ms.map(Duration::from_millis)?;
        let warning = NOTICE.min(max_hold / 4);
        let end = self.since + max_hold;
        Some((self.since + max_hold.saturating_sub(warning), end))
    }
}

/// The local holder and the local queue. Who of those that wait is next, and what the holder is told, its system
/// decides.
#[derive(Debug)]
pub struct LockQueue<R, O, T> {
    /// Who holds the token.
    pub holder: Option<Holder<R, O, T>>,
    /// Who waits for it, in order.
    pub waiting: VecDeque<Waiter<R, O>>,
}

impl<R, O, T> Default for LockQueue<R, O, T> {
    fn default() -> Self {
        Self {
            holder: None,
            waiting: VecDeque::new(),
        }
    }
}

impl<R, O, T> LockQueue<R, O, T> {
    /// A client waits from now on. One that does not want to wait for others' work still waits for `way`: upper
    /// bound for fetching an idle token.
    ///
    /// # Errors
    /// Why it may not.
    pub fn push(
        &mut self,
        now: Instant,
        client: Client,
        request: LockRequest<R>,
        way: Duration,
        own: O,
    ) -> Result<(), NotQueued> {
        if request.wait_ms == Some(0) && !self.is_empty() {
            return Err(NotQueued::Busy);
        }
        if self.waiting.len() >= MAX_WAITING {
            return Err(NotQueued::Crowded);
        }
        let patience = request.wait_ms.map(|ms| match ms {
            0 => way,
            ms => Duration::from_millis(ms),
        });
        self.waiting.push_back(Waiter {
            client,
            request,
            since: now,
            until: patience.map(|patience| now + patience),
            own,
        });
        Ok(())
    }

    /// A client that has waited holds the token from now on.
    pub fn hold(&mut self, now: Instant, asked: Waiter<R, O>, token: T, until: Instant) {
        self.holder = Some(Holder {
            asked,
            since: now,
            token,
            until,
            ends_by: None,
        });
    }

    /// Whether nobody holds the token or waits for it.
    pub fn is_empty(&self) -> bool {
        self.holder.is_none() && self.waiting.is_empty()
    }

    /// What the holder was granted, unless it was told to end.
    pub fn held(&self) -> Option<&T> {
        let holder = self.holder.as_ref().filter(|it| it.ends_by.is_none());
        holder.map(|holder| &holder.token)
    }

    /// Whether a client holds the token.
    pub fn holds(&self, client: ClientId) -> bool {
        let holder = self.holder.as_ref();
        holder.is_some_and(|it| it.asked.client.id == client)
    }

    /// Whether a client holds the token or waits for it.
    pub fn concerns(&self, client: ClientId) -> bool {
        self.holds(client) || self.waiting.iter().any(|it| it.client.id == client)
    }

    /// A client wants the token no more. Whether it had it or waited for it.
    pub fn release(&mut self, client: ClientId) -> bool {
        let was_concerned = self.concerns(client);
        self.holder.take_if(|it| it.asked.client.id == client);
        self.waiting.retain(|waiter| waiter.client.id != client);
        was_concerned
    }

    /// A client is gone. If it had the token and did not say that its work has ended, that may go on
    /// for as long as it was told: the kernel, or who looks after it, is just ending it. Whose lock this
    /// has ended, unless that was over already.
    pub fn leave_behind(&mut self, now: Instant, client: ClientId) -> Option<&Waiter<R, O>> {
        if !self.holds(client) {
            self.release(client);
            return None;
        }
        let holder = self.holder.as_mut().filter(|it| it.ends_by.is_none())?;
        holder.ends_by = Some(now);
        Some(&holder.asked)
    }

    /// When somebody's time is up.
    pub fn deadline(&self) -> Option<Instant> {
        let holder = self.holder.iter().filter_map(Holder::deadline);
        let waiting = self.waiting.iter().filter_map(|waiter| waiter.until);
        holder.chain(waiting).min()
    }
}
