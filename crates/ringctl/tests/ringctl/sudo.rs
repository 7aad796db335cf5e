//! Tests with commands that become root. `ringctl` runs as an ordinary user, so it cannot signal such commands.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::geteuid;
use serde_json::Value;

use crate::fake::{ENDLESS_LEASE, FakeDaemon};
use crate::leaving::own_group;
use crate::program::{RINGCTL, Running};

tests! {
    a_surviving_root_command_is_reported,
    the_lock_is_held_until_a_left_root_process_ends,
    a_hidden_root_command_is_reported,
    a_root_command_is_reported_where_proc_is_another_namespaces,
    lock_kill_refuses_a_process_of_another_user,
    a_hidden_root_process_is_reported_after_the_keepers_death,
    a_signal_ends_the_wait_for_a_left_root_process,
    a_signal_ends_the_wait_for_a_root_command_after_the_loss,
    a_left_root_process_is_reported_when_the_lease_ends,
    a_control_group_ends_a_root_command,
}

/// A user without permissions.
const NOBODY: u32 = 65534;
const LEASE: Duration = Duration::from_secs(2);

/// A directory with programs that make another user root.
struct Stage {
    fake: FakeDaemon,
    ringctl: PathBuf,
    sudo: PathBuf,
}

impl Stage {
    fn new() -> Self {
        assert!(
            geteuid().is_root(),
            "only root can make a program that others become root by: run the tests as root"
        );
        let fake = FakeDaemon::new();
        // Make the copies in another process. If this process made them, a child of another test could inherit a copy
        // that is open for writing. Then no process could run this copy.
        let copy = |program: &str, name: &str, mode: &str| {
            let path = fake.file(name);
            let mut install = Command::new("install");
            install.args(["-m", mode, program]).arg(&path);
            assert!(install.status().expect("it is there").success());
            path
        };
        let ringctl = copy(RINGCTL, "ringctl", "755");
        let sudo = copy("/usr/bin/setpriv", "sudo", "4755");
        let open = Permissions::from_mode(0o777);
        let directory = fake.path().parent().expect("it is in one");
        for path in [directory, fake.path()] {
            fs::set_permissions(path, open.clone()).expect("set");
        }
        Self {
            fake,
            ringctl,
            sudo,
        }
    }

    /// Returns a directory that belongs to the user without permissions.
    fn own_directory(&self) -> PathBuf {
        let path = self.fake.file("own");
        if !path.exists() {
            fs::create_dir(&path).expect("root may");
            chown(&path, Some(NOBODY), None).expect("root may");
        }
        path
    }

    /// Returns a shell line that runs `line` as root.
    fn as_root(&self, line: &str) -> String {
        format!("{} --reuid 0 sh -c '{line}'", self.sudo.display())
    }

    /// Returns a shell line. The shell starts a process as root, and then ends.
    fn leave_root_process(&self) -> String {
        let started = self.fake.file("started");
        let started = started.display();
        let left = self.as_root(&format!("touch {started}; read end"));
        let wait = format!("until [ -e {started} ]; do :; done");
        format!("exec 9<&0; {left} <&9 2>/dev/null & {wait}; exit 5")
    }

    /// Starts `ringctl run` as a user without permissions, in the control group `cgroup`.
    fn run(&self, cgroup: &Path, line: &str) -> Running {
        self.run_in(&mut Command::new("sh"), cgroup, line)
    }

    /// Like `run`, but with the `/proc` of a different PID namespace. In this `/proc`, processes have different
    /// numbers.
    fn run_with_foreign_proc(&self, line: &str) -> Running {
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--fork", "--kill-child", "sh"]);
        self.run_in(&mut unshare, &own_group(), line)
    }

    /// Like `run`, but with a `/proc` that hides the processes of other users.
    fn run_with_hiding_proc(&self, line: &str) -> Running {
        let mut unshare = Command::new("unshare");
        let hide = "mount -t proc -o hidepid=invisible proc /proc && exec sh \"$@\"";
        unshare.args(["--mount", "sh", "-c", hide, "sh"]);
        self.run_in(&mut unshare, &own_group(), line)
    }

    fn run_in(&self, command: &mut Command, cgroup: &Path, line: &str) -> Running {
        let (cgroup, sudo) = (cgroup.display(), self.sudo.display());
        let enter = format!("echo $$ > {cgroup}/cgroup.procs && exec {sudo} \"$@\"");
        let user = NOBODY.to_string();
        command.args(["-c", &enter, "sh", "--clear-groups"]);
        command.args(["--regid", &user, "--reuid", &user]);
        command
            .arg(&self.ringctl)
            .arg("--socket")
            .arg(self.fake.path());
        command.args(["run", "--grace", "10ms", "-c", line]);
        Running::start(command.stdin(Stdio::piped()))
    }
}

fn a_surviving_root_command_is_reported() {
    let stage = Stage::new();
    let mut run = stage.run(
        &own_group(),
        &stage.as_root("echo ready; read end; echo over"),
    );
    let mut client = stage.fake.accept_and_grant(ENDLESS_LEASE);
    assert_eq!(run.line(), "ready");
    client.lose(LEASE);
    run.wait_for_error("sudo ringctl run -- CMD, not ringctl run -- sudo CMD\n");
    assert_eq!(
        client.request(),
        Value::Null,
        "the kill timer ends the keeper"
    );
    run.write_input(b"end\n");
    assert_eq!(run.line(), "over", "it continues");
    let (status, stderr) = run.end();
    assert_eq!(status.code(), Some(75));
    assert!(
        stderr.contains("some of the work under it still runs"),
        "{stderr}"
    );
}

fn the_lock_is_held_until_a_left_root_process_ends() {
    for is_hidden in [false, true] {
        let stage = Stage::new();
        let line = stage.leave_root_process();
        let mut run = if is_hidden {
            stage.run_with_hiding_proc(&line)
        } else {
            stage.run(&own_group(), &line)
        };
        let mut client = stage.fake.accept_and_grant(ENDLESS_LEASE);
        run.wait_for_error("which runs as another user and continues");
        run.write_input(b"end\n");
        client.wait_for_unlock();
        assert_eq!(run.code(), Some(5), "hidden: {is_hidden}");
    }
}

fn a_hidden_root_command_is_reported() {
    let stage = Stage::new();
    let works = stage.as_root("echo ready; read end; echo over");
    // In the first case, the shell itself runs as root. In the second case, it waits for a process of root. In the
    // third case, the process of root has a zombie of the user as its child.
    for line in [
        format!("exec {works}"),
        format!("{works}; exit 5"),
        format!("true & exec {works}"),
    ] {
        assert_reported(&stage, stage.run_with_hiding_proc(&line));
    }
}

fn a_root_command_is_reported_where_proc_is_another_namespaces() {
    let stage = Stage::new();
    let works = stage.as_root("echo ready; read end; echo over");
    for line in [format!("exec {works}"), format!("{works}; exit 5")] {
        assert_reported(&stage, stage.run_with_foreign_proc(&line));
    }
}

fn assert_reported(stage: &Stage, mut run: Running) {
    let mut client = stage.fake.accept_and_grant(ENDLESS_LEASE);
    assert_eq!(run.line(), "ready");
    client.lose(LEASE);
    run.wait_for_error("sudo ringctl run -- CMD, not ringctl run -- sudo CMD\n");
    run.write_input(b"end\n");
    assert_eq!(run.line(), "over", "it continues");
    let (status, stderr) = run.end();
    assert_eq!(status.code(), Some(75));
    assert!(
        stderr.contains("some of the work under it still runs"),
        "{stderr}"
    );
}

fn lock_kill_refuses_a_process_of_another_user() {
    let stage = Stage::new();
    let own = std::process::id().to_string();
    let lock = |options: &[&str]| {
        let mut command = Command::new(&stage.sudo);
        let user = NOBODY.to_string();
        command.args(["--clear-groups", "--regid", &user, "--reuid", &user]);
        command.arg(&stage.ringctl);
        command.arg("--socket").arg(stage.fake.path());
        command.args(["lock", "--pid", &own]).args(options);
        // In this directory, the keeper of this user creates its registration.
        command.env("XDG_RUNTIME_DIR", stage.own_directory());
        Running::start(command.stdin(Stdio::null()))
    };
    let (status, stderr) = lock(&["--kill"]).end();
    assert_eq!(status.code(), Some(1), "{stderr}");
    let why = format!("with --kill: process {own} runs as another user");
    assert!(stderr.contains(&why), "{stderr}");
    let mut check = lock(&["--check"]);
    assert_eq!(check.code(), Some(1), "no lock is held");
    // Without such a directory, the lock is not acquired.
    let mut nowhere = Command::new(&stage.sudo);
    nowhere.args(["--clear-groups", "--regid", "65534", "--reuid", "65534"]);
    nowhere
        .arg(&stage.ringctl)
        .arg("--socket")
        .arg(stage.fake.path());
    nowhere.arg("lock").env_remove("XDG_RUNTIME_DIR");
    let (status, stderr) = Running::start(nowhere.stdin(Stdio::null())).end();
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("cannot use /run/ringd, and /run/user/65534 is"),
        "{stderr}"
    );
    // A keeper needs no permission to watch a process.
    let mut without = lock(&[]);
    let client = stage.fake.accept_and_grant(ENDLESS_LEASE);
    assert_eq!(without.code(), Some(0));
    drop(client);
}

fn a_hidden_root_process_is_reported_after_the_keepers_death() {
    let stage = Stage::new();
    let works = stage.as_root("echo ready; read end");
    let mut run = stage.run_with_hiding_proc(&format!("{works}; exit 5"));
    let client = stage.fake.accept_and_grant(ENDLESS_LEASE);
    assert_eq!(run.line(), "ready");
    kill(client.pid(), Signal::SIGKILL).expect("it lives");
    run.wait_for_error("which runs as another user and continues");
    // The root process still has the pipe for errors open, so reading to its end would block.
    run.write_input(b"end\n");
    let (status, stderr) = run.end();
    assert_eq!(status.code(), Some(75));
    assert!(
        stderr.contains("some of the work under it still runs"),
        "{stderr}"
    );
}

fn a_signal_ends_the_wait_for_a_left_root_process() {
    let stage = Stage::new();
    let mut run = stage.run(&own_group(), &stage.leave_root_process());
    let mut client = stage.fake.accept_and_grant(ENDLESS_LEASE);
    run.wait_for_error("which runs as another user and continues");
    run.signal(Signal::SIGINT);
    assert_eq!(run.killed_by(), Some(Signal::SIGINT));
    run.write_input(b"end\n");
    client.wait_for_unlock();
    assert_eq!(client.request(), Value::Null, "the keeper ends");
}

fn a_signal_ends_the_wait_for_a_root_command_after_the_loss() {
    let stage = Stage::new();
    let line = format!("exec {}", stage.as_root("echo ready; read end"));
    let mut run = stage.run(&own_group(), &line);
    let mut client = stage.fake.accept_and_grant(ENDLESS_LEASE);
    assert_eq!(run.line(), "ready");
    client.lose(LEASE);
    run.wait_for_error("sudo ringctl run -- CMD");
    assert_eq!(
        client.request(),
        Value::Null,
        "the kill timer ends the keeper"
    );
    ring_segment::limit::wait_until("a signal ends it", || {
        run.signal(Signal::SIGINT);
        run.check_ended()
    });
    // The root process still has the pipe for errors open, so reading to its end would block.
    run.write_input(b"end\n");
    assert_eq!(run.killed_by(), Some(Signal::SIGINT));
}

fn a_left_root_process_is_reported_when_the_lease_ends() {
    let stage = Stage::new();
    let mut run = stage.run(&own_group(), &stage.leave_root_process());
    let _client = stage.fake.accept_and_grant(LEASE);
    let (status, stderr) = run.end();
    assert_eq!(status.code(), Some(75));
    assert!(
        stderr.contains("some of the work under it still runs"),
        "{stderr}"
    );
    run.write_input(b"end\n");
}

fn a_control_group_ends_a_root_command() {
    let stage = Stage::new();
    let own = own_group().join(format!("delegated-{}", std::process::id()));
    fs::create_dir(&own).expect("root may");
    for path in [own.clone(), own.join("cgroup.procs")] {
        chown(path, Some(NOBODY), None).expect("root may");
    }
    let mut run = stage.run(&own, &stage.as_root("echo ready; read end"));
    let mut client = stage.fake.accept_and_grant(ENDLESS_LEASE);
    assert_eq!(run.line(), "ready");
    client.lose(LEASE);
    client.wait_for_unlock();
    let (status, stderr) = run.end();
    assert_eq!(status.code(), Some(75));
    assert!(stderr.contains("the work under it was ended"), "{stderr}");
    ring_segment::limit::wait_until("its control groups go", || fs::remove_dir(&own).is_ok());
}
