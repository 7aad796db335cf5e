//! A node's verdict on itself and its ring: problems, their severity, and remedies.

use ring_codec::jitterbug::Node;
use ring_control::{Finding, Verdict};
use ring_proto::jitterbug::{NodeStatus, Snapshot, State};

use super::starvation::{Starvation, StarvationEvent};
use crate::system::jitterbug::observe::describe_difference;

/// From this failure count on, a node has a problem. A failed pass adds one, a successful one subtracts one.
const FAILURE_COUNT_MIN: u32 = 3;

pub(super) fn verdict(interface: &str, snapshot: &Snapshot, starvation: Starvation) -> Verdict {
    let mut findings = Vec::new();
    if snapshot.address.is_none() {
        findings.push(Finding::critical(format!(
            "{interface} has no address, or is down: until it has one, this node is in no ring"
        )));
    } else if starvation.is_starving() {
        findings.push(Finding::critical(StarvationEvent::Starved.describe().1));
    } else if snapshot.state == State::Orphan {
        findings.push(Finding::critical(
            "orphan: this node has no ring and looks for a leader; if that lasts, check its netmask and its firewall",
        ));
    } else if snapshot.nodes.len() + snapshot.to_add.len() <= 1 {
        findings.push(Finding::degraded(format!(
            "this node is the only one in its ring; if others run, compare its address and netmask with theirs, and \
             let UDP port {} through the firewalls",
            snapshot.udp_port
        )));
    }
    if snapshot.is_outranked {
        findings.push(Finding::critical(
            "a ring with another --compute or --decide has the stronger token: programs of this ring cannot get the \
             token; start all nodes with the same programs",
        ));
    }
    let takes_nothing = |it: &&NodeStatus| {
        it.threshold >= FAILURE_COUNT_MIN && Some(it.node.ip) != snapshot.address
    };
    let unreached = snapshot.nodes.iter().filter(takes_nothing);
    findings.extend(unreached.map(|it| {
        let (Node { ip, port }, count) = (it.node, it.threshold);
        Finding::degraded(format!(
            "node {ip} does not take the token: its failure count is {count} (a failed pass adds 1, a successful one \
             subtracts 1); if it runs, let TCP port {port} through its firewall and this node's"
        ))
    }));
    let differing = snapshot.differing.iter();
    findings
        .extend(differing.map(|(node, how)| Finding::degraded(describe_difference(*node, *how))));
    Verdict::from_findings(findings)
}
