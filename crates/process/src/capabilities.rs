//! The capabilities that a daemon keeps when root starts it.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// Permission to send and receive raw frames.
pub const FRAMES: CapabilitySet = CapabilitySet::NET_RAW;
/// Permission to bind ports below 1024.
pub const PORTS: CapabilitySet = CapabilitySet::NET_BIND_SERVICE;
/// Permission to end programs of other users, such as hooks that changed their user.
pub const PROGRAMS: CapabilitySet = CapabilitySet::KILL;
/// Permission to change the owner of files. SQLite makes the owner of the database the owner of the files that it
/// creates next to the database.
pub const FILES: CapabilitySet = CapabilitySet::CHOWN;
/// Permission to use the directories of a service's user, and to run with a higher priority.
const COMMON: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::SYS_NICE);

/// Gives up all capabilities except `needed` and the capabilities that every daemon needs. The call affects the calling
/// thread, and the threads that this thread starts later. Without [`PROGRAMS`], the daemon and its programs lose all
/// other capabilities permanently. With [`PROGRAMS`], the other capabilities have no effect in the daemon, and its
/// programs have all capabilities of root.
///
/// # Errors
/// Fails if the kernel refuses to change the capabilities.
pub fn keep_only(needed: CapabilitySet) -> io::Result<()> {
    let kept = needed | COMMON;
    let before = capabilities(None)?;
    if !kept.contains(PROGRAMS) && before.effective.contains(CapabilitySet::SETPCAP) {
        for (_, capability) in (CapabilitySet::all() - kept).iter_names() {
            // An older kernel does not know some capabilities, so there are none to give up.
            if capability_is_in_bounding_set(capability).unwrap_or(false) {
                remove_capability_from_bounding_set(capability)?;
            }
        }
    }
    // The permitted set must stay. Otherwise a program could have more capabilities than its parent, and the kernel
    // does not kill such a program when its parent ends.
    let permitted = if kept.contains(PROGRAMS) {
        before.permitted
    } else {
        before.permitted & kept
    };
    let after = CapabilitySets {
        effective: before.effective & kept,
        permitted,
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

    use super::{COMMON, FRAMES, PORTS, PROGRAMS, keep_only};

    /// Returns two sets after `keep_only`: the effective set of a thread, and the effective set of a program that this
    /// thread starts.
    fn kept(needed: CapabilitySet) -> (CapabilitySet, CapabilitySet) {
        let in_thread = move || {
            keep_only(needed).unwrap();
            let program = Command::new("cat").arg("/proc/self/status").output();
            let status = String::from_utf8(program.unwrap().stdout).unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
            let bits = u64::from_str_radix(line.unwrap().trim(), 16).unwrap();
            let own = capabilities(None).unwrap();
            let permitted = if needed.contains(PROGRAMS) {
                CapabilitySet::from_bits_retain(bits)
            } else {
                own.effective
            };
            assert_eq!(own.permitted, permitted);
            (own.effective, CapabilitySet::from_bits_retain(bits))
        };
        thread::spawn(in_thread).join().unwrap()
    }

    #[test]
    fn a_daemon_keeps_only_its_capabilities_and_hooks_have_all() {
        let before = capabilities(None).unwrap().effective;
        let (own, program) = kept(FRAMES | PROGRAMS);
        assert_eq!(own, before & (FRAMES | PROGRAMS | COMMON));
        assert_eq!(program, before);
    }

    #[test]
    fn without_programs_all_other_capabilities_are_lost() {
        let before = capabilities(None).unwrap().effective;
        let (own, program) = kept(PORTS);
        assert_eq!(own, before & (PORTS | COMMON));
        assert_eq!(program, own);
        assert_eq!(capabilities(None).unwrap().effective, before);
    }
}
