//! The supervisor: it forwards signals and stops between the caller of `ringctl` and the command, in both directions.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use ring_process::freezer;
use ring_process::group::Hidden;
use ring_runtime::wait::{Interest, Poller};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::super::Error;
use super::super::gate::Gate;
use super::super::keeper::{Keeper, Killed, Note, Order, Survivor, Tree, survivor_text};
use super::signals::Signals;
use super::terminal::Terminal;

const KEEPER: u64 = 0;
const SIGNALS: u64 = 1;

/// Limits of the checks whether killed processes have disappeared: the maximum number of checks, and the time between
/// two checks.
const HIDDEN_CHECKS_MAX: u32 = 200;
const HIDDEN_CHECK_INTERVAL: Duration = Duration::from_millis(10);

pub(super) struct Supervisor {
    keeper: Keeper,
    signals: Signals,
    terminal: Option<Terminal>,
    gate: Gate,
    cgroup: Option<PathBuf>,
    poller: Poller,
    has_terminal: bool,
    /// Whether this process and its whole process group got SIGTSTP.
    group_got_stop: bool,
    /// The command's processes, if `ringctl` had to end these processes without the keeper.
    tree: Option<Tree>,
    ended_by: Option<i32>,
    /// The reason for the loss of the lock, as a sentence.
    lost: Option<String>,
    /// Whether a process of the command could not be ended.
    has_survivor: bool,
}

impl Supervisor {
    pub(super) fn start(
        mut keeper: Keeper,
        mut signals: Signals,
        cgroup: Option<PathBuf>,
        command: &[OsString],
        environment: &[(&str, String)],
    ) -> io::Result<Self> {
        let terminal = Terminal::open();
        keeper.make_lifeline_inheritable()?;
        let gate = Gate::start(command, environment, cgroup.as_deref())?;
        keeper.tie(gate.pid());
        signals.catch_stops()?;
        let given_terminal = terminal.as_ref().filter(|tty| tty.is_for_command_only());
        let has_terminal = given_terminal.is_some_and(|tty| tty.give_to(gate.pid()));
        let poller = Poller::new()?;
        poller.add(&keeper, KEEPER, Interest::Read)?;
        for source in signals.sources() {
            poller.add(source, SIGNALS, Interest::Read)?;
        }
        keeper.send(&Order::Started {
            pid: gate.pid().as_raw(),
        });
        Ok(Self {
            keeper,
            signals,
            terminal,
            gate,
            cgroup,
            poller,
            has_terminal,
            group_got_stop: false,
            tree: None,
            ended_by: None,
            lost: None,
            has_survivor: false,
        })
    }

    /// Supervises the command until all its processes have ended, and returns its exit code. Reports the outcome of a
    /// job to the keeper, unless the loss of the lock interrupted the job.
    pub(super) fn run(mut self, is_job: bool) -> Result<u8, Error> {
        let code = self.wait_for_command().map_err(Error::System)?;
        if let Some(terminal) = &self.terminal {
            terminal.take_from(self.gate.pid());
        }
        let failed_to_start = self.gate.failed_to_exec();
        if is_job && failed_to_start {
            // If this cannot be printed, the exit code still shows the problem.
            let text =
                "the job did not start and does not count as a run: another machine may run it";
            let _ = writeln!(io::stderr(), "ringctl: {text}");
        }
        if is_job && (failed_to_start || !self.gate.is_open()) {
            self.keeper.send(&Order::Ran { done: None });
        } else if is_job && self.lost.is_none() {
            let done = Some(code == 0);
            self.keeper.send(&Order::Ran { done });
        }
        self.keeper.send(&Order::Exited { code });
        self.wait_for_release().map_err(Error::System)?;
        match self.lost {
            Some(why) if self.has_survivor => Err(Error::Outlived(why)),
            Some(why) => Err(Error::Lost(why)),
            None => Ok(code),
        }
    }

    /// Waits until all processes of the command have ended. A process that cannot be killed may run for a long time. So
    /// a signal ends this wait. The keeper continues to wait for the process.
    fn wait_for_release(&mut self) -> io::Result<()> {
        loop {
            while let Some(note) = self.keeper.next_note() {
                if matches!(note, Note::Released) {
                    return Ok(());
                }
                self.on_note(note);
            }
            if self.keeper.has_ended() {
                // The keeper ended without a release, so processes of the command may still run. But if the tree was
                // already killed, its process numbers may belong to other processes by now.
                if self.tree.is_none() {
                    self.kill_tree_without_keeper();
                }
                self.check_hidden();
                // When the keeper is killed, the kernel first kills the command, and then closes the connection of the
                // keeper. So this process may notice the end of the command before the end of the keeper.
                let is_killed = self.ended_by == Some(Signal::SIGKILL as i32);
                if self.has_survivor || is_killed {
                    self.on_keeper_lost();
                }
                return Ok(());
            }
            self.poller.wait(None)?;
            if self.poller.ready().any(|ready| ready.key == KEEPER) {
                self.keeper.read_notes();
            }
            for signal in self.signals.take_pending() {
                if self.has_survivor {
                    Signals::apply_default(signal)?;
                }
            }
        }
    }

    fn wait_for_command(&mut self) -> io::Result<u8> {
        // The keeper may have sent a note together with the grant.
        self.read_keeper_notes()?;
        loop {
            if let Some(code) = self.check_command()? {
                // Read the notes that the keeper sent before the end of the command, because they still count.
                self.poller.wait(Some(Duration::ZERO))?;
                self.read_keeper_notes()?;
                return Ok(code);
            }
            // Do not wait if signals have already been read: they may have arrived while this process was stopped
            // together with the command.
            let at_once = self.signals.has_pending().then_some(Duration::ZERO);
            self.poller.wait(at_once)?;
            self.read_keeper_notes()?;
            for signal in self.signals.take_pending() {
                match signal {
                    Signal::SIGCHLD => {}
                    Signal::SIGCONT => self.continue_command(),
                    other => {
                        if self.tree.is_some() && self.has_survivor {
                            // The signal ends this process. All other processes that could end the command have ended.
                            Signals::apply_default(other)?;
                        }
                        self.group_got_stop |= other == Signal::SIGTSTP;
                        self.forward(other);
                    }
                }
            }
        }
    }

    fn read_keeper_notes(&mut self) -> io::Result<()> {
        if self.poller.ready().any(|ready| ready.key == KEEPER) {
            self.keeper.read_notes();
        }
        while let Some(note) = self.keeper.next_note() {
            self.on_note(note);
        }
        if self.keeper.has_ended() && self.tree.is_none() {
            self.poller.remove(&self.keeper)?;
            self.kill_tree_without_keeper();
            self.on_keeper_lost();
        }
        Ok(())
    }

    /// Kills the processes that the keeper would have ended.
    fn kill_tree_without_keeper(&mut self) {
        let tree = Tree::existing(self.gate.pid(), self.cgroup.take());
        if let Killed::AllBut(survivor) = self.tree.insert(tree).kill() {
            self.report_survivor(&survivor_text(survivor));
        }
    }

    /// Checks whether a process that `/proc` hides still runs. The answer is certain only after the killed processes
    /// have disappeared. The process of the command itself has already ended.
    fn check_hidden(&mut self) {
        let Some(tree) = self.tree.as_ref().filter(|_| !self.has_survivor) else {
            return;
        };
        let mut hidden = tree.find_hidden();
        for _ in 0..HIDDEN_CHECKS_MAX {
            if hidden == Hidden::Nothing {
                return;
            }
            thread::sleep(HIDDEN_CHECK_INTERVAL);
            hidden = tree.find_hidden();
        }
        if hidden == Hidden::OutOfReach {
            self.report_survivor(&survivor_text(Survivor(None)));
        }
    }

    fn on_keeper_lost(&mut self) {
        self.lost.get_or_insert_with(|| {
            let lost = "the process that held it (ringd-keeper) was killed";
            if freezer::can_freeze() {
                // If both were frozen, the freezer may have thawed the command before the keeper.
                format!(
                    "{lost}; if its cgroup v1 freezer group was frozen, the command may have run after another machine \
                     got the lock"
                )
            } else {
                lost.to_owned()
            }
        });
    }

    fn on_note(&mut self, note: Note) {
        match note {
            Note::Go => self.gate.open(),
            Note::Lost(why) => {
                self.lost.get_or_insert(why);
            }
            Note::Exposed(text) => self.keeper.warn(&text),
            Note::Outlived(text) => self.report_survivor(&text),
            _ => {}
        }
    }

    /// Prints a warning about a process that still runs. The warning is printed at once, because the process may run
    /// for a long time.
    fn report_survivor(&mut self, text: &str) {
        if !self.has_survivor {
            // If this cannot be printed, the exit code still shows the problem.
            let _ = writeln!(io::stderr(), "ringctl: {text}");
        }
        self.has_survivor = true;
    }

    /// If the command ended, returns its exit code. If the command was stopped, stops this process too.
    fn check_command(&mut self) -> io::Result<Option<u8>> {
        let pid = Pid::from_raw(self.gate.pid().as_raw());
        let status = waitpid(pid, WaitOptions::NOHANG | WaitOptions::UNTRACED)?;
        let Some((_, status)) = status else {
            return Ok(None);
        };
        if let Some(signal) = status.stopping_signal() {
            self.on_command_stopped(signal)?;
            return Ok(None);
        }
        self.ended_by = status.terminating_signal();
        // Shells use the same exit code for a signal.
        let signal = self.ended_by.map(|signal| 128 + signal);
        let code = status
            .exit_status()
            .or(signal)
            .unwrap_or(i32::from(u8::MAX));
        Ok(Some(u8::try_from(code).unwrap_or(u8::MAX)))
    }

    /// Handles a stop of the command. There are two causes: Ctrl-Z, or the command needs the terminal and does not have
    /// it. Ignores a SIGSTOP, because its sender wants to stop only the command.
    fn on_command_stopped(&mut self, signal: i32) -> io::Result<()> {
        let Ok(signal) = Signal::try_from(signal) else {
            return Ok(());
        };
        let wants_terminal = matches!(signal, Signal::SIGTTIN | Signal::SIGTTOU);
        if signal == Signal::SIGSTOP {
            return Ok(());
        }
        if wants_terminal && self.give_terminal() {
            self.forward(Signal::SIGCONT);
            return Ok(());
        }
        if let Some(terminal) = &self.terminal {
            terminal.take_from(self.gate.pid());
        }
        let with_group = signal != Signal::SIGTSTP || !self.group_got_stop;
        let was_stopped = self.signals.stop_self(signal, with_group)?;
        if wants_terminal && !was_stopped {
            // Without this signal, the command would wait for the terminal indefinitely. The kernel sends SIGHUP to
            // stopped jobs without a shell for the same reason.
            self.forward(Signal::SIGHUP);
        }
        self.continue_command();
        Ok(())
    }

    fn continue_command(&mut self) {
        self.group_got_stop = false;
        if self.has_terminal {
            self.give_terminal();
        }
        self.forward(Signal::SIGCONT);
    }

    fn give_terminal(&mut self) -> bool {
        let given = self
            .terminal
            .as_ref()
            .is_some_and(|tty| tty.give_to(self.gate.pid()));
        self.has_terminal |= given;
        given
    }

    fn forward(&self, signal: Signal) {
        // Ignore other errors: if the command has just ended, the next check shows the end.
        if killpg(self.gate.pid(), signal) == Err(Errno::EPERM) {
            let _ = writeln!(
                io::stderr(),
                "ringctl: cannot forward {signal} to the command: it runs as another user"
            );
        }
    }
}
