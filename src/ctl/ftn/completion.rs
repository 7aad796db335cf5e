//! Names of tokens, for a shell that completes one.

use std::time::Duration;

use clap_complete::CompletionCandidate;

use super::super::completion::given;
use super::list::ask;
use super::options::{CLIENT_TIMEOUT, client_timeout};
use super::{Client, Outcome, ServerList};
use crate::token::Patience;

/// How long a session may take: somebody waits at a prompt.
const PATIENCE: Duration = Duration::from_secs(1);

/// The tokens of the servers that the command line names. None if they do not answer: a shell has no place for an
/// error.
pub(super) fn names() -> Vec<CompletionCandidate> {
    let Some(servers) = given("--servers") else {
        return Vec::new();
    };
    let timeout = given("--client-timeout");
    let timeout = timeout
        .as_ref()
        .map_or(Some(CLIENT_TIMEOUT), |given| given.to_str());
    let Some((servers, timeout)) = ServerList::read(servers.as_ref())
        .ok()
        .zip(timeout.and_then(|timeout| client_timeout(timeout).ok()))
    else {
        return Vec::new();
    };
    let client = Client { servers, timeout };
    let patience = Patience::limited(PATIENCE).session();
    match client.with_session(|session| ask(session, patience)) {
        Ok(Outcome::Done(all)) => all.names().filter_map(candidate).collect(),
        Ok(Outcome::Stopped(_)) | Err(_) => Vec::new(),
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
