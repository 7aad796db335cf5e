//! The options of a node.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use ring_codec::andrews::Method;
use ring_config::ConfigOption;
use ring_control::{NodeName, control_dir};
use ring_host::LogFormat;
use ring_host::trust::KeyOptions;
use ring_proto::andrews;
use ring_text::{parse_bytes, parse_duration};

use crate::database::Url;
use crate::http::parse_name;

/// The default file of the database.
pub const DEFAULT_DATABASE: &str = "/var/lib/ringd-board/board.db";
/// The file of the database in earlier versions.
pub const EARLIER_DATABASE: &str = "/var/lib/ringd/board.db";

/// The system's name. The status of a node and the name of a node contain this text.
pub const SYSTEM: &str = "board";

const EXAMPLES: &str = "\
FILE lists all nodes that may be in the ring. FILE has one line per node, and is the same on each node. The first line \
may name the columns:

  id,address,port,http_port
  1,192.0.2.1,7400,8080
  2,192.0.2.2,7400,8080

Nodes talk to each other at address and port, by UDP and TCP. Browsers use address and http_port. Host names are not \
resolved. The database contains the members of the ring and their order. Give all nodes the same database:

  sqlite:///PATH                 a file, for nodes of one machine
  postgres://USER@HOST/DATABASE  a server, for nodes of several machines

A file needs no installation. On a server, the first node creates the tables. The URL of a server may end with \
?sslmode= and disable, prefer, require, verify-ca or verify-full. The default is prefer: the node uses TLS if the \
server supports TLS. Add &sslrootcert=PATH to name a file of trusted authorities [default: the authorities that the \
machine trusts].

The page needs a password if other machines can reach it. The password file has one line, which ring-board password \
makes. Only the user of the node may read the file. Browsers log in with the password. Programs send it with each \
request, by HTTP Basic authentication. The page has no encryption: use a reverse proxy and --http-proxy.

Browsers reach the page by an address, or by a name of --http-name. The node refuses requests under any other name, \
because another site may use such a name to reach the node.

Do not give the password of a server on the command line, which ps shows. Give the password in PGPASSWORD, in the \
systemd credential database-password, or in a file: PGPASSFILE or ~/.pgpass. The file has one line \
host:port:database:user:password per server. Only its owner may have permission to read it.

One database serves one ring. A node refuses a database that has another address for a node of the list. A node \
also refuses a database that has only other nodes. If the lists of two nodes differ in another way, the nodes log \
a warning. The two nodes join when the lists agree.

Give all nodes the same times. Only --connect-timeout, --database-timeout and --request-timeout may differ. In a ring \
of N nodes, a rotation of the token takes N times --hold. If the token is missing for --token-timeout plus the time of \
a rotation, the coordinator makes a new token. The --election-timeout must be longer than a rotation.

If a node hangs while it writes, the other nodes cannot write. With SQLite they cannot write until the node continues. \
With PostgreSQL they cannot write for 4 times --database-timeout.

Examples:
  Run the node with id 1, with the database /var/lib/ringd-board/board.db:
    ring-board -i 1 -f nodes.csv

  Make a password file:
    ring-board password | install -m 600 /dev/stdin board.password

  Ask for this password:
    ring-board -i 1 -f nodes.csv --http-password-file board.password

  Empty the ring first, while no other node runs:
    ring-board -i 1 -f nodes.csv --drop

  Use a PostgreSQL server:
    ring-board -i 2 -f nodes.csv --database postgres://board@db/board

  Show the node and the ring:
    ringctl -i board-1 status

  Also show each event:
    ringctl -i board-1 watch

Signals:
  SIGTERM, SIGINT  pass on a token, then exit
  SIGHUP           read the configuration again
  SIGUSR1          log the status

Exit codes:
  0  The node has shut down cleanly.
  1  An unexpected error, an address that cannot be used, or a second signal.
  2  Wrong usage, an invalid list or password file, options that cannot
     work, or a password in --database.
  7  The file of the database cannot be used.
  8  A socket for ringctl cannot be made.";

/// Run a node of a coordinated ring
///
/// The nodes of a list form a ring. A database stores the order of the ring. A coordinator inserts nodes into the ring,
/// and removes failed nodes. If the coordinator is lost, the nodes elect another one. A token moves round the ring. The
/// node that holds the token may use the table of posts. A web page shows the posts.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "ring-board",
    version,
    args_override_self = true,
    after_long_help = EXAMPLES,
    after_help = "See --help for more."
)]
pub struct Options {
    /// The option that names the configuration file.
    #[command(flatten)]
    pub config: ConfigOption,

    /// Set this node's id, the first column of its line in the list
    #[arg(short, long, value_name = "ID", allow_negative_numbers = true, value_parser = parse_id)]
    pub id: u32,

    /// Read the list of nodes, with lines id,address,port,http_port
    #[arg(short = 'f', long, value_name = "FILE")]
    pub nodes: PathBuf,

    /// Set the method of the elections that this node starts
    ///
    /// An election that another node starts uses the method of that node.
    #[arg(short, long, value_name = "METHOD", value_enum, default_value = "ring")]
    pub election: ElectionMethod,

    /// Empty the ring before the start
    ///
    /// Then the ring has no members and no coordinator. The database has only the nodes of the list. The
    /// posts stay.
    #[arg(short, long)]
    pub drop: bool,

    /// Set the database
    #[arg(
        long,
        value_name = "URL",
        default_value = "sqlite:///var/lib/ringd-board/board.db"
    )]
    pub database: Url,

    /// Set the time for which this node keeps a token without work
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "50ms",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub hold: Duration,

    /// Set the time to wait for an acknowledgement of the token
    ///
    /// The node also waits for this time between two requests to the coordinator.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "500ms",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub ack_timeout: Duration,

    /// Set the time to wait for a missing token
    ///
    /// If the token is missing for this time plus the time of a rotation, the coordinator makes a new token.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "5s",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub token_timeout: Duration,

    /// Set the time limit for a new connection to a node
    ///
    /// The first message on an accepted connection must also come within this time.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "1s",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub connect_timeout: Duration,

    /// Close a peer's connection after this time of silence
    ///
    /// The option limits the silence of the peer's kernel, in whole seconds. When the first bytes of a message have
    /// arrived, the other bytes must also arrive within this time.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "3s",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub liveness: Duration,

    /// Set the maximum time of an election
    ///
    /// The election timeout must be longer than a rotation of the token.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "1s",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub election_timeout: Duration,

    /// Set the interval at which this node reads the database
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "1s",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub poll: Duration,

    /// Set the time limit for an answer of the database
    ///
    /// If the database does not answer within this time, the token moves on without the database.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "1s",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub database_timeout: Duration,

    /// Set the silence after which a node replaces the coordinator
    ///
    /// This option applies only while the node hears no other node. The coordinator is silent if it writes nothing to
    /// the database. The time should be longer than --liveness + 3 times --ack-timeout. Then the other nodes replace a
    /// cut-off coordinator before it removes nodes.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "5s",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub alone_timeout: Duration,

    /// Set the time for which a request waits for the token
    ///
    /// The requests come from the page.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "10s",
        allow_hyphen_values = true,
        value_parser = parse_duration
    )]
    pub request_timeout: Duration,

    /// The options for signed messages.
    #[command(flatten)]
    pub keys: KeyOptions,

    /// Set the address of the page [default: the address and http_port of this node's line]
    #[arg(long, value_name = "ADDR:PORT")]
    pub http: Option<SocketAddr>,

    /// Add a name by which browsers may reach the page
    ///
    /// The addresses and localhost always work. You may give this option several times.
    #[arg(long = "http-name", value_name = "NAME", value_parser = parse_name)]
    pub http_names: Vec<String>,

    /// Ask for the password of this file
    ///
    /// Without this option, the page must have a loopback address, such as 127.0.0.1.
    #[arg(long, value_name = "FILE")]
    pub http_password_file: Option<PathBuf>,

    /// Expect a reverse proxy with TLS on this machine
    ///
    /// The node believes the header X-Forwarded-For of connections from this machine. Browsers send their cookie only
    /// by TLS.
    #[arg(long)]
    pub http_proxy: bool,

    /// Limit the bytes of posts that a client writes per second
    ///
    /// All clients together may write four times as many bytes.
    #[arg(long, value_name = "SIZE", default_value = "256KiB", allow_hyphen_values = true, value_parser = parse_bytes)]
    pub post_rate: usize,

    /// Set the control socket for ringctl [default: /run/ringd-board/board-ID.sock]
    ///
    /// Next to it, the node creates a socket for programs that only read. Its name ends in .monitor.
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,

    /// Set the format of log lines
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// Also log each hop of the token and each dropped message
    #[arg(short, long)]
    pub verbose: bool,
}

/// The method of an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ElectionMethod {
    /// Send one message round the ring; the message collects all ids
    Ring,
    /// Send one message round the ring; the message keeps only the largest id (Chang and Roberts)
    ChangRoberts,
    /// Send datagrams to the nodes with larger ids (bully)
    Bully,
}

impl From<ElectionMethod> for Method {
    fn from(election: ElectionMethod) -> Self {
        match election {
            ElectionMethod::Ring => Self::RingBased,
            ElectionMethod::ChangRoberts => Self::ChangRoberts,
            ElectionMethod::Bully => Self::Bully,
        }
    }
}

impl Options {
    /// Returns the options of the state machine.
    pub fn node_options(&self) -> andrews::Options {
        andrews::Options {
            id: self.id,
            election: self.election.into(),
            drop: self.drop,
            hold: self.hold,
            ack_timeout: self.ack_timeout,
            token_timeout: self.token_timeout,
            connect_timeout: self.connect_timeout,
            liveness: self.liveness,
            election_timeout: self.election_timeout,
            poll: self.poll,
            database_timeout: self.database_timeout,
            alone_timeout: self.alone_timeout,
            request_timeout: self.request_timeout,
        }
    }

    /// Takes over the values that can change while the node runs.
    pub fn adjust(&mut self, new: &Self) {
        self.keys.clone_from(&new.keys);
        self.verbose = new.verbose;
    }

    /// Returns the path of the control socket.
    pub fn control_path(&self) -> PathBuf {
        match &self.control {
            Some(path) => path.clone(),
            None => self.name().socket_path(&control_dir(SYSTEM)),
        }
    }

    /// Returns the node's name on this machine.
    pub fn name(&self) -> NodeName {
        NodeName::of_system(SYSTEM, &self.id.to_string())
    }
}

fn parse_id(text: &str) -> Result<u32, String> {
    let id = text.parse().ok().filter(|&id| id > 0);
    id.ok_or_else(|| {
        "not an id: give a number from 1 to 4294967295, as in the first column of the list"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::{CommandFactory, Parser};
    use ring_codec::andrews::Method;
    use ring_proto::andrews;

    use super::Options;

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        let own = ["ring-board", "-i", "7", "-f", "nodes.csv"];
        Options::try_parse_from(own.iter().chain(arguments)).map_err(|error| error.to_string())
    }

    #[test]
    fn an_id_and_a_list_get_the_defaults_of_the_machine() {
        let options = parse(&[]).unwrap();
        assert_eq!(options.node_options(), andrews::Options::new(7));
        assert_eq!(
            options.control_path(),
            Path::new("/run/ringd-board/board-7.sock")
        );
        assert_eq!(
            options.database.to_string(),
            "sqlite:///var/lib/ringd-board/board.db"
        );
        for few in [&["ring-board"][..], &["ring-board", "-i", "1"]] {
            assert!(Options::try_parse_from(few).is_err(), "{few:?}");
        }
    }

    #[test]
    fn a_node_may_have_several_names() {
        let options = parse(&["--http-name", "a", "--http-name", "B.example"]).unwrap();
        assert_eq!(options.http_names, ["a", "b.example"]);
    }

    #[test]
    fn each_method_and_switch_is_taken() {
        for (name, method) in [
            ("ring", Method::RingBased),
            ("chang-roberts", Method::ChangRoberts),
            ("bully", Method::Bully),
        ] {
            let options = parse(&["-e", name, "-d", "--hold", "0ms"]).unwrap();
            let machine = options.node_options();
            assert!(machine.election == method && machine.drop && machine.hold.is_zero());
        }
    }

    #[test]
    fn error_texts_for_wrong_values() {
        for (option, value, words) in [
            ("--id", "0", "from 1 to 4294967295"),
            ("--id", "-1", "from 1 to 4294967295"),
            ("--hold", "5", "no unit"),
            ("--poll", "-1s", "cannot be negative"),
            ("--election", "lots", "chang-roberts"),
            ("--http", "8080", "invalid"),
            ("--http-name", "board:8080", "without a port"),
            ("--database", "mysql://x", "use sqlite:///"),
            ("--database", "sqlite://board.db", "three slashes"),
        ] {
            let error = parse(&[option, value]).unwrap_err();
            assert!(error.contains(words), "{option} {value}: {error}");
        }
    }

    #[test]
    fn help_has_every_default_the_list_and_the_database() {
        let help = Options::command()
            .term_width(200)
            .render_long_help()
            .to_string();
        let words = [
            "id,address,port,http_port",
            "50ms",
            "500ms",
            "5s",
            "1s",
            "3s",
            "sqlite:///var/lib/ringd-board/board.db",
            "postgres://",
            "verify-full",
            "database-password",
            "http_port of this node",
            "ring-board password",
            "http-password-file",
            "10s",
            "/run/ringd-board/board-ID.sock",
            "  8  ",
        ];
        for word in words {
            assert!(help.contains(word), "{word}");
        }
    }
}
