//! Tests with renewals that wait in the daemon's socket while the keeper waits for a processor.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use ring_control::{Loss, RawJson, Renewal, Reply, to_line};
use ring_proto::time::Instant;
use ring_runtime::clock;

use super::{EventLoop, Flow, HeldLock, Lines};
use crate::keeper::{Assignment, Binding, Granter, LockId, Note};
use ring_client::lease::{Lease, Margin, Margins};

const MARGINS: Margins = Margins {
    warning: Margin::share(4, Duration::MAX),
    kill: Margin::share(8, Duration::MAX),
};

fn later(ms: u64) -> Instant {
    clock::now().monotonic + Duration::from_millis(ms)
}

/// Returns a keeper whose lease is almost over, and the opposite ends of its two connections.
fn late_keeper() -> (EventLoop, UnixStream, UnixStream) {
    let (caller, callers_end) = UnixStream::pair().expect("a pair of sockets");
    let (daemon, daemons_end) = UnixStream::pair().expect("a pair of sockets");
    let assignment = Assignment {
        granter: Granter::Daemon(PathBuf::new()),
        request: RawJson::encode(&"a lock"),
        wait_ms: None,
        reports: None,
        margins: MARGINS,
        grace_ms: 0,
        binding: Binding::Process {
            pid: 0,
            kill: false,
            lock: LockId {
                daemon: PathBuf::new(),
                name: None,
            },
        },
    };
    let (now, second) = (clock::now().monotonic, Duration::from_secs(1));
    // The last quarter of the lease has begun, so the keeper must give a warning.
    let lease = Lease::new(now + second, now.before(3 * second), MARGINS);
    let lock = HeldLock::already_held(Lines::new(daemon), lease);
    let keeper = EventLoop::new(&assignment, Lines::new(caller), lock, None);
    let keeper = keeper.expect("a process may open a few files");
    (keeper, daemons_end, callers_end)
}

#[test]
fn an_unread_renewal_is_read_before_the_lease_counts_as_overdue() {
    let (mut keeper, mut daemon, _caller) = late_keeper();
    let renewal = Reply::Renewed(Renewal {
        until_ns: later(60_000).as_nanos(),
    });
    let line = to_line(&renewal).expect("it fits");
    daemon.write_all(&line).expect("the socket has room");
    let now = clock::now().monotonic;
    assert!(keeper.is_overdue(now));
    let next = keeper.read_late_messages(now).expect("it may wait");
    assert!(next == Flow::Continue && !keeper.is_overdue(now) && keeper.termination.is_none());
}

#[test]
fn a_lease_without_a_renewal_is_lost_without_waiting() {
    let (mut keeper, _daemon, _caller) = late_keeper();
    let now = clock::now().monotonic;
    let next = keeper.read_late_messages(now).expect("it may wait");
    assert!(next == Flow::Continue && keeper.is_overdue(now));
    keeper.check_deadlines(now);
    assert!(keeper.termination.is_some(), "the lock is lost");
}

/// Lets the lease of a keeper become overdue. The keeper still waits for the daemon's reason.
fn overdue_keeper() -> (EventLoop, UnixStream, Lines) {
    let (mut keeper, daemon, caller) = late_keeper();
    let now = clock::now().monotonic;
    assert!(
        keeper.check_deadlines(now) == Flow::Continue,
        "it keeps the lock until it knows the reason"
    );
    assert!(keeper.termination.is_some(), "the work ends at once");
    (keeper, daemon, Lines::with_daemon(caller))
}

fn loss_text(caller: &mut Lines) -> String {
    caller.fill();
    match caller.next_message() {
        Some(Note::Lost(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_reason_that_comes_after_the_warning_is_reported() {
    let (mut keeper, mut daemon, mut caller) = overdue_keeper();
    keeper.command_ended = true;
    let loss = Reply::Lost(Loss {
        why: "grade".to_owned(),
        text: "the quorum was lost".to_owned(),
        until_ns: later(1000).as_nanos(),
    });
    let line = to_line(&loss).expect("it fits");
    daemon.write_all(&line).expect("the socket has room");
    assert!(keeper.on_daemon_readable() == Flow::Continue);
    assert_eq!(loss_text(&mut caller), "the quorum was lost");
    assert!(keeper.check_deadlines(clock::now().monotonic) == Flow::Stop);
}

#[test]
fn a_daemon_that_sends_no_reason_is_reported_as_stopped() {
    let (mut keeper, _daemon, mut caller) = overdue_keeper();
    let due = keeper.reason_due.expect("it waits for the reason");
    assert!(keeper.check_deadlines(due) == Flow::Stop);
    assert!(loss_text(&mut caller).contains("ringd is stopped"));
}
