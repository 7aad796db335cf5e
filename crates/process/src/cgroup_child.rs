//! The start of a process inside a control group.
//!
//! A process that moves into a control group waits until all processors have passed a quiet moment of the kernel. This
//! usually takes 16 to 24 ms. A process that starts inside the group does not wait.
#![allow(
    unsafe_code,
    reason = "no library starts a process inside a control group"
)]

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::errno::Errno;
use nix::unistd::Pid;

/// The flag of `clone3` that starts the process in the control group of `clone_args::cgroup` (Linux 5.7). Not all C
/// libraries of the crate `libc` have this number.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
const CLONE_VFORK: u64 = libc::CLONE_VFORK.cast_unsigned() as u64;
/// A shell's exit code for a command that exists but cannot be run.
const CANNOT_RUN_CODE: libc::c_int = 126;

/// Starts a command inside a control group, given by its folder. Returns the number of the process.
///
/// # Errors
/// Fails if the kernel cannot start a process inside a group, or if this process may not use the group. Also fails if
/// this process has several threads. After a failure, no process was started.
pub fn spawn_in_cgroup(command: &mut Command, group: &Path) -> io::Result<Pid> {
    // The copy of this process has only this thread. If another thread held a lock at this moment, the copy would wait
    // for this lock indefinitely.
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    let group = File::open(group)?;
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
    // SAFETY: the arguments are valid for their size. Like `fork`, the call gives the copy its own memory. The copy has
    // no other thread whose locks it could need.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const wanted, size_of_val(&wanted)) };
    let pid = Errno::result(pid)?;
    if pid == 0 {
        let error = command.exec();
        eprintln!("cannot run {}: {error}", command.get_program().display());
        // SAFETY: the call takes no pointers. The code of the caller must not continue in the copy.
        unsafe { libc::_exit(CANNOT_RUN_CODE) }
    }
    Ok(Pid::from_raw(i32::try_from(pid).map_err(io::Error::other)?))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::path::Path;
    use std::process::Command;
    use std::thread;

    use nix::sys::wait::{WaitStatus, waitpid};

    use super::spawn_in_cgroup;
    use crate::cgroup::Cgroup;
    use crate::helper;

    #[test]
    fn without_a_control_group_no_process_starts() {
        let mut helper = helper::start(c"starter", |mut parent| {
            let missing = Path::new("/sys/fs/cgroup/missing");
            let started = spawn_in_cgroup(&mut Command::new("true"), missing);
            let _ = parent.write_all(&[started.is_err().into()]);
        })
        .unwrap();
        let mut is_refused = [0];
        helper.read_exact(&mut is_refused).unwrap();
        assert_eq!(is_refused, [1]);
    }

    #[test]
    fn a_process_with_several_threads_is_not_copied() {
        let in_thread = || spawn_in_cgroup(&mut Command::new("true"), Path::new("/missing"));
        let error = thread::spawn(in_thread).join().unwrap().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ResourceBusy);
    }

    #[test]
    fn a_command_starts_inside_the_control_group() {
        // Only a user with permission for control groups has one. CI runs the tests as root, too.
        let Some(group) = Cgroup::create("ring-test") else {
            return;
        };
        let path = group.path().to_owned();
        // The helper has only one thread.
        let mut helper = helper::start(c"starter", move |mut parent| {
            let mut command = Command::new("grep");
            command.args(["-q", "/ring-test-", "/proc/self/cgroup"]);
            let pid = spawn_in_cgroup(&mut command, &path).ok();
            let ended = pid.and_then(|pid| waitpid(pid, None).ok());
            let is_inside = matches!(ended, Some(WaitStatus::Exited(_, 0)));
            let _ = parent.write_all(&[is_inside.into()]);
        })
        .unwrap();
        let mut is_inside = [0];
        helper.read_exact(&mut is_inside).unwrap();
        assert_eq!(is_inside, [1]);
    }
}
