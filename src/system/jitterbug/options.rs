//! The command line of `ringd jitterbug`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use ring_config::ConfigOption;
use ring_control::jitterbug::SYSTEM;
use ring_control::{NodeName, control_dir};
use ring_host::LogFormat;
use ring_host::trust::KeyOptions;
use ring_proto::jitterbug::{self, Compute, Decide, OptionsError, policy};
use ring_text::parse_duration;

use crate::system::interface::InterfaceRequest;
use crate::system::values::{parse_count, parse_hook_timeout, parse_size};

const EXAMPLES: &str = concat!(
    "\
Jitterbug is for data that grows from holder to holder. For example, a few machines compute a result in turns, and \
the result must survive the loss of any machine. Jitterbug runs on any IP segment, IPv4 or IPv6. Jitterbug \
does not send raw frames, so any user may run a node.

Do not use Jitterbug if a program must never run twice. Use the ring instead (ringd IFACE): its locks have fencing \
tokens, leases and quorums. In Jitterbug, a split segment has a leader on each side, and the token protects nothing \
outside the ring.

The leader always hands the token to the next node of a list that all nodes share. Before the handover, it computes \
the next data. If two rings meet, a decision selects the data that continues.

",
    "  --compute CMD  reads the data on standard input, and prints the next data\n",
    "  --decide CMD   gets two files: $1 has the received data, and $2 the data of the\n",
    "                 node. With exit code 0, the received data continues. With exit\n",
    "                 code 1, the data of the node continues\n",
    "
If a command fails or takes longer than --compute-timeout, the node counts the failure. If --compute fails, the data \
stays as it is. If --decide fails, the received data continues.

Both commands must be pure, and equal on all nodes: the same input always gives the same output. The decision must \
define an order. If three data meet, the result must not depend on which two meet first. Without these conditions, \
data may go back, and nodes may work on different data. The node continues to answer while a command runs. The \
node kills a command that hangs, and all processes that the command has started.

Give all nodes of a segment equal options. Nodes with different commands form different rings, and each node logs the \
nodes that differ. A node stores nothing: after a restart, it has no data until it takes the token.

",
    "Examples:\n",
    "  ringd jitterbug eth0              run a ring that counts\n",
    "  ringd jitterbug eth0 --compute 'scripts/pi-digits' --decide longer\n",
    "                                    run a ring that computes digits of pi\n",
    "  ringctl -i jitterbug-eth0 status  show the node, the list and the data\n",
    "  ringctl -i jitterbug-eth0 data get --raw\n",
    "                                    print the data\n",
    "  ringctl -i jitterbug-eth0 run -- CMD\n",
    "                                    run CMD while this node has the token\n",
    "  ringd -- jitterbug                join the ring of Lab2 on the interface named\n",
    "                                    jitterbug\n",
    "\nSignals:\n",
    "  SIGTERM, SIGINT  hand the token over, then exit; a second signal exits at once\n",
    "  SIGHUP           read the configuration file and the key file again\n",
    "  SIGUSR1          log the status\n",
    "\nEnvironment of a hook (unknown values are empty):\n",
    "  RINGD_EVENT         started, state_changed or stopped\n",
    "  RINGD_EVENT_NUMBER  the event's number, as in ringctl watch\n",
    "  RINGD_OLD_STATE     the state before: orphan, waiter, leader or none\n",
    "  RINGD_STATE         the state after\n",
    "  RINGD_TOKEN_ID      the token's id\n",
    "  RINGD_MERGED        the number of earlier changes that are merged into this one,\n",
    "                      because hooks were too slow\n",
    "  RINGD_INTERFACE     the interface\n",
    "  RINGD_TIME_MS       the time: milliseconds since 1970\n",
    "\nExit codes:\n",
    "  0  shut down cleanly\n",
    "  1  unexpected error, or a second signal\n",
    "  2  wrong usage, options that cannot work, or a command that does not exist\n",
    "  3  no such interface, without --wait-for-interface\n",
    "  5  no permission to use the ports (below 1024, CAP_NET_BIND_SERVICE is needed)\n",
    "  6  a port is in use, by another ringd jitterbug or some other program\n",
    "  8  a socket for ringctl cannot be made"
);

/// Run a node of a Jitterbug ring
///
/// The ring has one token, whose data grows from holder to holder.
///
/// Nodes on one IP segment find each other by broadcast and keep one token, which moves from node to node. The node
/// that has the token leads: it works on the token's data. Then the leader hands on the token, the data and the list of
/// all nodes. If a leader is lost, the other nodes elect a new leader within some seconds. The nodes continue with the
/// data that they know.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "jitterbug",
    args_override_self = true,
    after_long_help = EXAMPLES,
    after_help = "See --help for more."
)]
pub struct Options {
    /// Run the node on this interface
    ///
    /// The node uses the interface's IPv4 address, or else its IPv6 link-local address.
    #[arg(value_name = "IFACE")]
    pub interface: String,

    /// The option that names the configuration file.
    #[command(flatten)]
    pub config: ConfigOption,

    /// Wait for IFACE if it does not exist yet
    ///
    /// The systemd units use this option. Without the option, ringd exits with code 3.
    #[arg(long)]
    pub wait_for_interface: bool,

    /// Set the UDP port of all nodes
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 57_700,
        allow_negative_numbers = true,
        value_parser = parse_port
    )]
    pub udp_port: u16,

    /// The options for signed messages.
    #[command(flatten)]
    pub keys: KeyOptions,

    /// Take the token at this TCP port, or any free port (0)
    ///
    /// With 0 the node keeps the chosen port while it runs.
    #[arg(long, value_name = "PORT", default_value_t = 0, allow_negative_numbers = true, value_parser = parse_port)]
    pub tcp_port: u16,

    /// Set the interval between queries of an attempt to lead
    ///
    /// The interval determines the lease: (2 * --tr-count - 1) * --tr-interval. The lease must be 50ms to 10s.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "100ms",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub tr_interval: Duration,

    /// Set the number of queries per attempt to lead, 1 to 100
    ///
    /// A node leads if it gets no answer in two attempts.
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 3,
        allow_negative_numbers = true,
        value_parser = parse_count::<u32>
    )]
    pub tr_count: u32,

    /// Wait this long for the token before asking who leads
    ///
    /// The minimum is 100ms.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "2s",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub renew_timeout: Duration,

    /// Limit the time of handing the token to one node
    ///
    /// Both the sender and the receiver of the token apply this limit. The minimum is 10ms.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "500ms",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub token_pass_timeout: Duration,

    /// Keep the token this long without local work
    ///
    /// In a large ring the node keeps the token for a shorter time. So all nodes together keep the token for at most
    /// half of --renew-timeout.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "100ms",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub hold: Duration,

    /// Limit the number of nodes in the list
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 65_536,
        allow_negative_numbers = true,
        value_parser = parse_count::<u32>
    )]
    pub max_nodes: u32,

    /// Limit the data: bytes, or a number with KiB or MiB
    #[arg(long, value_name = "SIZE", default_value = "1MiB", allow_hyphen_values = true, value_parser = parse_size)]
    pub max_data: usize,

    /// Compute the next data with this sh -c line
    ///
    /// By default, the data is a decimal counter.
    #[arg(long, value_name = "CMD", value_parser = parse_command)]
    pub compute: Option<String>,

    /// Choose the data that continues when two rings meet
    ///
    /// HOW is greater, longer or a command for sh -c. With greater and with longer, the data with more bytes continues.
    /// If the lengths are equal, greater selects the larger data, and longer selects the received data.
    #[arg(long, value_name = "HOW", default_value = "greater", value_parser = parse_command)]
    pub decide: String,

    /// Limit the time of one run of --compute or --decide
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "10s",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub compute_timeout: Duration,

    /// Create the socket for ringctl at this path
    ///
    /// The default is /run/ringd-jitterbug/jitterbug-IFACE.sock.
    ///
    /// Next to it, the daemon creates a socket for programs that only read. Its name ends in .monitor.
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,

    /// Run this shell command at each change, start and stop
    ///
    /// The daemon does not wait for its hooks. Only one hook runs at a time: first this command, then the programs of
    /// --hooks-dir in order.
    #[arg(long, value_name = "CMD")]
    pub on_change: Option<String>,

    /// Run the programs in DIR at every change, in order
    ///
    /// Without this option, ringd reads no directory.
    #[arg(long, value_name = "DIR")]
    pub hooks_dir: Option<PathBuf>,

    /// End a hook that runs longer than DURATION
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "10s",
        allow_hyphen_values = true,
        value_parser = parse_hook_timeout
    )]
    pub hook_timeout: Duration,

    /// Set the format of log lines
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// Also log every turn of the token, and why data is dropped
    #[arg(short, long)]
    pub verbose: bool,
}

pub(super) fn unusable(error: &OptionsError) -> ring_host::Error {
    ring_host::Error::Usage(format!("{error}; see ringd jitterbug --help"))
}

impl Options {
    /// Checks that the options can work together.
    ///
    /// # Errors
    /// Fails if the options cannot work together.
    pub fn check(&self) -> Result<(), ring_host::Error> {
        self.keys.check()?;
        let checked = self.of_machine().check();
        checked.map_err(|error| unusable(&error))
    }

    /// Returns the options of the state machine.
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

    /// Returns the node's name on this machine.
    pub fn name(&self) -> NodeName {
        NodeName::of_system(SYSTEM, &self.interface)
    }

    /// Returns the options that select the interface.
    pub(super) fn interface_request(&self) -> InterfaceRequest<'_> {
        InterfaceRequest {
            name: &self.interface,
            waits_if_missing: self.wait_for_interface,
            log_format: self.log_format,
        }
    }

    /// Takes over the values that can change while the daemon runs.
    pub(super) fn adjust(&mut self, new: &Self) {
        self.keys.clone_from(&new.keys);
        self.verbose = new.verbose;
    }

    /// Returns the same options for an interface with another name.
    pub(super) fn with_interface(&self, interface: String) -> Self {
        Self {
            interface,
            ..self.clone()
        }
    }

    /// Returns the control socket's path.
    pub fn control_path(&self) -> PathBuf {
        match &self.control {
            Some(path) => path.clone(),
            None => self.name().socket_path(&control_dir(SYSTEM)),
        }
    }
}

fn parse_port(text: &str) -> Result<u16, String> {
    text.parse()
        .map_err(|_| "not a port; give a number up to 65535, as in 57700".to_owned())
}

fn parse_command(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("an empty command does nothing; give a line for the shell".to_owned());
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
    fn a_wrong_value_is_explained() {
        for (option, value, expected_text) in [
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
            assert!(error.contains(expected_text), "{option} {value}: {error}");
        }
    }

    #[test]
    fn help_names_every_default_and_the_rules_for_commands() {
        let help = Options::command()
            .term_width(200)
            .render_long_help()
            .to_string();
        let words = "57700 100ms 2s 500ms 65536 1MiB greater 10s pure /run/ringd-jitterbug/jitterbug-IFACE.sock";
        let phrases = ["equal on all nodes", "Do not use Jitterbug if", "  8  "];
        for word in words.split(' ').chain(phrases) {
            assert!(help.contains(word), "{word}");
        }
    }
}
