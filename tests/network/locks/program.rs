//! `ringctl` as a process, and its output.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::{PidfdFlags, pidfd_open};

use ring_segment::limit::{self, TextReader, is_readable};

/// A started process. It is killed on drop.
pub(crate) struct Running {
    child: Child,
    output: TextReader<ChildStdout>,
    errors: TextReader<ChildStderr>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let output = child.stdout.take().context("the stream is piped")?;
        let errors = child.stderr.take().context("the stream is piped")?;
        Ok(Self {
            child,
            output: TextReader::new(output),
            errors: TextReader::new(errors),
        })
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill(self.pid(), signal)?)
    }

    pub(crate) fn write_input(&mut self, input: &str) -> Result<()> {
        let pipe = self.child.stdin.as_mut().context("the stream is piped")?;
        Ok(pipe.write_all(input.as_bytes())?)
    }

    pub(crate) fn close_input(&mut self) {
        drop(self.child.stdin.take());
    }

    pub(crate) fn line(&mut self) -> String {
        self.output.take_to("\n").trim_end().to_owned()
    }

    pub(crate) fn expect_line(&mut self, line: &str) -> Result<()> {
        let text = self.line();
        let errors = self.errors.so_far();
        ensure!(
            text == line,
            "the output is {text:?} instead of {line:?}: {errors}"
        );
        Ok(())
    }

    /// Waits until all writers have closed the process's output. Returns the rest of the output.
    pub(crate) fn remaining_output(&mut self) -> String {
        self.output.take_rest()
    }

    pub(crate) fn wait(&mut self) -> Result<ExitStatus> {
        let pid = rustix::process::Pid::from_child(&self.child);
        let process = pidfd_open(pid, PidfdFlags::empty())?;
        let ends = is_readable(&process, Instant::now() + limit::WAIT_LIMIT);
        ensure!(ends, "the program does not end: {}", self.errors.so_far());
        Ok(self.child.wait()?)
    }

    pub(crate) fn expect_code(&mut self, code: i32) -> Result<()> {
        let status = self.wait()?;
        let errors = self.errors.take_rest();
        ensure!(
            status.code() == Some(code),
            "{status} instead of {code}: {errors}"
        );
        Ok(())
    }

    pub(crate) fn expect_signal(&mut self, signal: Signal) -> Result<()> {
        let status = self.wait()?;
        let killed = status.signal() == Some(signal as i32);
        ensure!(killed, "{status}: {}", self.errors.so_far());
        Ok(())
    }

    /// Checks that the process's standard error contains a text.
    pub(crate) fn expect_error(&mut self, of: &str) -> Result<()> {
        let text = self.errors.take_to(of);
        ensure!(text.ends_with(of), "its error output is {text:?}");
        Ok(())
    }

    /// Waits until all writers have closed the process's standard error. Returns the rest of the errors.
    pub(crate) fn errors(&mut self) -> String {
        self.errors.take_rest()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
