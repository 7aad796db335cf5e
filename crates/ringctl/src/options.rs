//! The command line of `ringctl`: the part that all systems share.

use std::env;
use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::ArgValueCandidates;
use ring_control::{NodeName, Right};

use super::completion::node_candidates;
use super::fence::GuardOptions;
use super::history::HistoryOptions;
use super::lab2::RingCommand;
use super::metrics::{ExporterOptions, METRICS};
use super::nodes::parse_name;
use super::systemd::Target;
use super::systems::SystemCommand;
use super::top::{self, TopOptions};
use super::usage;
use super::values::parse_event_number;

const LONG_HELP: &str = concat!(
    "\
ringctl sends each command to the ringd of this machine. If several ringd can \
serve the command, choose one with -i or --socket. If ringd does not answer, \
ringctl prints a warning after 2 s. After 5 s plus the time of -w, ringctl gives up. \
Commands that wait without -w or -n keep waiting, and so does ringctl watch. If you \
give an option twice, the last one counts.

",
    "Examples:\n",
    "  ringctl status                     show the ring as the ringd here sees it\n",
    "  ringctl status -i eth0             show the ring of the ringd on eth0\n",
    "  ringctl status --json | jq .owner  print JSON; times are in nanoseconds\n",
    "  ringctl top                        show the ring live, until you press q\n",
    "  ringctl status --check             print a line for a monitor; exit code 0 to 2\n",
    "  ringctl status --all               show each member, asked over the ring\n",
    "  ringctl run -- backup /srv         run a command on one machine at a time\n",
    "  ringctl run -n -- backup /srv      the same, without waiting for the token\n",
    "  ringctl run -nq -- backup /srv     the same, without a message, for cron\n",
    "  ringctl once nightly --every 20h -- backup /srv\n",
    "                                     run a command once a night on one machine\n",
    "\nTo complete commands, options, and names of nodes, locks and tokens in bash:\n",
    "  source <(RINGCTL_COMPLETE=bash ringctl)\n",
    "In zsh or fish, write zsh or fish instead of bash.\n",
    "\nExit codes:\n",
    "  0  done\n",
    "  1  ringd answered with an error, or a system call failed\n",
    "  2  wrong usage\n",
    "  3  no ringd runs here, ringctl cannot reach it, or it does not answer\n",
    "  4  several ringd run here: choose one with -i\n",
    "  5  status: the node's health is critical; the status contains the reason\n",
    "\nThe help of each command lists its other exit codes."
);

const WATCH_HELP: &str = "\
Shows changes of owners, members and grades, and the locks of this machine. A \
handover of the token appears only if the owner had the token for 10 seconds or \
longer. With --turns, every handover appears.

Each event has a number, and so does each handover. The daemon keeps the last \
1,024 events. Handovers, granted locks and refused locks are frequent. So the daemon \
also keeps the last 1,024 events of all other kinds. If the daemon no longer has all \
events from number N on, watch first prints the whole state. With the state, it prints \
the number of the last event before the state.

The exit code is 3 when ringd ends. The message then shows the option --from \
with which you continue.";

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

    /// Ask the ringd that listens at this socket.
    ///
    /// The ringd must run as root, as you, or as the user ringd. If you may not use this socket, commands that only
    /// read use the monitor socket next to it.
    #[arg(long, value_name = "PATH", global = true, conflicts_with = "interface")]
    pub socket: Option<PathBuf>,

    /// Print errors, but no status or refusal: use the exit code.
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// Ask the ringd of this interface.
    ///
    /// The control socket of this ringd is /run/ringd/IFACE.sock. If ringd runs with --ethertype TYPE, give IFACE:TYPE.
    /// For a node of another system, give SYSTEM-PLACE, which means /run/ringd-SYSTEM/SYSTEM-PLACE.sock.
    #[arg(
        short,
        long,
        value_name = "IFACE",
        global = true,
        value_parser = parse_name,
        add = ArgValueCandidates::new(node_candidates)
    )]
    pub interface: Option<NodeName>,
}

impl Options {
    /// Parses the command line of this process. If the command line requests help, prints the help and ends the
    /// process. If it is wrong, prints an error and ends the process.
    pub(crate) fn of_process() -> Self {
        let given: Vec<_> = env::args_os().collect();
        let parsed = Self::try_parse_from(&given);
        parsed.unwrap_or_else(|error| usage::explain(error, Self::command(), &given).exit())
    }

    /// Whether the command needs the process that called `ringctl`. If so, no other process may be between the caller
    /// and `ringctl`.
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
    /// The exit code is 5 while the node's health is critical, because the node or its ring does not work.
    Status {
        /// Print one row for each member of the ring.
        ///
        /// The ringd of this machine asks all members over the ring. The exit code is 5 while a member reports that its
        /// health is critical. A member that does not answer has a row, but no report. It is not heard, or its ringd
        /// is too old.
        #[arg(long, conflicts_with = "check")]
        all: bool,
        /// Print one line for a monitoring system.
        ///
        /// The line has OK (exit code 0), WARNING (1) or CRITICAL (2), and the reason.
        #[arg(long, conflicts_with_all = ["json", "quiet"])]
        check: bool,
        /// Print one JSON object, with times in nanoseconds.
        #[arg(long)]
        json: bool,
    },
    /// A command that is specific to one system.
    #[command(flatten)]
    System(SystemCommand),
    /// Print the state of the ring, then each event.
    #[command(after_long_help = WATCH_HELP)]
    Watch {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
        /// Begin with event N if ringd still keeps this event.
        #[arg(long, value_name = "N", value_parser = parse_event_number, allow_negative_numbers = true)]
        from: Option<u64>,
        /// Also print every handover of the token.
        ///
        /// An idle ring has ten or more handovers per second.
        #[arg(long)]
        turns: bool,
    },
    /// Show the ring live: members, locks, rates, troubles, events.
    #[command(after_long_help = top::HELP)]
    Top(TopOptions),
    /// Print metrics of the daemon as OpenMetrics text.
    #[command(after_long_help = METRICS)]
    Metrics,
    /// Serve the metrics to Prometheus by HTTP.
    Exporter(ExporterOptions),
    /// List the programs that held the token and named locks.
    History(HistoryOptions),
    /// Run CMD unless FILE records a newer token than $RINGD_TOKEN.
    Guard(GuardOptions),
    /// The keeper process, which `ringctl` starts to hold a lock.
    #[command(hide = true)]
    Keep,
    /// Start a systemd target, and stop it on SIGTERM. `ringctl run-target` starts this process.
    #[command(hide = true)]
    HoldTarget {
        /// The target.
        #[arg(value_parser = Target::parse)]
        target: Target,
    },
    /// Become the command that `ringctl run` starts.
    #[command(hide = true)]
    Become {
        /// The file descriptor of the gate. The process waits until the gate opens.
        #[arg(long)]
        gate: RawFd,
        /// The command.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        command: Vec<OsString>,
    },
}

impl Command {
    /// Returns the right that the command needs at the daemon.
    pub(super) fn right(&self) -> Right {
        match self {
            Self::System(command) => command.right(),
            Self::Status { .. }
            | Self::Metrics
            | Self::Exporter(_)
            | Self::Watch { .. }
            | Self::Top(_)
            | Self::History(_) => Right::Read,
            Self::Guard(_) | Self::Keep | Self::HoldTarget { .. } | Self::Become { .. } => {
                Right::Act
            }
        }
    }

    /// Returns the ring that the command names without `-i`.
    pub(super) const fn ring(&self) -> Option<&NodeName> {
        match self {
            Self::System(command) => command.ring(),
            _ => None,
        }
    }

    /// Whether the command line must choose the ring, even if the machine has only one ring.
    pub(super) const fn must_name_ring(&self) -> bool {
        matches!(
            self,
            Self::System(SystemCommand::Ring(RingCommand::RunTarget(_)))
        )
    }

    /// Whether nodes of `system` can serve the command. For Lab2, `system` is `None`.
    pub(super) fn is_served_by(&self, system: Option<&str>) -> bool {
        match self {
            Self::System(command) => command.is_served_by(system),
            Self::Status { all: true, .. } => system.is_none(),
            Self::Status { .. }
            | Self::Metrics
            | Self::Exporter(_)
            | Self::Watch { .. }
            | Self::Top(_) => true,
            Self::History(_)
            | Self::Guard(_)
            | Self::Keep
            | Self::HoldTarget { .. }
            | Self::Become { .. } => false,
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
