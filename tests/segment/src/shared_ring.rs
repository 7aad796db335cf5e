//! Formed rings that several tests can use in turn, if no test harms a daemon.

use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::daemon::{Binaries, Daemon};
use crate::ring::Ring;
use crate::segment::Layout;
use crate::timing::Timing;

/// Maximum number of unused rings in a sandbox: idle daemons cost CPU time too.
const POOLED_RINGS_MAX: usize = 2;
/// Longest time that a ring takes to recover from the last test.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Unused rings. The last ring of the list was used most recently.
static POOL: Mutex<Vec<PooledRing>> = Mutex::new(Vec::new());

/// Properties that make two rings interchangeable.
#[derive(Debug, Clone, PartialEq)]
struct RingKind {
    layout: Layout,
    timing: Timing,
    options: Vec<(&'static str, String)>,
}

/// A formed ring, and the processes that its daemons had directly after the ring formed.
#[derive(Debug)]
struct PooledRing {
    kind: RingKind,
    ring: Ring,
    processes: Vec<Pid>,
}

/// A formed ring with a daemon on every node. The test only observes and queries this ring. The recording and the logs
/// begin with this test. A test that stops, kills or cuts off a daemon forms its own [`Ring`].
#[derive(Debug)]
pub struct SharedRing(Option<PooledRing>);

impl SharedRing {
    /// Returns an intact ring of an earlier test in this sandbox, or a new ring on a bridge.
    pub fn on(
        layout: Layout,
        timing: Timing,
        binaries: Binaries,
        options: &[(&'static str, String)],
    ) -> Result<Self> {
        let kind = RingKind {
            layout,
            timing,
            options: options.to_vec(),
        };
        let pooled = match take(&kind) {
            Some(ready) => ready,
            None => PooledRing::form(kind, binaries)?,
        };
        Ok(Self(Some(pooled)))
    }
}

impl Deref for SharedRing {
    type Target = Ring;

    fn deref(&self) -> &Ring {
        let pooled = self.0.as_ref();
        &pooled.expect("the ring is returned only on drop").ring
    }
}

impl Drop for SharedRing {
    fn drop(&mut self) {
        let mut ready = pool();
        ready.extend(self.0.take());
        if ready.len() > POOLED_RINGS_MAX {
            ready.remove(0);
        }
    }
}

impl PooledRing {
    fn form(kind: RingKind, binaries: Binaries) -> Result<Self> {
        let segment = kind.layout.clone().bridge()?;
        let count = segment.nodes().len();
        let options = kind.options.clone();
        let ring = Ring::start_with(segment, count, kind.timing, binaries, move |ringd| {
            options
                .iter()
                .fold(ringd, |ringd, (name, value)| ringd.option(name, value))
        })?;
        ring.wait_until_formed()?;
        let processes = ring.daemons.iter().map(Daemon::pid).collect();
        Ok(Self {
            kind,
            ring,
            processes,
        })
    }

    /// Waits until the ring looks like a new ring. Returns `false` if the ring does not recover in time. The daemons
    /// may still count clients that disconnected just before, so the function waits.
    fn wait_for_recovery(&mut self) -> bool {
        let deadline = Instant::now() + RECOVERY_TIMEOUT;
        while self.check_state().is_err() {
            // Data stay with the token, so a longer wait does not help.
            if Instant::now() >= deadline || self.has_data() {
                return false;
            }
            thread::sleep(POLL_INTERVAL);
        }
        true
    }

    fn has_data(&self) -> bool {
        let ask = |daemon: &Daemon| daemon.ask(&json!({"request": "data_get"}), "data");
        let mut data = self.ring.daemons.iter().map(ask);
        data.any(|data| data.is_ok_and(|data| data["hex"] != ""))
    }

    fn check_state(&mut self) -> Result<()> {
        ensure!(!self.has_data() && self.ring.segment.capture().lost() == 0);
        let table = format!("{:016x}", self.ring.digest().hash);
        for (daemon, process) in self.ring.daemons.iter_mut().zip(&self.processes) {
            ensure!(daemon.poll_running()? && daemon.pid() == *process);
            let status = daemon.ask(&json!({"request": "status"}), "status")?;
            ensure!(status["ring_hash"] == table);
            let nobody = |list: &Value| list.as_array().is_some_and(Vec::is_empty);
            let takes_part = |member: &Value| member["penalty"] == 0 && member["paused"] == false;
            let members = status["members"].as_array();
            ensure!(members.is_some_and(|members| members.iter().all(takes_part)));
            ensure!(["OWNER", "WAITER"].contains(&status["state"].as_str().unwrap_or_default()));
            ensure!(
                nobody(&status["clients"]) && status["paused"] == false && status["link"] == "up"
            );
        }
        Ok(())
    }
}

/// Takes an intact ring of this kind from the pool, and ends all other rings of this kind. The ring looks like a new
/// ring.
fn take(kind: &RingKind) -> Option<PooledRing> {
    loop {
        let at = pool().iter().rposition(|pooled| pooled.kind == *kind)?;
        let mut pooled = pool().remove(at);
        if pooled.wait_for_recovery() {
            pooled.ring.restart_recording();
            return Some(pooled);
        }
    }
}

fn pool() -> MutexGuard<'static, Vec<PooledRing>> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}
