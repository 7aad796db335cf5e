//! The worker in a sandbox. It runs the tests that the runner names, one by one.

use std::fs::File;
use std::io::{BufRead, BufReader, Write, stdin};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Error, Result};
use nix::unistd::dup2_stdin;
use serde::{Deserialize, Serialize};

use super::Test;
use super::cpu_starvation;
use crate::stalls::{Plan, Stalls};
use crate::{failure_report, sandbox};

/// First line that a worker sends.
pub(crate) const READY: &str = "ready";

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The outcome is `Err` with the reason if the test failed.
    pub(crate) verdict: Result<(), String>,
    /// Number of stalls of the test's daemons.
    pub(crate) stalls: usize,
    /// Time during which the daemons of a failed test got no CPU, if this time exceeds the limit.
    pub(crate) starved: Option<Duration>,
    /// Output of the worker and the daemons during the test.
    #[serde(skip)]
    pub(crate) output: String,
}

pub(crate) fn work(tests: &[Test]) -> ExitCode {
    match serve(tests) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn serve(tests: &[Test]) -> Result<()> {
    sandbox::prepare_sandbox()?;
    let plan = Plan::from_environment()?;
    let channel = take_channel()?;
    let mut answers = channel.try_clone().context("cannot duplicate a socket")?;
    writeln!(answers, "{READY}")?;
    for name in BufReader::new(channel).lines() {
        let name = name?;
        let test = tests.iter().find(|test| test.name() == name);
        let test = test.with_context(|| format!("there is no test {name}"))?;
        let report = run(test, plan);
        writeln!(answers, "{}", serde_json::to_string(&report)?)?;
    }
    Ok(())
}

/// Takes the connection to the runner. This connection is the standard input. The processes that tests start must not
/// inherit this connection.
fn take_channel() -> Result<UnixStream> {
    let channel = stdin().as_fd().try_clone_to_owned();
    let nothing = File::open("/dev/null").context("cannot open /dev/null")?;
    dup2_stdin(nothing).context("cannot close the standard input")?;
    Ok(UnixStream::from(
        channel.context("cannot duplicate the standard input")?,
    ))
}

fn run(test: &Test, plan: Option<Plan>) -> Report {
    failure_report::clear();
    cpu_starvation::reset();
    let stalls = plan.map(|plan| Stalls::begin(plan, test.name()));
    let outcome = catch_unwind(AssertUnwindSafe(|| test.run()));
    let stalls = stalls.map_or(0, Stalls::end);
    let verdict = match outcome {
        // A daemon may work even if the kernel denied a call. Only the daemon's log shows that the list of permitted
        // calls has a gap.
        Ok(Ok(())) => failure_report::find_denied_call().map_or(Ok(()), Err),
        Ok(Err(error)) => Err(format!("{error:#}\n{}", source_lines(&error))),
        // The panic has already printed its message.
        Err(_) => Err("the case panicked".to_owned()),
    };
    let starved = cpu_starvation::starvation().filter(|_| verdict.is_err());
    let verdict = verdict.map_err(|text| text + &failure_report::describe(test.name()));
    failure_report::clear();
    Report {
        verdict,
        stalls,
        starved,
        output: String::new(),
    }
}

/// Returns the source lines of the test programs through which an error passed.
fn source_lines(error: &Error) -> String {
    let trace = error.backtrace().to_string();
    let own = trace
        .lines()
        .filter(|line| line.contains("/tests/") && !line.contains("/segment/src/"));
    own.fold(String::new(), |all, line| all + line + "\n")
}
