//! The capabilities that a daemon keeps when root starts it.

use std::io;

pub use rustix::thread::CapabilitySet;
use rustix::thread::{
    CapabilitySets, capabilities, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// Permission to send and receive raw frames. The daemon keeps it, because it must open a new socket when an interface
/// was removed and created again.
pub const FRAMES: CapabilitySet = CapabilitySet::NET_RAW;
/// Permission to bind ports below 1024. The daemon keeps it, because it must bind a new socket when an address was
/// removed and added again.
pub const PORTS: CapabilitySet = CapabilitySet::NET_BIND_SERVICE;
/// Permission to change the owner of files. SQLite needs it: the files that it creates next to a database get the owner
/// of the database.
pub const FILES: CapabilitySet = CapabilitySet::CHOWN;
/// Permission to use the directories of a service's user.
const COMMON: CapabilitySet = CapabilitySet::DAC_OVERRIDE;

/// Permanently gives up all capabilities except `needed` and the capabilities that every daemon needs. The call affects
/// the calling thread, and the threads and processes that this thread starts later.
///
/// # Errors
/// Fails if the kernel refuses to change the capabilities.
pub fn keep_only(needed: CapabilitySet) -> io::Result<()> {
    let kept = needed | COMMON;
    let before = capabilities(None)?;
    if before.effective.contains(CapabilitySet::SETPCAP) {
        for (_, capability) in (CapabilitySet::all() - kept).iter_names() {
            // An older kernel does not know some of the capabilities. A process cannot have them, and need not give
            // them up.
            if capability_is_in_bounding_set(capability).unwrap_or(false) {
                remove_capability_from_bounding_set(capability)?;
            }
        }
    }
    let after = CapabilitySets {
        effective: before.effective & kept,
        permitted: before.permitted & kept,
        inheritable: before.inheritable & kept,
    };
    // The system call filter of the units forbids this call. A daemon in a unit has no capabilities to give up.
    if after != before {
        set_capabilities(None, after)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread;

    use rustix::thread::{CapabilitySet, capabilities};

    use super::{COMMON, PORTS, keep_only};

    #[test]
    fn all_other_capabilities_are_lost_in_the_thread_and_in_its_programs() {
        let before = capabilities(None).unwrap().effective;
        let in_thread = || {
            keep_only(PORTS).unwrap();
            let program = Command::new("cat").arg("/proc/self/status").output();
            let status = String::from_utf8(program.unwrap().stdout).unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
            let bits = u64::from_str_radix(line.unwrap().trim(), 16).unwrap();
            let own = capabilities(None).unwrap();
            assert_eq!(own.permitted, own.effective);
            (own.effective, CapabilitySet::from_bits_retain(bits))
        };
        let (own, program) = thread::spawn(in_thread).join().unwrap();
        assert_eq!(own, before & (PORTS | COMMON));
        assert_eq!(program, own);
        assert_eq!(capabilities(None).unwrap().effective, before);
    }
}
