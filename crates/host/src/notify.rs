//! Reports the daemon's condition to the service manager, if a service manager started the daemon.

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
use crate::observe::events;

#[derive(Debug)]
pub(crate) struct Notifier<C> {
    /// Channel to the service manager; `None` unless a service manager started the daemon.
    channel: Option<Channel>,
    last_condition: Option<C>,
    limit: RateLimit,
    watchdog: Option<Watchdog>,
}

impl<C: Copy + PartialEq + Display> Notifier<C> {
    /// Opens the channel to the service manager, if a service manager started the daemon.
    pub(crate) fn new() -> Self {
        let channel = env::var_os("NOTIFY_SOCKET").map(|name| Channel::open(&name));
        let channel = channel.transpose().unwrap_or_else(|error| {
            log_failure(&error);
            None
        });
        let timeout = sd_notify::watchdog_enabled().filter(|_| channel.is_some());
        Self {
            channel,
            last_condition: None,
            limit: RateLimit::new(1, Duration::from_secs(1)),
            watchdog: timeout.map(Watchdog::new),
        }
    }

    /// Reports that the daemon is up. Waits until the service manager takes the message. The wait delays no node,
    /// because no node runs at this time.
    pub(crate) fn send_ready(&self) {
        if self.channel.is_some()
            && let Err(error) = sd_notify::notify(&[NotifyState::Ready])
        {
            log_failure(&error);
        }
    }

    /// Reports a status before the daemon's node runs.
    pub(crate) fn status(&self, status: &str) {
        self.send(&NotifyState::Status(status));
    }

    /// Reports that the daemon is shutting down. After this report, the watchdog no longer expects the loop to run.
    pub(crate) fn stopping(&self, status: &str) {
        self.send(&NotifyState::Stopping);
        self.send(&NotifyState::Status(status));
    }

    /// Returns the latest time for the next call of [`feed`](Self::feed).
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.watchdog.as_ref().map(|watchdog| watchdog.next)
    }

    /// If it is time, feeds the service manager's watchdog.
    pub(crate) fn feed(&mut self, now: Instant) {
        if self.watchdog.as_mut().is_some_and(|it| it.take_due(now)) {
            self.send(&NotifyState::Watchdog);
        }
    }

    /// Reports a changed condition, at most once per second.
    pub(crate) fn update(&mut self, now: Instant, condition: impl FnOnce() -> C) {
        if self.channel.is_none() {
            return;
        }
        let condition = condition();
        if self.last_condition == Some(condition) || !self.limit.allow(now) {
            return;
        }
        self.last_condition = Some(condition);
        self.send(&NotifyState::Status(&condition.to_string()));
    }

    fn send(&self, state: &NotifyState<'_>) {
        if let Some(Err(error)) = self.channel.as_ref().map(|channel| channel.send(state)) {
            log_failure(&error);
        }
    }
}

fn log_failure(error: &io::Error) {
    debug!(
        event = events::NOTIFY_FAILED,
        "cannot notify systemd: {error}"
    );
}

/// The socket to the service manager. The socket stays open: if the process reached its limit of descriptors, it could
/// not open the socket again. Then it could not feed the watchdog, and the service manager would take the process for
/// hung. A write never blocks, even if the service manager does not read.
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

/// Number of messages that the daemon sends within one watchdog timeout. So one or two messages may be lost.
const FEEDS_PER_TIMEOUT: u32 = 3;

#[derive(Debug)]
struct Watchdog {
    period: Duration,
    next: Instant,
}

impl Watchdog {
    fn new(timeout: Duration) -> Self {
        Self {
            period: timeout / FEEDS_PER_TIMEOUT,
            next: Instant::default(),
        }
    }

    fn take_due(&mut self, now: Instant) -> bool {
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
    fn a_watchdog_is_fed_at_once_and_then_three_times_per_timeout() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut watchdog = Watchdog::new(Duration::from_millis(300));
        let fed: Vec<u64> = (7..=400).filter(|&ms| watchdog.take_due(at(ms))).collect();
        assert_eq!(fed, [7, 107, 207, 307]);
        assert_eq!(watchdog.next, at(407));
    }

    #[test]
    fn a_service_manager_that_does_not_read_is_not_waited_for() {
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
