//! Completion of names of tokens.

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;
use std::{env, fs, thread};

use clap_complete::CompletionCandidate;
use ring_client::token::WaitLimits;

use super::super::completion::value_on_command_line;
use super::super::nodes::SERVERS;
use super::super::values::parse_client_timeout;
use super::client::{CLIENT_TIMEOUT, Outcome, SERVERS_VARIABLE, ServerList, ServiceClient};
use super::key_file::{KEY_FILE_VARIABLE, KeyFile};
use super::list::fetch_all;

/// Maximum time until the session is live.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum time between two pages. After this time, the names from the servers that answered are offered.
const PAGE_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum time for the whole completion, including the resolution of names. The time is short, because a person waits
/// at a prompt.
const COMPLETION_TIMEOUT: Duration = Duration::from_secs(2);

/// Returns the tokens of the servers that `ringctl token` would ask. If the servers do not answer in time, returns an
/// empty list, because a shell would not show an error.
pub(super) fn token_candidates() -> Vec<CompletionCandidate> {
    let (done, answer) = mpsc::channel();
    // The thread may still wait when the shell has its answer. It ends with the process.
    thread::spawn(move || done.send(list_candidates()));
    answer
        .recv_timeout(COMPLETION_TIMEOUT)
        .ok()
        .flatten()
        .unwrap_or_default()
}

fn list_candidates() -> Option<Vec<CompletionCandidate>> {
    let named = value_on_command_line("--servers").or_else(|| env::var_os(SERVERS_VARIABLE));
    let list = named.unwrap_or_else(|| SERVERS.into());
    // Do not read a pipe: it can be read only once, and the command that the user is typing needs its contents.
    if !fs::metadata(&list).ok()?.is_file() {
        return None;
    }
    let servers = ServerList::read(list.as_ref()).ok()?;
    let timeout = match value_on_command_line("--client-timeout") {
        Some(given) => parse_client_timeout(given.to_str()?).ok()?,
        None => parse_client_timeout(CLIENT_TIMEOUT).ok()?,
    };
    let key_file = value_on_command_line("--key-file").or_else(|| env::var_os(KEY_FILE_VARIABLE));
    let keys = KeyFile::read(key_file.map(PathBuf::from).as_deref()).ok()?;
    let client = ServiceClient {
        servers,
        timeout,
        keys,
    };
    let login_timeout = WaitLimits::limited(LOGIN_TIMEOUT).session();
    match client.with_session("", |session| {
        fetch_all(session, login_timeout, PAGE_TIMEOUT)
    }) {
        Ok(Outcome::Done(all)) => Some(all.names().filter_map(candidate).collect()),
        Ok(Outcome::Stopped(_)) | Err(_) => None,
    }
}

/// Returns a candidate for a name; `None` if the name cannot occur in a command line.
fn candidate(name: &[u8]) -> Option<CompletionCandidate> {
    let name = str::from_utf8(name).ok()?;
    (!name.contains(char::is_control)).then(|| CompletionCandidate::new(name))
}

#[cfg(test)]
mod tests {
    use super::candidate;

    #[test]
    fn a_name_with_control_characters_is_no_candidate() {
        assert!(candidate(b"build/cache 1").is_some());
        assert!(candidate("Zürich".as_bytes()).is_some());
        for name in [&b"two\nlines"[..], b"\x1b[31m", b"\xff"] {
            assert!(candidate(name).is_none(), "{name:?}");
        }
    }
}
