//! Coordinates all test programs and benchmarks of a build. Either a limited number of tests runs in parallel, or only
//! one test runs.

use std::env;
use std::fs::File;
use std::process;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// Turn of a test. It ends on drop.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "the locks are held")] Vec<Flock<File>>);

impl Turn {
    /// Waits until all other tests have ended, and prevents other tests from running.
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

/// Waits in a queue for a turn. An exclusive test keeps its place in the queue until all running tests end, so later
/// tests wait behind it.
fn enter(how: FlockArg) -> Option<Flock<File>> {
    let _place = lock("queue", FlockArg::LockExclusive)?;
    lock("running", how)
}

fn take_slot(most: usize) -> Option<Flock<File>> {
    let free = (0..most).find_map(|slot| {
        let file = open(&format!("slot-{slot}"))?;
        Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
    });
    // Other programs have taken all places, so this process waits for a place.
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

/// Opens a file next to the program, or in the temporary folder if the program's folder is read-only.
fn open(name: &str) -> Option<File> {
    let name = format!("segment-{name}.lock");
    let program = env::current_exe().ok()?;
    let beside = File::create(program.with_file_name(&name));
    beside
        .or_else(|_| File::create(env::temp_dir().join(&name)))
        .ok()
}
