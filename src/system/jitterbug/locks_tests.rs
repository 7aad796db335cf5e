use std::time::Duration;

use ring_control::jitterbug::{LockRequest, LossReason, RefusalReason};
use ring_host::{MAX_WAITING, NOTICE};
use ring_process::{Client, ClientId};
use ring_proto::jitterbug::Command;
use ring_proto::time::Instant;

use super::{Locks, MachineState, Notice};

const LEASE: Duration = Duration::from_millis(500);
const WAY: Duration = Duration::from_secs(3);

/// The queue, the clock, and the machine that it is beside.
struct Rig {
    locks: Locks,
    now: Instant,
    machine: MachineState,
    told: Vec<(ClientId, Notice)>,
}

impl Rig {
    /// A node that leads.
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
            told: Vec::new(),
        }
    }

    /// A node that leads, with these clients, of which the first works with the token.
    fn with_clients(clients: &[ClientId]) -> Self {
        let mut rig = Self::new();
        for &client in clients {
            rig.ask(client, plain()).unwrap();
        }
        rig.update();
        rig.take_told();
        rig
    }

    fn ask(&mut self, id: ClientId, request: LockRequest) -> Result<(), RefusalReason> {
        let client = Client {
            id,
            pid: None,
            uid: None,
        };
        self.locks.request(self.now, client, request, WAY)
    }

    /// Updates until there is nothing more to do. Returns the commands.
    fn update(&mut self) -> Vec<Command> {
        if self.machine.may_use {
            self.machine.lease_until = self.now + LEASE;
        }
        let mut commands = Vec::new();
        let told = &mut self.told;
        let mut tell = |client, _: &LockRequest, notice| told.push((client, notice));
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

    fn take_told(&mut self) -> Vec<(ClientId, Notice)> {
        std::mem::take(&mut self.told)
    }

    /// The token has gone on.
    fn go_on(&mut self) {
        self.machine.may_use = false;
        self.machine.ends += 1;
        self.machine.lease_until = self.now;
    }

    /// The token has come again.
    fn come_again(&mut self) {
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
fn a_client_is_granted_the_token_and_the_next_one_in_the_next_turn() {
    let mut rig = Rig::new();
    rig.ask(1, plain()).unwrap();
    rig.ask(2, plain()).unwrap();
    assert_eq!(rig.update(), [Command::Work(true)]);
    let until = rig.now + LEASE;
    assert_eq!(rig.take_told(), [(1, Notice::Granted(1, until))]);
    assert!(rig.locks.holds(1) && !rig.locks.holds(2) && rig.locks.concerns(2));
    assert!(rig.locks.release(1));
    // The other nodes have their turns first.
    assert_eq!(rig.update(), [Command::Work(false)]);
    rig.go_on();
    assert_eq!(rig.update(), [Command::Work(true)]);
    assert_eq!(rig.take_told(), []);
    rig.come_again();
    assert_eq!(rig.update(), []);
    assert_eq!(rig.take_told(), [(2, Notice::Granted(2, until))]);
    rig.locks.release(2);
    assert_eq!(rig.update(), [Command::Work(false)]);
    assert!(rig.locks.is_idle());
}

#[test]
fn a_lease_is_renewed_in_steps() {
    let mut rig = Rig::with_clients(&[1]);
    rig.pass(LEASE / 16);
    assert_eq!(rig.take_told(), []);
    rig.pass(LEASE / 16);
    let until = rig.now + LEASE;
    assert_eq!(rig.take_told(), [(1, Notice::Renewed(until))]);
}

#[test]
fn who_has_lost_the_token_is_told_why_even_if_it_has_come_back_meanwhile() {
    for (loss, is_at_once) in [
        (LossReason::Lease, false),
        (LossReason::StrongerToken, true),
    ] {
        let mut rig = Rig::with_clients(&[1]);
        let until = rig.now + LEASE;
        rig.go_on();
        rig.machine.loss = loss;
        rig.come_again();
        rig.ask(2, plain()).unwrap();
        rig.update();
        let ends_by = if is_at_once { rig.now } else { until };
        assert_eq!(rig.take_told(), [(1, Notice::Lost(loss, ends_by))]);
        // It may not have heard that: nobody else is granted the token before its lease is over.
        rig.pass(LEASE / 2);
        assert_eq!(rig.take_told(), []);
        rig.pass(LEASE / 2);
        assert_eq!(rig.take_told().len(), 1, "the other one has it");
        assert!(rig.locks.holds(2));
    }
}

#[test]
fn who_is_gone_keeps_others_out_until_its_lease_is_over() {
    let mut rig = Rig::with_clients(&[1]);
    let left = rig.locks.leave_behind(rig.now, 1);
    assert!(left.is_some() && rig.locks.is_held() && rig.locks.held().is_none());
    assert!(
        rig.locks.leave_behind(rig.now, 1).is_none(),
        "it is told once"
    );
    rig.pass(LEASE);
    assert!(!rig.locks.is_held());
    rig.ask(2, plain()).unwrap();
    assert!(rig.locks.leave_behind(rig.now, 2).is_none());
    assert!(!rig.locks.concerns(2));
}

#[test]
fn who_does_not_want_to_wait_is_refused_at_once_or_when_the_token_could_have_come() {
    let mut rig = Rig::new();
    rig.go_on();
    rig.ask(1, waiting(0)).unwrap();
    assert_eq!(rig.ask(2, waiting(0)), Err(RefusalReason::Busy));
    rig.ask(3, waiting(100)).unwrap();
    rig.pass(Duration::from_millis(100));
    let timeout = Notice::Refused(RefusalReason::Timeout);
    assert_eq!(rig.take_told(), [(3, timeout)]);
    assert_eq!(
        rig.locks.deadline(),
        Some(rig.now.before(Duration::from_millis(100)) + WAY)
    );
    rig.pass(WAY);
    assert_eq!(rig.take_told(), [(1, timeout)]);
    for id in 0..MAX_WAITING as u64 {
        rig.ask(id, plain()).unwrap();
    }
    assert_eq!(rig.ask(9999, plain()), Err(RefusalReason::Crowded));
}

#[test]
fn a_holder_is_told_to_end_before_its_time_is_over() {
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
    rig.take_told();
    rig.pass(Duration::from_millis(300));
    assert_eq!(
        rig.take_told(),
        [(1, Notice::Lost(LossReason::MaxHold, end))]
    );
}

#[test]
fn a_token_that_is_to_go_on_does_so_once_its_holder_has_let_go() {
    let mut rig = Rig::with_clients(&[1, 2]);
    rig.locks.yield_token();
    assert_eq!(rig.update(), []);
    // No longer than the lease.
    let until = rig.now + NOTICE.min(LEASE);
    assert_eq!(
        rig.take_told(),
        [(1, Notice::Lost(LossReason::Yield, until))]
    );
    rig.locks.release(1);
    assert_eq!(rig.update(), [Command::Work(false), Command::Yield]);
    assert_eq!(
        rig.take_told(),
        [],
        "the other one is not granted it in this turn"
    );
    rig.go_on();
    rig.locks.yield_token();
    assert_eq!(
        rig.update(),
        [Command::Work(true)],
        "it has gone on already"
    );
}

#[test]
fn a_daemon_that_shuts_down_ends_all() {
    let mut rig = Rig::with_clients(&[1, 2]);
    rig.locks.leave();
    assert_eq!(rig.ask(3, plain()), Err(RefusalReason::Leaving));
    rig.update();
    let told = rig.take_told();
    let until = rig.now + LEASE;
    assert_eq!(
        told,
        [
            (1, Notice::Lost(LossReason::Shutdown, until)),
            (2, Notice::Refused(RefusalReason::Leaving)),
        ]
    );
    rig.locks.release(1);
    rig.update();
    assert!(rig.locks.is_idle());
}
