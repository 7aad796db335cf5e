//! The command line of `ringctl`: the part that all systems share.

use std::env;
use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::ArgValueCandidates;
use ring_control::NodeName;

use super::completion::node_candidates;
use super::fence::GuardOptions;
use super::nodes::parse_name;
use super::systems::SystemCommand;
use super::usage;
use super::values::parse_event_number;

const LONG_HELP: &str = "\
ringctl asks the ringd of this machine. If several ringd can serve the command, \
name one with -i or --socket. \
If ringd does not answer, ringctl reports that after 2 s, and gives up after 5 s \
plus the time of -w. watch, and commands that wait without -w or -n, keep \
waiting. If an option is given twice, the last one counts.

Examples:
  ringctl status                     show the ring as the ringd here sees it
  ringctl status -i eth0             show the ring of the ringd on eth0
  ringctl status --json | jq .owner  print JSON; times are in nanoseconds
  ringctl status --check             one line for a monitor; exit code 0, 1 or 2
  ringctl run -- backup /srv         run a command on one machine at a time
  ringctl run -n -- backup /srv      the same, without waiting for the token
  ringctl run -nq -- backup /srv     the same, without a message, for cron
  ringctl once nightly --every 20h -- backup /srv
                                     run a command once a night on one machine

For completion of commands, options, nodes and names of tokens in bash:
  source <(RINGCTL_COMPLETE=bash ringctl)
For zsh and fish, replace bash by zsh or fish.

Exit codes:
  0  done
  1  ringd answered with an error, or a system call failed
  2  wrong usage
  3  no ringd runs here, or it cannot be reached or does not answer
  4  several ringd run here: choose one with -i
  5  status: the node's health is critical; the status contains the reason

The help of each command lists its other exit codes.";

const WATCH_HELP: &str = "\
Shows changes of owners, members and grades, and the locks of this machine. \
A handover of the token is shown only if the owner had the token for 10 seconds \
or longer; --turns shows every handover.

Each event has a number, also each handover. ringd keeps the last 1,024 events. \
It also keeps the last 1,024 events that are neither handovers nor granted or \
refused locks. If ringd no longer has all events from N on, watch first prints \
the whole state with the number of the event before it.

Exit codes: 3 when ringd ends; the message contains the --from to continue with.";

/// Show a ring, and run commands under its token.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "ringctl",
    version,
    args_override_self = true,
    after_long_help = LONG_HELP,
    after_help = "Use --help for more."
)]
pub(crate) struct Options {
    /// The command.
    #[command(subcommand)]
    pub command: Command,

    /// The control socket of the ringd to ask. That ringd must run as root, as you or as the user ringd.
    #[arg(long, value_name = "PATH", global = true, conflicts_with = "interface")]
    pub socket: Option<PathBuf>,

    /// Print neither a status nor a refusal: use the exit code. Errors are still printed.
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// The interface of the ringd to ask, at /run/ringd/IFACE.sock. With --ethertype TYPE, give IFACE:TYPE. For a node
    /// of another system, give SYSTEM-PLACE, at /run/ringd-SYSTEM/SYSTEM-PLACE.sock.
    #[arg(short, long, value_name = "IFACE", global = true, value_parser = parse_name, add = ArgValueCandidates::new(node_candidates))]
    pub interface: Option<NodeName>,
}

impl Options {
    /// Parses the command line of this process. Prints help or an error, and ends the process, if that is all to do.
    pub(crate) fn of_process() -> Self {
        let given: Vec<_> = env::args_os().collect();
        let parsed = Self::try_parse_from(&given);
        parsed.unwrap_or_else(|error| usage::explain(error, Self::command(), &given).exit())
    }

    /// Whether the command needs the calling process, so that no other process may stand between the two.
    pub(crate) const fn depends_on_caller(&self) -> bool {
        match &self.command {
            Command::System(command) => command.depends_on_caller(),
            _ => false,
        }
    }
}

/// A command of `ringctl`.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Show health, state, token, members, locks and counters.
    ///
    /// The exit code is 5 while the node's health is critical: the node or its ring does not work.
    Status {
        /// Print one line for a monitoring system: OK (exit code 0), WARNING (1) or CRITICAL (2), and the reason.
        #[arg(long, conflicts_with_all = ["json", "quiet"])]
        check: bool,
        /// Print JSON for programs: one object, times in nanoseconds.
        #[arg(long)]
        json: bool,
    },
    /// A command that is specific to one system.
    #[command(flatten)]
    System(SystemCommand),
    /// Print the state of the ring, then each event.
    #[command(after_long_help = WATCH_HELP)]
    Watch {
        /// Print JSON for programs: one object per line.
        #[arg(long)]
        json: bool,
        /// Begin with event N if ringd still has it.
        #[arg(long, value_name = "N", value_parser = parse_event_number, allow_negative_numbers = true)]
        from: Option<u64>,
        /// Print every handover of the token too, ten or more per second.
        #[arg(long)]
        turns: bool,
    },
    /// Run CMD unless FILE records a newer token than $RINGD_TOKEN.
    Guard(GuardOptions),
    /// The keeper process, which `ringctl` starts to hold a lock.
    #[command(hide = true)]
    Keep,
    /// The process that `ringctl run` starts to become the command.
    #[command(hide = true)]
    Become {
        /// The file descriptor to wait at.
        #[arg(long)]
        gate: RawFd,
        /// The command.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        command: Vec<OsString>,
    },
}

impl Command {
    /// Whether nodes of a system can serve the command; `None` is Lab2.
    pub(super) fn is_served_by(&self, system: Option<&str>) -> bool {
        match self {
            Self::System(command) => command.is_served_by(system),
            Self::Status { .. } | Self::Watch { .. } => true,
            Self::Guard(_) | Self::Keep | Self::Become { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::{Options, OsString, Parser, usage};

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn a_usage_error_names_the_right_command() {
        for (given, expected) in [
            (
                &["once", "nightly", "/bin/true", "-x", "--every", "20h"][..],
                "put options before the command: ringctl once nightly --every 20h -- /bin/true -x",
            ),
            (
                &["once", "nightly", "true", "--every=20h", "-x"],
                "ringctl once nightly --every=20h -- true -x",
            ),
            (
                &["once", "--every", "20h", "--", "true"],
                "<CMD> is missing: 'true' is read as <NAME>; put the NAME before it",
            ),
            (
                &["token", "--servers", "list", "run", "--", "true"],
                "<CMD> is missing: 'true' is read as <NAME>",
            ),
            (
                &["guard", "--", "true"],
                "<CMD> is missing: 'true' is read as <FILE>; put the FILE before it",
            ),
            (&["run"], "the following required arguments"),
            (&["once", "nightly", "true"], "--every <DURATION>"),
        ] {
            let given = ["ringctl"].iter().chain(given);
            let given: Vec<OsString> = given.map(OsString::from).collect();
            let error = Options::try_parse_from(&given).expect_err("it is wrong");
            let text = usage::explain(error, Options::command(), &given).to_string();
            assert!(text.contains(expected), "{given:?}: {text}");
        }
    }
}
