//! A value that a thread of its own finds out again and again, since that may take long.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::bell::Closing;
use super::{Inbox, Worker};

/// No work: the thread has its own.
#[derive(Debug, Default)]
struct Nothing;

impl Inbox for Nothing {
    type Item = ();

    fn push(&mut self, (): ()) {}

    fn pop(&mut self) -> Option<()> {
        None
    }

    fn is_empty(&self) -> bool {
        true
    }

    fn merge(&mut self) {}

    fn clear(&mut self) {}
}

/// The value that was found last, if it was not taken yet.
#[derive(Debug)]
pub struct Repeated<T> {
    latest: Arc<Mutex<Option<T>>>,
    worker: Worker<Nothing>,
}

impl<T: Send + 'static> Repeated<T> {
    /// Starts a thread that finds the value out after the `first` pause, and after each `pause` from then on, for as long as this is
    /// there.
    ///
    /// # Errors
    /// The process has too many files open, or threads.
    pub fn start(
        name: &'static str,
        first: Duration,
        pause: Duration,
        mut find: impl FnMut() -> T + Send + 'static,
    ) -> io::Result<Self> {
        let latest = Arc::new(Mutex::new(None));
        let shared = Arc::clone(&latest);
        let worker = Worker::start(name, move |mailbox, mut poller| {
            let mut rest = first;
            loop {
                mailbox.rest(&mut poller, rest);
                rest = pause;
                if !matches!(*mailbox.bell().closing(), Closing::No) {
                    return;
                }
                let found = find();
                *shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
            }
        })?;
        Ok(Self { latest, worker })
    }

    /// Takes the value. Never waits: one that the thread is about to write is taken the next time.
    pub fn take(&self) -> Option<T> {
        self.latest.try_lock().ok()?.take()
    }
}

impl<T> Drop for Repeated<T> {
    fn drop(&mut self) {
        self.worker.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::Repeated;

    #[test]
    fn a_value_is_found_again_after_each_pause_until_nobody_wants_it() {
        let (tell, told) = mpsc::channel();
        let mut count = 0;
        let pause = Duration::from_millis(1);
        let values = Repeated::start("count", Duration::ZERO, pause, move || {
            count += 1;
            let _ = tell.send(count);
            count
        })
        .unwrap();
        let patience = Duration::from_secs(20);
        assert_eq!(told.recv_timeout(patience), Ok(1));
        assert_eq!(told.recv_timeout(patience), Ok(2));
        assert!(values.take().is_some_and(|value| value >= 1));
        drop(values);
        let end = std::iter::from_fn(|| told.recv_timeout(patience).ok()).last();
        assert!(end.is_none_or(|value| value > 2), "the thread has ended");
    }
}
