//! The command line of `ringctl token`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Subcommand, ValueHint};
use clap_complete::ArgValueCandidates;
use ring_client::token::{Access, WaitLimits};

use super::super::nodes::SERVERS;
use super::super::values::{client_timeout, exit_code, label, shortened, wait};
use super::client::{CLIENT_TIMEOUT, SERVERS_VARIABLE};
use super::completion;
use super::name::Name;

const TOKEN: &str = "\
A token has a name of 1 to 1,024 bytes, and data of up to 32,768. It comes into \
being when it is asked for. Any number of clients can share it, or one can hold it \
exclusively. Waiting clients get it in the order in which they came.

FILE has one line HOST:PORT per server. All servers and clients need the same lines: a \
server does not answer a client with other lines.

A client that hears nothing from the servers for three quarters of \
--client-timeout has lost its tokens. If servers have a shorter one, the client \
uses that. The time is to be longer than a change of leader \
takes: see docs/ftn.md before you set it below 15s.

Exit codes:
  0   done
  1   the token was not granted in time (-E sets another code); list: a server
      does not answer; ringctl runs under the token already, or a system call
      failed (always 1)
  2   wrong usage, or FILE is no list of servers
  3   no session within 10 s (with -w: the time of -w, at least 0.5 s): no
      server answers, they have no leader, or their list is another one
  4   get: the token has no data; none were set, or they were lost with a server
  75  the token was lost

Examples:
  ringctl token run nightly -- backup /srv
  ringctl token get counter
  make list | ringctl token set list
  ringctl token --servers lab.servers list
  RINGD_SERVERS=lab.servers ringctl token list";

const RUN: &str = "\
The command's environment:
  RINGD_TOKEN   the fencing number: it grows with each grant of the token
  RINGD_DATA    the token's data in hexadecimal digits, since no environment can
                hold a byte of value 0
  RINGD_TOKENS  what the command runs under: another ringctl token for the same
                token fails at once, since it would wait for its own end

ringctl passes TERM, INT, HUP, QUIT, USR1, USR2, WINCH and TSTP on to the \
command. While it waits for the token, the first four end it, and USR1, USR2 \
and WINCH do nothing.

When the lease is not renewed, the command and all that it has started get SIGTERM \
2 s (or an eighth of --client-timeout) before the lease ends, and SIGKILL before \
another client can be granted the token. The same happens to what a command leaves \
behind when it ends, and if ringctl is killed. It runs on when others wait.

Exit codes: those of the command; 128 and the signal's number, if one ended it;
those of ringctl token; and
  126  the command cannot be run
  127  there is no such command";

/// What is done with tokens of which servers.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = TOKEN)]
pub struct TokenOptions {
    /// The list of the servers: one line HOST:PORT per server.
    #[arg(long, value_name = "FILE", env = SERVERS_VARIABLE, hide_env_values = true, default_value = SERVERS, value_hint = ValueHint::FilePath)]
    pub servers: PathBuf,

    /// The silence after which a session ends; a shorter one of the servers counts.
    ///
    /// Without a unit it is seconds. The servers end a session after their own --client-timeout, and announce that.
    #[arg(long, value_name = "DURATION", default_value = CLIENT_TIMEOUT, value_parser = client_timeout, allow_hyphen_values = true)]
    pub client_timeout: Duration,

    /// What to do.
    #[command(subcommand)]
    pub command: TokenCommand,
}

/// What can be done with a token.
#[derive(Debug, Clone, Subcommand)]
pub enum TokenCommand {
    /// Run a command while a token is held, then give it back.
    Run(RunOptions),
    /// Print a token's data, byte for byte.
    ///
    /// The token is held shared for that, so nobody is about to change it.
    Get {
        /// How to wait for the token.
        #[command(flatten)]
        acquire: Acquire,
        /// The token's name.
        #[arg(value_parser = name(), add = ArgValueCandidates::new(completion::names))]
        name: Name,
    },
    /// Set a token's data.
    ///
    /// The token is held exclusively for that. It is done when its server has confirmed it.
    Set {
        /// How to wait for the token.
        #[command(flatten)]
        acquire: Acquire,
        /// The token's name.
        #[arg(value_parser = name(), add = ArgValueCandidates::new(completion::names))]
        name: Name,
        /// The data, at most 32,768 bytes; -: those of standard input [default: -].
        #[arg(allow_hyphen_values = true)]
        data: Option<OsString>,
    },
    /// Hold a token until SIGTERM or SIGINT; print 'granted' and its fencing number, and 'returned' at the end.
    Hold {
        /// How to wait for the token.
        #[command(flatten)]
        acquire: Acquire,
        /// Share the token with others.
        #[arg(long)]
        shared: bool,
        /// Give it back when another client waits for it.
        #[arg(long)]
        until_revoked: bool,
        /// The token's name.
        #[arg(value_parser = name(), add = ArgValueCandidates::new(completion::names))]
        name: Name,
    },
    /// Show all tokens: who holds them, and who waits for them.
    List {
        /// Print JSON for programs: an array of objects.
        #[arg(long)]
        json: bool,
    },
}

/// What is to be run, and how.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = RUN)]
pub struct RunOptions {
    /// How to wait for the token.
    #[command(flatten)]
    pub acquire: Acquire,

    /// Share the token with others.
    #[arg(long)]
    pub shared: bool,

    /// The token's name.
    #[arg(value_parser = name(), add = ArgValueCandidates::new(completion::names))]
    pub name: Name,

    /// The command and its arguments.
    #[arg(value_name = "CMD", trailing_var_arg = true, required = true)]
    pub command: Vec<OsString>,
}

/// How a token is wanted.
#[derive(Debug, Clone, Args)]
pub struct Acquire {
    /// Do not wait while other clients hold the token: give up 0.4 s after the session is live.
    #[arg(short, long, conflicts_with = "timeout")]
    pub nonblock: bool,

    /// Give up after DURATION (30s, 5m, or 30 for 30s).
    #[arg(short = 'w', long, visible_alias = "wait", value_name = "DURATION", value_parser = wait, allow_hyphen_values = true)]
    pub timeout: Option<Duration>,

    /// Exit with CODE if the token is not granted.
    #[arg(short = 'E', long, value_name = "CODE", default_value_t = 1, value_parser = exit_code, allow_negative_numbers = true)]
    pub conflict_exit_code: u8,

    /// The name of the work, as list shows it [default: that of the command].
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub label: Option<String>,
}

impl Acquire {
    /// Returns what the session says of itself to people, with the label `what` unless another one is given.
    pub(super) fn introduction(&self, what: &str) -> String {
        let label = self.label.as_deref().unwrap_or(shortened(what));
        format!("{label} (process {})", std::process::id())
    }

    /// How long the token is waited for.
    pub(super) fn wait_limits(&self) -> WaitLimits {
        wait_limits(self.nonblock, self.timeout)
    }
}

/// How long a token is waited for with these options.
pub(super) fn wait_limits(nonblock: bool, timeout: Option<Duration>) -> WaitLimits {
    match timeout {
        _ if nonblock => WaitLimits::none(),
        Some(wait) => WaitLimits::limited(wait),
        None => WaitLimits::endless(),
    }
}

/// How a token is held that is to be shared, or not.
pub(super) const fn access(shared: bool) -> Access {
    if shared {
        Access::Shared
    } else {
        Access::Exclusive
    }
}

fn name() -> impl TypedValueParser<Value = Name> {
    OsStringValueParser::new().try_map(Name::given)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;

    use super::{TokenCommand, TokenOptions};
    use crate::{Command, Options, SystemCommand};
    use ring_client::token::WaitLimits;

    fn parse(arguments: &[&str]) -> Result<TokenOptions, clap::Error> {
        let given = ["ringctl", "token", "--servers", "lab"].iter();
        match Options::try_parse_from(given.chain(arguments))?.command {
            Command::System(SystemCommand::Token(token)) => Ok(token),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_command_has_its_own_options() {
        let given = [
            "run", "--shared", "-w", "2.5", "-E", "9", "t", "--", "ls", "-n",
        ];
        let options = parse(&given).expect("they are right");
        assert_eq!(options.client_timeout, Duration::from_secs(15));
        let TokenCommand::Run(run) = options.command else {
            panic!("{options:?}");
        };
        let limited = WaitLimits::limited(Duration::from_millis(2500));
        assert_eq!(run.acquire.wait_limits(), limited);
        assert_eq!((run.shared, run.acquire.conflict_exit_code), (true, 9));
        assert_eq!(run.name.bytes(), b"t");
        assert_eq!(run.command, ["ls", "-n"]);
        let options = parse(&["--client-timeout", "4s", "hold", "-n", "t"]).expect("right");
        assert_eq!(options.client_timeout, Duration::from_secs(4));
        let TokenCommand::Hold { acquire, .. } = options.command else {
            panic!("{options:?}");
        };
        assert_eq!(acquire.wait_limits(), WaitLimits::none());
    }

    #[test]
    fn data_may_look_like_an_option_and_a_hyphen_is_standard_input() {
        for data in ["-", "-x", "--", "plain"] {
            let given = match data {
                "--" => vec!["set", "t", "--", "--"],
                data => vec!["set", "t", data],
            };
            let options = parse(&given).expect(data);
            let TokenCommand::Set { data: parsed, .. } = options.command else {
                panic!("{options:?}");
            };
            assert_eq!(parsed.as_deref(), Some(data.as_ref()));
        }
    }

    #[test]
    fn wrong_usage_is_told_of_in_plain_words_with_exit_code_2() {
        let long = "x".repeat(1025);
        for (given, said) in [
            (&["get", ""][..], "at least one byte"),
            (&["get", &long], "1025 bytes are too many"),
            (&["run", "t"], "<CMD>"),
            (&["hold", "-n", "-w", "1", "t"], "cannot be used with"),
            (&["get", "-E", "256", "t"], "from 0 to 255"),
            (
                &["--client-timeout", "199ms", "list"],
                "cannot be below 200 ms",
            ),
            (&["--client-timeout", "5y", "list"], "unknown unit"),
        ] {
            let error = parse(given).expect_err(said);
            assert!(error.to_string().contains(said), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }
}
