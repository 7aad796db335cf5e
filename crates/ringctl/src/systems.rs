//! The commands of each system that `ringctl` knows.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use ring_control::jitterbug::SYSTEM as JITTERBUG;
use ring_control::{NodeName, Right};

use super::Error;
use super::doctor::{self, DoctorOptions};
use super::ftn::{self, TokenOptions};
use super::lab2::{self, RingCommand};
use super::nodes::has_waitable_state;

/// A command that is specific to one system.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum SystemCommand {
    /// A command for a node of a ring.
    #[command(flatten)]
    Ring(RingCommand),
    /// Find the problems of a node and of this machine.
    Doctor(DoctorOptions),
    /// Hold tokens of the token service; get and set their data.
    Token(TokenOptions),
    /// Run the granter process, which a keeper starts.
    #[command(hide = true)]
    GrantToken,
}

impl SystemCommand {
    /// Executes the command. If the command needs a node, uses the node whose control socket is `socket`. Prints to
    /// `output` and returns the exit code.
    pub(super) fn execute(
        &self,
        socket: Result<PathBuf, Error>,
        quiet: bool,
        output: &mut impl Write,
    ) -> anyhow::Result<u8> {
        match self {
            Self::Ring(command) => lab2::execute(command, &socket?, quiet, output),
            Self::Doctor(options) => doctor::examine(socket, options, quiet, output),
            Self::Token(token) => ftn::execute(token, output),
            Self::GrantToken => {
                ftn::run_granter()?;
                Ok(0)
            }
        }
    }
}

impl SystemCommand {
    /// Returns the right that the command needs at the daemon.
    pub(super) const fn right(&self) -> Right {
        match self {
            Self::Ring(command) => command.right(),
            Self::Doctor(_) | Self::Token(_) | Self::GrantToken => Right::Act,
        }
    }

    /// Returns the node that the command names without `-i`.
    pub(super) const fn ring(&self) -> Option<&NodeName> {
        match self {
            Self::Doctor(options) => options.node.as_ref(),
            Self::Ring(_) | Self::Token(_) | Self::GrantToken => None,
        }
    }

    /// Whether nodes of `system` can serve the command. For Lab2, `system` is `None`.
    pub(super) fn is_served_by(&self, system: Option<&str>) -> bool {
        match (self, system) {
            (
                Self::Ring(RingCommand::Wait {
                    target: Some(target),
                    ..
                }),
                system,
            ) => has_waitable_state(system, &target.name()),
            (Self::Doctor(_), _) | (Self::Ring(_), None) => true,
            (Self::Ring(command), Some(JITTERBUG)) => !command.is_lab2_only(),
            (Self::Ring(_), Some(_)) | (Self::Token(_) | Self::GrantToken, _) => false,
        }
    }

    /// Adds the name of the machine after each MAC address of a text. The names come from the node at `socket`.
    pub(super) fn add_names(&self, socket: &Path, text: String) -> String {
        match self {
            Self::Ring(_) | Self::Doctor(_) => lab2::add_names(socket, text),
            Self::Token(_) | Self::GrantToken => text,
        }
    }

    pub(super) const fn depends_on_caller(&self) -> bool {
        match self {
            Self::Ring(command) => command.depends_on_caller(),
            Self::Doctor(_) | Self::Token(_) | Self::GrantToken => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use ring_control::Right;

    use crate::Options;
    use crate::nodes::start_command_for;

    #[test]
    fn each_command_is_served_by_the_right_systems() {
        let served = |words: &str| -> Vec<&str> {
            let given = ["ringctl"].into_iter().chain(words.split(' '));
            let command = Options::try_parse_from(given).expect("it is right").command;
            let systems = [None, Some("jitterbug"), Some("ftn"), Some("board")];
            let serving = systems.into_iter().filter(|it| command.is_served_by(*it));
            serving.map(|system| system.unwrap_or("lab2")).collect()
        };
        for (words, systems) in [
            ("status", &["lab2", "jitterbug", "ftn", "board"][..]),
            ("metrics", &["lab2", "jitterbug", "ftn", "board"]),
            ("exporter", &["lab2", "jitterbug", "ftn", "board"]),
            ("watch", &["lab2", "jitterbug", "ftn", "board"]),
            ("top", &["lab2", "jitterbug", "ftn", "board"]),
            ("run true", &["lab2", "jitterbug"]),
            ("run --name x true", &["lab2"]),
            ("lock --name x --shared", &["lab2"]),
            ("unlock --name x", &["lab2"]),
            ("locks", &["lab2"]),
            ("doctor", &["lab2", "jitterbug", "ftn", "board"]),
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
    fn commands_that_only_read_need_no_right_to_act() {
        for (words, right) in [
            ("status", Right::Read),
            ("status --check", Right::Read),
            ("watch", Right::Read),
            ("top", Right::Read),
            ("metrics", Right::Read),
            ("exporter", Right::Read),
            ("locks", Right::Read),
            ("wait OWNER", Right::Read),
            ("data get", Right::Read),
            ("data set x", Right::Act),
            ("run true", Right::Act),
            ("lock", Right::Act),
            ("pause", Right::Act),
            ("doctor", Right::Act),
        ] {
            let given = ["ringctl"].into_iter().chain(words.split(' '));
            let command = Options::try_parse_from(given).expect("it is right").command;
            assert_eq!(command.right(), right, "{words}");
        }
    }

    #[test]
    fn the_start_command_is_for_a_system_that_can_serve() {
        for (words, start) in [
            ("yield node3", "sudo ringd IFACE"),
            ("wait leader", "sudo ringd jitterbug IFACE"),
        ] {
            let given = ["ringctl"].into_iter().chain(words.split(' '));
            let command = Options::try_parse_from(given).expect("it is right").command;
            assert_eq!(start_command_for(|it| command.is_served_by(it)), start);
        }
    }
}
