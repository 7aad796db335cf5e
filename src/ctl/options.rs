//! The command line of `ringctl`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Without --socket and -i the one ringd that runs on this machine is asked.

Examples:
  ringctl status                     the ring as the only ringd here sees it
  ringctl status -i eth0             as the ringd on eth0 sees it
  ringctl status --json | jq .owner  for programs; times are in nanoseconds

Exit codes:
  0  done
  1  ringd answered with an error, or not at all
  2  wrong usage
  3  no ringd runs here, or none is reached at the socket
  4  several run here: say which with -i";

/// Ask a running ringd how its ring is.
#[derive(Debug, Clone, Parser)]
#[command(name = "ringctl", version, after_long_help = EXAMPLES, after_help = "--help says more.")]
pub struct Options {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// The control socket of the ringd to ask.
    #[arg(long, value_name = "PATH", global = true, conflicts_with = "interface")]
    pub socket: Option<PathBuf>,

    /// The interface of the ringd to ask: /run/ringd/IFACE.sock.
    #[arg(short, long, value_name = "IFACE", global = true)]
    pub interface: Option<String>,
}

/// What `ringctl` can do.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Show state, token, owner, members, constants and counters.
    Status {
        /// Print JSON for programs: one object, times in nanoseconds.
        #[arg(long)]
        json: bool,
    },
}
