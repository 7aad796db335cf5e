//! Tests of the poller, on descriptors that need no privilege.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::libc::SIGUSR1;
use nix::sys::pthread::{pthread_kill, pthread_self};
use nix::sys::signal::Signal;

use super::{Interest, Poller, READY_MAX, ReadyDescriptor};

/// Maximum time that a test waits for an event that must happen.
const EVENT_TIMEOUT: Option<Duration> = Some(Duration::from_secs(10));
const NO_WAIT: Option<Duration> = Some(Duration::ZERO);

fn ready(poller: &mut Poller, timeout: Option<Duration>) -> Vec<ReadyDescriptor> {
    poller.wait(timeout).expect("a wait");
    poller.ready().collect()
}

#[test]
fn a_wait_lasts_as_long_as_its_timeout() {
    let mut poller = Poller::new().expect("a poller");
    for timeout in [1, 900_000, 2_000_001].map(Duration::from_nanos) {
        let start = Instant::now();
        assert_eq!(ready(&mut poller, Some(timeout)), []);
        assert!(start.elapsed() >= timeout);
    }
    let (near, mut far) = UnixStream::pair().expect("a pair");
    poller.add(&near, 1, Interest::Read).expect("added");
    far.write_all(b"!").expect("written");
    // The longest timeout must not overflow.
    assert_eq!(ready(&mut poller, Some(Duration::MAX)).len(), 1);
    assert_eq!(ready(&mut poller, None).len(), 1);
}

#[test]
fn readiness_is_reported_with_its_key_until_it_ends() {
    let mut poller = Poller::new().expect("a poller");
    let (mut near, mut far) = UnixStream::pair().expect("a pair");
    poller.add(&near, 7, Interest::Read).expect("added");
    assert_eq!(ready(&mut poller, NO_WAIT), []);
    far.write_all(b"!").expect("written");
    let readable = ReadyDescriptor {
        key: 7,
        readable: true,
        writable: false,
        hangup: false,
    };
    for _ in 0..2 {
        assert_eq!(ready(&mut poller, EVENT_TIMEOUT), [readable]);
    }
    near.read_exact(&mut [0]).expect("read");
    assert_eq!(ready(&mut poller, NO_WAIT), []);
}

#[test]
fn an_interest_can_be_changed_and_removed() {
    let mut poller = Poller::new().expect("a poller");
    let (near, mut far) = UnixStream::pair().expect("a pair");
    far.write_all(b"!").expect("written");
    poller.add(&near, 1, Interest::Nothing).expect("added");
    assert_eq!(ready(&mut poller, NO_WAIT), []);
    for (interest, readable, writable) in [
        (Interest::Write, false, true),
        (Interest::ReadWrite, true, true),
        (Interest::Read, true, false),
    ] {
        poller.modify(&near, 2, interest).expect("modified");
        let expected = ReadyDescriptor {
            key: 2,
            readable,
            writable,
            hangup: false,
        };
        assert_eq!(
            ready(&mut poller, EVENT_TIMEOUT),
            [expected],
            "{interest:?}"
        );
    }
    poller.remove(&near).expect("removed");
    assert_eq!(ready(&mut poller, NO_WAIT), []);
}

#[test]
fn a_hangup_is_reported_without_interest() {
    let mut poller = Poller::new().expect("a poller");
    let (near, far) = UnixStream::pair().expect("a pair");
    poller.add(&near, 1, Interest::Nothing).expect("added");
    drop(far);
    let [ready] = ready(&mut poller, EVENT_TIMEOUT)[..] else {
        panic!("one descriptor is ready");
    };
    assert!(ready.hangup && ready.readable);
}

#[test]
fn more_descriptors_than_fit_are_reported_by_several_waits() {
    let mut poller = Poller::new().expect("a poller");
    let pairs: Vec<_> = (0..2 * READY_MAX)
        .map(|_| UnixStream::pair().expect("a pair"))
        .collect();
    for ((near, mut far), key) in pairs.iter().map(|(near, far)| (near, far)).zip(0..) {
        poller.add(near, key, Interest::Read).expect("added");
        far.write_all(b"!").expect("written");
    }
    let mut keys: Vec<_> = (0..2)
        .flat_map(|_| ready(&mut poller, EVENT_TIMEOUT))
        .map(|ready| ready.key)
        .collect();
    keys.sort_unstable();
    assert!(keys.into_iter().eq(0..2 * READY_MAX as u64));
}

#[test]
fn a_signal_ends_a_wait_with_nothing_ready() {
    let taken = std::sync::Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, taken.clone()).expect("a handler");
    let mut poller = Poller::new().expect("a poller");
    let waiting = pthread_self();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        // The thread sends the signal repeatedly, because a signal that arrives before the wait does not end the wait.
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                pthread_kill(waiting, Signal::SIGUSR1).expect("a signal");
                thread::yield_now();
            }
        });
        poller.wait(None).expect("a wait that was interrupted");
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(poller.ready().len(), 0);
    assert!(taken.load(Ordering::Relaxed));
}
