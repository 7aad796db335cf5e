//! Sandbox of a process. Processes inside have no access to the machine's network, and end with the sandbox.

use std::env;
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd};
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
use nix::unistd::{getegid, geteuid, sethostname};

use crate::ip;
use crate::runner::Turn;

pub(crate) const INSIDE_VARIABLE: &str = "RING_SEGMENT_INSIDE";

const PACKAGE_LIST: &str = "/var/lib/dpkg";

/// Moves the process into new network, mount, process-id and host-name namespaces, and into a user namespace unless it
/// is root. The host name inside is empty.
///
/// The function also waits until all tests and other sandboxes of the same build have ended. New tests and sandboxes
/// then wait for this sandbox. Measured times would be wrong if other tests ran at the same time.
///
/// Call the function first in `main`, because the process must have only one thread. The function starts the same
/// program again as process 1 of the sandbox, and exits with the exit code of that process. So the function returns
/// only inside the sandbox. When process 1 dies, the kernel ends all processes in the sandbox, and deletes its
/// namespaces, bridges and interfaces.
pub fn enter() -> Result<()> {
    enter_in(Turn::alone)
}

/// Does the same as [`enter`], but does not wait for other tests and sandboxes. Programs that measure no time use this
/// function.
pub fn enter_beside_others() -> Result<()> {
    enter_in(|| Turn::with_others(usize::MAX))
}

fn enter_in(turn: impl FnOnce() -> Turn) -> Result<()> {
    if is_inside() {
        return prepare_sandbox();
    }
    let _turn = turn();
    unshare_namespaces()?;
    // When the parent dies, this pipe ends, so the child notices the death.
    exit(run_inside(Stdio::piped())?);
}

pub(crate) fn is_inside() -> bool {
    env::var_os(INSIDE_VARIABLE).is_some()
}

/// Makes a sandbox for a runner, and runs the same program inside with the same standard input.
pub(crate) fn run_in_sandbox() -> ExitCode {
    // A new user namespace may reset the signal that reports the parent's death.
    let code = unshare_namespaces()
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

/// Prepares the sandbox. The first process of the sandbox calls this function.
pub(crate) fn prepare_sandbox() -> Result<()> {
    die_with_the_parent()?;
    // Otherwise, each member would announce the host name of this machine, and the outputs would depend on it.
    sethostname("").context("cannot clear the host name")?;
    mount_private_dirs()
}

fn unshare_namespaces() -> Result<()> {
    let flags = CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWUTS;
    if geteuid().is_root() && unshare(flags).is_ok() {
        return Ok(());
    }
    let (user, group) = (geteuid(), getegid());
    unshare(flags | CloneFlags::CLONE_NEWUSER).map_err(explain)?;
    // Without this line the kernel does not permit a mapping of groups.
    fs::write("/proc/self/setgroups", "deny").context("cannot disable setgroups")?;
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

/// Runs this program inside, and returns its exit code. `stdin` must be a stream that ends when this process dies, or
/// when the process at the stream's other end dies.
fn run_inside(stdin: Stdio) -> Result<i32> {
    let program = env::current_exe().context("cannot find the running program")?;
    let mut arguments = env::args_os();
    let name = arguments.next().unwrap_or_default();
    let mut child = Command::new(&program)
        .arg0(name)
        .args(arguments)
        .env(INSIDE_VARIABLE, "1")
        // With a backtrace the report of a failed test has the failing line.
        .env("RUST_LIB_BACKTRACE", "1")
        .stdin(stdin)
        .spawn()
        .with_context(|| format!("cannot start {} in a sandbox", program.display()))?;
    let tie = child.stdin.take();
    let status = child
        .wait()
        .context("cannot wait for the sandbox's first process")?;
    drop(tie);
    Ok(status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

fn die_with_the_parent() -> Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL).context("cannot let the process end with its parent")?;
    // If the parent died before the line above, no process holds the other end of the pipe.
    let stdin = std::io::stdin();
    let mut tie = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
    poll(&mut tie, PollTimeout::ZERO).context("cannot query the parent process")?;
    if tie[0]
        .revents()
        .is_some_and(|seen| seen.contains(PollFlags::POLLHUP))
    {
        bail!("the parent process is gone");
    }
    Ok(())
}

fn mount_private_dirs() -> Result<()> {
    let nothing: Option<&str> = None;
    mount(
        nothing,
        "/",
        nothing,
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        nothing,
    )
    .context("cannot make the mounts private")?;
    // The kernel refuses a new /proc if parts of /proc are masked, as in containers. In this case the machine's /proc
    // remains, and its /proc/self is also correct.
    let _ = mount(
        Some("proc"),
        "/proc",
        Some("proc"),
        MsFlags::empty(),
        nothing,
    );
    // Tests of packages need the machine's list of packages.
    let packages = File::open(PACKAGE_LIST).ok();
    // `/etc/ringd` may contain hooks of a daemon that runs on the machine itself.
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
    if let Some(packages) = packages {
        fs::create_dir(PACKAGE_LIST)?;
        let source = format!("/proc/self/fd/{}", packages.as_raw_fd());
        let source = Some(source.as_str());
        mount(source, PACKAGE_LIST, nothing, MsFlags::MS_BIND, nothing)
            .with_context(|| format!("cannot mount {PACKAGE_LIST}"))?;
    }
    ip::batch("link set lo up\n").context("the kernel must have network namespaces")
}
