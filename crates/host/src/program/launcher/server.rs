//! The launcher's side: starts programs, signals them, and waits for them.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Stdio};

use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use ring_process::{Tree, child};
use rustix::process::{PidfdFlags, pidfd_open};

use super::Programs;
use super::message::{Channel, Launch, Reply, Request};

/// The difference between a program's OOM score and the launcher's OOM score, in thousandths of the memory.
const OOM_SCORE_EXTRA: i32 = 500;
/// A daemon may set only variables whose names begin with this text. Other variables, such as `LD_PRELOAD`, could
/// change the work of a program.
const VARIABLE_PREFIX: &str = "RINGD_";

/// The program that was started last.
struct Process {
    child: Child,
    tree: Tree,
}

/// Serves a daemon until the daemon ends.
pub(super) fn serve(channel: &Channel, programs: &mut impl Programs) {
    let mut process = None;
    while let Ok((request, descriptors)) = channel.receive() {
        let (reply, exit) = answer(programs, &mut process, request, descriptors);
        let exit: Vec<_> = exit.iter().map(AsFd::as_fd).collect();
        if channel.send(&reply, &exit).is_err() {
            return;
        }
    }
}

/// Returns the reply to a request. If a program was started, also returns a descriptor that becomes readable when the
/// program ends.
fn answer(
    programs: &mut impl Programs,
    process: &mut Option<Process>,
    request: Request,
    descriptors: Vec<OwnedFd>,
) -> (Reply, Option<OwnedFd>) {
    let reply = match (request, process) {
        (Request::Find { reloads }, _) => Reply::Found(programs.find(reloads)),
        (Request::Start { launch, has_input }, process) => {
            *process = None;
            reap();
            match start(programs, &launch, has_input, descriptors) {
                Ok((started, exit)) => {
                    *process = Some(started);
                    return (Reply::Started, Some(exit));
                }
                Err(error) => Reply::Failed(error.to_string()),
            }
        }
        (Request::Terminate, Some(process)) => {
            process.tree.terminate();
            Reply::Done
        }
        (Request::Kill, Some(process)) => {
            // If the launcher has no permission to kill a process, the process stays, and the daemon reports it.
            process.tree.kill();
            Reply::Done
        }
        (Request::IsEmpty, Some(process)) => Reply::IsEmpty(process.tree.is_empty()),
        (Request::Wait, Some(process)) => match process.child.wait() {
            Ok(status) => Reply::Ended(status.into_raw()),
            Err(error) => Reply::Failed(error.to_string()),
        },
        (_, None) => Reply::Failed("no program was started".to_owned()),
    };
    (reply, None)
}

/// Removes the zombies of programs that ended later than in time.
fn reap() {
    while let Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) =
        waitpid(None, Some(WaitPidFlag::WNOHANG))
    {}
}

/// Starts a program. Returns a descriptor that becomes readable when the program ends.
fn start(
    programs: &mut impl Programs,
    launch: &Launch,
    has_input: bool,
    descriptors: Vec<OwnedFd>,
) -> io::Result<(Process, OwnedFd)> {
    let mut names = launch.variables.iter().map(|(name, _)| name);
    if let Some(name) = names.find(|name| !name.starts_with(VARIABLE_PREFIX)) {
        return Err(io::Error::other(format!("may not set the variable {name}")));
    }
    let command = programs.command(launch.program, &launch.arguments);
    let mut command = command.ok_or_else(|| io::Error::other("there is no such program"))?;
    let mut streams = descriptors.into_iter().map(Stdio::from);
    let mut next = || streams.next().unwrap_or_else(Stdio::null);
    command
        .stdout(next())
        .stderr(next())
        .stdin(if has_input { next() } else { Stdio::null() })
        .process_group(0)
        // The service manager must not mistake messages of the program for messages of the daemon.
        .env_remove("NOTIFY_SOCKET")
        .envs(launch.variables.iter().map(|(name, value)| (name, value)));
    child::isolate(&mut command);
    let mut child = command.spawn()?;
    raise_oom_score(child.id());
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    let exit = pidfd_open(
        rustix::process::Pid::from_child(&child),
        PidfdFlags::empty(),
    )
    .inspect_err(|_| {
        // A program that the daemon cannot watch must not run.
        let _ = child.kill();
        let _ = child.wait();
    })?;
    let tree = Tree::existing(Pid::from_raw(pid), None);
    Ok((Process { child, tree }, exit))
}

/// Makes the kernel kill the program before the daemon if memory is short.
fn raise_oom_score(program: u32) {
    let own = fs::read_to_string("/proc/self/oom_score_adj").unwrap_or_default();
    let own: i32 = own.trim().parse().unwrap_or_default();
    let more = (own + OOM_SCORE_EXTRA).min(1000).to_string();
    // Raising the score needs no privilege. The write fails if the process has ended, but then the process needs no
    // memory.
    let _ = fs::write(format!("/proc/{program}/oom_score_adj"), more);
}
