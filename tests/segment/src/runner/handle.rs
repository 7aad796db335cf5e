//! A world, seen from the runner: a process that is told which tests to run, and says how they went.

use std::env;
use std::io::{BufRead, BufReader, PipeReader, Read, Write, pipe};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::worker::{READY, Report};

/// Set in the environment of a process that is to make a world and be its worker.
const WORKER: &str = "RING_SEGMENT_WORKER";
/// The longest that a test may take: it hangs then, and its world is ended.
const LIMIT: Duration = Duration::from_secs(300);
/// How long a new world may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether this process was started to be one.
pub(crate) fn is_worker() -> bool {
    env::var_os(WORKER).is_some()
}

/// A world with a worker in it. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct WorkerHandle {
    process: Child,
    /// To the worker: a test's name; from it: its verdict. A line each.
    channel: BufReader<UnixStream>,
    /// What the worker and all that it starts print.
    output: PipeReader,
}

impl WorkerHandle {
    /// Makes a world. It dies with the calling thread.
    pub(crate) fn start() -> Result<Self> {
        let program = env::current_exe().context("cannot find the running program")?;
        let (own, theirs) = UnixStream::pair().context("cannot make a pair of sockets")?;
        let (output, outlet) = pipe().context("cannot make a pipe")?;
        let errors = outlet.try_clone().context("cannot duplicate a pipe")?;
        // Shells have what they start in the background ignore these, and daemons would as well.
        let process = Command::new("env")
            .arg("--default-signal=HUP,INT,QUIT")
            .arg(&program)
            .env(WORKER, "1")
            .stdin(OwnedFd::from(theirs))
            .stdout(outlet)
            .stderr(errors)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let mut this = Self {
            process,
            channel: BufReader::new(own),
            output,
        };
        let mut said = String::new();
        match this.listen(PATIENCE, &mut said) {
            Ok(line) if line.trim_end() == READY => Ok(this),
            Ok(line) => bail!("a world says {line:?} in place of {READY:?}: {said}"),
            Err(error) if said.is_empty() => Err(error.context("cannot make a world")),
            Err(_) => bail!("{}", said.trim_end().trim_start_matches("error: ")),
        }
    }

    /// Has the worker run a test: how it went, and what was printed meanwhile.
    pub(crate) fn run(&mut self, test: &str) -> (Report, String) {
        let mut said = String::new();
        let asked = writeln!(self.channel.get_mut(), "{test}");
        let answer = asked
            .context("its world has ended before")
            .and_then(|()| self.listen(LIMIT, &mut said));
        let report = answer.and_then(|line| Ok(serde_json::from_str::<Report>(&line)?));
        let report = report.unwrap_or_else(|error| Report {
            verdict: Err(format!("{error:#}")),
            stalls: 0,
            starved: None,
        });
        (report, said)
    }

    /// The worker's next line. What is printed before it is added to `said`.
    fn listen(&mut self, limit: Duration, said: &mut String) -> Result<String> {
        let deadline = Instant::now() + limit;
        let mut printed = Vec::new();
        let answer = loop {
            let (answers, prints) = self.wait(deadline)?;
            if prints {
                self.read_output(&mut printed)?;
            }
            if answers {
                let mut line = String::new();
                let read = self.channel.read_line(&mut line);
                break read.context("cannot hear from its world").map(|_| line);
            }
            if Instant::now() >= deadline {
                break Err(anyhow::anyhow!(
                    "no end after {limit:?}: its world was ended"
                ));
            }
        };
        // What was printed before the answer is there by now.
        while self.wait(Instant::now())?.1 && self.read_output(&mut printed)? {}
        said.push_str(&String::from_utf8_lossy(&printed));
        let answer = answer?;
        if answer.is_empty() {
            bail!("its world has ended: {}", self.process.wait()?);
        }
        Ok(answer)
    }

    /// Whether the worker answers, and whether something was printed, at the latest at `deadline`.
    fn wait(&self, deadline: Instant) -> Result<(bool, bool)> {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = PollTimeout::try_from(left + Duration::from_millis(1))
            .context("the limit is too far off")?;
        let left = if deadline <= Instant::now() {
            PollTimeout::ZERO
        } else {
            left
        };
        let mut fds = [
            PollFd::new(self.channel.get_ref().as_fd(), PollFlags::POLLIN),
            PollFd::new(self.output.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut fds, left) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => bail!("cannot wait for a world: {errno}"),
        }
        let is_ready = |fd: &PollFd<'_>| fd.revents().is_some_and(|seen| !seen.is_empty());
        Ok((is_ready(&fds[0]), is_ready(&fds[1])))
    }

    /// Whether there was something.
    fn read_output(&mut self, printed: &mut Vec<u8>) -> Result<bool> {
        let mut part = [0; 16 << 10];
        let length = self
            .output
            .read(&mut part)
            .context("cannot read a world's output")?;
        printed.extend_from_slice(&part[..length]);
        Ok(length > 0)
    }
}

impl Drop for WorkerHandle {
    fn drop(&mut self) {
        // All that is in the world dies with its first process, and that with this one.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
