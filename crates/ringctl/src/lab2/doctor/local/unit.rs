//! The reason why the service of a ring does not run.

use super::program;

/// Meanings of the exit codes of `ringd` after which its unit does not restart it, or after which a restart is useless.
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

/// Returns a text with the exit code of the service, if its last run has failed.
pub(in super::super) fn failure(ring: &str) -> Option<String> {
    // The name of an instance is escaped.
    let unit = format!("ringd@{}.service", ring.replace('-', "\\x2d"));
    let arguments = ["show", "-p", "ActiveState", "-p", "ExecMainStatus", &unit];
    let shown = program::run_for_text("systemctl", &arguments)?.ok()?;
    describe(&unit, &shown)
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
    use super::describe;

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
