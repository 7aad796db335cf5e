//! The local holder of the token, and the clients that wait for the token. Every system uses this queue. The code uses
//! neither sockets nor a clock.

use std::collections::VecDeque;
use std::time::Duration;

use ring_control::LockRequest;
use ring_proto::time::Instant;

use ring_process::{Client, ClientId};

/// Maximum number of waiting clients.
pub const WAITING_CLIENTS_MAX: usize = 400;
/// Time between the notice to a holder and the end of its lock. In this time, the holder must end its work. If a hold
/// has a maximum time, the holder gets the notice at most this long before the end of the maximum time.
pub const ENDING_NOTICE: Duration = Duration::from_secs(1);

/// The reason why a client may not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotQueued {
    /// Another client of this machine holds the token or waits for it, and the request permits no wait.
    Busy,
    /// Too many clients already wait.
    QueueFull,
}

/// A waiting client. `R` is the type of the grade that a request can require. `O` contains further data about the
/// client, which only the system uses.
#[derive(Debug)]
pub struct Waiter<R, O> {
    /// Client that waits.
    pub client: Client,
    /// Lock that the client requested.
    pub request: LockRequest<R>,
    /// Time at which the client began to wait.
    pub since: Instant,
    /// Time at which the client stops waiting.
    pub until: Option<Instant>,
    /// Data that only the system uses.
    pub own: O,
}

impl<R, O> Waiter<R, O> {
    /// Whether the client still waits.
    pub fn still_waits(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| until > now)
    }
}

/// The client that holds the token. `T` describes the granted token.
#[derive(Debug)]
pub struct Holder<R, O, T> {
    /// Client, and the data that were stored about the client while it waited.
    pub waiter: Waiter<R, O>,
    /// Time at which the token was granted to the client.
    pub since: Instant,
    /// Granted token.
    pub token: T,
    /// End of the last lease that the client knows. No other client gets the token before this time.
    pub until: Instant,
    /// Time by which the client's work must have ended; `None` unless the client got notice.
    pub ends_by: Option<Instant>,
}

impl<R, O, T> Holder<R, O, T> {
    /// Returns the time of the next notice to the client, or of the end of its lock.
    pub fn deadline(&self) -> Option<Instant> {
        self.ended_at().or_else(|| Some(self.notice_at()?.0))
    }

    /// Returns the time at which the client's work has ended in every case. Returns `None` if the client got no notice.
    /// The client may not have read the notice, for example because its process is stalled. Then the work ends with the
    /// last lease that the client knows.
    pub fn ended_at(&self) -> Option<Instant> {
        self.ends_by.map(|ends_by| ends_by.max(self.until))
    }

    /// If the client must get notice at `now`, returns the end of its maximum hold. Otherwise returns `None`.
    pub fn due_notice(&self, now: Instant) -> Option<Instant> {
        let (notice_at, end) = self.notice_at()?;
        (notice_at <= now).then_some(end)
    }

    /// For a client with a maximum hold, returns the time at which the client gets notice, and the end of the hold.
    fn notice_at(&self) -> Option<(Instant, Instant)> {
        let max_hold = self.waiter.request.max_hold_ms.map(Duration::from_millis)?;
        let warning = ENDING_NOTICE.min(max_hold / 4);
        let end = self.since + max_hold;
        Some((self.since + max_hold.saturating_sub(warning), end))
    }
}

/// The holder on this machine, and the queue of this machine. The system decides which waiting client is the next
/// holder, and sends the messages to the clients.
#[derive(Debug)]
pub struct LockQueue<R, O, T> {
    /// Holder of the token.
    pub holder: Option<Holder<R, O, T>>,
    /// Waiting clients, in order.
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
    /// Adds a client to the queue. A client whose request permits no wait still waits for `fetch_timeout`. In this
    /// time, the node can get the token if no other client uses it.
    ///
    /// # Errors
    /// Returns the reason why the client may not wait.
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

    /// Makes a waiting client the holder.
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

    /// Returns the token of the holder. Returns `None` if there is no holder, or if the holder got notice to end its
    /// work.
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

    /// Removes the client if it holds the token or waits for it. Returns whether there was such a client.
    pub fn release(&mut self, client: ClientId) -> bool {
        let was_involved = self.involves(client);
        self.holder.take_if(|it| it.waiter.client.id == client);
        self.waiting.retain(|waiter| waiter.client.id != client);
        was_involved
    }

    /// Handles a client that disconnected. If the client held the token, its lock ends, and this function returns the
    /// client. Returns `None` if the client had no lock, or if its lock was already ending.
    ///
    /// If the client held the token without reporting the end of its work, the work may continue. Before the end of the
    /// lease, the work is ended by the kernel, or by the process that keeps the lock.
    pub fn on_client_gone(&mut self, now: Instant, client: ClientId) -> Option<&Waiter<R, O>> {
        if !self.holds(client) {
            self.release(client);
            return None;
        }
        let holder = self.holder.as_mut().filter(|it| it.ends_by.is_none())?;
        holder.ends_by = Some(now);
        Some(&holder.waiter)
    }

    /// Returns the next deadline of the holder and of all waiting clients.
    pub fn deadline(&self) -> Option<Instant> {
        let holder = self.holder.iter().filter_map(Holder::deadline);
        let waiting = self.waiting.iter().filter_map(|waiter| waiter.until);
        holder.chain(waiting).min()
    }
}
