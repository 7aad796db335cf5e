//! The commands of `--compute` and `--decide`, run off the loop.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command as Process;
use std::time::{Duration, Instant};

use ring_host::Task;
use ring_host::observe::RateLimit;
use ring_host::program::{self, End, Terms};
use ring_proto::jitterbug::{Command, Job, Outcome, Work};
use ring_runtime::clock;
use ring_runtime::worker::Bell;
use ring_text::format_duration;
use tracing::warn;

/// The exit code of a decision for the own data.
const OWN: i32 = 1;
/// What the commands say on standard error, and what is wrong with them.
const LINES: RateLimit = RateLimit::new(10, Duration::from_secs(1));

/// Runs the two commands.
#[derive(Debug)]
pub(super) struct Programs {
    compute: String,
    decide: String,
    timeout: Duration,
    max_data: usize,
    lines: RateLimit,
}

impl Programs {
    /// Lines for the shell; one that is not a command is never asked for.
    pub(super) fn new(compute: &str, decide: &str, timeout: Duration, max_data: usize) -> Self {
        Self {
            compute: compute.to_owned(),
            decide: decide.to_owned(),
            timeout,
            max_data,
            lines: LINES,
        }
    }

    fn compute(&mut self, data: &[u8], bell: &Bell) -> io::Result<Outcome> {
        let mut shell = shell(&self.compute);
        let ran = self.run("--compute", &mut shell, (Some(data), self.max_data), bell)?;
        let Some(program::Outcome { end, output }) = ran else {
            return Ok(Outcome::Failed);
        };
        let is_done =
            matches!(end, End::Exit(status) | End::LeftBehind(status) if status.success());
        if is_done && output.is_cut {
            let most = self.max_data;
            self.complain(&format!(
                "--compute printed more than --max-data, {most} bytes"
            ));
        }
        Ok(if is_done && !output.is_cut {
            Outcome::Computed(output.bytes.into())
        } else {
            Outcome::Failed
        })
    }

    fn decide(&mut self, received: &[u8], own: &[u8], bell: &Bell) -> io::Result<Outcome> {
        // It goes, with the files, when the command has ended.
        let folder = tempfile::Builder::new().prefix("ringd-").tempdir()?;
        let put = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).map(|()| path)
        };
        let (received, own) = (put("received", received)?, put("own", own)?);
        let mut shell = shell(&self.decide);
        shell.args([Path::new("sh"), &received, &own]);
        let ran = self.run("--decide", &mut shell, (None, 0), bell)?;
        let code = match ran.map(|outcome| outcome.end) {
            Some(End::Exit(status) | End::LeftBehind(status)) => status.code(),
            _ => None,
        };
        Ok(match code {
            Some(0) => Outcome::Decided { received: true },
            Some(OWN) => Outcome::Decided { received: false },
            _ => Outcome::Failed,
        })
    }

    /// Runs a command with this input, and captures so much output. `None`: it did not end by itself.
    fn run(
        &mut self,
        option: &str,
        command: &mut Process,
        (input, capture): (Option<&[u8]>, usize),
        bell: &Bell,
    ) -> io::Result<Option<program::Outcome>> {
        let terms = Terms {
            input,
            capture: Some(capture),
            until: Instant::now() + self.timeout,
            bell,
        };
        let mut said = Vec::new();
        let outcome = program::run(command, &terms, &mut |line| {
            if said.len() < LINES_OF_ONE {
                said.push(line.to_owned());
            }
        })?;
        for line in said {
            self.complain(&format!("{option}: {line}"));
        }
        let problem = match &outcome.end {
            End::Late => format!(
                "did not end within {} (--compute-timeout), and was killed",
                format_duration(self.timeout)
            ),
            End::Stuck => "was killed, but does not end".to_owned(),
            // The machine needs no answer any more.
            End::Cancelled => return Ok(None),
            End::Exit(status) | End::LeftBehind(status) => {
                let is_answer = option == "--decide" && status.code() == Some(OWN);
                if !status.success() && !is_answer {
                    self.complain(&format!("{option} has failed: {status}"));
                }
                return Ok(Some(outcome));
            }
        };
        self.complain(&format!("{option} {problem}"));
        Ok(None)
    }

    fn complain(&mut self, text: &str) {
        if self.lines.allow(clock::now().monotonic) {
            let more = match self.lines.take_refused() {
                0 => String::new(),
                lines => format!(" ({lines} lines before it not shown)"),
            };
            warn!(event = "command_said", "{text}{more}");
        }
    }
}

/// The most lines of one run that are logged.
const LINES_OF_ONE: usize = 5;

/// The shell with a line of a user's.
fn shell(line: &str) -> Process {
    let mut shell = Process::new("/bin/sh");
    shell.args(["-c", line]);
    shell
}

impl Task for Programs {
    type Job = Job;
    type Answer = Command;

    fn carry_out(&mut self, job: Job, bell: &Bell) -> Command {
        let outcome = match &job.work {
            Work::Compute(data) => self.compute(data, bell),
            Work::Decide { received, own } => self.decide(received, own, bell),
        };
        let outcome = outcome.unwrap_or_else(|error| {
            self.complain(&format!("a command cannot be run: {error}"));
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
    use ring_runtime::worker::Bell;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn outcome(mut programs: Programs, work: Work) -> Outcome {
        let bell = Bell::new().expect("a bell");
        match programs.carry_out(Job { id: 7, work }, &bell) {
            Command::Done { job: 7, outcome } => outcome,
            other => panic!("{other:?}"),
        }
    }

    fn computed(line: &str, data: &[u8], timeout: Duration) -> Outcome {
        let programs = Programs::new(line, "true", timeout, 10);
        outcome(programs, Work::Compute(data.into()))
    }

    #[test]
    fn the_next_data_is_what_the_command_prints_of_the_last() {
        let is = |bytes: &[u8]| Outcome::Computed(bytes.into());
        assert_eq!(computed("cat; printf 4", b"123", PATIENCE), is(b"1234"));
        assert_eq!(computed("cat >/dev/null", b"123", PATIENCE), is(b""));
        let ten = b"0123456789";
        assert_eq!(computed("cat", ten, PATIENCE), is(ten));
    }

    #[test]
    fn one_that_fails_says_too_much_or_hangs_has_computed_nothing() {
        for line in [
            "cat; exit 1",
            "cat; printf 12345678901",
            "kill -9 $$",
            "/nowhere/else",
        ] {
            assert_eq!(computed(line, b"1", PATIENCE), Outcome::Failed, "{line}");
        }
        let hangs = computed("exec sleep 1000", b"1", Duration::from_millis(50));
        assert_eq!(hangs, Outcome::Failed);
    }

    #[test]
    fn a_decision_is_an_exit_code_about_two_files() {
        let decided = |line: &str, received: &[u8], own: &[u8]| {
            let programs = Programs::new("cat", line, PATIENCE, 10);
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
