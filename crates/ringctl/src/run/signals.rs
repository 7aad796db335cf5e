//! The signals that `ringctl run` forwards to its command.

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

/// Signals that end a program.
const FATAL: [Signal; 4] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
];
/// Signals that have a use only for a running command.
const COMMAND_ONLY: [Signal; 3] = [Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGWINCH];

/// The caught signals. A descriptor of this value becomes readable when a signal arrives.
///
/// If the process ignored a signal at its start, for example because of `nohup`, the signal stays ignored. So the
/// command ignores it too, as it would without `ringctl`.
pub(super) struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    arrived: VecDeque<Signal>,
    ignored: IgnoredSignals,
    stop: Option<SignalFd>,
}

impl Signals {
    /// Catches the signals of [`COMMAND_ONLY`], so that they do not end the wait for the lock. Other signals keep their
    /// default effect.
    pub(super) fn new() -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, &[] as &[i32])?;
        let signals = Self {
            delivery,
            arrived: VecDeque::new(),
            ignored: IgnoredSignals::read()?,
            stop: None,
        };
        signals.catch(&COMMAND_ONLY)?;
        Ok(signals)
    }

    /// Also catches fatal signals, SIGCHLD and SIGCONT. If a fatal signal arrives during this call, the signal ends
    /// this process.
    pub(super) fn catch_all(&mut self) -> io::Result<()> {
        self.catch(&FATAL)?;
        for signal in [Signal::SIGCHLD, Signal::SIGCONT] {
            self.delivery.handle().add_signal(signal as i32)?;
        }
        self.drain();
        if let Some(&fatal) = self.arrived.iter().find(|signal| FATAL.contains(signal)) {
            emulate_default_handler(fatal as i32)?;
        }
        self.arrived.clear();
        Ok(())
    }

    /// Applies the default effect of a fatal signal to this process.
    pub(super) fn apply_default(signal: Signal) -> io::Result<()> {
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

    /// Catches Ctrl-Z. Also prevents that the kernel stops this process when it writes to the terminal from the
    /// background. Call this after the command's process has started, because a child inherits the signal mask.
    pub(super) fn catch_stops(&mut self) -> io::Result<()> {
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
            self.arrived.push_back(Signal::SIGTSTP);
        }
    }

    fn drain_caught(&mut self) {
        let pending = self.delivery.pending();
        self.arrived
            .extend(pending.filter_map(|signal| Signal::try_from(signal).ok()));
    }

    /// Returns received signals. One call returns only a limited number of signals.
    pub(super) fn take_pending(&mut self) -> VecDeque<Signal> {
        self.drain();
        mem::take(&mut self.arrived)
    }

    /// Whether there are signals that were already read from the descriptors. For such signals, no descriptor becomes
    /// readable again.
    pub(super) fn has_pending(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Stops this process with `signal`, as the terminal does. With `with_group`, stops the whole process group,
    /// because for a shell, a job is stopped only when all its processes are stopped. Returns when the process
    /// continues. If a SIGCONT came after the command had stopped, returns at once. Returns `false` if the process was
    /// not stopped, because there is no shell that could continue it.
    pub(super) fn stop_self(&mut self, signal: Signal, with_group: bool) -> io::Result<bool> {
        // A shell waits only for the processes that it has started. They may all be stopped already, so the shell may
        // have continued them before this process stops.
        if self.take_continue() {
            return Ok(true);
        }
        let set = SigSet::from(signal);
        // While the signal is blocked, a SIGCONT removes the pending signal.
        set.thread_block()?;
        if with_group {
            killpg(getpgrp(), signal)?;
        } else {
            raise(signal)?;
        }
        let continued_already = self.take_continue();
        if continued_already {
            raise(Signal::SIGCONT)?;
        }
        set.thread_unblock()?;
        if signal != Signal::SIGTTIN {
            set.thread_block()?;
        }
        Ok(self.take_continue() || continued_already)
    }

    /// Removes all received SIGCONT signals. Returns whether it removed a signal.
    fn take_continue(&mut self) -> bool {
        self.drain_caught();
        let before = self.arrived.len();
        self.arrived.retain(|&arrived| arrived != Signal::SIGCONT);
        self.arrived.len() < before
    }

    /// Returns the descriptors that become readable when a signal arrives.
    pub(super) fn sources(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let stop = self.stop.as_ref().map(AsFd::as_fd);
        std::iter::once(self.delivery.get_read().as_fd()).chain(stop)
    }
}
