//! The valid part of a wrong command line, for an error that says what to type instead.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Command, Error};

/// The parsed part of a wrong command line.
pub struct PartialParse {
    /// The innermost subcommand.
    pub command: Command,
    /// The subcommand's arguments.
    pub read: ArgMatches,
}

impl PartialParse {
    /// Parses a command line, including the program's name, and skips wrong words; `None` if all are wrong.
    pub fn of(command: Command, given: &[OsString]) -> Option<Self> {
        let mut command = command.ignore_errors(true);
        let mut read = command.try_get_matches_from_mut(given).ok()?;
        while let Some((name, inner)) = read.remove_subcommand() {
            command = command.find_subcommand(&name)?.clone();
            read = inner;
        }
        Some(Self { command, read })
    }

    /// Returns the command as users type it.
    pub fn name(&self) -> &str {
        self.command.get_bin_name().unwrap_or_default()
    }

    /// Returns the error with another text and the command's usage.
    pub fn error(mut self, error: &Error, text: String) -> Error {
        self.command.error(error.kind(), text)
    }
}

/// Returns the texts of a part of an error.
pub fn context_texts(error: &Error, kind: ContextKind) -> &[String] {
    match error.get(kind) {
        Some(ContextValue::String(text)) => std::slice::from_ref(text),
        Some(ContextValue::Strings(texts)) => texts,
        _ => &[],
    }
}
