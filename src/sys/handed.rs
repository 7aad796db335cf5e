//! Descriptors that others have handed over. What they are of, and so how long it takes to close them, is
//! for those others to say: a file system of theirs may never answer. A thread of its own closes them.

use std::os::fd::OwnedFd;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

/// The most that wait to be closed before no more are to be accepted.
const MOST_WAITING: usize = 16;

/// How many wait to be closed, the one that is being closed included.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// To the thread that closes; `None`: the system had none.
static CLOSER: LazyLock<Option<Sender<OwnedFd>>> = LazyLock::new(|| {
    let (closer, handed_over) = mpsc::channel::<OwnedFd>();
    let close = move || {
        for descriptor in handed_over {
            drop(descriptor);
            WAITING.fetch_sub(1, Ordering::Relaxed);
        }
    };
    let thread = thread::Builder::new().name("close".to_owned()).spawn(close);
    thread.ok().map(|_| closer)
});

/// Closes what nobody keeps, and does not wait for it.
pub fn close(descriptors: impl IntoIterator<Item = OwnedFd>) {
    for descriptor in descriptors {
        if let Some(closer) = &*CLOSER {
            WAITING.fetch_add(1, Ordering::Relaxed);
            // The thread lives as long as the process.
            let _ = closer.send(descriptor);
        }
    }
}

/// Whether more may be accepted: what there was is closed, or will be soon.
#[must_use]
pub fn has_room() -> bool {
    WAITING.load(Ordering::Relaxed) < MOST_WAITING && CLOSER.is_some()
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::OwnedFd;
    use std::time::{Duration, Instant};

    use nix::sys::socket::{setsockopt, sockopt};

    use super::{MOST_WAITING, close, has_room};

    const LINGER: Duration = Duration::from_secs(2);

    /// A connection that takes so long to close, since its other end takes nothing.
    fn slow_to_close(listener: &TcpListener) -> (OwnedFd, TcpStream) {
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (other, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        loop {
            match stream.write(&[0; 4096]) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        let linger = libc::linger {
            l_onoff: 1,
            l_linger: i32::try_from(LINGER.as_secs()).unwrap(),
        };
        setsockopt(&stream, sockopt::Linger, &linger).unwrap();
        (stream.into(), other)
    }

    #[test]
    fn what_is_slow_to_close_is_not_waited_for_and_no_more_is_accepted_meanwhile() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(has_room());
        let (slow, _other) = slow_to_close(&listener);
        let start = Instant::now();
        close([slow]);
        assert!(has_room());
        let copy = || listener.try_clone().unwrap().into();
        close((0..MOST_WAITING).map(|_| copy()));
        assert!(!has_room());
        assert!(start.elapsed() < LINGER / 2, "it has waited");
        while !has_room() {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(start.elapsed() >= LINGER, "it was not slow");
    }
}
