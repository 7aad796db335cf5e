//! The limits of a daemon after its start-up.
//!
//! After a daemon has opened its files and sockets, it needs only few permissions. [`Sandbox::enter`] gives up the
//! others, even if root started the daemon. So an attacker that takes over the daemon cannot start programs, and cannot
//! write to the files of other programs.

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

/// Returns the names of the limits that the kernel does not support, for the status of a daemon. The names come from
/// [`MissingLimit::limit`].
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

/// A limit that the process could not set, for example because the kernel does not support it.
#[derive(Debug)]
pub struct MissingLimit {
    /// The limit, for operators.
    pub limit: &'static str,
    /// The reason.
    pub why: String,
}

impl Sandbox {
    /// Permanently gives up all permissions except those of this sandbox. The call affects the calling thread, and the
    /// threads that it starts later. The process must have a single thread. Returns the limits that could not be set,
    /// because a daemon must also work on an old kernel.
    ///
    /// # Errors
    /// Fails if the kernel refuses to change the capabilities.
    pub fn enter(&self) -> io::Result<Vec<MissingLimit>> {
        // The order matters: the code for the rules about files must still open files, and the filter forbids the calls
        // that set the other limits. A core dump would contain keys, and an operator might send the dump to other
        // people. So the process must not dump core.
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
