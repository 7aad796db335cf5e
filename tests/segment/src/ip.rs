//! Network configuration with iproute2's `ip`.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs lines of `ip` arguments in the calling thread's network namespace.
pub(crate) fn batch(lines: &str) -> Result<()> {
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot run `ip`: install iproute2")?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin
            .write_all(lines.as_bytes())
            .context("cannot write to `ip`")?;
    }
    let output = child.wait_with_output().context("cannot wait for `ip`")?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        bail!("`ip` refused ({}):\n{lines}", why.trim());
    }
    Ok(())
}

/// Returns the output of `ip` with these arguments in the calling thread's network namespace.
pub(crate) fn query(arguments: &[&str]) -> Result<String> {
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .context("cannot run `ip`: install iproute2")?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        bail!("`ip {}` failed: {}", arguments.join(" "), why.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
