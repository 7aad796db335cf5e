//! Programs that print the configuration of the kernel as JSON.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use thiserror::Error;

/// Longest time that a program may run.
const RUN_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum length of the output of a program. The output of `nft` is the longest: about 500 bytes per rule.
const OUTPUT_MAX: u64 = 32 << 20;
/// After a program has closed its output, `ringctl` checks at this interval whether it has ended.
const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Directories with system programs. The search path of a user often lacks some of them.
const SYSTEM_DIRECTORIES: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The reason why a run of a program has no result.
#[derive(Debug, PartialEq, Eq, Error)]
pub(super) enum RunError {
    /// The program reported an error, or its output cannot be read.
    #[error("{0}")]
    Failed(String),
    #[error("it did not end within {} s", RUN_TIMEOUT.as_secs())]
    TimedOut,
    #[error("its output is longer than {} MiB", OUTPUT_MAX >> 20)]
    TooLong,
}

/// Runs a program. Returns its JSON, or its error. Returns `None` if the program does not exist.
pub(super) fn run(program: &str, arguments: &[&str]) -> Option<Result<Value, RunError>> {
    let output = match run_for_text(program, arguments)? {
        Ok(output) => output,
        Err(error) => return Some(Err(error)),
    };
    // If there are no objects, the output of `tc` is empty.
    if output.trim().is_empty() {
        return Some(Ok(Value::Array(Vec::new())));
    }
    Some(serde_json::from_str(&output).map_err(|error| RunError::Failed(error.to_string())))
}

/// Runs a program. Returns its output, or its error. Returns `None` if the program does not exist.
pub(super) fn run_for_text(program: &str, arguments: &[&str]) -> Option<Result<String, RunError>> {
    let mut child = Command::new(program)
        .args(arguments)
        .env(
            "PATH",
            search_path(&env::var_os("PATH").unwrap_or_default()),
        )
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let result = result_before(&mut child, Instant::now() + RUN_TIMEOUT);
    // If the program has ended, the first call fails without harm, and the second call returns at once.
    let _ = child.kill();
    let _ = child.wait();
    Some(result)
}

/// Returns the directories for the search of a program. Omits relative directories, because they depend on the current
/// directory, in which another user may have put a program.
fn search_path(path: &OsStr) -> OsString {
    let own = env::split_paths(path).filter(|directory| directory.is_absolute());
    let joined = env::join_paths(own.chain(SYSTEM_DIRECTORIES.map(PathBuf::from)));
    joined.expect("no part of a split path has a colon")
}

fn result_before(child: &mut Child, deadline: Instant) -> Result<String, RunError> {
    let output = child.stdout.take().map(read_in_thread);
    let errors = child.stderr.take().map(read_in_thread);
    let text = |reader: Option<Receiver<Option<String>>>| {
        let left = deadline.saturating_duration_since(Instant::now());
        let text = reader.map_or(Ok(None), |reader| reader.recv_timeout(left));
        text.map_err(|_| RunError::TimedOut)?
            .ok_or(RunError::TooLong)
    };
    let output = text(output)?;
    let errors = text(errors)?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(output),
            Ok(Some(_)) => {
                let line = errors.lines().next().unwrap_or_default();
                return Err(RunError::Failed(line.to_owned()));
            }
            Err(error) => return Err(RunError::Failed(error.to_string())),
            Ok(None) if Instant::now() >= deadline => return Err(RunError::TimedOut),
            Ok(None) => thread::sleep(EXIT_POLL_INTERVAL),
        }
    }
}

/// Reads a pipe until its end. The result is `None` if the text is too long.
fn read_in_thread(pipe: impl Read + Send + 'static) -> Receiver<Option<String>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.take(OUTPUT_MAX + 1).read_to_end(&mut bytes);
        let is_whole = read.is_ok() && bytes.len() as u64 <= OUTPUT_MAX;
        let text = is_whole.then(|| String::from_utf8_lossy(&bytes).into_owned());
        // After the deadline, no receiver exists.
        let _ = sender.send(text);
    });
    receiver
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::time::{Duration, Instant};

    use super::{Child, Command, RunError, Stdio, result_before, run_for_text, search_path};

    fn shell(script: &str) -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("a shell")
    }

    #[test]
    fn a_program_has_limits() {
        let soon = || Instant::now() + Duration::from_millis(300);
        for script in ["exec sleep 60", "exec >&- 2>&-; exec sleep 60"] {
            let mut child = shell(script);
            let found = result_before(&mut child, soon());
            child.kill().expect("it runs");
            child.wait().expect("it has ended");
            assert_eq!(found, Err(RunError::TimedOut), "{script}");
        }
        let found = run_for_text("head", &["-c", "40000000", "/dev/zero"]);
        assert_eq!(found, Some(Err(RunError::TooLong)));
    }

    #[test]
    fn a_program_has_an_output_or_an_error() {
        let found = run_for_text("sh", &["-c", "echo a; echo b >&2"]);
        assert_eq!(found, Some(Ok("a\n".to_owned())));
        let found = run_for_text("sh", &["-c", "echo a; echo b >&2; exit 3"]);
        assert_eq!(found, Some(Err(RunError::Failed("b".to_owned()))));
        assert_eq!(run_for_text("a-program-that-does-not-exist", &[]), None);
    }

    #[test]
    fn no_program_of_the_current_directory_is_run() {
        let system = "/usr/sbin:/usr/bin:/sbin:/bin";
        for (path, expected) in [
            ("", system.to_owned()),
            (":", system.to_owned()),
            ("/opt/a::.:b:/opt/c:", format!("/opt/a:/opt/c:{system}")),
        ] {
            assert_eq!(
                search_path(OsStr::new(path)),
                OsStr::new(&expected),
                "{path}"
            );
        }
    }
}
