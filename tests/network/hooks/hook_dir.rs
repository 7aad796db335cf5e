//! A directory of hooks, and the record that the hooks write.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ring_segment::{Daemon, LONG_IDLE_HOLD, Node, Ringd, Timing};
pub(super) use ring_segment::{WAIT_LIMIT, binaries};
use serde_json::Value;
use tempfile::TempDir;

pub(super) const HEARTBEAT: Duration = Duration::from_millis(100);

/// Returns constants with which the token rests and timeouts are long. A stalled owner keeps the token, and a stalled
/// member can still get the token.
pub(super) fn resting_timing() -> Timing {
    Timing::tolerant(Duration::from_secs(1)).idle_hold(LONG_IDLE_HOLD)
}

/// Returns shorter constants for exclusive tests.
pub(super) fn exclusive_resting_timing() -> Timing {
    Timing::tolerant(HEARTBEAT).idle_hold(LONG_IDLE_HOLD)
}

/// A directory of hooks, and the record that the hooks write.
pub(super) struct HookDir {
    folder: TempDir,
}

impl HookDir {
    pub(super) fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        DirBuilder::new()
            .mode(0o755)
            .create(folder.path().join("hooks.d"))?;
        Ok(Self { folder })
    }

    pub(super) fn hooks(&self) -> PathBuf {
        self.folder.path().join("hooks.d")
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn record(&self) -> PathBuf {
        self.path("record")
    }

    /// Adds a hook in one step, so that no daemon runs an incomplete script. `>>$R` in the script writes to the record.
    pub(super) fn hook(&self, name: &str, script: &str) -> Result<PathBuf> {
        let path = self.hooks().join(name);
        self.program(&path, script)?;
        Ok(path)
    }

    fn program(&self, path: &Path, script: &str) -> Result<()> {
        let (record, new) = (self.record(), self.path("new"));
        let text = format!("#!/bin/sh\nexport R={}\n{script}\n", record.display());
        fs::write(&new, text)?;
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755))?;
        fs::rename(&new, path)?;
        Ok(())
    }

    pub(super) fn ringd(&self, node: &Node, timing: &Timing) -> Ringd {
        let ringd = node.ringd(binaries()).timing(timing);
        ringd.option("--hooks-dir", self.hooks())
    }

    /// Returns the complete lines of the record.
    pub(super) fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.record()).unwrap_or_default();
        let whole = text.split_inclusive('\n');
        whole
            .filter_map(|line| line.strip_suffix('\n').map(str::to_owned))
            .collect()
    }

    /// Waits until `wanted` returns a value for the lines of the hooks' record. Returns the value.
    pub(super) fn wait_for<T>(&self, wanted: impl Fn(&[String]) -> Option<T>) -> Result<T> {
        let deadline = Instant::now() + WAIT_LIMIT;
        loop {
            let lines = self.lines();
            if let Some(found) = wanted(&lines) {
                return Ok(found);
            }
            if Instant::now() > deadline {
                bail!(
                    "the expected lines are not in the record, which has:\n{}",
                    lines.join("\n")
                );
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub(super) fn wait_for_line(&self, wanted: impl Fn(&str) -> bool) -> Result<String> {
        self.wait_for(|lines| lines.iter().find(|line| wanted(line)).cloned())
    }
}

/// A `ringctl watch` that begins with the daemon's first event.
pub(super) struct EventWatch {
    child: Child,
    path: PathBuf,
}

impl EventWatch {
    /// Starts a watch. A hook must have recorded the number of the start event, because the watch begins with the next
    /// event.
    pub(super) fn start(daemon: &Daemon, place: &HookDir) -> Result<Self> {
        let start = place.wait_for_line(|line| line.contains(" old=none "))?;
        let first = value(&start, "number")?.parse::<u64>()? + 1;
        let path = place.path("watched");
        let mut command = Command::new(binaries().ringctl);
        command.arg("--socket").arg(daemon.control());
        command.args(["watch", "--json", "--turns", "--from", &first.to_string()]);
        command.stdout(File::create(&path)?).stderr(Stdio::null());
        let child = command.spawn()?;
        Ok(Self { child, path })
    }

    /// Returns all received events that run hooks, up to the event with the number in `line`.
    pub(super) fn hook_events_until(&self, line: &str) -> Result<Vec<Value>> {
        let last: u64 = value(line, "number")?.parse()?;
        let deadline = Instant::now() + WAIT_LIMIT;
        loop {
            let mut events = self.hook_events()?;
            if let Some(at) = events.iter().position(|event| event["number"] == last) {
                events.truncate(at + 1);
                return Ok(events);
            }
            ensure!(Instant::now() < deadline, "not in {events:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns all received events that run hooks.
    pub(super) fn hook_events(&self) -> Result<Vec<Value>> {
        let text = fs::read_to_string(&self.path)?;
        let mut events = Vec::new();
        for line in text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
        {
            let event = serde_json::from_str::<Value>(line)?["event"].take();
            ensure!(event.is_object(), "the line has no beginning: {line}");
            if event["event"] == "state_changed" || event["event"] == "grade_changed" {
                events.push(event);
            }
        }
        Ok(events)
    }
}

impl Drop for EventWatch {
    fn drop(&mut self) {
        // The watch may have ended with the daemon.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn wait_until(what: &str, holds: impl Fn() -> bool) -> Result<()> {
    let deadline = Instant::now() + WAIT_LIMIT;
    while !holds() {
        if Instant::now() > deadline {
            bail!("did not happen in time: {what}");
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Whether a process is alive and is not a zombie.
pub(super) fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
    !matches!(state.flatten(), None | Some('Z' | 'X'))
}

/// Returns the value of `NAME=value` in a line.
pub(super) fn value<'a>(line: &'a str, name: &str) -> Result<&'a str> {
    let mut pairs = line.split(' ').filter_map(|word| word.split_once('='));
    let found = pairs.find(|(key, _)| *key == name);
    found
        .map(|(_, value)| value)
        .with_context(|| format!("no {name} in {line}"))
}
