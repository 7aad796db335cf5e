//! Exit codes of the programs when they cannot write their messages.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, Stdio};

const RINGD: &str = env!("CARGO_BIN_EXE_ringd");

/// Returns the exit code of a program if its standard error is a full disk.
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
fn a_program_that_cannot_print_its_error_still_exits_with_the_code_of_the_error() {
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
