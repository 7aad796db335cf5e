//! Commands that leave the place where they were started.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fake::{Fake, LONG};
use crate::program::{Running, SLEEP, Witness};

tests! {
    a_command_that_leaves_its_control_group_is_told_of_the_loss_and_may_end_before_the_lock_is_free,
}

/// The control group (version 2) of this process, in which `ringctl` makes those of commands.
pub(crate) fn own_group() -> PathBuf {
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("Linux has it");
    let mounted = mounts.lines().find(|line| line.contains(" - cgroup2 "));
    let mounted = mounted.expect("no cgroup2 is mounted: mount one");
    let at = mounted.split(' ').nth(4).expect("it says where");
    let own = fs::read_to_string("/proc/self/cgroup").expect("Linux has it");
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"));
    Path::new(at).join(own.expect("each process is in one"))
}

/// Makes sure that control groups can be made there.
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

/// A shell that leaves its control group, as a session of its own does (`su -`, `systemd-run
/// --scope`), if it is in one that was made for it: where none can be made there is none to leave.
pub(crate) fn moving(line: &str) -> String {
    let out = own_group().join("cgroup.procs");
    let out = out.display();
    format!("if grep -q /ringctl- /proc/$$/cgroup; then echo $$ > {out} || exit 9; fi; {line}")
}

fn a_command_that_leaves_its_control_group_is_told_of_the_loss_and_may_end_before_the_lock_is_free()
{
    let fake = Fake::new();
    let mut witness = Witness::new(&fake);
    let line = format!("trap 'echo told; read go; exit 0' TERM; {SLEEP}; echo ready; wait");
    let mut command = crate::program::ringctl(&fake);
    command.args(["run", "-c", &witness.seeing(&moving(&line))]);
    let mut run = Running::start(command.stdin(std::process::Stdio::piped()));
    let mut client = fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    client.lose(LONG);
    assert_eq!(run.line(), "told");
    run.types(b"go\n");
    client.unlocked();
    witness.has_ended();
    assert_eq!(run.code(), Some(75));
}
