//! Servers as processes, and `ringctl token` as their client.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ring_segment::WAIT_LIMIT;
use serde_json::Value;
use tempfile::TempDir;

use crate::locks::program::Running;

/// Port of the first server. Each test has its own loopback interface.
const PORT: u16 = 7300;
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Servers on this sandbox's loopback interface. They are killed on drop.
pub(super) struct ClientStand {
    folder: TempDir,
    client_timeout: Duration,
    servers: Vec<Child>,
}

/// Starts servers with `ringctl`'s default client timeout.
pub(super) fn serve(count: u16) -> Result<ClientStand> {
    serve_with(count, Duration::from_secs(15))
}

pub(super) fn serve_with(count: u16, client_timeout: Duration) -> Result<ClientStand> {
    let mut stand = ClientStand {
        folder: tempfile::tempdir()?,
        client_timeout,
        servers: Vec::new(),
    };
    let lines: Vec<String> = (0..count)
        .map(|index| format!("127.0.0.1:{}", PORT + index))
        .collect();
    fs::write(stand.list(), lines.join("\n") + "\n")?;
    File::create(stand.lock_file())?;
    for index in 0..count {
        let server = Command::new(env!("CARGO_BIN_EXE_ringd"))
            .arg("ftn")
            .arg("--servers")
            .arg(stand.list())
            .args(["--index", &index.to_string()])
            .args(["--heartbeat", "100ms", "--server-timeout", "500ms"])
            .arg("--client-timeout")
            .arg(format!("{}ms", client_timeout.as_millis()))
            // The servers need no grace period, because there are no clients of an earlier run.
            .args(["--grace", "0ms"])
            // With this quorum the last living server continues to serve.
            .args(["--quorum", "1"])
            .arg("--control")
            .arg(stand.file(&format!("ftn-{index}.sock")))
            .arg("--state-dir")
            .arg(stand.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        stand.servers.push(server);
    }
    Ok(stand)
}

impl ClientStand {
    pub(super) fn list(&self) -> PathBuf {
        self.file("servers")
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the path of a file that is locked while any process of the work lives. All processes of the work inherit
    /// the lock.
    fn lock_file(&self) -> PathBuf {
        self.file("mark")
    }

    /// Returns `ringctl token` with these arguments, and with all signals at their defaults.
    pub(super) fn token(&self, arguments: &[&str]) -> Command {
        self.token_of(&self.list(), arguments)
    }

    /// Returns `ringctl token` with a different list of servers.
    pub(super) fn token_of(&self, list: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new("env");
        command
            .args([
                "--default-signal",
                ring_segment::program("ringctl"),
                "token",
            ])
            .arg("--servers")
            .arg(list)
            .arg("--client-timeout")
            .arg(format!("{}ms", self.client_timeout.as_millis()))
            .args(arguments)
            .stdin(Stdio::null());
        command
    }

    /// Runs `ringctl token`, and waits for its end.
    pub(super) fn output(&self, arguments: &[&str]) -> Result<Output> {
        Ok(self.token(arguments).output()?)
    }

    /// Checks the exit code of `ringctl token`, and returns its output.
    pub(super) fn expect_exit(&self, code: i32, arguments: &[&str]) -> Result<Vec<u8>> {
        let output = self.output(arguments)?;
        ensure!(
            output.status.code() == Some(code),
            "{arguments:?}: {output:?}"
        );
        Ok(output.stdout)
    }

    /// Checks the exit code of `ringctl token` and that its error contains `words`.
    pub(super) fn expect_failure(&self, code: i32, words: &str, arguments: &[&str]) -> Result<()> {
        let output = self.output(arguments)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        let is_so = output.status.code() == Some(code) && errors.contains(words);
        ensure!(is_so, "{arguments:?}: {words:?}: {output:?}");
        Ok(())
    }

    /// Starts `ringctl token hold`, and waits until it holds the token.
    pub(super) fn hold(&self, options: &[&str], name: &str) -> Result<Running> {
        let arguments = [&["hold"], options, &[name]].concat();
        let mut hold = Running::start(&mut self.token(&arguments))?;
        let line = hold.line();
        let granted = line.strip_prefix("granted ");
        let is_fence = granted.is_some_and(|fence| fence.parse::<u64>().is_ok());
        ensure!(is_fence, "{line:?}: {}", hold.errors());
        Ok(hold)
    }

    /// Returns the entry of this token in the output of `list --json`.
    pub(super) fn list_entry(&self, name: &str) -> Result<Option<Value>> {
        let listed = self.expect_exit(0, &["list", "--json"])?;
        let listed: Value = serde_json::from_slice(&listed)?;
        let digits = hex(name.as_bytes());
        let mut tokens = listed.as_array().context("an array")?.iter();
        Ok(tokens.find(|token| token["name"] == digits).cloned())
    }

    /// Waits until `is_so` accepts the output of `ringctl token list`.
    pub(super) fn wait_for_page(&self, is_so: impl Fn(&str) -> bool) -> Result<()> {
        let give_up = Instant::now() + WAIT_LIMIT;
        loop {
            let output = self.output(&["list"])?;
            let page = String::from_utf8_lossy(&output.stdout);
            if is_so(&page) {
                return Ok(());
            }
            ensure!(Instant::now() < give_up, "{page}");
        }
    }

    /// Waits until `count` sessions wait for a token.
    pub(super) fn wait_for_waiting(&self, name: &str, count: usize) -> Result<()> {
        let give_up = Instant::now() + WAIT_LIMIT;
        loop {
            let token = self.list_entry(name)?;
            let waiting = token.as_ref().and_then(|token| token["waiting"].as_array());
            if waiting.map_or(0, Vec::len) == count {
                return Ok(());
            }
            ensure!(Instant::now() < give_up, "{token:?}");
        }
    }

    /// Starts `ringctl token run` of token `t` with a shell line, and waits until the line prints "ready".
    pub(super) fn start_work(&self, line: &str) -> Result<Running> {
        // The shell must not write a core dump, even if a signal such as SIGQUIT ends it.
        let line = format!(
            "ulimit -c 0; exec 9> {}; flock -n 9 || exit 99; {line}",
            self.lock_file().display()
        );
        let mut run = Running::start(&mut self.token(&["run", "t", "--", "sh", "-c", &line]))?;
        run.expect_line("ready")?;
        Ok(run)
    }

    /// Whether all processes of the work have ended.
    pub(super) fn is_alone(&self) -> Result<bool> {
        let mark = File::open(self.lock_file())?;
        Ok(Flock::lock(mark, FlockArg::LockExclusiveNonblock).is_ok())
    }

    /// Starts another client that waits for `t`.
    pub(super) fn start_next(&self) -> Result<NextClient<'_>> {
        let hold = Running::start(&mut self.token(&["hold", "t"]))?;
        self.wait_for_waiting("t", 1)?;
        Ok(NextClient { stand: self, hold })
    }

    pub(super) fn kill_server(&mut self, index: usize) -> Result<()> {
        let server = &mut self.servers[index];
        server.kill()?;
        server.wait()?;
        Ok(())
    }
}

impl Drop for ClientStand {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

pub(super) struct NextClient<'a> {
    stand: &'a ClientStand,
    hold: Running,
}

impl NextClient<'_> {
    /// Checks that this client gets the token, and that all processes of the earlier work have ended at that moment.
    pub(super) fn check_begins_alone(mut self) -> Result<()> {
        let line = self.hold.line();
        let is_alone = self.stand.is_alone()?;
        ensure!(line.starts_with("granted "), "{line:?}");
        ensure!(is_alone, "a process of the work is left");
        self.hold.signal(Signal::SIGTERM)?;
        self.hold.expect_line("returned")?;
        self.hold.expect_code(0)
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.concat()
}

/// Waits until the process `parent` has a child with this name, and returns the child.
pub(super) fn child_called(parent: Pid, name: &str) -> Result<Pid> {
    let give_up = Instant::now() + WAIT_LIMIT;
    loop {
        for child in children(parent) {
            let called = fs::read_to_string(format!("/proc/{child}/comm"));
            if called.is_ok_and(|called| called.trim_end() == name) {
                return Ok(child);
            }
        }
        ensure!(Instant::now() < give_up, "{parent} has no {name}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn children(parent: Pid) -> Vec<Pid> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    let children = children.unwrap_or_default();
    let children = children.split_whitespace();
    children
        .filter_map(|pid| pid.parse().ok().map(Pid::from_raw))
        .collect()
}

/// Returns the keeper and the granter of a `ringctl token run`.
pub(super) fn helpers(run: &Running) -> Result<(Pid, Pid)> {
    let keeper = child_called(run.pid(), "ringd-keeper")?;
    Ok((keeper, child_called(keeper, "ringd-granter")?))
}

pub(super) fn signal(pid: Pid, signal: Signal) -> Result<()> {
    Ok(kill(pid, signal)?)
}

pub(super) fn wait_until_gone(pid: Pid) -> Result<()> {
    let give_up = Instant::now() + WAIT_LIMIT;
    while kill(pid, None).is_ok() {
        // An ended process stays a zombie until its parent waits for it.
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if status.contains(") Z ") {
            break;
        }
        ensure!(Instant::now() < give_up, "process {pid} does not end");
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}
