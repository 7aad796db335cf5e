//! Renewals of the session, and the lease that each confirmation gives (`docs/token-service/protocol/sessions.md` S14
//! to S22).

use std::collections::VecDeque;
use std::time::Duration;

use super::outbox::{Content, Context};
use super::{Loss, Options};
use crate::Backoff;
use crate::time::Instant;

/// Largest number of unconfirmed renewals that are kept. During CT, a client usually sends far fewer renewals than this
/// number.
const UNCONFIRMED_MAX: usize = 64;

/// Renewals of one session.
#[derive(Debug, Clone, Hash)]
pub(super) struct Renewal {
    /// Time at which the session began to use its id.
    begun: Instant,
    lease: Option<Lease>,
    /// Unconfirmed renewals to the present leader, the oldest first. Each entry contains a renewal's number and its
    /// sending time.
    outstanding: VecDeque<(i64, Instant)>,
    next: Next,
}

#[derive(Debug, Clone, Copy, Hash)]
struct Lease {
    since: Instant,
    until: Instant,
}

#[derive(Debug, Clone, Copy, Hash)]
enum Next {
    /// At the next opportunity.
    AtOnce,
    /// At this time. The client computes this time from the time of the last confirmed renewal.
    After(Instant),
    /// The client repeats the renewal because it is not confirmed.
    Repeat(Backoff),
}

/// Effect of a confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Confirmation {
    /// The confirmation has no effect. The client does not know the renewal, or the renewal's lease would already be
    /// over.
    Ignored,
    /// The session is extended.
    Renewed,
    /// The session became live.
    Live,
}

impl Renewal {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            begun: now,
            lease: None,
            outstanding: VecDeque::new(),
            next: Next::AtOnce,
        }
    }

    /// Returns the end of the lease, or `None` before the session is live.
    pub(super) fn lease(&self) -> Option<Instant> {
        self.lease.map(|lease| lease.until)
    }

    pub(super) fn live_since(&self) -> Option<Instant> {
        self.lease.map(|lease| lease.since)
    }

    /// Returns the time at which the session ends if no renewal is confirmed before.
    pub(super) fn expiry(&self, options: &Options) -> Instant {
        match self.lease {
            Some(lease) => lease.until,
            None => self.begun + options.proving_timeout(),
        }
    }

    /// Returns the cause of the session's end, or `None` if the session still exists.
    pub(super) fn find_loss(&self, now: Instant, options: &Options) -> Option<Loss> {
        let loss = match self.lease {
            Some(_) => Loss::LeaseOver,
            None => Loss::NotProven,
        };
        (self.expiry(options) <= now).then_some(loss)
    }

    pub(super) const fn due(&self) -> Instant {
        match self.next {
            Next::AtOnce => Instant::from_nanos(0),
            Next::After(due) => due,
            Next::Repeat(backoff) => backoff.due(),
        }
    }

    /// Starts the renewals again with a new leader. After a restart of the renewals, the client ignores confirmations
    /// of the old leader.
    pub(super) fn restart(&mut self) {
        self.outstanding.clear();
        self.next = Next::AtOnce;
    }

    /// Shortens the lease because servers end sessions earlier, and makes a renewal due at once.
    pub(super) fn shorten(&mut self, by: Duration) {
        if let Some(lease) = &mut self.lease {
            lease.until = lease.until.before(by);
        }
        // The shorter lease may end before the planned renewal.
        self.next = Next::AtOnce;
    }

    /// Sends a renewal if it is due by `limit`.
    pub(super) fn send_due(&mut self, context: &mut Context<'_>, leader: usize, limit: Instant) {
        if self.due() > limit {
            return;
        }
        let (now, options) = (context.now, context.options);
        let next = match self.next {
            Next::Repeat(mut backoff) => {
                backoff.advance(now, options.renewal_retry_max());
                backoff
            }
            Next::AtOnce | Next::After(_) => {
                // A repetition needs no ALIVE: the leader takes any message as a sign of life.
                context.send(leader, Content::Alive);
                Backoff::new(now, options.renewal_retry())
            }
        };
        self.next = Next::Repeat(next);
        // The oldest renewal is dropped, because its confirmation would give the shortest lease.
        if self.outstanding.len() == UNCONFIRMED_MAX {
            self.outstanding.pop_front();
        }
        // A repetition has a new number, so that its confirmation shows which sending it answers.
        let number = context.numbers.take();
        self.outstanding.push_back((number, now));
        context.send(leader, Content::Renewal(number));
    }

    /// Handles the leader's confirmation of the message `number`.
    pub(super) fn confirm(&mut self, number: i64, now: Instant, options: &Options) -> Confirmation {
        let found = self.outstanding.iter().position(|&(n, _)| n == number);
        let Some((place, sent)) = found.and_then(|at| Some((at, self.outstanding.get(at)?.1)))
        else {
            return Confirmation::Ignored;
        };
        // The lease counts from the sending, because the leader may have heard nothing since.
        let until = sent + options.lease();
        if until <= now {
            return Confirmation::Ignored;
        }
        // An earlier renewal would not extend the lease.
        self.outstanding.drain(..=place);
        self.next = Next::After(sent + options.renewal_interval());
        let was = self.lease;
        let since = was.map_or(now, |lease| lease.since);
        self.lease = Some(Lease { since, until });
        match was {
            Some(_) => Confirmation::Renewed,
            None => Confirmation::Live,
        }
    }
}
