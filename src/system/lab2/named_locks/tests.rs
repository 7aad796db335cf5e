//! Tests of the clients of named locks, with a fake state machine.

use std::collections::BTreeMap;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{LockMode, Token};
use ring_control::lab2::{LockRequest, LossReason, RefusalReason};
use ring_process::{Client, ClientId};
use ring_proto::lab2::{Command, Event, LockName};
use ring_proto::time::Instant;

use super::super::locks::Notice;
use super::{Availability, NamedLocks, PollTimes, RingLocks, WantedLock};

const KEPT: Duration = Duration::from_millis(5);
const LEASE: Duration = Duration::from_millis(1600);
const FENCE: Token = Token {
    progress: 7,
    author: MacAddr([2, 0, 0, 0, 0, 1]),
    number: 3,
};
const FIRST_SESSION: u64 = u64::MAX;

/// The ring as the fake state machine knows it.
#[derive(Default)]
struct FakeRing {
    leases: BTreeMap<u64, Instant>,
    renewals: u64,
    is_taken: bool,
}

impl RingLocks for FakeRing {
    fn lease_end(&self, session: u64) -> Option<Instant> {
        self.leases.get(&session).copied()
    }

    fn renewals(&self) -> u64 {
        self.renewals
    }

    fn is_taken(&self, _lock: WantedLock, _session: u64) -> bool {
        self.is_taken
    }
}

struct Rig {
    named: NamedLocks,
    ring: FakeRing,
    now: Instant,
    availability: Availability,
    commands: Vec<Command>,
}

impl Rig {
    fn new() -> Self {
        Self {
            named: NamedLocks::new(FIRST_SESSION),
            ring: FakeRing::default(),
            now: Instant::from_nanos(1_000_000_000),
            availability: Availability::Open,
            commands: Vec::new(),
        }
    }

    fn want(&mut self, id: ClientId, request: LockRequest) -> Result<(), RefusalReason> {
        let client = Client {
            id,
            pid: None,
            uid: None,
        };
        let lock = WantedLock {
            name: LockName::new("backup").expect("a name"),
            mode: LockMode::Exclusive,
        };
        let times = PollTimes {
            answer: Duration::from_secs(1),
            kept: KEPT,
        };
        let limits = (times, self.availability);
        self.named.request(self.now, client, lock, request, limits)
    }

    /// Passes events, and returns the notices.
    fn update_with(&mut self, events: Vec<Event>) -> Vec<(ClientId, Notice)> {
        let mut notices = Vec::new();
        let mut events = events.into_iter();
        loop {
            let events = events.by_ref();
            let (now, availability) = (self.now, self.availability);
            let command = (self.named).update(now, availability, events, &self.ring, &mut notices);
            match command {
                Some(command) => self.commands.push(command),
                None => break,
            }
        }
        notices
            .into_iter()
            .map(|it| (it.client, it.notice))
            .collect()
    }

    fn advance(&mut self, by: Duration) -> Vec<(ClientId, Notice)> {
        self.now = self.now + by;
        self.update_with(Vec::new())
    }

    /// Grants a session its lock. Returns the end of the lease, and the notices.
    fn grant(&mut self, session: u64) -> (Instant, Vec<(ClientId, Notice)>) {
        let until = self.now + LEASE;
        self.ring.leases.insert(session, until);
        let fence = FENCE;
        (
            until,
            self.update_with(vec![Event::LockGranted { session, fence }]),
        )
    }

    /// Creates a client that holds a lock. Returns the end of its lease.
    fn holding(request: LockRequest) -> (Self, Instant) {
        let mut rig = Self::new();
        rig.want(1, request).expect("it may wait");
        assert_eq!(rig.update_with(Vec::new()), []);
        let (until, notices) = rig.grant(FIRST_SESSION);
        let token = FENCE;
        assert_eq!(notices, [(1, Notice::Granted { token, until })]);
        rig.commands.clear();
        (rig, until)
    }
}

fn waiting(ms: u64) -> LockRequest {
    LockRequest {
        wait_ms: Some(ms),
        ..LockRequest::default()
    }
}

#[test]
fn each_request_has_its_own_session_and_ends_it() {
    let mut rig = Rig::new();
    for id in [1, 2] {
        rig.want(id, LockRequest::default()).expect("it may wait");
    }
    assert_eq!(rig.update_with(Vec::new()), []);
    let session = |command: &Command| match command {
        Command::TakeLock(request) => request.session,
        other => panic!("{other:?}"),
    };
    let sessions: Vec<u64> = rig.commands.drain(..).map(|it| session(&it)).collect();
    assert_eq!(sessions, [FIRST_SESSION, 0]);
    assert!(rig.named.release(2) && !rig.named.release(2));
    assert_eq!(rig.named.deadline(), Some(Instant::default()));
    rig.update_with(Vec::new());
    assert_eq!(rig.commands, [Command::ReleaseLock(0)]);
}

#[test]
fn a_renewed_lease_reaches_the_client_and_an_old_one_ends_the_lock() {
    let (mut rig, until) = Rig::holding(LockRequest::default());
    assert_eq!(rig.advance(LEASE / 2), []);
    let until = until + LEASE / 2;
    rig.ring.leases.insert(FIRST_SESSION, until);
    rig.ring.renewals += 1;
    let renewed = Notice::Renewed { until };
    assert_eq!(rig.update_with(Vec::new()), [(1, renewed)]);
    let due = rig.named.deadline().expect("a lease ends");
    assert!(due < until && until.since(due) <= LEASE / 3);
    let (why, notices) = (LossReason::Lease, rig.advance(due.since(rig.now)));
    assert_eq!(notices, [(1, Notice::Lost { why, until })]);
    assert!(rig.named.holds(1), "its command may still work");
    rig.advance(until.since(rig.now));
    assert!(!rig.named.holds(1));
    assert_eq!(rig.commands, [Command::ReleaseLock(FIRST_SESSION)]);
}

#[test]
fn a_removed_lock_is_lost_at_once() {
    let (mut rig, _) = Rig::holding(LockRequest::default());
    let session = FIRST_SESSION;
    rig.ring.leases.clear();
    let notices = rig.update_with(vec![Event::LockLost { session }]);
    let (why, until) = (LossReason::Removed, rig.now);
    assert_eq!(notices, [(1, Notice::Lost { why, until })]);
    assert!(rig.named.release(1));
    assert_eq!(rig.update_with(Vec::new()), []);
    assert_eq!(rig.commands, [], "the session is already over");
}

#[test]
fn the_lock_of_a_client_that_disconnects_is_kept_until_the_end_of_its_lease() {
    let (mut rig, _) = Rig::holding(LockRequest::default());
    assert!(rig.named.on_client_gone(rig.now, 1).is_some());
    assert!(rig.named.on_client_gone(rig.now, 1).is_none());
    assert_eq!(rig.advance(LEASE - Duration::from_millis(1)), []);
    assert!(rig.named.is_busy() && rig.commands.is_empty());
    rig.advance(Duration::from_millis(1));
    assert!(rig.named.is_idle());
    assert_eq!(rig.commands, [Command::ReleaseLock(FIRST_SESSION)]);
}

#[test]
fn a_client_that_does_not_wait_is_refused_if_the_lock_is_taken() {
    let mut rig = Rig::new();
    rig.want(1, waiting(0)).expect("it may ask");
    rig.ring.is_taken = true;
    assert_eq!(
        rig.update_with(Vec::new()),
        [],
        "the owner may not have answered"
    );
    let session = FIRST_SESSION;
    let busy = Notice::Refused(RefusalReason::Busy);
    assert_eq!(
        rig.update_with(vec![Event::LockQueued { session }]),
        [],
        "a member may only keep a lock that its program has released"
    );
    assert_eq!(rig.named.deadline(), Some(rig.now + KEPT));
    assert_eq!(rig.advance(KEPT), [(1, busy)]);
    assert_eq!(rig.commands.last(), Some(&Command::ReleaseLock(session)));
    rig.want(2, waiting(50)).expect("it may wait");
    let refused = Notice::Refused(RefusalReason::Timeout);
    assert_eq!(rig.advance(Duration::from_millis(49)), []);
    assert_eq!(rig.advance(Duration::from_millis(1)), [(2, refused)]);
}

#[test]
fn a_pause_ends_locks_and_waiting_clients_ask_again_afterwards() {
    let (mut rig, _) = Rig::holding(LockRequest::default());
    rig.want(2, LockRequest::default()).expect("it may wait");
    rig.update_with(Vec::new());
    rig.availability = Availability::Paused { is_draining: true };
    assert_eq!(rig.update_with(Vec::new()), []);
    assert_eq!(rig.commands.last(), Some(&Command::ReleaseLock(0)));
    rig.availability = Availability::Paused { is_draining: false };
    let notices = rig.update_with(Vec::new());
    let is_paused =
        |notice: &Notice| matches!(notice, Notice::Lost { why, .. } if *why == LossReason::Paused);
    assert!(
        notices.len() == 1 && is_paused(&notices[0].1),
        "{notices:?}"
    );
    assert_eq!(rig.want(3, waiting(0)), Err(RefusalReason::Paused));
    rig.availability = Availability::Open;
    rig.update_with(Vec::new());
    assert!(matches!(rig.commands.last(), Some(Command::TakeLock(it)) if it.session == 1));
}

#[test]
fn a_program_under_a_lock_does_not_wait_for_its_own_end() {
    let (mut rig, _) = Rig::holding(LockRequest::default());
    let nested = LockRequest {
        under: Some("7-02:00:00:00:00:01-3".to_owned()),
        ..LockRequest::default()
    };
    assert_eq!(rig.want(2, nested), Err(RefusalReason::AlreadyHeld));
}

#[test]
fn a_released_lock_leaves_no_deadline() {
    let (mut rig, until) = Rig::holding(LockRequest::default());
    rig.advance(LEASE / 4);
    rig.want(2, LockRequest::default()).expect("it may wait");
    rig.update_with(Vec::new());
    rig.grant(FIRST_SESSION.wrapping_add(1));
    assert!(rig.named.release(1));
    rig.update_with(Vec::new());
    let first = rig.named.deadline().expect("a lease ends");
    assert!(first < until);
    rig.advance(first.since(rig.now));
    let second = rig.named.deadline().expect("the other lease ends");
    assert!(first < second);
    assert!(rig.named.release(2));
    rig.update_with(Vec::new());
    assert_eq!(rig.named.deadline(), None);
}
