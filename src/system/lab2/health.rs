//! A node's verdict on its own health and on its ring: problems, their severity, and remedies.

use ring_codec::MacAddr;
use ring_control::{Finding, Verdict};
use ring_proto::lab2::{Constants, Diagnostic, Lab2, Presence, State};

use super::attachment::LinkLoss;
use crate::system::lab2::observe::{DifferenceText, describe_trouble};
use crate::system::lab2::troubles;

/// Maximum number of members that one finding lists by name.
const NAMED_MEMBERS_MAX: usize = 4;

/// Facts about a node that determine its verdict. They are cheap to compute, because any member may ask for a verdict.
pub(super) struct NodeFacts<'a> {
    pub machine: &'a Lab2,
    /// The name of the interface.
    pub interface: &'a str,
    /// The node's own address.
    pub mac: MacAddr,
    /// The reason why the link cannot send frames; `None` if it can send frames.
    pub loss: Option<LinkLoss>,
    /// Whether the state is stored.
    pub is_stored: bool,
}

impl NodeFacts<'_> {
    /// Returns the number of other members that have not left.
    fn other_count(&self) -> usize {
        let others = self.machine.members().filter(|it| it.mac != self.mac);
        others.filter(|it| it.presence != Presence::Left).count()
    }

    /// Whether the node hears no other member, although it knows at least one member that has not left.
    fn is_cut_off(&self) -> bool {
        self.machine.is_deaf() && self.other_count() > 0
    }

    /// Whether a worse finding already explains why members are silent or missing.
    fn explains_absence(&self) -> bool {
        self.loss.is_some() || has_no_quorum(self.machine) || self.is_cut_off()
    }
}

/// Returns the verdict of a node. `machine_findings` contains the findings about this machine.
pub(super) fn verdict(
    facts: &NodeFacts<'_>,
    machine_findings: impl Iterator<Item = Finding>,
) -> Verdict {
    let machine = facts.machine;
    let own = own_findings(facts).into_iter();
    let ring = findings(machine.problems(), machine.constants());
    let explains_absence = facts.explains_absence();
    let absent = silent_members(machine)
        .into_iter()
        .chain(missing_members(machine))
        .filter(|_| !explains_absence);
    let members = absent.chain(differing_members(machine));
    let findings = own.chain(ring).chain(machine_findings).chain(members);
    Verdict::from_findings(findings.collect())
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
fn own_findings(facts: &NodeFacts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (machine, interface) = (facts.machine, facts.interface);
    let state = machine.state();
    if let Some(loss) = facts.loss {
        findings.push(Finding::new(
            &troubles::LINK_LOST,
            format!(
                "{interface} {}: until this ends, this node is in no ring; check its cable, its switch port and 'ip \
                 link'",
                loss.text()
            ),
        ));
    } else if facts.is_cut_off() {
        let others = facts.other_count();
        findings.push(Finding::new(
            &troubles::RECEIVES_NOTHING,
            format!(
                "this node hears none of the {others} other members that it knows; check {interface}, its firewall and \
                 its cable; run ringctl forget MEMBER only if they are gone for good"
            ),
        ));
    } else if !matches!(state, State::Owner | State::Waiter) {
        findings.push(Finding::new(
            &troubles::NO_OWNER,
            format!(
                "{}: this node knows no owner and looks for one; if this lasts, frames are lost on this segment",
                state.name()
            ),
        ));
    }
    if !facts.is_stored {
        findings.push(Finding::new(
            &troubles::STATE_NOT_STORED,
            "the state file cannot be written: the disk may be full or read-only; this node owns nothing until a write \
             works",
        ));
    }
    if machine.is_unfit() {
        findings.push(Finding::new(
            &troubles::UNICAST_LOST,
            "no member takes the token from this node, which owns nothing: frames to one member are lost; check for \
             a filter, and then run ringctl resume",
        ));
    }
    if machine.is_paused() {
        findings.push(Finding::new(
            &troubles::PAUSED,
            "this node is paused and owns nothing; end the pause with ringctl resume",
        ));
    }
    findings
}

/// Lists the silent members.
fn silent_members(machine: &Lab2) -> Option<Finding> {
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
fn missing_members(machine: &Lab2) -> Option<Finding> {
    let expected = machine.constants().expect?;
    let known = machine.present_members() + machine.silent_members().count();
    (known < expected).then(|| {
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
fn differing_members(machine: &Lab2) -> impl Iterator<Item = Finding> {
    let differ = machine
        .members()
        .filter_map(|it| Some((it.mac, DifferenceText(it.differs?))));
    differ.take(NAMED_MEMBERS_MAX).map(|(mac, differs)| {
        Finding::new(
            &troubles::MEMBER_DIFFERS,
            format!("member {mac} {differs}; start all members with the same options"),
        )
    })
}
