//! A wait before a node can start. The service manager sees a daemon that is up.

use std::io;
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use ring_runtime::clock;
use ring_runtime::wait::{Interest, Poller};

use super::notify::Notifier;

/// The time between two ends of a wait: what is waited at may be readable all the time.
const PAUSE: Duration = Duration::from_millis(100);

/// A daemon that waits before its node can start. Signals end it as they end every program: there is nothing to hand
/// over.
#[derive(Debug)]
pub struct Prelude(Notifier<&'static str>);

impl Prelude {
    /// Tells the service manager that the daemon is up, and what it waits for.
    pub fn begin(status: &str) -> Self {
        let notifier = Notifier::new();
        notifier.ready();
        notifier.status(status);
        Self(notifier)
    }

    /// Waits until `fd` is readable. Feeds the service manager's watchdog meanwhile.
    ///
    /// # Errors
    /// The system cannot wait.
    pub fn wait_at(&mut self, fd: impl AsFd) -> io::Result<()> {
        thread::sleep(PAUSE);
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
