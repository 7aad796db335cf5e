//! The command line of `ring-board`: a node, and the command for its password file.

use std::env;
use std::ffi::OsString;

use clap::{Command, CommandFactory};
use ring_config::{CommandLine, Configured, Failure, Section};

use crate::options::Options;

/// The section of the configuration file for the node of this machine.
const SECTION: Section = Section {
    name: "board",
    selector: None,
    // In a file, this option would empty the ring at each start.
    actions: &["drop"],
    command,
};

/// The command that makes the line of a password file.
const PASSWORD: &str = "password";

/// Declares all options and the command.
pub fn command() -> Command {
    let password = Command::new(PASSWORD)
        .about("Make the line of a password file")
        .long_about(
            "Make the line of a password file\n\nReads a password from the terminal, or one line from standard input. \
             The password must have at least 15 characters. Prints the Argon2 hash of the password.",
        );
    Options::command()
        .subcommand(password)
        .subcommand_negates_reqs(true)
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
}

/// The parsed command line, completed by the configuration file.
#[derive(Debug)]
pub enum Invocation {
    /// Runs a node.
    Node(Box<Configured<Options>>),
    /// Makes the line of a password file.
    Password,
}

impl Invocation {
    /// Parses the command line of this process, and reads the configuration file.
    ///
    /// # Errors
    /// Fails if the command line is wrong or requests help, or if the file cannot be used.
    pub fn parse() -> Result<Self, Failure> {
        Self::of(env::args_os().collect())
    }

    fn of(words: Vec<OsString>) -> Result<Self, Failure> {
        if words.get(1).is_some_and(|word| word == PASSWORD) {
            let read = command().try_get_matches_from(words);
            return match read {
                Ok(_) => Ok(Self::Password),
                Err(error) => Err(Failure::CommandLine(Box::new(error))),
            };
        }
        let line = CommandLine::new(command, SECTION, words, false);
        line.configure()
            .map(|configured| Self::Node(Box::new(configured)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Invocation, command};

    #[test]
    fn the_declaration_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn the_command_needs_no_options_and_takes_none() {
        let read = |words: &[&str]| Invocation::of(words.iter().map(Into::into).collect());
        assert!(matches!(
            read(&["ring-board", "password"]),
            Ok(Invocation::Password)
        ));
        for wrong in [
            &["ring-board", "password", "secret"][..],
            &["ring-board", "password", "-i", "1"],
            &["ring-board", "-i", "1", "password"],
            &["ring-board"],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
