//! Findings from the status of the daemon.

use std::collections::BTreeMap;

use ring_control::Health;
use ring_control::lab2::Status;

use super::finding::{Finding, Severity};
use super::kinds::{
    KEYS_DIFFER, MEMBER_UNSIGNED, NO_OTHER_MEMBER, TROUBLE, UNSIGNED_ACCEPTED, VERSIONS_DIFFER,
};

/// Returns the troubles of the daemon, and the problems that no trouble names.
pub(super) fn check(status: &Status) -> Vec<Finding> {
    let mut findings: Vec<Finding> = status
        .troubles
        .iter()
        .enumerate()
        .map(|(place, trouble)| {
            Finding::new(&TROUBLE, trouble).with_severity(trouble_severity(status.health, place))
        })
        .collect();
    // If the node knows another member, a trouble reports the silence.
    if status.link == "up" && has_no_other_member(status) {
        findings.push(
            Finding::new(&NO_OTHER_MEMBER, "this node knows no other member")
                .with_evidence(format!(
                    "no frame of EtherType {} arrived at {} since the start, or all members have left",
                    status.constants.ethertype, status.interface
                ))
                .with_remedy(format!(
                    "start ringd on another machine; if one runs, check the cable and the VLAN: sudo tcpdump -i {} \
                     ether proto {}",
                    status.interface, status.constants.ethertype
                )),
        );
    }
    findings.extend(different_versions(status));
    findings.extend(keys(status));
    findings
}

/// Compares the keys of the members with the keys of this node.
fn keys(status: &Status) -> Vec<Finding> {
    let Some(own) = status.trust.keys.first() else {
        return Vec::new();
    };
    let members = || status.others().filter(|member| member.state != "left");
    let unsigned: Vec<&str> = members()
        .filter(|member| member.key.is_none())
        .map(|member| &*member.mac)
        .collect();
    let others: Vec<String> = members()
        .filter_map(|member| Some((member, member.key.filter(|key| key != own)?)))
        .map(|(member, key)| format!("{}: key {key}", member.mac))
        .collect();
    let mut findings = Vec::new();
    if !unsigned.is_empty() {
        findings.push(
            Finding::new(
                &MEMBER_UNSIGNED,
                "members do not sign their frames with a key of this node",
            )
            .with_evidence(unsigned.join(", "))
            .with_remedy("give these machines the key file of this node, and reload ringd there"),
        );
    }
    if !others.is_empty() {
        findings.push(
            Finding::new(
                &KEYS_DIFFER,
                format!("members sign with another key than this node, which signs with {own}"),
            )
            .with_evidence(others.join("; "))
            .with_remedy(
                "finish the replacement of the key: install the same key file on all machines",
            ),
        );
    }
    if status.trust.accepts_unsigned {
        findings.push(
            Finding::new(
                &UNSIGNED_ACCEPTED,
                "this node accepts frames without a valid signature, so its keys do not protect it",
            )
            .with_remedy(
                "when all members sign, remove accept-unsigned on all machines, and reload ringd",
            ),
        );
    }
    findings
}

/// Whether the node knows no other member that could answer.
pub(super) fn has_no_other_member(status: &Status) -> bool {
    status.others().all(|member| member.state == "left")
}

/// Returns the severity of a trouble from its place in the list. The worst trouble is the first, and only its health is
/// known.
pub(super) fn trouble_severity(health: Health, place: usize) -> Severity {
    if health == Health::Critical && place == 0 {
        Severity::Error
    } else {
        Severity::Warning
    }
}

fn different_versions(status: &Status) -> Option<Finding> {
    let mut members: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    members.insert(&status.ringd, vec![&status.mac]);
    for member in status.others().filter(|member| member.state != "left") {
        if let Some(version) = &member.version {
            members.entry(version).or_default().push(&member.mac);
        }
    }
    let evidence: Vec<String> = members
        .iter()
        .map(|(version, macs)| format!("{version}: {}", macs.join(", ")))
        .collect();
    (members.len() > 1).then(|| {
        Finding::new(&VERSIONS_DIFFER, "members run different versions of ringd")
            .with_evidence(evidence.join("; "))
            .with_remedy("finish the upgrade: install the same version on all machines")
    })
}

#[cfg(test)]
mod tests {
    use ring_control::Health;

    use super::super::finding::{Finding, Severity};
    use super::super::kinds::{
        KEYS_DIFFER, MEMBER_UNSIGNED, NO_OTHER_MEMBER, TROUBLE, UNSIGNED_ACCEPTED, VERSIONS_DIFFER,
    };
    use super::check;
    use crate::render::example_status;

    fn kinds(found: &[Finding]) -> Vec<String> {
        found.iter().map(Finding::page).collect()
    }

    #[test]
    fn troubles_are_findings_as_they_stand() {
        let mut status = example_status();
        for member in &mut status.members {
            member.version = Some(status.ringd.clone());
        }
        let found = check(&status);
        assert!(
            matches!(&found[..], [one] if one.is(&TROUBLE)),
            "{:?}",
            kinds(&found)
        );
        assert_eq!(found[0].severity(), Severity::Warning);
        assert_eq!(
            found[0].page(),
            "WARNING  this node does not hear the owner\n"
        );
        status.health = Health::Critical;
        status.troubles.push("a second one".to_owned());
        let severities: Vec<_> = check(&status).iter().map(Finding::severity).collect();
        assert_eq!(severities, [Severity::Error, Severity::Warning]);
    }

    #[test]
    fn members_without_a_key_or_with_another_key_are_found() {
        let mut status = example_status();
        status.troubles.clear();
        for member in &mut status.members {
            member.version = Some(status.ringd.clone());
        }
        assert_eq!(check(&status), []);
        status.trust.keys = vec![2, 1];
        status.members[1].key = Some(1);
        let found = check(&status);
        let expected = [&MEMBER_UNSIGNED, &KEYS_DIFFER, &UNSIGNED_ACCEPTED];
        assert!(
            found.len() == 3 && found.iter().zip(expected).all(|(it, kind)| it.is(kind)),
            "{:?}",
            kinds(&found)
        );
        assert!(found[0].page().contains("02:00:00:00:00:03"));
        assert!(found[1].page().contains("02:00:00:00:00:02: key 1"));
        status.trust.accepts_unsigned = false;
        for member in &mut status.members {
            member.key = Some(2);
        }
        assert_eq!(check(&status), []);
    }

    #[test]
    fn a_lonely_node_and_different_versions_are_found() {
        let mut status = example_status();
        status.troubles.clear();
        let found = check(&status);
        assert!(
            matches!(&found[..], [one] if one.is(&VERSIONS_DIFFER)),
            "{:?}",
            kinds(&found)
        );
        assert!(
            found[0].page().contains("0.2.0: 02:00:00:00:00:03"),
            "{}",
            found[0].page()
        );
        status.members.truncate(1);
        let found = check(&status);
        assert!(
            matches!(&found[..], [one] if one.is(&NO_OTHER_MEMBER)),
            "{:?}",
            kinds(&found)
        );
        status.link = "is down".to_owned();
        assert_eq!(check(&status), [], "a trouble reports the link");
    }
}
