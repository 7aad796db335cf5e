//! Starts real `ringd` processes and reads their status with `ringctl`.

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ring_control::lab2::Status;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use super::fabric::Place;
use super::start::Start;

/// Longest time of any wait.
const WAIT_LIMIT: Duration = Duration::from_secs(20);
/// Time between two requests of the status. Requests disturb the daemon, so a shorter time would falsify the
/// measurements.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A daemon process. It is killed on drop.
#[derive(Debug)]
pub(crate) struct Daemon {
    pub process: Child,
    folder: TempDir,
}

impl Daemon {
    /// Starts one `ringd` in each place with these additional `options`, and waits until the daemons form a ring.
    #[allow(dead_code, reason = "not every benchmark has a ring of Lab2")]
    pub(crate) fn ring(
        start: &Start,
        places: &[Place],
        ringd: &Path,
        options: &[&str],
    ) -> Result<Vec<Self>> {
        let started = places.iter().enumerate().map(|(at, place)| {
            Self::run(start, at, place, ringd, |command, folder| {
                add_options(command, folder, options);
            })
        });
        let daemons = started.collect::<Result<Vec<_>>>()?;
        let has_joined = |status: &Status| {
            status.members.len() == places.len() && status.counters.hand_overs > 0
        };
        for daemon in &daemons {
            daemon.wait_for("the ring does not form", has_joined)?;
        }
        Ok(daemons)
    }

    /// Starts a `ringd` of any system with the caller's arguments and `--control`. The caller may put the path of the
    /// daemon's folder into the arguments.
    pub(crate) fn run(
        start: &Start,
        at: usize,
        place: &Place,
        ringd: &Path,
        prepare: impl FnOnce(&mut Command, &Path) + Send,
    ) -> Result<Self> {
        let folder = tempfile::tempdir_in("/run").context("cannot make a folder in /run")?;
        let process = spawn(start, at, place, ringd, folder.path(), prepare)?;
        Ok(Self { process, folder })
    }

    /// Kills the daemon and its guardian, as if their machine failed.
    #[allow(dead_code, reason = "not every benchmark kills daemons")]
    pub(crate) fn kill(&mut self) -> Result<()> {
        ring_segment::kill_guardian(self.process.id())?;
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    /// Starts a killed daemon of a [`ring`](Self::ring) again, with its state file. Does not wait for the daemon.
    #[allow(dead_code, reason = "not every benchmark restarts daemons")]
    pub(crate) fn start_again(
        &mut self,
        start: &Start,
        at: usize,
        place: &Place,
        ringd: &Path,
        options: &[&str],
    ) -> Result<()> {
        let folder = self.folder.path();
        self.process = spawn(start, at, place, ringd, folder, |command, folder| {
            add_options(command, folder, options);
        })?;
        Ok(())
    }

    #[allow(dead_code, reason = "not every benchmark uses the control socket")]
    pub(crate) fn control(&self) -> PathBuf {
        control(self.folder.path())
    }

    pub(crate) fn status<S: DeserializeOwned>(&self) -> Result<S> {
        let mut command = Command::new(ring_segment::program("ringctl"));
        command.arg("--socket").arg(control(self.folder.path()));
        let output = command.args(["status", "--json"]).output()?;
        // Some exit codes report a bad state, but `ringctl` also prints the status in these cases.
        serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }

    /// Returns the CPU time of all threads. `/proc/PID/stat` counts in ticks of 10 ms, which is too coarse for a short
    /// measurement.
    #[allow(dead_code, reason = "not every benchmark measures CPU time")]
    pub(crate) fn cpu_time(&self) -> Result<Duration> {
        let mut nanos = 0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.process.id()))? {
            let times = fs::read_to_string(thread?.path().join("schedstat"))?;
            let on_cpu = times.split(' ').next().context("schedstat is empty")?;
            nanos += on_cpu.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanos))
    }

    /// Returns the status and the time of its request.
    #[allow(dead_code, reason = "not every benchmark needs the time")]
    pub(crate) fn timed_status(&self) -> Result<(Status, Instant)> {
        let before = Instant::now();
        let status = self.status()?;
        Ok((status, before + before.elapsed() / 2))
    }

    /// Waits until `is_so` accepts the status. If this takes too long, the error is `missing`.
    pub(crate) fn wait_for<S: DeserializeOwned + Debug>(
        &self,
        missing: &str,
        is_so: impl Fn(&S) -> bool,
    ) -> Result<S> {
        let deadline = Instant::now() + WAIT_LIMIT;
        loop {
            thread::sleep(POLL_INTERVAL);
            match self.status() {
                Ok(status) if is_so(&status) => return Ok(status),
                Ok(_) | Err(_) if Instant::now() < deadline => {}
                Ok(status) => bail!("{missing}: {status:?}"),
                Err(error) => return Err(error.context("a daemon does not answer")),
            }
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // The daemon may have exited already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(
    start: &Start,
    at: usize,
    place: &Place,
    ringd: &Path,
    folder: &Path,
    prepare: impl FnOnce(&mut Command, &Path) + Send,
) -> Result<Child> {
    let log = fs::File::create(folder.join("log"))?;
    start.spawn(at, place, ringd, |command| {
        prepare(command, folder);
        command.arg("--control").arg(control(folder));
        command.stdin(Stdio::null()).stdout(log);
    })
}

/// Adds the options of a member of Lab2.
#[allow(dead_code, reason = "not every benchmark has a ring of Lab2")]
fn add_options(command: &mut Command, folder: &Path, options: &[&str]) {
    command.arg("eth0").args(options);
    command.arg("--state-dir").arg(folder);
}

fn control(folder: &Path) -> PathBuf {
    folder.join("control.sock")
}
