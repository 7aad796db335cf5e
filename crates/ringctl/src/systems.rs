//! The commands of each system that `ringctl` knows.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use ring_control::jitterbug::SYSTEM as JITTERBUG;

use super::Error;
use super::ftn::{self, TokenOptions};
use super::lab2::{self, RingCommand};
use super::nodes::can_be;

/// What can be done with nodes of one system only.
#[derive(Debug, Clone, Subcommand)]
pub enum SystemCommand {
    /// Of a Lab2 ring.
    #[command(flatten)]
    Ring(RingCommand),
    /// Hold tokens of the FTN token service, and get and set their data.
    Token(TokenOptions),
    /// What a keeper starts to hold a token for it.
    #[command(hide = true)]
    GrantToken,
}

impl SystemCommand {
    /// Carries it out at the node of a socket, if it needs one, prints to `output`, and returns the process's exit code.
    ///
    /// # Errors
    /// An [`Error`], or that `output` takes nothing.
    pub(super) fn carry_out(
        &self,
        socket: Result<PathBuf, Error>,
        quiet: bool,
        output: &mut impl Write,
    ) -> anyhow::Result<u8> {
        match self {
            Self::Ring(command) => lab2::carry_out(command, &socket?, quiet, output),
            Self::Token(token) => ftn::carry_out(token, output),
            Self::GrantToken => {
                ftn::grant()?;
                Ok(0)
            }
        }
    }
}

impl SystemCommand {
    /// Whether nodes of a system can do it; `None` is Lab2.
    pub(super) fn is_served_by(&self, system: Option<&str>) -> bool {
        match (self, system) {
            (Self::Ring(RingCommand::Wait { target, .. }), system) => {
                can_be(system, &target.name())
            }
            (Self::Ring(_), None) => true,
            (Self::Ring(command), Some(JITTERBUG)) => !command.is_for_rings_only(),
            (Self::Ring(_), Some(_)) | (Self::Token(_) | Self::GrantToken, _) => false,
        }
    }

    /// Returns a text in which each MAC address has the name of its machine behind it, as far as the node at `socket` knows
    /// the machines.
    pub(super) fn named(&self, socket: &Path, text: String) -> String {
        match self {
            Self::Ring(_) => lab2::named_by(socket, text),
            Self::Token(_) | Self::GrantToken => text,
        }
    }

    /// Whether the process that has called `ringctl` matters.
    pub(super) const fn is_for_its_caller(&self) -> bool {
        match self {
            Self::Ring(command) => command.is_for_its_caller(),
            Self::Token(_) | Self::GrantToken => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::Options;
    use crate::nodes::start_serving;

    #[test]
    fn a_command_goes_to_the_systems_that_can_do_it() {
        let served = |words: &str| -> Vec<&str> {
            let given = ["ringctl"].into_iter().chain(words.split(' '));
            let command = Options::try_parse_from(given).expect("it is right").command;
            let systems = [None, Some("jitterbug"), Some("ftn"), Some("board")];
            let serving = systems.into_iter().filter(|it| command.is_served_by(*it));
            serving.map(|system| system.unwrap_or("lab2")).collect()
        };
        for (words, systems) in [
            ("status", &["lab2", "jitterbug", "ftn", "board"][..]),
            ("watch", &["lab2", "jitterbug", "ftn", "board"]),
            ("run true", &["lab2", "jitterbug"]),
            ("lock", &["lab2", "jitterbug"]),
            ("unlock", &["lab2", "jitterbug"]),
            ("yield", &["lab2", "jitterbug"]),
            ("yield node3", &["lab2"]),
            ("data get", &["lab2", "jitterbug"]),
            ("data set x", &["lab2"]),
            ("once nightly --every 20h true", &["lab2"]),
            ("pause", &["lab2"]),
            ("resume", &["lab2"]),
            ("forget node3", &["lab2"]),
            ("wait OWNER", &["lab2"]),
            ("wait waiter", &["lab2", "jitterbug"]),
            ("wait leader", &["jitterbug"]),
        ] {
            assert_eq!(served(words), systems, "{words}");
        }
    }

    #[test]
    fn a_machine_on_which_no_node_can_do_it_is_told_what_to_start() {
        for (words, start) in [
            ("yield node3", "sudo ringd IFACE"),
            ("wait leader", "sudo ringd jitterbug IFACE"),
        ] {
            let given = ["ringctl"].into_iter().chain(words.split(' '));
            let command = Options::try_parse_from(given).expect("it is right").command;
            assert_eq!(start_serving(|it| command.is_served_by(it)), start);
        }
    }
}
