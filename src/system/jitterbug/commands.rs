//! Checks that the commands of `--compute` and `--decide` exist, before a node starts.

use std::process::{Command, Stdio};

/// Checks the commands. If the shell must expand the first word of a command line, accepts the line without a check.
///
/// # Errors
/// If a command is missing, returns a text with the option, the missing command, and a remedy.
pub(super) fn check(compute: Option<&str>, decide: &str) -> Result<(), String> {
    if let Some(word) = compute.and_then(missing) {
        return Err(format!(
            "cannot use --compute {word}: there is no such command; give the path of a program, or omit --compute \
             to run the built-in counter"
        ));
    }
    let is_built_in = matches!(decide, "greater" | "longer");
    if let Some(word) = missing(decide).filter(|_| !is_built_in) {
        return Err(format!(
            "cannot use --decide {word}: there is no such command; give greater, longer or the path of a program"
        ));
    }
    Ok(())
}

/// If the first word of a line is a plain word and the shell finds no such command, returns the word.
fn missing(line: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./+:@%,".contains(c);
    let word = line.split_whitespace().next()?;
    if !word.chars().all(is_plain) {
        return None;
    }
    let found = Command::new("/bin/sh")
        .args(["-c", "command -v -- \"$1\"", "sh", word])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // If there is no shell, this check is skipped: each run will fail and log the failure.
    found.is_ok_and(|status| !status.success()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_missing_command_is_named_with_what_to_give() {
        let error = check(None, "biggest").unwrap_err();
        assert!(
            error.contains("--decide biggest") && error.contains("greater, longer"),
            "{error}"
        );
        let error = check(Some("/nowhere/else --fast"), "greater").unwrap_err();
        assert!(error.contains("--compute /nowhere/else"), "{error}");
    }

    #[test]
    fn built_in_functions_existing_commands_and_shell_syntax_are_accepted() {
        for (compute, decide) in [
            (None, "greater"),
            (Some("cat"), "longer"),
            (Some("read n; echo $n"), r#"[ "$(cat "$1")" -gt 1 ]"#),
            (Some("X=1 cat"), "test 1 = 1"),
            (Some("if true; then cat; fi"), "exit 2"),
            (Some("'/nowhere/with space'"), "$RINGD_DECIDE"),
        ] {
            assert_eq!(check(compute, decide), Ok(()), "{compute:?} {decide}");
        }
    }
}
