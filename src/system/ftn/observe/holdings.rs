//! Chooses the token events that are logged: tokens may be granted a hundred thousand times a second.

use std::collections::HashMap;
use std::time::Duration;

use ring_host::observe::RateLimit;
use ring_proto::ftn::server::{Event, Holding};
use ring_proto::time::Instant;

use super::log::Admitted;

/// A burst of grants gets lines, and then one a second. Each of them gets another line at its end.
const GRANTS: RateLimit = RateLimit::new(100, Duration::from_secs(1));
/// The most grants whose end is waited for.
const AWAITED_MAX: usize = 10_000;

/// Chooses grants that get a line, and remembers them until their end.
#[derive(Debug)]
pub(super) struct Holdings {
    grants: RateLimit,
    /// When a session's grant of a token was logged.
    since: HashMap<(i32, Box<[u8]>), Instant>,
}

impl Holdings {
    pub(super) fn new() -> Self {
        Self {
            grants: GRANTS,
            since: HashMap::new(),
        }
    }

    /// Whether an event about a token gets a line; `Err`: it is about something else.
    pub(super) fn admit(&mut self, now: Instant, event: &Event) -> Result<Option<Admitted>, ()> {
        Ok(match event {
            Event::TokenGranted(holding) => self.admit_grant(now, holding),
            Event::TokenReturned(holding) | Event::TokenLost(holding) => {
                self.since.remove(&key(holding)).map(|since| Admitted {
                    hidden: 0,
                    held: Some(now.since(since)),
                })
            }
            _ => return Err(()),
        })
    }

    fn admit_grant(&mut self, now: Instant, holding: &Holding) -> Option<Admitted> {
        if !self.grants.allow(now) {
            return None;
        }
        // The end of some is never told here: another server serves the token by then.
        if self.since.len() >= AWAITED_MAX {
            self.since.clear();
        }
        self.since.insert(key(holding), now);
        let hidden = self.grants.take_refused();
        Some(Admitted { hidden, held: None })
    }
}

fn key(holding: &Holding) -> (i32, Box<[u8]>) {
    (holding.session, holding.name.clone())
}
