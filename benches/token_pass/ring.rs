//! The ring: `ringd` as it ships, with a token that nobody holds on to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ringd::control::Status;
use tempfile::TempDir;

use crate::fabric::{Fabric, Place};
use crate::figures::Figures;
use crate::start::Start;

/// How long a ring may take to form.
const PATIENCE: Duration = Duration::from_secs(10);
/// A look at the status is a disturbance: not too often.
const POLL: Duration = Duration::from_millis(50);

/// Measures the ring for about `time`.
///
/// # Errors
/// A daemon could not be started, or the ring does not form.
pub fn measure(fabric: &Fabric, start: &Start, ringd: &Path, time: Duration) -> Result<Figures> {
    let mut daemons = Vec::with_capacity(fabric.places.len());
    for (at, place) in fabric.places.iter().enumerate() {
        daemons.push(Daemon::start(start, at, place, ringd)?);
    }
    for daemon in &daemons {
        daemon.wait_until_joined(daemons.len())?;
    }
    let first = &daemons[0];
    let (from, began) = first.look()?;
    thread::sleep(time);
    let (to, ended) = first.look()?;
    let failed = to.counters.hand_overs_failed - from.counters.hand_overs_failed;
    if failed > 0 {
        eprintln!("{failed} hand-overs failed while the ring was measured");
    }
    let rotations = to.counters.hand_overs - from.counters.hand_overs;
    let latency = to.counters.hand_over_latency;
    let rotation = Figures::new(latency.p50_ns, latency.p99_ns, ended - began, rotations);
    Ok(rotation.per_hop(daemons.len()))
}

/// A daemon. It is killed when this is dropped.
struct Daemon {
    process: Child,
    folder: TempDir,
}

impl Daemon {
    fn start(start: &Start, at: usize, place: &Place, ringd: &Path) -> Result<Self> {
        let folder = tempfile::tempdir_in("/run").context("cannot make a folder in /run")?;
        let log = fs::File::create(folder.path().join("log"))?;
        let process = start.spawn(at, place, ringd, |command| {
            command.args(["eth0", "--idle-hold", "0ms", "--state-dir"]);
            command.arg(folder.path()).arg("--control");
            command.arg(control(folder.path()));
            command.stdin(Stdio::null()).stdout(log);
        })?;
        Ok(Self { process, folder })
    }

    /// The status, and when it was so.
    fn look(&self) -> Result<(Status, Instant)> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringctl"));
        command.arg("--socket").arg(control(self.folder.path()));
        let before = Instant::now();
        let output = command.args(["status", "--json"]).output()?;
        let took = before.elapsed();
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let status = serde_json::from_slice(&output.stdout)?;
        Ok((status, before + took / 2))
    }

    /// Waits until this member knows all the others, and the token goes round.
    fn wait_until_joined(&self, members: usize) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            thread::sleep(POLL);
            match self.look() {
                Ok((status, _))
                    if status.members.len() == members && status.counters.hand_overs > 0 =>
                {
                    return Ok(());
                }
                Ok(_) | Err(_) if Instant::now() < deadline => {}
                Ok((status, _)) => bail!("the ring does not form: {status:?}"),
                Err(error) => return Err(error.context("a daemon does not answer")),
            }
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn control(folder: &Path) -> PathBuf {
    folder.join("control.sock")
}
