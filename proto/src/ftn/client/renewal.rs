//! Renewals of the session, and the lease that their confirmation gives (`docs/ftn.md`, section 5).

use std::collections::VecDeque;
use std::time::Duration;

use super::outbox::{Content, Context};
use super::{Loss, Options};
use crate::Backoff;
use crate::time::Instant;

/// How many unconfirmed renewals are remembered. A CT has room for fewer unless leaders change all the while.
const REMEMBERED: usize = 64;

/// How the session stands with its leader.
#[derive(Debug, Clone, Hash)]
pub(super) struct Renewal {
    /// When the session's id was taken up.
    begun: Instant,
    lease: Option<Lease>,
    /// Those sent to the present leader and not confirmed, oldest first: number, and when.
    outstanding: VecDeque<(i64, Instant)>,
    next: Next,
}

#[derive(Debug, Clone, Copy, Hash)]
struct Lease {
    since: Instant,
    until: Instant,
}

/// When the next renewal is sent.
#[derive(Debug, Clone, Copy, Hash)]
enum Next {
    /// As soon as anything is done.
    AtOnce,
    /// A while after the last confirmed one.
    Then(Instant),
    /// Since the last one is not confirmed.
    Repeat(Backoff),
}

/// What a confirmation means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Confirmed {
    /// Nothing: it is none of a renewal that counts.
    Nothing,
    /// The session goes on.
    Renewed,
    /// The session has become live.
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

    /// The end of the lease; `None`: the session is not live yet.
    pub(super) fn lease(&self) -> Option<Instant> {
        self.lease.map(|lease| lease.until)
    }

    pub(super) fn live_since(&self) -> Option<Instant> {
        self.lease.map(|lease| lease.since)
    }

    /// When the session is over unless a renewal is confirmed.
    pub(super) fn end(&self, options: &Options) -> Instant {
        match self.lease {
            Some(lease) => lease.until,
            None => self.begun + options.proving(),
        }
    }

    /// Why the session is over, if it is.
    pub(super) fn loss(&self, now: Instant, options: &Options) -> Option<Loss> {
        let loss = match self.lease {
            Some(_) => Loss::LeaseOver,
            None => Loss::NotProven,
        };
        (self.end(options) <= now).then_some(loss)
    }

    /// When the next renewal is sent.
    pub(super) const fn due(&self) -> Instant {
        match self.next {
            Next::AtOnce => Instant::from_nanos(0),
            Next::Then(due) => due,
            Next::Repeat(backoff) => backoff.due(),
        }
    }

    /// Another server leads: what the old leader confirms no longer counts.
    pub(super) fn restart(&mut self) {
        self.outstanding.clear();
        self.next = Next::AtOnce;
    }

    /// Servers end sessions earlier than was known: so does the lease, by so much. It is renewed at once.
    pub(super) fn shorten(&mut self, by: Duration) {
        if let Some(lease) = &mut self.lease {
            lease.until = lease.until.before(by);
        }
        self.next = Next::AtOnce;
    }

    /// Sends what is due by `limit`.
    pub(super) fn act(&mut self, context: &mut Context<'_>, leader: usize, limit: Instant) {
        if self.due() > limit {
            return;
        }
        let (now, options) = (context.now, context.options);
        let next = match self.next {
            Next::Repeat(mut backoff) => {
                backoff.repeated(now, options.renewal_retry_max());
                backoff
            }
            Next::AtOnce | Next::Then(_) => {
                context.send(leader, Content::Alive);
                Backoff::new(now, options.renewal_retry())
            }
        };
        self.next = Next::Repeat(next);
        if self.outstanding.len() == REMEMBERED {
            self.outstanding.pop_front();
        }
        let number = context.numbers.take();
        self.outstanding.push_back((number, now));
        context.send(leader, Content::Renewal(number));
    }

    /// The leader has confirmed the message `number`.
    pub(super) fn confirm(&mut self, number: i64, now: Instant, options: &Options) -> Confirmed {
        let found = self.outstanding.iter().position(|&(n, _)| n == number);
        let Some((place, sent)) = found.and_then(|at| Some((at, self.outstanding.get(at)?.1)))
        else {
            return Confirmed::Nothing;
        };
        let until = sent + options.lease();
        if until <= now {
            return Confirmed::Nothing;
        }
        // Earlier ones would not lengthen the lease.
        self.outstanding.drain(..=place);
        self.next = Next::Then(sent + options.renewal_interval());
        let was = self.lease;
        let since = was.map_or(now, |lease| lease.since);
        self.lease = Some(Lease { since, until });
        match was {
            Some(_) => Confirmed::Renewed,
            None => Confirmed::Live,
        }
    }
}
