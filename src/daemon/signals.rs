//! SIGTERM and SIGINT as something to read.

use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::proto::time::Instant;

/// Signals this close together are one wish: `timeout` and shells send the same one to the
/// process and then to its group.
const TOGETHER: Duration = Duration::from_millis(100);

/// What the signals ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// To shut down in an orderly way.
    ShutDown,
    /// To wait no longer for that.
    ExitNow,
}

/// SIGTERM and SIGINT, from now on.
#[derive(Debug)]
pub struct Signals {
    wake: UnixStream,
    first: Option<Instant>,
}

impl Signals {
    /// Catches the signals.
    ///
    /// # Errors
    /// The process has too many files open.
    pub fn new() -> io::Result<Self> {
        let (wake, handler) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        for signal in [SIGTERM, SIGINT] {
            pipe::register(signal, handler.try_clone()?)?;
        }
        Ok(Self { wake, first: None })
    }

    /// Takes the signals that have come, and says what they ask for.
    ///
    /// # Errors
    /// The pipe from the signal handler is broken.
    pub fn drain(&mut self, now: Instant) -> io::Result<Option<Wish>> {
        let mut came = false;
        loop {
            match self.wake.read(&mut [0; 64]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => came = true,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(came.then(|| self.wish(now)).flatten())
    }

    fn wish(&mut self, now: Instant) -> Option<Wish> {
        match self.first {
            None => {
                self.first = Some(now);
                Some(Wish::ShutDown)
            }
            Some(first) if now.since(first) < TOGETHER => None,
            Some(_) => Some(Wish::ExitNow),
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::{Signals, Wish};
    use crate::proto::time::Instant;
    use signal_hook::consts::SIGTERM;
    use signal_hook::low_level::raise;

    #[test]
    fn the_first_shuts_down_and_a_later_one_exits() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut signals = Signals::new().unwrap();
        assert_eq!(signals.drain(at(0)).unwrap(), None);
        raise(SIGTERM).unwrap();
        assert_eq!(signals.drain(at(1)).unwrap(), Some(Wish::ShutDown));
        raise(SIGTERM).unwrap();
        assert_eq!(
            signals.drain(at(2)).unwrap(),
            None,
            "sent twice by one hand"
        );
        raise(SIGTERM).unwrap();
        assert_eq!(signals.drain(at(500)).unwrap(), Some(Wish::ExitNow));
    }
}
