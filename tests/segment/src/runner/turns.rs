//! Whose turn it is: a bounded number of tests side by side, or one alone, among all test programs
//! and benchmarks of a build. A build folder that cannot be written is not shared with anybody.

use std::env;
use std::fs::File;
use std::path::PathBuf;
use std::process;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// A test's turn, which ends with this.
#[derive(Debug)]
pub(crate) struct Turn {
    _locks: Vec<Flock<File>>,
}

impl Turn {
    /// Waits until nothing else runs, and keeps it so.
    pub(crate) fn alone() -> Self {
        Self::of(enter(FlockArg::LockExclusive))
    }

    /// Waits until there is room beside others, who are `most` with this one.
    pub(crate) fn beside_others(most: usize) -> Self {
        let among_others = enter(FlockArg::LockShared);
        let slot = among_others.is_some().then(|| take_slot(most)).flatten();
        Self::of(among_others.into_iter().chain(slot))
    }

    fn of(locks: impl IntoIterator<Item = Flock<File>>) -> Self {
        Self {
            _locks: locks.into_iter().collect(),
        }
    }
}

/// Who wants to be alone keeps its place in the queue until all others have ended: nobody overtakes it.
fn enter(how: FlockArg) -> Option<Flock<File>> {
    let _place = lock("queue", FlockArg::LockExclusive)?;
    lock("running", how)
}

fn take_slot(most: usize) -> Option<Flock<File>> {
    let free = (0..most).find_map(|slot| {
        let file = open(&format!("slot-{slot}"))?;
        Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
    });
    // Another program has them all: this process waits for one of them.
    let own = process::id() as usize % most.max(1);
    free.or_else(|| lock(&format!("slot-{own}"), FlockArg::LockExclusive))
}

fn lock(name: &str, how: FlockArg) -> Option<Flock<File>> {
    let mut file = open(name)?;
    loop {
        match Flock::lock(file, how) {
            Ok(lock) => return Some(lock),
            Err((same, Errno::EINTR)) => file = same,
            Err(_) => return None,
        }
    }
}

fn open(name: &str) -> Option<File> {
    File::create(folder()?.join(format!("segment-{name}.lock"))).ok()
}

fn folder() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    Some(program.parent()?.to_owned())
}
