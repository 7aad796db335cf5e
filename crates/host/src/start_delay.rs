//! A wait before a node can start. For the service manager, the daemon counts as started during this wait.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;

use ring_runtime::clock;
use ring_runtime::wait::{Interest, Poller};

use super::notify::Notifier;

/// Minimum time between two waits. Without it, a descriptor that is always readable would keep the processor busy.
const WAIT_INTERVAL: Duration = Duration::from_millis(100);

/// A daemon that waits before its node can start. The process has no token, so signals end it in the usual way. Only a
/// SIGHUP that requests a reload does not end it.
#[derive(Debug)]
pub struct StartDelay {
    notifier: Notifier<&'static str>,
    /// Whether SIGHUP came while the daemon waited.
    was_hung_up: Arc<AtomicBool>,
}

impl StartDelay {
    /// Reports to the service manager that the daemon is up, with a status about the wait.
    ///
    /// # Errors
    /// Fails if SIGHUP cannot be caught.
    pub fn begin(status: &str) -> io::Result<Self> {
        let was_hung_up = Arc::new(AtomicBool::new(false));
        // If there is a terminal, SIGHUP means that the terminal was closed. So do not catch it.
        if File::open("/dev/tty").is_err() {
            signal_hook::flag::register(Signal::SIGHUP as i32, Arc::clone(&was_hung_up))?;
        }
        let notifier = Notifier::new();
        notifier.send_ready();
        notifier.status(status);
        Ok(Self {
            notifier,
            was_hung_up,
        })
    }

    /// Whether a reload was requested while the daemon waited.
    pub fn was_hung_up(&self) -> bool {
        self.was_hung_up.load(Ordering::Relaxed)
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
            self.notifier.feed(now);
            poller.wait(self.notifier.deadline().map(|at| at.since(now)))?;
            if poller.ready().next().is_some() {
                return Ok(());
            }
        }
    }
}
