//! A process of its own world: nothing that it does reaches the machine's network, and nothing
//! of it outlives it.

use std::env;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio, exit};

use anyhow::{Context, Result, anyhow, bail};
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{getegid, geteuid};

use crate::ip;
use crate::runner::Turn;

/// Set in the environment of the process that is inside.
pub(crate) const INSIDE: &str = "RING_SEGMENT_INSIDE";

/// Moves the process into network, mount and process-id namespaces of its own, and a user
/// namespace where it is not root.
///
/// It is alone there and here: what measures time waits until all tests and other worlds of the same
/// build have ended, and keeps new ones waiting.
///
/// Call it first in `main`: the process must have one thread. It starts the same program again
/// as process 1 of the new world and ends with that one's exit code, so it returns only inside.
/// When process 1 dies, for whatever reason, the kernel ends every process in the world, and with
/// them go all its namespaces, bridges and interfaces.
pub fn enter() -> Result<()> {
    enter_in(Turn::alone)
}

/// Does the same as [`enter`], but beside tests and other worlds: for programs that measure no time.
pub fn enter_beside_others() -> Result<()> {
    enter_in(|| Turn::beside_others(usize::MAX))
}

fn enter_in(turn: impl FnOnce() -> Turn) -> Result<()> {
    if is_inside() {
        return settle_in();
    }
    let _turn = turn();
    leave_the_machine()?;
    // Only the pipe's hang-up is of use: it tells the child that its parent is gone.
    exit(run_inside(Stdio::piped())?);
}

/// Whether this process is inside.
pub(crate) fn is_inside() -> bool {
    env::var_os(INSIDE).is_some()
}

/// What a process does that is to make a world for a runner: runs the same program inside, which
/// has this one's standard input.
pub(crate) fn cross_over() -> ExitCode {
    // A new user namespace may unset the signal that tells of the parent's death.
    let code = leave_the_machine()
        .and_then(|()| die_with_the_parent())
        .and_then(|()| run_inside(Stdio::inherit()));
    match code {
        Ok(code) => exit(code),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Makes a home of the world that this process is the first of.
pub(crate) fn settle_in() -> Result<()> {
    die_with_the_parent()?;
    furnish()
}

fn leave_the_machine() -> Result<()> {
    let flags = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID;
    if geteuid().is_root() && unshare(flags).is_ok() {
        return Ok(());
    }
    let (user, group) = (geteuid(), getegid());
    unshare(flags | CloneFlags::CLONE_NEWUSER).map_err(explain)?;
    // Without this the kernel lets no group be mapped.
    fs::write("/proc/self/setgroups", "deny").context("cannot give up setgroups")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1")).context("cannot map the user")?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1")).context("cannot map the group")?;
    Ok(())
}

fn explain(errno: Errno) -> anyhow::Error {
    let knobs = [
        ("kernel/unprivileged_userns_clone", "0", "1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
        ("user/max_user_namespaces", "0", "15000"),
        ("user/max_net_namespaces", "0", "15000"),
    ];
    let closed = knobs.iter().find(|(knob, closed, _)| {
        fs::read_to_string(Path::new("/proc/sys").join(knob)).is_ok_and(|now| now.trim() == *closed)
    });
    let remedy = match (closed, errno) {
        (Some((knob, _, open)), _) => {
            format!(
                "run `sysctl -w {}={open}`, or run the tests as root",
                knob.replace('/', ".")
            )
        }
        (None, Errno::EINVAL) => {
            "the kernel needs CONFIG_NET_NS, CONFIG_PID_NS and CONFIG_USER_NS".to_owned()
        }
        (None, _) => "run the tests as root, or outside of the container or seccomp filter that \
                      forbids namespaces"
            .to_owned(),
    };
    anyhow!("cannot make namespaces for the tests ({errno}): {remedy}")
}

/// Runs this program inside, and gives its exit code. Its standard input must be of a kind that hangs
/// up when this process, or who holds the other end, is gone.
fn run_inside(stdin: Stdio) -> Result<i32> {
    let program = env::current_exe().context("cannot find the running program")?;
    let mut arguments = env::args_os();
    let name = arguments.next().unwrap_or_default();
    let mut child = Command::new(&program)
        .arg0(name)
        .args(arguments)
        .env(INSIDE, "1")
        // A failed test names its line by the error's backtrace.
        .env("RUST_LIB_BACKTRACE", "1")
        .stdin(stdin)
        .spawn()
        .with_context(|| format!("cannot start {} in its own world", program.display()))?;
    let tie = child.stdin.take();
    let status = child
        .wait()
        .context("cannot wait for the world's first process")?;
    drop(tie);
    Ok(status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

fn die_with_the_parent() -> Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL).context("cannot tie the process to its parent")?;
    // The parent may have died before the line above: then nobody holds the pipe.
    let stdin = std::io::stdin();
    let mut tie = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
    poll(&mut tie, PollTimeout::ZERO).context("cannot look after the parent")?;
    if tie[0]
        .revents()
        .is_some_and(|seen| seen.contains(PollFlags::POLLHUP))
    {
        bail!("the parent process is gone");
    }
    Ok(())
}

fn furnish() -> Result<()> {
    let nothing: Option<&str> = None;
    mount(
        nothing,
        "/",
        nothing,
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        nothing,
    )
    .context("cannot make the mounts private")?;
    // Where part of /proc is masked (in containers) the kernel refuses. The machine's own /proc
    // still serves then: /proc/self is right in both.
    let _ = mount(
        Some("proc"),
        "/proc",
        Some("proc"),
        MsFlags::empty(),
        nothing,
    );
    // The last one, if it is there, has hooks of the machine's own daemon.
    for place in ["/run", "/var/lib", "/etc/ringd"] {
        if place.starts_with("/etc") && !Path::new(place).exists() {
            continue;
        }
        mount(
            Some("tmpfs"),
            place,
            Some("tmpfs"),
            MsFlags::empty(),
            Some("mode=0755"),
        )
        .with_context(|| format!("cannot mount a tmpfs on {place}"))?;
    }
    ip::batch("link set lo up\n").context("the kernel must have network namespaces")
}
