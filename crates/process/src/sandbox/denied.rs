//! System calls that the filter denied.
//!
//! For a denied call, the kernel sends SIGSYS to the calling thread, which runs the handler of this module. The handler
//! makes only the call fail, and does not end the daemon. The reason is that a new version of a library may use a call
//! that the filter does not know. Otherwise, such a version could end all daemons of a ring at the same time. The loop
//! logs each denied call, because the call is an attack or a bug.
#![allow(
    unsafe_code,
    reason = "only the handler of a signal can see and answer a denied call, and only through the registers"
)]

use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};

/// The code of a signal that the kernel sends for a denied call (`SYS_SECCOMP`).
const DENIED_CALL: libc::c_int = 1;

/// The value of [`LAST_DENIED`] when there is no denied call.
const NO_CALL: i64 = -1;

/// Number of the last denied call that [`take_denied_call`] has not returned yet.
static LAST_DENIED: AtomicI64 = AtomicI64::new(NO_CALL);

/// Returns the number of a system call that the filter denied after the last call of this function.
pub fn take_denied_call() -> Option<i64> {
    let number = LAST_DENIED.swap(NO_CALL, Ordering::Relaxed);
    (number != NO_CALL).then_some(number)
}

/// Makes denied calls of this thread, and of the threads that it starts later, fail with an error.
pub(super) fn handle() -> io::Result<()> {
    // SAFETY: all fields of the structure may be zero.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_denied;
    action.sa_sigaction = handler as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: the action is complete, and its handler only writes registers and an atomic number.
    let done = unsafe { libc::sigaction(libc::SIGSYS, &raw const action, ptr::null_mut()) };
    Errno::result(done)?;
    // Unblock the signal: in a thread that blocks it, a denied call would end the process.
    let mut signal = SigSet::empty();
    signal.add(Signal::SIGSYS);
    Ok(signal.thread_unblock()?)
}

extern "C" fn on_denied(_: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel calls a handler with SA_SIGINFO with information that is valid until the handler returns.
    let code = unsafe { (*info).si_code };
    if code != DENIED_CALL {
        // Another process sent the signal. The thread has made no denied call, so its registers must not change.
        return;
    }
    // SAFETY: the kernel calls a handler with SA_SIGINFO with a context that is valid until the handler returns.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let call = Call::of(context);
    LAST_DENIED.store(call.number(), Ordering::Relaxed);
    call.fail(libc::EPERM);
}

/// The registers of a thread that made a denied call.
struct Call<'a>(&'a mut libc::mcontext_t);

#[cfg(target_arch = "x86_64")]
impl<'a> Call<'a> {
    const RESULT: usize = libc::REG_RAX as usize;

    const fn of(context: &'a mut libc::ucontext_t) -> Self {
        Self(&mut context.uc_mcontext)
    }

    /// Returns the number of the call. The kernel restores this register before the handler runs.
    const fn number(&self) -> i64 {
        self.0.gregs[Self::RESULT]
    }

    const fn fail(self, error: libc::c_int) {
        self.0.gregs[Self::RESULT] = -(error as i64);
    }
}

#[cfg(target_arch = "aarch64")]
impl<'a> Call<'a> {
    const NUMBER: usize = 8;

    const fn of(context: &'a mut libc::ucontext_t) -> Self {
        Self(&mut context.uc_mcontext)
    }

    const fn number(&self) -> i64 {
        self.0.regs[Self::NUMBER].cast_signed()
    }

    const fn fail(self, error: libc::c_int) {
        self.0.regs[0] = (-(error as i64)).cast_unsigned();
    }
}
