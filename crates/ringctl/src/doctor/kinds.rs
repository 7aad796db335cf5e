//! All kinds of findings. The reference page `docs/reference/findings.md` is generated from this table.

use std::fmt::Write as _;

use super::finding::{Kind, Severity};

/// Declares the kinds, and a table of them.
macro_rules! kinds {
    ($($constant:ident $name:literal $severity:ident $meaning:literal;)+) => {
        $(
            #[doc = $meaning]
            pub(super) const $constant: Kind = Kind {
                name: $name,
                severity: Severity::$severity,
                meaning: $meaning,
            };
        )+

        const KINDS: &[Kind] = &[$($constant),+];
    };
}

kinds! {
    NO_DAEMON "no_daemon" Error "No ringd runs on the interface.";
    NO_ANSWER "no_answer" Error "A ringd exists, but ringctl cannot use its socket, or it does not answer.";
    NOT_MEASURED "not_measured" Warning "The members measured nothing, so some problems stay hidden.";
    NO_INTERFACE "no_interface" Error "The interface does not exist.";
    NOT_ETHERNET "not_ethernet" Error "The interface does not carry Ethernet frames.";
    INTERFACE_DOWN "interface_down" Error "The interface is down.";
    NO_CARRIER "no_carrier" Error "The interface has no carrier.";
    BRIDGE_PORT "bridge_port" Error "The interface is a port of a bridge, which takes all its frames.";
    BOND_PORT "bond_port" Warning "The interface is a port of a bond, which may use another port.";
    WIRELESS "wireless" Note "The interface is wireless. Access points often drop such frames.";
    SMALL_MTU "small_mtu" Error "The MTU is too small for frames of a ring.";
    BRIDGE_WITHOUT_PORTS "bridge_without_ports" Warning "The bridge has no ports, so no frame leaves the machine.";
    BRIDGE_PORT_BLOCKED "bridge_port_blocked" Warning "A port of the bridge forwards no frames.";
    BRIDGE_PORT_ISOLATED "bridge_port_isolated" Note "Isolated ports of the bridge do not reach each other.";
    BRIDGE_PORT_HAIRPIN "bridge_port_hairpin" Note "A port of the bridge returns frames to their sender.";
    BRIDGE_VLANS "bridge_vlans" Note "The bridge filters VLANs, so some ports may not reach others.";
    FIREWALL_DROPS "firewall_drops" Error "A rule or policy of nftables drops the frames of the ring.";
    FIREWALL_MAY_DROP "firewall_may_drop" Note "A rule of nftables drops some frames, perhaps those of the ring.";
    FIREWALL_UNREAD "firewall_unread" Note "The rules of nftables could not be read. Only root may read them.";
    TC_DROPS "tc_drops" Warning "A filter of tc drops the frames of the ring.";
    TC_MAY_DROP "tc_may_drop" Note "A filter of tc drops some frames, perhaps those of the ring.";
    TC_UNREAD "tc_unread" Note "The filters of tc could not be read.";
    FRAME_ERRORS "frame_errors" Warning "The interface counted errors during the examination.";
    TROUBLE "trouble" Warning "The daemon reports a trouble. It is an error if it is the cause of critical health.";
    MEMBER_TROUBLE "member_trouble" Warning "Another member reports a trouble, with the same severities.";
    NO_OTHER_MEMBER "no_other_member" Warning "This node knows no other member.";
    UNSIGNED_ACCEPTED "unsigned_accepted" Note "The node has keys, but accepts unsigned messages.";
    MEMBER_UNSIGNED "member_unsigned" Warning "Another node does not sign its messages, or signs with an unknown key.";
    CLIENT_UNSIGNED "client_unsigned" Warning "A client of the token service does not sign its messages.";
    KEYS_DIFFER "keys_differ" Note "Another node signs with another key than this node.";
    KEY_UNKNOWN "key_unknown" Note "A connection to another node of the board began before this node had keys.";
    NO_REPORT "no_report" Warning "A member that this node hears did not answer.";
    VERSIONS_DIFFER "versions_differ" Warning "The members run different versions.";
    REQUIRE_DIFFERS "require_differs" Warning "A member requires another grade for its locks than most members.";
    CLOCK_WRONG "clock_wrong" Warning "The clock of a member differs by more than a second.";
    ONE_WAY "one_way" Error "Frames between two members arrive in only one direction.";
    NO_PATH "no_path" Error "Two members do not hear each other.";
    UNICAST_LOST "unicast_lost" Error "Broadcasts arrive at a member, but frames to its address do not.";
    BROADCASTS_LOST "broadcasts_lost" Error "Frames to a member's address arrive, but broadcasts do not.";
    LARGE_FRAMES_LOST "large_frames_lost" Warning "Small frames arrive, but long frames do not.";
    MEMBER_MTU "member_mtu" Warning "The MTU of a member is too small for the longest frames of a ring.";
    LOSS "loss" Warning "A part of the frames between two members is lost.";
    STARVED "starved" Warning "A member's process wakes up too late to answer an offer of the token.";
    HEARTBEAT_SHORT "heartbeat_short" Warning "The heartbeat is shorter than this segment carries.";
    LATE_BEFORE "late_before" Note "A member's process once woke up so late that the owner would count as dead.";
}

/// Returns the table of kinds for the reference page, as Markdown.
pub(super) fn reference_table() -> String {
    let mut page = "\n| kind | severity | meaning |\n|---|---|---|\n".to_owned();
    for kind in KINDS {
        let severity = format!("{:?}", kind.severity).to_lowercase();
        // Writing to a string never fails.
        let _ = writeln!(page, "| `{}` | {severity} | {} |", kind.name, kind.meaning);
    }
    page
}
