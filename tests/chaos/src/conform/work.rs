//! Work under locks with a quorum. Each piece of work locks the same file, so the kernel notices if two pieces of work
//! overlap.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use nix::fcntl::{Flock, FlockArg};
use ring_segment::Rng;

/// Environment variable that makes this program do the work under a lock. The value is `FOLDER NAME MILLISECONDS`.
const WORK: &str = "RING_CHAOS_WORK";
/// Time for which a program waits for a lock, in seconds.
const LOCK_WAIT: &str = "2";
const WORK_MAX_MS: u64 = 400;
/// Pause after a refused lock.
const PAUSE: Duration = Duration::from_millis(30);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

pub(super) fn work_if_asked() -> Option<ExitCode> {
    let task = env::var(WORK).ok()?;
    let mut parts = task.splitn(3, ' ');
    let (lasts, name, folder) = (parts.next()?, parts.next()?, parts.next()?);
    let lasts = Duration::from_millis(lasts.parse().ok()?);
    Some(match work(Path::new(folder), name, lasts) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("the work under a lock: {error:#}");
            ExitCode::FAILURE
        }
    })
}

/// Works for a while. Records each piece of work, and each piece of work that began during another one.
fn work(folder: &Path, name: &str, lasts: Duration) -> Result<ExitCode> {
    let file = File::options().write(true).open(folder.join("busy"))?;
    let Ok(_lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else {
        note(folder, "overlaps", name)?;
        return Ok(ExitCode::FAILURE);
    };
    note(folder, "works", name)?;
    thread::sleep(lasts);
    Ok(ExitCode::SUCCESS)
}

fn note(folder: &Path, file: &str, name: &str) -> Result<()> {
    let at = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let path = folder.join(file);
    let mut file = File::options().create(true).append(true).open(path)?;
    Ok(file.write_all(format!("{name} {at}\n").as_bytes())?)
}

/// The pieces of work of a run.
pub(super) struct Works {
    /// The number of pieces of work for each name.
    pub counts: Vec<(String, usize)>,
    /// The pieces of work that began during another one.
    pub overlaps: Vec<String>,
}

/// Programs that repeatedly take locks with a quorum.
pub(super) struct Contenders {
    folder: PathBuf,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Contenders {
    pub(super) fn new(folder: &Path) -> Result<Self> {
        let folder = folder.join("locks");
        fs::create_dir_all(&folder)?;
        let folder = folder.canonicalize()?;
        File::create(folder.join("busy"))?;
        for file in ["works", "overlaps"] {
            File::create(folder.join(file))?;
        }
        Ok(Self {
            folder,
            over: Arc::default(),
            threads: Vec::new(),
        })
    }

    /// Starts a program that takes locks of a daemon.
    pub(super) fn add_daemon(
        &mut self,
        name: &'static str,
        ringctl: &'static str,
        control: PathBuf,
        seed: u64,
    ) -> Result<()> {
        let program = env::current_exe().context("cannot find the running program")?;
        self.add(name, seed, move |task| {
            let mut command = Command::new(ringctl);
            command.arg("--socket").arg(&control).args([
                "run",
                "--quiet",
                "--require",
                "quorum",
                "--timeout",
                LOCK_WAIT,
                "--",
            ]);
            command.arg(&program).env(WORK, task);
            command
        })
    }

    /// Starts a program that uses a shell line to take locks of the judged program.
    pub(super) fn add_line(&mut self, name: &'static str, line: &str, seed: u64) -> Result<()> {
        let program = env::current_exe().context("cannot find the running program")?;
        let line = line.replace("{job}", &program.display().to_string());
        self.add(name, seed, move |task| {
            let mut command = Command::new("sh");
            command.arg("-c").arg(&line).env(WORK, task);
            command
        })
    }

    fn add(
        &mut self,
        name: &'static str,
        seed: u64,
        command: impl Fn(&str) -> Command + Send + 'static,
    ) -> Result<()> {
        let (over, folder) = (Arc::clone(&self.over), self.folder.clone());
        let mut rng = Rng::with_seed(seed);
        let contend = move || {
            while !over.load(Ordering::Relaxed) {
                // Half of the pieces of work end soon, so that the token moves. The other pieces of work are still
                // running when a fault comes.
                let longest = if rng.bool() { 20 } else { WORK_MAX_MS };
                let lasts = rng.u64(1..=longest);
                let task = format!("{lasts} {name} {}", folder.display());
                let mut command = command(&task);
                command
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null());
                let succeeded = command.spawn().is_ok_and(|child| wait(child, &over));
                if !succeeded {
                    thread::sleep(PAUSE);
                }
            }
        };
        let thread = thread::Builder::new().name("contender".to_owned());
        self.threads.push(thread.spawn(contend)?);
        Ok(())
    }

    /// Ends all programs, and returns their pieces of work.
    pub(super) fn finish(mut self) -> Result<Works> {
        self.end();
        let works = fs::read_to_string(self.folder.join("works"))?;
        let mut counts: Vec<(String, usize)> = Vec::new();
        for name in works.lines().filter_map(|line| line.split(' ').next()) {
            match counts.iter_mut().find(|(known, _)| known == name) {
                Some((_, count)) => *count += 1,
                None => counts.push((name.to_owned(), 1)),
            }
        }
        counts.sort();
        let overlaps = fs::read_to_string(self.folder.join("overlaps"))?;
        Ok(Works {
            counts,
            overlaps: overlaps.lines().map(str::to_owned).collect(),
        })
    }

    fn end(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // The thread does not panic.
            let _ = thread.join();
        }
    }
}

impl Drop for Contenders {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits for the end of a process. If the run ends first, kills the process. Returns whether the process succeeded.
fn wait(mut child: Child, over: &AtomicBool) -> bool {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if !over.load(Ordering::Relaxed) => thread::sleep(POLL_INTERVAL),
            _ => {
                // After the kill, the keeper of `ringctl` ends the work.
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}
