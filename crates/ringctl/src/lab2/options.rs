//! The command line of `ringctl` for a node of a ring.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCandidates;
use ring_control::Right;
use ring_control::lab2::{Grade, LockRequest};
use ring_proto::lab2::{JobName, LockName};
use ring_text::parse_duration_or_seconds;

use super::super::fence;
use super::super::prober::{Prober, Reasons};
use super::super::systemd;
use super::super::values::{
    duration_ms, parse_exit_code, parse_label, parse_max_hold, parse_pause, parse_pause_reason,
    parse_period, parse_pid, parse_wait, truncate_label,
};
use super::completion::held_lock_candidates;
use super::help;
use super::named_lock::{NameOptions, parse_lock_name};

/// A command for a node of a ring.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum RingCommand {
    /// Run a command while this machine holds the token or a lock.
    Run(NamedRunOptions),
    /// Run a systemd target while this machine holds a lock.
    ///
    /// The target runs only on the machine that has the lock. The target has stopped before another machine can get the
    /// lock. The units ringd-leader@.service and ringd-lock@.service run this command.
    RunTarget(TargetOptions),
    /// Run a command on one machine of the ring, once per period.
    Once(OnceOptions),
    /// Hold a lock for a script, and print its fencing token.
    Lock(LockOptions),
    /// Release the lock that ringctl lock holds.
    Unlock {
        /// Release the lock NAME instead of the token.
        #[arg(
            long,
            value_name = "NAME",
            value_parser = parse_lock_name,
            add = ArgValueCandidates::new(held_lock_candidates)
        )]
        name: Option<LockName>,
        /// Release the lock of this process [default: the caller].
        #[arg(long, value_parser = parse_pid, allow_negative_numbers = true)]
        pid: Option<i32>,
    },
    /// List the named locks of the ring.
    ///
    /// The list contains each program that holds a lock or waits for it, on any member. A lock that no program holds or
    /// waits for does not exist.
    Locks {
        /// Print one JSON array, with times in nanoseconds.
        #[arg(long)]
        json: bool,
    },
    /// Hand the token over to another member now.
    ///
    /// Programs that use the token on this machine lose the token, and end before the handover. The command fails if
    /// this node does not have the token. An idle token moves ten times a second. For a node of Jitterbug, give no
    /// MEMBER.
    Yield {
        /// Choose the member [default: the next member].
        ///
        /// Give its MAC address, its IP address or its name, as ringctl status shows them.
        #[arg(value_name = "MEMBER")]
        to: Option<String>,
    },
    /// Keep the token away from this machine, for maintenance.
    ///
    /// Programs that use the token on this machine lose the token, and end before the pause. The pause lasts until
    /// ringctl resume, or for the time of --for. Without --for and --persist, the pause also ends when the daemon ends.
    /// If the node is already paused, --for and --reason replace the end and the reason of the pause.
    #[command(after_long_help = help::PAUSE)]
    Pause(PauseOptions),
    /// End a pause.
    Resume,
    /// Remove a member that never comes back.
    ///
    /// All members remove this member from their tables, and quorums no longer count it. The ring itself removes a
    /// silent member after a day (ringd --forget-after). You cannot remove a member that is still heard: stop the
    /// ringd of this member first. If a removed member sends frames again, the ring adds it again.
    Forget {
        /// Remove this member.
        ///
        /// Give its MAC address, its IP address or its name, as ringctl status shows them.
        #[arg(value_name = "MEMBER")]
        member: String,
    },
    /// Write the last frames and events of this node to a file.
    ///
    /// The daemon writes the file, and the command prints the path. Wireshark shows the frames, and shows the events as
    /// comments. ring-sim replay repeats the inputs and compares the outputs. A recording contains the data of the
    /// token. It also contains the names of members, locks and programs.
    Dump {
        /// Copy the recording to the new file FILE.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Get or set up to 1,024 bytes that travel with the token.
    Data {
        /// The command.
        #[command(subcommand)]
        command: DataCommand,
    },
    /// Wait until this node is in a state or has a quorum.
    #[command(after_long_help = help::WAIT)]
    Wait {
        /// Wait for this state.
        ///
        /// The state held means that a program of this machine holds the token. A node of Jitterbug has the states
        /// leader, waiter and orphan.
        #[arg(
            value_name = "STATE",
            ignore_case = true,
            required_unless_present = "quorum"
        )]
        target: Option<Target>,
        /// Wait until enough members for a quorum are present.
        ///
        /// The node must be in a ring. A member is present if this node has heard it within two sign-of-life periods
        /// (12.8 s). If this node owns the token, the grade of the token must also be quorum. This command takes no
        /// lock, so the quorum may be lost at any time: use run --require quorum for work.
        #[arg(long, conflicts_with = "target")]
        quorum: bool,
        /// Give up after DURATION (30s, 5m, or 30 for 30s).
        #[arg(
            short = 'w',
            long = "wait",
            visible_alias = "timeout",
            value_name = "DURATION",
            value_parser = parse_wait,
            allow_hyphen_values = true
        )]
        timeout: Option<Duration>,
    },
}

impl RingCommand {
    /// Whether only nodes of Lab2 can serve the command. Nodes of Jitterbug cannot serve such a command.
    pub(crate) const fn is_lab2_only(&self) -> bool {
        match self {
            Self::Once(_)
            | Self::RunTarget(_)
            | Self::Locks { .. }
            | Self::Pause(_)
            | Self::Resume
            | Self::Forget { .. }
            | Self::Dump { .. } => true,
            Self::Yield { to } => to.is_some(),
            Self::Data { command } => matches!(command, DataCommand::Set { .. }),
            Self::Run(run) => run.lock.name.is_some(),
            Self::Lock(options) => options.lock.name.is_some(),
            Self::Unlock { name, .. } => name.is_some(),
            Self::Wait { target, .. } => target.is_none(),
        }
    }

    /// Returns the right that the command needs at the daemon.
    pub(crate) const fn right(&self) -> Right {
        match self {
            Self::Locks { .. } | Self::Wait { .. } => Right::Read,
            Self::Data { command } => match command {
                DataCommand::Get { .. } => Right::Read,
                DataCommand::Set { .. } => Right::Act,
            },
            Self::Run(_)
            | Self::RunTarget(_)
            | Self::Once(_)
            | Self::Lock(_)
            | Self::Unlock { .. }
            | Self::Yield { .. }
            | Self::Pause(_)
            | Self::Resume
            | Self::Forget { .. }
            | Self::Dump { .. } => Right::Act,
        }
    }

    /// Whether the command needs the calling process, because a lock is bound to this process.
    pub(crate) const fn depends_on_caller(&self) -> bool {
        match self {
            Self::Lock(options) => !options.pipe,
            Self::Unlock { .. } => true,
            _ => false,
        }
    }
}

/// Options of `ringctl pause`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PauseOptions {
    /// Wait until the node does not own the token.
    ///
    /// DURATION limits the wait: for example 30s, 5m, or 30 for 30s. Without --wait, the wait lasts at most 2s.
    #[arg(
        short,
        long,
        visible_alias = "timeout",
        value_name = "DURATION",
        num_args = 0..=1,
        value_parser = parse_wait,
        allow_negative_numbers = true
    )]
    #[expect(
        clippy::option_option,
        reason = "clap distinguishes an option without a value from a missing option"
    )]
    pub wait: Option<Option<Duration>>,

    /// End the pause after DURATION (2h, 30m, or 30 for 30s).
    ///
    /// A restart of the daemon or the machine does not end the pause. The pause ends at the same time by the machine's
    /// clock.
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_pause, allow_hyphen_values = true)]
    pub lasts: Option<Duration>,

    /// Show TEXT in status and watch of all members.
    ///
    /// TEXT has at most 64 bytes and no control characters.
    #[arg(long, value_name = "TEXT", value_parser = parse_pause_reason)]
    pub reason: Option<String>,

    /// Stay paused after a restart of the daemon or the machine.
    #[arg(long)]
    pub persist: bool,

    /// Let the program that uses the token end by itself.
    ///
    /// Until this program ends, no other program gets the token.
    #[arg(long)]
    pub drain: bool,
}

/// Options for waiting for the token.
#[derive(Debug, Clone, Args)]
pub(crate) struct AcquireOptions {
    /// Do not wait if another program holds the token.
    ///
    /// If ringd does not answer, ringctl gives up after 5s.
    #[arg(short, long, conflicts_with = "timeout")]
    pub nonblock: bool,

    /// Give up after DURATION (30s, 5m, or 30 for 30s).
    ///
    /// If ringd does not answer, ringctl waits 5s longer than DURATION.
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

    /// Hold the token for at most DURATION (5m, or 30 for 30s).
    #[arg(long, value_name = "DURATION", value_parser = parse_max_hold, allow_hyphen_values = true)]
    pub max_hold: Option<Duration>,

    /// Wait until enough members confirm the token.
    ///
    /// When too few members confirm the token, ringctl releases the token.
    #[arg(short = 'r', long, value_name = "GRADE", value_parser = grade_parser())]
    pub require: Option<Grade>,

    /// Show TEXT in status and watch [default: command's name].
    #[arg(long, value_name = "TEXT", value_parser = parse_label)]
    pub label: Option<String>,
}

/// Returns a parser of grades. The help of this parser lists all grades.
fn grade_parser() -> impl TypedValueParser<Value = Grade> {
    let value = |grade: &Grade| {
        let value = PossibleValue::new(grade.name()).help(grade.meaning());
        match grade {
            Grade::AllHeard => value.alias("view"),
            Grade::Alone | Grade::Quorum => value,
        }
    };
    PossibleValuesParser::new(Grade::ALL.iter().map(value)).try_map(|name| name.parse::<Grade>())
}

impl AcquireOptions {
    /// Returns the request to the daemon, with the label that the user gave, or else with the label `what`.
    pub(super) fn request(&self, what: &str) -> LockRequest {
        let none = self.nonblock.then_some(0);
        LockRequest {
            label: self
                .label
                .as_deref()
                .unwrap_or(truncate_label(what))
                .to_owned(),
            wait_ms: none.or(self.timeout.map(duration_ms)),
            max_hold_ms: self.max_hold.map(duration_ms),
            require: self.require,
            under: fence::caller_token(),
        }
    }

    /// Returns the reasons that are printed during the wait. A reason is printed only if it lasts until a person acts.
    /// Otherwise cron would send a mail for each job that waits for another job.
    pub(super) fn reasons(&self) -> Reasons {
        Reasons::Lasting {
            requires_quorum: self.require == Some(Grade::Quorum),
        }
    }

    /// Returns a prober for a request for a lock, such as `the token`.
    pub(super) fn prober<'a>(&self, socket: &'a Path, lock: String) -> Prober<'a> {
        Prober::new_explaining(socket, lock, self.reasons())
    }
}

/// A command for the token's data.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum DataCommand {
    /// Print the data in hexadecimal digits.
    Get {
        /// Print the bytes unchanged.
        #[arg(long)]
        raw: bool,
    },
    /// Set the data under $RINGD_LOCK, or under a new lock.
    Set {
        /// Store these bytes; - reads them from standard input.
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Options for waiting for the token.
        #[command(flatten)]
        acquire: AcquireOptions,
    },
}

/// A state to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "UPPER")]
pub(crate) enum Target {
    /// The node owns the token.
    Owner,
    /// The node waits for the token.
    Waiter,
    /// The node looks for a lost token.
    Looser,
    /// The node is a candidate in an election.
    Generating,
    /// A program of this machine holds the token.
    #[value(name = "held")]
    Held,
    /// Jitterbug: the node has the token.
    #[value(name = "leader")]
    Leader,
    /// Jitterbug: the node has no ring.
    #[value(name = "orphan")]
    Orphan,
}

impl Target {
    /// Returns the state's spelling on the command line.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether a node in this state has reached the target. `held` shows whether a client holds the token.
    pub(super) fn is_reached(self, state: &str, held: bool) -> bool {
        match self {
            Self::Held => held,
            wanted => state.eq_ignore_ascii_case(&wanted.name()),
        }
    }
}

/// Options of `ringctl run`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = crate::help::run_help())]
pub(crate) struct NamedRunOptions {
    /// Options that choose a lock.
    #[command(flatten)]
    pub lock: NameOptions,

    /// The other options.
    #[command(flatten)]
    pub run: RunOptions,
}

/// Options of `ringctl run` and `ringctl once`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunOptions {
    /// Options for waiting for the token.
    #[command(flatten)]
    pub acquire: AcquireOptions,

    /// Wait this long between SIGTERM and SIGKILL (10s, or 10).
    ///
    /// If another node could get the token during this wait, SIGKILL comes earlier.
    #[arg(
        long = "kill-after",
        alias = "grace",
        value_name = "DURATION",
        default_value = "5s",
        value_parser = parse_duration_or_seconds,
        allow_hyphen_values = true
    )]
    pub grace: Duration,

    /// Run STRING with sh.
    #[arg(short = 'c', long = "command", value_name = "STRING")]
    pub shell: Option<OsString>,

    /// Run this command with these arguments.
    #[arg(
        value_name = "CMD",
        trailing_var_arg = true,
        conflicts_with = "shell",
        required_unless_present = "shell"
    )]
    pub command: Vec<OsString>,
}

/// Options of `ringctl run-target`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = help::RUN_TARGET)]
pub(crate) struct TargetOptions {
    /// Options that choose a lock.
    #[command(flatten)]
    pub lock: NameOptions,

    /// Options for waiting for the token.
    #[command(flatten)]
    pub acquire: AcquireOptions,

    /// Kill units that have not stopped after DURATION (as 10s).
    ///
    /// The time begins when the lock is lost. If another node could get the lock during this time, SIGKILL comes
    /// earlier.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "5s",
        value_parser = parse_duration_or_seconds,
        allow_hyphen_values = true
    )]
    pub kill_after: Duration,

    /// Run the units that are bound to this target.
    #[arg(value_name = "TARGET", value_parser = systemd::Target::parse)]
    pub target: systemd::Target,
}

/// Options of `ringctl once`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = help::ONCE)]
pub(crate) struct OnceOptions {
    /// Name the job: 1 to 32 printable ASCII characters.
    ///
    /// Each name has its own period. A name contains no blanks.
    #[arg(value_name = "NAME", value_parser = parse_job_name)]
    pub name: JobName,

    /// Run CMD at most once in this period (20h, or 30 for 30s).
    ///
    /// CMD may run again shortly before the period ends. The remaining time is at most a hundredth of the period, and
    /// at most 1m.
    #[arg(long, value_name = "DURATION", required = true, value_parser = parse_period, allow_hyphen_values = true)]
    pub every: Duration,

    /// Run CMD again if the last run failed or was lost.
    #[arg(long)]
    pub retry: bool,

    /// Accept -v, which changes nothing: the line is always printed.
    #[arg(short, long, hide = true)]
    pub verbose: bool,

    /// Options of `ringctl run`.
    #[command(flatten)]
    pub run: RunOptions,
}

/// Options of `ringctl lock`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = crate::help::lock_help())]
pub(crate) struct LockOptions {
    /// Options that choose a lock.
    #[command(flatten)]
    pub lock: NameOptions,

    /// Options for waiting for the token.
    #[command(flatten)]
    pub acquire: AcquireOptions,

    /// Bind the lock to this process [default: the caller].
    #[arg(long, value_parser = parse_pid, allow_negative_numbers = true)]
    pub pid: Option<i32>,

    /// Send the process SIGTERM when the lock is lost.
    ///
    /// The process gets SIGTERM even if ringd-keeper is killed or stopped. The caller needs the permission to signal
    /// the process.
    #[arg(long)]
    pub kill: bool,

    /// Hold the lock while a process has the pipe open.
    ///
    /// Standard output must be a pipe. The lock lasts while any process has the other end of the pipe open.
    #[arg(long, conflicts_with_all = ["pid", "kill", "check"])]
    pub pipe: bool,

    /// Print the fencing token if the lock is still held.
    ///
    /// With this option, ringctl acquires no lock.
    #[arg(long, conflicts_with = "kill")]
    pub check: bool,
}

fn parse_job_name(text: &str) -> Result<JobName, String> {
    let wrong = "not a job's name: give 1 to 32 printable ASCII characters without blanks";
    JobName::new(text).ok_or_else(|| wrong.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::RingCommand;
    use crate::systems::SystemCommand;
    use crate::{Command, Options};
    use ring_control::lab2::parse_ring_name;

    fn run(arguments: &[&str]) -> super::RunOptions {
        let given = ["ringctl", "run"].iter().chain(arguments);
        match Options::try_parse_from(given)
            .expect("they are right")
            .command
        {
            Command::System(SystemCommand::Ring(RingCommand::Run(run))) => run.run,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_are_those_of_flock() {
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
    fn the_last_value_of_a_repeated_option_counts() {
        let options = run(&["-w", "1", "-E", "9", "-w", "2.5", "-E", "8", "ls"]);
        assert_eq!(options.acquire.request("ls").wait_ms, Some(2500));
        assert_eq!(options.acquire.conflict_exit_code, 8);
        let once = run(&["-n", "-n", "--", "ls", "-x", "-x"]);
        assert_eq!(once.acquire.request("ls").wait_ms, Some(0));
        assert_eq!(
            once.command,
            ["ls", "-x", "-x"],
            "options of the command stay unchanged"
        );
        let given = ["ringctl", "-i", "a", "status", "-i", "b"];
        let options = Options::try_parse_from(given).expect("they are right");
        assert_eq!(options.interface, parse_ring_name("b").ok());
    }

    #[test]
    fn every_wait_option_has_the_name_wait() {
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
    fn a_command_or_a_shell_line_is_required_and_not_both() {
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
    fn an_error_of_a_wrong_value_names_the_cause() {
        for (given, expected) in [
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
            (&["pause", "--for", "0"], "shorter than 1s"),
            (&["pause", "--for", "9999999999"], "until ringctl resume"),
            (&["pause", "--reason", "a\nb"], "no control characters"),
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
            assert!(text.contains(expected), "{text}");
        }
    }
}
