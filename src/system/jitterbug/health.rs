//! The problems of a node and of its ring: their severity, and remedies.

use ring_codec::jitterbug::Node;
use ring_control::Finding;
use ring_proto::jitterbug::{NodeStatus, Snapshot, State};

use super::starvation::{Starvation, StarvationEvent};
use crate::system::jitterbug::observe::describe_difference;
use crate::system::jitterbug::troubles;

/// A node with at least this failure count has a problem. A failed pass adds 1 to this count, and a successful pass
/// subtracts 1.
const FAILURE_COUNT_MIN: u32 = 3;

pub(super) fn findings(
    interface: &str,
    snapshot: &Snapshot,
    starvation: Starvation,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    if snapshot.address.is_none() {
        findings.push(Finding::new(
            &troubles::NO_ADDRESS,
            format!(
                "{interface} has no address, or is down: until it has an address, this node is in no ring"
            ),
        ));
    } else if starvation.is_starving() {
        findings.push(Finding::new(
            &troubles::STARVING,
            StarvationEvent::Starved.describe().1,
        ));
    } else if snapshot.state == State::Orphan {
        findings.push(Finding::new(
            &troubles::ORPHAN,
            "orphan: this node has no ring and looks for a leader; if this lasts, check its netmask and its firewall",
        ));
    } else if snapshot.nodes.len() + snapshot.to_add.len() <= 1 {
        findings.push(Finding::new(
            &troubles::ONLY_NODE,
            format!(
                "this node is the only one in its ring; if other nodes run, compare the addresses and netmasks, and \
                 let UDP port {} through the firewalls",
                snapshot.udp_port
            ),
        ));
    }
    if snapshot.is_outranked {
        findings.push(Finding::new(
            &troubles::OUTRANKED,
            "a ring with a different --compute or --decide has the stronger token: programs of this ring cannot get \
             the token; start all nodes with the same programs",
        ));
    }
    let takes_nothing = |it: &&NodeStatus| {
        it.threshold >= FAILURE_COUNT_MIN && Some(it.node.ip) != snapshot.address
    };
    let unreached = snapshot.nodes.iter().filter(takes_nothing);
    findings.extend(unreached.map(|it| {
        let (Node { ip, port }, count) = (it.node, it.threshold);
        Finding::new(
            &troubles::NOT_TAKING,
            format!(
                "node {ip} does not take the token: its failure count is {count}; if the node runs, let TCP port \
                 {port} through the firewalls of both nodes"
            ),
        )
    }));
    let differing = snapshot.differing.iter();
    findings.extend(differing.map(|(node, how)| {
        Finding::new(&troubles::NODE_DIFFERS, describe_difference(*node, *how))
    }));
    findings
}
