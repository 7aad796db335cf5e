//! Commands that leave their control group.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fake::{ENDLESS_LEASE, FakeDaemon};
use crate::program::{Running, SLEEP, Witness};

tests! {
    a_command_outside_its_control_group_gets_sigterm_before_the_release,
}

/// Returns the control group (version 2) of this process. `ringctl` creates the control groups of its commands in this
/// group.
pub(crate) fn own_group() -> PathBuf {
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("Linux has it");
    let mounted = mounts.lines().find(|line| line.contains(" - cgroup2 "));
    let mounted = mounted.expect("no cgroup2 is mounted: mount one");
    let at = mounted.split(' ').nth(4).expect("it says where");
    let own = fs::read_to_string("/proc/self/cgroup").expect("Linux has it");
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"));
    Path::new(at).join(own.expect("each process is in one"))
}

/// Fails the test unless control groups can be created in `group`.
#[track_caller]
pub(crate) fn need_groups() {
    let (process, thread) = (std::process::id(), std::thread::current().id());
    let probe = own_group().join(format!("probe-{process}-{thread:?}"));
    let made = fs::create_dir(&probe).and_then(|()| fs::remove_dir(&probe));
    if let Err(error) = made {
        let group = own_group();
        let group = group.display();
        panic!("no control group can be made in {group} ({error}): run the tests as root");
    }
}

/// Returns a shell line. A shell that runs it leaves its control group, as `su -` and `systemd-run --scope` do. If
/// `ringctl` could not create a group for the shell, the shell stays in its group.
pub(crate) fn moving(line: &str) -> String {
    let out = own_group().join("cgroup.procs");
    let out = out.display();
    format!("if grep -q /ringctl- /proc/$$/cgroup; then echo $$ > {out} || exit 9; fi; {line}")
}

fn a_command_outside_its_control_group_gets_sigterm_before_the_release() {
    let fake = FakeDaemon::new();
    let mut witness = Witness::new(&fake);
    let line = format!("trap 'echo told; read go; exit 0' TERM; {SLEEP}; echo ready; wait");
    let mut command = crate::program::ringctl(&fake);
    command.args(["run", "-c", &witness.open_in(&moving(&line))]);
    let mut run = Running::start(command.stdin(std::process::Stdio::piped()));
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    assert_eq!(run.line(), "ready");
    client.lose(ENDLESS_LEASE);
    assert_eq!(run.line(), "told");
    run.write_input(b"go\n");
    client.wait_for_unlock();
    witness.assert_ended();
    assert_eq!(run.code(), Some(75));
}
