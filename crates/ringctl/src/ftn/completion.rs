//! Names of tokens, for a shell that completes one.

use std::sync::mpsc;
use std::time::Duration;
use std::{env, fs, thread};

use clap_complete::CompletionCandidate;
use ring_client::token::WaitLimits;

use super::super::completion::given;
use super::super::nodes::SERVERS;
use super::super::values::client_timeout;
use super::client::{CLIENT_TIMEOUT, Client, Outcome, SERVERS_VARIABLE, ServerList};
use super::list::ask;

/// How long a session may take.
const SESSION: Duration = Duration::from_secs(1);
/// Maximum time between two pages. Without what a silent server has the names are of use still.
const SILENCE: Duration = Duration::from_millis(500);
/// How long all of it may take, names of servers that nobody resolves included: somebody waits at a prompt.
const PATIENCE: Duration = Duration::from_secs(2);

/// The tokens of the servers that `ringctl token` would ask. None if they do not answer in time: a shell has no place
/// for an error.
pub(super) fn names() -> Vec<CompletionCandidate> {
    let (done, answer) = mpsc::channel();
    // The process ends once the shell has its answer, and with it what waits still.
    thread::spawn(move || done.send(listed()));
    answer
        .recv_timeout(PATIENCE)
        .ok()
        .flatten()
        .unwrap_or_default()
}

fn listed() -> Option<Vec<CompletionCandidate>> {
    let named = given("--servers").or_else(|| env::var_os(SERVERS_VARIABLE));
    let list = named.unwrap_or_else(|| SERVERS.into());
    // Anything else can be read but once: that is for the command.
    if !fs::metadata(&list).ok()?.is_file() {
        return None;
    }
    let servers = ServerList::read(list.as_ref()).ok()?;
    let timeout = match given("--client-timeout") {
        Some(given) => client_timeout(given.to_str()?).ok()?,
        None => client_timeout(CLIENT_TIMEOUT).ok()?,
    };
    let client = Client { servers, timeout };
    let patience = WaitLimits::limited(SESSION).session();
    match client.with_session("", |session| ask(session, patience, SILENCE)) {
        Ok(Outcome::Done(all)) => Some(all.names().filter_map(candidate).collect()),
        Ok(Outcome::Stopped(_)) | Err(_) => None,
    }
}

/// A name as it is typed; none of a name that no line of a shell can hold.
fn candidate(name: &[u8]) -> Option<CompletionCandidate> {
    let name = str::from_utf8(name).ok()?;
    (!name.contains(char::is_control)).then(|| CompletionCandidate::new(name))
}

#[cfg(test)]
mod tests {
    use super::candidate;

    #[test]
    fn what_a_line_cannot_hold_is_no_candidate() {
        assert!(candidate(b"build/cache 1").is_some());
        assert!(candidate("Zürich".as_bytes()).is_some());
        for name in [&b"two\nlines"[..], b"\x1b[31m", b"\xff"] {
            assert!(candidate(name).is_none(), "{name:?}");
        }
    }
}
