//! Findings about single members.

use std::collections::BTreeSet;
use std::time::Duration;

use ring_control::lab2::{ConstantsStatus, MemberReport, SurveyReport, SurveyedMember};
use ring_text::format_duration;

use super::super::finding::Finding;
use super::super::from_status::member_trouble;
use super::super::kinds::{CLOCK_WRONG, MEMBER_MTU, NO_REPORT, NOT_MEASURED, STARVED};

/// The largest difference between two clocks that causes no finding. With more, people compare the times of two logs
/// wrongly, and a pause ends at the wrong time.
const CLOCK_OFFSET_MAX: Duration = Duration::from_secs(1);
/// Length of the header of a frame, which does not count for the MTU.
const HEADER_LEN: u16 = 14;
/// Number of short probes after which a member must also have sent a long probe.
const SHORT_MIN: u8 = 4;

/// Checks the answer of a member.
pub(super) fn check(member: &SurveyedMember) -> Option<Finding> {
    let mac = &member.mac;
    let Some(report) = &member.report else {
        // The daemon's troubles name members that are silent or deaf. A member that has left cannot answer.
        let must_answer = matches!(member.presence.as_str(), "alive" | "paused");
        return must_answer.then(|| {
            let version = member.version.as_deref().unwrap_or("unknown");
            Finding::new(&NO_REPORT, format!("{mac} did not answer, although this node hears it"))
                .with_evidence(format!("its version of ringd is {version}"))
                .with_remedy(
                    "run ringctl doctor on that machine: frames to it may be lost; or install the same version there",
                )
        });
    };
    wrong_clock(mac, report)
}

/// Returns the finding about a member that answered, but has no part in the measurement.
pub(super) fn without_results(member: &SurveyedMember) -> Option<Finding> {
    let report = member.report.as_ref()?;
    let mac = &member.mac;
    if report.busy {
        let found = Finding::new(&NOT_MEASURED, format!("{mac} did not measure"));
        Some(
            found
                .with_evidence(
                    "it measured a short time before, for example for another ringctl doctor",
                )
                .with_remedy("wait 10 s, and run ringctl doctor again"),
        )
    } else if member.measured.is_none() {
        let found = Finding::new(
            &NOT_MEASURED,
            format!("the results of {mac} did not arrive"),
        );
        Some(found.with_remedy(format!(
            "run ringctl doctor again, and on {mac}: frames may be lost"
        )))
    } else {
        None
    }
}

fn wrong_clock(mac: &str, report: &MemberReport) -> Option<Finding> {
    let offset = Duration::from_nanos(report.clock_offset_ns.unsigned_abs());
    let error = Duration::from_nanos(report.clock_error_ns);
    (offset > CLOCK_OFFSET_MAX + error).then(|| {
        let side = if report.clock_offset_ns > 0 {
            "ahead of"
        } else {
            "behind"
        };
        let offset = format_duration(offset);
        Finding::new(
            &CLOCK_WRONG,
            format!("the clock of {mac} is {offset} {side} the clock of this machine"),
        )
        .with_evidence(format!(
            "the error of this measurement is at most {}",
            format_duration(error)
        ))
        .with_remedy("synchronize the clocks of both machines, for example with chrony")
    })
}

/// Returns the troubles that a member reports, without those that are `known`.
pub(super) fn troubles<'a>(
    member: &'a SurveyedMember,
    known: &mut BTreeSet<&'a str>,
) -> Vec<Finding> {
    let Some(report) = &member.report else {
        return Vec::new();
    };
    let troubles = report.troubles.iter().enumerate();
    let new = troubles.filter(|(_, trouble)| {
        // A report replaces the end of a long sentence by this character.
        let start = trouble.strip_suffix('…').unwrap_or(trouble);
        let is_known = known.iter().any(|it| it.starts_with(start));
        !is_known && known.insert(trouble)
    });
    new.map(|(place, trouble)| member_trouble(&member.mac, trouble, report.health, place))
        .collect()
}

/// Returns the members that sent short frames but no long frame, because their MTU is too small.
pub(super) fn with_small_mtu(report: &SurveyReport) -> BTreeSet<&str> {
    let senders = report
        .pairs
        .iter()
        .filter_map(|pair| Some((pair.from.as_str(), pair.sender?)));
    let small = senders.filter(|(_, sender)| sender.sent >= SHORT_MIN && sender.large_sent == 0);
    small.map(|(mac, _)| mac).collect()
}

pub(super) fn small_mtu(member: &SurveyedMember) -> Finding {
    let mac = &member.mac;
    let needed = member
        .measured
        .map_or(0, |it| it.large_len.saturating_sub(HEADER_LEN));
    Finding::new(
        &MEMBER_MTU,
        format!("the MTU of {mac} is too small for the longest frames of a ring"),
    )
    .with_evidence(format!(
        "such a frame needs an MTU of {needed}; {mac} cannot send it, and may not receive it"
    ))
    .with_remedy("run on that machine: sudo ip link set IFACE mtu 1500")
}

/// Finds members whose process woke up so late during the measurement that an offer of the token would expire.
pub(super) fn starved(report: &SurveyReport, constants: &ConstantsStatus) -> Vec<Finding> {
    let timeout = constants.take_timeout_ns;
    let limit = timeout * u64::from(constants.take_attempts) + timeout / 2;
    let late = report.members.iter().filter_map(|member| {
        let late = member.measured.as_ref()?.lateness_ns;
        (late > limit).then(|| {
            let [late, limit] = [late, limit].map(|ns| format_duration(Duration::from_nanos(ns)));
            Finding::new(
                &STARVED,
                format!("{} is starved: its ringd wakes up too late", member.mac),
            )
            .with_evidence(format!(
                "it woke up {late} late; an offer of the token expires after {limit}"
            ))
            .with_remedy("reduce the load of that machine, or of the host of that virtual machine")
        })
    });
    late.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ring_control::Health;
    use ring_control::lab2::SurveyedMember;

    use super::super::super::kinds::{
        CLOCK_WRONG, MEMBER_MTU, MEMBER_TROUBLE, NO_REPORT, NOT_MEASURED, STARVED,
    };
    use super::{check, small_mtu, starved, troubles, with_small_mtu, without_results};
    use crate::render::example_status;
    use crate::render::survey_fixtures::report;

    #[test]
    fn a_member_that_is_heard_must_answer() {
        let mut member = report(3).members.remove(1);
        assert_eq!(check(&member), None);
        member.report = None;
        assert!(check(&member).is_some_and(|it| it.is(&NO_REPORT)));
        member.presence = "silent".to_owned();
        assert_eq!(check(&member), None, "the daemon reports a silent member");
    }

    #[test]
    fn a_member_without_results_is_found() {
        let mut member = report(3).members.remove(1);
        assert_eq!(without_results(&member), None);
        member.report.as_mut().expect("it answered").busy = true;
        let found = without_results(&member).expect("a finding");
        assert!(
            found.is(&NOT_MEASURED) && found.page().contains("wait 10 s"),
            "{}",
            found.page()
        );
        member.report.as_mut().expect("it answered").busy = false;
        member.measured = None;
        let found = without_results(&member).expect("a finding");
        assert!(
            found.is(&NOT_MEASURED) && found.page().contains("did not arrive"),
            "{}",
            found.page()
        );
        member.report = None;
        assert_eq!(
            without_results(&member),
            None,
            "a different finding describes it"
        );
    }

    #[test]
    fn a_wrong_clock_is_found_beyond_the_error_of_the_measurement() {
        let with_offset = |offset: i64, error: u64| -> SurveyedMember {
            let mut member = report(3).members.remove(1);
            let report = member.report.as_mut().expect("it answered");
            (report.clock_offset_ns, report.clock_error_ns) = (offset, error);
            member
        };
        assert_eq!(check(&with_offset(900_000_000, 0)), None);
        assert_eq!(check(&with_offset(3_000_000_000, 2_500_000_000)), None);
        for (offset, side) in [
            (3_500_000_000, "3.5 s ahead of"),
            (-90_000_000_000, "1m 30s behind"),
        ] {
            let found = check(&with_offset(offset, 100_000)).expect("a finding");
            assert!(
                found.is(&CLOCK_WRONG) && found.page().contains(side),
                "{}",
                found.page()
            );
        }
    }

    #[test]
    fn each_trouble_is_reported_once() {
        let mut report = report(3);
        for member in &mut report.members {
            let report = member.report.as_mut().expect("it answered");
            report.health = Health::Degraded;
            let troubles = ["a known trouble", "a known…", "a new trouble"];
            report.troubles = troubles.map(str::to_owned).to_vec();
        }
        let mut known = BTreeSet::from(["a known trouble"]);
        let found = troubles(&report.members[1], &mut known);
        assert!(
            matches!(&found[..], [one] if one.is(&MEMBER_TROUBLE)),
            "{found:?}"
        );
        let page = found[0].page();
        assert_eq!(page, "WARNING  02:00:00:00:00:02 reports: a new trouble\n");
        assert_eq!(troubles(&report.members[2], &mut known), []);
    }

    #[test]
    fn a_member_that_sends_no_long_frames_has_a_small_mtu() {
        let mut report = report(3);
        assert_eq!(with_small_mtu(&report), BTreeSet::new());
        for pair in report
            .pairs
            .iter_mut()
            .filter(|pair| pair.from.ends_with("03"))
        {
            pair.sender.as_mut().expect("it reported").large_sent = 0;
        }
        assert_eq!(
            with_small_mtu(&report),
            BTreeSet::from(["02:00:00:00:00:03"])
        );
        let found = small_mtu(&report.members[2]);
        assert!(
            found.is(&MEMBER_MTU) && found.page().contains("MTU of 1500"),
            "{}",
            found.page()
        );
    }

    #[test]
    fn a_member_that_wakes_up_after_an_offer_has_expired_is_starved() {
        let constants = example_status().constants;
        let mut report = report(3);
        assert_eq!(starved(&report, &constants), []);
        let measured = report.members[2].measured.as_mut().expect("it measured");
        measured.lateness_ns = 18_000_000;
        let found = starved(&report, &constants);
        assert!(matches!(&found[..], [one] if one.is(&STARVED)), "{found:?}");
    }
}
