//! The command line of `ringd`: the daemon of a ring, and the commands for other systems.

mod usage;

use std::env;

use clap::{ArgMatches, Args, Command, CommandFactory, Error, FromArgMatches};

use crate::system::{ftn, jitterbug, lab2};

/// The parsed command line.
#[derive(Debug)]
pub enum Invocation {
    /// Runs a node of a ring.
    Daemon(lab2::Options),
    /// Runs a server of the token service.
    Ftn(ftn::Options),
    /// Runs a node of a Jitterbug ring.
    Jitterbug(jitterbug::Options),
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
    /// Parses the command line of this process. If the command line is wrong or requests help, prints the error or the
    /// help and exits.
    pub fn parse() -> Self {
        let given: Vec<_> = env::args_os().collect();
        let read = command().try_get_matches_from(&given);
        let parsed = read.and_then(|read| Self::from_matches(&read));
        parsed.unwrap_or_else(|error| usage::explain(error, command(), &given).exit())
    }

    fn from_matches(matches: &ArgMatches) -> Result<Self, Error> {
        match matches.subcommand() {
            Some(("ftn", given)) => ftn::Options::from_arg_matches(given).map(Self::Ftn),
            Some(("jitterbug", given)) => {
                jitterbug::Options::from_arg_matches(given).map(Self::Jitterbug)
            }
            _ => lab2::Options::from_arg_matches(matches).map(Self::Daemon),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{Invocation, command, usage};

    fn parse(arguments: &[&str]) -> Result<Invocation, clap::Error> {
        let given = ["ringd"].iter().chain(arguments);
        Invocation::from_matches(&command().try_get_matches_from(given)?)
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
                Ok(Invocation::Daemon(options)) => assert_eq!(options.interface, interface),
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
