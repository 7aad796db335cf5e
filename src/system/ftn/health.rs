//! The verdict of a server on itself and the others: what is wrong, how bad it is, and what to do.

use ring_control::ftn::Status;
use ring_control::{Finding, Verdict};

/// Gives a status its verdict. `around`: what is wrong with this machine and the options.
pub(super) fn judge(status: &mut Status, around: Vec<Finding>) {
    let mut findings = around;
    let ready = |state: &str| state == "READY";
    if !status.is_serving() {
        let why = if status.leader.is_none() {
            "no leader is heard: with fewer than a quorum of servers nobody leads; start the others, or look at the network"
        } else if status.grace_ns > 0 || status.survey.is_some() {
            "it waits for clients of an earlier run; that ends by itself"
        } else if status.authority {
            "it is not ready yet, which the leader makes it"
        } else {
            "it has no authority, since too few servers are heard; start the others, or look at the network"
        };
        findings.push(Finding::critical(format!(
            "{}, {}: this server serves nothing: {why}",
            status.role, status.state
        )));
    }
    let others = status.servers.iter().enumerate();
    let down = others.filter(|(index, server)| *index != status.index && !ready(&server.state));
    findings.extend(down.map(|(index, server)| {
        Finding::degraded(format!(
            "server {index} ({}) is {}: if that lasts, start it, or look at the network",
            server.name, server.state
        ))
    }));
    let Verdict { health, troubles } = Verdict::of(findings);
    (status.health, status.troubles) = (health, troubles);
}
