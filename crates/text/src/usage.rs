//! Command lines that are wrong: the parts that were understood, for an error that says what to type instead.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Command, Error};

/// The understood part of a wrong command line.
pub struct Understood {
    /// The innermost sub-command that was chosen.
    pub command: Command,
    /// Its arguments.
    pub read: ArgMatches,
}

impl Understood {
    /// Reads the words of a command line, the program's name first, and skips the wrong ones; `None`: all are.
    pub fn of(command: Command, given: &[OsString]) -> Option<Self> {
        let mut command = command.ignore_errors(true);
        let mut read = command.try_get_matches_from_mut(given).ok()?;
        while let Some((name, inner)) = read.remove_subcommand() {
            command = command.find_subcommand(&name)?.clone();
            read = inner;
        }
        Some(Self { command, read })
    }

    /// Returns the command as a user types it.
    pub fn name(&self) -> &str {
        self.command.get_bin_name().unwrap_or_default()
    }

    /// Returns an error with another text, and the usage of the command.
    pub fn error(mut self, error: &Error, text: String) -> Error {
        self.command.error(error.kind(), text)
    }
}

/// Returns the texts of a part of an error.
pub fn texts(error: &Error, kind: ContextKind) -> &[String] {
    match error.get(kind) {
        Some(ContextValue::String(text)) => std::slice::from_ref(text),
        Some(ContextValue::Strings(texts)) => texts,
        _ => &[],
    }
}
