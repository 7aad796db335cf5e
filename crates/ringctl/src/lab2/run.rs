//! `ringctl run`, `ringctl run-target` and `ringctl once`: run a command while this machine holds a lock.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process;

use ring_control::Grant;
use ring_control::lab2::{OnceRequest, RingRequest, TokenStatus};

use super::super::keeper::{Assignment, Binding, JobReports};
use super::super::values::{duration_ms, program_name};
use super::super::{Error, fence, run};
use super::named_lock::NameOptions;
use super::names::add_names;
use super::options::{AcquireOptions, NamedRunOptions, OnceOptions, RunOptions, TargetOptions};
use super::requests::{keeper_assignment, not_acquired_error, request_json};

pub(super) fn run(socket: &Path, options: &NamedRunOptions) -> Result<u8, Error> {
    let NamedRunOptions { lock: chosen, run } = options;
    let command = command_line(run);
    let lock = run.acquire.request(&program_name(&command));
    let (wait_ms, request) = (lock.wait_ms, chosen.request_json(lock));
    let assignment = Assignment {
        grace_ms: duration_ms(run.grace),
        ..keeper_assignment(socket, request, wait_ms, Binding::Command)
    };
    run_under_lock(socket, assignment, chosen, &run.acquire, &command)
}

/// Runs the units that are bound to a systemd target. Returns the exit code of the process that starts the target.
pub(super) fn run_target(socket: &Path, options: &TargetOptions) -> Result<u8, Error> {
    let target = &options.target;
    let lock = options.acquire.request(&target.to_string());
    let (wait_ms, request) = (lock.wait_ms, options.lock.request_json(lock));
    let units = Binding::Units {
        cgroup: target.prepare()?,
        parent: process::id().cast_signed(),
    };
    let assignment = Assignment {
        grace_ms: duration_ms(options.kill_after),
        ..keeper_assignment(socket, request, wait_ms, units)
    };
    let command = target.holder_command();
    run_under_lock(
        socket,
        assignment,
        &options.lock,
        &options.acquire,
        &command,
    )
}

/// Runs the command unless the job already ran in its period. Returns the command's exit code, or 0 if the command did
/// not run.
pub(super) fn once(socket: &Path, options: &OnceOptions, quiet: bool) -> Result<u8, Error> {
    let run = &options.run;
    let lock = run.acquire.request(&options.name.to_string());
    let once = OnceRequest {
        name: options.name.to_string(),
        every_ms: duration_ms(options.every),
        retry: options.retry,
        lock: lock.clone(),
    };
    let request = request_json(RingRequest::Once(once));
    let assignment = Assignment {
        reports: Some(JobReports {
            not_begun: request_json(RingRequest::NotRun),
            done: request_json(RingRequest::Ran { done: true }),
            failed: request_json(RingRequest::Ran { done: false }),
        }),
        grace_ms: duration_ms(run.grace),
        ..keeper_assignment(socket, request, lock.wait_ms, Binding::Command)
    };
    let token = NameOptions::default();
    match run_under_lock(socket, assignment, &token, &run.acquire, &command_line(run)) {
        Err(Error::HasRun(text)) => Ok(print_not_run(socket, text, quiet)),
        Err(Error::RunLost(text)) => Ok(print_not_run(
            socket,
            format!("{text}; use --retry to run it again"),
            quiet,
        )),
        other => other,
    }
}

/// Prints the reason why the command is not run, and returns the exit code.
fn print_not_run(socket: &Path, text: String, quiet: bool) -> u8 {
    if !quiet {
        let text = add_names(socket, text);
        // If this cannot be printed, the exit code still shows the reason.
        let _ = writeln!(io::stderr(), "ringctl: {text}");
    }
    0
}

fn run_under_lock(
    socket: &Path,
    assignment: Assignment,
    chosen: &NameOptions,
    acquire: &AcquireOptions,
    command: &[OsString],
) -> Result<u8, Error> {
    let to_error = |why| not_acquired_error(why, acquire);
    let prober = Some(acquire.prober(socket, chosen.lock_text()));
    let environment = |grant: &Grant| match chosen.name {
        Some(name) => NameOptions::environment(name, grant),
        None => environment(grant),
    };
    let ended = run::run(assignment, prober, command, environment, to_error);
    ended.map_err(|error| chosen.name_error(error))
}

fn command_line(options: &RunOptions) -> Vec<OsString> {
    match &options.shell {
        Some(line) => vec!["sh".into(), "-c".into(), line.into()],
        None => options.command.clone(),
    }
}

/// Returns the environment variables that describe the lock to the command.
fn environment(grant: &Grant) -> Vec<(&'static str, String)> {
    let token: Option<TokenStatus> = grant.token.as_ref().and_then(|token| token.decode().ok());
    let progress = token.map(|token| token.progress.to_string());
    vec![
        (fence::LOCK_VARIABLE, grant.fencing.clone()),
        (fence::TOKEN_VARIABLE, grant.fencing.clone()),
        ("RINGD_PROGRESS", progress.unwrap_or_default()),
        ("RINGD_GRADE", grant.grade.clone().unwrap_or_default()),
        ("RINGD_DATA", grant.data.clone()),
    ]
}
