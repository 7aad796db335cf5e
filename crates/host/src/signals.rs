//! Signals through a descriptor: none ends the daemon without a hand-over.

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

/// Signals this close together are one wish: `timeout` and shells send the same signal to the process and
/// then to its group.
const TOGETHER: Duration = Duration::from_millis(100);

/// The signals that are caught: all that people send to a daemon.
const CAUGHT: [Signal; 6] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];

/// What signals ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Shut down in order.
    ShutDown,
    /// Exit at once.
    ExitNow,
    /// Log the status.
    Report,
    /// A signal without a meaning here.
    Nothing(Signal),
}

/// Catches signals for as long as it lives.
#[derive(Debug)]
pub(crate) struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    /// There is a terminal, which may be closed.
    on_terminal: bool,
    first: Option<Instant>,
}

impl Signals {
    /// Catches the signals. Signals that were ignored stay ignored (`nohup`).
    pub(crate) fn new() -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        let ignored = IgnoredSignals::now()?;
        let caught = CAUGHT.iter().filter(|signal| !ignored.contains(**signal));
        let caught = caught.map(|&signal| signal as i32);
        Ok(Self {
            delivery: SignalDelivery::with_pipe(read, write, SignalOnly, caught)?,
            // This name stands for the controlling terminal, if there is one.
            on_terminal: File::open("/dev/tty").is_ok(),
            first: None,
        })
    }

    /// Takes the pending signals and returns what they ask for.
    pub(crate) fn drain(&mut self, now: Instant) -> impl Iterator<Item = Wish> {
        let came = self.delivery.pending();
        let on_terminal = self.on_terminal;
        let first = &mut self.first;
        came.filter_map(move |signal| {
            let signal = Signal::try_from(signal).ok()?;
            wish(signal, on_terminal, first, now)
        })
    }
}

fn wish(
    signal: Signal,
    on_terminal: bool,
    first: &mut Option<Instant>,
    now: Instant,
) -> Option<Wish> {
    match signal {
        Signal::SIGUSR1 => return Some(Wish::Report),
        Signal::SIGTERM | Signal::SIGINT => {}
        Signal::SIGHUP | Signal::SIGQUIT if on_terminal => {}
        _ => return Some(Wish::Nothing(signal)),
    }
    match *first {
        None => {
            *first = Some(now);
            Some(Wish::ShutDown)
        }
        Some(first) if now.since(first) < TOGETHER => None,
        // The kernel and the shell both report that a terminal is gone: that is one wish, not an urgent one.
        Some(_) if signal == Signal::SIGHUP => None,
        Some(_) => Some(Wish::ExitNow),
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

    use super::{Signals, Wish, wish};
    use nix::sys::signal::Signal::{self, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    use nix::sys::signal::raise;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// What signals at these milliseconds ask for.
    fn wishes(on_terminal: bool, signals: &[(u64, Signal)]) -> Vec<Option<Wish>> {
        let mut first = None;
        let each = signals
            .iter()
            .map(|&(ms, signal)| wish(signal, on_terminal, &mut first, at(ms)));
        each.collect()
    }

    #[test]
    fn the_first_shuts_down_and_a_later_one_exits() {
        let came = [(1, SIGTERM), (2, SIGTERM), (500, SIGINT)];
        let twice_by_one_hand = None;
        let expected = [Some(Wish::ShutDown), twice_by_one_hand, Some(Wish::ExitNow)];
        assert_eq!(wishes(false, &came), expected);
    }

    #[test]
    fn on_a_terminal_its_end_and_quit_shut_down_too() {
        assert_eq!(wishes(true, &[(1, SIGHUP)]), [Some(Wish::ShutDown)]);
        let came = [(1, SIGQUIT), (500, SIGQUIT)];
        let expected = [Some(Wish::ShutDown), Some(Wish::ExitNow)];
        assert_eq!(wishes(true, &came), expected);
    }

    #[test]
    fn a_terminal_that_ends_is_no_haste_however_often_it_is_told() {
        let came = [(1, SIGHUP), (500, SIGHUP), (900, SIGTERM)];
        let expected = [Some(Wish::ShutDown), None, Some(Wish::ExitNow)];
        assert_eq!(wishes(true, &came), expected);
    }

    #[test]
    fn what_has_no_meaning_asks_for_nothing() {
        for signal in [SIGHUP, SIGQUIT, SIGUSR2] {
            assert_eq!(wishes(false, &[(1, signal)]), [Some(Wish::Nothing(signal))]);
        }
        assert_eq!(wishes(false, &[(1, SIGUSR1)]), [Some(Wish::Report)]);
    }

    #[test]
    fn what_was_raised_is_drained_once() {
        let mut signals = Signals::new().unwrap();
        assert_eq!(signals.drain(at(0)).count(), 0);
        raise(SIGUSR1).unwrap();
        raise(SIGTERM).unwrap();
        let mut came: Vec<_> = signals.drain(at(1)).collect();
        came.sort_by_key(|wish| *wish != Wish::Report);
        assert_eq!(came, [Wish::Report, Wish::ShutDown]);
        assert_eq!(signals.drain(at(2)).count(), 0);
    }
}
