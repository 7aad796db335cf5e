//! The command line of `ringctl token`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Subcommand, ValueHint};
use clap_complete::ArgValueCandidates;
use ring_client::token::{Access, WaitLimits};

use super::super::nodes::SERVERS;
use super::super::values::{
    parse_client_timeout, parse_exit_code, parse_label, parse_wait, truncate_label,
};
use super::client::{CLIENT_TIMEOUT, SERVERS_VARIABLE};
use super::completion;
use super::key_file::KEY_FILE_VARIABLE;
use super::name::TokenName;

const TOKEN_HELP: &str = concat!(
    "\
A token has a name of 1 to 1,024 bytes, and up to 32,768 bytes of data. The first \
request for a token creates it. Any number of clients can share a token, or one \
client can hold it exclusively. Waiting clients get the token in the order of \
their requests.

FILE has one line HOST:PORT per server. All servers and clients need the same \
lines: a server does not answer a client that has different lines.

A client loses its tokens if the servers do not answer it for three quarters of \
--client-timeout. If the servers have a shorter timeout, the client uses that \
timeout. The timeout must be longer than a change of the leader: read docs/token-service/operate.md \
before you set it below 15s.

",
    "Exit codes:\n",
    "  0   done\n",
    "  1   the token was not granted in time (-E sets another code)\n",
    "  1   list: a server does not answer\n",
    "  1   ringctl already runs under the token, or a system call failed\n",
    "  2   wrong usage, a FILE that cannot be used, or a token that the key does not\n",
    "      permit\n",
    "  3   no session has begun within 10 s, or within the time of -w (at least 0.5 s).\n",
    "      Either no server answers, the servers have no leader, or the servers have\n",
    "      another list\n",
    "  4   get: the token has no data, because no client set any or a server lost them\n",
    "  75  the token was lost\n",
    "\nExamples:\n",
    "  ringctl token run nightly -- backup /srv\n",
    "  ringctl token get counter\n",
    "  make list | ringctl token set list\n",
    "  ringctl token --servers lab.servers list\n",
    "  RINGD_SERVERS=lab.servers ringctl token list"
);

const RUN_HELP: &str = concat!(
    "The command's environment:\n",
    "  RINGD_TOKEN   the fencing number, which grows with each grant of the token\n",
    "  RINGD_DATA    the token's data in hexadecimal digits, because an environment\n",
    "                variable cannot contain a zero byte\n",
    "  RINGD_TOKENS  the tokens that the command runs under. If ringctl token would\n",
    "                wait for one of these tokens, it fails at once\n",
    "
ringctl forwards these signals to the command: TERM, INT, HUP, QUIT, USR1, USR2, \
WINCH and TSTP. While ringctl waits for the token, TERM, INT, HUP and QUIT end \
ringctl. During this wait, ringctl ignores USR1, USR2 and WINCH.

If the lease is not renewed, ringctl ends the command and all processes that the \
command has started. SIGTERM comes 2 s before the lease ends, or an eighth of \
--client-timeout before the lease ends. The shorter of these two times counts. \
SIGKILL follows before another client can get the token. If a command exits and \
leaves processes behind, ringctl ends these processes in the same way. If ringctl \
is killed, its background process, ringd-keeper, ends all these processes. \
The command continues even while other clients wait for the token.

",
    "The exit code is the exit code of the command, or 128 + N if signal N ended\n",
    "the command. Other exit codes are those of ringctl token, and:\n",
    "  126  the command cannot be run\n",
    "  127  there is no such command"
);

/// Options of `ringctl token`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = TOKEN_HELP)]
pub(crate) struct TokenOptions {
    /// Read the list of servers: one line HOST:PORT per server.
    #[arg(
        long,
        value_name = "FILE",
        env = SERVERS_VARIABLE,
        hide_env_values = true,
        default_value = SERVERS,
        value_hint = ValueHint::FilePath
    )]
    pub servers: PathBuf,

    /// Sign messages with the first key of this file.
    ///
    /// With the option, ringctl accepts only signed answers. The file has the line of this client from the servers'
    /// file of --client-keys. The key file of the servers works too. Only you and root may have access to the file.
    #[arg(
        long,
        value_name = "FILE",
        env = KEY_FILE_VARIABLE,
        hide_env_values = true,
        value_hint = ValueHint::FilePath
    )]
    pub key_file: Option<PathBuf>,

    /// End the session if no answer comes for DURATION.
    ///
    /// Without a unit, DURATION is in seconds. The servers announce the --client-timeout that they use. If the timeout
    /// of the servers is shorter, it replaces DURATION.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = CLIENT_TIMEOUT,
        value_parser = parse_client_timeout,
        allow_hyphen_values = true
    )]
    pub client_timeout: Duration,

    /// The command.
    #[command(subcommand)]
    pub command: TokenCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum TokenCommand {
    /// Run a command while a token is held.
    Run(TokenRunOptions),
    /// Print a token's data unchanged.
    ///
    /// While ringctl reads the data, it shares the token. So no other client can change the data.
    Get {
        /// Options for waiting for the token.
        #[command(flatten)]
        acquire: AcquireOptions,
        /// Use the token with this name.
        #[arg(value_parser = name_parser(), add = ArgValueCandidates::new(completion::token_candidates))]
        name: TokenName,
    },
    /// Set a token's data.
    ///
    /// While ringctl sets the data, it holds the token exclusively. ringctl exits when the server has confirmed the
    /// data.
    Set {
        /// Options for waiting for the token.
        #[command(flatten)]
        acquire: AcquireOptions,
        /// Use the token with this name.
        #[arg(value_parser = name_parser(), add = ArgValueCandidates::new(completion::token_candidates))]
        name: TokenName,
        /// Store these bytes; - reads standard input [default: -].
        ///
        /// A token has at most 32,768 bytes of data.
        #[arg(allow_hyphen_values = true)]
        data: Option<OsString>,
    },
    /// Hold a token until SIGTERM or SIGINT.
    ///
    /// Prints 'granted' and the fencing number when the token is granted, and 'returned' at the end.
    Hold {
        /// Options for waiting for the token.
        #[command(flatten)]
        acquire: AcquireOptions,
        /// Share the token with other clients.
        #[arg(long)]
        shared: bool,
        /// Release the token when another client waits for it.
        #[arg(long)]
        until_revoked: bool,
        /// Use the token with this name.
        #[arg(value_parser = name_parser(), add = ArgValueCandidates::new(completion::token_candidates))]
        name: TokenName,
    },
    /// List all tokens with their holders and waiting clients.
    List {
        /// Print a JSON array of objects.
        #[arg(long)]
        json: bool,
    },
}

/// Options of `ringctl token run`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = RUN_HELP)]
pub(crate) struct TokenRunOptions {
    /// Options for waiting for the token.
    #[command(flatten)]
    pub acquire: AcquireOptions,

    /// Share the token with other clients.
    #[arg(long)]
    pub shared: bool,

    /// Use the token with this name.
    #[arg(value_parser = name_parser(), add = ArgValueCandidates::new(completion::token_candidates))]
    pub name: TokenName,

    /// Run this command with these arguments.
    #[arg(value_name = "CMD", trailing_var_arg = true, required = true)]
    pub command: Vec<OsString>,
}

/// Options for waiting for a token.
#[derive(Debug, Clone, Args)]
pub(crate) struct AcquireOptions {
    /// Do not wait if other clients hold the token.
    ///
    /// With this option, ringctl gives up 0.4 s after its session has begun.
    #[arg(short, long, conflicts_with = "timeout")]
    pub nonblock: bool,

    /// Give up after DURATION (30s, 5m, or 30 for 30s).
    #[arg(
        short = 'w',
        long = "wait",
        visible_alias = "timeout",
        value_name = "DURATION",
        value_parser = parse_wait,
        allow_hyphen_values = true
    )]
    pub timeout: Option<Duration>,

    /// Exit with CODE if the token is not granted.
    #[arg(
        short = 'E',
        long,
        value_name = "CODE",
        default_value_t = 1,
        value_parser = parse_exit_code,
        allow_negative_numbers = true
    )]
    pub conflict_exit_code: u8,

    /// Show this client as TEXT in lists [default: command's name].
    #[arg(long, value_name = "TEXT", value_parser = parse_label)]
    pub label: Option<String>,
}

impl AcquireOptions {
    /// Returns the client's introduction, which servers show to people. The introduction begins with the label that the
    /// user gave, or else with `what`.
    pub(super) fn introduction(&self, what: &str) -> String {
        let label = self.label.as_deref().unwrap_or(truncate_label(what));
        format!("{label} (process {})", std::process::id())
    }

    pub(super) fn wait_limits(&self) -> WaitLimits {
        wait_limits(self.nonblock, self.timeout)
    }
}

pub(super) fn wait_limits(nonblock: bool, timeout: Option<Duration>) -> WaitLimits {
    match timeout {
        _ if nonblock => WaitLimits::none(),
        Some(wait) => WaitLimits::limited(wait),
        None => WaitLimits::endless(),
    }
}

pub(super) const fn access(shared: bool) -> Access {
    if shared {
        Access::Shared
    } else {
        Access::Exclusive
    }
}

fn name_parser() -> impl TypedValueParser<Value = TokenName> {
    OsStringValueParser::new().try_map(TokenName::from_user)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;

    use super::{TokenCommand, TokenOptions};
    use crate::systems::SystemCommand;
    use crate::{Command, Options};
    use ring_client::token::WaitLimits;

    fn parse(arguments: &[&str]) -> Result<TokenOptions, clap::Error> {
        let given = ["ringctl", "token", "--servers", "lab"].iter();
        match Options::try_parse_from(given.chain(arguments))?.command {
            Command::System(SystemCommand::Token(token)) => Ok(token),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_after_the_command_belong_to_it() {
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
    fn an_error_of_wrong_usage_names_the_cause_and_has_exit_code_2() {
        let long = "x".repeat(1025);
        for (given, expected) in [
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
            let error = parse(given).expect_err(expected);
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }
}
