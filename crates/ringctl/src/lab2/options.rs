//! The command line of `ringctl` for a node of a ring.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use ring_control::lab2::{Grade, LockRequest};
use ring_proto::lab2::JobName;
use ring_text::parse_duration_or_seconds;

use super::super::fence;
use super::super::prober::{Prober, Reasons};
use super::super::values::duration_ms;
use super::super::values::{exit_code, label, max_hold, period, process, shortened, wait};
use super::help;

/// What `ringctl` can do with a node of a ring.
#[derive(Debug, Clone, Subcommand)]
pub enum RingCommand {
    /// Run a command while the token is held, then give it back.
    Run(RunOptions),
    /// Run a command on one machine of the ring, once in a period.
    Once(OnceOptions),
    /// Hold the token for a script that cannot wrap a command; print its fencing token.
    Lock(LockOptions),
    /// Give back the token that ringctl lock holds.
    Unlock {
        /// The process that the lock is bound to [default: the caller].
        #[arg(long, value_parser = process, allow_negative_numbers = true)]
        pid: Option<i32>,
    },
    /// Hand the token over now.
    ///
    /// What runs under the token here is told to end first, as on a loss. An error if the token is not
    /// here: where nobody works with it, it moves on ten times a second. A node of Jitterbug takes no MEMBER.
    Yield {
        /// To the member of this MAC, ip or name, as status shows them; without it to the next.
        #[arg(value_name = "MEMBER")]
        to: Option<String>,
    },
    /// Let this machine take part but never own the token: maintenance.
    ///
    /// What runs under the token here is told to end first, as on a loss. It lasts until resume. Without
    /// --persist it ends with the daemon, too.
    #[command(after_long_help = help::PAUSE)]
    Pause(PauseOptions),
    /// End a pause, be it --persist or not.
    Resume,
    /// Make the ring forget a member that is gone for good.
    ///
    /// It leaves all tables, and is no longer counted. A member that is silent is forgotten by itself after
    /// a day (ringd --forget-after). One that is still heard cannot be forgotten: stop its ringd first.
    /// One that speaks again is a member again.
    Forget {
        /// The member's MAC, ip or name, as status shows it.
        #[arg(value_name = "MEMBER")]
        member: String,
    },
    /// Get or set the bytes that travel with the token, at most 1,024.
    Data {
        /// What to do.
        #[command(subcommand)]
        command: DataCommand,
    },
    /// Wait until this node is in a state.
    #[command(after_long_help = help::WAIT)]
    Wait {
        /// A state, or held: a program on this machine holds the token. Of Jitterbug: leader, waiter or orphan.
        #[arg(value_name = "STATE", ignore_case = true)]
        target: Target,
        /// Give up after DURATION (30s, 5m, or 30 for 30s).
        #[arg(short = 'w', long, visible_alias = "wait", value_name = "DURATION", value_parser = wait, allow_hyphen_values = true)]
        timeout: Option<Duration>,
    },
}

impl RingCommand {
    /// Whether nodes of rings alone can do it, of all systems whose token programs can hold.
    pub(crate) const fn is_for_rings_only(&self) -> bool {
        match self {
            Self::Once(_) | Self::Pause(_) | Self::Resume | Self::Forget { .. } => true,
            Self::Yield { to } => to.is_some(),
            Self::Data { command } => matches!(command, DataCommand::Set { .. }),
            Self::Run(_) | Self::Lock(_) | Self::Unlock { .. } | Self::Wait { .. } => false,
        }
    }

    /// Whether the process that has called `ringctl` matters: a lock is bound to it.
    pub(crate) const fn is_for_its_caller(&self) -> bool {
        match self {
            Self::Lock(options) => !options.pipe,
            Self::Unlock { .. } => true,
            _ => false,
        }
    }
}

/// How a pause is wanted.
#[derive(Debug, Clone, Args)]
pub struct PauseOptions {
    /// Wait until the node owns nothing, or for DURATION (30s, 5m, or 30 for 30s). Without --wait: 2s.
    #[arg(short, long, value_name = "DURATION", num_args = 0..=1, value_parser = wait, allow_negative_numbers = true)]
    #[expect(
        clippy::option_option,
        reason = "so clap tells an option without a value from none"
    )]
    pub wait: Option<Option<Duration>>,

    /// Stay paused when the daemon or the machine starts again.
    #[arg(long)]
    pub persist: bool,

    /// Let what runs under the token here end in its own time; nothing else is granted it meanwhile.
    #[arg(long)]
    pub drain: bool,
}

/// How to wait for the token.
#[derive(Debug, Clone, Args)]
pub struct Acquire {
    /// Do not wait while another program holds the token. A ringd that does not answer gets 5 s.
    #[arg(short, long, conflicts_with = "timeout")]
    pub nonblock: bool,

    /// Give up after DURATION (30s, 5m, or 30 for 30s). A ringd that does not answer gets 5s more.
    #[arg(short = 'w', long, visible_alias = "wait", value_name = "DURATION", value_parser = wait, allow_hyphen_values = true)]
    pub timeout: Option<Duration>,

    /// Exit with CODE if the token is not granted.
    #[arg(short = 'E', long, value_name = "CODE", default_value_t = 1, value_parser = exit_code, allow_negative_numbers = true)]
    pub conflict_exit_code: u8,

    /// Give up the token after DURATION (30s, 5m, or 30 for 30s).
    #[arg(long, value_name = "DURATION", value_parser = max_hold, allow_hyphen_values = true)]
    pub max_hold: Option<Duration>,

    /// Wait until so many members confirm the token, and give it up when they no longer do.
    #[arg(short = 'r', long, value_name = "GRADE", value_parser = grade())]
    pub require: Option<Grade>,

    /// The name of the work, as status and watch show it [default: that of the command].
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub label: Option<String>,
}

/// Parses a grade, and lists all of them in the help.
fn grade() -> impl TypedValueParser<Value = Grade> {
    let value = |grade: &Grade| PossibleValue::new(grade.name()).help(grade.meaning());
    PossibleValuesParser::new(Grade::ALL.iter().map(value)).try_map(|name| name.parse::<Grade>())
}

impl Acquire {
    /// The request to the daemon, with the label `what` unless another one is given.
    pub(super) fn request(&self, what: &str) -> LockRequest {
        let none = self.nonblock.then_some(0);
        LockRequest {
            label: self.label.as_deref().unwrap_or(shortened(what)).to_owned(),
            wait_ms: none.or(self.timeout.map(duration_ms)),
            max_hold_ms: self.max_hold.map(duration_ms),
            require: self.require,
            under: fence::token_of_caller(),
        }
    }

    /// Returns what the caller is told of the wait: nothing that passes by itself, so that a job which waits for another
    /// one makes cron send no mail.
    pub(super) fn reasons(&self) -> Reasons {
        Reasons::Lasting {
            requires_quorum: self.require == Some(Grade::Quorum),
        }
    }

    /// Makes a prober for the wait.
    pub(super) fn prober<'a>(&self, socket: &'a Path) -> Prober<'a> {
        Prober::explaining(socket, self.reasons())
    }
}

/// What is done with the token's data.
#[derive(Debug, Clone, Subcommand)]
pub enum DataCommand {
    /// Print the data in hexadecimal digits.
    Get {
        /// Print the bytes as they are.
        #[arg(long)]
        raw: bool,
    },
    /// Change the data: under $RINGD_LOCK, or else under a lock taken for it.
    Set {
        /// The bytes; -: those of standard input.
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// How to wait for the token.
        #[command(flatten)]
        acquire: Acquire,
    },
}

/// What can be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "UPPER")]
pub enum Target {
    /// It has the token.
    Owner,
    /// It waits for it.
    Waiter,
    /// It looks for a lost token.
    Looser,
    /// It stands for election.
    Generating,
    /// A program on this machine holds it.
    #[value(name = "held")]
    Held,
    /// Of another system than Lab2: it has the token.
    #[value(name = "leader")]
    Leader,
    /// It has no ring.
    #[value(name = "orphan")]
    Orphan,
}

impl Target {
    /// As it is spelled.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether it is reached in this state, with a client that holds the token or not.
    pub(super) fn is(self, state: &str, held: bool) -> bool {
        match self {
            Self::Held => held,
            wanted => state.eq_ignore_ascii_case(&wanted.name()),
        }
    }
}

/// What is to be run, and how.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = crate::help::run_help())]
pub struct RunOptions {
    /// How to wait for the token.
    #[command(flatten)]
    pub acquire: Acquire,

    /// Time between SIGTERM and SIGKILL (10s, or 10); less if another node may be granted the token before.
    #[arg(long = "kill-after", alias = "grace", value_name = "DURATION", default_value = "5s", value_parser = parse_duration_or_seconds, allow_hyphen_values = true)]
    pub grace: Duration,

    /// Run STRING with sh.
    #[arg(short = 'c', long = "command", value_name = "STRING")]
    pub shell: Option<OsString>,

    /// The command and its arguments.
    #[arg(
        value_name = "CMD",
        trailing_var_arg = true,
        conflicts_with = "shell",
        required_unless_present = "shell"
    )]
    pub command: Vec<OsString>,
}

/// What is to be run once in a period, and how.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = help::ONCE)]
pub struct OnceOptions {
    /// The job: 1 to 32 printable ASCII characters. Each name has its own period.
    #[arg(value_name = "NAME", value_parser = job_name)]
    pub name: JobName,

    /// The period (20h, or 30 for 30s): CMD runs at most once in it. A call in its last hundredth (at most 1m) runs.
    #[arg(long, value_name = "DURATION", required = true, value_parser = period, allow_hyphen_values = true)]
    pub every: Duration,

    /// Run it again in the period if the last run failed or was lost.
    #[arg(long)]
    pub retry: bool,

    /// Accepted without effect: the line on a job that has run is printed without it, too.
    #[arg(short, long, hide = true)]
    pub verbose: bool,

    /// How it is run.
    #[command(flatten)]
    pub run: RunOptions,
}

/// For whom the token is to be held.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = crate::help::lock_help())]
pub struct LockOptions {
    /// How to wait for the token.
    #[command(flatten)]
    pub acquire: Acquire,

    /// Bind the lock to this process [default: the caller].
    #[arg(long, value_parser = process, allow_negative_numbers = true)]
    pub pid: Option<i32>,

    /// Send the process SIGTERM when the lock is lost, even if the process that holds it is killed or stopped. A
    /// process that the caller may not signal is refused.
    #[arg(long)]
    pub kill: bool,

    /// Hold the lock for as long as any process has the other end of standard output, a pipe, open.
    #[arg(long, conflicts_with_all = ["pid", "kill", "check"])]
    pub pipe: bool,

    /// Acquire nothing: print the fencing token if the lock is still held.
    #[arg(long, conflicts_with = "kill")]
    pub check: bool,
}

/// The name of a job.
fn job_name(text: &str) -> Result<JobName, String> {
    let wrong = "a job's name has 1 to 32 printable ASCII characters, and no blanks";
    JobName::new(text).ok_or_else(|| wrong.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::RingCommand;
    use crate::{Command, Options, SystemCommand};
    use ring_control::lab2::parse_ring_name;

    fn run(arguments: &[&str]) -> super::RunOptions {
        let given = ["ringctl", "run"].iter().chain(arguments);
        match Options::try_parse_from(given)
            .expect("they are right")
            .command
        {
            Command::System(SystemCommand::Ring(RingCommand::Run(run))) => run,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn it_is_called_as_flock_is() {
        let options = run(&["-w", "0.25", "-E", "9", "ls", "-n", "--label"]);
        let request = options.acquire.request("ls");
        assert_eq!(request.wait_ms, Some(250));
        assert_eq!(options.acquire.conflict_exit_code, 9);
        assert_eq!(options.command, ["ls", "-n", "--label"]);
        assert_eq!(
            run(&["-n", "--", "ls"]).acquire.request("ls").wait_ms,
            Some(0)
        );
        assert_eq!(run(&["ls"]).acquire.request("ls").wait_ms, None);
        let day = run(&["-w", "1d", "ls"]).acquire.request("ls").wait_ms;
        assert_eq!(day, Some(86_400_000));
        assert_eq!(run(&["--", "-ls", "--", "-n"]).command, ["-ls", "--", "-n"]);
        assert_eq!(run(&["-c", "a b"]).shell.as_deref(), Some("a b".as_ref()));
    }

    #[test]
    fn the_last_of_an_option_given_twice_counts() {
        let options = run(&["-w", "1", "-E", "9", "-w", "2.5", "-E", "8", "ls"]);
        assert_eq!(options.acquire.request("ls").wait_ms, Some(2500));
        assert_eq!(options.acquire.conflict_exit_code, 8);
        let once = run(&["-n", "-n", "--", "ls", "-x", "-x"]);
        assert_eq!(once.acquire.request("ls").wait_ms, Some(0));
        assert_eq!(once.command, ["ls", "-x", "-x"], "nothing of the command's");
        let given = ["ringctl", "-i", "a", "status", "-i", "b"];
        let options = Options::try_parse_from(given).expect("they are right");
        assert_eq!(options.interface, parse_ring_name("b").ok());
    }

    #[test]
    fn the_time_to_wait_is_called_wait_in_every_command() {
        for given in [
            &["run", "--wait", "1", "ls"][..],
            &["once", "x", "--every", "5h", "--wait", "1", "ls"],
            &["lock", "--wait", "1"],
            &["data", "set", "--wait", "1", "x"],
            &["wait", "--wait", "1", "held"],
            &["pause", "--wait", "1"],
            &["token", "--servers", "x", "get", "--wait", "1", "x"],
        ] {
            let given = ["ringctl"].iter().chain(given);
            Options::try_parse_from(given).expect("--wait is known");
        }
    }

    #[test]
    fn a_command_or_a_line_is_wanted_and_not_both() {
        for wrong in [
            &["run"][..],
            &["run", "-c", "a", "b"],
            &["run", "-n", "-w", "1", "a"],
        ] {
            let given = ["ringctl"].iter().chain(wrong);
            assert!(Options::try_parse_from(given).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_wrong_number_is_told_of_in_plain_words() {
        for (given, said) in [
            (&["run", "-w", "-1", "ls"][..], "cannot be negative"),
            (&["run", "-w", "-1s", "ls"], "cannot be negative"),
            (&["run", "-w", "inf", "ls"], "too long"),
            (&["run", "-E", "-1", "ls"], "from 0 to 255"),
            (&["run", "-E", "256", "ls"], "from 0 to 255"),
            (&["run", "--kill-after", "-5s", "ls"], "not a duration"),
            (&["run", "--max-hold", "-5s", "ls"], "not a duration"),
            (&["run", "--max-hold", "0s", "ls"], "cannot be 0"),
            (&["run", "--max-hold", "999us", "ls"], "cannot be 0"),
            (&["lock", "--max-hold", "0ms"], "cannot be 0"),
            (&["run", "--foo", "--", "true"], "'--foo'"),
            (&["run", "-n", "--foo"], "'--foo'"),
            (&["once", "x", "--every", "5h", "-x", "ls"], "'-x'"),
            (&["guard", "record", "--foo", "ls"], "'--foo'"),
            (&["pause", "--wait", "-1"], "cannot be negative"),
            (&["once", "x", "--every", "-5s", "ls"], "not a duration"),
            (&["once", "x", "--every", "5y", "ls"], "unknown unit"),
            (&["once", "x", "--every", "0s", "ls"], "cannot be 0"),
            (&["once", "x", "--every", "999us", "ls"], "cannot be 0"),
            (&["lock", "--pid", "-1"], "not the number of a process"),
            (&["unlock", "--pid", "x"], "not the number of a process"),
            (&["watch", "--from", "-1"], "not the number of an event"),
            (&["wait", "held", "-w", "-1"], "cannot be negative"),
        ] {
            let given = ["ringctl"].iter().chain(given);
            let error = Options::try_parse_from(given).expect_err("it is wrong");
            let text = error.to_string();
            assert!(text.contains(said), "{text}");
        }
    }
}
