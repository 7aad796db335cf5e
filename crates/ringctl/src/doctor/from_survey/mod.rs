//! Findings from the survey of the ring.

mod members;
mod pairs;

use std::collections::BTreeSet;

use ring_control::lab2::{Status, SurveyReport};

use super::finding::Finding;

/// Maximum number of findings of one kind about single pairs.
const PAIRS_MAX: usize = 8;

/// Returns all findings from the survey: about the other members, and about the frames between members.
pub(super) fn check(report: &SurveyReport, status: &Status) -> Vec<Finding> {
    let small_mtu = members::with_small_mtu(report);
    let mut findings = pairs::check(report, &small_mtu);
    let small = report
        .members
        .iter()
        .filter(|it| small_mtu.contains(it.mac.as_str()));
    findings.extend(small.map(members::small_mtu));
    let pairs = report.pairs.iter().flat_map(|pair| [&pair.from, &pair.to]);
    let measuring: BTreeSet<&str> = pairs.map(String::as_str).collect();
    for member in report
        .members
        .iter()
        .filter(|member| member.mac != report.surveyor)
    {
        findings.extend(members::check(member));
        // In a large ring, most members do not take part in the measurement.
        if !report.limited || measuring.contains(member.mac.as_str()) {
            findings.extend(members::without_results(member));
        }
    }
    findings.extend(members::troubles(report, &status.troubles));
    findings.extend(members::starved(report, &status.constants));
    findings.extend(members::other_rules(report));
    findings
}

#[cfg(test)]
mod tests {
    use super::super::kinds::NOT_MEASURED;
    use super::check;
    use crate::render::example_status;
    use crate::render::survey_fixtures::report;

    #[test]
    fn members_that_do_not_measure_in_a_large_ring_are_no_finding() {
        let mut report = report(65);
        let last = report.members[64].mac.clone();
        report.members[64].measured = None;
        report
            .pairs
            .retain(|pair| pair.from != last && pair.to != last);
        report.limited = true;
        assert_eq!(check(&report, &example_status()), []);
        report.members[63].measured = None;
        let found = check(&report, &example_status());
        assert!(
            matches!(&found[..], [one] if one.is(&NOT_MEASURED)),
            "{found:?}"
        );
    }
}
