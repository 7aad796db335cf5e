//! Descriptors that other users passed to this process. Closing such a descriptor may take long: its file system may
//! never answer, or a socket may wait until its data are sent. So separate threads close the descriptors. Each user has
//! one thread, so that no user waits for another user's descriptors.
//!
//! A connection with unread bytes is closed in the same way, because descriptors may have arrived together with these
//! bytes. The kernel closes these descriptors together with the connection. A separate thread closes the connections of
//! monitors. So monitors cannot keep out other clients.

use std::net::Shutdown;
use std::ops::Deref;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::sys::socket::{MsgFlags, recv, setsockopt, sockopt};

/// Maximum number of one user's descriptors that wait to be closed. At this number, this process accepts no more
/// descriptors from the user.
const PER_USER_MAX: usize = 8;
/// Maximum number of users whose descriptors are closed at the same time. Each user has one thread.
const USERS_MAX: usize = 4;
/// Maximum number of all descriptors that wait to be closed. At this number, this process accepts no more connections.
const WAITING_MAX: usize = PER_USER_MAX * USERS_MAX;

/// The closing threads. A user's thread starts when the user's first descriptor must be closed.
static CLOSERS: Mutex<Vec<Closer>> = Mutex::new(Vec::new());
/// The number of descriptors that are not closed yet.
static WAITING: AtomicUsize = AtomicUsize::new(0);
/// The closing thread for connections of monitors.
static MONITOR_CLOSER: Mutex<Option<Closer>> = Mutex::new(None);
/// The number of connections of monitors that are not closed yet.
static MONITORS_WAITING: AtomicUsize = AtomicUsize::new(0);

/// The kind of a client whose connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientKind {
    /// A client that may pass descriptors to this process.
    User,
    /// A client that may only read.
    Monitor,
}

impl ClientKind {
    const fn waiting(self) -> &'static AtomicUsize {
        match self {
            Self::User => &WAITING,
            Self::Monitor => &MONITORS_WAITING,
        }
    }
}

struct Closer {
    uid: u32,
    kind: ClientKind,
    waiting: Arc<AtomicUsize>,
    queue: Sender<OwnedFd>,
}

impl Closer {
    /// Starts the thread; `None` if the system cannot start a thread.
    fn start(uid: u32, kind: ClientKind) -> Option<Self> {
        let waiting = Arc::new(AtomicUsize::new(0));
        let (queue, handed_over) = mpsc::channel::<OwnedFd>();
        let done = Arc::clone(&waiting);
        let close = move || {
            for descriptor in handed_over {
                let at_once = libc::linger {
                    l_onoff: 0,
                    l_linger: 0,
                };
                // If the descriptor is not a socket, this call fails, but does no harm.
                let _ = setsockopt(&descriptor, sockopt::Linger, &at_once);
                drop(descriptor);
                done.fetch_sub(1, Ordering::Relaxed);
                kind.waiting().fetch_sub(1, Ordering::Relaxed);
            }
        };
        let thread = thread::Builder::new().name("close".to_owned()).spawn(close);
        thread.ok().map(|_| Self {
            uid,
            kind,
            waiting,
            queue,
        })
    }

    fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn close(&self, descriptor: OwnedFd) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.kind.waiting().fetch_add(1, Ordering::Relaxed);
        // The thread runs as long as the sender exists, so this call cannot fail.
        let _ = self.queue.send(descriptor);
    }
}

/// Returns the thread that closes the descriptors of a user. Returns `None` if all threads are busy with descriptors of
/// other users.
fn closer_of(closers: &mut Vec<Closer>, uid: u32) -> Option<&Closer> {
    let known = closers.iter().position(|closer| closer.uid == uid);
    let at = if let Some(at) = known {
        at
    } else {
        if closers.len() == USERS_MAX {
            let idle = closers.iter().position(|closer| closer.waiting() == 0)?;
            // When the sender is dropped, the idle thread ends.
            closers.swap_remove(idle);
        }
        closers.push(Closer::start(uid, ClientKind::User)?);
        closers.len() - 1
    };
    closers.get(at)
}

/// Starts to close a user's descriptors, and returns before they are closed.
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

/// Whether more descriptors may be accepted from a user.
pub fn has_room(uid: u32) -> bool {
    let mut closers = CLOSERS.lock().unwrap_or_else(PoisonError::into_inner);
    closer_of(&mut closers, uid).is_some_and(|closer| closer.waiting() < PER_USER_MAX)
}

/// Starts to close the connection of a monitor, and returns before it is closed.
fn close_monitor(stream: UnixStream) {
    let mut closer = MONITOR_CLOSER
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if closer.is_none() {
        *closer = Closer::start(u32::MAX, ClientKind::Monitor);
    }
    if let Some(closer) = closer.as_ref() {
        closer.close(stream.into());
    }
}

/// Whether too many descriptors of clients of this kind wait to be closed. If `true`, this process must accept no more
/// such clients.
pub fn is_full(kind: ClientKind) -> bool {
    let max = match kind {
        ClientKind::User => WAITING_MAX,
        ClientKind::Monitor => PER_USER_MAX,
    };
    kind.waiting().load(Ordering::Relaxed) >= max
}

/// A connection from a user's process. Dropping the connection does not wait until its unread descriptors are closed.
#[derive(Debug)]
pub struct ClientStream {
    stream: Option<UnixStream>,
    uid: u32,
    kind: ClientKind,
}

impl ClientStream {
    /// Creates a connection of the user `uid`.
    pub const fn new(stream: UnixStream, uid: u32, kind: ClientKind) -> Self {
        Self {
            stream: Some(stream),
            uid,
            kind,
        }
    }
}

impl Deref for ClientStream {
    type Target = UnixStream;

    fn deref(&self) -> &UnixStream {
        self.stream
            .as_ref()
            .expect("the stream exists until this value is dropped")
    }
}

impl Drop for ClientStream {
    fn drop(&mut self) {
        let Some(stream) = self.stream.take() else {
            return;
        };
        // After the shutdown, the other end notices the end of the connection at once, and cannot send more bytes.
        let _ = stream.shutdown(Shutdown::Both);
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        if recv(stream.as_raw_fd(), &mut [0], flags) == Ok(0) {
            return;
        }
        match self.kind {
            ClientKind::User => close(self.uid, [stream.into()]),
            ClientKind::Monitor => close_monitor(stream),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, IoSlice, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::{AsFd, AsRawFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg, setsockopt, sockopt};

    use super::{ClientKind, ClientStream, PER_USER_MAX, close, has_room, is_full};

    const LINGER: Duration = Duration::from_secs(2);

    /// Whether a stream takes more bytes within a short time.
    fn is_writable(stream: &TcpStream) -> bool {
        let mut asked = [PollFd::new(stream.as_fd(), PollFlags::POLLOUT)];
        poll(&mut asked, PollTimeout::from(100_u8)).unwrap() > 0
    }

    /// Returns a TCP connection that takes `LINGER` to close, because its other end reads nothing.
    fn slow_to_close(listener: &TcpListener) -> (OwnedFd, TcpStream) {
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (other, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        // First fill the buffers of both ends. While the other end can take bytes, the queue of this end becomes empty,
        // and the close takes no time.
        while is_writable(&stream) {
            match stream.write(&[0; 4096]) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
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

    /// Returns one end of a connection with an unread descriptor. Closing this descriptor takes long.
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
    fn a_slow_descriptor_affects_only_its_user() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (user, other_user) = (1001, 1002);
        assert!(has_room(user));
        let (slow, _other) = slow_inside(&listener);
        let start = Instant::now();
        close(user, [slow.into()]);
        assert!(has_room(user));
        let copy = || listener.try_clone().unwrap().into();
        close(user, (0..PER_USER_MAX).map(|_| copy()));
        assert!(!has_room(user));
        assert!(has_room(other_user));
        close(other_user, [copy()]);
        assert!(start.elapsed() < LINGER / 2, "the close has waited");
        while !has_room(user) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(start.elapsed() >= LINGER, "the close was not slow");
    }

    #[test]
    fn a_passed_socket_does_not_linger() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let user = 1003;
        let (slow, _other) = slow_to_close(&listener);
        let start = Instant::now();
        close(user, [slow]);
        let copy = || listener.try_clone().unwrap().into();
        close(user, (0..PER_USER_MAX).map(|_| copy()));
        while !has_room(user) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(start.elapsed() < LINGER, "it has lingered");
    }

    #[test]
    fn dropping_a_connection_does_not_wait_for_unread_descriptors() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (slow, _other) = slow_inside(&listener);
        let start = Instant::now();
        drop(ClientStream::new(slow, 1004, ClientKind::User));
        assert!(start.elapsed() < LINGER / 2, "the close has waited");
    }

    #[test]
    fn connections_of_monitors_do_not_keep_out_users() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let user = 1005;
        let (slow, _other) = slow_inside(&listener);
        drop(ClientStream::new(slow, user, ClientKind::Monitor));
        let mut ends = Vec::new();
        for _ in 0..PER_USER_MAX {
            let (near, mut far) = UnixStream::pair().unwrap();
            far.write_all(b"unread").unwrap();
            drop(ClientStream::new(near, user, ClientKind::Monitor));
            ends.push(far);
        }
        assert!(is_full(ClientKind::Monitor));
        assert!(!is_full(ClientKind::User) && has_room(user));
    }
}
