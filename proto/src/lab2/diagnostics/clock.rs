//! Reports of tokens that are far ahead of the wall clock.

use std::time::Duration;

use ring_codec::lab2::Token;

use super::{Diagnostics, report};
use crate::lab2::Diagnostic;
use crate::lab2::machine::{Context, Output};
use crate::time::nanos;

/// A token is reported if it is ahead by more than this many nanoseconds: an hour.
const REPORTED_LEAD_MIN: u64 = 60 * 60 * 1_000_000_000;

impl Diagnostics {
    /// Compares the strongest token with the wall clock, and reports once if it is far ahead.
    pub(crate) fn review_clock_lead(&mut self, context: &Context, out: &mut Output, token: Token) {
        let by = ahead_of_clock(context, token);
        let is_ahead = nanos(by) > REPORTED_LEAD_MIN;
        // One report per change, not one per token.
        if std::mem::replace(&mut self.token_ahead, is_ahead) != is_ahead {
            report(out, Diagnostic::TokenAhead { token, by }, !is_ahead);
        }
    }

    /// Returns the problem of the known token, if it was reported and still is far ahead.
    pub(super) fn token_ahead(
        &self,
        context: &Context,
        token: Option<Token>,
    ) -> Option<Diagnostic> {
        let token = token.filter(|_| self.token_ahead)?;
        let by = ahead_of_clock(context, token);
        (nanos(by) > REPORTED_LEAD_MIN).then_some(Diagnostic::TokenAhead { token, by })
    }
}

fn ahead_of_clock(context: &Context, token: Token) -> Duration {
    Duration::from_nanos(token.progress.saturating_sub(context.clock().wall))
}
