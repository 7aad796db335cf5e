//! Completion of names of locks.

use std::path::{self, Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap_complete::CompletionCandidate;
use nix::unistd::getpgrp;
use ring_control::lab2::NamedLockStatus;
use ring_control::{CONTROL_DIR, NodeName};

use super::super::completion::value_on_command_line;
use super::super::discover;
use super::super::keeper::connect_keeper;
use super::lock::lock_id;
use super::locks::fetch_locks;
use super::named_lock::parse_lock_name;

/// Maximum time for the completion: a person waits at a prompt.
const COMPLETION_TIMEOUT: Duration = Duration::from_secs(1);
/// The characters that a completed name may contain, in addition to letters and digits. Other characters have a meaning
/// for shells. Any machine of the ring can choose a name, and a completed name must not run a command.
const PLAIN_CHARACTERS: &str = "%+,-./:=@^_";

/// Returns the names of the ring's locks.
pub(crate) fn lock_candidates() -> Vec<CompletionCandidate> {
    complete(|_, _| true)
}

/// Returns the names of the locks that `ringctl unlock` can release.
pub(super) fn held_lock_candidates() -> Vec<CompletionCandidate> {
    complete(|socket, lock| lock.is_here && lock.held && is_bound(caller(), socket, &lock.name))
}

/// Returns the names of the locks that `is_wanted` accepts. If the daemon does not answer in time, returns an empty
/// list, because a shell would not show an error.
fn complete(is_wanted: fn(&Path, &NamedLockStatus) -> bool) -> Vec<CompletionCandidate> {
    let (done, answer) = mpsc::channel();
    // The thread may still wait when the shell has its answer. It ends with the process.
    thread::spawn(move || done.send(names(is_wanted)));
    let names = answer.recv_timeout(COMPLETION_TIMEOUT).ok().flatten();
    let names = names.unwrap_or_default().into_iter();
    names.map(CompletionCandidate::new).collect()
}

fn names(is_wanted: fn(&Path, &NamedLockStatus) -> bool) -> Option<Vec<String>> {
    let socket = path::absolute(socket()?).ok()?;
    let mut locks = fetch_locks(&socket).ok()?;
    locks.retain(|lock| is_plain(&lock.name) && is_wanted(&socket, lock));
    let mut names: Vec<String> = locks.into_iter().map(|lock| lock.name).collect();
    names.dedup();
    Some(names)
}

fn socket() -> Option<PathBuf> {
    if let Some(path) = value_on_command_line("--socket") {
        return Some(path.into());
    }
    let base = Path::new(CONTROL_DIR);
    let node = value_on_command_line("--interface").or_else(|| value_on_command_line("-i"));
    match node {
        Some(node) => Some(discover::socket_path(base, &NodeName::new(node.to_str()?))),
        None => discover::only_socket(base, |system| system.is_none()).ok(),
    }
}

fn is_plain(name: &str) -> bool {
    name.chars()
        .all(|it| it.is_ascii_alphanumeric() || PLAIN_CHARACTERS.contains(it))
}

/// Whether a keeper holds the lock with this name for a process.
fn is_bound(pid: i32, socket: &Path, name: &str) -> bool {
    parse_lock_name(name).is_ok_and(|name| {
        let keeper = connect_keeper(pid, &lock_id(socket, Some(name)));
        keeper.is_ok_and(|keeper| keeper.is_some())
    })
}

/// Returns the process of `--pid`. Without `--pid`, returns the interactive shell that requests the completion. This
/// shell is the leader of the process group of this process, even if a subshell started this process.
fn caller() -> i32 {
    let given = value_on_command_line("--pid").and_then(|pid| pid.to_str()?.parse().ok());
    given.unwrap_or_else(|| getpgrp().as_raw())
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn a_name_that_a_shell_would_interpret_is_no_candidate() {
        for name in ["backup", "db/primary", "a=b:7", "x@y,z"] {
            assert!(is_plain(name), "{name}");
        }
        for name in [
            "$(reboot)",
            "a;b",
            "`a`",
            "a'b",
            "a|b",
            "a&",
            "*",
            "~root",
            "!1",
            "a\\b",
        ] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
