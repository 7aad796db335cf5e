//! Takes turns among all test programs and benchmarks of a build: either a limited number of tests in parallel, or
//! a single one.

use std::env;
use std::fs::File;
use std::process;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// Turn of a test. It ends on drop.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "the locks are held")] Vec<Flock<File>>);

impl Turn {
    /// Waits until no other test runs, and keeps others from running.
    pub fn alone() -> Self {
        Self(enter(FlockArg::LockExclusive).into_iter().collect())
    }

    /// Waits until fewer than `most` other tests run.
    pub fn with_others(most: usize) -> Self {
        let among_others = enter(FlockArg::LockShared);
        let slot = among_others.as_ref().and_then(|_| take_slot(most));
        Self(among_others.into_iter().chain(slot).collect())
    }
}

/// Queues for a turn. A test that wants to run alone keeps its place until all others have ended, so no other test
/// overtakes it.
fn enter(how: FlockArg) -> Option<Flock<File>> {
    let _place = lock("queue", FlockArg::LockExclusive)?;
    lock("running", how)
}

fn take_slot(most: usize) -> Option<Flock<File>> {
    let free = (0..most).find_map(|slot| {
        let file = open(&format!("slot-{slot}"))?;
        Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
    });
    // Other programs have all places, so this process waits for one of them.
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

/// Opens a file next to the program, or in the temporary folder if that one is read-only.
fn open(name: &str) -> Option<File> {
    let name = format!("segment-{name}.lock");
    let program = env::current_exe().ok()?;
    let beside = File::create(program.with_file_name(&name));
    beside
        .or_else(|_| File::create(env::temp_dir().join(&name)))
        .ok()
}
