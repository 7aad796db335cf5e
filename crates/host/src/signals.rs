//! Receives signals through a descriptor. A single signal never ends the daemon before it has handed over the token.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::sys::signal::Signal;
use ring_process::IgnoredSignals;
use ring_proto::time::Instant;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

/// The time within which several signals count as one signal. For example, `timeout` and shells send the same signal to
/// the process and then to its group.
const SAME_REQUEST_WINDOW: Duration = Duration::from_millis(100);

/// The signals that the daemon catches: all signals that people send to daemons.
const CAUGHT_SIGNALS: [Signal; 6] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalAction {
    /// Shut down in order.
    ShutDown,
    /// Exit at once.
    ExitNow,
    /// Log the status.
    Report,
    /// Read the configuration file again.
    Reload,
    /// No action, because this signal has no meaning for the daemon.
    Nothing(Signal),
}

/// A value that catches signals until it is dropped.
#[derive(Debug)]
pub(crate) struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    /// Whether the process had a controlling terminal at its start.
    has_terminal: bool,
    first: Option<Instant>,
}

impl Signals {
    /// Starts to catch signals. A signal that was already ignored stays ignored, as `nohup` requires.
    pub(crate) fn new() -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        let ignored = IgnoredSignals::read()?;
        let caught = CAUGHT_SIGNALS
            .iter()
            .filter(|signal| !ignored.contains(**signal));
        let caught = caught.map(|&signal| signal as i32);
        Ok(Self {
            delivery: SignalDelivery::with_pipe(read, write, SignalOnly, caught)?,
            // This name leads to the controlling terminal, if the process has one.
            has_terminal: File::open("/dev/tty").is_ok(),
            first: None,
        })
    }

    /// Takes the pending signals and returns their actions.
    pub(crate) fn drain(&mut self, now: Instant) -> impl Iterator<Item = SignalAction> {
        let came = self.delivery.pending();
        let has_terminal = self.has_terminal;
        let first = &mut self.first;
        came.filter_map(move |signal| {
            let signal = Signal::try_from(signal).ok()?;
            action(signal, has_terminal, first, now)
        })
    }
}

fn action(
    signal: Signal,
    has_terminal: bool,
    first: &mut Option<Instant>,
    now: Instant,
) -> Option<SignalAction> {
    match signal {
        Signal::SIGUSR1 => return Some(SignalAction::Report),
        Signal::SIGTERM | Signal::SIGINT => {}
        Signal::SIGHUP | Signal::SIGQUIT if has_terminal => {}
        // Without a terminal, SIGHUP cannot mean that the terminal was closed.
        Signal::SIGHUP => return Some(SignalAction::Reload),
        _ => return Some(SignalAction::Nothing(signal)),
    }
    match *first {
        None => {
            *first = Some(now);
            Some(SignalAction::ShutDown)
        }
        Some(first) if now.since(first) < SAME_REQUEST_WINDOW => None,
        // The kernel and the shell may both send SIGHUP when the terminal is closed. So a second SIGHUP is not a second
        // request.
        Some(_) if signal == Signal::SIGHUP => None,
        Some(_) => Some(SignalAction::ExitNow),
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::time::Instant;

    use super::{SignalAction, Signals, action};
    use nix::sys::signal::Signal::{self, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    use nix::sys::signal::raise;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// Returns the actions for signals at these times, in milliseconds.
    fn actions(has_terminal: bool, signals: &[(u64, Signal)]) -> Vec<Option<SignalAction>> {
        let mut first = None;
        let each = signals
            .iter()
            .map(|&(ms, signal)| action(signal, has_terminal, &mut first, at(ms)));
        each.collect()
    }

    #[test]
    fn the_first_shuts_down_and_a_later_one_exits() {
        let came = [(1, SIGTERM), (2, SIGTERM), (500, SIGINT)];
        let twice_by_one_hand = None;
        let expected = [
            Some(SignalAction::ShutDown),
            twice_by_one_hand,
            Some(SignalAction::ExitNow),
        ];
        assert_eq!(actions(false, &came), expected);
    }

    #[test]
    fn on_a_terminal_hangup_and_quit_shut_down_too() {
        assert_eq!(
            actions(true, &[(1, SIGHUP)]),
            [Some(SignalAction::ShutDown)]
        );
        let came = [(1, SIGQUIT), (500, SIGQUIT)];
        let expected = [Some(SignalAction::ShutDown), Some(SignalAction::ExitNow)];
        assert_eq!(actions(true, &came), expected);
    }

    #[test]
    fn a_closed_terminal_is_never_urgent() {
        let came = [(1, SIGHUP), (500, SIGHUP), (900, SIGTERM)];
        let expected = [
            Some(SignalAction::ShutDown),
            None,
            Some(SignalAction::ExitNow),
        ];
        assert_eq!(actions(true, &came), expected);
    }

    #[test]
    fn without_a_terminal_hangup_reloads_and_quit_has_no_effect() {
        assert_eq!(actions(false, &[(1, SIGHUP)]), [Some(SignalAction::Reload)]);
        for signal in [SIGQUIT, SIGUSR2] {
            assert_eq!(
                actions(false, &[(1, signal)]),
                [Some(SignalAction::Nothing(signal))]
            );
        }
        assert_eq!(
            actions(false, &[(1, SIGUSR1)]),
            [Some(SignalAction::Report)]
        );
    }

    #[test]
    fn raised_signals_are_drained_once() {
        let mut signals = Signals::new().unwrap();
        assert_eq!(signals.drain(at(0)).count(), 0);
        raise(SIGUSR1).unwrap();
        raise(SIGTERM).unwrap();
        let mut came: Vec<_> = signals.drain(at(1)).collect();
        came.sort_by_key(|action| *action != SignalAction::Report);
        assert_eq!(came, [SignalAction::Report, SignalAction::ShutDown]);
        assert_eq!(signals.drain(at(2)).count(), 0);
    }
}
