//! Descriptors that others have handed over. What they are of, and so how long it takes to close them, is
//! for those others to say: a file system of theirs may never answer, and a socket may linger. Threads of
//! their own close them, one for each user, so that nobody waits for what is another's.
//!
//! A connection counts too, as long as something lies in it unread: that may have come with descriptors,
//! which the kernel closes with the connection, before its last close returns.

use std::net::Shutdown;
use std::ops::Deref;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::sys::socket::{MsgFlags, recv, setsockopt, sockopt};

/// Maximum descriptors of one user waiting to be closed before no more are accepted from that user.
const MOST_OF_A_USER: usize = 8;
/// Maximum users whose descriptors are being closed, each by a thread.
const MOST_USERS: usize = 4;
/// Maximum descriptors waiting to be closed before no more connections are accepted.
const MOST: usize = MOST_OF_A_USER * MOST_USERS;

/// The threads, each started when its user first needs one.
static CLOSERS: Mutex<Vec<Closer>> = Mutex::new(Vec::new());
/// How many descriptors wait to be closed, those that are being closed included.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// The thread that closes what is one user's.
struct Closer {
    uid: u32,
    waiting: Arc<AtomicUsize>,
    queue: Sender<OwnedFd>,
}

impl Closer {
    /// `None`: the system has no thread.
    fn start(uid: u32) -> Option<Self> {
        let waiting = Arc::new(AtomicUsize::new(0));
        let (queue, handed_over) = mpsc::channel::<OwnedFd>();
        let done = Arc::clone(&waiting);
        let close = move || {
            for descriptor in handed_over {
                let at_once = libc::linger {
                    l_onoff: 0,
                    l_linger: 0,
                };
                // What is no socket cannot linger.
                let _ = setsockopt(&descriptor, sockopt::Linger, &at_once);
                drop(descriptor);
                done.fetch_sub(1, Ordering::Relaxed);
                WAITING.fetch_sub(1, Ordering::Relaxed);
            }
        };
        let thread = thread::Builder::new().name("close".to_owned()).spawn(close);
        thread.ok().map(|_| Self {
            uid,
            waiting,
            queue,
        })
    }

    fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn close(&self, descriptor: OwnedFd) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        WAITING.fetch_add(1, Ordering::Relaxed);
        // The thread lives as long as the sender.
        let _ = self.queue.send(descriptor);
    }
}

/// The closer of a user; `None`: those of others are all busy.
fn closer_of(closers: &mut Vec<Closer>, uid: u32) -> Option<&Closer> {
    let known = closers.iter().position(|closer| closer.uid == uid);
    let at = if let Some(at) = known {
        at
    } else {
        if closers.len() == MOST_USERS {
            let idle = closers.iter().position(|closer| closer.waiting() == 0)?;
            // Its thread ends.
            closers.swap_remove(idle);
        }
        closers.push(Closer::start(uid)?);
        closers.len() - 1
    };
    closers.get(at)
}

/// Closes what a user has handed over, and does not wait for it.
pub fn close(uid: u32, descriptors: impl IntoIterator<Item = OwnedFd>) {
    for descriptor in descriptors {
        let mut closers = CLOSERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(closer) = closer_of(&mut closers, uid) {
            closer.close(descriptor);
        } else if let Some(closer) = closers.first() {
            closer.close(descriptor);
        }
    }
}

/// Whether more may be accepted from a user: what there was is closed, or will be soon.
pub fn has_room(uid: u32) -> bool {
    let mut closers = CLOSERS.lock().unwrap_or_else(PoisonError::into_inner);
    closer_of(&mut closers, uid).is_some_and(|closer| closer.waiting() < MOST_OF_A_USER)
}

/// Whether so many wait to be closed that no connections can be accepted.
pub fn is_full() -> bool {
    WAITING.load(Ordering::Relaxed) >= MOST
}

/// A connection of a user's process. Who drops it does not wait for what lies in it unread.
#[derive(Debug)]
pub struct Visitor {
    /// `Some` until this is dropped.
    stream: Option<UnixStream>,
    uid: u32,
}

impl Visitor {
    /// A connection of that user.
    pub const fn new(stream: UnixStream, uid: u32) -> Self {
        Self {
            stream: Some(stream),
            uid,
        }
    }
}

impl Deref for Visitor {
    type Target = UnixStream;

    fn deref(&self) -> &UnixStream {
        self.stream
            .as_ref()
            .expect("it is open until it is dropped")
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        let Some(stream) = self.stream.take() else {
            return;
        };
        // The other end hears of it now, and can send no more.
        let _ = stream.shutdown(Shutdown::Both);
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        if recv(stream.as_raw_fd(), &mut [0], flags) != Ok(0) {
            close(self.uid, [stream.into()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, IoSlice, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg, setsockopt, sockopt};

    use super::{MOST_OF_A_USER, Visitor, close, has_room};

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

    /// One end of a connection in which one lies that is slow to close.
    fn slow_inside(listener: &TcpListener) -> (UnixStream, TcpStream) {
        let (near, far) = UnixStream::pair().unwrap();
        let (slow, other) = slow_to_close(listener);
        let descriptors = [slow.as_raw_fd()];
        let with = [ControlMessage::ScmRights(&descriptors)];
        let sent = sendmsg::<()>(
            far.as_raw_fd(),
            &[IoSlice::new(b"x")],
            &with,
            MsgFlags::empty(),
            None,
        );
        assert_eq!(sent, Ok(1));
        (near, other)
    }

    #[test]
    fn what_is_slow_to_close_keeps_room_from_its_user_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (user, other_user) = (1001, 1002);
        assert!(has_room(user));
        let (slow, _other) = slow_inside(&listener);
        let start = Instant::now();
        close(user, [slow.into()]);
        assert!(has_room(user));
        let copy = || listener.try_clone().unwrap().into();
        close(user, (0..MOST_OF_A_USER).map(|_| copy()));
        assert!(!has_room(user));
        assert!(has_room(other_user));
        close(other_user, [copy()]);
        assert!(start.elapsed() < LINGER / 2, "it has waited");
        while !has_room(user) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(start.elapsed() >= LINGER, "it was not slow");
    }

    #[test]
    fn a_socket_does_not_linger() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let user = 1003;
        let (slow, _other) = slow_to_close(&listener);
        let start = Instant::now();
        close(user, [slow]);
        let copy = || listener.try_clone().unwrap().into();
        close(user, (0..MOST_OF_A_USER).map(|_| copy()));
        while !has_room(user) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(start.elapsed() < LINGER, "it has lingered");
    }

    #[test]
    fn nobody_waits_for_what_lies_unread_in_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (slow, _other) = slow_inside(&listener);
        let start = Instant::now();
        drop(Visitor::new(slow, 1004));
        assert!(start.elapsed() < LINGER / 2, "it has waited");
    }
}
