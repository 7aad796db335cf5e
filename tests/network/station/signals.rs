//! Signals by which people speak to a daemon: none costs the ring an election.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::openpty;
use nix::sys::signal::Signal;
use nix::unistd::ttyname;
use ring_segment::{Daemon, FOR_GOOD, PATIENCE, Segment, Test, Timing, binaries, tests};
use serde_json::Value;

/// Two of them are longer than a daemon that is there stays unheard, be it stalled: then there is one
/// election, and none after it.
const HEARTBEAT: Duration = Duration::from_millis(300);

pub(super) fn tests() -> Vec<Test> {
    tests![
        without_a_terminal_hang_up_and_quit_are_ignored,
        the_end_of_its_terminal_hands_the_token_over,
        quit_on_a_terminal_hands_the_token_over,
        who_was_started_to_outlive_its_terminal_does,
        the_status_is_logged_on_demand,
        what_nobody_waits_for_is_not_done,
    ]
}

/// A terminal that somebody could sit at.
struct Terminal {
    /// Closed, it is gone.
    master: OwnedFd,
    _slave: OwnedFd,
    name: PathBuf,
}

impl Terminal {
    fn open() -> Result<Self> {
        let pty = openpty(None, None).context("cannot make a terminal")?;
        for side in [&pty.master, &pty.slave] {
            fcntl(side, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        }
        let name = ttyname(&pty.slave).context("a terminal has a name")?;
        Ok(Self {
            master: pty.master,
            _slave: pty.slave,
            name,
        })
    }

    /// What runs a command as the first process of a session on it, after these lines of shell.
    fn session(&self, lines: &str) -> [String; 4] {
        let name = self.name.display();
        let script = format!("{lines} exec <>{name} setsid --ctty \"$@\"");
        ["sh", "-c", &script, "sh"].map(str::to_owned)
    }
}

/// An owner that keeps its token, run through a command, and a daemon that waits for it.
struct Pair {
    owner: Daemon,
    waiter: Daemon,
    _segment: Segment,
}

impl Pair {
    fn new(through: impl IntoIterator<Item = String>) -> Result<Self> {
        let segment = Segment::bridge(2)?;
        let timing = Timing::forbearing(HEARTBEAT).idle_hold(FOR_GOOD);
        let start = |at: usize| segment.node(at).ringd(binaries()).timing(&timing);
        let owner = start(0).through(through).spawn()?;
        owner.wait_for_status(PATIENCE, |status| status["state"] == "OWNER")?;
        let waiter = start(1).spawn()?;
        waiter.wait_for_status(PATIENCE, |status| status["state"] == "WAITER")?;
        Ok(Self {
            owner,
            waiter,
            _segment: segment,
        })
    }

    /// The owner has ended in an orderly way, and the other was given the token.
    fn has_handed_over(mut self) -> Result<()> {
        let status = self.owner.wait_exit(PATIENCE)?;
        ensure!(status.success(), "it ended with {status}");
        let heir = self
            .waiter
            .wait_for_status(PATIENCE, |status| status["state"] == "OWNER")?;
        let reasons = &heir["counters"]["state_change_reasons"];
        ensure!(
            reasons["elected"] == 0 && reasons["token_taken"] == 1,
            "the token was not handed over: {reasons}"
        );
        Ok(())
    }

    /// The owner has lost nothing.
    fn goes_on(&self) -> Result<Value> {
        let status = self.owner.wait_for_status(PATIENCE, |_| true)?;
        ensure!(status["state"] == "OWNER", "{status:#}");
        Ok(status)
    }
}

fn without_a_terminal_hang_up_and_quit_are_ignored() -> Result<()> {
    let pair = Pair::new(["setsid".to_owned()])?;
    for signal in [Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGUSR2] {
        pair.owner.signal(signal)?;
        pair.owner.wait_for_line(PATIENCE, |line| {
            line.contains(signal.as_str()) && line.contains("ignored")
        })?;
    }
    pair.goes_on()?;
    pair.owner.signal(Signal::SIGTERM)?;
    pair.has_handed_over()
}

fn the_end_of_its_terminal_hands_the_token_over() -> Result<()> {
    let terminal = Terminal::open()?;
    let pair = Pair::new(terminal.session(""))?;
    drop(terminal);
    pair.has_handed_over()
}

fn quit_on_a_terminal_hands_the_token_over() -> Result<()> {
    let terminal = Terminal::open()?;
    let pair = Pair::new(terminal.session(""))?;
    // Ctrl-\, as its keyboard sends it.
    nix::unistd::write(&terminal.master, b"\x1c")?;
    pair.has_handed_over()
}

fn who_was_started_to_outlive_its_terminal_does() -> Result<()> {
    let terminal = Terminal::open()?;
    // What nohup does.
    let pair = Pair::new(terminal.session("trap '' HUP;"))?;
    drop(terminal);
    // Signals are taken in the order in which they came: the hang-up has been by the time of this.
    pair.owner.signal(Signal::SIGUSR1)?;
    pair.owner
        .wait_for_line(PATIENCE, |line| line.contains("status: eth0"))?;
    pair.goes_on()?;
    Ok(())
}

fn the_status_is_logged_on_demand() -> Result<()> {
    let pair = Pair::new(["setsid".to_owned()])?;
    pair.owner.wait_for_status(PATIENCE, |status| {
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
        pair.owner.wait_for_line(PATIENCE, |line| {
            words.iter().all(|word| line.contains(word))
        })?;
    }
    pair.goes_on()?;
    Ok(())
}

/// Whoever asked for it was told that it had failed.
fn what_nobody_waits_for_is_not_done() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let daemon = segment.node(0).ringd(binaries()).spawn()?;
    daemon.wait_for_line(PATIENCE, |line| line.contains("is up:"))?;
    daemon.signal(Signal::SIGSTOP)?;
    let mut pause = Command::new(binaries().ringctl);
    pause.arg("--socket").arg(daemon.control()).arg("pause");
    let said = pause.output()?;
    let text = String::from_utf8_lossy(&said.stderr);
    ensure!(said.status.code() == Some(3), "{}: {text}", said.status);
    ensure!(
        text.contains("if it has not read the request yet"),
        "{text}"
    );
    daemon.signal(Signal::SIGCONT)?;
    let status = daemon.status()?;
    ensure!(status["paused"] == false, "{status}");
    Ok(())
}
