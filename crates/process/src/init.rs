//! Process 1 of a container, or of any other PID namespace.
//!
//! The kernel makes process 1 the parent of every process whose parent has ended, and expects it to wait for them.
//! Otherwise they stay as zombies until no process number is left. A program that waits only for its own children
//! does not do that. So process 1 does only this, and runs the program as a child.
#![allow(
    unsafe_code,
    reason = "only code between fork and exec can give the child another signal mask than its parent's"
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

/// Checks whether this is process 1. If so, it starts this program again as a child, forwards signals to it, and
/// waits for every process that ends. It returns the child's exit code. It returns `None` if this is another process,
/// or if no child can be started: then the program must run here. Call it first, with a single thread.
pub fn run_as_process_1() -> Option<u8> {
    if getpid() != Pid::from_raw(1) {
        return None;
    }
    // This comes before the start of the child: process 1 loses signals without a handler unless they are blocked.
    let all = SigSet::all();
    let before = all.thread_swap_mask(SigmaskHow::SIG_SETMASK).ok()?;
    if let Ok(child) = start(before) {
        return Some(stand_in(child, &all));
    }
    let _ = before.thread_set_mask();
    None
}

/// Starts the program in its own process group. If this process's group had the terminal, the child's group gets it,
/// so that a key reaches the program only once.
fn start(mask: SigSet) -> io::Result<Pid> {
    let mut arguments = env::args_os();
    let mut program = Command::new(THIS_PROGRAM);
    broken_pipe::pass_on(&mut program);
    if let Some(name) = arguments.next() {
        program.arg0(name);
    }
    // SAFETY: the closure makes one system call, which may be made between fork and exec.
    unsafe { program.pre_exec(move || Ok(mask.thread_set_mask()?)) };
    let child = program.args(arguments).process_group(0).spawn()?;
    let child = i32::try_from(child.id()).map_err(io::Error::other)?;
    let child = Pid::from_raw(child);
    let input = io::stdin();
    if tcgetpgrp(&input) == Ok(getpgrp()) {
        // A child that reads earlier is stopped. Process 1 continues it.
        let _ = tcsetpgrp(&input, child);
    }
    Ok(child)
}

/// Waits for all processes and forwards signals until `child` ends. Returns its exit code in the form of shells.
fn stand_in(child: Pid, signals: &SigSet) -> u8 {
    loop {
        match signals.wait() {
            Ok(Signal::SIGCHLD) => {
                if let Some(code) = reap(child) {
                    return code;
                }
            }
            // It fails only if the child has ended.
            Ok(signal) => drop(kill(child, signal)),
            // No signal of the set interrupts the wait. Real-time signals are not forwarded.
            Err(_) => {}
        }
    }
}

/// Waits for every process that has ended. Returns the child's exit code if it is one of them.
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
            // No shell exists that could continue the child. A SIGSTOP concerns only the child and the sender.
            Ok(WaitStatus::Stopped(pid, signal)) if pid == child && signal != Signal::SIGSTOP => {
                let _ = kill(child, Signal::SIGCONT);
            }
            Ok(WaitStatus::StillAlive) => return None,
            Ok(_) | Err(Errno::EINTR) => {}
            // There is no child left. The code above returns when it has waited for the child.
            Err(_) => return Some(u8::MAX),
        }
    }
}
