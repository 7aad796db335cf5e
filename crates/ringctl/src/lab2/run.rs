//! `ringctl run` and `ringctl once`: a command that runs while the ring's token is held.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use ring_control::Grant;
use ring_control::lab2::{OnceRequest, RingRequest, TokenStatus};

use super::super::keeper::{Assignment, Binding, JobReports};
use super::super::values::{duration_ms, program_name};
use super::super::{Error, fence, run};
use super::asking::{assignment, not_acquired, request};
use super::names::named_by;
use super::options::{OnceOptions, RunOptions};

/// Runs the command while the lock is held, and returns its exit code.
///
/// # Errors
/// The lock is not to be had, or it is lost.
pub(super) fn run(socket: &Path, options: &RunOptions) -> Result<u8, Error> {
    let command = command(options);
    let lock = options.acquire.request(&program_name(&command));
    let assignment = Assignment {
        grace_ms: duration_ms(options.grace),
        ..assignment(socket, lock, Binding::Command)
    };
    work(socket, assignment, options, &command)
}

/// Runs the command if it has not run in its period, and returns its exit code; 0 if it has.
///
/// # Errors
/// The lock is not to be had, or it is lost.
pub(super) fn once(socket: &Path, options: &OnceOptions, quiet: bool) -> Result<u8, Error> {
    let run = &options.run;
    let lock = run.acquire.request(&options.name.to_string());
    let once = OnceRequest {
        name: options.name.to_string(),
        every_ms: duration_ms(options.every),
        retry: options.retry,
        lock: lock.clone(),
    };
    let assignment = Assignment {
        request: request(RingRequest::Once(once)),
        reports: Some(JobReports {
            not_begun: request(RingRequest::NotRun),
            done: request(RingRequest::Ran { done: true }),
            failed: request(RingRequest::Ran { done: false }),
        }),
        grace_ms: duration_ms(run.grace),
        ..assignment(socket, lock, Binding::Command)
    };
    match work(socket, assignment, run, &command(run)) {
        Err(Error::HasRun(text)) => Ok(say_not_run(socket, text, quiet)),
        Err(Error::RunLost(text)) => Ok(say_not_run(
            socket,
            format!("{text}; with --retry it is run again"),
            quiet,
        )),
        other => other,
    }
}

/// Prints why the command is not run, and returns the exit code.
fn say_not_run(socket: &Path, text: String, quiet: bool) -> u8 {
    if !quiet {
        let text = named_by(socket, text);
        // If standard error is closed, the exit code still tells.
        let _ = writeln!(io::stderr(), "ringctl: {text}");
    }
    0
}

fn work(
    socket: &Path,
    assignment: Assignment,
    options: &RunOptions,
    command: &[OsString],
) -> Result<u8, Error> {
    let acquire = &options.acquire;
    let denied = |why| not_acquired(why, acquire);
    let prober = Some(acquire.prober(socket));
    run::run(assignment, prober, command, environment, denied)
}

fn command(options: &RunOptions) -> Vec<OsString> {
    match &options.shell {
        Some(line) => vec!["sh".into(), "-c".into(), line.into()],
        None => options.command.clone(),
    }
}

/// Returns the environment variables that tell the command about the lock.
fn environment(grant: &Grant) -> Vec<(&'static str, String)> {
    let token: Option<TokenStatus> = grant.token.as_ref().and_then(|token| token.read().ok());
    let progress = token.map(|token| token.progress.to_string());
    vec![
        (fence::LOCK, grant.fencing.clone()),
        (fence::TOKEN, grant.fencing.clone()),
        ("RINGD_PROGRESS", progress.unwrap_or_default()),
        ("RINGD_GRADE", grant.grade.clone().unwrap_or_default()),
        ("RINGD_DATA", grant.data.clone()),
    ]
}
