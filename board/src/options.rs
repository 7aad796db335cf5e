//! The command line of `ring-board`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use clap::ValueEnum;
use ring_codec::andrews::Method;
use ring_control::{NodeName, control_dir};
use ring_host::LogFormat;
use ring_proto::andrews;
use ring_text::{parse_bytes, parse_duration};

use crate::database::Url;
use crate::http::parse_name;

/// The default file of the database.
pub const DEFAULT_DATABASE: &str = "/var/lib/ringd-board/board.db";
/// The file in earlier versions.
pub const EARLIER_DATABASE: &str = "/var/lib/ringd/board.db";

/// The system's name, in a status and in the name of a node.
pub const SYSTEM: &str = "board";

const EXAMPLES: &str = "\
FILE lists all nodes that may be in the ring, one line per node and the same on each node; the first line may name the \
columns:

  id,address,port,http_port
  1,192.0.2.1,7400,8080
  2,192.0.2.2,7400,8080

Nodes talk to each other at address and port, by UDP and TCP. Browsers use address and http_port. Host names are not \
resolved. The page asks for no password: everyone who can reach it can read and post. Browsers reach it by an address, or \
by a name of --http-name. Requests under any other name are refused, because another site may use it to reach the node. The \
database contains the members of the ring and their order. Give all nodes the same database:

  sqlite:///PATH                 a file, for nodes of one machine
  postgres://USER@HOST/DATABASE  a server, for nodes of several machines

A file needs no installation. On a server the first node creates the tables. Its URL may end with ?sslmode= and disable, \
prefer (default: TLS if the server has it), require, verify-ca or verify-full. &sslrootcert=PATH names a file of trusted \
authorities [default: those of the machine].

The password of a server must not be on the command line, which ps shows. It comes from PGPASSWORD, from the systemd \
credential database-password, or from a file: PGPASSFILE or ~/.pgpass. The file has one line \
host:port:database:user:password per server, and only its owner may be able to read it.

One database serves one ring. A node refuses a database that has other addresses for the nodes of its list, or none of \
them. If lists differ otherwise, the nodes report each other, and join when the lists agree.

Give all nodes the same --hold, --ack-timeout, --token-timeout, --liveness, --election-timeout, --poll and \
--alone-timeout. In a ring of N nodes a rotation of the token takes N times --hold. A coordinator that has seen no token for \
--token-timeout + N times --hold makes a new one. --election-timeout must be longer than a rotation. --alone-timeout \
should be longer than --liveness + 3 times --ack-timeout: a coordinator that is cut off is then replaced before it removes \
other nodes.

A node that hangs while it writes blocks the writes of all others: with SQLite as long as it hangs, with PostgreSQL \
for 4 times --database-timeout.

Examples:
  ring-board -i 1 -f nodes.csv         the node with id 1, with the database
                                       /var/lib/ringd-board/board.db
  ring-board -i 1 -f nodes.csv --drop  empty the ring first, while no other node
                                       runs
  ring-board -i 2 -f nodes.csv --database postgres://board@db/board
  ringctl -i board-1 status            show the node and the ring
  ringctl -i board-1 watch             show each event too

Signals:
  SIGTERM, SIGINT  pass on a token, then exit; the coordinator removes the node
  SIGUSR1          log the status

Exit codes:
  0  shut down cleanly
  1  unexpected error, an address that cannot be used, or a second signal
  2  wrong usage, an invalid list, options that cannot work, or a password in
     --database
  7  the file of the database cannot be used
  8  the control socket cannot be made";

/// Run a node of a coordinated ring.
///
/// The nodes of a list form a ring, whose order is in a database. A coordinator inserts nodes and removes failed ones. If it
/// is lost, the nodes elect another. A token goes round, and the node that holds it may use the table of posts. A web page
/// shows the posts.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "ring-board",
    version,
    args_override_self = true,
    after_long_help = EXAMPLES,
    after_help = "See --help for more."
)]
pub struct Options {
    /// This node's id: the first column of its line in the list.
    #[arg(short, long, value_name = "ID", allow_negative_numbers = true, value_parser = parse_id)]
    pub id: u32,

    /// The list of nodes: lines of id,address,port,http_port.
    #[arg(short = 'f', long, value_name = "FILE")]
    pub nodes: PathBuf,

    /// The method of the elections that this node starts. Elections that other nodes start use their method.
    #[arg(short, long, value_name = "METHOD", value_enum, default_value = "ring")]
    pub election: Election,

    /// Empty the ring first: no members, no coordinator, only the nodes of the list. Posts stay.
    #[arg(short, long)]
    pub drop: bool,

    /// The database.
    #[arg(
        long,
        value_name = "URL",
        default_value = "sqlite:///var/lib/ringd-board/board.db"
    )]
    pub database: Url,

    /// How long this node keeps a token without work.
    #[arg(long, value_name = "DURATION", default_value = "50ms", allow_hyphen_values = true, value_parser = parse_duration)]
    pub hold: Duration,

    /// How long to wait for the acknowledgement of the token, and between two requests to the coordinator.
    #[arg(long, value_name = "DURATION", default_value = "500ms", allow_hyphen_values = true, value_parser = parse_duration)]
    pub ack_timeout: Duration,

    /// How long the coordinator waits for a missing token before it makes a new one; a rotation is added.
    #[arg(long, value_name = "DURATION", default_value = "5s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub token_timeout: Duration,

    /// Time limit for a connection to a node, and for the first message on an accepted connection.
    #[arg(long, value_name = "DURATION", default_value = "1s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub connect_timeout: Duration,

    /// How long a peer's kernel may be silent before its connection is closed, in whole seconds. A message must also end
    /// within it.
    #[arg(long, value_name = "DURATION", default_value = "3s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub liveness: Duration,

    /// How long an election may take. It must be longer than a rotation of the token.
    #[arg(long, value_name = "DURATION", default_value = "1s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub election_timeout: Duration,

    /// The interval at which this node reads the database.
    #[arg(long, value_name = "DURATION", default_value = "1s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub poll: Duration,

    /// How long the database may take to answer before it counts as slow. The token then goes on without it.
    #[arg(long, value_name = "DURATION", default_value = "1s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub database_timeout: Duration,

    /// How long a coordinator may write nothing to the database before a node that hears no other node replaces it.
    #[arg(long, value_name = "DURATION", default_value = "5s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub alone_timeout: Duration,

    /// How long a request of the page waits for the token.
    #[arg(long, value_name = "DURATION", default_value = "10s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub request_timeout: Duration,

    /// The address of the page [default: the address and http_port of this node's line]
    #[arg(long, value_name = "ADDR:PORT")]
    pub http: Option<SocketAddr>,

    /// A name for browsers, in addition to the addresses and localhost. May be given several times.
    #[arg(long = "http-name", value_name = "NAME", value_parser = parse_name)]
    pub http_names: Vec<String>,

    /// Bytes of posts that one client may write per second. All clients together may write four times as many.
    #[arg(long, value_name = "SIZE", default_value = "256KiB", allow_hyphen_values = true, value_parser = parse_bytes)]
    pub post_rate: usize,

    /// The control socket for ringctl [default: /run/ringd-board/board-ID.sock]
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,

    /// The format of log lines.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// Log each hop of the token and each dropped message too.
    #[arg(short, long)]
    pub verbose: bool,
}

/// The method of an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Election {
    /// Round the ring; the message collects all ids
    Ring,
    /// Round the ring; the message keeps only the largest id (Chang and Roberts)
    ChangRoberts,
    /// By datagrams to nodes with larger ids (bully)
    Bully,
}

impl From<Election> for Method {
    fn from(election: Election) -> Self {
        match election {
            Election::Ring => Self::RingBased,
            Election::ChangRoberts => Self::ChangRoberts,
            Election::Bully => Self::Bully,
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

    /// Returns the path of the control socket.
    pub fn control_path(&self) -> PathBuf {
        match &self.control {
            Some(path) => path.clone(),
            None => {
                NodeName::of_system(SYSTEM, &self.id.to_string()).socket_path(&control_dir(SYSTEM))
            }
        }
    }
}

fn parse_id(text: &str) -> Result<u32, String> {
    let id = text.parse().ok().filter(|&id| id > 0);
    id.ok_or_else(|| {
        "not an id: give the first column of a line of the list, from 1 to 4294967295".to_owned()
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
    fn the_declaration_is_sound() {
        Options::command().debug_assert();
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
            "no password",
            "10s",
            "/run/ringd-board/board-ID.sock",
            "  8  ",
        ];
        for word in words {
            assert!(help.contains(word), "{word}");
        }
    }
}
