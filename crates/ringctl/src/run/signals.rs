//! The signals that `ringctl run` gets for its command.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::{io, mem};

use nix::sys::signal::{SigSet, Signal, killpg, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::getpgrp;
use ring_process::IgnoredSignals;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;
use signal_hook::low_level::emulate_default_handler;

/// Signals that are sent to end a program.
const FATAL: [Signal; 4] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
];
/// Signals that mean something only to a running command.
const PRIVATE: [Signal; 3] = [Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGWINCH];

/// The signals, behind a descriptor.
///
/// Signals that the process ignored from its start stay ignored (`nohup`): a command gets them as it would
/// without `ringctl`.
pub(super) struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    came: VecDeque<Signal>,
    ignored: IgnoredSignals,
    stop: Option<SignalFd>,
}

impl Signals {
    /// Catches the signals that only a command has a use for, so that they do not end the wait for the lock. All
    /// others do what they do to every program.
    pub(super) fn new() -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, &[] as &[i32])?;
        let signals = Self {
            delivery,
            came: VecDeque::new(),
            ignored: IgnoredSignals::now()?,
            stop: None,
        };
        signals.catch(&PRIVATE)?;
        Ok(signals)
    }

    /// Catches the others too from now on. One that came in between ends this process.
    pub(super) fn take_all(&mut self) -> io::Result<()> {
        self.catch(&FATAL)?;
        for signal in [Signal::SIGCHLD, Signal::SIGCONT] {
            self.delivery.handle().add_signal(signal as i32)?;
        }
        self.drain();
        if let Some(&fatal) = self.came.iter().find(|signal| FATAL.contains(signal)) {
            emulate_default_handler(fatal as i32)?;
        }
        self.came.clear();
        Ok(())
    }

    /// Lets a signal do to this process what it does to every program.
    pub(super) fn give_way(signal: Signal) -> io::Result<()> {
        if FATAL.contains(&signal) {
            emulate_default_handler(signal as i32)?;
        }
        Ok(())
    }

    fn catch(&self, signals: &[Signal]) -> io::Result<()> {
        for &signal in signals {
            if !self.ignored.contains(signal) {
                self.delivery.handle().add_signal(signal as i32)?;
            }
        }
        Ok(())
    }

    /// Catches Ctrl-Z, and keeps writing in the background from stopping this process. Call it after the command's
    /// process has started, which would inherit this.
    pub(super) fn take_stops(&mut self) -> io::Result<()> {
        SigSet::from_iter([Signal::SIGTSTP, Signal::SIGTTOU]).thread_block()?;
        let stop = SigSet::from(Signal::SIGTSTP);
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        self.stop = Some(SignalFd::with_flags(&stop, flags)?);
        Ok(())
    }

    fn drain(&mut self) {
        self.drain_caught();
        let stop = self.stop.as_ref().map(SignalFd::read_signal);
        if matches!(stop, Some(Ok(Some(_)))) {
            self.came.push_back(Signal::SIGTSTP);
        }
    }

    fn drain_caught(&mut self) {
        let pending = self.delivery.pending();
        self.came
            .extend(pending.filter_map(|signal| Signal::try_from(signal).ok()));
    }

    /// Returns the signals that have come so far, a bounded number of them.
    pub(super) fn take(&mut self) -> VecDeque<Signal> {
        self.drain();
        mem::take(&mut self.came)
    }

    /// Whether there is another one already, which no readable descriptor announces.
    pub(super) fn is_next_here(&self) -> bool {
        !self.came.is_empty()
    }

    /// Stops this process as the terminal does with `signal`, and its group if `with_group`: a
    /// shell takes a job for stopped when all of it is. Returns when it goes on, at once if it was
    /// told to since the command stopped; false: it was not stopped, since no shell is there that
    /// could let it go on.
    pub(super) fn stop_self(&mut self, signal: Signal, with_group: bool) -> io::Result<bool> {
        // A shell waits for no more than the processes that it has made: it may have seen all of
        // them stopped, and told them to go on, before this one has come to stop.
        if self.take_continue() {
            return Ok(true);
        }
        let set = SigSet::from(signal);
        // As long as it is blocked, a SIGCONT that comes takes it back.
        set.thread_block()?;
        if with_group {
            killpg(getpgrp(), signal)?;
        } else {
            raise(signal)?;
        }
        let told_already = self.take_continue();
        if told_already {
            raise(Signal::SIGCONT)?;
        }
        set.thread_unblock()?;
        if signal != Signal::SIGTTIN {
            set.thread_block()?;
        }
        Ok(self.take_continue() || told_already)
    }

    /// Whether somebody has said to go on.
    fn take_continue(&mut self) -> bool {
        self.drain_caught();
        let before = self.came.len();
        self.came.retain(|&came| came != Signal::SIGCONT);
        self.came.len() < before
    }

    /// What is readable when a signal has come.
    pub(super) fn sources(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let stop = self.stop.as_ref().map(AsFd::as_fd);
        std::iter::once(self.delivery.get_read().as_fd()).chain(stop)
    }
}
