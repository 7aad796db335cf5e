//! Whose turn it is: a bounded number of tests side by side, or one alone, among all test programs
//! and benchmarks of a build. Where the build folder cannot be written the threads of one program
//! keep to it all the same.

use std::env;
use std::fs::File;
use std::path::PathBuf;
use std::process;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// Among the threads of this program.
static WITHIN: RwLock<()> = RwLock::new(());

/// A test's turn, which ends with this.
#[derive(Debug)]
pub struct Turn {
    _within: Within,
    _locks: Vec<Flock<File>>,
}

#[derive(Debug)]
enum Within {
    Alone {
        _guard: RwLockWriteGuard<'static, ()>,
    },
    BesideOthers {
        _guard: RwLockReadGuard<'static, ()>,
    },
}

impl Turn {
    /// Waits until nothing else runs, and keeps it so.
    #[must_use]
    pub fn alone() -> Self {
        // Nothing is kept under it that a panic could spoil.
        let guard = WITHIN.write().unwrap_or_else(PoisonError::into_inner);
        Self {
            _within: Within::Alone { _guard: guard },
            _locks: enter(FlockArg::LockExclusive).into_iter().collect(),
        }
    }

    /// Waits until there is room beside others, who are `most` with this one.
    #[must_use]
    pub fn beside_others(most: usize) -> Self {
        let guard = WITHIN.read().unwrap_or_else(PoisonError::into_inner);
        let among_others = enter(FlockArg::LockShared);
        let slot = among_others.is_some().then(|| take_slot(most)).flatten();
        Self {
            _within: Within::BesideOthers { _guard: guard },
            _locks: among_others.into_iter().chain(slot).collect(),
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
