//! What lies in the daemon's socket while the keeper waits for a processor.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use ring_control::{OwnJson, Renewal, Reply, to_line};
use ring_proto::time::Instant;
use ring_runtime::clock;

use super::{HeldLock, Lines, Next, Work};
use crate::keeper::{Assignment, Binding, Granter};
use ring_client::lease::{Lease, Margin, Margins};

const MARGINS: Margins = Margins {
    warning: Margin::share(4, Duration::MAX),
    kill: Margin::share(8, Duration::MAX),
};

fn later(ms: u64) -> Instant {
    clock::now().monotonic + Duration::from_millis(ms)
}

/// A keeper with a lock whose lease is all but over, and the daemon's end of their conversation.
fn keeper_that_is_late() -> (Work, UnixStream, UnixStream) {
    let (caller, callers_end) = UnixStream::pair().expect("a pair of sockets");
    let (daemon, daemons_end) = UnixStream::pair().expect("a pair of sockets");
    let assignment = Assignment {
        granter: Granter::Daemon(PathBuf::new()),
        request: OwnJson::of(&"a lock"),
        wait_ms: None,
        reports: None,
        margins: MARGINS,
        grace_ms: 0,
        binding: Binding::Process {
            pid: 0,
            kill: false,
            daemon: PathBuf::new(),
        },
    };
    let (now, second) = (clock::now().monotonic, Duration::from_secs(1));
    // Its last quarter has begun.
    let lease = Lease::new(now + second, now.before(3 * second), MARGINS);
    let lock = HeldLock::held(Lines::new(daemon), lease);
    let work = Work::new(&assignment, Lines::new(caller), lock, None);
    let work = work.expect("a process may open a few files");
    (work, daemons_end, callers_end)
}

#[test]
fn a_renewal_that_lies_in_the_socket_is_heard_before_the_lease_counts_as_overdue() {
    let (mut work, mut daemon, _caller) = keeper_that_is_late();
    let renewal = Reply::Renewed(Renewal {
        until_ns: later(60_000).as_nanos(),
    });
    let line = to_line(&renewal).expect("it fits");
    daemon.write_all(&line).expect("the socket has room");
    let now = clock::now().monotonic;
    assert!(work.is_overdue(now));
    let next = work.hear_what_has_come(now).expect("it may wait");
    assert!(next == Next::GoOn && !work.is_overdue(now) && work.ending.is_none());
}

#[test]
fn a_lease_that_nobody_has_renewed_is_overdue_and_nobody_is_waited_for() {
    let (mut work, _daemon, _caller) = keeper_that_is_late();
    let now = clock::now().monotonic;
    let next = work.hear_what_has_come(now).expect("it may wait");
    assert!(next == Next::GoOn && work.is_overdue(now));
    work.on_time(now);
    assert!(work.ending.is_some(), "the lock is lost");
}
