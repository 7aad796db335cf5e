//! The command line of `ringctl`: what is common to all systems.

use std::env;
use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::ArgValueCandidates;
use ring_control::NodeName;

use super::completion::nodes;
use super::fence::GuardOptions;
use super::nodes::parse_name;
use super::systems::SystemCommand;
use super::usage;
use super::values::event;

const EXAMPLES: &str = "\
ringctl asks the only ringd on this machine that can do what is asked, unless \
--socket or -i names one. \
If ringd does not answer, ringctl says so after 2 s and gives up after 5 s plus \
the time of -w. watch, and commands that wait without -w or -n, keep waiting. \
The last of an option given twice counts.

Examples:
  ringctl status                     the ring as the only ringd here sees it
  ringctl status -i eth0             as the ringd on eth0 sees it
  ringctl status --json | jq .owner  for programs; times are in nanoseconds
  ringctl status --check             one line for a monitor; exit code 0, 1 or 2
  ringctl run -- backup /srv         run a command on one node at a time
  ringctl run -n -- backup /srv      the same, but do not wait for the token
  ringctl run -nq -- backup /srv     nor say so if it is held, for cron
  ringctl once nightly --every 20h -- backup /srv
                                     on one node of the ring, once a night

bash completes commands, options, nodes and names of tokens after
  source <(RINGCTL_COMPLETE=bash ringctl)
and zsh and fish with their names in its place.

Exit codes:
  0  done
  1  ringd answered with an error, or a system call failed
  2  wrong usage
  3  no ringd runs here, none is reached at the socket, or it does not answer
  4  several run here: choose one with -i
  5  status: the node's health is critical, and the status says why

The help of each command lists codes of its own.";

const WATCH: &str = "\
Shows owners elected and lost, members, grades, and the locks of this machine. \
An owner that hands the token on is shown if it has had it for 10 seconds; \
--turns shows each.

Events have numbers, turns of the token included. ringd remembers the latest \
1,024 events, and the latest 1,024 that are neither turns nor locks granted or \
refused. If those from N on are not all remembered, the state of all things comes \
first, with the number of the last event before it.

Exit codes: 3 when ringd ends; the message says with which --from to go on.";

/// Show a ring, and run commands while this machine holds its token.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "ringctl",
    version,
    args_override_self = true,
    after_long_help = EXAMPLES,
    after_help = "--help says more."
)]
pub struct Options {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// The control socket of the ringd to ask, which runs as root, as this user or as the user ringd.
    #[arg(long, value_name = "PATH", global = true, conflicts_with = "interface")]
    pub socket: Option<PathBuf>,

    /// Print no status and no refusal: the exit code says it. Errors are still printed.
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// The interface of the ringd to ask: /run/ringd/IFACE.sock. IFACE:TYPE if it has an --ethertype. A node of
    /// another system is SYSTEM-PLACE: /run/ringd-SYSTEM/SYSTEM-PLACE.sock.
    #[arg(short, long, value_name = "IFACE", global = true, value_parser = parse_name, add = ArgValueCandidates::new(nodes))]
    pub interface: Option<NodeName>,
}

impl Options {
    /// What the command line of this process says. Ends the process if that is wrong, or help is
    /// asked for.
    pub fn of_process() -> Self {
        let given: Vec<_> = env::args_os().collect();
        let parsed = Self::try_parse_from(&given);
        parsed.unwrap_or_else(|error| usage::explained(error, Self::command(), &given).exit())
    }

    /// Whether the process that has called this one matters, so that no other may take its place.
    pub const fn is_for_its_caller(&self) -> bool {
        match &self.command {
            Command::System(command) => command.is_for_its_caller(),
            _ => false,
        }
    }
}

/// What `ringctl` can do.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Show health, state, token, owner, members, locks, constants and counters.
    ///
    /// The exit code is 5 while the node's health is critical: the node, or its ring, does not do its job.
    Status {
        /// Print one line for a monitoring system: OK (exit code 0), WARNING (1) or CRITICAL (2), and why.
        #[arg(long, conflicts_with_all = ["json", "quiet"])]
        check: bool,
        /// Print JSON for programs: one object, times in nanoseconds.
        #[arg(long)]
        json: bool,
    },
    /// What can be done with nodes of one system only.
    #[command(flatten)]
    System(SystemCommand),
    /// Print the state of the ring, then each event as it happens.
    #[command(after_long_help = WATCH)]
    Watch {
        /// Print JSON for programs: one object a line.
        #[arg(long)]
        json: bool,
        /// Begin with event N if it is still retained.
        #[arg(long, value_name = "N", value_parser = event, allow_negative_numbers = true)]
        from: Option<u64>,
        /// Print every turn of the token too, ten and more a second.
        #[arg(long)]
        turns: bool,
    },
    /// Run CMD only if FILE records no newer token than $RINGD_TOKEN.
    Guard(GuardOptions),
    /// What `ringctl` starts to hold a lock.
    #[command(hide = true)]
    Keep,
    /// What `ringctl run` starts to become the command.
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
    /// Whether nodes of a system can do it; `None` is Lab2.
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
    fn the_declaration_is_sound() {
        Options::command().debug_assert();
    }

    #[test]
    fn an_error_says_what_to_type_instead() {
        for (given, said) in [
            (
                &["once", "nightly", "/bin/true", "-x", "--every", "20h"][..],
                "put options before the command, as in ringctl once nightly --every 20h -- /bin/true -x",
            ),
            (
                &["once", "nightly", "true", "--every=20h", "-x"],
                "ringctl once nightly --every=20h -- true -x",
            ),
            (
                &["once", "--every", "20h", "--", "true"],
                "<CMD> is missing, since 'true' is read as <NAME>: put the NAME before it",
            ),
            (
                &["token", "--servers", "list", "run", "--", "true"],
                "<CMD> is missing, since 'true' is read as <NAME>",
            ),
            (
                &["guard", "--", "true"],
                "<CMD> is missing, since 'true' is read as <FILE>: put the FILE before it",
            ),
            (&["run"], "the following required arguments"),
            (&["once", "nightly", "true"], "--every <DURATION>"),
        ] {
            let given = ["ringctl"].iter().chain(given);
            let given: Vec<OsString> = given.map(OsString::from).collect();
            let error = Options::try_parse_from(&given).expect_err("it is wrong");
            let text = usage::explained(error, Options::command(), &given).to_string();
            assert!(text.contains(said), "{given:?}: {text}");
        }
    }
}
