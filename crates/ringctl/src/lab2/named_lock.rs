//! Options of named locks, their requests and their errors.

use std::env;

use clap::Args;
use clap_complete::ArgValueCandidates;
use ring_control::Grant;
use ring_control::RawJson;
use ring_control::lab2::{LockRequest, NamedLockRequest, RingRequest};
use ring_proto::lab2::LockName;

use super::super::Error;
use super::super::fence::TOKEN_VARIABLE;
use super::completion::lock_candidates;
use super::requests::{lock_request_json, request_json};

/// The environment variable of programs that run under named locks: one `NAME=TOKEN` for each lock, separated by
/// spaces.
const LOCKS_VARIABLE: &str = "RINGD_LOCKS";
/// Parts of the error texts of daemons that do not know the requests for named locks.
const UNKNOWN_TEXTS: [&str; 2] = ["unknown variant `named_lock`", "unknown variant `locks`"];

/// Options that choose a lock.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct NameOptions {
    /// Hold the lock NAME instead of the token.
    ///
    /// Each name is a separate lock: 1 to 64 printable ASCII characters without blanks. Programs can hold locks with
    /// different names at the same time, on different machines, and while another program holds the token.
    #[arg(
        long,
        value_name = "NAME",
        value_parser = parse_lock_name,
        add = ArgValueCandidates::new(lock_candidates)
    )]
    pub name: Option<LockName>,

    /// Share the lock with other programs that share it.
    #[arg(long, requires = "name")]
    pub shared: bool,
}

impl NameOptions {
    /// Returns the text of the chosen lock, as in "waiting for the token".
    pub(super) fn lock_text(&self) -> String {
        match self.name {
            Some(name) => format!("the lock {name}"),
            None => "the token".to_owned(),
        }
    }

    /// Returns the request for the chosen lock.
    pub(super) fn request_json(&self, lock: LockRequest) -> RawJson {
        let Some(name) = self.name else {
            return lock_request_json(lock);
        };
        let under = caller_token(name).or(lock.under);
        request_json(RingRequest::NamedLock(NamedLockRequest {
            name: name.to_string(),
            shared: self.shared,
            lock: LockRequest { under, ..lock },
        }))
    }

    /// Changes the text of an error about the chosen lock, so that it names the lock.
    pub(super) fn name_error(&self, error: Error) -> Error {
        let Some(name) = self.name.map(|name| name.to_string()) else {
            return error;
        };
        match error {
            Error::Lost(text) => Error::NamedLost { name, text },
            Error::Outlived(text) => Error::NamedOutlived { name, text },
            other => explain_unknown(other),
        }
    }

    /// Returns the environment variables that describe a named lock to the command. A lock on the token has more
    /// variables.
    pub(super) fn environment(name: LockName, grant: &Grant) -> Vec<(&'static str, String)> {
        let held = env::var(LOCKS_VARIABLE).unwrap_or_default();
        let entry = format!("{name}={}", grant.fencing);
        let held = held.split_whitespace().chain([entry.as_str()]);
        let progress = grant.fencing.split('-').next().unwrap_or_default();
        vec![
            (TOKEN_VARIABLE, grant.fencing.clone()),
            (LOCKS_VARIABLE, held.collect::<Vec<_>>().join(" ")),
            ("RINGD_PROGRESS", progress.to_owned()),
            ("RINGD_GRADE", grant.grade.clone().unwrap_or_default()),
        ]
    }
}

/// Explains the error of a daemon that has no named locks.
pub(super) fn explain_unknown(error: Error) -> Error {
    match error {
        Error::Refused(text) if UNKNOWN_TEXTS.iter().any(|it| text.contains(it)) => Error::Refused(
            "this ringd has no named locks; install the same version of ringd and ringctl on all machines, and restart \
             ringd"
                .to_owned(),
        ),
        other => other,
    }
}

/// If this program runs under a lock with this name, returns the fencing token of the lock.
pub(crate) fn caller_token(name: LockName) -> Option<String> {
    let held = env::var(LOCKS_VARIABLE).unwrap_or_default();
    held_token(&held, name).map(str::to_owned)
}

/// Returns the fencing token of the innermost lock with this name.
fn held_token(held: &str, name: LockName) -> Option<&str> {
    let name = name.to_string();
    let entries = held.split_whitespace().rev();
    let mut entries = entries.filter_map(|entry| entry.rsplit_once('='));
    entries
        .find(|(held, _)| *held == name)
        .map(|(_, token)| token)
}

pub(crate) fn parse_lock_name(text: &str) -> Result<LockName, String> {
    let wrong = "not a lock's name: give 1 to 64 printable ASCII characters without blanks";
    LockName::new(text).ok_or_else(|| wrong.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Error, explain_unknown, held_token, parse_lock_name};

    #[test]
    fn a_name_has_1_to_64_printable_characters_without_blanks() {
        let longest = "x".repeat(64);
        for name in ["backup", "a=b", "/srv/index:7", longest.as_str()] {
            let parsed = parse_lock_name(name).expect(name);
            assert_eq!(parsed.to_string(), name);
        }
        let too_long = "x".repeat(65);
        for wrong in ["", "two words", "tab\t", "Zürich", too_long.as_str()] {
            let error = parse_lock_name(wrong).expect_err(wrong);
            assert!(error.contains("1 to 64 printable"), "{error}");
        }
    }

    #[test]
    fn the_innermost_lock_of_a_name_is_found() {
        let held = "a=1-x-1 a=b=2-x-2 a=3-x-3";
        for (name, token) in [("a", Some("3-x-3")), ("a=b", Some("2-x-2")), ("b", None)] {
            let name = parse_lock_name(name).expect("a name");
            assert_eq!(held_token(held, name), token);
        }
    }

    #[test]
    fn the_error_of_an_old_daemon_names_the_remedy() {
        let old = "unknown message: unknown variant `named_lock`, expected one of `once`";
        let error = explain_unknown(Error::Refused(old.to_owned()));
        assert!(error.to_string().contains("same version"), "{error}");
        let other = explain_unknown(Error::Refused("no".to_owned()));
        assert_eq!(other.to_string(), "ringd refuses: no");
    }
}
