//! The restore of an orphan (`docs/jitterbug.md`, section 3).
//!
//! Its tryout is the node's token_id all the time: the second try has the new one.

use std::cmp::Ordering;
use std::time::Duration;

use ring_codec::jitterbug::TokenId;

use crate::time::Instant;

/// What is due in a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing yet.
    Nothing,
    /// The next TR1.
    Ask,
    /// The second try, with a new id.
    Second,
}

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    First,
    Second,
    /// Nobody has objected.
    Granted,
}

/// A restore that goes on.
#[derive(Debug)]
pub(crate) struct Restore {
    stage: Stage,
    /// TR1 of this try that the link took.
    asked: u32,
    /// When the next TR1 is due, or the end of the try.
    due: Instant,
    /// Which restore of the node it is, from 1.
    number: u64,
    begun: Instant,
    /// When it may be granted at the earliest.
    earliest: Instant,
}

impl Restore {
    /// One that lasts at least so long.
    pub(crate) fn new(now: Instant, number: u64, least: Duration) -> Self {
        Self {
            stage: Stage::First,
            asked: 0,
            due: now,
            number,
            begun: now,
            earliest: now + least,
        }
    }

    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        (!self.is_granted()).then_some(self.due)
    }

    pub(crate) fn is_granted(&self) -> bool {
        self.stage == Stage::Granted
    }

    /// Goes on by one step, if it is time for it. A step that comes late delays those after it: each TR1 has a whole
    /// interval for its answers.
    pub(crate) fn go_on(&mut self, now: Instant, count: u32, interval: Duration) -> Due {
        if self.is_granted() || now < self.due {
            return Due::Nothing;
        }
        let is_too_early = self.stage == Stage::Second && now < self.earliest;
        if self.asked < count || is_too_early {
            self.asked = count.min(self.asked + 1);
            self.due = now + interval;
            return Due::Ask;
        }
        if self.stage == Stage::First {
            self.stage = Stage::Second;
            self.asked = 0;
            return Due::Second;
        }
        self.stage = Stage::Granted;
        Due::Nothing
    }

    /// It lasts at least so long.
    pub(crate) fn last_long(&mut self, least: Duration) {
        self.earliest = self.earliest.max(self.begun + least);
    }

    /// The link has refused a TR1: who was not asked cannot object, so it is made up for.
    pub(crate) const fn unsent(&mut self) {
        self.asked = self.asked.saturating_sub(1);
    }

    /// Whether a token_id of another node, compared with the own one, denies it.
    pub(crate) fn is_denied_by(&self, heard: TokenId, own: TokenId) -> bool {
        heard.is_leader()
            || match heard.compare(own) {
                Ordering::Greater => true,
                Ordering::Equal => self.stage != Stage::First,
                Ordering::Less => false,
            }
    }
}
