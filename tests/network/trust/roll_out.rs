//! A ring under load gets keys, then requires signatures, and then replaces its key. No daemon restarts.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, ensure};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use ring_segment::limit::wait_until;
use ring_segment::{
    Daemon, KeyFiles, Layout, Ring, Test, binaries, check_signers, reload_keys, tests,
};
use serde_json::json;

use super::wait_for_key;
use crate::locks::{Client, timing};

const MACHINES: usize = 3;

pub(super) fn tests() -> Vec<Test> {
    tests![a_ring_under_load_gets_keys_and_replaces_its_key_without_a_gap]
}

/// A program on each machine, which takes the token again and again.
struct Programs<'a> {
    daemons: &'a [Daemon],
    /// A file that is locked while a program has the token.
    mark: &'a Path,
    is_over: AtomicBool,
    runs: [AtomicUsize; MACHINES],
}

impl Programs<'_> {
    fn run(&self, at: usize) -> Result<()> {
        let mut client = Client::connect(&self.daemons[at].control())?;
        while !self.is_over.load(Ordering::Relaxed) {
            client.send(&json!({"request": "lock", "label": "load", "require": "quorum"}))?;
            client.expect("granted")?;
            let mark = File::open(self.mark)?;
            let mark = Flock::lock(mark, FlockArg::LockExclusiveNonblock);
            let mark = mark.map_err(|(_, error): (_, Errno)| error);
            let mark = mark.context("two programs hold the token at the same time")?;
            drop(mark);
            client.unlock()?;
            self.runs[at].fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Waits until the program of each machine has got the token again.
    fn wait_for_runs(&self) {
        for runs in &self.runs {
            let before = runs.load(Ordering::Relaxed);
            let again = || runs.load(Ordering::Relaxed) > before + 1;
            wait_until("another run under the token", again);
        }
    }
}

/// Ends the programs, even if the test fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Changes the files of one machine after another, while the programs run. Between the changes of two machines, some
/// daemons have the new files, and some have the old files.
fn change(
    programs: &Programs<'_>,
    files: &[KeyFiles],
    keys: &[u8],
    accepts_unsigned: bool,
) -> Result<()> {
    for (daemon, files) in programs.daemons.iter().zip(files) {
        files.write(keys, accepts_unsigned)?;
        reload_keys(daemon, keys, accepts_unsigned)?;
        programs.wait_for_runs();
    }
    let signs = keys[0];
    let findings: &[_] = if accepts_unsigned {
        &["unsigned_accepted"]
    } else {
        &[]
    };
    for daemon in programs.daemons {
        wait_for_key(daemon, signs)?;
        check_signers(daemon, findings, &[("none", 0), (&signs.to_string(), 2)])?;
    }
    Ok(())
}

fn replace_keys(programs: &Programs<'_>, files: &[KeyFiles], ring: &Ring) -> Result<()> {
    programs.wait_for_runs();
    change(programs, files, &[1], true)?;
    change(programs, files, &[1], false)?;
    let required = ring_segment::now();
    change(programs, files, &[1, 2], false)?;
    change(programs, files, &[2, 1], false)?;
    let replaced = ring_segment::now();
    change(programs, files, &[2], false)?;
    programs.wait_for_runs();
    for (since, keys) in [(required, &[1, 2][..]), (replaced, &[2])] {
        let frames = ring.frames_since(since);
        ensure!(!frames.is_empty(), "the ring sent nothing");
        let other = frames
            .iter()
            .find(|seen| !seen.key().is_some_and(|key| keys.contains(&key)));
        ensure!(
            other.is_none(),
            "not signed with one of {keys:?}: {other:?}"
        );
    }
    Ok(())
}

fn a_ring_under_load_gets_keys_and_replaces_its_key_without_a_gap() -> Result<()> {
    let segment = Layout::new(MACHINES).addresses().bridge()?;
    let files = KeyFiles::several("ring", MACHINES)?;
    let configs: Vec<_> = files.iter().map(KeyFiles::config).collect();
    let ring = Ring::start_with(segment, MACHINES, timing(), binaries(), move |ringd| {
        let config = &configs[ringd.node().index()];
        let ringd = ringd.option("--config", config).through(["setsid"]);
        ringd.option("--ring-size", MACHINES.to_string())
    })?;
    ring.wait_until_formed()?;
    let mut holder = Client::connect(&ring.daemons[1].control())?;
    holder.send(&json!({"request": "named_lock", "name": "held", "require": "quorum"}))?;
    holder.expect("granted")?;
    let mark = tempfile::NamedTempFile::new()?;
    let programs = Programs {
        daemons: &ring.daemons,
        mark: mark.path(),
        is_over: AtomicBool::new(false),
        runs: Default::default(),
    };
    thread::scope(|scope| {
        let places = 0..MACHINES;
        let threads: Vec<_> = places
            .map(|at| {
                scope.spawn({
                    let programs = &programs;
                    move || programs.run(at)
                })
            })
            .collect();
        let end = End(&programs.is_over);
        let changed = replace_keys(&programs, &files, &ring);
        drop(end);
        for thread in threads {
            thread.join().expect("the thread does not panic")?;
        }
        changed
    })?;
    // If the lock were lost, the daemon would report this before the release.
    holder.unlock()?;
    ring.check()
}
