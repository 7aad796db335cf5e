//! Facts about the nodes of each system: their names, their states and the command that starts a node.

use ring_control::NodeName;
use ring_control::ftn::SYSTEM as FTN;
use ring_control::jitterbug::{LEADER, ORPHAN, SYSTEM as JITTERBUG, WAITER};
use ring_control::lab2::parse_ring_name;

/// The name of the board in its status. The name is repeated here, because `ringctl` does not depend on the library of
/// `ring-board`.
pub(super) const BOARD: &str = "board";
/// The default list of servers of the token service.
pub(super) const SERVERS: &str = "/etc/ringd/ftn.servers";

/// Returns the states that `ringctl wait` accepts for nodes of a system. `None` stands for Lab2. The states are `held`,
/// and the values of `state` in the status and the events of such a node.
pub(super) fn waitable_states(system: Option<&str>) -> &'static [&'static str] {
    match system {
        None => &["OWNER", "WAITER", "LOOSER", "GENERATING", "held"],
        Some(JITTERBUG) => &[LEADER, WAITER, ORPHAN],
        Some(_) => &[],
    }
}

pub(super) fn has_waitable_state(system: Option<&str>, state: &str) -> bool {
    let known = waitable_states(system);
    known.iter().any(|name| name.eq_ignore_ascii_case(state))
}

/// Returns the command that starts the node with this name. Without a name, returns the command that starts a node of a
/// ring.
pub(super) fn start_command(name: Option<&NodeName>) -> String {
    let Some(name) = name.map(NodeName::to_string) else {
        return "sudo ringd IFACE".to_owned();
    };
    match name.split_once('-') {
        Some((FTN, index)) => {
            format!("sudo ringd ftn --servers {SERVERS} --index {index}")
        }
        Some((JITTERBUG, interface)) => format!("sudo ringd jitterbug {interface}"),
        Some((BOARD, id)) => format!("sudo ring-board -i {id} -f FILE"),
        _ => match name.split_once(':') {
            Some((interface, ethertype)) => {
                format!("sudo ringd {interface} --ethertype {ethertype}")
            }
            None => format!("sudo ringd {name}"),
        },
    }
}

/// Returns the command that starts a node whose system can serve the command.
pub(super) fn start_command_for(serves: impl Fn(Option<&str>) -> bool) -> &'static str {
    if serves(None) {
        "sudo ringd IFACE"
    } else {
        "sudo ringd jitterbug IFACE"
    }
}

/// Parses the name of a node: the name of a ring's node, or `SYSTEM-PLACE`.
///
/// # Errors
/// Returns the reason as a sentence.
pub(super) fn parse_name(name: &str) -> Result<NodeName, String> {
    // Only names of rings can have several spellings: the EtherType after the colon. All other names stay unchanged.
    parse_ring_name(name)
}

#[cfg(test)]
mod tests {
    use super::start_command;
    use ring_control::NodeName;

    #[test]
    fn each_system_has_its_start_command() {
        for (name, command) in [
            ("eth0", "sudo ringd eth0"),
            ("br-lan", "sudo ringd br-lan"),
            ("eth0:0x88b6", "sudo ringd eth0 --ethertype 0x88b6"),
            (
                "ftn-0",
                "sudo ringd ftn --servers /etc/ringd/ftn.servers --index 0",
            ),
            ("jitterbug-eth0", "sudo ringd jitterbug eth0"),
            ("board-1", "sudo ring-board -i 1 -f FILE"),
        ] {
            assert_eq!(start_command(Some(&NodeName::new(name))), command);
        }
        assert_eq!(start_command(None), "sudo ringd IFACE");
    }
}
