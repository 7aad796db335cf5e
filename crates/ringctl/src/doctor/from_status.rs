//! Findings from the status of a node of a ring.

use std::collections::BTreeMap;

use ring_control::lab2::Status;

use super::common::{check_keys, check_troubles};
use super::finding::Finding;
use super::kinds::{NO_OTHER_MEMBER, VERSIONS_DIFFER};
use crate::signers::Signers;

/// Returns the troubles of the daemon, and further problems that the daemon does not report as troubles.
pub(super) fn check(status: &Status) -> Vec<Finding> {
    let mut findings = check_troubles(status.health, &status.troubles);
    // If the node knows another member, the daemon already reports its silence as a trouble.
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
    findings.extend(Signers::of_ring(status).iter().flat_map(check_keys));
    findings
}

/// Whether the node knows no other member, except members that have left.
pub(super) fn has_no_other_member(status: &Status) -> bool {
    status.others().all(|member| member.state == "left")
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
