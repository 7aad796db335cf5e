//! Programs that print the configuration of the kernel as JSON.

use std::env;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Runs a program. Returns its JSON, or its error as text. Returns `None` if the program does not exist.
pub(super) fn run(program: &str, arguments: &[&str]) -> Option<Result<Value, String>> {
    let output = match run_for_text(program, arguments)? {
        Ok(output) => output,
        Err(error) => return Some(Err(error)),
    };
    // Without objects, `tc` prints nothing.
    if output.trim().is_empty() {
        return Some(Ok(Value::Array(Vec::new())));
    }
    Some(serde_json::from_str(&output).map_err(|error| error.to_string()))
}

/// Runs a program. Returns its output, or its error as text. Returns `None` if the program does not exist.
pub(super) fn run_for_text(program: &str, arguments: &[&str]) -> Option<Result<String, String>> {
    // The search path of a user often lacks these directories.
    let path = env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let output = Command::new(program)
        .args(arguments)
        .env("PATH", path)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stderr)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned())
    })
}
