//! A token that is far ahead of the wall clock.

use std::time::Duration;

use ring_codec::lab2::Token;

use super::{Diagnostics, tell};
use crate::lab2::Trouble;
use crate::lab2::machine::{Context, Output};
use crate::time::nanos;

/// A token that is further ahead of the wall clock is worth saying, in nanoseconds: an hour.
const NOTABLE: u64 = 60 * 60 * 1_000_000_000;

impl Diagnostics {
    /// Compares the strongest token with the wall clock: that it is far ahead is said once, until one is not.
    pub(crate) fn compare_with_clock(&mut self, context: &Context, out: &mut Output, token: Token) {
        let by = ahead_of_clock(context, token);
        let is_ahead = nanos(by) > NOTABLE;
        if std::mem::replace(&mut self.token_ahead, is_ahead) != is_ahead {
            tell(out, Trouble::TokenAhead { token, by }, !is_ahead);
        }
    }

    /// The token that is known, if it was said to be far ahead and still is.
    pub(super) fn token_ahead(&self, context: &Context, token: Option<Token>) -> Option<Trouble> {
        let token = token.filter(|_| self.token_ahead)?;
        let by = ahead_of_clock(context, token);
        (nanos(by) > NOTABLE).then_some(Trouble::TokenAhead { token, by })
    }
}

fn ahead_of_clock(context: &Context, token: Token) -> Duration {
    Duration::from_nanos(token.progress.saturating_sub(context.clock().wall))
}
