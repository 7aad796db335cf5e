//! Tests of the queue from the view of its clients and the state machine.

#![allow(
    clippy::unchecked_time_subtraction,
    reason = "a test that subtracts too much fails"
)]

mod grades;
mod jobs;
mod pausing;

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use ring_control::lab2::{Grade, LockRequest, LossReason, RefusalReason};
use ring_host::WAITING_CLIENTS_MAX;
use ring_proto::lab2::{Command, Reason, State};
use ring_proto::time::Instant;

use super::{Client, ClientId, Locks, MachineState, Notice};

const LEASE: Duration = Duration::from_millis(400);
const HEARTBEAT: Duration = Duration::from_millis(100);

fn token(progress: u64) -> Token {
    Token {
        progress,
        author: MacAddr([2, 0, 0, 0, 0, 1]),
        number: 1,
    }
}

fn client(id: ClientId) -> Client {
    Client {
        id,
        pid: None,
        uid: None,
    }
}

fn waiting(ms: u64) -> LockRequest {
    LockRequest {
        wait_ms: Some(ms),
        ..LockRequest::default()
    }
}

/// A queue and a fake machine. The machine executes commands at once.
struct Rig {
    locks: Locks,
    now: Instant,
    machine: MachineState,
    commands: Vec<Command>,
}

impl Rig {
    /// Creates a node without the token.
    fn new() -> Self {
        Self {
            locks: Locks::default(),
            now: Instant::from_nanos(1_000_000_000),
            machine: MachineState {
                token: None,
                first: None,
                lease_until: Instant::from_nanos(0),
                grade: Grade::Alone,
                grade_until: Instant::from_nanos(0),
                waiter_timeout: LEASE,
                take_timeout: HEARTBEAT / 20,
                asking_lasts: 3 * LEASE,
                others_want: false,
                is_turn_over: false,
                state: State::Waiter,
                last_loss: None,
                link_up: true,
                once: None,
            },
            commands: Vec::new(),
        }
    }

    fn has_token(progress: u64) -> Self {
        let mut rig = Self::new();
        rig.take_token(progress);
        rig
    }

    fn take_token(&mut self, progress: u64) {
        self.machine.token = Some(token(progress));
        self.machine.first = self.machine.token;
        self.machine.state = State::Owner;
        self.machine.lease_until = self.now + LEASE;
    }

    /// Gives the node a new token in the same tenure, as if it had outbid another owner.
    fn outbid_with(&mut self, progress: u64) {
        self.machine.token = Some(token(progress));
    }

    fn lose_token(&mut self, state: State) {
        (self.machine.token, self.machine.state) = (None, state);
    }

    fn want(&mut self, id: ClientId) -> Vec<(ClientId, Notice)> {
        self.want_with(id, LockRequest::default())
    }

    fn want_with(&mut self, id: ClientId, request: LockRequest) -> Vec<(ClientId, Notice)> {
        let client = client(id);
        let asked = self
            .locks
            .request(self.now, client, request, None, HEARTBEAT);
        let mut notices = self.update();
        if let Err(why) = asked {
            notices.push((id, Notice::Refused(why)));
        }
        notices
    }

    fn update(&mut self) -> Vec<(ClientId, Notice)> {
        let mut notices = Vec::new();
        for _ in 0..10 {
            let (now, machine) = (self.now, self.machine);
            let mut tell = |client, _: &LockRequest, notice| notices.push((client, notice));
            let Some(command) = self.locks.update(now, &machine, &mut tell) else {
                return notices;
            };
            let leaves = match command {
                Command::Yield(_) | Command::Pause(Some(_)) => true,
                Command::WorkDone => self.machine.others_may_want(),
                _ => false,
            };
            if leaves {
                self.lose_token(State::Waiter);
            }
            self.commands.push(command);
        }
        panic!("it has no end: {:?}", self.commands);
    }

    fn release(&mut self, id: ClientId) -> Vec<(ClientId, Notice)> {
        assert!(self.locks.release(id), "it had nothing");
        self.update()
    }

    fn advance(&mut self, time: Duration) -> Vec<(ClientId, Notice)> {
        self.now = self.now + time;
        self.update()
    }

    /// Advances the time by `time` in small steps. Returns the notices.
    fn advance_in_steps(&mut self, time: Duration) -> Vec<(ClientId, Notice)> {
        let turn = Duration::from_millis(1);
        let turns = time.as_millis() / turn.as_millis();
        (0..turns).flat_map(|_| self.advance(turn)).collect()
    }

    /// Returns the number of times that the machine got this command.
    fn count(&self, command: &Command) -> usize {
        self.commands.iter().filter(|it| *it == command).count()
    }

    fn grant_notices(&self, id: ClientId) -> Vec<(ClientId, Notice)> {
        self.granted_until(id, self.machine.lease_until)
    }

    fn granted_until(&self, id: ClientId, until: Instant) -> Vec<(ClientId, Notice)> {
        let token = self.machine.token.expect("it is here");
        vec![(id, Notice::Granted { token, until })]
    }
}

#[test]
fn a_client_gets_the_token_when_it_comes_and_the_machine_gets_one_command() {
    let mut rig = Rig::new();
    assert_eq!(rig.want(1), []);
    assert_eq!(rig.commands, [Command::WantToken]);
    rig.take_token(5);
    assert_eq!(rig.update(), rig.grant_notices(1));
    assert_eq!(rig.locks.held_token(), Some(token(5)));
    assert_eq!(rig.release(1), []);
    assert_eq!(rig.commands, [Command::WantToken, Command::WorkDone]);
    assert!(rig.locks.is_idle());
}

#[test]
fn clients_get_the_token_in_order() {
    let mut rig = Rig::has_token(5);
    assert_eq!(rig.want(1), rig.grant_notices(1));
    assert_eq!((rig.want(2), rig.want(3)), (vec![], vec![]));
    assert_eq!(rig.release(1), rig.grant_notices(2));
    assert_eq!(rig.release(2), rig.grant_notices(3));
    assert_eq!(rig.release(3), []);
    assert_eq!(rig.commands, [Command::WantToken, Command::WorkDone]);
}

#[test]
fn a_client_that_leaves_gives_up_its_place() {
    let mut rig = Rig::has_token(5);
    rig.want(1);
    rig.want(2);
    rig.want(3);
    assert_eq!(rig.release(2), []);
    assert!(!rig.locks.involves(2) && rig.locks.involves(3));
    assert_eq!(rig.release(1), rig.grant_notices(3));
}

/// The work of a disconnected client may still run for a moment, but at most until the end of its lease.
#[test]
fn a_disconnected_holder_keeps_the_token_until_its_lease_ends() {
    let mut rig = Rig::has_token(5);
    rig.want(1);
    rig.want(2);
    rig.locks.on_client_gone(rig.now, 1);
    assert_eq!(rig.locks.held_token(), None, "its lock has ended");
    assert_eq!(rig.advance_in_steps(LEASE - Duration::from_millis(1)), []);
    assert_eq!(
        rig.advance_in_steps(Duration::from_millis(1)),
        rig.grant_notices(2)
    );
    rig.want(3);
    rig.locks.on_client_gone(rig.now, 3);
    assert!(!rig.locks.involves(3), "a waiting client has no work");
}

#[test]
fn while_others_want_it_a_node_has_one_grant_per_turn() {
    let mut rig = Rig::has_token(5);
    rig.want(1);
    rig.want(2);
    rig.machine.others_want = true;
    assert_eq!(rig.release(1), []);
    let asked = [Command::WantToken, Command::WorkDone, Command::WantToken];
    assert_eq!(rig.commands, asked);
    rig.take_token(8);
    assert_eq!(rig.update(), rig.grant_notices(2));
}

/// If requests of other members are lost, programs that take turns must not keep the token forever.
#[test]
fn after_its_turn_a_node_grants_the_token_only_in_the_next_one() {
    let mut rig = Rig::has_token(5);
    rig.want(1);
    rig.want(2);
    rig.want(3);
    assert_eq!(rig.release(1), rig.grant_notices(2));
    rig.machine.is_turn_over = true;
    assert_eq!(rig.release(2), []);
    let asked = [Command::WantToken, Command::WorkDone, Command::WantToken];
    assert_eq!(rig.commands, asked);
    rig.machine.is_turn_over = false;
    rig.take_token(8);
    assert_eq!(rig.update(), rig.grant_notices(3));
}

#[test]
fn a_holder_is_told_that_its_lease_is_extended() {
    let mut rig = Rig::has_token(5);
    rig.want(1);
    assert_eq!(rig.advance(HEARTBEAT), []);
    rig.machine.lease_until = rig.now + LEASE;
    let until = rig.machine.lease_until;
    assert_eq!(rig.update(), [(1, Notice::Renewed { until })]);
    assert_eq!(rig.update(), []);
}

#[test]
fn a_lost_token_has_the_reason_of_the_loss() {
    let at_once = Rig::new().now;
    let lease = at_once + LEASE;
    let (waiter, looser) = (State::Waiter, State::Looser);
    for (state, reason, link_up, why, until) in [
        (
            waiter,
            Reason::StrongerToken,
            true,
            LossReason::StrongerToken,
            at_once,
        ),
        (looser, Reason::LeaseExpired, true, LossReason::Lease, lease),
        (
            State::Generating,
            Reason::LeaseExpired,
            true,
            LossReason::Lease,
            lease,
        ),
        (
            looser,
            Reason::NotStored,
            true,
            LossReason::NotStored,
            lease,
        ),
        (
            looser,
            Reason::NoTaker,
            true,
            LossReason::NobodyTakes,
            lease,
        ),
        (looser, Reason::Apart, true, LossReason::Apart, lease),
        (looser, Reason::LinkLost, false, LossReason::Link, lease),
        (looser, Reason::LinkLost, true, LossReason::Link, lease),
    ] {
        let mut rig = Rig::has_token(5);
        rig.want(1);
        rig.lose_token(state);
        rig.machine.link_up = link_up;
        rig.machine.last_loss = Some(reason);
        assert_eq!(rig.update(), [(1, Notice::Lost { why, until })]);
        assert_eq!(rig.locks.held_token(), None);
        assert_eq!(rig.commands.last(), Some(&Command::WorkDone));
    }
}

#[test]
fn a_lock_continues_while_its_node_outbids_other_owners() {
    for others_want in [false, true] {
        let mut rig = Rig::has_token(5);
        rig.want(1);
        rig.want(2);
        for outbid in [7, 9] {
            rig.outbid_with(outbid);
            assert_eq!(rig.update(), []);
            assert_eq!(
                rig.locks.held_token(),
                Some(token(5)),
                "as its holder was told"
            );
        }
        rig.machine.others_want = others_want;
        let now = rig.release(1);
        if others_want {
            assert_eq!(now, [], "one grant for each turn");
            assert_eq!(rig.machine.state, State::Waiter);
        } else {
            assert_eq!(now, rig.grant_notices(2), "under the current token");
            assert_eq!(rig.locks.held_token(), Some(token(9)));
        }
    }
}

#[test]
fn another_token_does_not_continue_a_lock() {
    let mut rig = Rig::has_token(5);
    rig.want(1);
    rig.want(2);
    rig.take_token(7);
    let (why, until) = (LossReason::StrongerToken, rig.now);
    assert_eq!(rig.update(), [(1, Notice::Lost { why, until })]);
    assert_eq!(
        rig.update(),
        [],
        "not granted before its holder has released it"
    );
    assert_eq!(rig.release(1), rig.grant_notices(2));
}

#[test]
fn a_client_is_refused_after_its_waiting_time() {
    let mut rig = Rig::new();
    rig.want_with(1, waiting(50));
    let due = rig.locks.deadline().expect("it gives up");
    assert_eq!(due, rig.now + Duration::from_millis(50));
    assert_eq!(rig.advance(Duration::from_millis(49)), []);
    let refused = Notice::Refused(RefusalReason::Timeout);
    assert_eq!(rig.advance(Duration::from_millis(1)), [(1, refused)]);
    assert_eq!(rig.commands, [Command::WantToken, Command::WorkDone]);
}

#[test]
fn a_client_that_does_not_wait_gives_the_token_time_to_come() {
    let mut rig = Rig::new();
    assert_eq!(rig.want_with(1, waiting(0)), []);
    assert_eq!(rig.locks.deadline(), Some(rig.now + HEARTBEAT));
    let busy = Notice::Refused(RefusalReason::Busy);
    assert_eq!(rig.want_with(2, waiting(0)), [(2, busy)]);
    rig.take_token(5);
    assert_eq!(rig.update(), rig.grant_notices(1));
}

#[test]
fn a_holder_gets_notice_before_its_maximum_hold_and_is_dropped_later() {
    let mut rig = Rig::has_token(5);
    let request = LockRequest {
        max_hold_ms: Some(200),
        ..LockRequest::default()
    };
    rig.want_with(1, request);
    let end = rig.now + Duration::from_millis(200);
    assert_eq!(rig.advance(Duration::from_millis(149)), []);
    let (why, until) = (LossReason::MaxHold, end);
    let notices = rig.advance(Duration::from_millis(1));
    assert_eq!(notices, [(1, Notice::Lost { why, until })]);
    assert_eq!(rig.locks.held_token(), None, "it may no longer be used");
    assert!(rig.locks.is_held(), "but it is waited for");
    assert_eq!(rig.advance(Duration::from_millis(50)), []);
    assert!(rig.locks.is_held(), "it may not have read the notice");
    assert_eq!(rig.locks.deadline(), Some(rig.machine.lease_until));
    assert_eq!(rig.advance(LEASE - Duration::from_millis(200)), []);
    assert!(!rig.locks.is_held(), "the end of its last lease ends it");
    assert_eq!(rig.commands.last(), Some(&Command::WorkDone));
}

#[test]
fn a_yielded_token_leaves_once_its_holder_has_released_it() {
    let mut rig = Rig::has_token(5);
    rig.want(1);
    rig.want(2);
    rig.locks.yield_to(None);
    let notices = rig.update();
    let (why, until) = (LossReason::Yield, rig.machine.lease_until);
    assert_eq!(notices, [(1, Notice::Lost { why, until })]);
    assert_eq!(rig.release(1), []);
    assert_eq!(rig.commands, [Command::WantToken, Command::Yield(None)]);
    rig.take_token(9);
    assert_eq!(rig.update(), rig.grant_notices(2), "it still waits");
}

#[test]
fn a_shutdown_ends_the_work_and_the_waiting() {
    let mut rig = Rig::has_token(5);
    rig.want(1);
    rig.want(2);
    rig.locks.stop_granting();
    let (why, until) = (LossReason::Shutdown, rig.machine.lease_until);
    let leaving = Notice::Refused(RefusalReason::Leaving);
    let notices = [(1, Notice::Lost { why, until }), (2, leaving.clone())];
    assert_eq!(rig.update(), notices);
    assert_eq!(rig.want(3), [(3, leaving)]);
}

#[test]
fn the_number_of_waiting_clients_is_limited() {
    let mut rig = Rig::new();
    for id in 0..WAITING_CLIENTS_MAX as u64 {
        assert_eq!(rig.want(id), []);
    }
    let crowded = Notice::Refused(RefusalReason::QueueFull);
    assert_eq!(rig.want(9_999), [(9_999, crowded)]);
    assert_eq!(rig.locks.clients(rig.now).count(), WAITING_CLIENTS_MAX);
}

#[test]
fn a_yield_waits_until_the_token_may_be_granted() {
    let mut rig = Rig::new();
    rig.machine.state = State::Owner;
    rig.locks.yield_to(None);
    rig.update();
    assert_eq!(rig.commands, []);
    rig.take_token(7);
    rig.update();
    assert_eq!(rig.commands, [Command::Yield(None)]);
}

#[test]
fn a_yield_is_forgotten_if_the_token_is_lost_first() {
    let mut rig = Rig::new();
    rig.machine.state = State::Owner;
    rig.locks.yield_to(None);
    rig.update();
    rig.lose_token(State::Waiter);
    rig.update();
    rig.take_token(8);
    rig.update();
    assert_eq!(rig.commands, [], "another token is not meant");
}
