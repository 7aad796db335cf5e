//! The reason why the service of a ring does not run.

use super::program;

/// Exit codes of `ringd` with their meanings. After these codes, the unit does not restart `ringd`, or a restart does
/// not help.
const EXIT_CODES: [(&str, &str); 7] = [
    ("2", "wrong usage, or constants that cannot work together"),
    ("4", "not an Ethernet interface"),
    (
        "5",
        "no permission for packet sockets: the unit needs AmbientCapabilities=CAP_NET_RAW",
    ),
    ("6", "another ringd runs on the interface"),
    ("7", "it cannot use the state directory or the state file"),
    (
        "8",
        "it cannot make its control socket or its monitor socket",
    ),
    (
        "9",
        "the state file belongs to a newer version or to another user",
    ),
];

/// The failure of a service in its last run.
pub(in super::super) struct UnitFailure {
    /// The name of the unit, quoted for a shell.
    pub quoted_unit: String,
    /// Text with the exit code.
    pub text: String,
}

/// Returns the failure of the service, if its last run has failed.
pub(in super::super) fn failure(ring: &str) -> Option<UnitFailure> {
    let unit = unit_name(ring);
    let arguments = ["show", "-p", "ActiveState", "-p", "ExecMainStatus", &unit];
    let shown = program::run_for_text("systemctl", &arguments)?.ok()?;
    Some(UnitFailure {
        text: describe(&unit, &shown)?,
        quoted_unit: format!("'{unit}'"),
    })
}

/// Returns the name of the unit of a ring. The name of an instance is escaped.
fn unit_name(ring: &str) -> String {
    format!("ringd@{}.service", ring.replace('-', "\\x2d"))
}

fn describe(unit: &str, shown: &str) -> Option<String> {
    let value = |key: &str| {
        let mut lines = shown.lines().filter_map(|line| line.split_once('='));
        lines.find(|(name, _)| *name == key).map(|(_, value)| value)
    };
    let code = value("ExecMainStatus").filter(|&code| code != "0")?;
    let is_failed = matches!(value("ActiveState"), Some("failed" | "activating"));
    let meaning = EXIT_CODES.iter().find(|(known, _)| *known == code);
    let meaning = meaning.map_or("journalctl shows the reason", |(_, meaning)| meaning);
    is_failed.then(|| format!("the last run of {unit} ended with exit code {code}: {meaning}"))
}

#[cfg(test)]
mod tests {
    use super::{describe, unit_name};

    #[test]
    fn the_name_of_a_unit_is_escaped() {
        assert_eq!(unit_name("eth0"), "ringd@eth0.service");
        assert_eq!(
            unit_name("br-lan-0x88b6"),
            r"ringd@br\x2dlan\x2d0x88b6.service"
        );
    }

    #[test]
    fn a_failed_service_is_described() {
        let describe = |shown: &str| describe("ringd@eth0.service", shown);
        let found = describe("ActiveState=failed\nExecMainStatus=5\n").expect("it failed");
        assert!(found.contains("exit code 5: no permission"), "{found}");
        let found = describe("ActiveState=activating\nExecMainStatus=139\n").expect("it failed");
        assert!(found.contains("exit code 139: journalctl"), "{found}");
        assert_eq!(describe("ActiveState=inactive\nExecMainStatus=0\n"), None);
        assert_eq!(describe("ActiveState=failed\nExecMainStatus=0\n"), None);
        assert_eq!(describe("ActiveState=active\nExecMainStatus=1\n"), None);
        assert_eq!(describe(""), None);
    }
}
