//! The verdict of a node on itself and its ring: what is wrong, how bad it is, and what to do.

use ring_codec::jitterbug::Node;
use ring_control::{Finding, Verdict};
use ring_proto::jitterbug::{NodeStatus, Snapshot, State};

use super::starvation::{News, Starvation};
use crate::system::jitterbug::observe::difference;

/// After so many failed passes to a node, less those that were done, something is wrong with it.
const FAILURES: u32 = 3;

/// Returns the verdict.
pub(super) fn verdict(interface: &str, snapshot: &Snapshot, starvation: Starvation) -> Verdict {
    let mut findings = Vec::new();
    if snapshot.address.is_none() {
        findings.push(Finding::critical(format!(
            "{interface} has no address, or is down: this node is in no ring until it has one"
        )));
    } else if starvation.is_there() {
        findings.push(Finding::critical(News::Starves.told().1));
    } else if snapshot.state == State::Orphan {
        findings.push(Finding::critical(
            "orphan: this node has no ring and looks for a leader; if that lasts, look at its netmask and its firewall",
        ));
    } else if snapshot.nodes.len() + snapshot.to_add.len() <= 1 {
        findings.push(Finding::degraded(format!(
            "this node is alone in its ring: if others run, compare its address and netmask with theirs, and let UDP port {} \
             through the firewalls",
            snapshot.udp_port
        )));
    }
    if snapshot.is_outranked {
        findings.push(Finding::critical(
            "a ring with another --compute or --decide has the stronger token: programs of this ring do not get theirs; start \
             all nodes with the same programs",
        ));
    }
    let takes_nothing =
        |it: &&NodeStatus| it.threshold >= FAILURES && Some(it.node.ip) != snapshot.address;
    let unreached = snapshot.nodes.iter().filter(takes_nothing);
    findings.extend(unreached.map(|it| {
        let (Node { ip, port }, count) = (it.node, it.threshold);
        Finding::degraded(format!(
            "node {ip} does not take the token: its failure count is {count} (a failed pass adds 1, a successful one takes 1 \
             off); if it runs, let TCP port {port} through its firewall and this node's"
        ))
    }));
    let differing = snapshot.differing.iter();
    findings.extend(differing.map(|(node, how)| Finding::degraded(difference(*node, *how))));
    Verdict::of(findings)
}
