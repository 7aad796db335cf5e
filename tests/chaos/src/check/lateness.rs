//! Periods in which the machine itself was late. Bounds apply only to running processes. A process that waits for a CPU
//! may exceed the bounds.
//!
//! A bound starts again whenever the machine was late by more than TAKE_TIMEOUT, the longest delay that the protocol
//! tolerates. The report shows values from such a disturbed period, but does not judge them. The verdict reports how
//! much of the calm was undisturbed.

use std::time::Duration;

use ring_segment::{MacAddr, Message, Token};

use super::evidence::{Cycle, Evidence, Span};
use super::{Verdict, wire::Transit};

/// Name of a count: the time of calms in which bounds were judged.
pub const JUDGED: &str = "milliseconds of calm in which one owner was required";

/// Periods in which the machine was late, sorted and merged.
#[derive(Debug, Default)]
pub struct Lateness {
    spans: Vec<Span>,
    /// Number of reports from each observer.
    reports: Vec<(&'static str, usize)>,
}

impl Lateness {
    /// Collects the reports of the metronome, the members, the daemons and the frames.
    pub fn gather(evidence: &Evidence, transit: &Transit) -> Self {
        let mut spans: Vec<Span> = evidence.late.iter().map(|(span, _)| *span).collect();
        let witnesses = spans.len();
        let answers = slow_answers(evidence);
        let reports = vec![
            ("times that a process noticed its own delay", witnesses),
            ("deliveries that were late in a calm", transit.slow.len()),
            ("offers whose answers were late", answers.len()),
        ];
        spans.extend(&transit.slow);
        spans.extend(answers);
        Self {
            reports,
            ..Self::of(spans)
        }
    }

    /// Sorts and merges these periods.
    pub fn of(mut spans: Vec<Span>) -> Self {
        spans.sort_by_key(|span| span.from);
        let mut merged: Vec<Span> = Vec::new();
        for span in spans {
            match merged.last_mut() {
                Some(last) if span.from <= last.to => last.to = last.to.max(span.to),
                _ => merged.push(span),
            }
        }
        Self {
            spans: merged,
            reports: Vec::new(),
        }
    }

    /// Whether the machine was late between `from` and `to`.
    pub fn disturbs(&self, from: Duration, to: Duration) -> bool {
        let next = self.spans.partition_point(|span| span.to < from);
        self.spans.get(next).is_some_and(|span| span.from <= to)
    }

    /// Returns the last time up to `at` at which the machine was late.
    pub fn in_time_since(&self, at: Duration) -> Duration {
        let next = self.spans.partition_point(|span| span.from <= at);
        let last = next.checked_sub(1).map(|index| self.spans[index]);
        last.map_or(Duration::ZERO, |span| span.to.min(at))
    }

    /// Adds the undisturbed time of the calms to the verdict.
    pub(super) fn report(&self, evidence: &Evidence, verdict: &mut Verdict) {
        let bound = evidence.timing.one_owner_bound();
        let (mut calm, mut judged) = (Duration::ZERO, Duration::ZERO);
        let step = Duration::from_millis(10);
        for Span { from, to } in evidence.cycles.iter().filter_map(Cycle::calm_span) {
            let mut at = from;
            while at < to {
                calm += step;
                if at.saturating_sub(self.in_time_since(at).max(from)) >= bound {
                    judged += step;
                }
                at += step;
            }
        }
        for (what, times) in &self.reports {
            verdict.count(what, *times as u64);
        }
        verdict.count("milliseconds of calm", whole_ms(calm));
        verdict.count(JUDGED, whole_ms(judged));
    }
}

fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the offers whose answers almost came too late, because the taker or its answer was delayed.
fn slow_answers(evidence: &Evidence) -> Vec<Span> {
    let patience = evidence.timing.take_timeout;
    let mut slow = Vec::new();
    // The newest offers. Each station has only a few open offers at a time.
    let mut open: Vec<(Duration, Token, MacAddr)> = Vec::new();
    let calms: Vec<Span> = evidence
        .cycles
        .iter()
        .filter_map(Cycle::calm_span)
        .collect();
    let sent = calms.iter().flat_map(|calm| evidence.sent_in(*calm));
    for seen in sent {
        let author = seen.author;
        open.retain(|(since, token, taker)| {
            let answered = *taker == author && answers(&seen.message, token);
            if answered && seen.at.saturating_sub(*since) > patience {
                slow.push(Span::new(*since, seen.at));
            }
            !answered && seen.at.saturating_sub(*since) < Duration::from_secs(2)
        });
        if let Message::TakeToken { token, .. } = seen.message
            && !open.iter().any(|(_, offered, _)| *offered == token)
        {
            open.push((seen.at, token, seen.dst));
        }
    }
    slow
}

fn answers(message: &Message, offered: &Token) -> bool {
    match message {
        Message::TokenIsHere { token, .. } | Message::TokenWasHereRecently { token, .. } => {
            token == offered || token.beats(offered)
        }
        Message::TakeToken { token, .. } => token.beats(offered),
        _ => false,
    }
}
