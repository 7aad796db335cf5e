//! Findings about the interface itself.

use ring_runtime::net::Interface;

use super::super::finding::Finding;
use super::super::kinds::{
    BOND_PORT, BRIDGE_PORT, INTERFACE_DOWN, NO_CARRIER, NO_INTERFACE, NOT_ETHERNET, SMALL_MTU,
    WIRELESS,
};
use super::files::SystemFiles;

/// Minimum MTU, in bytes. It is the length of a confirmation.
const MTU_MIN: usize = 71;

/// Looks up the interface.
///
/// # Errors
/// Returns a finding if there is no such interface.
pub(super) fn find(name: &str) -> Result<Interface, Finding> {
    let missing = |text: String| {
        let existing = Interface::names().unwrap_or_default().join(", ");
        Finding::new(&NO_INTERFACE, text).with_remedy(format!(
            "check the name, or load the driver of the card; the interfaces are: {existing}"
        ))
    };
    match Interface::find(name) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err(missing(format!("there is no interface {name}"))),
        Err(error) => Err(missing(format!(
            "cannot look up the interface {name}: {error}"
        ))),
    }
}

/// Returns findings about problems because of which a daemon cannot use the interface. A running daemon reports these
/// problems itself.
pub(super) fn unusable(found: &Interface, files: Option<&SystemFiles>) -> Vec<Finding> {
    let name = &found.name;
    let mut findings = Vec::new();
    if !found.ethernet {
        findings.push(
            Finding::new(
                &NOT_ETHERNET,
                format!("{name} does not carry Ethernet frames"),
            )
            .with_remedy("choose a wired interface, a bridge, a bond or a VLAN"),
        );
    } else if !found.up {
        findings.push(
            Finding::new(&INTERFACE_DOWN, format!("{name} is down"))
                .with_remedy(format!("run: sudo ip link set {name} up")),
        );
    } else if !found.carrier {
        findings.push(
            Finding::new(&NO_CARRIER, format!("{name} has no carrier"))
                .with_remedy("check the cable, and whether the switch port is enabled"),
        );
    }
    if found.bridge_port {
        let bridge = files.and_then(SystemFiles::master);
        let bridge = bridge.unwrap_or_else(|| "the bridge".to_owned());
        findings.push(
            Finding::new(
                &BRIDGE_PORT,
                format!("{name} is a port of a bridge, so the bridge takes all frames of {name}"),
            )
            .with_remedy(format!(
                "run ringd on {bridge}, or run: sudo ip link set {name} nomaster"
            )),
        );
    }
    if found.mtu < MTU_MIN {
        findings.push(
            Finding::new(&SMALL_MTU, format!("the MTU of {name} is {}", found.mtu))
                .with_evidence(format!("a confirmation needs {MTU_MIN} bytes"))
                .with_remedy(format!("run: sudo ip link set {name} mtu 1500")),
        );
    }
    findings
}

/// Returns findings about problems because of which frames may be lost. The daemon can use the interface in spite of
/// these problems.
pub(super) fn unsuitable(files: &SystemFiles) -> Vec<Finding> {
    let name = files.name();
    let mut findings = Vec::new();
    let master = files.master();
    if let Some(bond) = master.filter(|master| files.other(master).exists("bonding")) {
        findings.push(
            Finding::new(&BOND_PORT, format!("{name} is a port of the bond {bond}"))
                .with_evidence("if the bond uses another port, no frame arrives here")
                .with_remedy(format!("run ringd on {bond}")),
        );
    }
    if files.exists("wireless") || files.exists("phy80211") {
        findings.push(
            Finding::new(&WIRELESS, format!("{name} is wireless"))
                .with_evidence("many access points drop unknown EtherTypes and lose broadcasts")
                .with_remedy("use a wired interface"),
        );
    }
    findings
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use ring_runtime::net::Interface;

    use super::super::super::finding::Finding;
    use super::super::super::kinds::{
        BOND_PORT, BRIDGE_PORT, INTERFACE_DOWN, NO_CARRIER, NO_INTERFACE, NOT_ETHERNET, SMALL_MTU,
        WIRELESS,
    };
    use super::{SystemFiles, find, unsuitable, unusable};

    type Change = fn(&mut Interface);

    fn usable() -> Interface {
        let mut usable = find("lo").expect("each namespace has it");
        (usable.ethernet, usable.up, usable.carrier) = (true, true, true);
        usable.mtu = 1_500;
        usable
    }

    #[test]
    fn each_reason_is_found() {
        assert_eq!(unusable(&usable(), None), []);
        let cases: [(Change, _); 5] = [
            (|it| it.ethernet = false, &NOT_ETHERNET),
            (|it| it.up = false, &INTERFACE_DOWN),
            (|it| it.carrier = false, &NO_CARRIER),
            (|it| it.bridge_port = true, &BRIDGE_PORT),
            (|it| it.mtu = 70, &SMALL_MTU),
        ];
        for (change, kind) in cases {
            let mut interface = usable();
            change(&mut interface);
            let found = unusable(&interface, None);
            assert!(matches!(&found[..], [one] if one.is(kind)), "{found:?}");
        }
        let missing = find("missing0").expect_err("no such interface");
        assert!(
            missing.is(&NO_INTERFACE) && missing.page().contains("lo"),
            "{missing:?}"
        );
    }

    #[test]
    fn a_port_of_a_bond_and_a_wireless_interface_are_found() {
        let base = tempfile::tempdir().expect("a directory");
        for directory in ["eth0", "bond0/bonding", "wlan0/phy80211"] {
            fs::create_dir_all(base.path().join(directory)).expect("a directory");
        }
        symlink("../bond0", base.path().join("eth0/master")).expect("a link");
        let files = |name| SystemFiles::new(base.path(), name);
        let is_only = |found: &[Finding], kind| matches!(found, [one] if one.is(kind));
        assert!(is_only(&unsuitable(&files("eth0")), &BOND_PORT));
        assert!(is_only(&unsuitable(&files("wlan0")), &WIRELESS));
        assert_eq!(unsuitable(&files("bond0")), []);
    }
}
