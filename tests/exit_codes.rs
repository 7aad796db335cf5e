//! Exit codes of the programs when their messages cannot be written.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, Stdio};

const RINGD: &str = env!("CARGO_BIN_EXE_ringd");

/// Returns the exit code of a program whose standard error fails, as on a full disk.
fn code_without_stderr(program: &str, arguments: &[&str]) -> Option<i32> {
    let full = OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("Linux has this device");
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(full);
    command.status().expect("the program is built").code()
}

#[test]
fn an_error_that_cannot_be_printed_still_has_its_code() {
    assert_eq!(code_without_stderr(RINGD, &["no-such-link"]), Some(3));
    assert_eq!(
        code_without_stderr(RINGD, &["eth0", "--heartbeat=0s"]),
        Some(2)
    );
    let socket = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no.sock");
    let socket = socket.to_str().expect("a readable path");
    assert_eq!(
        code_without_stderr(
            ring_segment::program("ringctl"),
            &["--socket", socket, "status"]
        ),
        Some(3)
    );
}
