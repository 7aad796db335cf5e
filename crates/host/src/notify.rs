//! Tells the service manager how the daemon is, if there is one.

use std::env;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use ring_proto::time::Instant;
use sd_notify::NotifyState;
use tracing::debug;

use crate::observe::RateLimit;

/// Tells the service manager.
#[derive(Debug)]
pub(crate) struct Notifier<C> {
    /// `None`: there is no service manager.
    channel: Option<Channel>,
    /// The condition that it was told last.
    told: Option<C>,
    limit: RateLimit,
    watchdog: Option<Watchdog>,
}

impl<C: Copy + PartialEq + Display> Notifier<C> {
    /// Finds the service manager, if there is one.
    pub(crate) fn new() -> Self {
        let channel = env::var_os("NOTIFY_SOCKET").map(|name| Channel::open(&name));
        let channel = channel.transpose().unwrap_or_else(|error| {
            complain(&error);
            None
        });
        let timeout = sd_notify::watchdog_enabled().filter(|_| channel.is_some());
        Self {
            channel,
            told: None,
            limit: RateLimit::new(1, Duration::from_secs(1)),
            watchdog: timeout.map(Watchdog::new),
        }
    }

    /// The daemon is up. Waits until the service manager has taken that: nothing runs yet that could be late.
    pub(crate) fn ready(&self) {
        if self.channel.is_some()
            && let Err(error) = sd_notify::notify(&[NotifyState::Ready])
        {
            complain(&error);
        }
    }

    /// Reports what the daemon does before its node runs.
    pub(crate) fn status(&self, status: &str) {
        self.tell(&NotifyState::Status(status));
    }

    /// The daemon is shutting down: the service manager should no longer expect its loop to turn.
    pub(crate) fn stopping(&self, status: &str) {
        self.tell(&NotifyState::Stopping);
        self.tell(&NotifyState::Status(status));
    }

    /// When [`feed`](Self::feed) is to be called at the latest.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.watchdog.as_ref().map(|watchdog| watchdog.next)
    }

    /// The loop has turned: feeds the service manager's watchdog.
    pub(crate) fn feed(&mut self, now: Instant) {
        if self.watchdog.as_mut().is_some_and(|it| it.is_due(now)) {
            self.tell(&NotifyState::Watchdog);
        }
    }

    /// Reports a change of condition, at most once a second.
    pub(crate) fn update(&mut self, now: Instant, condition: impl FnOnce() -> C) {
        if self.channel.is_none() {
            return;
        }
        let condition = condition();
        if self.told == Some(condition) || !self.limit.allow(now) {
            return;
        }
        self.told = Some(condition);
        self.tell(&NotifyState::Status(&condition.to_string()));
    }

    fn tell(&self, state: &NotifyState<'_>) {
        if let Some(Err(error)) = self.channel.as_ref().map(|channel| channel.send(state)) {
            complain(&error);
        }
    }
}

fn complain(error: &io::Error) {
    debug!(event = "notify_failed", "cannot notify systemd: {error}");
}

/// The socket to the service manager. It stays open, so that a process that can open no more descriptors is
/// not taken for one that hangs. It never blocks on a service manager that does not listen.
#[derive(Debug)]
struct Channel {
    socket: UnixDatagram,
    address: SocketAddr,
}

impl Channel {
    fn open(name: &OsStr) -> io::Result<Self> {
        let address = match name.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            _ => SocketAddr::from_pathname(name)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, address })
    }

    fn send(&self, state: &NotifyState<'_>) -> io::Result<()> {
        let message = state.to_string();
        self.socket
            .send_to_addr(message.as_bytes(), &self.address)?;
        Ok(())
    }
}

/// Feedings per watchdog timeout: one or two may get lost.
const FEEDINGS: u32 = 3;

/// When to feed the watchdog.
#[derive(Debug)]
struct Watchdog {
    period: Duration,
    next: Instant,
}

impl Watchdog {
    fn new(timeout: Duration) -> Self {
        Self {
            period: timeout / FEEDINGS,
            next: Instant::default(),
        }
    }

    fn is_due(&mut self, now: Instant) -> bool {
        let due = now >= self.next;
        if due {
            self.next = now + self.period;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::os::unix::net::UnixDatagram;
    use std::time::Duration;

    use ring_proto::time::Instant;
    use sd_notify::NotifyState;

    use super::{Channel, Watchdog};

    #[test]
    fn a_watchdog_is_fed_at_once_and_then_three_times_in_its_time() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut watchdog = Watchdog::new(Duration::from_millis(300));
        let fed: Vec<u64> = (7..=400).filter(|&ms| watchdog.is_due(at(ms))).collect();
        assert_eq!(fed, [7, 107, 207, 307]);
        assert_eq!(watchdog.next, at(407));
    }

    #[test]
    fn a_service_manager_that_does_not_listen_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        let channel = Channel::open(path.as_os_str()).unwrap();
        let full = loop {
            if let Err(error) = channel.send(&NotifyState::Watchdog) {
                break error;
            }
        };
        assert_eq!(full.kind(), ErrorKind::WouldBlock);
        let mut message = [0; 16];
        let len = manager.recv(&mut message).unwrap();
        assert_eq!(&message[..len], b"WATCHDOG=1");
        channel.send(&NotifyState::Watchdog).unwrap();
    }
}
