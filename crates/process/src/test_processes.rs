//! Processes for the tests of this crate.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};

use nix::unistd::Pid;

/// Starts a sleeping process as the leader of its own process group.
pub(crate) fn sleeper() -> (Child, Pid) {
    let child = Command::new("sleep").arg("1000").process_group(0).spawn();
    let child = child.expect("a sleeper");
    let pid = Pid::from_raw(child.id().cast_signed());
    (child, pid)
}

pub(crate) fn signal_that_ended(mut child: Child) -> Option<i32> {
    child.wait().expect("it is our child").signal()
}
