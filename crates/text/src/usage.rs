//! Parses the valid part of a wrong command line. Error messages use this part to show the usage of the right
//! subcommand.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Command, Error};

/// The valid part of a wrong command line.
pub struct PartialParse {
    /// The innermost subcommand.
    pub command: Command,
    /// The subcommand's arguments.
    pub read: ArgMatches,
}

impl PartialParse {
    /// Parses a command line and skips its wrong words. `given` begins with the program's name. Returns `None` if all
    /// words are wrong.
    pub fn of(command: Command, given: &[OsString]) -> Option<Self> {
        let mut command = command.ignore_errors(true);
        let mut read = command.try_get_matches_from_mut(given).ok()?;
        while let Some((name, inner)) = read.remove_subcommand() {
            command = command.find_subcommand(&name)?.clone();
            read = inner;
        }
        Some(Self { command, read })
    }

    /// Returns the command with its subcommands, as users type it.
    pub fn name(&self) -> &str {
        self.command.get_bin_name().unwrap_or_default()
    }

    /// Returns an error of the same kind as `error`. The new error has the text `text`, and shows the usage of this
    /// command.
    pub fn error(mut self, error: &Error, text: String) -> Error {
        self.command.error(error.kind(), text)
    }
}

/// Returns the texts that a clap error contains for this kind of context.
pub fn context_texts(error: &Error, kind: ContextKind) -> &[String] {
    match error.get(kind) {
        Some(ContextValue::String(text)) => std::slice::from_ref(text),
        Some(ContextValue::Strings(texts)) => texts,
        _ => &[],
    }
}
