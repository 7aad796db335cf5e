//! The command line of `ringd jitterbug`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use ring_control::jitterbug::SYSTEM;
use ring_control::{NodeName, control_dir};
use ring_host::LogFormat;
use ring_proto::jitterbug::{self, Compute, Decide, policy};
use ring_text::parse_duration;

use crate::system::interface::Wanted;
use crate::system::values::{parse_count, parse_hook_timeout, parse_size};

const EXAMPLES: &str = "\
What it is for, next to the ring of Lab2 (ringd IFACE): data that grows from holder to holder, a result \
that a few machines work at in turns and that must not be lost with any of them. It runs on any IP segment, IPv4 or \
IPv6, without the right to send raw frames: any user may run it. When not to take it: a program that must never \
run twice belongs to Lab2, whose locks have fencing tokens, leases and quorums. Here a cut \
segment has a leader on each side, and the token alone protects nothing outside of the ring.

The leader hands the token on all the time, to the next node of a list that all nodes share. Before that it \
computes the next data. Where two rings meet, a decision says whose data continues.

  --compute CMD  is given the data on standard input, and prints the next data
  --decide CMD   is given two files, $1 with the data that came and $2 with the
                 node's own; with exit code 0 the data that came continues,
                 with 1 the node's own

If either fails, or takes longer than --compute-timeout, that is counted. Then --compute leaves the data as it is, and \
with --decide the data that came continues.

Both must be pure, and equal on all nodes: the same data in, the same out, wherever and whenever they run. And the \
decision must be an order: of three data the one that continues must not depend on who meets whom first. Otherwise \
the promises for data do not hold: it never goes back, and all work on the same. Both run while the node goes on \
answering; a command that hangs is killed with all that it has started.

Give all nodes of a segment equal options: nodes with different commands form different rings, and each node names \
the nodes that differ. Nothing is stored: a node that starts again knows no data until it has taken the token.

Examples:
  ringd jitterbug eth0              a ring that counts
  ringd jitterbug eth0 --compute 'scripts/pi-digits' --decide longer
                                    a ring that computes digits of pi
  ringctl -i jitterbug-eth0 status  what the node is, the list and the data
  ringctl -i jitterbug-eth0 data get --raw
  ringctl -i jitterbug-eth0 run -- CMD
                                    run CMD while this node has the token
  ringd -- jitterbug                join the ring of Lab2 on an interface that
                                    is called jitterbug

Signals:
  SIGTERM, SIGINT  hand the token on, then exit; a second one does not wait for that
  SIGUSR1          log the status

What a hook has in its environment; what is not known is empty:
  RINGD_EVENT         started, state_changed or stopped
  RINGD_EVENT_NUMBER  of the event, as in ringctl watch
  RINGD_OLD_STATE     the state before: orphan, waiter, leader or none
  RINGD_STATE         the state since
  RINGD_TOKEN_ID      the token's id
  RINGD_MERGED        how many earlier changes are merged into this one, since
                      hooks were too slow
  RINGD_INTERFACE     the interface
  RINGD_TIME_MS       when it was: milliseconds since 1970

Exit codes:
  0  shut down cleanly
  1  unexpected error, or a second signal
  2  wrong usage, options that cannot work, or a command that does not exist
  3  no such interface, without --wait-for-interface
  5  no permission to use the ports (below 1024: CAP_NET_BIND_SERVICE)
  6  a port is in use, by another ringd jitterbug or some other program
  8  the control socket cannot be made";

/// Run a node of a Jitterbug ring: a token whose data grows from holder to holder.
///
/// Nodes on one IP segment find one another by broadcast and keep one token, which goes round. Who has
/// it leads: it works on the token's data and hands both on, with the list of all nodes. When a leader is lost the others
/// elect a new one in some seconds, and go on with the data that they know.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "jitterbug",
    args_override_self = true,
    after_long_help = EXAMPLES,
    after_help = "--help says more."
)]
pub struct Options {
    /// The interface of the segment. Its IPv4 address is the node's, or else its IPv6 link-local one.
    #[arg(value_name = "IFACE")]
    pub interface: String,

    /// Wait for IFACE if it does not exist yet, as a unit does, instead of exiting with code 3.
    #[arg(long)]
    pub wait_for_interface: bool,

    /// The UDP port of all nodes.
    #[arg(long, value_name = "PORT", default_value_t = 57_700, allow_negative_numbers = true, value_parser = parse_port)]
    pub udp_port: u16,

    /// The TCP port at which this node takes the token; 0: any free one, for as long as it runs.
    #[arg(long, value_name = "PORT", default_value_t = 0, allow_negative_numbers = true, value_parser = parse_port)]
    pub tcp_port: u16,

    /// Interval between queries of an attempt to become leader.
    ///
    /// It makes the lease: (2 * --tr-count - 1) * --tr-interval, which must be 50ms to 10s.
    #[arg(long, value_name = "DURATION", default_value = "100ms", allow_hyphen_values = true, value_parser = parse_duration)]
    pub tr_interval: Duration,

    /// Queries per attempt, 1 to 100. A node that nobody answers in two attempts leads.
    #[arg(long, value_name = "COUNT", default_value_t = 3, allow_negative_numbers = true, value_parser = parse_count::<u32>)]
    pub tr_count: u32,

    /// How long to wait for the token before asking who leads; at least 100ms.
    #[arg(long, value_name = "DURATION", default_value = "2s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub renew_timeout: Duration,

    /// Time limit for handing the token to one node, on both sides; at least 10ms.
    #[arg(long, value_name = "DURATION", default_value = "500ms", allow_hyphen_values = true, value_parser = parse_duration)]
    pub token_pass_timeout: Duration,

    /// How long a leader without local work keeps the token; less in rings so large that a round would take half of
    /// --renew-timeout.
    #[arg(long, value_name = "DURATION", default_value = "100ms", allow_hyphen_values = true, value_parser = parse_duration)]
    pub hold: Duration,

    /// Maximum entries of the list of nodes.
    #[arg(long, value_name = "COUNT", default_value_t = 65_536, allow_negative_numbers = true, value_parser = parse_count::<u32>)]
    pub max_nodes: u32,

    /// Maximum bytes of data: a number, or one and KiB or MiB.
    #[arg(long, value_name = "SIZE", default_value = "1MiB", allow_hyphen_values = true, value_parser = parse_size)]
    pub max_data: usize,

    /// The command that computes the next data, run by sh -c [default: a decimal counter]
    #[arg(long, value_name = "CMD", value_parser = parse_command)]
    pub compute: Option<String>,

    /// Which of two values wins: greater (more bytes, then the larger), longer (more bytes, or the
    /// received one), or a command, run by sh -c.
    #[arg(long, value_name = "HOW", default_value = "greater", value_parser = parse_command)]
    pub decide: String,

    /// Time limit for one run of either command.
    #[arg(long, value_name = "DURATION", default_value = "10s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub compute_timeout: Duration,

    /// The control socket for ringctl [default: /run/ringd-jitterbug/jitterbug-IFACE.sock]
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,

    /// A shell command to run when the state changes, and when the node starts and stops.
    ///
    /// Hooks run one at a time and in order, this one before those of --hooks-dir. The daemon does not
    /// wait for them.
    #[arg(long, value_name = "CMD")]
    pub on_change: Option<String>,

    /// A directory of programs to run at every change, in order of their names [default: none]
    #[arg(long, value_name = "DIR")]
    pub hooks_dir: Option<PathBuf>,

    /// How long a hook may run before it is ended.
    #[arg(long, value_name = "DURATION", default_value = "10s", allow_hyphen_values = true, value_parser = parse_hook_timeout)]
    pub hook_timeout: Duration,

    /// The format of log lines.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// Log every turn of the token too, and why datagrams and exchanges are dropped.
    #[arg(short, long)]
    pub verbose: bool,
}

impl Options {
    /// What the machine is told.
    pub fn of_machine(&self) -> jitterbug::Options {
        let command = |line: &str| format!("sh -c {line}");
        let compute = self.compute.as_deref().map(command);
        let compute = compute.unwrap_or_else(|| "counter".to_owned());
        let decide = match self.decide.as_str() {
            name @ ("greater" | "longer") => name.to_owned(),
            line => command(line),
        };
        jitterbug::Options {
            udp_port: self.udp_port,
            tr_interval: self.tr_interval,
            tr_count: self.tr_count,
            renew_timeout: self.renew_timeout,
            token_pass_timeout: self.token_pass_timeout,
            hold: self.hold,
            max_nodes: self.max_nodes,
            max_data: self.max_data,
            compute: match self.compute {
                Some(_) => Compute::Program,
                None => Compute::Counter,
            },
            decide: match self.decide.as_str() {
                "greater" => Decide::Greater,
                "longer" => Decide::Longer,
                _ => Decide::Program,
            },
            compute_timeout: self.compute_timeout,
            policy: policy::digest(&compute, &decide),
        }
    }

    /// The node's name on this machine.
    pub fn name(&self) -> NodeName {
        NodeName::of(SYSTEM, &self.interface)
    }

    /// The interface that is asked for.
    pub(super) fn wanted(&self) -> Wanted<'_> {
        Wanted {
            name: &self.interface,
            waits: self.wait_for_interface,
            log_format: self.log_format,
        }
    }

    /// The same options for an interface of another name.
    pub(super) fn with_interface(&self, interface: String) -> Self {
        Self {
            interface,
            ..self.clone()
        }
    }

    /// The control socket's path.
    pub fn control_path(&self) -> PathBuf {
        match &self.control {
            Some(path) => path.clone(),
            None => self.name().socket(&control_dir(SYSTEM)),
        }
    }
}

fn parse_port(text: &str) -> Result<u16, String> {
    text.parse()
        .map_err(|_| "not a port: give a number up to 65535, as in 57700".to_owned())
}

fn parse_command(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("an empty command does nothing: give a line for the shell".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::{CommandFactory, Parser};
    use ring_proto::jitterbug::{self, Compute, Decide};

    use super::Options;

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        let own = ["jitterbug", "eth0"];
        Options::try_parse_from(own.iter().chain(arguments)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_declaration_is_sound() {
        Options::command().debug_assert();
    }

    #[test]
    fn an_interface_alone_gets_the_defaults_of_the_machine() {
        let options = parse(&[]).unwrap();
        assert_eq!(options.of_machine(), jitterbug::Options::default());
        assert_eq!(options.tcp_port, 0);
        let socket = Path::new("/run/ringd-jitterbug/jitterbug-eth0.sock");
        assert_eq!(options.control_path(), socket);
        assert!(Options::try_parse_from(["jitterbug"]).is_err());
    }

    #[test]
    fn a_decision_is_one_of_two_words_or_a_command() {
        let decide = |given| parse(&["--decide", given]).map(|options| options.of_machine().decide);
        assert_eq!(decide("greater"), Ok(Decide::Greater));
        assert_eq!(decide("longer"), Ok(Decide::Longer));
        assert_eq!(decide("cmp -s \"$1\" \"$2\""), Ok(Decide::Program));
        assert!(decide(" ").is_err());
        let options = parse(&["--compute", "cat", "--max-data", "4096"]).unwrap();
        assert_eq!(options.of_machine().compute, Compute::Program);
        assert_eq!(options.max_data, 4096);
    }

    #[test]
    fn a_wrong_value_is_told_of_in_plain_words() {
        for (option, value, said) in [
            ("--udp-port", "70000", "up to 65535"),
            ("--tcp-port", "-1", "up to 65535"),
            ("--tr-count", "x", "not a count"),
            ("--hold", "5", "no unit"),
            ("--renew-timeout", "-1s", "cannot be negative"),
            ("--max-data", "1MB", "as in 256MiB"),
            ("--compute", "", "a line for the shell"),
            ("--hook-timeout", "0s", "too short"),
        ] {
            let error = parse(&[option, value]).unwrap_err();
            assert!(error.contains(said), "{option} {value}: {error}");
        }
    }

    #[test]
    fn help_names_every_default_and_what_is_asked_of_commands() {
        let help = Options::command()
            .term_width(200)
            .render_long_help()
            .to_string();
        let words = "57700 100ms 2s 500ms 65536 1MiB greater 10s pure /run/ringd-jitterbug/jitterbug-IFACE.sock";
        let phrases = ["equal on all nodes", "When not to take it", "  8  "];
        for word in words.split(' ').chain(phrases) {
            assert!(help.contains(word), "{word}");
        }
    }
}
