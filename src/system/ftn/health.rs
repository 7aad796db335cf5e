//! A server's verdict on itself and the other servers: problems, their severity, and remedies.

use ring_control::ftn::Status;
use ring_control::{Finding, Verdict};

/// Sets a status's verdict. `machine_findings` are the findings about this machine and its options.
pub(super) fn set_verdict(status: &mut Status, machine_findings: Vec<Finding>) {
    let mut findings = machine_findings;
    let ready = |state: &str| state == "READY";
    if !status.is_serving() {
        let why = if status.leader.is_none() {
            "no leader is heard: without a quorum of servers there is no leader; start the others, or check the \
             network"
        } else if status.grace_ns > 0 || status.survey.is_some() {
            "it waits for clients of an earlier run, which ends by itself"
        } else if status.authority {
            "it is not READY until the leader makes it so"
        } else {
            "it has no authority, because it hears too few servers; start the others, or check the network"
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
            "server {index} ({}) is {}; if that lasts, start it, or check the network",
            server.name, server.state
        ))
    }));
    let Verdict { health, troubles } = Verdict::from_findings(findings);
    (status.health, status.troubles) = (health, troubles);
}
