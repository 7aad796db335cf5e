use std::time::Duration;

use ring_control::jitterbug::{LockRequest, LossReason, RefusalReason};
use ring_host::{ENDING_NOTICE, WAITING_CLIENTS_MAX};
use ring_process::{Client, ClientId};
use ring_proto::jitterbug::Command;
use ring_proto::time::Instant;

use super::{Locks, MachineState, Notice};

const LEASE: Duration = Duration::from_millis(500);
const FETCH_TIMEOUT: Duration = Duration::from_secs(3);

/// A queue of clients, a clock, and a fake state of the node's state machine.
struct Rig {
    locks: Locks,
    now: Instant,
    machine: MachineState,
    notices: Vec<(ClientId, Notice)>,
}

impl Rig {
    fn new() -> Self {
        let now = Instant::from_nanos(1_000_000_000);
        Self {
            locks: Locks::default(),
            now,
            machine: MachineState {
                may_use: true,
                turn: 1,
                ends: 0,
                loss: LossReason::Lease,
                lease_until: now + LEASE,
                step: LEASE / 8,
            },
            notices: Vec::new(),
        }
    }

    /// Creates a node that leads, with these clients. The first client holds the token.
    fn with_clients(clients: &[ClientId]) -> Self {
        let mut rig = Self::new();
        for &client in clients {
            rig.ask(client, plain()).unwrap();
        }
        rig.update();
        rig.take_notices();
        rig
    }

    fn ask(&mut self, id: ClientId, request: LockRequest) -> Result<(), RefusalReason> {
        let client = Client {
            id,
            pid: None,
            uid: None,
        };
        self.locks.request(self.now, client, request, FETCH_TIMEOUT)
    }

    /// Calls `update` until it returns no command. Returns the commands.
    fn update(&mut self) -> Vec<Command> {
        if self.machine.may_use {
            self.machine.lease_until = self.now + LEASE;
        }
        let mut commands = Vec::new();
        let notices = &mut self.notices;
        let mut tell = |client, _: &LockRequest, notice| notices.push((client, notice));
        while let Some(command) = self.locks.update(self.now, &self.machine, &mut tell) {
            commands.push(command);
            assert!(commands.len() < 5, "{commands:?}");
        }
        commands
    }

    fn pass(&mut self, time: Duration) -> Vec<Command> {
        self.now = self.now + time;
        self.update()
    }

    fn take_notices(&mut self) -> Vec<(ClientId, Notice)> {
        std::mem::take(&mut self.notices)
    }

    fn lose_token(&mut self) {
        self.machine.may_use = false;
        self.machine.ends += 1;
        self.machine.lease_until = self.now;
    }

    fn regain_token(&mut self) {
        self.machine.may_use = true;
        self.machine.turn += 1;
    }
}

fn plain() -> LockRequest {
    LockRequest::default()
}

fn waiting(ms: u64) -> LockRequest {
    LockRequest {
        wait_ms: Some(ms),
        ..plain()
    }
}

#[test]
fn each_turn_grants_the_token_to_one_client() {
    let mut rig = Rig::new();
    rig.ask(1, plain()).unwrap();
    rig.ask(2, plain()).unwrap();
    assert_eq!(rig.update(), [Command::Work(true)]);
    let until = rig.now + LEASE;
    assert_eq!(rig.take_notices(), [(1, Notice::Granted(1, until))]);
    assert!(rig.locks.holds(1) && !rig.locks.holds(2) && rig.locks.involves(2));
    assert!(rig.locks.release(1));
    // The other nodes get their turns first.
    assert_eq!(rig.update(), [Command::Work(false)]);
    rig.lose_token();
    assert_eq!(rig.update(), [Command::Work(true)]);
    assert_eq!(rig.take_notices(), []);
    rig.regain_token();
    assert_eq!(rig.update(), []);
    assert_eq!(rig.take_notices(), [(2, Notice::Granted(2, until))]);
    rig.locks.release(2);
    assert_eq!(rig.update(), [Command::Work(false)]);
    assert!(rig.locks.is_idle());
}

#[test]
fn a_lease_is_renewed_in_steps() {
    let mut rig = Rig::with_clients(&[1]);
    rig.pass(LEASE / 16);
    assert_eq!(rig.take_notices(), []);
    rig.pass(LEASE / 16);
    let until = rig.now + LEASE;
    assert_eq!(rig.take_notices(), [(1, Notice::Renewed(until))]);
}

#[test]
fn a_loss_is_reported_with_its_reason_even_if_the_token_has_returned() {
    for (loss, is_at_once) in [
        (LossReason::Lease, false),
        (LossReason::StrongerToken, true),
    ] {
        let mut rig = Rig::with_clients(&[1]);
        let until = rig.now + LEASE;
        rig.lose_token();
        rig.machine.loss = loss;
        rig.regain_token();
        rig.ask(2, plain()).unwrap();
        rig.update();
        let ends_by = if is_at_once { rig.now } else { until };
        assert_eq!(rig.take_notices(), [(1, Notice::Lost(loss, ends_by))]);
        // The holder may not have read the notice. So no other client gets the token before the holder's lease ends.
        rig.pass(LEASE / 2);
        assert_eq!(rig.take_notices(), []);
        rig.pass(LEASE / 2);
        assert_eq!(rig.take_notices().len(), 1, "the other one has it");
        assert!(rig.locks.holds(2));
    }
}

#[test]
fn a_disconnected_holder_keeps_others_out_until_its_lease_ends() {
    let mut rig = Rig::with_clients(&[1]);
    let left = rig.locks.on_client_gone(rig.now, 1);
    assert!(left.is_some() && rig.locks.is_held() && rig.locks.held_grant().is_none());
    assert!(
        rig.locks.on_client_gone(rig.now, 1).is_none(),
        "reported once"
    );
    rig.pass(LEASE);
    assert!(!rig.locks.is_held());
    rig.ask(2, plain()).unwrap();
    assert!(rig.locks.on_client_gone(rig.now, 2).is_none());
    assert!(!rig.locks.involves(2));
}

#[test]
fn an_impatient_client_is_refused_at_once_or_after_the_fetch_timeout() {
    let mut rig = Rig::new();
    rig.lose_token();
    rig.ask(1, waiting(0)).unwrap();
    assert_eq!(rig.ask(2, waiting(0)), Err(RefusalReason::Busy));
    rig.ask(3, waiting(100)).unwrap();
    rig.pass(Duration::from_millis(100));
    let timeout = Notice::Refused(RefusalReason::Timeout);
    assert_eq!(rig.take_notices(), [(3, timeout)]);
    assert_eq!(
        rig.locks.deadline(),
        Some(rig.now.before(Duration::from_millis(100)) + FETCH_TIMEOUT)
    );
    rig.pass(FETCH_TIMEOUT);
    assert_eq!(rig.take_notices(), [(1, timeout)]);
    for id in 0..WAITING_CLIENTS_MAX as u64 {
        rig.ask(id, plain()).unwrap();
    }
    assert_eq!(rig.ask(9999, plain()), Err(RefusalReason::QueueFull));
}

#[test]
fn a_holder_gets_notice_before_its_maximum_hold() {
    let mut rig = Rig::new();
    let request = LockRequest {
        max_hold_ms: Some(400),
        ..plain()
    };
    rig.ask(1, request).unwrap();
    rig.update();
    let end = rig.now + Duration::from_millis(400);
    assert_eq!(
        rig.locks.deadline(),
        Some(end.before(Duration::from_millis(100)))
    );
    rig.take_notices();
    rig.pass(Duration::from_millis(300));
    assert_eq!(
        rig.take_notices(),
        [(1, Notice::Lost(LossReason::MaxHold, end))]
    );
}

#[test]
fn a_yielded_token_leaves_once_its_holder_has_released_it() {
    let mut rig = Rig::with_clients(&[1, 2]);
    rig.locks.yield_token();
    assert_eq!(rig.update(), []);
    // The work may continue at most until the end of the lease.
    let until = rig.now + ENDING_NOTICE.min(LEASE);
    assert_eq!(
        rig.take_notices(),
        [(1, Notice::Lost(LossReason::Yield, until))]
    );
    rig.locks.release(1);
    assert_eq!(rig.update(), [Command::Work(false), Command::Yield]);
    assert_eq!(
        rig.take_notices(),
        [],
        "the other one is not granted it in this turn"
    );
    rig.lose_token();
    rig.locks.yield_token();
    assert_eq!(
        rig.update(),
        [Command::Work(true)],
        "it has gone on already"
    );
}

#[test]
fn a_shutdown_ends_all_locks_and_requests() {
    let mut rig = Rig::with_clients(&[1, 2]);
    rig.locks.stop_granting();
    assert_eq!(rig.ask(3, plain()), Err(RefusalReason::Leaving));
    rig.update();
    let notices = rig.take_notices();
    let until = rig.now + LEASE;
    assert_eq!(
        notices,
        [
            (1, Notice::Lost(LossReason::Shutdown, until)),
            (2, Notice::Refused(RefusalReason::Leaving)),
        ]
    );
    rig.locks.release(1);
    rig.update();
    assert!(rig.locks.is_idle());
}
