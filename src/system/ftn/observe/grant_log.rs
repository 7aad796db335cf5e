//! Chooses the token events that are logged. A server may grant tokens a hundred thousand times per second.

use std::collections::HashMap;
use std::time::Duration;

use ring_host::observe::RateLimit;
use ring_proto::ftn::server::{Event, TokenHold};
use ring_proto::time::Instant;

use super::log::AdmittedEvent;

/// The limit of logged grants: first a burst, and then one grant per second. When a logged grant ends, the log gets a
/// second line about this grant.
const GRANTS_LIMIT: RateLimit = RateLimit::new(100, Duration::from_secs(1));
/// Maximum number of logged grants that have not ended.
const AWAITED_GRANTS_MAX: usize = 10_000;

/// Chooses grants to log, and remembers each chosen grant until the grant ends.
#[derive(Debug)]
pub(super) struct GrantLog {
    grants: RateLimit,
    /// The time of each logged grant, by session and token.
    since: HashMap<(i32, Box<[u8]>), Instant>,
}

impl GrantLog {
    pub(super) fn new() -> Self {
        Self {
            grants: GRANTS_LIMIT,
            since: HashMap::new(),
        }
    }

    /// Returns whether to log an event about a token; returns `Err` if the event has a different subject.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        event: &Event,
    ) -> Result<Option<AdmittedEvent>, ()> {
        Ok(match event {
            Event::TokenGranted(holding) => self.admit_grant(now, holding),
            Event::TokenReturned(holding) | Event::TokenLost(holding) => {
                self.since.remove(&key(holding)).map(|since| AdmittedEvent {
                    hidden: 0,
                    held: Some(now.since(since)),
                })
            }
            _ => return Err(()),
        })
    }

    fn admit_grant(&mut self, now: Instant, holding: &TokenHold) -> Option<AdmittedEvent> {
        if !self.grants.allow(now) {
            return None;
        }
        // This server never sees the end of some grants, because another server serves the token by then.
        if self.since.len() >= AWAITED_GRANTS_MAX {
            self.since.clear();
        }
        self.since.insert(key(holding), now);
        let hidden = self.grants.take_refused();
        Some(AdmittedEvent { hidden, held: None })
    }
}

fn key(holding: &TokenHold) -> (i32, Box<[u8]>) {
    (holding.session, holding.name.clone())
}
