//! Runs a systemd on a node of the segment, for tests that need a service manager.
//!
//! [`Container::boot`] starts the machine's `/usr/lib/systemd/systemd` as process 1 of new namespaces, with a new file
//! system: `/usr` is the folder of the machine, read-only. All other folders are new and empty. A boot downloads and
//! builds nothing, and takes about a second. The container uses the network of its [`Node`], whose `eth0` is on the
//! segment. A boot needs root, and the packages systemd, util-linux and iproute2. If a package is missing, the error
//! contains its name. The container ends on drop.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use ring_segment::{Binaries, Container, Segment};
//!
//! fn the_service_runs(binaries: Binaries) -> anyhow::Result<()> {
//!     let segment = Segment::bridge(2)?;
//!     let container = Container::boot(segment.node(0), binaries)?;
//!     container.install_service()?;
//!     container.run(&["systemctl", "enable", "--now", "ringd@eth0"])?;
//!     container.write("/etc/systemd/system/nightly.service", 0o644, "[Service]\nExecStart=true\n")?;
//!     container.sh("systemctl daemon-reload && systemctl start nightly")?;
//!     container.wait_for_line(Duration::from_secs(5), |line| line.contains("OWNER"))?;
//!     Ok(())
//! }
//! ```

mod cgroup;
mod needs;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::daemon::Binaries;
use crate::failure_report;
use crate::lines::Lines;
use crate::node::Node;
use cgroup::Cgroup;

/// Longest time of a boot.
const BOOT_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// PATH of the programs inside the container, and of the commands that make the container.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Commands that process 1 runs before it becomes systemd.
const BOOT_SCRIPT: &str = include_str!("boot.sh");
/// Commands that move an outside process into a control group of the container, and then start the program of this
/// process.
const ENTER_SCRIPT: &str = r#"
    mkdir -p /sys/fs/cgroup/shell
    echo 0 >/sys/fs/cgroup/shell/cgroup.procs
    cd /src
    exec "$@""#;
/// The README's commands that install the unit.
const INSTALL_SCRIPT: &str = "
    install -m 644 systemd/ringd.sysusers /usr/lib/sysusers.d/ringd.conf
    install -m 644 systemd/ringd@.service /etc/systemd/system/
    systemd-sysusers
    systemctl daemon-reload";

/// A node that runs systemd. On drop, systemd and all its processes end.
#[derive(Debug)]
pub struct Container {
    node: Node,
    /// The process `unshare`. Its child is systemd.
    parent: Child,
    /// PID of systemd.
    init: u32,
    /// Process that follows the journal.
    follower: Option<Child>,
    journal: Arc<Lines>,
    console: Arc<Lines>,
    cgroup: Option<Cgroup>,
    _folder: TempDir,
}

impl Container {
    /// Boots a container, and waits until the boot is complete. `ringd` and `ringctl` are in `/usr/local/bin`, and the
    /// repository is in `/src`. The container has only the units that come with systemd.
    pub fn boot(node: &Node, binaries: Binaries) -> Result<Self> {
        needs::check()?;
        let folder = tempfile::tempdir_in("/run").context("cannot make a folder in /run")?;
        let (tree, repository) = (folder.path().join("tree"), repository()?);
        fs::create_dir(&tree)?;
        let cgroup = Cgroup::new()?;
        let mut command = Command::new("unshare");
        command
            .args([
                "--pid",
                "--fork",
                "--kill-child",
                "--mount",
                "--uts",
                "--ipc",
            ])
            .args(["sh", "-c", BOOT_SCRIPT, "boot.sh"])
            .args([&tree, cgroup.path(), &repository])
            .args([binaries.ringd, binaries.ringctl])
            .env("PATH", PATH)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut parent = node.ns().spawn(&mut command)?;
        let (journal, console) = (Arc::<Lines>::default(), Arc::<Lines>::default());
        let name = format!("the systemd of node {}", node.index());
        failure_report::show_log(name, Arc::clone(&console));
        failure_report::show_log(
            format!("the journal of node {}", node.index()),
            Arc::clone(&journal),
        );
        if let Some(stream) = parent.stdout.take() {
            console.follow(stream)?;
        }
        if let Some(stream) = parent.stderr.take() {
            console.follow(stream)?;
        }
        let mut this = Self {
            node: node.clone(),
            parent,
            init: 0,
            follower: None,
            journal,
            console,
            cgroup: Some(cgroup),
            _folder: folder,
        };
        this.await_boot()?;
        this.follow_journal()?;
        Ok(this)
    }

    fn await_boot(&mut self) -> Result<()> {
        let deadline = Instant::now() + BOOT_TIMEOUT;
        let mut look = || -> Result<bool> {
            if let Some(status) = self.parent.try_wait()? {
                // The last messages of systemd may arrive after its end.
                thread::sleep(POLL_INTERVAL);
                bail!("it ended with {status}:\n{}", self.console.all().join("\n"));
            }
            if self.init == 0 {
                self.init = child_of(self.parent.id())?.unwrap_or(0);
            }
            // systemctl connects to this socket.
            Ok(self.init != 0 && self.path("/run/systemd/private").exists())
        };
        while !look().context("systemd did not start")? {
            ensure!(
                Instant::now() < deadline,
                "systemd did not start in {BOOT_TIMEOUT:?}:\n{}",
                self.console.all().join("\n")
            );
            thread::sleep(POLL_INTERVAL);
        }
        let mut state = self.state()?;
        // On a busy machine the socket may exist before systemd answers.
        while state.is_empty() && Instant::now() < deadline {
            thread::sleep(POLL_INTERVAL);
            state = self.state()?;
        }
        if state != "running" {
            let failed = self.output(&["systemctl", "--failed", "--no-legend", "--plain"])?;
            bail!(
                "systemd is {state:?} after the boot: {}",
                String::from_utf8_lossy(&failed.stdout)
            );
        }
        Ok(())
    }

    /// Returns the state of the whole system after the boot, or an empty string if systemd does not answer.
    fn state(&self) -> Result<String> {
        // The exit code shows only whether a unit has failed.
        let output = self
            .command("systemctl")
            .args(["is-system-running", "--wait"])
            .output()?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn follow_journal(&mut self) -> Result<()> {
        let mut command = self.command("journalctl");
        command.args(["--follow", "--lines=all", "--output=short", "--no-hostname"]);
        let mut follower = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot follow the journal")?;
        if let Some(stream) = follower.stdout.take() {
            self.journal.follow(stream)?;
        }
        self.follower = Some(follower);
        Ok(())
    }

    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Returns the path through which processes outside the container reach a file in the container.
    pub fn path(&self, inside: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{inside}", self.init))
    }

    /// Writes a file in the container, and makes the folders above it.
    pub fn write(&self, inside: &str, mode: u32, text: &str) -> Result<()> {
        let path = self.path(inside);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("cannot make {inside}"))?;
        }
        let mut file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(mode)
            .open(&path)
            .with_context(|| format!("cannot write {inside}"))?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.write_all(text.as_bytes())?;
        Ok(())
    }

    /// Returns a command that runs a program as root in the container: in `/src`, with a separate control group and the
    /// environment of a login.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--all", "--target", &self.init.to_string(), "--"])
            .args(["sh", "-euc", ENTER_SCRIPT, "sh", program])
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", "/root")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        command
    }

    /// Runs a command in the container, and returns its output and exit code.
    pub fn output(&self, line: &[&str]) -> Result<Output> {
        let (program, arguments) = line.split_first().context("there is no command")?;
        let output = self.command(program).args(arguments).output();
        output.with_context(|| format!("cannot run {program} in the container"))
    }

    /// Runs a command in the container. The command must succeed. Returns its output.
    pub fn run(&self, line: &[&str]) -> Result<String> {
        let output = self.output(line)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(
            output.status.success(),
            "{} ended with {}:\n{text}{}",
            line.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(text)
    }

    /// Runs shell lines in the container, and returns their output. Every line must succeed.
    pub fn sh(&self, lines: &str) -> Result<String> {
        self.run(&["sh", "-euc", lines])
    }

    /// Installs `ringd@.service` and its user with the README's commands. Neither enables nor starts the service.
    pub fn install_service(&self) -> Result<()> {
        self.sh(INSTALL_SCRIPT).map(drop)
    }

    /// Adds lines to a unit, as `systemctl edit` does.
    pub fn edit(&self, unit: &str, lines: &str) -> Result<()> {
        let path = format!("/etc/systemd/system/{unit}.d/override.conf");
        self.write(&path, 0o644, lines)?;
        self.run(&["systemctl", "daemon-reload"]).map(drop)
    }

    /// Returns a property of a unit, as `systemctl show` does.
    pub fn show(&self, unit: &str, property: &str) -> Result<String> {
        let value = self.run(&["systemctl", "show", "--value", "-p", property, unit])?;
        Ok(value.trim().to_owned())
    }

    /// Waits until `wanted` accepts a property of a unit, and returns it.
    pub fn wait_for(
        &self,
        unit: &str,
        property: &str,
        timeout: Duration,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<String> {
        let deadline = Instant::now() + timeout;
        loop {
            let value = self.show(unit, property)?;
            if wanted(&value) {
                return Ok(value);
            }
            ensure!(
                Instant::now() < deadline,
                "{property} of {unit} is still {value:?} after {timeout:?}"
            );
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Returns the lines of the container's journal up to now. Example of a line: `Nov 22 16:00:00 ringd[42]: text`.
    pub fn journal(&self) -> Vec<String> {
        self.journal.all()
    }

    /// Waits for a line of the container's journal. The line may already be in the journal.
    pub fn wait_for_line(
        &self,
        timeout: Duration,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<String> {
        self.wait_for_line_from(0, timeout, wanted)
    }

    /// Waits for a line of the container's journal after the first `from` lines.
    pub fn wait_for_line_from(
        &self,
        from: usize,
        timeout: Duration,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<String> {
        self.journal.wait_for(from, timeout, wanted)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // When process 1 dies, the kernel kills all other processes of the container. The parent of process 1 then ends
        // by itself, or is killed here.
        match i32::try_from(self.init) {
            Ok(init) if init > 0 => drop(kill(Pid::from_raw(init), Signal::SIGKILL)),
            _ => drop(self.parent.kill()),
        }
        let _ = self.parent.wait();
        if let Some(mut follower) = self.follower.take() {
            let _ = follower.kill();
            let _ = follower.wait();
        }
        drop(self.cgroup.take());
    }
}

/// Returns the only child of a process, or `None` if the process has no child.
fn child_of(pid: u32) -> Result<Option<u32>> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let children = fs::read_to_string(&path)
        .with_context(|| format!("cannot read {path}: the kernel needs CONFIG_PROC_CHILDREN"))?;
    let first = children.split_whitespace().next();
    first
        .map(|child| child.parse().context("no process number"))
        .transpose()
}

/// Returns the repository's root.
fn repository() -> Result<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = own
        .ancestors()
        .nth(2)
        .context("the crate lies in the project")?;
    Ok(root.to_owned())
}
