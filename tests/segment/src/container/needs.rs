//! Checks that this machine can boot a systemd in a container.

use std::env;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::PATH;

/// Path of systemd. It is the same in all distributions.
const SYSTEMD_PATH: &str = "/usr/lib/systemd/systemd";
/// Programs that the tests need to make the container, each with its package.
const PROGRAMS: [(&str, &str); 9] = [
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("setpriv", "util-linux"),
    ("mount", "util-linux"),
    ("pivot_root", "util-linux"),
    ("ip", "iproute2"),
    ("systemctl", "systemd"),
    ("systemd-sysusers", "systemd"),
    ("journalctl", "systemd"),
];

/// Reports everything that is missing, and how to install it.
pub(super) fn check() -> Result<()> {
    let mut missing = Vec::new();
    if !is_root()? {
        missing.push(
            "the tests do not run as root: run them as root, for example with `sudo -E env \"PATH=$PATH\" cargo test`"
                .to_owned(),
        );
    }
    if !Path::new(SYSTEMD_PATH).exists() {
        missing.push(format!(
            "there is no {SYSTEMD_PATH}: install systemd, for example with `apt-get install systemd`; it need not \
             be what this machine was booted with"
        ));
    }
    let is_there =
        |program: &str| env::split_paths(PATH).any(|folder| folder.join(program).exists());
    for (program, package) in PROGRAMS {
        if !is_there(program) {
            missing.push(format!(
                "there is no {program} in {PATH}: install the package {package}"
            ));
        }
    }
    let kernel = fs::read_to_string("/proc/filesystems").context("cannot read /proc")?;
    if !kernel.contains("cgroup2") {
        missing.push("the kernel has no cgroup2".to_owned());
    }
    ensure!(
        missing.is_empty(),
        "cannot boot a systemd on this machine:\n- {}",
        missing.join("\n- ")
    );
    Ok(())
}

/// Whether the process is root outside of a user namespace. Systemd can start services as other users only if it runs
/// as such a root.
fn is_root() -> Result<bool> {
    let map = fs::read_to_string("/proc/self/uid_map").context("cannot read /proc")?;
    let mut fields = map.split_whitespace();
    let all = fields.next() == Some("0")
        && fields
            .nth(1)
            .and_then(|count| count.parse::<u64>().ok())
            .is_some_and(|count| count > 65_536);
    Ok(all && nix::unistd::geteuid().is_root())
}
