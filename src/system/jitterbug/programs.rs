//! Runs the commands of `--compute` and `--decide` in a thread, so that the loop does not wait for them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::process::Command as Process;
use std::time::{Duration, Instant};

use ring_host::Task;
use ring_host::observe::RateLimit;
use ring_host::program::{self, End, Found, Launch, Launcher, RunOptions};
use ring_proto::jitterbug::{Command, Job, Outcome, Work};
use ring_runtime::clock;
use ring_runtime::worker::WakeUp;
use ring_text::format_duration;
use tracing::warn;

use crate::system::jitterbug::events;

/// The exit code with which a decision selects the node's own data.
const OWN_DATA_EXIT_CODE: i32 = 1;
/// The rate limit for the standard error of commands, and for their problems.
const LINES_LIMIT: RateLimit = RateLimit::new(10, Duration::from_secs(1));

/// The index of the command of `--compute`.
const COMPUTE: usize = 0;
/// The index of the command of `--decide`.
const DECIDE: usize = 1;

/// The lines for the shell, in the launcher.
struct Lines([String; 2]);

impl program::Programs for Lines {
    fn find(&mut self, _: bool) -> Found {
        Found::default()
    }

    fn command(&mut self, program: usize, arguments: &[OsString]) -> Option<Process> {
        let mut shell = Process::new("/bin/sh");
        shell.arg("-c").arg(self.0.get(program)?).args(arguments);
        Some(shell)
    }
}

#[derive(Debug)]
pub(super) struct Programs {
    launcher: Launcher,
    timeout: Duration,
    max_data: usize,
    lines: RateLimit,
}

impl Programs {
    /// Creates programs from two lines for the shell, and starts the process that starts them. If the node uses a
    /// built-in function instead of a line, this line is never run.
    pub(super) fn start(
        compute: &str,
        decide: &str,
        timeout: Duration,
        max_data: usize,
    ) -> io::Result<Self> {
        let lines = Lines([compute.to_owned(), decide.to_owned()]);
        Ok(Self {
            launcher: Launcher::start(lines)?,
            timeout,
            max_data,
            lines: LINES_LIMIT,
        })
    }

    fn compute(&mut self, data: &[u8], bell: &WakeUp) -> io::Result<Outcome> {
        let launch = Launch {
            program: COMPUTE,
            ..Launch::default()
        };
        let ran = self.run("--compute", launch, (Some(data), self.max_data), bell)?;
        let Some(program::Outcome { end, output }) = ran else {
            return Ok(Outcome::Failed);
        };
        let is_done =
            matches!(end, End::Exit(status) | End::LeftBehind(status) if status.success());
        if is_done && output.is_cut {
            let most = self.max_data;
            self.log_problem(&format!(
                "--compute printed more than {most} bytes; print less, or give all nodes a larger --max-data"
            ));
        }
        Ok(if is_done && !output.is_cut {
            Outcome::Computed(output.bytes.into())
        } else {
            Outcome::Failed
        })
    }

    fn decide(&mut self, received: &[u8], own: &[u8], bell: &WakeUp) -> io::Result<Outcome> {
        // Dropping this value removes the folder, so it must live until the command has ended.
        let folder = tempfile::Builder::new().prefix("ringd-").tempdir()?;
        let put = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).map(|()| path)
        };
        let (received, own) = (put("received", received)?, put("own", own)?);
        let launch = Launch {
            program: DECIDE,
            arguments: vec!["sh".into(), received.into(), own.into()],
            variables: Vec::new(),
        };
        let ran = self.run("--decide", launch, (None, 0), bell)?;
        let code = match ran.map(|outcome| outcome.end) {
            Some(End::Exit(status) | End::LeftBehind(status)) => status.code(),
            _ => None,
        };
        Ok(match code {
            Some(0) => Outcome::Decided { received: true },
            Some(OWN_DATA_EXIT_CODE) => Outcome::Decided { received: false },
            _ => Outcome::Failed,
        })
    }

    /// Runs a command with this input, and captures up to this number of bytes of its output. Returns `None` if the
    /// command did not end by itself.
    fn run(
        &mut self,
        option: &str,
        launch: Launch,
        (input, capture): (Option<&[u8]>, usize),
        bell: &WakeUp,
    ) -> io::Result<Option<program::Outcome>> {
        let terms = RunOptions {
            input,
            capture: Some(capture),
            until: Instant::now() + self.timeout,
            bell,
        };
        let mut lines = Vec::new();
        let outcome = program::run(&mut self.launcher, launch, &terms, &mut |line| {
            if lines.len() < LINES_PER_RUN_MAX {
                lines.push(line.to_owned());
            }
        })?;
        for line in lines {
            self.log_problem(&format!("{option}: {line}"));
        }
        let problem = match &outcome.end {
            End::Late => format!(
                "did not end within {} and was killed; see --compute-timeout",
                format_duration(self.timeout)
            ),
            End::Stuck => "was killed but does not end".to_owned(),
            // If sending fails, the machine no longer needs the answer.
            End::Cancelled => return Ok(None),
            End::Exit(status) | End::LeftBehind(status) => {
                let is_answer = option == "--decide" && status.code() == Some(OWN_DATA_EXIT_CODE);
                if !status.success() && !is_answer {
                    self.log_problem(&format!("{option} has failed: {status}"));
                }
                return Ok(Some(outcome));
            }
        };
        self.log_problem(&format!("{option} {problem}"));
        Ok(None)
    }

    fn log_problem(&mut self, text: &str) {
        if self.lines.allow(clock::now().monotonic) {
            let more = match self.lines.take_refused() {
                0 => String::new(),
                lines => format!(" ({lines} earlier lines were not shown)"),
            };
            warn!(event = events::COMMAND_OUTPUT, "{text}{more}");
        }
    }
}

/// Maximum number of log lines for the output of one run.
const LINES_PER_RUN_MAX: usize = 5;

impl Task for Programs {
    type Job = Job;
    type Answer = Command;

    fn run_job(&mut self, job: Job, bell: &WakeUp) -> Command {
        let outcome = match &job.work {
            Work::Compute(data) => self.compute(data, bell),
            Work::Decide { received, own } => self.decide(received, own, bell),
        };
        let outcome = outcome.unwrap_or_else(|error| {
            self.log_problem(&format!("cannot run a command: {error}"));
            Outcome::Failed
        });
        Command::Done {
            job: job.id,
            outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_proto::jitterbug::{Command, Job, Outcome, Work};

    use super::Programs;
    use ring_host::Task;
    use ring_runtime::worker::WakeUp;

    const RUN_TIMEOUT: Duration = Duration::from_secs(60);

    fn outcome(mut programs: Programs, work: Work) -> Outcome {
        let bell = WakeUp::new().expect("a bell");
        match programs.run_job(Job { id: 7, work }, &bell) {
            Command::Done { job: 7, outcome } => outcome,
            other => panic!("{other:?}"),
        }
    }

    fn run_compute(line: &str, data: &[u8], timeout: Duration) -> Outcome {
        let programs = Programs::start(line, "true", timeout, 10).expect("a process");
        outcome(programs, Work::Compute(data.into()))
    }

    #[test]
    fn the_next_data_is_the_output_of_the_command() {
        let is = |bytes: &[u8]| Outcome::Computed(bytes.into());
        assert_eq!(
            run_compute("cat; printf 4", b"123", RUN_TIMEOUT),
            is(b"1234")
        );
        assert_eq!(run_compute("cat >/dev/null", b"123", RUN_TIMEOUT), is(b""));
        let ten = b"0123456789";
        assert_eq!(run_compute("cat", ten, RUN_TIMEOUT), is(ten));
    }

    #[test]
    fn a_command_that_fails_prints_too_much_or_hangs_computes_nothing() {
        for line in [
            "cat; exit 1",
            "cat; printf 12345678901",
            "kill -9 $$",
            "/nowhere/else",
        ] {
            assert_eq!(
                run_compute(line, b"1", RUN_TIMEOUT),
                Outcome::Failed,
                "{line}"
            );
        }
        let hangs = run_compute("exec sleep 1000", b"1", Duration::from_millis(50));
        assert_eq!(hangs, Outcome::Failed);
    }

    #[test]
    fn a_decision_is_an_exit_code_about_two_files() {
        let decided = |line: &str, received: &[u8], own: &[u8]| {
            let programs = Programs::start("cat", line, RUN_TIMEOUT, 10).expect("a process");
            let (received, own) = (received.into(), own.into());
            outcome(programs, Work::Decide { received, own })
        };
        let larger = r#"[ "$(cat "$1")" -gt "$(cat "$2")" ]"#;
        assert_eq!(
            decided(larger, b"9", b"8"),
            Outcome::Decided { received: true }
        );
        assert_eq!(
            decided(larger, b"8", b"9"),
            Outcome::Decided { received: false }
        );
        assert_eq!(decided("exit 2", b"8", b"9"), Outcome::Failed);
    }
}
