//! The start of a process inside a control group.
//!
//! A process that moves into a control group waits until all processors have passed a quiet moment of the kernel. This
//! usually takes 16 to 24 ms. A process that starts inside the group does not wait.
#![allow(
    unsafe_code,
    reason = "no library starts a process inside a control group"
)]

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, setpgid};

/// The flag of `clone3` that starts the process in the control group of `clone_args::cgroup` (Linux 5.7). Not all C
/// libraries of the crate `libc` have this number.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
const CLONE_VFORK: u64 = libc::CLONE_VFORK.cast_unsigned() as u64;
/// The signals with which a terminal stops a process group.
const STOPS: [Signal; 3] = [Signal::SIGTSTP, Signal::SIGTTIN, Signal::SIGTTOU];

/// Starts a command inside a control group, given by its folder, and in a new process group. Returns the number of the
/// process.
///
/// # Errors
/// Fails if the command cannot be run, or if the kernel cannot start a process inside a group. Also fails if this
/// process may not use the group, or has several threads. After a failure, no process is left.
pub fn spawn_in_cgroup(command: &mut Command, group: &Path) -> io::Result<Pid> {
    // The copy of this process has only this thread. If another thread held a lock at this moment, the copy would wait
    // for this lock indefinitely.
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(ErrorKind::ResourceBusy.into());
    }
    let group = File::open(group)?;
    let (mut failure, mut report) = io::pipe()?;
    let wanted = libc::clone_args {
        // Until the copy runs the command, this process waits, as it does in `Command::spawn`.
        flags: CLONE_INTO_CGROUP | CLONE_VFORK,
        pidfd: 0,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: libc::SIGCHLD.cast_unsigned().into(),
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: u64::try_from(group.as_raw_fd()).map_err(io::Error::other)?,
    };
    // If Ctrl-Z stopped the copy, this process would wait for it, and would notice no signal.
    let mask = STOPS
        .into_iter()
        .collect::<SigSet>()
        .thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    // SAFETY: the arguments are valid for their size. Like `fork`, the call gives the copy its own memory. The copy has
    // no other thread whose locks it could need.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const wanted, size_of_val(&wanted)) };
    if pid == 0 {
        let error = become_command(command, &mask);
        let code = error.raw_os_error().unwrap_or(libc::EINVAL);
        let _ = report.write_all(&code.to_ne_bytes());
        // SAFETY: the call takes no pointers. The code of the caller must not continue in the copy.
        unsafe { libc::_exit(1) }
    }
    let started = Errno::result(pid);
    mask.thread_set_mask()?;
    drop(report);
    let pid = Pid::from_raw(i32::try_from(started?).map_err(io::Error::other)?);
    let mut code = [0; size_of::<libc::c_int>()];
    match failure.read_exact(&mut code) {
        Ok(()) => {
            waitpid(pid, None)?;
            Err(io::Error::from_raw_os_error(libc::c_int::from_ne_bytes(
                code,
            )))
        }
        // The command runs, or the copy was killed.
        Err(_) => Ok(pid),
    }
}

/// Moves this process into a new process group, drops the stops of its previous group, and becomes the command. Returns
/// the error if this fails.
fn become_command(command: &mut Command, mask: &SigSet) -> io::Error {
    let prepare = || {
        setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
        let ignore = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
        for stop in STOPS {
            // SAFETY: an ignored signal runs no code of this process. The kernel drops the signal if it is pending.
            let before = unsafe { sigaction(stop, &ignore) }?;
            // SAFETY: the handler was set before this call, and handlers stay valid until the process ends.
            unsafe { sigaction(stop, &before) }?;
        }
        mask.thread_set_mask()
    };
    match prepare() {
        Ok(()) => command.exec(),
        Err(errno) => errno.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind, Read, Write};
    use std::path::Path;
    use std::process::Command;
    use std::thread;

    use nix::errno::Errno;
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::Pid;

    use super::spawn_in_cgroup;
    use crate::cgroup::Cgroup;
    use crate::helper;

    /// Whether `check` succeeds in a process that has only one thread and no children.
    fn holds_in_helper(check: impl FnOnce() -> bool) -> bool {
        let mut helper = helper::start(c"starter", |mut parent| {
            let _ = parent.write_all(&[check().into()]);
        })
        .unwrap();
        let mut holds = [0];
        helper.read_exact(&mut holds).unwrap();
        holds == [1]
    }

    /// Only a user with permission for control groups has a group. CI runs the tests as root, too.
    fn group() -> Option<Cgroup> {
        Cgroup::create("ring-test")
    }

    fn is_missing(started: io::Result<Pid>) -> bool {
        started.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    #[test]
    fn without_a_control_group_no_process_starts() {
        let missing = Path::new("/sys/fs/cgroup/missing");
        assert!(holds_in_helper(|| {
            is_missing(spawn_in_cgroup(&mut Command::new("true"), missing))
                && waitpid(None, None) == Err(Errno::ECHILD)
        }));
    }

    #[test]
    fn a_process_with_several_threads_is_not_copied() {
        let in_thread = || spawn_in_cgroup(&mut Command::new("true"), Path::new("/missing"));
        let error = thread::spawn(in_thread).join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ResourceBusy);
    }

    #[test]
    fn a_command_that_cannot_be_run_leaves_no_process() {
        let Some(group) = group() else { return };
        assert!(holds_in_helper(|| {
            is_missing(spawn_in_cgroup(&mut Command::new("/missing"), group.path()))
                && waitpid(None, None) == Err(Errno::ECHILD)
        }));
    }

    #[test]
    fn a_command_starts_inside_the_control_group() {
        let Some(group) = group() else { return };
        assert!(holds_in_helper(|| {
            let mut command = Command::new("grep");
            command.args(["-q", "/ring-test-", "/proc/self/cgroup"]);
            let pid = spawn_in_cgroup(&mut command, group.path()).ok();
            let ended = pid.and_then(|pid| waitpid(pid, None).ok());
            matches!(ended, Some(WaitStatus::Exited(_, 0)))
        }));
    }
}
