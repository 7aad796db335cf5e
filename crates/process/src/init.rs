//! Process 1 of a container, or of any other PID namespace.
//!
//! The kernel gives process 1 every process whose parent has ended, and expects it to wait for them; otherwise they
//! stay as zombies until no process number is left. A program that waits for the processes that it knows does not
//! do that. So there the program runs as a child, and process 1 does nothing but this.
#![allow(
    unsafe_code,
    reason = "only what runs between fork and exec can give the child another signal mask than its parent's"
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

/// The executable of this process.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// If this is process 1, starts this program again as a child, and stands in for it until it ends: passes signals on
/// to it, and waits for every process that ends. Returns the child's exit code. `None`: this is another process, or no
/// child can be started, and the program is to run here. To be called first of all, with a single thread.
pub fn stand_in_as_process_1() -> Option<u8> {
    if getpid() != Pid::from_raw(1) {
        return None;
    }
    // Before the child starts: signals without a handler are lost on process 1 unless they are blocked.
    let all = SigSet::all();
    let before = all.thread_swap_mask(SigmaskHow::SIG_SETMASK).ok()?;
    if let Ok(child) = start(before) {
        return Some(stand_in(child, &all));
    }
    let _ = before.thread_set_mask();
    None
}

/// Starts the program in a process group of its own, which has the terminal if this one's had it: so a key reaches
/// it once.
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
        // A child that wants it before that is stopped, and told to go on.
        let _ = tcsetpgrp(&input, child);
    }
    Ok(child)
}

/// Waits for all processes, and passes signals on, until `child` ends. Returns its exit code, as shells count.
fn stand_in(child: Pid, signals: &SigSet) -> u8 {
    loop {
        match signals.wait() {
            Ok(Signal::SIGCHLD) => {
                if let Some(code) = reap(child) {
                    return code;
                }
            }
            // One that has ended needs no signal.
            Ok(signal) => drop(kill(child, signal)),
            // The kernel interrupts the wait for no signal of the set; real-time signals are not passed on.
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
            // No shell is there that could let it go on. SIGSTOP is between the child and the sender.
            Ok(WaitStatus::Stopped(pid, signal)) if pid == child && signal != Signal::SIGSTOP => {
                let _ = kill(child, Signal::SIGCONT);
            }
            Ok(WaitStatus::StillAlive) => return None,
            Ok(_) | Err(Errno::EINTR) => {}
            // There is no child: the one above has been waited for, which returns.
            Err(_) => return Some(u8::MAX),
        }
    }
}
