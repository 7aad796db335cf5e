//! The command line of `ringd ftn`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use ring_config::ConfigOption;
use ring_control::ftn::SYSTEM;
use ring_control::{NodeName, control_dir};
use ring_host::LogFormat;
use ring_host::trust::{KeyFileError, KeyOptions, KeySource, ServiceUser};
use ring_proto::ftn::server::{self, OptionsError, clients_max, majority};
use ring_text::{parse_bytes, parse_duration};

use super::trust::ServerTrust;
use crate::system::values::parse_count;

const EXAMPLES: &str = concat!(
    "\
FILE lists the servers, one HOST:PORT per line, numbered from 0; blank lines do not count. Give all \
servers and clients the same lines: a server ignores messages of a sender with other lines. Names are \
resolved at the start and every 10 s. A server whose name has no address is DOWN. Give all servers \
the same --heartbeat, --server-timeout, --client-timeout, --grace and --quorum. A server \
logs a warning if the options of another server differ.

Three or more servers need a majority by default. Then at most one side of a split continues. Three \
servers tolerate the loss of one server, and five servers tolerate the loss of two. One or two \
servers have --quorum 1 by default. Then both sides continue and may grant the same token. Two servers \
with --quorum 2 grant nothing while one of them is down.

",
    "Examples:\n",
    "  printf '%s\\n' a:7301 b:7301 c:7301 >/etc/ringd/ftn.servers\n",
    "                                         create a list of three servers\n",
    "  ringd ftn --servers /etc/ringd/ftn.servers --index 0\n",
    "                                         run the first of three servers, on machine a\n",
    "  ringd ftn --servers list --index 0 --bind 0.0.0.0\n",
    "                                         run it in a container that has another address\n",
    "  ringd ftn --servers list --index 0 --state-dir ~/ftn --control ~/ftn/0.sock\n",
    "                                         run it as an ordinary user\n",
    "  ringd ftn --servers list --index 0 --key-file ftn.keys --client-keys ftn.clients\n",
    "                                         accept only signed messages\n",
    "  ringctl -i ftn-0 status                show the leader and the servers that are up\n",
    "  ringctl -i ftn-0 watch                 print events as they happen\n",
    "  sudo ringd -- ftn                      join the ring on the interface named ftn\n",
    "
Two lists may each have a server 0 on one machine. Then give the server of the second list a different --state-dir \
and --control.

",
    "Signals:\n",
    "  SIGHUP           read the configuration file and the key files again; without a restart,\n",
    "                   these options change: accept-unsigned, client-keys, key-file, verbose\n",
    "  SIGTERM, SIGINT  hand the tokens over to the other servers, within 5 s, then exit\n",
    "  SIGUSR1          log the status\n",
    "\nExit codes:\n",
    "  0  shut down cleanly\n",
    "  1  unexpected error, or a second signal\n",
    "  2  wrong usage, options that cannot work together, or an index that is not in the list\n",
    "  3  the list of servers cannot be read, or this server's name cannot be resolved\n",
    "  4  the address of this server is not an address of this machine\n",
    "  5  no permission to use the server's port (below 1024, CAP_NET_BIND_SERVICE is needed)\n",
    "  6  the server's address is in use\n",
    "  7  the state directory or file cannot be used, or another ringd uses it\n",
    "  8  a socket for ringctl cannot be made\n",
    "  9  the state file was written by a newer ringd, belongs to another user, or is\n",
    "     not a state file"
);

/// The default maximum of clients. The default is lower if a message cannot contain a list of this many clients.
const CLIENTS_DEFAULT: usize = 10_000;
/// The default directory of the state file.
pub(super) const STATE_DIR: &str = "/var/lib/ringd-ftn";

/// Run a server of the token service.
///
/// A few servers keep named tokens, with data, for programs anywhere on the network. One server leads: it keeps the
/// list of clients and decides which servers are up. If a server is lost, the other servers serve its tokens.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "ftn",
    args_override_self = true,
    after_long_help = EXAMPLES,
    after_help = "See --help for more."
)]
pub struct Options {
    /// The option that names the configuration file.
    #[command(flatten)]
    pub config: ConfigOption,

    /// Read the servers from FILE, one HOST:PORT per line
    #[arg(long, value_name = "FILE")]
    pub servers: PathBuf,

    /// Run the server on line N of the list, counted from 0
    ///
    /// The server uses the address of its line, unless --bind names another address.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_count::<usize>)]
    pub index: usize,

    /// Bind this IP or IP:PORT [default: the address of the line]
    ///
    /// Use this option if the listed address reaches the server, but is not an address of its machine. An example is a
    /// server in a container, or behind a router that translates addresses. The address 0.0.0.0 means every address of
    /// the machine.
    #[arg(long, value_name = "ADDRESS", value_parser = parse_bind)]
    pub bind: Option<Bind>,

    /// Set the time between announcements of the leader
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "1s",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub heartbeat: Duration,

    /// Set the silence after which a server counts as DOWN
    ///
    /// If the leader is silent for this time, another server replaces it. The time must be at least three heartbeats.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "4s",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub server_timeout: Duration,

    /// Set the silence after which a client loses its tokens
    ///
    /// The minimum is 200ms. Clients keep their tokens during a change of the leader if
    /// client-timeout / 5 + server-timeout + 4 heartbeats < client-timeout * 3 / 4.
    /// The defaults satisfy this condition. A client with a longer timeout uses the timeout of the servers.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "15s",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub client_timeout: Duration,

    /// Wait for old clients first [default: --client-timeout]
    ///
    /// After a start of all servers, the servers first wait this long for clients of the earlier run. If the wait is
    /// shorter than --client-timeout, a server may grant a token that an old client still holds.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = parse_duration)]
    pub grace: Option<Duration>,

    /// Set how many servers must hear a leader, or majority
    ///
    /// A leader serves tokens only while at least this number of servers hear it. The number includes the leader. The
    /// default is majority for three or more servers, and 1 for fewer.
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = parse_quorum)]
    pub quorum: Option<Quorum>,

    /// Limit the memory for tokens, holders and clients
    ///
    /// Each token adds another 256 bytes to the total. At the limit, the server first drops tokens without holders and
    /// waiting clients. Then the server refuses new tokens and new waiting clients. The whole process uses up to a
    /// quarter more memory than SIZE, and some MiB for its own work.
    #[arg(long, value_name = "SIZE", default_value = "256MiB", allow_hyphen_values = true, value_parser = parse_bytes)]
    pub max_memory: usize,

    /// Limit the number of clients
    ///
    /// The default is 10000. With more than 16 servers, the default is smaller. Servers exchange their lists of
    /// clients, so COUNT has a maximum. This maximum is 155000 for two servers, 77000 for three and 38000 for five.
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = parse_count::<usize>)]
    pub max_clients: Option<usize>,

    /// The options for signed messages.
    #[command(flatten)]
    pub keys: KeyOptions,

    /// Accept clients with the keys of this file too
    ///
    /// ringd keygen --client prints a line of the file. The names of the permitted tokens follow the key. A name that
    /// ends in * permits all names with this start. A key without names permits all names. The rules for the file are
    /// those of --key-file.
    #[arg(long, value_name = "FILE")]
    pub client_keys: Option<KeySource>,

    /// Keep the highest configuration number in DIR/ftn-N.state
    #[arg(long, value_name = "DIR", default_value = STATE_DIR)]
    pub state_dir: PathBuf,

    /// Create the socket for ringctl at this path
    ///
    /// The default is /run/ringd-ftn/ftn-N.sock.
    ///
    /// Next to it, the daemon creates a socket for programs that only read. Its name ends in .monitor.
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,

    /// Set the format of log lines
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// Also log each session, and why datagrams are dropped
    #[arg(short, long)]
    pub verbose: bool,
}

/// The number of servers that a leader needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quorum {
    /// A leader needs this number of servers, including itself.
    Count(usize),
    /// A leader needs more than half of the servers, including itself.
    Majority,
}

/// The address that a server binds instead of its address in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bind {
    ip: IpAddr,
    /// The port; `None` means the port of the server's line.
    port: Option<u16>,
}

impl Bind {
    /// Returns the complete address. If this value has no port, the address gets the port `listed`, the port of the
    /// server's line.
    pub fn with_port(self, listed: u16) -> SocketAddr {
        SocketAddr::new(self.ip, self.port.unwrap_or(listed))
    }
}

fn parse_bind(text: &str) -> Result<Bind, String> {
    let with_port = |address: SocketAddr| Bind {
        ip: address.ip(),
        port: Some(address.port()),
    };
    let address = text.parse().map(with_port);
    address
        .or_else(|_| text.parse().map(|ip| Bind { ip, port: None }))
        .map_err(|_| "not an address; give IP or IP:PORT".to_owned())
}

impl Quorum {
    /// Returns the default for this number of servers. Two servers do not need a majority by default: they would grant
    /// nothing while one of them is down.
    const fn default_for(servers: usize) -> Self {
        if servers < 3 {
            Self::Count(1)
        } else {
            Self::Majority
        }
    }

    /// Returns the number of servers that a leader needs in a list of `servers`.
    pub const fn of(self, servers: usize) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Majority => majority(servers),
        }
    }
}

fn parse_quorum(text: &str) -> Result<Quorum, String> {
    match text {
        "majority" => Ok(Quorum::Majority),
        count => parse_count(count)
            .map(Quorum::Count)
            .map_err(|why| format!("{why}; or majority")),
    }
}

impl Options {
    /// Returns the options of the state machine. `servers` is the number of servers.
    pub fn of_machine(&self, servers: usize) -> server::Options {
        server::Options {
            heartbeat: self.heartbeat,
            server_timeout: self.server_timeout,
            client_timeout: self.client_timeout,
            grace: self.grace.unwrap_or(self.client_timeout),
            quorum: self
                .quorum
                .unwrap_or(Quorum::default_for(servers))
                .of(servers),
            max_memory: self.max_memory,
            max_clients: self
                .max_clients
                .unwrap_or_else(|| clients_max(servers).min(CLIENTS_DEFAULT)),
        }
    }

    /// Checks the options that do not depend on the list of servers.
    ///
    /// # Errors
    /// Fails if an option is wrong, or if the options cannot work together.
    pub fn check(&self) -> Result<(), ring_host::Error> {
        self.keys.check()?;
        if self.client_keys.is_some() && self.keys.key_file.is_none() {
            return Err(ring_host::Error::Usage(
                "--client-keys needs --key-file: without keys, a server accepts all clients; add --key-file FILE, or \
                 remove --client-keys"
                    .to_owned(),
            ));
        }
        // With few servers, the most clients are possible.
        let least = self.of_machine(1).quorum.max(1);
        let checked = self.of_machine(least).check(least);
        checked.map_err(|error| unusable(&error))
    }

    /// Reads the key files, if there are any.
    pub(super) fn trust(&self) -> Result<ServerTrust, KeyFileError> {
        let trust = self.keys.trust()?;
        let files = self.client_keys.as_ref().zip(trust.keys.as_ref());
        let clients = files.map(|(file, keys)| file.read_client_keys(keys));
        Ok(ServerTrust {
            clients: clients.transpose()?,
            trust,
        })
    }

    /// Checks the key files, if there are any. The daemons of the systemd units run as the user `service`. If they
    /// cannot use a file, returns a note.
    ///
    /// # Errors
    /// Fails if no daemon can use a file.
    pub(crate) fn check_keys(
        &self,
        service: Option<&ServiceUser>,
    ) -> Result<Vec<String>, KeyFileError> {
        let keys = self.keys.check_keys(service)?;
        let clients = self.client_keys.as_ref();
        let clients = clients.map(|file| file.check_client_keys(service));
        Ok(keys
            .into_iter()
            .chain(clients.transpose()?.flatten())
            .collect())
    }

    /// Takes over the values that can change while the daemon runs.
    pub(super) fn adjust(&mut self, new: &Self) {
        self.keys.clone_from(&new.keys);
        self.client_keys.clone_from(&new.client_keys);
        self.verbose = new.verbose;
    }

    /// Returns the server's name on this machine.
    pub fn name(&self) -> NodeName {
        NodeName::of_system(SYSTEM, &self.index.to_string())
    }

    /// Returns the control socket's path.
    pub fn control_path(&self) -> PathBuf {
        match &self.control {
            Some(path) => path.clone(),
            None => self.name().socket_path(&control_dir(SYSTEM)),
        }
    }
}

pub(super) fn unusable(error: &OptionsError) -> ring_host::Error {
    ring_host::Error::Usage(format!("{error}; see ringd ftn --help"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use clap::{CommandFactory, Parser};
    use ring_proto::ftn::server;

    use super::{Options, Quorum};

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        let own = ["ftn", "--servers", "/etc/ringd/ftn.servers", "--index", "1"];
        Options::try_parse_from(own.iter().chain(arguments)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_list_and_an_index_get_the_machines_defaults() {
        let options = parse(&[]).unwrap();
        let default_for = server::Options {
            quorum: 2,
            ..server::Options::default()
        };
        assert_eq!(options.of_machine(3), default_for);
        assert_eq!(
            options.control_path(),
            Path::new("/run/ringd-ftn/ftn-1.sock")
        );
        assert_eq!(options.state_dir, Path::new("/var/lib/ringd-ftn"));
        for missing in [&["ftn", "--index", "0"][..], &["ftn", "--servers", "/x"]] {
            assert!(Options::try_parse_from(missing).is_err(), "{missing:?}");
        }
    }

    #[test]
    fn a_quorum_is_a_number_or_a_majority_and_the_grace_defaults_to_the_client_timeout() {
        let options = parse(&["--quorum", "majority", "--client-timeout", "30s"]).unwrap();
        assert_eq!(options.quorum, Some(Quorum::Majority));
        assert_eq!(
            [1, 2, 3, 4, 5].map(|n| options.of_machine(n).quorum),
            [1, 2, 2, 3, 3]
        );
        assert_eq!(options.of_machine(3).grace, Duration::from_secs(30));
        let options = parse(&["--quorum", "2", "--grace", "0s", "--max-memory", "1GiB"]).unwrap();
        let machine = options.of_machine(3);
        assert_eq!((machine.quorum, machine.grace), (2, Duration::ZERO));
        assert_eq!(machine.max_memory, 1 << 30);
    }

    /// The memory limit of the systemd unit must allow the default of --max-memory.
    #[test]
    fn the_units_memory_limit_fits_the_default() {
        let unit = include_str!("../../../systemd/ringd-ftn@.service");
        let max = unit
            .lines()
            .find_map(|line| line.strip_prefix("MemoryMax="));
        let max = max.and_then(|max| max.strip_suffix('M')).unwrap();
        let max: usize = max.parse().unwrap();
        let default = parse(&[]).unwrap().max_memory >> 20;
        assert_eq!(max, default + default / 4 + 128);
    }

    #[test]
    fn three_or_more_servers_need_a_majority_by_default() {
        let quorums = |options: &[&str]| {
            let options = parse(options).unwrap();
            [1, 2, 3, 4, 5].map(|servers| options.of_machine(servers).quorum)
        };
        assert_eq!(quorums(&[]), [1, 1, 2, 3, 3]);
        assert_eq!(quorums(&["--quorum", "1"]), [1; 5]);
    }

    #[test]
    fn another_address_may_be_bound_with_the_listed_or_its_own_port() {
        let bound = |text| {
            parse(&["--bind", text])
                .unwrap()
                .bind
                .unwrap()
                .with_port(7301)
        };
        assert_eq!(bound("0.0.0.0"), ([0, 0, 0, 0], 7301).into());
        assert_eq!(bound("192.0.2.1:7302"), ([192, 0, 2, 1], 7302).into());
        assert_eq!(bound("::1"), "[::1]:7301".parse().unwrap());
        let error = parse(&["--bind", "a:7301"]).unwrap_err();
        assert!(error.contains("IP or IP:PORT"), "{error}");
    }

    #[test]
    fn a_wrong_value_is_explained() {
        for (option, value, expected_text) in [
            ("--quorum", "most", "or majority"),
            ("--quorum", "-1", "or majority"),
            ("--index", "-1", "not a count"),
            ("--max-clients", "x", "not a count"),
            ("--max-memory", "256", "as in 256MiB"),
            ("--max-memory", "-1MiB", "as in 256MiB"),
            ("--heartbeat", "-1s", "cannot be negative"),
            ("--grace", "5", "no unit"),
        ] {
            let error = parse(&[option, value]).unwrap_err();
            assert!(error.contains(expected_text), "{option} {value}: {error}");
        }
    }

    #[test]
    fn help_names_every_default_and_exit_code() {
        let help = Options::command()
            .term_width(200)
            .render_long_help()
            .to_string();
        let words = "1s 4s 15s 256MiB 10000 /var/lib/ringd-ftn /run/ringd-ftn/ftn-N.sock";
        for word in words.split(' ').chain(["  9  "]) {
            assert!(help.contains(word), "{word}");
        }
    }
}
