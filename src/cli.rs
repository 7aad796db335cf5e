//! The command line of `ringd`: the daemon of a ring, and the commands for other systems.

mod check_config;
mod keygen;
mod usage;

use std::env;
use std::ffi::{OsStr, OsString};

use clap::{Args, Command, CommandFactory, FromArgMatches};
use ring_config::{CommandLine, Configured, Failure, Section};

use crate::system::{ftn, jitterbug, lab2};

/// The section of the configuration file for the rings of this machine.
const RING: Section = Section {
    name: "ring",
    selector: Some("interface"),
    actions: &[],
    command: lab2::Options::command,
};
/// The section for a server of the token service.
const FTN: Section = Section {
    name: "ftn",
    selector: None,
    actions: &[],
    command: ftn::Options::command,
};
/// The section for the Jitterbug rings of this machine.
const JITTERBUG: Section = Section {
    name: "jitterbug",
    selector: Some("interface"),
    actions: &[],
    command: jitterbug::Options::command,
};

/// The parsed command line, completed by the configuration file.
#[derive(Debug)]
pub enum Invocation {
    /// Runs a node of a ring.
    Daemon(Configured<lab2::Options>),
    /// Runs a server of the token service.
    Ftn(Configured<ftn::Options>),
    /// Runs a node of a Jitterbug ring.
    Jitterbug(Configured<jitterbug::Options>),
    /// Checks the configuration file.
    CheckConfig(check_config::Options),
    /// Prints a new key.
    Keygen(keygen::Options),
}

/// Declares all options. The first word can be a command. So an interface that has the name of a command needs `--`
/// before it.
pub fn command() -> Command {
    lab2::Options::command()
        .subcommand(deferred_command::<ftn::Options>(
            "ftn",
            "Run a server of the token service",
        ))
        .subcommand(deferred_command::<jitterbug::Options>(
            "jitterbug",
            "Run a node of a Jitterbug ring",
        ))
        .subcommand(deferred_command::<check_config::Options>(
            check_config::NAME,
            "Check the configuration file",
        ))
        .subcommand(deferred_command::<keygen::Options>(
            keygen::NAME,
            "Print a new key for the key file of a ring",
        ))
        .subcommand_negates_reqs(true)
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
}

/// Returns a command whose options are declared only when the command is used. So a daemon does not keep the options of
/// the other systems in memory.
fn deferred_command<O: Args>(name: &'static str, about: &'static str) -> Command {
    Command::new(name).about(about).defer(O::augment_args)
}

impl Invocation {
    /// Parses the command line of this process, and reads the configuration file. If the command line is wrong or
    /// requests help, prints the error or the help and exits.
    ///
    /// # Errors
    /// Fails if the configuration file cannot be used.
    pub fn parse() -> Result<Self, ring_host::Error> {
        let given: Vec<_> = env::args_os().collect();
        Self::of(&given).map_err(|failure| match failure {
            Failure::CommandLine(error) => usage::explain(*error, command(), &given).exit(),
            Failure::File(error) => ring_host::Error::Usage(error.to_string()),
        })
    }

    fn of(given: &[OsString]) -> Result<Self, Failure> {
        let line = |section, in_subcommand| {
            CommandLine::new(command, section, given.to_vec(), in_subcommand)
        };
        match given.get(1).and_then(|word| OsStr::to_str(word)) {
            Some("ftn") => line(FTN, true).configure().map(Self::Ftn),
            Some("jitterbug") => line(JITTERBUG, true).configure().map(Self::Jitterbug),
            Some(check_config::NAME) => parse_command(given).map(Self::CheckConfig),
            Some(keygen::NAME) => parse_command(given).map(Self::Keygen),
            _ => line(RING, false).configure().map(Self::Daemon),
        }
    }
}

/// Parses a command line of a command that has no section in the configuration file.
fn parse_command<O: FromArgMatches>(given: &[OsString]) -> Result<O, Failure> {
    let parse = || {
        let mut read = command().try_get_matches_from(given)?;
        let (_, read) = read.remove_subcommand().unwrap_or_default();
        O::from_arg_matches(&read)
    };
    parse().map_err(|error| Failure::CommandLine(Box::new(error)))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use ring_config::Failure;

    use super::{Invocation, command, usage};

    fn parse(arguments: &[&str]) -> Result<Invocation, clap::Error> {
        let given = ["ringd"].iter().chain(arguments);
        let given: Vec<_> = given.map(OsString::from).collect();
        Invocation::of(&given).map_err(|failure| match failure {
            Failure::CommandLine(error) => *error,
            Failure::File(error) => panic!("{error}"),
        })
    }

    /// Returns the error text for a wrong command line.
    fn error(arguments: &[&str]) -> String {
        let error = parse(arguments).expect_err("it is wrong");
        let given = ["ringd"].iter().chain(arguments);
        let given: Vec<OsString> = given.map(OsString::from).collect();
        usage::explain(error, command(), &given).to_string()
    }

    #[test]
    fn an_error_says_what_to_type() {
        for (given, expected_text) in [
            (&["start", "eth0"][..], "ringd eth0 runs on eth0"),
            (&["eth0", "eth1"], "each interface has its own ringd"),
            (&["jitterbug", "eth0", "eth1"], "ringd jitterbug eth1 runs"),
            (&["-i", "eth0"], "without an option, as in ringd eth0"),
            (&["--interface", "eth0"], "there is no option '--interface'"),
            (&["-i"], "as in ringd IFACE"),
            (&["jitterbug", "-i", "eth0"], "as in ringd jitterbug eth0"),
            (&["eth0", "--heartbeat", "100", "ms"], "as in 100ms"),
            (&["eth0", "--foo"], "unexpected argument '--foo' found"),
            (&["eth0", "--ringsize", "3"], "'--ring-size'"),
        ] {
            let text = error(given);
            assert!(text.contains(expected_text), "{given:?}: {text}");
            assert!(!text.contains("as a value"), "{given:?}: {text}");
        }
    }

    #[test]
    fn the_declaration_is_valid() {
        command().debug_assert();
    }

    #[test]
    fn the_list_of_commands_has_the_summary_of_each_commands_help() {
        let abouts = |command: &clap::Command| -> Vec<_> {
            let commands = command.get_subcommands();
            commands
                .map(|it| {
                    (
                        it.get_name().to_owned(),
                        it.get_about().map(ToString::to_string),
                    )
                })
                .collect()
        };
        let mut command = command();
        let listed = abouts(&command);
        command.build();
        assert_eq!(listed, abouts(&command));
    }

    #[test]
    fn an_interface_with_a_commands_name_needs_two_hyphens() {
        let ftn = parse(&["ftn", "--servers", "list", "--index", "0"]);
        assert!(matches!(ftn, Ok(Invocation::Ftn(_))), "{ftn:?}");
        let jitterbug = parse(&["jitterbug", "eth0"]);
        assert!(
            matches!(jitterbug, Ok(Invocation::Jitterbug(_))),
            "{jitterbug:?}"
        );
        // After an option of the daemon, the word can only be an interface.
        for (daemon, interface) in [
            (&["--heartbeat", "1s", "--", "ftn"][..], "ftn"),
            (&["--verbose", "ftn"], "ftn"),
            (&["--", "ftn"], "ftn"),
        ] {
            match parse(daemon) {
                Ok(Invocation::Daemon(options)) => {
                    assert_eq!(options.options().interface, interface);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn the_daemon_needs_an_interface_and_takes_only_its_options() {
        assert!(matches!(parse(&["eth0"]), Ok(Invocation::Daemon(_))));
        for wrong in [&[][..], &["--seed", "1"], &["eth0", "ftn"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
