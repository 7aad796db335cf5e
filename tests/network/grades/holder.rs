//! A command under `ringctl run`. The command continuously writes the current time until it ends.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::SigSet;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use ring_segment::{Daemon, binaries};
use tempfile::TempDir;

use crate::grades::WAIT_LIMIT;

/// Environment variable with the path of the file that the command writes.
const FILE_VARIABLE: &str = "GRADES_SIGNS";
const WRITE_INTERVAL: Duration = Duration::from_millis(1);

/// Returns the time of CLOCK_BOOTTIME. When daemons report the end of a lease to its holder, they use the time of this
/// clock.
pub(super) fn boottime() -> Result<Duration> {
    Ok(Duration::from(clock_gettime(ClockId::CLOCK_BOOTTIME)?))
}

/// If this process was started as the command of a [`Holder`], runs this command. Returns the exit code.
pub(crate) fn work_if_asked() -> Option<ExitCode> {
    let file = env::var_os(FILE_VARIABLE)?;
    if let Err(error) = work(Path::new(&file)) {
        eprintln!("the command of a holder: {error:#}");
        return Some(ExitCode::FAILURE);
    }
    Some(ExitCode::SUCCESS)
}

/// Writes the start time, and then repeatedly writes the current time until the file is deleted. Ignores SIGTERM.
fn work(path: &Path) -> Result<()> {
    SigSet::all().thread_block()?;
    let file = File::options().write(true).open(path)?;
    let sign = |at| -> Result<()> {
        let now = u64::try_from(boottime()?.as_nanos())?;
        Ok(file.write_all_at(&now.to_ne_bytes(), at)?)
    };
    sign(0)?;
    while path.exists() {
        sign(8)?;
        thread::sleep(WRITE_INTERVAL);
    }
    Ok(())
}

/// A `ringctl run` whose command writes the current time.
pub(super) struct Holder {
    ringctl: Child,
    file: PathBuf,
    _folder: TempDir,
}

impl Holder {
    pub(super) fn start(daemon: &Daemon, options: &[&str]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("signs");
        File::create(&file)?;
        let mut command = Command::new(binaries().ringctl);
        command.arg("--socket").arg(daemon.control());
        command.arg("run").args(options).arg("--");
        command.arg(env::current_exe()?).env(FILE_VARIABLE, &file);
        let ringctl = command.stdin(Stdio::null()).spawn()?;
        Ok(Self {
            ringctl,
            file,
            _folder: folder,
        })
    }

    /// Starts `ringctl run`, and waits until the command works.
    pub(super) fn start_working(daemon: &Daemon, options: &[&str]) -> Result<Self> {
        let holder = Self::start(daemon, options)?;
        holder.wait_for_sign(Duration::ZERO)?;
        Ok(holder)
    }

    fn sign(&self, at: u64) -> Result<Option<Duration>> {
        let mut bytes = [0; 8];
        match File::open(&self.file)?.read_exact_at(&mut bytes, at) {
            Ok(()) => Ok(Some(Duration::from_nanos(u64::from_ne_bytes(bytes)))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the time at which the command began, or `None` if it has not begun.
    pub(super) fn first(&self) -> Result<Option<Duration>> {
        self.sign(0)
    }

    /// Returns the last time that the command wrote.
    pub(super) fn last(&self) -> Result<Duration> {
        self.sign(8)?.context("the command has never worked")
    }

    /// Waits until the command has written a time after `time`.
    pub(super) fn wait_for_sign(&self, time: Duration) -> Result<()> {
        let deadline = Instant::now() + WAIT_LIMIT;
        while self.sign(8)?.is_none_or(|last| last <= time) {
            let end = self.end()?;
            ensure!(
                Instant::now() < deadline,
                "the command does not work: {end:?}"
            );
            ensure!(
                end == WaitStatus::StillAlive,
                "the command has ended: {end:?}"
            );
            thread::sleep(WRITE_INTERVAL);
        }
        Ok(())
    }

    /// Returns whether `ringctl` has ended, without reaping its process. [`Holder::wait_exit`] reaps the process.
    fn end(&self) -> Result<WaitStatus> {
        let id = Id::Pid(Pid::from_raw(i32::try_from(self.ringctl.id())?));
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        Ok(waitid(id, flags)?)
    }

    /// Waits for the end of `ringctl`. Returns its exit code.
    pub(super) fn wait_exit(&mut self) -> Result<Option<i32>> {
        let deadline = Instant::now() + WAIT_LIMIT;
        loop {
            if let Some(status) = self.ringctl.try_wait()? {
                return Ok(status.code());
            }
            if Instant::now() > deadline {
                bail!("ringctl does not end");
            }
            thread::sleep(WRITE_INTERVAL);
        }
    }

    /// Ends the command, and checks that it still held the token.
    pub(super) fn finish(mut self) -> Result<()> {
        fs::remove_file(&self.file)?;
        let code = self.wait_exit()?;
        ensure!(code == Some(0), "the command exited with {code:?}");
        Ok(())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // `ringctl`'s keeper then ends the command.
        let _ = self.ringctl.kill();
        let _ = self.ringctl.wait();
    }
}
