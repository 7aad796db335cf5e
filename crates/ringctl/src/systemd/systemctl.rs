//! Calls of `systemctl`.

use std::io::ErrorKind;
use std::process::{Command, Stdio};

use super::Error;

/// Runs `systemctl`, and returns its output.
///
/// # Errors
/// Fails if `systemctl` fails. The error has the text of `systemctl`.
pub(super) fn run(arguments: &[&str]) -> Result<String, Error> {
    let output = Command::new("systemctl")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::Usage(
                "cannot use targets: systemctl is not installed on this machine".to_owned(),
            ),
            _ => Error::System(error),
        })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    Err(Error::Systemctl {
        line: arguments.join(" "),
        reason: reason.trim().to_owned(),
    })
}
