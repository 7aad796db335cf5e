//! Reports tokens whose progress is far ahead of the wall clock.

use std::time::Duration;

use ring_codec::lab2::Token;

use super::{Diagnostics, report};
use crate::lab2::Diagnostic;
use crate::lab2::machine::{Context, Output};
use crate::time::nanos;

/// The minimum lead over the wall clock for a report: an hour, in nanoseconds.
const REPORTED_LEAD_MIN: u64 = 60 * 60 * 1_000_000_000;

impl Diagnostics {
    /// Compares the strongest token with the wall clock. Reports once when the token is far ahead, and once when it is
    /// no longer far ahead.
    pub(crate) fn review_clock_lead(&mut self, context: &Context, out: &mut Output, token: Token) {
        let by = ahead_of_clock(context, token);
        let is_ahead = nanos(by) > REPORTED_LEAD_MIN;
        // Each hop makes a new token, so a report for each token would repeat in each rotation.
        if std::mem::replace(&mut self.token_ahead, is_ahead) != is_ahead {
            report(out, Diagnostic::TokenAhead { token, by }, !is_ahead);
        }
    }

    /// If the node reported that the strongest token is far ahead, and it is still far ahead, returns this problem.
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
    // A token that is behind the clock is not a problem.
    Duration::from_nanos(token.progress.saturating_sub(context.clock().wall))
}
