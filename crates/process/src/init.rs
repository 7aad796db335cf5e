//! Process 1 of a container, or of any other PID namespace.
//!
//! If the parent of a process ends, the kernel makes process 1 the parent. Process 1 must wait for the end of the
//! processes that it inherited. Without such waits, ended processes stay as zombies until no process number is left. A
//! program usually waits only for processes that it started. So process 1 only waits for processes, and runs the
//! program as a child.
#![allow(
    unsafe_code,
    reason = "only code between fork and exec can give the child a signal mask that differs from its parent's"
)]

use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpgrp, getpid, tcgetpgrp, tcsetpgrp};

use super::broken_pipe;

const THIS_PROGRAM: &str = "/proc/self/exe";

/// Checks whether this process is process 1. In process 1, starts this program again as a child, forwards signals to
/// the child, and waits for every ending process. When the child ends, returns the child's exit code. Returns `None` if
/// this is not process 1, or if no child can be started. If the function returns `None`, the program must run in this
/// process. Call this function before all other code, while the process has a single thread.
pub fn run_as_process_1() -> Option<u8> {
    if getpid() != Pid::from_raw(1) {
        return None;
    }
    // Block the signals before the start of the child. Otherwise, signals without a handler are lost in process 1.
    let all = SigSet::all();
    let before = all.thread_swap_mask(SigmaskHow::SIG_SETMASK).ok()?;
    if let Ok(child) = start(before) {
        return Some(stand_in(child, &all));
    }
    let _ = before.thread_set_mask();
    None
}

/// Starts the program in a new process group. If this process's group is the foreground group of the terminal, makes
/// the child's group the foreground group. So a signal from the keyboard reaches the program only once.
fn start(mask: SigSet) -> io::Result<Pid> {
    let mut arguments = env::args_os();
    let mut program = Command::new(THIS_PROGRAM);
    broken_pipe::pass_on(&mut program);
    if let Some(name) = arguments.next() {
        program.arg0(name);
    }
    // SAFETY: the closure makes one system call, which is permitted between fork and exec.
    unsafe { program.pre_exec(move || Ok(mask.thread_set_mask()?)) };
    let child = program.args(arguments).process_group(0).spawn()?;
    let child = i32::try_from(child.id()).map_err(io::Error::other)?;
    let child = Pid::from_raw(child);
    let input = io::stdin();
    if tcgetpgrp(&input) == Ok(getpgrp()) {
        // If the child reads from the terminal before this call, the kernel stops the child. Process 1 continues the
        // child.
        let _ = tcsetpgrp(&input, child);
    }
    Ok(child)
}

/// Waits for all processes and forwards signals until `child` ends. Returns the child's exit code in the form of
/// shells.
fn stand_in(child: Pid, signals: &SigSet) -> u8 {
    loop {
        match signals.wait() {
            Ok(Signal::SIGCHLD) => {
                if let Some(code) = reap(child) {
                    return code;
                }
            }
            // The call fails only if the child has ended.
            Ok(signal) => drop(kill(child, signal)),
            // This error does not come from a signal of the set. Real-time signals are not forwarded.
            Err(_) => {}
        }
    }
}

/// Waits for every ended process. If the child is one of these processes, returns its exit code.
fn reap(child: Pid) -> Option<u8> {
    let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED;
    loop {
        match waitpid(None, Some(flags)) {
            Ok(WaitStatus::Exited(pid, code)) if pid == child => {
                return Some(u8::try_from(code).unwrap_or(u8::MAX));
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => {
                return u8::try_from(128 + signal as i32).ok();
            }
            // No shell exists that could continue a stopped child. So process 1 continues it, except after a SIGSTOP.
            Ok(WaitStatus::Stopped(pid, signal)) if pid == child && signal != Signal::SIGSTOP => {
                let _ = kill(child, Signal::SIGCONT);
            }
            Ok(WaitStatus::StillAlive) => return None,
            Ok(_) | Err(Errno::EINTR) => {}
            // There is no child process left. This does not happen: the code above returns when it has waited for the
            // child.
            Err(_) => return Some(u8::MAX),
        }
    }
}
