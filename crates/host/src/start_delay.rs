//! A wait before a node can start. A daemon that waits before its start already counts as started for the service
//! manager.

use std::io;
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use ring_runtime::clock;
use ring_runtime::wait::{Interest, Poller};

use super::notify::Notifier;

/// Minimum time between two waits. Without the minimum, a descriptor that is always readable would keep the processor
/// busy.
const WAIT_INTERVAL: Duration = Duration::from_millis(100);

/// A daemon that waits before its node can start. Signals end the process in the usual way, because the process has no
/// token to hand over.
#[derive(Debug)]
pub struct StartDelay(Notifier<&'static str>);

impl StartDelay {
    /// Reports to the service manager that the daemon is up, with a status about the wait.
    pub fn begin(status: &str) -> Self {
        let notifier = Notifier::new();
        notifier.send_ready();
        notifier.status(status);
        Self(notifier)
    }

    /// Waits until `fd` is readable, and feeds the service manager's watchdog.
    ///
    /// # Errors
    /// Fails if a system call fails.
    pub fn wait_until_readable(&mut self, fd: impl AsFd) -> io::Result<()> {
        thread::sleep(WAIT_INTERVAL);
        let mut poller = Poller::new()?;
        poller.add(fd, 0, Interest::Read)?;
        loop {
            let now = clock::now().monotonic;
            self.0.feed(now);
            poller.wait(self.0.deadline().map(|at| at.since(now)))?;
            if poller.ready().next().is_some() {
                return Ok(());
            }
        }
    }
}
