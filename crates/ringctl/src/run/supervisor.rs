//! Stands for the command: passes on to it what happens to `ringctl`, and the other way round.

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
use super::super::keeper::{Keeper, Killed, Note, Order, Survivor, Tree, out_of_reach};
use super::signals::Signals;
use super::terminal::Terminal;

const KEEPER: u64 = 0;
const SIGNALS: u64 = 1;

/// How many times to look whether killed processes are gone, and the time between two looks.
const LOOKS: u32 = 200;
const LOOK: Duration = Duration::from_millis(10);

/// A command that runs, or is about to.
pub(super) struct Supervisor {
    keeper: Keeper,
    signals: Signals,
    terminal: Option<Terminal>,
    gate: Gate,
    cgroup: Option<PathBuf>,
    poller: Poller,
    /// Whether the command has been given the terminal.
    has_terminal: bool,
    /// Whether this process was told to stop, and its whole process group with it.
    told_to_stop: bool,
    /// The command's processes, when they had to be ended without the keeper.
    tree: Option<Tree>,
    /// The signal that has ended the command.
    ended_by: Option<i32>,
    /// Why the lock is lost, as a sentence.
    lost: Option<String>,
    /// Something of the command could not be ended.
    is_outlived: bool,
}

impl Supervisor {
    /// Starts the command's process, and has the keeper watch it.
    pub(super) fn start(
        mut keeper: Keeper,
        mut signals: Signals,
        cgroup: Option<PathBuf>,
        command: &[OsString],
        environment: &[(&str, String)],
    ) -> io::Result<Self> {
        let terminal = Terminal::open();
        keeper.bequeath()?;
        let gate = Gate::shut(command, environment)?;
        keeper.tie(gate.pid());
        signals.take_stops()?;
        let terminal_for_it = terminal.as_ref().filter(|tty| tty.is_for_command_alone());
        let has_terminal = terminal_for_it.is_some_and(|tty| tty.give(gate.pid()));
        let poller = Poller::new()?;
        poller.add(&keeper, KEEPER, Interest::Read)?;
        for source in signals.sources() {
            poller.add(source, SIGNALS, Interest::Read)?;
        }
        keeper.tell(&Order::Started {
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
            told_to_stop: false,
            tree: None,
            ended_by: None,
            lost: None,
            is_outlived: false,
        })
    }

    /// Stands for the command until it has ended and nothing is left of it, and returns its exit code. Tells the
    /// keeper the outcome of a job, unless the loss of its lock has interrupted it.
    pub(super) fn work(mut self, is_job: bool) -> Result<u8, Error> {
        let code = self.until_end().map_err(Error::System)?;
        if let Some(terminal) = &self.terminal {
            terminal.take_back(self.gate.pid());
        }
        let cannot_begin = self.gate.is_shut_again();
        if is_job && cannot_begin {
            // Where nobody can be told, the exit code still says it.
            let text =
                "the job was not begun, and does not count as run: another machine may run it";
            let _ = writeln!(io::stderr(), "ringctl: {text}");
        }
        if is_job && (cannot_begin || !self.gate.is_open()) {
            self.keeper.tell(&Order::Ran { done: None });
        } else if is_job && self.lost.is_none() {
            let done = Some(code == 0);
            self.keeper.tell(&Order::Ran { done });
        }
        self.keeper.tell(&Order::Exited { code });
        self.until_released().map_err(Error::System)?;
        match self.lost {
            Some(why) if self.is_outlived => Err(Error::Outlived(why)),
            Some(why) => Err(Error::Lost(why)),
            None => Ok(code),
        }
    }

    /// Waits until nothing of the command is left. A process that cannot be ended may take any time, so a signal
    /// ends this wait; the keeper goes on.
    fn until_released(&mut self) -> io::Result<()> {
        loop {
            while let Some(note) = self.keeper.next() {
                if matches!(note, Note::Released) {
                    return Ok(());
                }
                self.hear(note);
            }
            if self.keeper.is_gone() {
                // It has not given the token back: something may be left that it was waiting for. Where
                // that was ended before, another's processes may have its numbers by now.
                if self.tree.is_none() {
                    self.end_tree();
                }
                self.look_for_hidden();
                // The kernel closes the keeper's end of the conversation last of all: the command that it
                // kills in the keeper's place may have been seen to die before.
                let is_killed = self.ended_by == Some(Signal::SIGKILL as i32);
                if self.is_outlived || is_killed {
                    self.lose_keeper();
                }
                return Ok(());
            }
            self.poller.wait(None)?;
            if self.poller.ready().any(|ready| ready.key == KEEPER) {
                self.keeper.listen();
            }
            for signal in self.signals.take() {
                if self.is_outlived {
                    Signals::give_way(signal)?;
                }
            }
        }
    }

    fn until_end(&mut self) -> io::Result<u8> {
        // A message may have come together with the grant.
        self.hear_keeper()?;
        loop {
            if let Some(code) = self.look()? {
                // Messages from before the end count, even if they are read after it.
                self.poller.wait(Some(Duration::ZERO))?;
                self.hear_keeper()?;
                return Ok(code);
            }
            // While this process was stopped with the command some may have come.
            let at_once = self.signals.is_next_here().then_some(Duration::ZERO);
            self.poller.wait(at_once)?;
            self.hear_keeper()?;
            for signal in self.signals.take() {
                match signal {
                    Signal::SIGCHLD => {}
                    Signal::SIGCONT => self.go_on(),
                    other => {
                        if self.tree.is_some() && self.is_outlived {
                            // No other process is left that could end the command.
                            Signals::give_way(other)?;
                        }
                        self.told_to_stop |= other == Signal::SIGTSTP;
                        self.pass_on(other);
                    }
                }
            }
        }
    }

    fn hear_keeper(&mut self) -> io::Result<()> {
        if self.poller.ready().any(|ready| ready.key == KEEPER) {
            self.keeper.listen();
        }
        while let Some(note) = self.keeper.next() {
            self.hear(note);
        }
        if self.keeper.is_gone() && self.tree.is_none() {
            self.poller.remove(&self.keeper)?;
            self.end_tree();
            self.lose_keeper();
        }
        Ok(())
    }

    /// Ends what the keeper would have ended.
    fn end_tree(&mut self) {
        let tree = Tree::of(self.gate.pid(), self.cgroup.take());
        if let Killed::AllBut(survivor) = self.tree.insert(tree).kill() {
            self.outlived(&out_of_reach(survivor));
        }
    }

    /// Whether something goes on that `/proc` does not show: that is known when those that died with the
    /// keeper are gone. The command's own process is already.
    fn look_for_hidden(&mut self) {
        let Some(tree) = self.tree.as_ref().filter(|_| !self.is_outlived) else {
            return;
        };
        let mut hidden = tree.hidden();
        for _ in 0..LOOKS {
            if hidden == Hidden::Nothing {
                return;
            }
            thread::sleep(LOOK);
            hidden = tree.hidden();
        }
        if hidden == Hidden::OutOfReach {
            self.outlived(&out_of_reach(Survivor(None)));
        }
    }

    fn lose_keeper(&mut self) {
        self.lost.get_or_insert_with(|| {
            let lost = "the process that held it (ringd-keeper) was killed";
            if freezer::can_freeze() {
                // Where it was frozen the command may have been thawed before the keeper.
                format!(
                    "{lost}; if its group of the cgroup v1 freezer was frozen, the command may have worked after another \
                     machine was granted the lock"
                )
            } else {
                lost.to_owned()
            }
        });
    }

    fn hear(&mut self, note: Note) {
        match note {
            Note::Go => self.gate.open(),
            Note::Lost(why) => {
                self.lost.get_or_insert(why);
            }
            Note::Exposed(text) => self.keeper.warn(&text),
            Note::Outlived(text) => self.outlived(&text),
            _ => {}
        }
    }

    /// Prints at once that something is still at work, since its end may be far off.
    fn outlived(&mut self, text: &str) {
        if !self.is_outlived {
            // Where nobody can be told, the exit code still says it.
            let _ = writeln!(io::stderr(), "ringctl: {text}");
        }
        self.is_outlived = true;
    }

    /// Whether the command has ended, and how; stops with it if it has stopped.
    fn look(&mut self) -> io::Result<Option<u8>> {
        let pid = Pid::from_raw(self.gate.pid().as_raw());
        let status = waitpid(pid, WaitOptions::NOHANG | WaitOptions::UNTRACED)?;
        let Some((_, status)) = status else {
            return Ok(None);
        };
        if let Some(signal) = status.stopping_signal() {
            self.stopped(signal)?;
            return Ok(None);
        }
        self.ended_by = status.terminating_signal();
        // As shells count.
        let signal = self.ended_by.map(|signal| 128 + signal);
        let code = status
            .exit_status()
            .or(signal)
            .unwrap_or(i32::from(u8::MAX));
        Ok(Some(u8::try_from(code).unwrap_or(u8::MAX)))
    }

    /// The command was stopped: by Ctrl-Z, because it wants the terminal and has it not, or by
    /// SIGSTOP, which is between it and who sent that.
    fn stopped(&mut self, signal: i32) -> io::Result<()> {
        let Ok(signal) = Signal::try_from(signal) else {
            return Ok(());
        };
        let wants_terminal = matches!(signal, Signal::SIGTTIN | Signal::SIGTTOU);
        if signal == Signal::SIGSTOP {
            return Ok(());
        }
        if wants_terminal && self.give_terminal() {
            self.pass_on(Signal::SIGCONT);
            return Ok(());
        }
        if let Some(terminal) = &self.terminal {
            terminal.take_back(self.gate.pid());
        }
        let with_group = signal != Signal::SIGTSTP || !self.told_to_stop;
        let was_stopped = self.signals.stop_self(signal, with_group)?;
        if wants_terminal && !was_stopped {
            // It would wait for ever for a terminal that nobody gives. The kernel says so, too.
            self.pass_on(Signal::SIGHUP);
        }
        self.go_on();
        Ok(())
    }

    /// Lets the command go on.
    fn go_on(&mut self) {
        self.told_to_stop = false;
        if self.has_terminal {
            self.give_terminal();
        }
        self.pass_on(Signal::SIGCONT);
    }

    fn give_terminal(&mut self) -> bool {
        let given = self
            .terminal
            .as_ref()
            .is_some_and(|tty| tty.give(self.gate.pid()));
        self.has_terminal |= given;
        given
    }

    fn pass_on(&self, signal: Signal) {
        // If the command has just ended, the next wait shows it.
        if killpg(self.gate.pid(), signal) == Err(Errno::EPERM) {
            let _ = writeln!(
                io::stderr(),
                "ringctl: {signal} does not reach the command: it runs as another user"
            );
        }
    }
}
