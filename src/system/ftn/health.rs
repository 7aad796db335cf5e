//! A server's verdict on its own health and the other servers: problems, their severity, and remedies.

use ring_control::ftn::Status;
use ring_control::{Finding, Verdict};

use crate::system::ftn::troubles;

/// Sets the verdict of a status. `machine_findings` contains the findings about this machine and its options.
pub(super) fn set_verdict(status: &mut Status, machine_findings: Vec<Finding>) {
    let mut findings = machine_findings;
    let ready = |state: &str| state == "READY";
    if !status.is_serving() {
        let why = if status.leader.is_none() {
            "it hears no leader: without a quorum of servers there is no leader; start the other servers, or check \
             the network"
        } else if status.grace_ns > 0 || status.survey.is_some() {
            "it waits for clients of an earlier run; this wait ends by itself"
        } else if status.authority {
            "it is not READY until the leader makes it READY"
        } else {
            "it has no authority, because it hears too few servers; start the other servers, or check the network"
        };
        findings.push(Finding::new(
            &troubles::NOT_SERVING,
            format!(
                "{}, {}: this server serves nothing: {why}",
                status.role, status.state
            ),
        ));
    }
    let others = status.servers.iter().enumerate();
    let down = others.filter(|(index, server)| *index != status.index && !ready(&server.state));
    findings.extend(down.map(|(index, server)| {
        Finding::new(
            &troubles::SERVER_DOWN,
            format!(
                "server {index} ({}) is {}; if this lasts, start that server, or check the network",
                server.name, server.state
            ),
        )
    }));
    let verdict = Verdict::from_findings(findings);
    (status.health, status.troubles) = (verdict.health, verdict.troubles);
}
