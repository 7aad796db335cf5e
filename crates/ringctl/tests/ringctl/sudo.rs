//! Commands that become another user, root, whom an ordinary `ringctl` may not signal.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::geteuid;
use serde_json::Value;

use crate::fake::{Fake, LONG};
use crate::leaving::own_group;
use crate::program::{RINGCTL, Running};

tests! {
    a_command_that_became_root_is_not_said_to_be_ended_when_it_is_not,
    the_lock_is_held_until_what_became_root_and_was_left_behind_has_ended,
    a_command_that_became_root_is_not_said_to_be_ended_where_proc_hides_it,
    a_command_that_became_root_is_not_said_to_be_ended_where_proc_is_another_namespaces,
    a_process_that_may_not_be_signalled_is_not_bound_with_kill,
    the_lock_is_held_until_what_became_root_has_ended_where_proc_hides_it,
    what_is_hidden_is_told_of_when_the_keeper_is_killed,
    nobody_has_to_wait_for_what_became_root_and_was_left_behind,
    nobody_has_to_wait_for_a_command_that_became_root_when_the_lock_is_lost,
    what_became_root_and_was_left_behind_is_told_of_when_nobody_renews_the_lease,
    a_command_that_became_root_is_ended_where_a_control_group_can_be_made,
}

/// A user without rights.
const NOBODY: u32 = 65534;
const LEASE: Duration = Duration::from_secs(2);

/// A place where somebody else can become root.
struct Stage {
    fake: Fake,
    ringctl: PathBuf,
    sudo: PathBuf,
}

impl Stage {
    fn new() -> Self {
        assert!(
            geteuid().is_root(),
            "only root can make a program that others become root by: run the tests as root"
        );
        let fake = Fake::new();
        // By another process: what another test starts meanwhile would have the copy open for
        // writing, and nothing that is can be run.
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

    /// A directory of the user without rights.
    fn own_directory(&self) -> PathBuf {
        let path = self.fake.file("own");
        if !path.exists() {
            fs::create_dir(&path).expect("root may");
            chown(&path, Some(NOBODY), None).expect("root may");
        }
        path
    }

    /// `line` as root.
    fn as_root(&self, line: &str) -> String {
        format!("{} --reuid 0 sh -c '{line}'", self.sudo.display())
    }

    /// A shell that ends as soon as something is there that it leaves behind as root.
    fn leaving_behind(&self) -> String {
        let is_there = self.fake.file("is-there");
        let is_there = is_there.display();
        let left = self.as_root(&format!("touch {is_there}; read end"));
        let wait = format!("until [ -e {is_there} ]; do :; done");
        format!("exec 9<&0; {left} <&9 2>/dev/null & {wait}; exit 5")
    }

    /// `ringctl run` as a user without rights, in that control group.
    fn run(&self, cgroup: &Path, line: &str) -> Running {
        self.run_in(&mut Command::new("sh"), cgroup, line)
    }

    /// The same where `/proc` is the one of another namespace, and numbers processes in its own way.
    fn run_with_foreign_proc(&self, line: &str) -> Running {
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--fork", "--kill-child", "sh"]);
        self.run_in(&mut unshare, &own_group(), line)
    }

    /// The same where `/proc` shows no processes of other users.
    fn run_blind(&self, line: &str) -> Running {
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

fn a_command_that_became_root_is_not_said_to_be_ended_when_it_is_not() {
    let stage = Stage::new();
    let mut run = stage.run(
        &own_group(),
        &stage.as_root("echo ready; read end; echo over"),
    );
    let mut client = stage.fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    client.lose(LEASE);
    run.complains("sudo ringctl run -- CMD, not ringctl run -- sudo CMD\n");
    assert_eq!(client.request(), Value::Null, "its timer ends the keeper");
    run.types(b"end\n");
    assert_eq!(run.line(), "over", "it goes on");
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(75));
    assert!(said.contains("not all that ran under it"), "{said}");
}

fn the_lock_is_held_until_what_became_root_and_was_left_behind_has_ended() {
    let stage = Stage::new();
    let mut run = stage.run(&own_group(), &stage.leaving_behind());
    let mut client = stage.fake.grant(LONG);
    run.complains("it works on");
    run.types(b"end\n");
    client.unlocked();
    assert_eq!(run.code(), Some(5));
}

fn a_command_that_became_root_is_not_said_to_be_ended_where_proc_hides_it() {
    let stage = Stage::new();
    let works = stage.as_root("echo ready; read end; echo over");
    // The shell is root's, or it waits for what is; or beside what is root's there is a process of the user's
    // that has ended, and that nobody waits for.
    for line in [
        format!("exec {works}"),
        format!("{works}; exit 5"),
        format!("true & exec {works}"),
    ] {
        goes_on_and_is_told_of(&stage, stage.run_blind(&line));
    }
}

fn a_command_that_became_root_is_not_said_to_be_ended_where_proc_is_another_namespaces() {
    let stage = Stage::new();
    let works = stage.as_root("echo ready; read end; echo over");
    for line in [format!("exec {works}"), format!("{works}; exit 5")] {
        goes_on_and_is_told_of(&stage, stage.run_with_foreign_proc(&line));
    }
}

fn goes_on_and_is_told_of(stage: &Stage, mut run: Running) {
    let mut client = stage.fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    client.lose(LEASE);
    run.complains("sudo ringctl run -- CMD, not ringctl run -- sudo CMD\n");
    run.types(b"end\n");
    assert_eq!(run.line(), "over", "it goes on");
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(75));
    assert!(said.contains("not all that ran under it"), "{said}");
}

fn a_process_that_may_not_be_signalled_is_not_bound_with_kill() {
    let stage = Stage::new();
    let own = std::process::id().to_string();
    let lock = |options: &[&str]| {
        let mut command = Command::new(&stage.sudo);
        let user = NOBODY.to_string();
        command.args(["--clear-groups", "--regid", &user, "--reuid", &user]);
        command.arg(&stage.ringctl);
        command.arg("--socket").arg(stage.fake.path());
        command.args(["lock", "--pid", &own]).args(options);
        // Where a keeper of that user's can be found.
        command.env("XDG_RUNTIME_DIR", stage.own_directory());
        Running::start(command.stdin(Stdio::null()))
    };
    let (status, said) = lock(&["--kill"]).end();
    assert_eq!(status.code(), Some(1), "{said}");
    let why = format!("--kill cannot signal process {own}: it runs as another user");
    assert!(said.contains(&why), "{said}");
    let mut check = lock(&["--check"]);
    assert_eq!(check.code(), Some(1), "no lock is held");
    // Nor is one where no directory is that user's.
    let mut nowhere = Command::new(&stage.sudo);
    nowhere.args(["--clear-groups", "--regid", "65534", "--reuid", "65534"]);
    nowhere
        .arg(&stage.ringctl)
        .arg("--socket")
        .arg(stage.fake.path());
    nowhere.arg("lock").env_remove("XDG_RUNTIME_DIR");
    let (status, said) = Running::start(nowhere.stdin(Stdio::null())).end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(
        said.contains("/run/ringd cannot be used, and /run/user/65534 is"),
        "{said}"
    );
    // To watch it takes no right.
    let mut without = lock(&[]);
    let client = stage.fake.grant(LONG);
    assert_eq!(without.code(), Some(0));
    drop(client);
}

fn the_lock_is_held_until_what_became_root_has_ended_where_proc_hides_it() {
    let stage = Stage::new();
    let mut run = stage.run_blind(&stage.leaving_behind());
    let mut client = stage.fake.grant(LONG);
    run.complains("it works on");
    run.types(b"end\n");
    client.unlocked();
    assert_eq!(run.code(), Some(5));
}

fn what_is_hidden_is_told_of_when_the_keeper_is_killed() {
    let stage = Stage::new();
    let works = stage.as_root("echo ready; read end");
    let mut run = stage.run_blind(&format!("{works}; exit 5"));
    let client = stage.fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    kill(client.pid(), Signal::SIGKILL).expect("it lives");
    run.complains("it works on");
    // It has its errors open.
    run.types(b"end\n");
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(75));
    assert!(said.contains("not all that ran under it"), "{said}");
}

fn nobody_has_to_wait_for_what_became_root_and_was_left_behind() {
    let stage = Stage::new();
    let mut run = stage.run(&own_group(), &stage.leaving_behind());
    let mut client = stage.fake.grant(LONG);
    run.complains("it works on");
    run.signal(Signal::SIGINT);
    assert_eq!(run.killed_by(), Some(Signal::SIGINT));
    run.types(b"end\n");
    client.unlocked();
    assert_eq!(client.request(), Value::Null, "the keeper ends");
}

fn nobody_has_to_wait_for_a_command_that_became_root_when_the_lock_is_lost() {
    let stage = Stage::new();
    let line = format!("exec {}", stage.as_root("echo ready; read end"));
    let mut run = stage.run(&own_group(), &line);
    let mut client = stage.fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    client.lose(LEASE);
    run.complains("sudo ringctl run -- CMD");
    assert_eq!(client.request(), Value::Null, "its timer ends the keeper");
    ring_segment::limit::until("a signal ends it", || {
        run.signal(Signal::SIGINT);
        run.has_ended()
    });
    // It has its errors open.
    run.types(b"end\n");
    assert_eq!(run.killed_by(), Some(Signal::SIGINT));
}

fn what_became_root_and_was_left_behind_is_told_of_when_nobody_renews_the_lease() {
    let stage = Stage::new();
    let mut run = stage.run(&own_group(), &stage.leaving_behind());
    let _client = stage.fake.grant(LEASE);
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(75));
    assert!(said.contains("not all that ran under it"), "{said}");
    run.types(b"end\n");
}

fn a_command_that_became_root_is_ended_where_a_control_group_can_be_made() {
    let stage = Stage::new();
    let own = own_group().join(format!("delegated-{}", std::process::id()));
    fs::create_dir(&own).expect("root may");
    for path in [own.clone(), own.join("cgroup.procs")] {
        chown(path, Some(NOBODY), None).expect("root may");
    }
    let mut run = stage.run(&own, &stage.as_root("echo ready; read end"));
    let mut client = stage.fake.grant(LONG);
    assert_eq!(run.line(), "ready");
    client.lose(LEASE);
    client.unlocked();
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(75));
    assert!(said.contains("what ran under it was ended"), "{said}");
    ring_segment::limit::until("its control groups go", || fs::remove_dir(&own).is_ok());
}
