//! What is known of the nodes of each system before one is asked: their names, their states, and the command that starts
//! one.

use ring_control::NodeName;
use ring_control::ftn::SYSTEM as FTN;
use ring_control::jitterbug::{LEADER, ORPHAN, SYSTEM as JITTERBUG, WAITER};
use ring_control::lab2::parse_ring_name;

/// The list of servers of the token service, unless the command line or the environment names another one.
pub(super) const SERVERS: &str = "/etc/ringd/ftn.servers";

/// What can be waited for at a node of a system: its states, as its status and its events have them in `state`, and `held`.
/// `None` is Lab2.
pub(super) fn waited_for(system: Option<&str>) -> &'static [&'static str] {
    match system {
        None => &["OWNER", "WAITER", "LOOSER", "GENERATING", "held"],
        Some(JITTERBUG) => &[LEADER, WAITER, ORPHAN],
        Some(_) => &[],
    }
}

/// Whether a node of a system can be in a state that is waited for.
pub(super) fn can_be(system: Option<&str>, state: &str) -> bool {
    let known = waited_for(system);
    known.iter().any(|name| name.eq_ignore_ascii_case(state))
}

/// Returns the command that starts a node of this name, or any node of a ring.
pub(super) fn start_command(name: Option<&NodeName>) -> String {
    let Some(name) = name.map(NodeName::to_string) else {
        return "sudo ringd IFACE".to_owned();
    };
    match name.split_once('-') {
        Some((FTN, index)) => {
            format!("sudo ringd ftn --servers {SERVERS} --index {index}")
        }
        Some((JITTERBUG, interface)) => format!("sudo ringd jitterbug {interface}"),
        Some(("board", id)) => format!("sudo ring-board -i {id} -f FILE"),
        _ => match name.split_once(':') {
            Some((interface, ethertype)) => {
                format!("sudo ringd {interface} --ethertype {ethertype}")
            }
            None => format!("sudo ringd {name}"),
        },
    }
}

/// Returns the command that starts a node of a system that can do what is asked.
pub(super) fn start_serving(serves: impl Fn(Option<&str>) -> bool) -> &'static str {
    if serves(None) {
        "sudo ringd IFACE"
    } else {
        "sudo ringd jitterbug IFACE"
    }
}

/// The node that a user means by a name, be it a ring's or `SYSTEM-PLACE`.
///
/// # Errors
/// It is no name: why, as a sentence.
pub(super) fn parse_name(name: &str) -> Result<NodeName, String> {
    // A ring's name may be spelled in several ways; all others are as they are, and so is what has no colon.
    parse_ring_name(name)
}

#[cfg(test)]
mod tests {
    use super::start_command;
    use ring_control::NodeName;

    #[test]
    fn a_node_that_does_not_run_is_started_by_the_command_of_its_system() {
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
