//! Real daemons on the segment.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::failure_report;
use crate::limit::WAIT_LIMIT;
use crate::lines::Lines;
use crate::node::Node;
use crate::runner::cpu_starvation;
use crate::{proc, stalls};

/// Interval between two checks for the end of a process or for its status. Both checks are cheap.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Environment variable with the command line of a program that a conformance test judges.
const CONFORM: &str = "CONFORM";
/// Exit code of `ringctl status` if the node is in no ring.
const NOT_IN_RING_CODE: i32 = 5;

/// Paths of the programs under test. [`binaries`](crate::binaries) finds them.
#[derive(Debug, Clone, Copy)]
pub struct Binaries {
    pub ringd: &'static str,
    pub ringctl: &'static str,
}

/// Builder of a daemon. By default its state and control socket are in a temporary folder.
#[derive(Debug, Clone)]
#[must_use]
pub struct Ringd {
    node: Node,
    binaries: Binaries,
    interface: String,
    arguments: Vec<OsString>,
    wrapper: Vec<OsString>,
    own_folder: bool,
    has_state: bool,
    log: Option<PathBuf>,
}

impl Ringd {
    pub(crate) fn new(node: Node, binaries: Binaries) -> Self {
        Self {
            node,
            binaries,
            interface: "eth0".to_owned(),
            arguments: Vec::new(),
            wrapper: Vec::new(),
            own_folder: true,
            has_state: true,
            log: None,
        }
    }

    /// Returns the node on which the daemon will run.
    pub fn node(&self) -> &Node {
        &self.node
    }

    pub fn interface(mut self, name: &str) -> Self {
        name.clone_into(&mut self.interface);
        self
    }

    pub fn subcommand(self, name: &str) -> Self {
        self.interface(name)
    }

    pub fn option(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        self.arguments.push(name.into());
        self.arguments.push(value.as_ref().into());
        self
    }

    pub fn flag(mut self, flag: &str) -> Self {
        self.arguments.push(flag.into());
        self
    }

    /// Starts the daemon through a wrapper command. The wrapper gets the daemon's command line as arguments.
    pub fn through<T: Into<OsString>>(mut self, wrapper: impl IntoIterator<Item = T>) -> Self {
        self.wrapper = wrapper.into_iter().map(Into::into).collect();
        self
    }

    /// Starts the daemon on a machine with this host name.
    pub fn host_name(self, name: &str) -> Self {
        let line = "echo \"$0\" > /proc/sys/kernel/hostname && exec \"$@\"";
        self.through(["unshare", "--uts", "sh", "-c", line, name])
    }

    /// If the environment variable `CONFORM` contains the command line of a program, starts this program instead of the
    /// daemon. The program gets the daemon's command line as arguments. A test that judges programs calls this function
    /// for the judged node, and does not use the control socket of that node.
    pub fn conform(self) -> Self {
        match std::env::var_os(CONFORM) {
            Some(_) => self.through(["sh", "-c", &format!("exec ${CONFORM} \"$@\""), CONFORM]),
            None => self,
        }
    }

    /// Uses the daemon's default places for the state directory and the control socket.
    pub fn default_places(mut self) -> Self {
        self.own_folder = false;
        self
    }

    /// Omits `--state-dir`. A program that stores nothing has no such option.
    pub fn without_state(mut self) -> Self {
        self.has_state = false;
        self
    }

    /// Appends the daemon's output to a file. The test then cannot read the output through [`Daemon`].
    pub fn log_to(mut self, path: impl Into<PathBuf>) -> Self {
        self.log = Some(path.into());
        self
    }

    pub fn spawn(self) -> Result<Daemon> {
        let folder = tempfile::tempdir_in("/run").context("cannot make a folder in /run")?;
        let mut daemon = Daemon {
            options: self,
            folder,
            lines: Arc::default(),
            child: None,
        };
        daemon.show_log();
        daemon.start()?;
        Ok(daemon)
    }

    fn command(&self, folder: &Path) -> Result<Command> {
        let mut line: Vec<OsString> = self.wrapper.clone();
        line.push(self.binaries.ringd.into());
        line.push(self.interface.clone().into());
        if self.own_folder {
            let state = self.has_state.then(|| ("--state-dir", state_dir(folder)));
            let places = state.into_iter().chain([("--control", control(folder))]);
            for (name, place) in places {
                if !self.arguments.iter().any(|argument| argument == name) {
                    line.extend([name.into(), place.into()]);
                }
            }
        }
        line.extend(self.arguments.iter().cloned());
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]);
        command
            .stdin(Stdio::null())
            .stdout(self.output_target()?)
            .stderr(self.output_target()?);
        Ok(command)
    }

    /// Returns the destination of one output stream of the daemon.
    fn output_target(&self) -> Result<Stdio> {
        let Some(path) = &self.log else {
            return Ok(Stdio::piped());
        };
        let file = File::options().create(true).append(true).open(path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(file.into())
    }
}

/// Sends one request to a control socket (`docs/reference/control.md`). Returns the answer. The answer must be of this
/// kind.
pub fn ask(control: &Path, request: &Value, kind: &str) -> Result<Value> {
    let mut stream = UnixStream::connect(control).context("no process listens")?;
    stream.set_read_timeout(Some(WAIT_LIMIT))?;
    writeln!(stream, "{request}").context("cannot send the request")?;
    let mut line = String::new();
    BufReader::new(stream)
        .read_line(&mut line)
        .context("no answer")?;
    let mut answer: Value = serde_json::from_str(&line).context("the answer is not JSON")?;
    let value = answer.get_mut(kind).map(Value::take);
    value.with_context(|| format!("{answer} instead of {kind}"))
}

/// Kills the guardian of a daemon with SIGKILL, if there is a guardian; `daemon` is the daemon's process id.
pub fn kill_guardian(daemon: u32) -> Result<()> {
    let daemon = Pid::from_raw(i32::try_from(daemon)?);
    if let Some(guardian) = proc::child(daemon, "ringd-guardian")? {
        kill(guardian, Signal::SIGKILL).context("cannot kill the guardian")?;
    }
    Ok(())
}

/// A started daemon. It is killed on drop.
#[derive(Debug)]
pub struct Daemon {
    options: Ringd,
    folder: TempDir,
    lines: Arc<Lines>,
    child: Option<Child>,
}

impl Daemon {
    fn show_log(&self) {
        let name = format!("node {}", self.node().index());
        failure_report::show_log(name, Arc::clone(&self.lines));
    }

    /// Discards the daemon's earlier output, so that it does not appear in the report of the next test.
    pub(crate) fn restart_recording(&mut self) {
        self.lines.clear();
        self.show_log();
    }

    /// Changes the value of an option for the daemon's next start.
    pub fn set_option(&mut self, name: &str, value: impl AsRef<Path>) {
        let arguments = &mut self.options.arguments;
        let at = arguments.iter().position(|argument| argument == name);
        if let Some(old) = at.and_then(|at| arguments.get_mut(at + 1)) {
            *old = value.as_ref().into();
        }
    }

    pub fn node(&self) -> &Node {
        &self.options.node
    }

    /// Returns the daemon's process id.
    ///
    /// # Panics
    /// Panics if the daemon has ended.
    pub fn pid(&self) -> Pid {
        let id = self.child.as_ref().expect("the daemon runs").id();
        Pid::from_raw(i32::try_from(id).expect("the kernel's process numbers are positive"))
    }

    /// Returns one of the daemon's capability sets. `set` is its name in `/proc`, such as `CapPrm`.
    pub fn capabilities(&self, set: &str) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()))?;
        let bits = status.lines().find_map(|line| line.strip_prefix(set));
        let bits = bits.and_then(|bits| bits.strip_prefix(':'));
        Ok(u64::from_str_radix(
            bits.context("no such set")?.trim(),
            16,
        )?)
    }

    pub fn state_dir(&self) -> PathBuf {
        state_dir(self.folder.path())
    }

    pub fn control(&self) -> PathBuf {
        control(self.folder.path())
    }

    /// Starts the daemon again after its end, with the same options and state.
    pub fn start(&mut self) -> Result<()> {
        ensure!(self.child.is_none(), "the daemon is already running");
        fs::create_dir_all(self.state_dir()).context("cannot make a state directory")?;
        let mut command = self.options.command(self.folder.path())?;
        let mut child = self.options.node.ns().spawn(&mut command)?;
        if let Some(stream) = child.stdout.take() {
            self.lines.follow(stream)?;
        }
        if let Some(stream) = child.stderr.take() {
            self.lines.follow(stream)?;
        }
        stalls::register(&child)?;
        self.child = Some(child);
        Ok(())
    }

    /// Sends the daemon a signal. If the signal is SIGSTOP, waits until the daemon has stopped.
    ///
    /// # Panics
    /// Panics if the daemon has ended.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        if matches!(signal, Signal::SIGSTOP | Signal::SIGCONT) {
            stalls::set_stopped(
                self.pid().as_raw().unsigned_abs(),
                signal == Signal::SIGSTOP,
            );
        }
        kill(self.pid(), signal).with_context(|| format!("cannot send {signal} to the daemon"))?;
        if signal == Signal::SIGSTOP {
            // A daemon that is busy when the signal arrives may still handle a frame before it stops.
            let stopped = waitpid(self.pid(), Some(WaitPidFlag::WUNTRACED))?;
            ensure!(
                matches!(stopped, WaitStatus::Stopped(..)),
                "the daemon did not stop: {stopped:?}"
            );
        }
        Ok(())
    }

    /// Kills the daemon and its guardian with SIGKILL, as if their machine failed. Waits until the daemon has ended.
    pub fn kill(&mut self) -> Result<()> {
        self.kill_guardian()?;
        self.crash()
    }

    /// Kills the guardian with SIGKILL, if the daemon has a guardian.
    pub fn kill_guardian(&self) -> Result<()> {
        let Some(daemon) = &self.child else {
            return Ok(());
        };
        kill_guardian(daemon.id())
    }

    /// Kills only the daemon with SIGKILL, and waits until it has ended.
    pub fn crash(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            stalls::unregister(child.id());
            cpu_starvation::record_wait(child.id());
            child.kill().context("cannot kill the daemon")?;
            child.wait().context("cannot wait for the daemon")?;
        }
        Ok(())
    }

    /// Waits until the daemon exits by itself.
    pub fn wait_exit(&mut self, timeout: Duration) -> Result<ExitStatus> {
        let child = self
            .child
            .as_mut()
            .context("the daemon has ended already")?;
        let deadline = Instant::now() + timeout;
        loop {
            cpu_starvation::record_wait(child.id());
            if let Some(status) = child
                .try_wait()
                .context("cannot query the daemon's process")?
            {
                stalls::unregister(child.id());
                self.child = None;
                return Ok(status);
            }
            ensure!(
                Instant::now() < deadline,
                "the daemon did not end in {timeout:?}"
            );
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Returns whether the daemon's process is running, according to the kernel.
    pub fn poll_running(&mut self) -> Result<bool> {
        let Some(child) = self.child.as_mut() else {
            return Ok(false);
        };
        Ok(child
            .try_wait()
            .context("cannot query the daemon's process")?
            .is_none())
    }

    /// Returns the daemon's output up to now, from both streams.
    pub fn output(&self) -> Vec<String> {
        self.lines.all()
    }

    /// Waits for a line of the daemon's output. The line may already be in the output.
    pub fn wait_for_line(
        &self,
        timeout: Duration,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<String> {
        self.wait_for_line_from(0, timeout, wanted)
    }

    /// Waits for a line of the daemon's output after the first `from` lines.
    pub fn wait_for_line_from(
        &self,
        from: usize,
        timeout: Duration,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<String> {
        self.lines.wait_for(from, timeout, wanted)
    }

    pub fn ringctl(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(self.options.binaries.ringctl);
        command.arg("--socket").arg(self.control()).args(arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = self.options.node.ns().spawn(&mut command)?;
        child.wait_with_output().context("cannot wait for ringctl")
    }

    /// Returns the daemon's status from `ringctl status --json`. The daemon need not be in a ring.
    pub fn status(&self) -> Result<Value> {
        let output = self.ringctl(&["status", "--json"])?;
        if !matches!(output.status.code(), Some(0 | NOT_IN_RING_CODE)) {
            bail!(
                "ringctl: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        serde_json::from_slice(&output.stdout).context("ringctl's status is not JSON")
    }

    /// Sends one request to the daemon's control socket (`docs/reference/control.md`). Returns the answer. The answer
    /// must be of this kind.
    pub fn ask(&self, request: &Value, kind: &str) -> Result<Value> {
        ask(&self.control(), request, kind)
    }

    /// Requests the daemon's status until `wanted` accepts it. The status is the same as from `ringctl status --json`,
    /// but a request needs no process.
    pub fn wait_for_status(
        &self,
        timeout: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let deadline = Instant::now() + timeout;
        loop {
            let status = self.ask(&json!({"request": "status"}), "status");
            match status {
                Ok(status) if wanted(&status) => return Ok(status),
                _ if Instant::now() < deadline => thread::sleep(POLL_INTERVAL),
                Ok(status) => bail!("not the wanted status in {timeout:?}: {status:#}"),
                Err(error) => return Err(error.context("no status in time")),
            }
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Err(error) = self.kill() {
            eprintln!("cannot kill a daemon: {error:#}");
        }
    }
}

fn state_dir(folder: &Path) -> PathBuf {
    folder.join("state")
}

fn control(folder: &Path) -> PathBuf {
    folder.join("control.sock")
}
