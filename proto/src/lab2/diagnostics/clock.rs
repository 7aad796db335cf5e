//! The wall clock, which keeps generated tokens ahead of forgotten ones, and is not to be trusted in more than that
//! (`docs/protocol.md`, "The order of tokens").

use std::time::Duration;

use ring_codec::lab2::Token;

use crate::lab2::{Lab2, Trouble};
use crate::time::nanos;

/// By so much a wall clock takes a token ahead of what is known, at the most.
const MOST_AHEAD: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// In a token of less progress no clock had a say, in nanoseconds since 1970: the year 2001. It says nothing of the
/// time.
const FIRST: u64 = 1_000_000_000_000_000_000;
/// No wall clock takes a token further, in nanoseconds since 1970: the year 2116. Half of all progress is left
/// then.
const LATEST: u64 = 1 << 62;
/// A token that is further ahead of the wall clock is worth saying, in nanoseconds: an hour.
const NOTABLE: u64 = 60 * 60 * 1_000_000_000;

impl Lab2 {
    /// The least progress of a token that this node generates now, as far as its clock has a say.
    pub(crate) fn clock_floor(&mut self) -> u64 {
        let wall = self.context.clock().wall;
        let known = self.known.token().map_or(0, |known| known.progress);
        let most = if known < FIRST {
            LATEST
        } else {
            known.saturating_add(nanos(MOST_AHEAD)).min(LATEST)
        };
        if wall > most {
            let by = Duration::from_nanos(wall.saturating_sub(known));
            self.note_once(Trouble::ClockAhead { by });
        }
        wall.min(most)
    }

    /// A token that is far ahead of the wall clock is said once, until one is not.
    pub(crate) fn compare_with_clock(&mut self, token: Token) {
        let is_ahead = token.progress.saturating_sub(self.context.clock().wall) > NOTABLE;
        if std::mem::replace(&mut self.troubles.token_ahead, is_ahead) != is_ahead {
            let by = self.ahead_of_clock(token);
            self.tell_trouble(Trouble::TokenAhead { token, by }, !is_ahead);
        }
    }

    /// The token that is known, if it was said to be far ahead and still is.
    pub(crate) fn token_ahead(&self) -> Option<Trouble> {
        let token = self.token().filter(|_| self.troubles.token_ahead)?;
        let by = self.ahead_of_clock(token);
        (nanos(by) > NOTABLE).then_some(Trouble::TokenAhead { token, by })
    }

    fn ahead_of_clock(&self, token: Token) -> Duration {
        Duration::from_nanos(token.progress.saturating_sub(self.context.clock().wall))
    }
}
