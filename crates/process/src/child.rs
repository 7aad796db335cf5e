//! Child processes that inherit no descriptors from the thread that starts them, and do not outlive this thread.
#![allow(
    unsafe_code,
    reason = "only code between fork and exec can isolate the child before the program starts"
)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{self, Command};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::getppid;

/// The first descriptor after the standard streams.
const FIRST_OTHER: libc::c_uint = 3;

/// Makes the process of `command` inherit only its three standard streams, and start without blocked signals. Makes the
/// kernel kill this process when the calling thread ends for any reason. The kernel does not kill processes that this
/// process starts.
pub fn isolate(command: &mut Command) {
    let parent = process::id();
    let prepare = move || {
        close_on_exec()?;
        SigSet::empty().thread_set_mask()?;
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        // If the parent ended before the call above, the kernel does not kill the child, so the child must end by
        // itself.
        if u32::try_from(getppid().as_raw()) == Ok(parent) {
            Ok(())
        } else {
            Err(io::Error::from(Errno::ESRCH))
        }
    };
    // SAFETY: between fork and exec this makes four system calls, and takes no memory or lock.
    unsafe {
        command.pre_exec(prepare);
    }
}

/// Marks all descriptors except the standard streams as close-on-exec, even descriptors that this process inherited.
/// Does not close them, because the standard library needs some of them until the exec.
fn close_on_exec() -> nix::Result<()> {
    // SAFETY: the call takes no pointers, and closes nothing in this process.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            FIRST_OTHER,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    Errno::result(done).map(drop)
}
