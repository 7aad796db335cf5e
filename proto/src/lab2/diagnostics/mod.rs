//! Reports for people: assumptions of `docs/guarantees.md` that do not hold, and the members' cards. The state machine
//! feeds it, and no rule reads it. Start with `Diagnostics::problems` in `problems`.

mod apart_members;
mod cards;
mod clock;
mod duplicate_macs;
mod one_way;
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
use problems::ProblemLog;
use reachability::Reachability;
use silence_reports::SilenceReports;

/// For this many WAITER_TIMEOUTs a single event counts as a present problem, and is not reported again.
const RECENT_TIMEOUTS: u32 = 128;

/// Observations, and which of them were reported.
#[derive(Debug, Clone, Default)]
pub(crate) struct Diagnostics {
    problems: ProblemLog,
    /// Frames that do not get through between this node and others.
    reachability: Reachability,
    /// Silent members.
    silence_reports: SilenceReports,
    /// Members that do not hear this node.
    one_way: OneWayReports,
    /// Addresses that two machines share.
    duplicate_macs: DuplicateMacs,
    /// Members that are apart, in order.
    apart: Vec<MacAddr>,
    /// Whether it was reported that the strongest token is far ahead of the wall clock.
    token_ahead: bool,
    cards: Cards,
}

/// Reports a problem, or its end.
fn report(out: &mut Output, trouble: Diagnostic, over: bool) {
    out.event(Event::DiagnosticChanged { trouble, over });
}

/// Reports a problem that has begun or ended.
fn report_change(out: &mut Output, before: Option<Diagnostic>, trouble: Option<Diagnostic>) {
    match (before, trouble) {
        (None, Some(trouble)) => report(out, trouble, false),
        (Some(trouble), None) => report(out, trouble, true),
        _ => {}
    }
}

fn is_recent(context: &Context, at: Instant) -> bool {
    context.now().since(at) < context.waiter_timeout() * RECENT_TIMEOUTS
}

/// A statement of a member about itself.
#[derive(Debug, Clone, Copy)]
struct Statement {
    mac: MacAddr,
    since: Instant,
    reported: bool,
}

/// Notes whether a member states something about itself. Returns whether to report it: it must have lasted for `lasts`.
fn note_statement(
    all: &mut Vec<Statement>,
    mac: MacAddr,
    is_so: bool,
    (now, lasts): (Instant, Duration),
) -> bool {
    let place = all.iter().position(|statement| statement.mac == mac);
    if !is_so {
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
    goes_on && !std::mem::replace(&mut all[at].reported, goes_on)
}

/// Deletes the statements of members that are gone. Returns those members, in order, whose statements were reported.
fn end_statements(all: &mut Vec<Statement>, gone: &[MacAddr]) -> Vec<MacAddr> {
    let ended = all.extract_if(.., |statement| gone.contains(&statement.mac));
    ended
        .filter(|statement| statement.reported)
        .map(|statement| statement.mac)
        .collect()
}
