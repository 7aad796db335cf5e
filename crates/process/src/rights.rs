//! The capabilities that a daemon keeps when root starts it.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// To send and receive raw frames.
pub const FRAMES: CapabilitySet = CapabilitySet::NET_RAW;
/// To bind ports below 1024.
pub const PORTS: CapabilitySet = CapabilitySet::NET_BIND_SERVICE;
/// To end programs of other users, such as hooks that changed theirs.
pub const PROGRAMS: CapabilitySet = CapabilitySet::KILL;
/// To give files to the owner of those beside them, as SQLite does.
pub const FILES: CapabilitySet = CapabilitySet::CHOWN;
/// To use the folders of a service's user, and to run before others on a busy machine.
const COMMON: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::SYS_NICE);

/// Gives up all capabilities but `needed` and those that every daemon needs, for the calling thread and the threads that it
/// starts later. A daemon without [`PROGRAMS`] loses them for good, and so do the programs that it starts. One with
/// [`PROGRAMS`] only puts them aside: its programs have all of root's rights.
///
/// # Errors
/// The kernel refuses.
pub fn keep(needed: CapabilitySet) -> io::Result<()> {
    let kept = needed | COMMON;
    let before = capabilities(None)?;
    if !kept.contains(PROGRAMS) && before.effective.contains(CapabilitySet::SETPCAP) {
        for (_, capability) in (CapabilitySet::all() - kept).iter_names() {
            // A kernel that does not know it has none to give up.
            if capability_is_in_bounding_set(capability).unwrap_or(false) {
                remove_capability_from_bounding_set(capability)?;
            }
        }
    }
    // The kernel forgets that a program is to die with its parent if the program may do more than the parent could.
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
    // The units' filter of system calls refuses it, where there is none to give up.
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

    use super::{COMMON, FRAMES, PORTS, PROGRAMS, keep};

    /// The effective set of this thread, and of a program that it starts, after it has kept these.
    fn kept(needed: CapabilitySet) -> (CapabilitySet, CapabilitySet) {
        let in_thread = move || {
            keep(needed).unwrap();
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
    fn a_daemon_keeps_only_its_rights_and_hooks_have_all_of_their_user() {
        let before = capabilities(None).unwrap().effective;
        let (own, program) = kept(FRAMES | PROGRAMS);
        assert_eq!(own, before & (FRAMES | PROGRAMS | COMMON));
        assert_eq!(program, before);
    }

    #[test]
    fn a_daemon_without_programs_cannot_get_its_rights_back_by_one() {
        let before = capabilities(None).unwrap().effective;
        let (own, program) = kept(PORTS);
        assert_eq!(own, before & (PORTS | COMMON));
        assert_eq!(program, own);
        assert_eq!(capabilities(None).unwrap().effective, before);
    }
}
