//! The limits of a daemon after its start-up.
//!
//! A daemon needs few permissions after it has opened its files and sockets. [`Sandbox::enter`] gives up all others,
//! also if root started the daemon. An attacker may take over the daemon through a frame. Then the attacker cannot
//! start a program or write the files of other programs.

mod denied;
mod files;
mod system_calls;

use std::io;
use std::sync::OnceLock;

use nix::sys::prctl;

use crate::capabilities::{self, CapabilitySet};

pub use denied::take_denied_call;
pub use files::Files;

/// The address families of a daemon that sends by IP. The journal and clients use Unix sockets. The resolver of names
/// and the look-up of interfaces use netlink.
pub const IP_FAMILIES: &[libc::c_int] = &[
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_UNIX,
    libc::AF_NETLINK,
];

/// The limits that the kernel does not support, after [`Sandbox::enter`].
static MISSING_LIMITS: OnceLock<Vec<&'static str>> = OnceLock::new();

/// Returns the names of the limits that the kernel does not support, for the status of a daemon. They are the names of
/// [`MissingLimit`].
pub fn missing_limits() -> Vec<String> {
    let names = MISSING_LIMITS.get().into_iter().flatten();
    names.map(|&name| name.to_owned()).collect()
}

/// The permissions that a daemon keeps.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// The capabilities that a daemon of root keeps.
    pub capabilities: CapabilitySet,
    /// The address families of the sockets that the daemon may open, as in `AF_INET`.
    pub address_families: &'static [libc::c_int],
    /// The files that the daemon may open.
    pub files: Files,
}

/// A limit that the kernel does not support, or does not let this process set.
#[derive(Debug)]
pub struct MissingLimit {
    /// The limit, for operators.
    pub limit: &'static str,
    /// The reason.
    pub why: String,
}

impl Sandbox {
    /// Permanently gives up all other permissions of the calling thread, and of the threads that it starts later. The
    /// process must have a single thread. Returns the limits that the kernel does not support: an old kernel must not
    /// keep a daemon from its work.
    ///
    /// # Errors
    /// Fails if the kernel refuses to change the capabilities.
    pub fn enter(&self) -> io::Result<Vec<MissingLimit>> {
        // The order matters: the rules for files need open files, and the filter forbids the calls that set the other
        // limits.
        // A core dump would contain keys, and an operator may send it to others.
        prctl::set_dumpable(false)?;
        let files = self.files.restrict().err().map(|why| MissingLimit {
            limit: "access to files",
            why,
        });
        capabilities::keep_only(self.capabilities)?;
        let calls = system_calls::restrict(self.address_families, self.files.reads_everything);
        let calls = calls.err().map(|why| MissingLimit {
            limit: "system calls",
            why,
        });
        let missing: Vec<_> = files.into_iter().chain(calls).collect();
        MISSING_LIMITS.get_or_init(|| missing.iter().map(|it| it.limit).collect());
        Ok(missing)
    }
}
