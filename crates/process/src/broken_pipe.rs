//! Stores the effect that SIGPIPE had when this process started. Before `main`, the standard library makes this process
//! ignore SIGPIPE. In child processes, the standard library sets SIGPIPE to its default effect. So this module reads
//! the original effect before the standard library starts.
#![allow(
    unsafe_code,
    reason = "only code before the start of the standard library can read the original effect of SIGPIPE, and only \
              code between fork and exec can restore this effect"
)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::sys::signal::SigSet;

static WAS_IGNORED: AtomicBool = AtomicBool::new(false);

// SAFETY: the section contains functions of this type that the loader calls before `main`. This function uses only
// parts of the standard library that work before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static READ_AT_START: extern "C" fn() = read_effect;

extern "C" fn read_effect() {
    let mut action = libc::sigaction {
        sa_sigaction: libc::SIG_DFL,
        sa_mask: *SigSet::empty().as_ref(),
        sa_flags: 0,
        sa_restorer: None,
    };
    // SAFETY: the call only reads, and `action` is writable.
    let looked = unsafe { libc::sigaction(libc::SIGPIPE, ptr::null(), &raw mut action) };
    let was_ignored = looked == 0 && action.sa_sigaction == libc::SIG_IGN;
    WAS_IGNORED.store(was_ignored, Ordering::Relaxed);
}

/// If this process ignored SIGPIPE at its start, makes the process of `command` ignore it too.
pub fn pass_on(command: &mut Command) {
    if !WAS_IGNORED.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: between fork and exec, the function makes one system call. It allocates no memory and takes no lock.
    unsafe {
        command.pre_exec(|| {
            if libc::signal(libc::SIGPIPE, libc::SIG_IGN) == libc::SIG_ERR {
                return Err(io::Error::from(Errno::last()));
            }
            Ok(())
        });
    }
}
