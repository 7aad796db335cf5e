//! Findings from the survey of the ring.

mod members;
mod pairs;

use std::collections::BTreeSet;

use ring_control::lab2::{Status, SurveyReport};

use super::finding::Finding;

/// Maximum number of findings of one kind about single pairs.
const PAIRS_MAX: usize = 8;

/// Returns all findings about the other members, and about the frames between members.
pub(super) fn check(report: &SurveyReport, status: &Status) -> Vec<Finding> {
    let small_mtu = members::with_small_mtu(report);
    let mut findings = pairs::check(report, &small_mtu);
    let small = report
        .members
        .iter()
        .filter(|it| small_mtu.contains(it.mac.as_str()));
    findings.extend(small.map(members::small_mtu));
    // Several members often report the same trouble.
    let mut known: BTreeSet<&str> = status.troubles.iter().map(String::as_str).collect();
    for member in report
        .members
        .iter()
        .filter(|member| member.mac != report.surveyor)
    {
        findings.extend(members::check(member));
        findings.extend(members::without_results(member));
        findings.extend(members::troubles(member, &mut known));
    }
    findings.extend(members::starved(report, &status.constants));
    findings
}
