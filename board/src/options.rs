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

/// The file of the database, unless the options name another.
pub const DATABASE: &str = "/var/lib/ringd-board/board.db";
/// Where earlier versions kept it.
pub const EARLIER: &str = "/var/lib/ringd/board.db";

/// The system's name, in a status and in the name of a node.
pub const SYSTEM: &str = "board";

const EXAMPLES: &str = "\
FILE lists all nodes that may be in the ring, one line per node and the same on each node; the first line may name the \
columns:

  id,address,port,http_port
  1,192.0.2.1,7400,8080
  2,192.0.2.2,7400,8080

Nodes talk to one another at address and port, by UDP and TCP; browsers see the board at address and http_port. Names are \
not resolved. The page asks for no password: everybody who can reach it can read and post. It is reached by an address, or \
by a name that --http-name has. Any other name is that of another site, whose pages are kept out. The database says which \
nodes are in the ring, and in which order; give all nodes the same one:

  sqlite:///PATH                 a file, for nodes of one machine
  postgres://USER@HOST/DATABASE  a server, for nodes of several machines

A file needs no installation. A server is given its tables at the first start. Its URL may end with ?sslmode= and disable, \
prefer (default: TLS if the server has it), require, verify-ca or verify-full; &sslrootcert=PATH names the authorities \
[default: those of the machine].

The password of a server is not taken from the command line, which ps shows. It comes from PGPASSWORD, from the systemd \
credential database-password, or from the file of PGPASSFILE or ~/.pgpass. That has one line \
host:port:database:user:password per server, and only its owner may read it.

One database serves one ring. A node refuses a database whose rows give other addresses to the nodes of its list, or have \
none of them. Nodes whose lists differ otherwise report each other, and join when the lists agree.

Give all nodes the same --hold, --ack-timeout, --token-timeout, --liveness, --election-timeout, --poll and \
--alone-timeout. The token makes a round in N times --hold. A coordinator that has seen no token for --token-timeout + N \
times --hold makes a new one. --election-timeout must be longer than a round. --alone-timeout should be longer than \
--liveness + 3 times --ack-timeout: a coordinator that is cut off is then replaced before it removes others.

A node that hangs while it writes keeps all others from writing: with SQLite for as long as it hangs, with PostgreSQL \
for 4 times --database-timeout.

Examples:
  ring-board -i 1 -f nodes.csv         the node with id 1, with the database
                                       /var/lib/ringd-board/board.db
  ring-board -i 1 -f nodes.csv --drop  empty the ring first; for a start while
                                       no other node runs
  ring-board -i 2 -f nodes.csv --database postgres://board@db/board
  ringctl -i board-1 status            what the node is, and who is in the ring
  ringctl -i board-1 watch             and each event

Signals:
  SIGTERM, SIGINT  pass a token on, then exit; the predecessor has the node
                   removed
  SIGUSR1          log the status

Exit codes:
  0  shut down cleanly
  1  unexpected error, an address that cannot be used, or a second signal
  2  wrong usage, a list that is none, options that cannot work, or a password
     in --database
  7  the file of the database cannot be used
  8  the control socket cannot be made";

/// Run a node of a coordinated ring.
///
/// The nodes of a list form a ring, whose order a database has. A coordinator puts nodes in and takes failed ones out; if it
/// is lost another is elected. A token goes round, and whoever has it may use the table of posts,
/// which a web page shows.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "ring-board",
    version,
    args_override_self = true,
    after_long_help = EXAMPLES,
    after_help = "--help says more."
)]
pub struct Options {
    /// This node's id: the first column of its line in the list.
    #[arg(short, long, value_name = "ID", allow_negative_numbers = true, value_parser = parse_id)]
    pub id: u32,

    /// The list of nodes: id,address,port,http_port a line.
    #[arg(short = 'f', long, value_name = "FILE")]
    pub nodes: PathBuf,

    /// The method of the elections that this node starts. Elections that other nodes start use their method.
    #[arg(short, long, value_name = "METHOD", value_enum, default_value = "ring")]
    pub election: Election,

    /// Empty the ring first: no members, no coordinator, no nodes but those of the list. Posts stay.
    #[arg(short, long)]
    pub drop: bool,

    /// Where the database is.
    #[arg(
        long,
        value_name = "URL",
        default_value = "sqlite:///var/lib/ringd-board/board.db"
    )]
    pub database: Url,

    /// How long this node keeps the token without work for it.
    #[arg(long, value_name = "DURATION", default_value = "50ms", allow_hyphen_values = true, value_parser = parse_duration)]
    pub hold: Duration,

    /// How long to wait for the token's acknowledgement, and between two requests to the coordinator.
    #[arg(long, value_name = "DURATION", default_value = "500ms", allow_hyphen_values = true, value_parser = parse_duration)]
    pub ack_timeout: Duration,

    /// How long the coordinator waits for a missing token before it makes a new one; one round of --hold is added.
    #[arg(long, value_name = "DURATION", default_value = "5s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub token_timeout: Duration,

    /// Time limit for a connection to a node, and for the first message on one that another node has made.
    #[arg(long, value_name = "DURATION", default_value = "1s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub connect_timeout: Duration,

    /// How long a peer's kernel may be silent before its connection is closed, in whole seconds. A message must also end
    /// within it.
    #[arg(long, value_name = "DURATION", default_value = "3s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub liveness: Duration,

    /// How long an election may take; longer than a round of the ring.
    #[arg(long, value_name = "DURATION", default_value = "1s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub election_timeout: Duration,

    /// How often the database is read.
    #[arg(long, value_name = "DURATION", default_value = "1s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub poll: Duration,

    /// How long the database may take to answer before it counts as slow: the token then goes on without it.
    #[arg(long, value_name = "DURATION", default_value = "1s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub database_timeout: Duration,

    /// How long a coordinator may give no sign in the database before a node that hears nobody takes it for dead.
    #[arg(long, value_name = "DURATION", default_value = "5s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub alone_timeout: Duration,

    /// How long a request of the page waits for the token.
    #[arg(long, value_name = "DURATION", default_value = "10s", allow_hyphen_values = true, value_parser = parse_duration)]
    pub request_timeout: Duration,

    /// Where the page is [default: the address and http_port of this node's line]
    #[arg(long, value_name = "ADDR:PORT")]
    pub http: Option<SocketAddr>,

    /// A name that browsers may ask for this node by, beside its addresses and localhost. May be given several times.
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

    /// Log every turn of the token too, and why messages are dropped.
    #[arg(short, long)]
    pub verbose: bool,
}

/// How a coordinator is elected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Election {
    /// Round the ring, collecting the numbers of all.
    Ring,
    /// Round the ring, the largest number on the way alone (Chang and Roberts).
    ChangRoberts,
    /// By datagrams to larger numbers (bully).
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
    /// What the machine is told.
    pub fn of_machine(&self) -> andrews::Options {
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

    /// The control socket's path.
    pub fn control_path(&self) -> PathBuf {
        match &self.control {
            Some(path) => path.clone(),
            None => NodeName::of(SYSTEM, &self.id.to_string()).socket(&control_dir(SYSTEM)),
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
    fn an_id_and_a_list_alone_get_the_defaults_of_the_machine() {
        let options = parse(&[]).unwrap();
        assert_eq!(options.of_machine(), andrews::Options::new(7));
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
            let machine = options.of_machine();
            assert!(machine.election == method && machine.drop && machine.hold.is_zero());
        }
    }

    #[test]
    fn a_wrong_value_is_told_of_in_plain_words() {
        for (option, value, said) in [
            ("--id", "0", "from 1 to 4294967295"),
            ("--id", "-1", "from 1 to 4294967295"),
            ("--hold", "5", "no unit"),
            ("--poll", "-1s", "cannot be negative"),
            ("--election", "lots", "chang-roberts"),
            ("--http", "8080", "invalid"),
            ("--http-name", "board:8080", "without a port"),
            ("--database", "mysql://x", "give sqlite:///"),
            ("--database", "sqlite://board.db", "three slashes"),
        ] {
            let error = parse(&[option, value]).unwrap_err();
            assert!(error.contains(said), "{option} {value}: {error}");
        }
    }

    #[test]
    fn help_names_every_default_and_what_the_list_and_the_database_are() {
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
