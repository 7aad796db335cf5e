//! What was to happen at a write to a closed pipe when this process was started. The standard library
//! has SIGPIPE ignored before `main`, and lets a process that it starts die of it: what was so before
//! is lost, unless it is looked at earlier.
#![allow(
    unsafe_code,
    reason = "only what runs before the standard library's start can see it, and only what runs between \
              fork and exec can put it back"
)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::sys::signal::SigSet;

static WAS_IGNORED: AtomicBool = AtomicBool::new(false);

// SAFETY: the section holds functions that the loader calls before `main`, of this type at least;
// this one needs nothing of the standard library that is not there by then.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    let mut action = libc::sigaction {
        sa_sigaction: libc::SIG_DFL,
        sa_mask: *SigSet::empty().as_ref(),
        sa_flags: 0,
        sa_restorer: None,
    };
    // SAFETY: the call only asks, and `action` is writable.
    let looked = unsafe { libc::sigaction(libc::SIGPIPE, ptr::null(), &raw mut action) };
    let was_ignored = looked == 0 && action.sa_sigaction == libc::SIG_IGN;
    WAS_IGNORED.store(was_ignored, Ordering::Relaxed);
}

/// Has the process that `command` starts, or becomes, ignore SIGPIPE if this one was started so.
pub fn pass_on(command: &mut Command) {
    if !WAS_IGNORED.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: between fork and exec this makes one system call, and takes no memory or lock.
    unsafe {
        command.pre_exec(|| {
            if libc::signal(libc::SIGPIPE, libc::SIG_IGN) == libc::SIG_ERR {
                return Err(io::Error::from(Errno::last()));
            }
            Ok(())
        });
    }
}
