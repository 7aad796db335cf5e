//! The judged program: a process group on a node.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use ring_segment::{Node, now};

const POLL_INTERVAL: Duration = Duration::from_millis(5);

pub(super) struct Candidate {
    node: Node,
    line: Vec<String>,
    log: PathBuf,
    dir: PathBuf,
    child: Option<Child>,
    /// Times of the starts.
    pub(super) starts: Vec<Duration>,
    /// Exits of the program that the run did not cause.
    pub(super) deaths: Vec<String>,
}

impl Candidate {
    pub(super) fn new(node: &Node, command: &[String], folder: &Path) -> Result<Self> {
        let dir = folder.join("member");
        fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let dir = dir.canonicalize()?;
        let mut line: Vec<String> = (command.iter())
            .map(|part| fill(part, node, &dir))
            .collect();
        if !command.iter().any(|part| part.contains("{iface}")) {
            line.push("eth0".to_owned());
        }
        Ok(Self {
            node: node.clone(),
            line,
            log: folder.join("member.log"),
            dir,
            child: None,
            starts: Vec::new(),
            deaths: Vec::new(),
        })
    }

    /// Replaces the placeholders in a text.
    pub(super) fn fill(&self, text: &str) -> String {
        fill(text, &self.node, &self.dir)
    }

    pub(super) fn start(&mut self) -> Result<()> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut command = Command::new(&self.line[0]);
        command
            .args(&self.line[1..])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0);
        self.starts.push(now());
        self.child = Some(self.node.ns().spawn(&mut command)?);
        Ok(())
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let child = self.child.as_ref().context("the program runs")?;
        let group = Pid::from_raw(i32::try_from(child.id())?);
        killpg(group, signal).with_context(|| format!("cannot send {signal} to the program"))
    }

    pub(super) fn stop(&self) -> Result<()> {
        self.signal(Signal::SIGSTOP)
    }

    pub(super) fn resume(&self) -> Result<()> {
        self.signal(Signal::SIGCONT)
    }

    pub(super) fn kill(&mut self) -> Result<()> {
        if self.child.is_some() {
            self.signal(Signal::SIGKILL)?;
        }
        if let Some(mut child) = self.child.take() {
            child.wait()?;
        }
        Ok(())
    }

    /// Sends SIGTERM, and waits until the program ends. Returns `None` if the program does not end.
    pub(super) fn terminate(&mut self, timeout: Duration) -> Result<Option<ExitStatus>> {
        self.signal(Signal::SIGTERM)?;
        let deadline = now() + timeout;
        while now() < deadline {
            if let Some(status) = self.poll()? {
                self.child = None;
                return Ok(Some(status));
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(None)
    }

    fn poll(&mut self) -> Result<Option<ExitStatus>> {
        let child = self.child.as_mut().context("the program runs")?;
        child.try_wait().context("cannot query the program")
    }

    /// If the program ended by itself, records this end and starts the program again.
    pub(super) fn restart_if_dead(&mut self) -> Result<()> {
        if self.child.is_none() {
            return Ok(());
        }
        if let Some(status) = self.poll()? {
            let signal = status.signal().map(|it| format!(" (signal {it})"));
            let text = format!(
                "at {:.1?} the program ended by itself: {status}{}",
                now(),
                signal.unwrap_or_default()
            );
            self.deaths.push(text);
            self.child = None;
            self.start()?;
        }
        Ok(())
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        if let Err(error) = self.kill() {
            eprintln!("cannot kill the judged program: {error:#}");
        }
    }
}

fn fill(text: &str, node: &Node, dir: &Path) -> String {
    let ip = node.ip().map(|ip| ip.to_string()).unwrap_or_default();
    text.replace("{iface}", "eth0")
        .replace("{ip}", &ip)
        .replace("{mac}", &node.mac().to_string())
        .replace("{dir}", &dir.display().to_string())
}
