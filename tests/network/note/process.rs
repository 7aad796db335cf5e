//! Nodes as processes of their own, and `ringctl` to ask them.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ring_segment::{PATIENCE, stalls};
use serde_json::Value;
use tempfile::TempDir;

use super::node::{PERIOD, Setting};

/// Tells the test program to be a node, by its [`Setting`].
const NODE: &str = "RINGD_TEST_NOTE";
/// How often is looked.
const LOOK: Duration = Duration::from_millis(10);

/// Runs a node, if this process is to be one.
pub fn run_if_asked() -> Option<ExitCode> {
    let asked = env::var(NODE).ok()?;
    let run = || asked.parse::<Setting>()?.run();
    Some(match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    })
}

/// A node. It is killed when this is dropped.
#[derive(Debug)]
pub struct Node {
    on: ring_segment::Node,
    period: Duration,
    folder: TempDir,
    child: Option<Child>,
}

/// Starts a node on a machine of a segment.
pub fn start(on: &ring_segment::Node) -> Result<Node> {
    start_with_period(on, PERIOD)
}

/// Starts one with another time between its announcements.
pub fn start_with_period(on: &ring_segment::Node, period: Duration) -> Result<Node> {
    let mut node = Node {
        on: on.clone(),
        period,
        folder: tempfile::tempdir_in("/run")?,
        child: None,
    };
    node.start()?;
    Ok(node)
}

impl Node {
    fn setting(&self) -> Result<Setting> {
        let ip = self.on.ip().context("it has an ip")?;
        Ok(Setting {
            address: ip.to_string().parse()?,
            period: self.period,
            folder: self.folder.path().to_owned(),
        })
    }

    /// Its control socket.
    pub fn control(&self) -> PathBuf {
        self.folder.path().join("note.sock")
    }

    /// The file of a note that it writes at its start.
    pub fn first(&self) -> PathBuf {
        self.folder.path().join("first")
    }

    /// The file in which it stores the note.
    pub fn stored(&self) -> PathBuf {
        self.folder.path().join("note")
    }

    /// Starts it, and waits until it answers.
    pub fn start(&mut self) -> Result<()> {
        let mut command = Command::new(env::current_exe()?);
        command
            .env(NODE, self.setting()?.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let child = self.on.ns().spawn(&mut command)?;
        stalls::enrol(&child)?;
        self.child = Some(child);
        self.wait_until("it does not answer", |_| true).map(drop)
    }

    /// Kills it at once.
    pub fn kill(&mut self) -> Result<()> {
        self.signal(Signal::SIGKILL)?;
        let end = self.wait_exit()?;
        ensure!(end.signal() == Some(9), "it ended with {end}");
        Ok(())
    }

    pub fn signal(&self, signal: Signal) -> Result<()> {
        let child = self.child.as_ref().context("it does not run")?;
        kill(Pid::from_raw(i32::try_from(child.id())?), signal)?;
        Ok(())
    }

    /// Waits for its end.
    pub fn wait_exit(&mut self) -> Result<ExitStatus> {
        let mut child = self.child.take().context("it does not run")?;
        let give_up = Instant::now() + PATIENCE;
        while Instant::now() < give_up {
            if let Some(end) = child.try_wait()? {
                stalls::dismiss(child.id());
                return Ok(end);
            }
            thread::sleep(LOOK);
        }
        self.child = Some(child);
        bail!("it does not end")
    }

    /// Runs `ringctl` on its control socket.
    pub fn ringctl(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringctl"));
        command
            .arg("--socket")
            .arg(self.control())
            .args(arguments)
            // As under a lock: there is none to be waited for.
            .env("RINGD_LOCK", "1-02:00:00:00:00:01-1");
        Ok(command.output()?)
    }

    /// Writes a version of the note.
    pub fn write(&self, text: &str) -> Result<()> {
        let output = self.ringctl(&["data", "set", text])?;
        ensure!(output.status.success(), "{output:?}");
        Ok(())
    }

    /// The note that it shows.
    pub fn note(&self) -> Result<Vec<u8>> {
        let output = self.ringctl(&["data", "get", "--raw"])?;
        ensure!(output.status.success(), "{output:?}");
        Ok(output.stdout)
    }

    /// Waits until it shows this note.
    pub fn wait_for(&self, text: &str) -> Result<()> {
        let give_up = Instant::now() + PATIENCE;
        while self.note()? != text.as_bytes() {
            ensure!(Instant::now() < give_up, "it does not show '{text}'");
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Waits until it shows a note of this length.
    pub fn wait_for_shown(&self, len: usize) -> Result<()> {
        self.wait_for_fact("Length", &len.to_string())
    }

    /// Waits until its status says this.
    pub fn wait_for_fact(&self, name: &str, value: &str) -> Result<()> {
        let says = |status: &Value| {
            let facts = status["facts"].as_array().into_iter().flatten();
            facts
                .into_iter()
                .any(|fact| fact[0] == name && fact[1] == value)
        };
        let what = format!("its {name} does not become {value}");
        self.wait_until(&what, says).map(drop)
    }

    /// Waits until something has happened.
    pub fn wait_for_counter(&self, name: &str) -> Result<()> {
        let counted = |status: &Value| status["counters"][name].as_u64() > Some(0);
        self.wait_until(name, counted).map(drop)
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Result<Value> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let output = self.ringctl(&["status", "--json"])?;
            let status: Option<Value> = serde_json::from_slice(&output.stdout).ok();
            match status {
                Some(status) if is_so(&status) => return Ok(status),
                last => ensure!(Instant::now() < give_up, "{what}: {last:?}, {output:?}"),
            }
            thread::sleep(LOOK);
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            stalls::dismiss(child.id());
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
