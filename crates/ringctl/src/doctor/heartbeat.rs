//! Computes the shortest heartbeat interval with which the ring causes no false alarms on this network.
//!
//! A heartbeat interval H must fulfill two conditions. The worst values come from the measurement.
//!
//! 1. A waiter must hear the next heartbeat of a living owner before WAITER_TIMEOUT. D is the worst lateness of an
//!    owner plus the worst round trip. A measurement of some seconds misses the rare worst case, so D counts twice.
//!    Some successive heartbeats may be lost: one if the measurement lost no frame, and otherwise two. So the condition
//!    is `(1 + lost) × H + 2 × D ≤ WAITER_TIMEOUT`.
//! 2. The answer to an offer of the token must arrive before the offer expires. So the condition is `worst round trip ≤
//!    (TAKE_ATTEMPTS + ½) × TAKE_TIMEOUT`.
//!
//! WAITER_TIMEOUT and TAKE_TIMEOUT stay proportional to H: their ratios to H are those of the ring's present options.

use std::time::Duration;

use ring_control::lab2::{ConstantsStatus, SurveyReport};
use ring_proto::lab2::HEARTBEAT_MIN;
use ring_text::format_duration;
use serde::Serialize;

use super::finding::Finding;
use super::kinds::{HEARTBEAT_SHORT, LATE_BEFORE};

/// The number of successive heartbeats that may be lost without an alarm. The first value applies if the measurement
/// lost no frame, and the second value if it lost frames.
const LOST_BEATS: [u64; 2] = [1, 2];
/// The factor by which the measured delay is multiplied.
const DELAY_MARGIN: u64 = 2;
/// Longest time that a result may contain. A limit is necessary, because a member may report a wrong time that is very
/// long.
const TIME_MAX_NS: u64 = 3_600_000_000_000;

/// The shortest heartbeat, and the reason why it cannot be shorter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ShortestHeartbeat {
    shortest_ns: u64,
    current_ns: u64,
    reason: String,
}

/// The largest of several values, with the text about it.
struct Worst {
    ns: u64,
    text: String,
}

impl ShortestHeartbeat {
    /// Returns the shortest heartbeat. Returns `None` if the members measured no round trip, or if the options allow no
    /// lost heartbeat.
    pub(super) fn of(constants: &ConstantsStatus, report: &SurveyReport) -> Option<Self> {
        let trip = worst_round_trip(report)?;
        let late = worst_lateness(report);
        let [no_loss, loss] = LOST_BEATS;
        let has_loss = has_loss(report);
        let lost = if has_loss { loss } else { no_loss };
        let current = constants.heartbeat_ns.max(1);
        let intervals = constants.waiter_timeout_ns / current;
        let slack = intervals.checked_sub(1 + lost).filter(|&slack| slack > 0)?;
        let delay = trip.ns + late.as_ref().map_or(0, |late| late.ns);
        let for_waiters = (DELAY_MARGIN * delay).div_ceil(slack);
        // (TAKE_ATTEMPTS + ½) × TAKE_TIMEOUT in units of half a TAKE_TIMEOUT.
        let half_timeouts = 2 * u64::from(constants.take_attempts) + 1;
        let timeouts_per_beat = current.div_ceil(constants.take_timeout_ns.max(1));
        let for_offers = (2 * trip.ns).saturating_mul(timeouts_per_beat);
        let for_offers = for_offers.div_ceil(half_timeouts);
        let floor = u64::try_from(HEARTBEAT_MIN.as_nanos()).unwrap_or(u64::MAX);
        let (ns, reason) = if for_waiters.max(for_offers) <= floor {
            (
                floor,
                "an owner cannot announce itself more often".to_owned(),
            )
        } else if for_offers > for_waiters {
            let text = format!("{}, and an offer of the token expires before", trip.text);
            (for_offers, text)
        } else {
            let worst = late.filter(|late| late.ns > trip.ns).unwrap_or(trip);
            let remark = if has_loss {
                ", and frames were lost"
            } else {
                ""
            };
            (for_waiters, worst.text + remark)
        };
        Some(Self {
            shortest_ns: round_up(ns.min(TIME_MAX_NS)),
            current_ns: constants.heartbeat_ns,
            reason,
        })
    }

    /// Returns the line of the page.
    pub(super) fn line(&self) -> String {
        format!(
            "Shortest --heartbeat: {}, because {}. The ring has {}.",
            format_ns(self.shortest_ns),
            self.reason,
            format_ns(self.current_ns)
        )
    }

    /// Returns a finding if the heartbeat of the ring is too short.
    pub(super) fn finding(&self) -> Option<Finding> {
        let (shortest, current) = (format_ns(self.shortest_ns), format_ns(self.current_ns));
        (self.current_ns < self.shortest_ns).then(|| {
            Finding::new(
                &HEARTBEAT_SHORT,
                format!("the heartbeat of {current} is too short for this segment"),
            )
            .with_evidence(self.reason.clone())
            .with_remedy(format!(
                "find the cause of the delay, or start all members with --heartbeat {}",
                shortest.replace(' ', "")
            ))
        })
    }

    pub(super) fn map_texts(self, edit: impl Fn(&str) -> String) -> Self {
        Self {
            reason: edit(&self.reason),
            ..self
        }
    }
}

fn worst_round_trip(report: &SurveyReport) -> Option<Worst> {
    let trips = report.pairs.iter().filter_map(|pair| {
        let trip = pair.sender.as_ref()?.round_trip?;
        Some((trip.max_ns.min(TIME_MAX_NS), pair))
    });
    let (ns, pair) = trips.max_by_key(|(ns, _)| *ns)?;
    let (from, to) = (&pair.from, &pair.to);
    let text = format!("an answer of {to} to {from} took {}", format_ns(ns));
    Some(Worst { ns, text })
}

/// Returns the worst lateness of all members during the measurement.
fn worst_lateness(report: &SurveyReport) -> Option<Worst> {
    let late = report.members.iter().filter_map(|member| {
        let ns = member.measured.as_ref()?.lateness_ns.min(TIME_MAX_NS);
        (ns > 0).then_some((ns, &member.mac))
    });
    let (ns, mac) = late.max_by_key(|(ns, _)| *ns)?;
    let text = format!("{mac} woke up {} late", format_ns(ns));
    Some(Worst { ns, text })
}

/// Finds the member with the longest delay since its start. If an owner with this delay would count as dead, returns a
/// note about the member. The time of the delay is unknown: for example, the machine may have been suspended long ago.
/// So this delay has no influence on the shortest heartbeat.
pub(super) fn late_before(constants: &ConstantsStatus, report: &SurveyReport) -> Option<Finding> {
    let late = report.members.iter().filter_map(|member| {
        let since_start = member.report.as_ref()?.lateness_ns.min(TIME_MAX_NS);
        let measured = member.measured.as_ref().map_or(0, |it| it.lateness_ns);
        (since_start > measured).then_some((since_start, &member.mac))
    });
    let (ns, mac) = late.max_by_key(|(ns, _)| *ns)?;
    let limit = constants
        .waiter_timeout_ns
        .saturating_sub(constants.heartbeat_ns);
    (ns > limit).then(|| {
        let [late, limit] = [ns, limit].map(format_ns);
        Finding::new(&LATE_BEFORE, format!("{mac} once woke up {late} late"))
            .with_evidence(format!(
                "this is its longest delay since its start, not during the measurement; after {limit}, other members \
                 replace an owner"
            ))
            .with_remedy("if the machine was not suspended, look for load at that time in its log")
    })
}

fn has_loss(report: &SurveyReport) -> bool {
    report.pairs.iter().any(|pair| {
        let (Some(sender), Some(receiver)) = (&pair.sender, &pair.receiver) else {
            return false;
        };
        receiver.arrived < sender.sent || receiver.broadcasts_arrived < sender.broadcasts_sent
    })
}

/// Rounds a time up to two significant digits.
fn round_up(ns: u64) -> u64 {
    let mut step = 1_000_000;
    while step * 100 < ns {
        step *= 10;
    }
    ns.next_multiple_of(step)
}

fn format_ns(ns: u64) -> String {
    format_duration(Duration::from_nanos(ns))
}

#[cfg(test)]
mod tests {
    use super::super::kinds::{HEARTBEAT_SHORT, LATE_BEFORE};
    use super::{ShortestHeartbeat, SurveyReport, TIME_MAX_NS, late_before};
    use crate::render::example_status;
    use crate::render::survey_fixtures::{pair, report};

    fn shortest(report: &SurveyReport) -> ShortestHeartbeat {
        let constants = example_status().constants;
        ShortestHeartbeat::of(&constants, report).expect("the members measured")
    }

    fn trip(report: &mut SurveyReport, max_ns: u64) {
        let sender = pair(report, 2, 3).sender.as_mut().expect("it reported");
        sender.round_trip.as_mut().expect("it measured").max_ns = max_ns;
    }

    fn late(report: &mut SurveyReport, member: usize, ns: u64) {
        let measured = report.members[member].measured.as_mut();
        measured.expect("it measured").lateness_ns = ns;
    }

    #[test]
    fn the_worst_delay_determines_the_heartbeat_and_the_reason() {
        let mut report = report(3);
        let found = shortest(&report);
        assert_eq!(
            found.shortest_ns, 3_000_000,
            "3.5 twentieths of it are 0.5 ms"
        );
        assert!(
            found.reason.contains("an offer of the token expires"),
            "{}",
            found.reason
        );
        late(&mut report, 2, 41_000_000);
        let found = shortest(&report);
        assert_eq!(found.shortest_ns, 42_000_000);
        assert_eq!(
            found.line(),
            "Shortest --heartbeat: 42 ms, because 02:00:00:00:00:03 woke up 41 ms late. The ring has 100 ms."
        );
        assert_eq!(found.finding(), None);
        pair(&mut report, 1, 2)
            .receiver
            .as_mut()
            .expect("it reported")
            .arrived -= 1;
        let found = shortest(&report);
        assert_eq!(found.shortest_ns, 83_000_000, "two heartbeats may be lost");
        assert!(
            found.reason.ends_with(", and frames were lost"),
            "{}",
            found.reason
        );
        late(&mut report, 2, 51_000_000);
        let found = shortest(&report);
        assert_eq!(found.shortest_ns, 110_000_000);
        let finding = found.finding().expect("100 ms are too short");
        assert!(
            finding.is(&HEARTBEAT_SHORT) && finding.page().contains("--heartbeat 110ms"),
            "{}",
            finding.page()
        );
    }

    #[test]
    fn a_slow_answer_needs_a_longer_timeout_of_an_offer() {
        let mut report = report(3);
        trip(&mut report, 7_000_000);
        let found = shortest(&report);
        assert_eq!(
            found.shortest_ns, 40_000_000,
            "3.5 twentieths of it are 7 ms"
        );
        assert!(
            found
                .reason
                .contains("02:00:00:00:00:03 to 02:00:00:00:00:02 took 7 ms"),
            "{}",
            found.reason
        );
    }

    #[test]
    fn without_delays_the_protocol_gives_the_minimum() {
        let mut report = report(2);
        for pair in &mut report.pairs {
            let sender = pair.sender.as_mut().expect("it reported");
            sender.round_trip.as_mut().expect("it measured").max_ns = 50_000;
        }
        for member in &mut report.members {
            member.report.as_mut().expect("it answered").lateness_ns = 0;
            member.measured.as_mut().expect("it measured").lateness_ns = 0;
        }
        assert_eq!(shortest(&report).shortest_ns, 1_000_000);
        report.pairs.clear();
        assert_eq!(
            ShortestHeartbeat::of(&example_status().constants, &report),
            None
        );
    }

    #[test]
    fn an_older_delay_is_only_a_note() {
        let constants = example_status().constants;
        let mut report = report(3);
        let before = shortest(&report);
        assert_eq!(late_before(&constants, &report), None);
        let member = &mut report.members[2];
        member.report.as_mut().expect("it answered").lateness_ns = 120_000_000_000;
        assert_eq!(shortest(&report), before);
        let found = late_before(&constants, &report).expect("a note");
        assert!(found.is(&LATE_BEFORE) && !found.needs_attention());
        let page = found.page();
        for words in [
            "02:00:00:00:00:03 once woke up 2m late",
            "since its start, not during the measurement",
            "after 300 ms",
        ] {
            assert!(page.contains(words), "{page}");
        }
    }

    #[test]
    fn absurd_numbers_of_a_member_give_the_longest_time() {
        let mut report = report(3);
        trip(&mut report, u64::MAX);
        for member in &mut report.members {
            member.report.as_mut().expect("it answered").lateness_ns = u64::MAX;
            member.measured.as_mut().expect("it measured").lateness_ns = u64::MAX;
        }
        assert_eq!(shortest(&report).shortest_ns, TIME_MAX_NS);
        let mut constants = example_status().constants;
        assert_eq!(late_before(&constants, &report), None, "it was measured");
        constants.heartbeat_ns = u64::MAX / 8;
        constants.waiter_timeout_ns = u64::MAX / 2;
        constants.take_timeout_ns = 1;
        constants.take_attempts = u32::MAX;
        let found = ShortestHeartbeat::of(&constants, &report).expect("the members measured");
        assert!(found.shortest_ns <= TIME_MAX_NS);
    }
}
