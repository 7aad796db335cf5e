//! `ringd` as it ships, and what `ringctl` says of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ringd::control::lab2::Status;
use tempfile::TempDir;

use super::fabric::Place;
use super::start::Start;

/// How long a ring may take to form.
const PATIENCE: Duration = Duration::from_secs(10);
/// A look at the status is a disturbance: not too often.
const POLL: Duration = Duration::from_millis(50);

/// A daemon. It is killed when this is dropped.
#[derive(Debug)]
pub struct Daemon {
    /// Its process.
    pub process: Child,
    folder: TempDir,
}

impl Daemon {
    /// Starts `ringd` with further `options` as the station numbered `at`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(
        start: &Start,
        at: usize,
        place: &Place,
        ringd: &Path,
        options: &[&str],
    ) -> Result<Self> {
        let folder = tempfile::tempdir_in("/run").context("cannot make a folder in /run")?;
        let log = fs::File::create(folder.path().join("log"))?;
        let process = start.spawn(at, place, ringd, |command| {
            command.arg("eth0").args(options).arg("--state-dir");
            command.arg(folder.path()).arg("--control");
            command.arg(control(folder.path()));
            command.stdin(Stdio::null()).stdout(log);
        })?;
        Ok(Self { process, folder })
    }

    /// Its control socket.
    #[allow(dead_code, reason = "not every bench talks to it")]
    pub fn control(&self) -> PathBuf {
        control(self.folder.path())
    }

    /// The status, and when it was so.
    ///
    /// # Errors
    /// With ringctl's own words.
    pub fn look(&self) -> Result<(Status, Instant)> {
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
    ///
    /// # Errors
    /// It does not come to that.
    pub fn wait_until_joined(&self, members: usize) -> Result<()> {
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
