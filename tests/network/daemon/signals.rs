//! Signals of operators to a daemon. An operator's signal must never cause an election.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::openpty;
use nix::sys::signal::Signal;
use nix::unistd::ttyname;
use ring_segment::{Daemon, LONG_IDLE_HOLD, Segment, Test, Timing, WAIT_LIMIT, binaries, tests};
use serde_json::Value;

/// Period of heartbeats. Two periods are longer than the silence of a stalled daemon. So only the first election
/// happens.
const HEARTBEAT: Duration = Duration::from_millis(300);

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_daemon_without_a_terminal_ignores_quit,
        the_end_of_its_terminal_hands_the_token_over,
        quit_on_a_terminal_hands_the_token_over,
        a_daemon_under_nohup_outlives_its_terminal,
        the_status_is_logged_on_demand,
        a_request_whose_client_has_left_is_dropped,
    ]
}

/// A terminal that behaves like a user's terminal.
struct Terminal {
    /// When the test closes this descriptor, the terminal hangs up.
    master: OwnedFd,
    _slave: OwnedFd,
    name: PathBuf,
}

impl Terminal {
    fn open() -> Result<Self> {
        let pty = openpty(None, None).context("cannot make a terminal")?;
        for partition in [&pty.master, &pty.slave] {
            fcntl(partition, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        }
        let name = ttyname(&pty.slave).context("a terminal has a name")?;
        Ok(Self {
            master: pty.master,
            _slave: pty.slave,
            name,
        })
    }

    /// Returns the arguments of a shell command. The shell first runs `lines`. Then it runs a command as the leader of
    /// a session on the terminal.
    fn session(&self, lines: &str) -> [String; 4] {
        let name = self.name.display();
        let script = format!("{lines} exec <>{name} setsid --ctty \"$@\"");
        ["sh", "-c", &script, "sh"].map(str::to_owned)
    }
}

/// An owner whose token rests, and a daemon that waits for the token. Another command started the owner's process.
struct OwnerAndWaiter {
    owner: Daemon,
    waiter: Daemon,
    _segment: Segment,
}

impl OwnerAndWaiter {
    fn new(through: impl IntoIterator<Item = String>) -> Result<Self> {
        let segment = Segment::bridge(2)?;
        let timing = Timing::stall_tolerant(HEARTBEAT).idle_hold(LONG_IDLE_HOLD);
        let start = |at: usize| segment.node(at).ringd(binaries()).timing(&timing);
        let owner = start(0).through(through).spawn()?;
        owner.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
        let waiter = start(1).spawn()?;
        waiter.wait_for_status(WAIT_LIMIT, |status| status["state"] == "WAITER")?;
        Ok(Self {
            owner,
            waiter,
            _segment: segment,
        })
    }

    /// Checks that the owner exited properly and handed the token over.
    fn check_handed_over(mut self) -> Result<()> {
        let status = self.owner.wait_exit(WAIT_LIMIT)?;
        ensure!(status.success(), "the daemon exited with {status}");
        let successor = self
            .waiter
            .wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
        let reasons = &successor["counters"]["state_change_reasons"];
        ensure!(
            reasons["elected"] == 0 && reasons["token_taken"] == 1,
            "the token was not handed over: {reasons}"
        );
        Ok(())
    }

    /// Checks that the owner still runs and still has its token.
    fn check_unaffected(&self) -> Result<Value> {
        let status = self.owner.wait_for_status(WAIT_LIMIT, |_| true)?;
        ensure!(status["state"] == "OWNER", "{status:#}");
        Ok(status)
    }
}

fn a_daemon_without_a_terminal_ignores_quit() -> Result<()> {
    let pair = OwnerAndWaiter::new(["setsid".to_owned()])?;
    for signal in [Signal::SIGQUIT, Signal::SIGUSR2] {
        pair.owner.signal(signal)?;
        pair.owner.wait_for_line(WAIT_LIMIT, |line| {
            line.contains(signal.as_str()) && line.contains("ignored")
        })?;
    }
    pair.check_unaffected()?;
    pair.owner.signal(Signal::SIGTERM)?;
    pair.check_handed_over()
}

fn the_end_of_its_terminal_hands_the_token_over() -> Result<()> {
    let terminal = Terminal::open()?;
    let pair = OwnerAndWaiter::new(terminal.session(""))?;
    drop(terminal);
    pair.check_handed_over()
}

fn quit_on_a_terminal_hands_the_token_over() -> Result<()> {
    let terminal = Terminal::open()?;
    let pair = OwnerAndWaiter::new(terminal.session(""))?;
    // The kernel sends this signal when a user presses Ctrl-\.
    nix::unistd::write(&terminal.master, b"\x1c")?;
    pair.check_handed_over()
}

fn a_daemon_under_nohup_outlives_its_terminal() -> Result<()> {
    let terminal = Terminal::open()?;
    // `nohup` also lets its command ignore SIGHUP.
    let pair = OwnerAndWaiter::new(terminal.session("trap '' HUP;"))?;
    drop(terminal);
    // The daemon handles signals in order. When it has handled this signal, it has also handled the hang-up.
    pair.owner.signal(Signal::SIGUSR1)?;
    pair.owner
        .wait_for_line(WAIT_LIMIT, |line| line.contains("status: eth0"))?;
    pair.check_unaffected()?;
    Ok(())
}

fn the_status_is_logged_on_demand() -> Result<()> {
    let pair = OwnerAndWaiter::new(["setsid".to_owned()])?;
    pair.owner.wait_for_status(WAIT_LIMIT, |status| {
        status["members"]
            .as_array()
            .is_some_and(|all| all.len() == 2)
    })?;
    pair.owner.signal(Signal::SIGUSR1)?;
    let other = pair.waiter.node().mac().to_string();
    for words in [
        &["status: eth0 is up", "OWNER", "owner 02:00:00:00:00:01"][..],
        &["status: members", &other],
        &["status: frames", "received"],
    ] {
        pair.owner.wait_for_line(WAIT_LIMIT, |line| {
            words.iter().all(|word| line.contains(word))
        })?;
    }
    pair.check_unaffected()?;
    Ok(())
}

/// The client that sent the request has already told its user that the request failed.
fn a_request_whose_client_has_left_is_dropped() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let daemon = segment.node(0).ringd(binaries()).spawn()?;
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("is up:"))?;
    daemon.signal(Signal::SIGSTOP)?;
    let mut pause = Command::new(binaries().ringctl);
    pause.arg("--socket").arg(daemon.control()).arg("pause");
    let result = pause.output()?;
    let text = String::from_utf8_lossy(&result.stderr);
    ensure!(result.status.code() == Some(3), "{}: {text}", result.status);
    ensure!(
        text.contains("if ringd has not read the request yet"),
        "{text}"
    );
    daemon.signal(Signal::SIGCONT)?;
    let status = daemon.status()?;
    ensure!(status["paused"] == false, "{status}");
    Ok(())
}
