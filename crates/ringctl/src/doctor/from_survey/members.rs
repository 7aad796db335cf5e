//! Findings about single members.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ring_control::lab2::{ConstantsStatus, Grade, MemberReport, SurveyReport, SurveyedMember};
use ring_text::format_duration;

use super::super::common::trouble_severity;
use super::super::finding::{Finding, Severity};
use super::super::kinds::{
    CLOCK_WRONG, MEMBER_MTU, MEMBER_TROUBLE, NO_REPORT, NOT_MEASURED, REQUIRE_DIFFERS, STARVED,
};

/// The largest difference between two clocks that causes no finding. With a larger difference, the times in the logs of
/// two machines are hard to compare, and a pause ends at a wrong time.
const CLOCK_OFFSET_MAX: Duration = Duration::from_secs(1);
/// Length of the header of a frame, which does not count for the MTU.
const HEADER_LEN: u16 = 14;
/// If a member has sent this number of short probes, it should also have sent a long probe.
const SHORT_MIN: u8 = 4;

/// Checks the answer of a member.
pub(super) fn check(member: &SurveyedMember) -> Option<Finding> {
    let mac = &member.mac;
    let Some(report) = &member.report else {
        // The troubles of the daemon already name the members that are silent or deaf. A member that has left cannot
        // answer.
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

/// Returns the troubles that the other members report. One finding lists all members that report the same sentence.
///
/// Most sentences describe the machine of the member that reports them. So if this node reports the same sentence, it
/// has a separate problem. But a sentence that names a member describes the same problem on all machines. If such a
/// sentence is in `own`, the troubles of this node, there is no further finding about it.
pub(super) fn troubles(report: &SurveyReport, own: &[String]) -> Vec<Finding> {
    let names_member = |text: &str| report.members.iter().any(|it| text.contains(&it.mac));
    let is_known = |text: &str| {
        // In a report, this character replaces the end of a long sentence.
        let start = text.strip_suffix('…').unwrap_or(text);
        names_member(start) && own.iter().any(|it| it.starts_with(start))
    };
    let mut by_text: BTreeMap<&str, (Severity, Vec<&str>)> = BTreeMap::new();
    for member in report.members.iter().filter(|it| it.mac != report.surveyor) {
        let Some(report) = &member.report else {
            continue;
        };
        let troubles = report.troubles.iter().enumerate();
        for (place, text) in troubles.filter(|(_, text)| !is_known(text)) {
            let severity = trouble_severity(report.health, place);
            let (worst, macs) = by_text.entry(text).or_insert((severity, Vec::new()));
            *worst = severity.min(*worst);
            macs.push(&member.mac);
        }
    }
    let found = by_text.into_iter().map(|(text, (severity, macs))| {
        let verb = if macs.len() > 1 { "report" } else { "reports" };
        let text = format!("{} {verb}: {text}", macs.join(", "));
        Finding::new(&MEMBER_TROUBLE, text).with_severity(severity)
    });
    found.collect()
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

/// Finds members whose daemons woke up very late during the measurement. With such a delay, an offer of the token would
/// expire.
pub(super) fn starved(report: &SurveyReport, constants: &ConstantsStatus) -> Vec<Finding> {
    let timeout = constants.take_timeout_ns;
    let limit = timeout.saturating_mul(constants.take_attempts.into());
    let limit = limit.saturating_add(timeout / 2);
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

/// Finds members whose daemons require a grade for locks that differs from the grade of most members. If several grades
/// are equally frequent, the safest of them counts as the rule of the ring.
pub(super) fn other_rules(report: &SurveyReport) -> Vec<Finding> {
    let mut by_grade: BTreeMap<Grade, Vec<&str>> = BTreeMap::new();
    for member in &report.members {
        if let Some(grade) = member.report.as_ref().and_then(|it| it.require) {
            by_grade.entry(grade).or_default().push(&member.mac);
        }
    }
    let all: usize = by_grade.values().map(Vec::len).sum();
    let Some(rule) = by_grade
        .iter()
        .max_by_key(|(grade, macs)| (macs.len(), **grade))
        .map(|(grade, macs)| (*grade, macs.len()))
    else {
        return Vec::new();
    };
    let (rule, count) = (rule.0.name(), rule.1);
    let others = by_grade.iter().filter(|(grade, _)| grade.name() != rule);
    let found = others.map(|(grade, macs)| {
        let verb = if macs.len() > 1 { "require" } else { "requires" };
        let (macs, grade) = (macs.join(", "), grade.name());
        Finding::new(
            &REQUIRE_DIFFERS,
            format!("{macs} {verb} the grade {grade} for locks, but other members require {rule}"),
        )
        .with_evidence(format!("{count} of {all} members require {rule}"))
        .with_remedy(format!(
            "set require = \"{rule}\" in ringd.toml on all machines, and run: sudo systemctl reload ringd@IFACE"
        ))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ring_control::Health;
    use ring_control::lab2::{Grade, SurveyedMember};

    use super::super::super::kinds::{
        CLOCK_WRONG, MEMBER_MTU, NO_REPORT, NOT_MEASURED, REQUIRE_DIFFERS, STARVED,
    };
    use super::{
        Finding, SurveyReport, check, other_rules, small_mtu, starved, troubles, with_small_mtu,
        without_results,
    };
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
    fn members_with_another_rule_than_most_members_are_found() {
        let rules = |grades: &[Option<Grade>]| {
            let mut report = report(grades.len());
            for (member, grade) in report.members.iter_mut().zip(grades) {
                member.report.as_mut().expect("it answered").require = *grade;
            }
            other_rules(&report)
        };
        let (alone, quorum) = (Some(Grade::Alone), Some(Grade::Quorum));
        for equal in [&[quorum; 3][..], &[None; 3], &[alone, None, alone]] {
            assert_eq!(rules(equal), []);
        }
        for (grades, words) in [
            (
                &[alone, quorum, quorum][..],
                "for locks, but other members require quorum",
            ),
            (&[quorum, alone, alone], ":01 requires the grade quorum"),
            (&[alone, quorum], "1 of 2 members require quorum"),
            (
                &[alone, alone, quorum, quorum, quorum],
                ":02 require the grade",
            ),
        ] {
            let found = rules(grades);
            let [one] = &found[..] else {
                panic!("{found:?}");
            };
            assert!(
                one.is(&REQUIRE_DIFFERS) && one.page().contains(words),
                "{}",
                one.page()
            );
        }
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

    fn with_troubles(texts: &[&str]) -> SurveyReport {
        let mut report = report(3);
        for member in &mut report.members {
            let report = member.report.as_mut().expect("it answered");
            report.troubles = texts.iter().map(|&text| text.to_owned()).collect();
        }
        report
    }

    #[test]
    fn one_finding_lists_all_members_with_a_trouble() {
        let mut report = with_troubles(&["no carrier", "no quorum"]);
        let own = ["no carrier".to_owned()];
        let pages = |report: &SurveyReport| -> Vec<String> {
            troubles(report, &own).iter().map(Finding::page).collect()
        };
        let both = "02:00:00:00:00:02, 02:00:00:00:00:03 report";
        let expected = ["no carrier", "no quorum"].map(|text| format!("WARNING  {both}: {text}\n"));
        assert_eq!(
            pages(&report),
            expected,
            "another machine has no carrier too"
        );
        let last = report.members[2].report.as_mut().expect("it answered");
        last.health = Health::Critical;
        last.troubles.truncate(1);
        assert_eq!(
            pages(&report),
            [
                format!("ERROR    {both}: no carrier\n"),
                "WARNING  02:00:00:00:00:02 reports: no quorum\n".to_owned()
            ]
        );
    }

    #[test]
    fn a_trouble_that_names_a_member_is_left_out_if_this_node_has_it() {
        let own = ["02:00:00:00:00:03 is silent since 3 s".to_owned()];
        for (text, is_left_out) in [
            (own[0].as_str(), true),
            ("02:00:00:00:00:03 is si…", true),
            ("02:00:00:00…", false),
            ("02:00:00:00:00:03 is deaf", false),
        ] {
            let found = troubles(&with_troubles(&[text]), &own);
            assert_eq!(found.is_empty(), is_left_out, "{text}");
        }
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
