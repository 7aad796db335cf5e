//! The command line of `ringd` as a whole: the daemon of a ring, and the commands beside it.

mod usage;

use std::env;

use clap::{ArgMatches, Args, Command, CommandFactory, Error, FromArgMatches};

use crate::system::{ftn, jitterbug, lab2};

/// What `ringd` is asked to do.
#[derive(Debug)]
pub enum Invocation {
    /// To run a node of a ring.
    Daemon(lab2::Options),
    /// To run a server of the token service.
    Ftn(ftn::Options),
    /// To run a node of a Jitterbug ring.
    Jitterbug(jitterbug::Options),
}

/// The declaration of all options. Commands come first: an interface of the same name is reached
/// behind `--`.
pub fn command() -> Command {
    lab2::Options::command()
        .subcommand(declared_late::<ftn::Options>(
            "ftn",
            "Run a server of the token service",
        ))
        .subcommand(declared_late::<jitterbug::Options>(
            "jitterbug",
            "Run a node of a Jitterbug ring: a token whose data grows from holder to holder",
        ))
        .subcommand_negates_reqs(true)
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
}

/// A command whose options are declared only if it is the one that was asked for: a daemon reads, and keeps in
/// memory, nothing of the others'.
fn declared_late<O: Args>(name: &'static str, about: &'static str) -> Command {
    Command::new(name).about(about).defer(O::augment_args)
}

impl Invocation {
    /// What the command line of this process says. Ends the process if that is wrong, or help is
    /// asked for.
    pub fn parse() -> Self {
        let given: Vec<_> = env::args_os().collect();
        let read = command().try_get_matches_from(&given);
        let parsed = read.and_then(|read| Self::from_matches(&read));
        parsed.unwrap_or_else(|error| usage::explained(error, command(), &given).exit())
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

    /// Returns what a user reads who has typed this.
    fn error(arguments: &[&str]) -> String {
        let error = parse(arguments).expect_err("it is wrong");
        let given = ["ringd"].iter().chain(arguments);
        let given: Vec<OsString> = given.map(OsString::from).collect();
        usage::explained(error, command(), &given).to_string()
    }

    #[test]
    fn an_error_says_what_to_type_instead() {
        for (given, said) in [
            (&["start", "eth0"][..], "ringd eth0 runs on eth0"),
            (&["eth0", "eth1"], "each interface has a ringd of its own"),
            (&["jitterbug", "eth0", "eth1"], "ringd jitterbug eth1 runs"),
            (&["-i", "eth0"], "stands alone, as in ringd eth0"),
            (&["--interface", "eth0"], "there is no option '--interface'"),
            (&["-i"], "as in ringd IFACE"),
            (&["jitterbug", "-i", "eth0"], "as in ringd jitterbug eth0"),
            (&["eth0", "--heartbeat", "100", "ms"], "as in 100ms"),
            (&["eth0", "--foo"], "unexpected argument '--foo' found"),
            (&["eth0", "--expct", "3"], "'--expect'"),
        ] {
            let text = error(given);
            assert!(text.contains(said), "{given:?}: {text}");
            assert!(!text.contains("as a value"), "{given:?}: {text}");
        }
    }

    #[test]
    fn the_declaration_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn the_list_of_commands_says_of_each_what_its_own_help_says() {
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
    fn an_interface_called_like_a_command_is_reached_behind_two_hyphens() {
        let ftn = parse(&["ftn", "--servers", "list", "--index", "0"]);
        assert!(matches!(ftn, Ok(Invocation::Ftn(_))), "{ftn:?}");
        let jitterbug = parse(&["jitterbug", "eth0"]);
        assert!(
            matches!(jitterbug, Ok(Invocation::Jitterbug(_))),
            "{jitterbug:?}"
        );
        // Behind an option of the daemon's it can be nothing else.
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
    fn the_daemon_still_wants_an_interface_and_keeps_its_options_to_itself() {
        assert!(matches!(parse(&["eth0"]), Ok(Invocation::Daemon(_))));
        for wrong in [&[][..], &["--seed", "1"], &["eth0", "ftn"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
