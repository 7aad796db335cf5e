//! A value that a separate thread determines repeatedly. The thread is separate, because determining the value may take
//! long.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::bell::StopRequest;
use super::{Inbox, Worker};

/// A queue that is always empty, because the thread needs no items.
#[derive(Debug, Default)]
struct NoItems;

impl Inbox for NoItems {
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

/// The latest value that the thread has determined.
#[derive(Debug)]
pub struct PeriodicValue<T> {
    latest: Arc<Mutex<Option<T>>>,
    worker: Worker<NoItems>,
}

impl<T: Send + 'static> PeriodicValue<T> {
    /// Starts a thread that calls `find` after the pause `first`, and then after each `pause`. The thread ends when
    /// this [`PeriodicValue`] is dropped.
    ///
    /// # Errors
    /// Fails if the process has too many files open, or too many threads.
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
                if !matches!(*mailbox.bell().stop_request(), StopRequest::No) {
                    return;
                }
                let found = find();
                *shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
            }
        })?;
        Ok(Self { latest, worker })
    }

    /// Takes the latest value, without waiting. Returns `None` if the value was already taken, or if the thread is just
    /// writing it.
    pub fn take(&self) -> Option<T> {
        self.latest.try_lock().ok()?.take()
    }
}

impl<T> Drop for PeriodicValue<T> {
    fn drop(&mut self) {
        self.worker.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::PeriodicValue;

    #[test]
    fn a_value_is_determined_after_each_pause_until_it_is_dropped() {
        let (tell, told) = mpsc::channel();
        let mut count = 0;
        let pause = Duration::from_millis(1);
        let values = PeriodicValue::start("count", Duration::ZERO, pause, move || {
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
