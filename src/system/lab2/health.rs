//! A node's verdict on its own health and on its ring: problems, their severity, and remedies.

use ring_control::lab2::Status;
use ring_control::{Finding, Verdict};
use ring_proto::lab2::{Constants, Diagnostic, Lab2};

use crate::system::lab2::observe::describe_trouble;
use crate::system::lab2::troubles;

/// Maximum number of members that one finding lists by name.
const NAMED_MEMBERS_MAX: usize = 4;

/// Sets the verdict of a status. `machine_findings` contains the findings about this machine.
pub(super) fn set_verdict(
    status: &mut Status,
    machine: &Lab2,
    machine_findings: impl Iterator<Item = Finding>,
) {
    let own = own_findings(status).into_iter();
    let ring = findings(machine.problems(), machine.constants());
    let members = silent_members(status, machine).into_iter();
    let members = members.chain(missing_members(status, machine));
    let members = members.chain(differing_members(status));
    let findings = own.chain(ring).chain(machine_findings).chain(members);
    let verdict = Verdict::from_findings(findings.collect());
    (status.health, status.troubles) = (verdict.health, verdict.troubles);
}

/// Returns findings for the troubles that operators can solve.
pub(super) fn findings(
    problems: impl Iterator<Item = Diagnostic>,
    constants: &Constants,
) -> impl Iterator<Item = Finding> {
    let limit = constants.waiter_timeout();
    let reportable = problems.filter(move |it| !it.is_slight(limit));
    reportable.filter_map(|it| {
        let described = describe_trouble(it, false);
        Some(Finding::new(described.trouble?, described.text))
    })
}

/// Returns findings about the node itself.
fn own_findings(status: &Status) -> Vec<Finding> {
    let mut findings = Vec::new();
    let interface = &status.interface;
    if status.link != "up" {
        findings.push(Finding::new(
            &troubles::LINK_LOST,
            format!(
                "{interface} {}: until this ends, this node is in no ring; check its cable, its switch port and 'ip \
                 link'",
                status.link
            ),
        ));
    } else if status.is_cut_off() {
        let others = status.others().filter(|it| it.state != "left").count();
        findings.push(Finding::new(
            &troubles::RECEIVES_NOTHING,
            format!(
                "this node hears none of the {others} other members that it knows; check {interface}, its firewall and \
                 its cable; run ringctl forget MEMBER only if they are gone for good"
            ),
        ));
    } else if !status.is_in_ring() {
        findings.push(Finding::new(
            &troubles::NO_OWNER,
            format!(
                "{}: this node knows no owner and looks for one; if this lasts, frames are lost on this segment",
                status.state
            ),
        ));
    }
    if !status.stored {
        findings.push(Finding::new(
            &troubles::STATE_NOT_STORED,
            "the state file cannot be written: the disk may be full or read-only; this node owns nothing until a write \
             works",
        ));
    }
    if status.unfit {
        findings.push(Finding::new(
            &troubles::UNICAST_LOST,
            "no member takes the token from this node, which owns nothing: frames to one member are lost; check for \
             a filter, and then run ringctl resume",
        ));
    }
    if status.paused {
        findings.push(Finding::new(
            &troubles::PAUSED,
            "this node is paused and owns nothing; end the pause with ringctl resume",
        ));
    }
    findings
}

/// Lists the silent members, unless a worse finding already lists them.
fn silent_members(status: &Status, machine: &Lab2) -> Option<Finding> {
    if has_no_quorum(machine) || status.is_cut_off() || status.link != "up" {
        return None;
    }
    let named: Vec<String> = machine
        .silent_members()
        .take(NAMED_MEMBERS_MAX)
        .map(|mac| mac.to_string())
        .collect();
    let first = named.first()?;
    let count = machine.silent_members().count();
    let more = match count - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (members, have) = if count == 1 {
        ("member", "has")
    } else {
        ("members", "have")
    };
    Some(Finding::new(
        &troubles::MEMBER_SILENT,
        format!(
            "{members} {}{more} {have} not been heard for a long time; start ringd there, or, if a machine is gone for \
         good, run ringctl forget {first}",
            named.join(", ")
        ),
    ))
}

/// If fewer members run than expected, reports this.
fn missing_members(status: &Status, machine: &Lab2) -> Option<Finding> {
    let expected = machine.constants().expect?;
    let known = machine.present_members() + machine.silent_members().count();
    let is_said = has_no_quorum(machine) || status.is_cut_off() || status.link != "up";
    (known < expected && !is_said).then(|| {
        Finding::new(
            &troubles::MEMBERS_MISSING,
            format!(
                "--ring-size is {expected}, but only {known} members run; start ringd on the missing machines, or \
                 correct --ring-size on all members"
            ),
        )
    })
}

fn has_no_quorum(machine: &Lab2) -> bool {
    let mut problems = machine.problems();
    problems.any(|it| matches!(it, Diagnostic::NoQuorum { .. }))
}

/// Lists the members with other options.
fn differing_members(status: &Status) -> impl Iterator<Item = Finding> {
    let differ = status
        .members
        .iter()
        .filter_map(|it| Some((&it.mac, it.differs.as_deref()?)));
    differ.take(NAMED_MEMBERS_MAX).map(|(mac, differs)| {
        Finding::new(
            &troubles::MEMBER_DIFFERS,
            format!("member {mac} {differs}; start all members with the same options"),
        )
    })
}
