//! Tests with a process of another user that listens at the daemon's socket.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::unistd::geteuid;
use tempfile::TempDir;

use crate::program::{RINGCTL, Running};

tests! {
    a_listener_of_another_user_is_not_trusted,
}

/// A program that switches to a user without permissions, and then grants the lock to every client.
const GRANTING: &str = r#"
import os, socket, sys
os.setgroups([])
os.setuid(65534)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("listens", flush=True)
held = []
while True:
    client, _ = listener.accept()
    if not client.makefile().readline():
        continue
    client.sendall(b'{"granted": {"token": {"progress": 1, "author": "02:00:00:00:00:01", "number": 1},'
        b' "fencing": "1-02:00:00:00:00:01-1", "grade": "alone", "data": "", "until_ns": 9000000000000000000}}\n')
    held.append(client)
"#;

struct Stranger {
    directory: TempDir,
    child: Child,
}

impl Stranger {
    fn start() -> Self {
        assert!(
            geteuid().is_root(),
            "only root can start a process of another user: run the tests as root"
        );
        let directory = tempfile::tempdir().expect("a directory");
        fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).expect("set");
        let mut child = Command::new("python3")
            .args(["-c", GRANTING])
            .arg(directory.path().join("eth0.sock"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("cannot start python3: install it");
        let mut line = String::new();
        let output = child.stdout.take().expect("it is piped");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("it says");
        assert_eq!(line, "listens\n");
        Self { directory, child }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ringctl(socket: &Path, arguments: &[&str]) -> Running {
    let mut command = Command::new(RINGCTL);
    command.arg("--socket").arg(socket).args(arguments);
    Running::start(command.stdin(Stdio::null()))
}

fn a_listener_of_another_user_is_not_trusted() {
    let stranger = Stranger::start();
    let (socket, ran) = (stranger.path("eth0.sock"), stranger.path("ran"));
    let touch = ran.display().to_string();
    let cases = [
        &["run", "--", "touch", &touch][..],
        &["lock", "--pipe"],
        &["lock"],
        &["data", "get"],
        &["watch"],
        &["status"],
    ];
    for arguments in cases {
        let (status, stderr) = ringctl(&socket, arguments).end();
        assert_eq!(status.code(), Some(3), "{arguments:?}: {stderr}");
        assert!(
            stderr.contains("cannot trust the ringd") && stderr.contains("a process of user 65534"),
            "{arguments:?}: {stderr}"
        );
    }
    assert!(!ran.exists());
}
