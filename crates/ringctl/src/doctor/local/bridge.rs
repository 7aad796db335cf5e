//! Findings about the ports of a bridge on which the daemon runs.

use super::super::finding::Finding;
use super::super::kinds::{
    BRIDGE_PORT_BLOCKED, BRIDGE_PORT_HAIRPIN, BRIDGE_PORT_ISOLATED, BRIDGE_VLANS,
    BRIDGE_WITHOUT_PORTS,
};
use super::files::SystemFiles;

/// The kernel's number for the state of a port that forwards frames. The kernel's states are: disabled, listening,
/// learning, forwarding, blocking.
const FORWARDING: u64 = 3;
const STATES: [&str; 5] = [
    "disabled",
    "listening",
    "learning",
    "forwarding",
    "blocking",
];

/// Checks the ports of a bridge. Returns no findings for other interfaces.
pub(super) fn check(files: &SystemFiles, ports: &[String]) -> Vec<Finding> {
    if !files.exists("bridge") {
        return Vec::new();
    }
    let bridge = files.name();
    let mut findings = Vec::new();
    if ports.is_empty() {
        findings.push(
            Finding::new(
                &BRIDGE_WITHOUT_PORTS,
                format!("the bridge {bridge} has no ports"),
            )
            .with_remedy(format!(
                "add the card: sudo ip link set CARD master {bridge}"
            )),
        );
    }
    findings.extend(ports.iter().filter_map(|port| blocked(files, port)));
    let with = |file: &str| -> Vec<&str> {
        let marked = ports.iter().filter(|port| files.other(port).is_set(file));
        marked.map(String::as_str).collect()
    };
    let isolated = with("brport/isolated");
    if isolated.len() > 1 {
        findings.push(
            Finding::new(
                &BRIDGE_PORT_ISOLATED,
                format!(
                    "members behind {} do not hear each other",
                    isolated.join(", ")
                ),
            )
            .with_evidence(format!("these ports of {bridge} are isolated"))
            .with_remedy(
                "run for the ports of members: sudo bridge link set dev PORT isolated off",
            ),
        );
    }
    let hairpin = with("brport/hairpin_mode");
    if !hairpin.is_empty() {
        findings.push(
            Finding::new(
                &BRIDGE_PORT_HAIRPIN,
                format!(
                    "members behind {} receive their own frames again",
                    hairpin.join(", ")
                ),
            )
            .with_evidence(format!("these ports of {bridge} are in hairpin mode"))
            .with_remedy("run for the ports of members: sudo bridge link set dev PORT hairpin off"),
        );
    }
    if files.is_set("bridge/vlan_filtering") {
        findings.push(
            Finding::new(&BRIDGE_VLANS, format!("the bridge {bridge} filters VLANs"))
                .with_evidence("ports with different VLANs do not reach each other")
                .with_remedy("compare the ports of all members: bridge vlan show"),
        );
    }
    findings
}

fn blocked(files: &SystemFiles, port: &str) -> Option<Finding> {
    let state = files.other(port).number("brport/state")?;
    if state == FORWARDING {
        return None;
    }
    let name = usize::try_from(state)
        .ok()
        .and_then(|state| STATES.get(state));
    let name = name.unwrap_or(&"unknown");
    let bridge = files.name();
    let remedy = match *name {
        "listening" | "learning" => format!(
            "wait for the forward delay of {bridge}, or shorten it: sudo ip link set {bridge} type bridge \
             forward_delay 200"
        ),
        "blocking" => "spanning tree found a loop: check the other ports of the segment".to_owned(),
        _ => format!("check the link of {port}: ip link show {port}"),
    };
    Some(
        Finding::new(
            &BRIDGE_PORT_BLOCKED,
            format!("the port {port} of {bridge} forwards no frames"),
        )
        .with_evidence(format!("its state is {name}"))
        .with_remedy(remedy),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::super::super::kinds::{
        BRIDGE_PORT_BLOCKED, BRIDGE_PORT_HAIRPIN, BRIDGE_PORT_ISOLATED, BRIDGE_VLANS,
        BRIDGE_WITHOUT_PORTS,
    };
    use super::{SystemFiles, check};

    fn write(base: &TempDir, file: &str, text: &str) {
        let path = base.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    #[test]
    fn each_state_of_a_port_is_found() {
        let base = tempfile::tempdir().expect("a folder");
        let files = SystemFiles::new(base.path(), "br0");
        let ports = ["p1".to_owned(), "p2".to_owned()];
        write(&base, "p1/brport/state", "3\n");
        write(&base, "p2/brport/state", "3\n");
        assert_eq!(check(&files, &[]), [], "it is no bridge");
        write(&base, "br0/bridge/vlan_filtering", "0\n");
        assert_eq!(check(&files, &ports), []);
        assert!(check(&files, &[])[0].is(&BRIDGE_WITHOUT_PORTS));
        let cases = [
            (
                "p1/brport/state",
                "1",
                "3",
                &BRIDGE_PORT_BLOCKED,
                "listening",
            ),
            ("p1/brport/state", "4", "3", &BRIDGE_PORT_BLOCKED, "loop"),
            (
                "p1/brport/hairpin_mode",
                "1",
                "0",
                &BRIDGE_PORT_HAIRPIN,
                "p1",
            ),
            ("br0/bridge/vlan_filtering", "1", "0", &BRIDGE_VLANS, "br0"),
        ];
        for (file, bad, good, kind, word) in cases {
            write(&base, file, bad);
            let found = check(&files, &ports);
            assert!(matches!(&found[..], [one] if one.is(kind)), "{found:?}");
            assert!(found[0].page().contains(word), "{}", found[0].page());
            write(&base, file, good);
        }
        write(&base, "p1/brport/isolated", "1");
        assert_eq!(
            check(&files, &ports),
            [],
            "one isolated port reaches the others"
        );
        write(&base, "p2/brport/isolated", "1");
        assert!(check(&files, &ports)[0].is(&BRIDGE_PORT_ISOLATED));
    }
}
