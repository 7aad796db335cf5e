//! Reports for people. They describe the members' cards, and the assumptions of `docs/explanation/guarantees.md` that
//! do not hold. The state machine passes its observations to this module, but no rule of the protocol depends on the
//! reports. Start with `Diagnostics::problems` in `problems`.

mod apart_members;
mod cards;
mod clock;
mod duplicate_macs;
mod one_way;
mod preferred;
mod problems;
mod reachability;
mod silence_reports;
pub(super) mod silent_members;

use std::time::Duration;

use ring_codec::MacAddr;

use super::machine::{Context, Output};
use super::{Diagnostic, Event};
use crate::time::Instant;
use cards::Cards;
use duplicate_macs::DuplicateMacs;
use one_way::OneWayReports;
use preferred::PreferredReport;
use problems::ProblemLog;
use reachability::Reachability;
use silence_reports::SilenceReports;

/// During this number of WAITER_TIMEOUTs after an event, the event counts as a present problem, and is not reported
/// again.
const RECENT_TIMEOUTS: u32 = 128;

/// The observations of this node. Each observation has a flag that shows whether it was reported.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Diagnostics {
    problems: ProblemLog,
    /// Observations about frames that do not reach this node or other members.
    reachability: Reachability,
    /// Reports about silent members.
    silence_reports: SilenceReports,
    /// Reports about members that do not hear this node.
    one_way: OneWayReports,
    preferred: PreferredReport,
    /// Addresses that two machines share.
    duplicate_macs: DuplicateMacs,
    /// Members that are apart, sorted by MAC.
    apart: Vec<MacAddr>,
    /// Whether this node reported that the strongest token is far ahead of the wall clock.
    token_ahead: bool,
    cards: Cards,
}

/// Reports that a problem began. If `over` is set, reports that the problem ended.
fn report(out: &mut Output, trouble: Diagnostic, over: bool) {
    out.event(Event::DiagnosticChanged { trouble, over });
}

/// Reports a problem that began, or a problem that ended. A change of a problem's details is not reported.
fn report_change(out: &mut Output, before: Option<Diagnostic>, trouble: Option<Diagnostic>) {
    match (before, trouble) {
        (None, Some(trouble)) => report(out, trouble, false),
        (Some(trouble), None) => report(out, trouble, true),
        // A problem whose details change has already been reported.
        _ => {}
    }
}

fn is_recent(context: &Context, at: Instant) -> bool {
    context.now().since(at) < context.waiter_timeout() * RECENT_TIMEOUTS
}

/// A statement of a member about itself, for example that it is deaf.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
struct Statement {
    mac: MacAddr,
    since: Instant,
    reported: bool,
}

/// Notes whether a member makes a statement about itself. Returns whether the caller must report the beginning or the
/// end of the statement. The beginning is reported when the statement has lasted for `lasts`. The end is reported only
/// if the beginning was reported.
fn note_statement(
    all: &mut Vec<Statement>,
    mac: MacAddr,
    is_so: bool,
    (now, lasts): (Instant, Duration),
) -> bool {
    let place = all.iter().position(|statement| statement.mac == mac);
    if !is_so {
        // The end is reported only if the beginning was reported.
        return place.is_some_and(|at| all.swap_remove(at).reported);
    }
    let at = place.unwrap_or_else(|| {
        let (since, reported) = (now, false);
        all.push(Statement {
            mac,
            since,
            reported,
        });
        all.len() - 1
    });
    let goes_on = now.since(all[at].since) >= lasts;
    // Each frame of the member repeats the statement, but only the first repetition after `lasts` is reported.
    goes_on && !std::mem::replace(&mut all[at].reported, goes_on)
}

/// Deletes the statements of members that are gone. Returns the members whose statements were reported.
fn end_statements(all: &mut Vec<Statement>, gone: &[MacAddr]) -> Vec<MacAddr> {
    let ended = all.extract_if(.., |statement| gone.contains(&statement.mac));
    ended
        .filter(|statement| statement.reported)
        .map(|statement| statement.mac)
        .collect()
}
