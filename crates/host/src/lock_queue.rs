//! The local holder of the token and the clients that wait for it: the part of a lock queue that is the same in every
//! system. No sockets, no clock.

use std::collections::VecDeque;
use std::time::Duration;

use ring_control::LockRequest;
use ring_proto::time::Instant;

use ring_process::{Client, ClientId};

/// Maximum number of waiting clients.
pub const WAITING_CLIENTS_MAX: usize = 400;
/// Time for a holder to end its work when its lock must end, also at its own maximum hold.
pub const ENDING_NOTICE: Duration = Duration::from_secs(1);

/// The reason why a client may not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotQueued {
    /// A client of this machine holds or awaits the token, and this client does not want to wait.
    Busy,
    /// Too many clients wait already.
    QueueFull,
}

/// A waiting client. `R` are the requirements of a lock in a system, `O` the system's own data about the client.
#[derive(Debug)]
pub struct Waiter<R, O> {
    /// The client.
    pub client: Client,
    /// The requested lock.
    pub request: LockRequest<R>,
    /// When it began to wait.
    pub since: Instant,
    /// When it stops waiting.
    pub until: Option<Instant>,
    /// The system's own data.
    pub own: O,
}

impl<R, O> Waiter<R, O> {
    /// Whether it still waits.
    pub fn still_waits(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| until > now)
    }
}

/// The client that holds the token. `T` describes the granted token.
#[derive(Debug)]
pub struct Holder<R, O, T> {
    /// The client as it has waited.
    pub waiter: Waiter<R, O>,
    /// When it was granted the token.
    pub since: Instant,
    /// The granted token.
    pub token: T,
    /// The end of the last lease that it knows. No other client gets the token before then.
    pub until: Instant,
    /// When its work must have ended, if it was told to end.
    pub ends_by: Option<Instant>,
}

impl<R, O, T> Holder<R, O, T> {
    fn deadline(&self) -> Option<Instant> {
        self.ended_at().or_else(|| Some(self.notice_at()?.0))
    }

    /// Returns when none of its work is left, if it was told to end. The client may not have read that, for example
    /// because the process that would end its work is stalled. Then the end of its last lease ends its work.
    pub fn ended_at(&self) -> Option<Instant> {
        self.ends_by.map(|ends_by| ends_by.max(self.until))
    }

    /// Returns the end of its maximum hold, if it must get notice of that at `now`.
    pub fn due_notice(&self, now: Instant) -> Option<Instant> {
        let (notice_at, end) = self.notice_at()?;
        (notice_at <= now).then_some(end)
    }

    /// Returns when it gets notice of its end, and the end.
    fn notice_at(&self) -> Option<(Instant, Instant)> {
        let max_hold = self.waiter.request.max_hold_ms.map(Duration::from_millis)?;
        let warning = ENDING_NOTICE.min(max_hold / 4);
        let end = self.since + max_hold;
        Some((self.since + max_hold.saturating_sub(warning), end))
    }
}

/// The local holder and the local queue. The system decides which waiting client is next,
/// and notifies the holder.
#[derive(Debug)]
pub struct LockQueue<R, O, T> {
    /// The holder of the token.
    pub holder: Option<Holder<R, O, T>>,
    /// The waiting clients, in order.
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
    /// Adds a client to the queue. A client that does not want to wait for other clients still waits for
    /// `fetch_timeout`, the maximum time to fetch an idle token.
    ///
    /// # Errors
    /// The reason why the client may not wait.
    pub fn push(
        &mut self,
        now: Instant,
        client: Client,
        request: LockRequest<R>,
        fetch_timeout: Duration,
        own: O,
    ) -> Result<(), NotQueued> {
        if request.wait_ms == Some(0) && !self.is_empty() {
            return Err(NotQueued::Busy);
        }
        if self.waiting.len() >= WAITING_CLIENTS_MAX {
            return Err(NotQueued::QueueFull);
        }
        let wait_max = request.wait_ms.map(|ms| match ms {
            0 => fetch_timeout,
            ms => Duration::from_millis(ms),
        });
        self.waiting.push_back(Waiter {
            client,
            request,
            since: now,
            until: wait_max.map(|wait_max| now + wait_max),
            own,
        });
        Ok(())
    }

    /// Makes a client that has waited the holder.
    pub fn hold(&mut self, now: Instant, waiter: Waiter<R, O>, token: T, until: Instant) {
        self.holder = Some(Holder {
            waiter,
            since: now,
            token,
            until,
            ends_by: None,
        });
    }

    /// Whether no client holds the token or waits for it.
    pub fn is_empty(&self) -> bool {
        self.holder.is_none() && self.waiting.is_empty()
    }

    /// Returns the holder's token, unless the holder was told to end.
    pub fn held_token(&self) -> Option<&T> {
        let holder = self.holder.as_ref().filter(|it| it.ends_by.is_none());
        holder.map(|holder| &holder.token)
    }

    /// Whether a client holds the token.
    pub fn holds(&self, client: ClientId) -> bool {
        let holder = self.holder.as_ref();
        holder.is_some_and(|it| it.waiter.client.id == client)
    }

    /// Whether a client holds the token or waits for it.
    pub fn involves(&self, client: ClientId) -> bool {
        self.holds(client) || self.waiting.iter().any(|it| it.client.id == client)
    }

    /// Removes a client that holds the token or waits for it. Returns whether it did.
    pub fn release(&mut self, client: ClientId) -> bool {
        let was_involved = self.involves(client);
        self.holder.take_if(|it| it.waiter.client.id == client);
        self.waiting.retain(|waiter| waiter.client.id != client);
        was_involved
    }

    /// Handles a client that has disconnected. Returns the client whose lock this has ended, unless it was ending
    /// before.
    ///
    /// If the client held the token and did not report the end of its work, the work may continue until the end of its
    /// lease. Its keeper or the kernel is about to end the work.
    pub fn on_client_gone(&mut self, now: Instant, client: ClientId) -> Option<&Waiter<R, O>> {
        if !self.holds(client) {
            self.release(client);
            return None;
        }
        let holder = self.holder.as_mut().filter(|it| it.ends_by.is_none())?;
        holder.ends_by = Some(now);
        Some(&holder.waiter)
    }

    /// Returns the next deadline of the holder or a waiting client.
    pub fn deadline(&self) -> Option<Instant> {
        let holder = self.holder.iter().filter_map(Holder::deadline);
        let waiting = self.waiting.iter().filter_map(|waiter| waiter.until);
        holder.chain(waiting).min()
    }
}
