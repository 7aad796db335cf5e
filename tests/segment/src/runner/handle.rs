//! The runner's handle of a sandbox. A sandbox is a process that receives names of tests, runs the tests and reports
//! their results.

use std::env;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, bail};

use super::worker::{READY, Report};

/// Environment variable of a process that makes a sandbox and runs tests in it.
const WORKER_VARIABLE: &str = "RING_SEGMENT_WORKER";
/// Longest time of a test. A test that runs longer counts as hung, and the runner ends its sandbox.
const TEST_TIMEOUT: Duration = Duration::from_secs(300);
const START_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn is_worker() -> bool {
    env::var_os(WORKER_VARIABLE).is_some()
}

/// A sandbox with a worker. Dropping the handle ends the sandbox and the worker.
#[derive(Debug)]
pub(crate) struct WorkerHandle {
    process: Child,
    /// Connection to the worker. The worker receives the name of a test, and answers with the verdict. Name and verdict
    /// are one line each.
    channel: BufReader<UnixStream>,
    /// Output of the worker and its children, and the number of bytes that the runner has already read.
    output: (File, u64),
}

impl WorkerHandle {
    /// Makes a sandbox. The sandbox ends with the calling thread.
    pub(crate) fn start() -> Result<Self> {
        let program = env::current_exe().context("cannot find the running program")?;
        let (own, theirs) = UnixStream::pair().context("cannot make a pair of sockets")?;
        let output = tempfile::tempfile().context("cannot make a file for a sandbox's output")?;
        // Shells let background commands ignore these signals. Without this reset the daemons would inherit the
        // setting.
        let process = Command::new("env")
            .arg("--default-signal=HUP,INT,QUIT")
            .arg(&program)
            .env(WORKER_VARIABLE, "1")
            .stdin(OwnedFd::from(theirs))
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let mut this = Self {
            process,
            channel: BufReader::new(own),
            output: (output, 0),
        };
        let line = this.read_line_within(START_TIMEOUT);
        let output = this.take_output();
        match line {
            Ok(line) if line.trim_end() == READY => Ok(this),
            Ok(line) => bail!("a sandbox sent {line:?} instead of {READY:?}: {output}"),
            Err(error) if output.is_empty() => Err(error.context("cannot make a sandbox")),
            Err(_) => bail!("{}", output.trim_end().trim_start_matches("error: ")),
        }
    }

    pub(crate) fn run(&mut self, test: &str) -> Report {
        let request = writeln!(self.channel.get_mut(), "{test}");
        let answer = request
            .context("its sandbox has already ended")
            .and_then(|()| self.read_line_within(TEST_TIMEOUT));
        let report = answer.and_then(|line| Ok(serde_json::from_str::<Report>(&line)?));
        let failed = |error| Report {
            verdict: Err(format!("{error:#}")),
            stalls: 0,
            starved: None,
            output: String::new(),
        };
        Report {
            output: self.take_output(),
            ..report.unwrap_or_else(failed)
        }
    }

    fn read_line_within(&mut self, limit: Duration) -> Result<String> {
        self.channel.get_ref().set_read_timeout(Some(limit))?;
        let mut line = String::new();
        let read = self.channel.read_line(&mut line);
        read.map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => {
                anyhow!("the test did not end in {limit:?}, so the runner ended its sandbox")
            }
            _ => Error::from(error).context("cannot read from its sandbox"),
        })?;
        if line.is_empty() {
            bail!("its sandbox has ended: {}", self.process.wait()?);
        }
        Ok(line)
    }

    /// Returns the output since the last call.
    fn take_output(&mut self) -> String {
        let (file, read) = &mut self.output;
        let mut printed = Vec::new();
        let mut part = [0; 16 << 10];
        while let Ok(length @ 1..) = file.read_at(&mut part, *read) {
            printed.extend_from_slice(&part[..length]);
            *read += length as u64;
        }
        String::from_utf8_lossy(&printed).into_owned()
    }
}

impl Drop for WorkerHandle {
    fn drop(&mut self) {
        // When this process is killed, the first process of the sandbox dies too, and with it all processes of the
        // sandbox.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
