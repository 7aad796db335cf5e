//! The queue, seen by its clients and by the machine.

#![allow(
    clippy::unchecked_time_subtraction,
    reason = "a test that takes too much from a time-out fails"
)]

mod grades;
mod jobs;
mod pausing;

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use ring_control::lab2::{Grade, LockRequest, LossReason, RefusalReason};
use ring_host::MAX_WAITING;
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

/// A request that waits for so long.
fn waiting(ms: u64) -> LockRequest {
    LockRequest {
        wait_ms: Some(ms),
        ..LockRequest::default()
    }
}

/// A queue with its machine, which does at once what it is told.
struct Rig {
    locks: Locks,
    now: Instant,
    machine: MachineState,
    commands: Vec<Command>,
}

impl Rig {
    /// The token is elsewhere.
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
                patience: LEASE,
                take_timeout: HEARTBEAT / 20,
                asking_lasts: 3 * LEASE,
                others_want: false,
                turn_over: false,
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
        rig.comes(progress);
        rig
    }

    fn comes(&mut self, progress: u64) {
        self.machine.token = Some(token(progress));
        self.machine.first = self.machine.token;
        self.machine.state = State::Owner;
        self.machine.lease_until = self.now + LEASE;
    }

    /// The node has outbid another owner.
    fn goes_on_as(&mut self, progress: u64) {
        self.machine.token = Some(token(progress));
    }

    fn goes(&mut self, state: State) {
        (self.machine.token, self.machine.state) = (None, state);
    }

    fn wants(&mut self, id: ClientId) -> Vec<(ClientId, Notice)> {
        self.wants_so(id, LockRequest::default())
    }

    fn wants_so(&mut self, id: ClientId, request: LockRequest) -> Vec<(ClientId, Notice)> {
        let client = client(id);
        let asked = self
            .locks
            .request(self.now, client, request, None, HEARTBEAT);
        let mut told = self.update();
        if let Err(why) = asked {
            told.push((id, Notice::Refused(why)));
        }
        told
    }

    fn update(&mut self) -> Vec<(ClientId, Notice)> {
        let mut told = Vec::new();
        for _ in 0..10 {
            let (now, machine) = (self.now, self.machine);
            let mut tell = |client, _: &LockRequest, notice| told.push((client, notice));
            let Some(command) = self.locks.update(now, &machine, &mut tell) else {
                return told;
            };
            let goes = match command {
                Command::Yield(_) | Command::Pause(true) => true,
                Command::WorkDone => self.machine.others_may_want(),
                _ => false,
            };
            if goes {
                self.goes(State::Waiter);
            }
            self.commands.push(command);
        }
        panic!("it has no end: {:?}", self.commands);
    }

    fn release(&mut self, id: ClientId) -> Vec<(ClientId, Notice)> {
        assert!(self.locks.release(id), "it had nothing");
        self.update()
    }

    fn later(&mut self, time: Duration) -> Vec<(ClientId, Notice)> {
        self.now = self.now + time;
        self.update()
    }

    /// What was told while so much time passed, looked at often.
    fn live_through(&mut self, time: Duration) -> Vec<(ClientId, Notice)> {
        let turn = Duration::from_millis(1);
        let turns = time.as_millis() / turn.as_millis();
        (0..turns).flat_map(|_| self.later(turn)).collect()
    }

    /// How often the machine was told this.
    fn count(&self, command: &Command) -> usize {
        self.commands.iter().filter(|it| *it == command).count()
    }

    fn granted(&self, id: ClientId) -> Vec<(ClientId, Notice)> {
        self.granted_until(id, self.machine.lease_until)
    }

    fn granted_until(&self, id: ClientId, until: Instant) -> Vec<(ClientId, Notice)> {
        let token = self.machine.token.expect("it is here");
        vec![(id, Notice::Granted { token, until })]
    }
}

#[test]
fn a_client_gets_the_token_when_it_comes_and_the_machine_hears_of_it_once() {
    let mut rig = Rig::new();
    assert_eq!(rig.wants(1), []);
    assert_eq!(rig.commands, [Command::WantToken]);
    rig.comes(5);
    assert_eq!(rig.update(), rig.granted(1));
    assert_eq!(rig.locks.held(), Some(token(5)));
    assert_eq!(rig.release(1), []);
    assert_eq!(rig.commands, [Command::WantToken, Command::WorkDone]);
    assert!(rig.locks.is_idle());
}

#[test]
fn clients_get_it_in_the_order_in_which_they_came() {
    let mut rig = Rig::has_token(5);
    assert_eq!(rig.wants(1), rig.granted(1));
    assert_eq!((rig.wants(2), rig.wants(3)), (vec![], vec![]));
    assert_eq!(rig.release(1), rig.granted(2));
    assert_eq!(rig.release(2), rig.granted(3));
    assert_eq!(rig.release(3), []);
    assert_eq!(rig.commands, [Command::WantToken, Command::WorkDone]);
}

#[test]
fn one_that_goes_away_gives_up_its_place() {
    let mut rig = Rig::has_token(5);
    rig.wants(1);
    rig.wants(2);
    rig.wants(3);
    assert_eq!(rig.release(2), []);
    assert!(!rig.locks.concerns(2) && rig.locks.concerns(3));
    assert_eq!(rig.release(1), rig.granted(3));
}

/// Its work may be there for a moment longer: the lease that it was promised says how long.
#[test]
fn a_holder_that_is_gone_without_a_word_has_the_time_that_it_was_promised() {
    let mut rig = Rig::has_token(5);
    rig.wants(1);
    rig.wants(2);
    rig.locks.leave_behind(rig.now, 1);
    assert_eq!(rig.locks.held(), None, "nothing more is done in its name");
    assert_eq!(rig.live_through(LEASE - Duration::from_millis(1)), []);
    assert_eq!(rig.live_through(Duration::from_millis(1)), rig.granted(2));
    rig.wants(3);
    rig.locks.leave_behind(rig.now, 3);
    assert!(!rig.locks.concerns(3), "who waits has no work");
}

#[test]
fn while_others_want_it_a_node_has_one_grant_a_turn() {
    let mut rig = Rig::has_token(5);
    rig.wants(1);
    rig.wants(2);
    rig.machine.others_want = true;
    assert_eq!(rig.release(1), []);
    let asked = [Command::WantToken, Command::WorkDone, Command::WantToken];
    assert_eq!(rig.commands, asked);
    rig.comes(8);
    assert_eq!(rig.update(), rig.granted(2));
}

/// Programs that come one after the other must not keep the token for good where the others' wishes are not heard.
#[test]
fn when_its_turn_is_over_a_node_grants_nobody_else_before_the_next() {
    let mut rig = Rig::has_token(5);
    rig.wants(1);
    rig.wants(2);
    rig.wants(3);
    assert_eq!(rig.release(1), rig.granted(2));
    rig.machine.turn_over = true;
    assert_eq!(rig.release(2), []);
    let asked = [Command::WantToken, Command::WorkDone, Command::WantToken];
    assert_eq!(rig.commands, asked);
    rig.machine.turn_over = false;
    rig.comes(8);
    assert_eq!(rig.update(), rig.granted(3));
}

#[test]
fn a_holder_is_told_that_its_lease_is_longer() {
    let mut rig = Rig::has_token(5);
    rig.wants(1);
    assert_eq!(rig.later(HEARTBEAT), []);
    rig.machine.lease_until = rig.now + LEASE;
    let until = rig.machine.lease_until;
    assert_eq!(rig.update(), [(1, Notice::Renewed { until })]);
    assert_eq!(rig.update(), []);
}

#[test]
fn a_token_that_is_gone_is_lost_for_the_reason_that_shows() {
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
            Reason::NobodyTakes,
            true,
            LossReason::NobodyTakes,
            lease,
        ),
        (looser, Reason::Apart, true, LossReason::Apart, lease),
        (looser, Reason::LinkLost, false, LossReason::Link, lease),
        (looser, Reason::LinkLost, true, LossReason::Link, lease),
    ] {
        let mut rig = Rig::has_token(5);
        rig.wants(1);
        rig.goes(state);
        rig.machine.link_up = link_up;
        rig.machine.last_loss = Some(reason);
        assert_eq!(rig.update(), [(1, Notice::Lost { why, until })]);
        assert_eq!(rig.locks.held(), None);
        assert_eq!(rig.commands.last(), Some(&Command::WorkDone));
    }
}

#[test]
fn a_lock_goes_on_while_its_node_outbids_other_owners_and_is_the_only_one_of_its_turn() {
    for others_want in [false, true] {
        let mut rig = Rig::has_token(5);
        rig.wants(1);
        rig.wants(2);
        for outbid in [7, 9] {
            rig.goes_on_as(outbid);
            assert_eq!(rig.update(), []);
            assert_eq!(rig.locks.held(), Some(token(5)), "as its holder was told");
        }
        rig.machine.others_want = others_want;
        let now = rig.release(1);
        if others_want {
            assert_eq!(now, [], "one grant for each turn");
            assert_eq!(rig.machine.state, State::Waiter);
        } else {
            assert_eq!(now, rig.granted(2), "under the token of now");
            assert_eq!(rig.locks.held(), Some(token(9)));
        }
    }
}

#[test]
fn another_token_in_its_place_is_not_the_one_that_was_granted() {
    let mut rig = Rig::has_token(5);
    rig.wants(1);
    rig.wants(2);
    rig.comes(7);
    let (why, until) = (LossReason::StrongerToken, rig.now);
    assert_eq!(rig.update(), [(1, Notice::Lost { why, until })]);
    assert_eq!(
        rig.update(),
        [],
        "nor another's before its holder has let go"
    );
    assert_eq!(rig.release(1), rig.granted(2));
}

#[test]
fn one_that_waits_for_so_long_only_is_refused_then() {
    let mut rig = Rig::new();
    rig.wants_so(1, waiting(50));
    let due = rig.locks.deadline().expect("it gives up");
    assert_eq!(due, rig.now + Duration::from_millis(50));
    assert_eq!(rig.later(Duration::from_millis(49)), []);
    let refused = Notice::Refused(RefusalReason::Timeout);
    assert_eq!(rig.later(Duration::from_millis(1)), [(1, refused)]);
    assert_eq!(rig.commands, [Command::WantToken, Command::WorkDone]);
}

#[test]
fn one_that_does_not_want_to_wait_gives_the_token_time_to_come() {
    let mut rig = Rig::new();
    assert_eq!(rig.wants_so(1, waiting(0)), []);
    assert_eq!(rig.locks.deadline(), Some(rig.now + HEARTBEAT));
    let busy = Notice::Refused(RefusalReason::Busy);
    assert_eq!(rig.wants_so(2, waiting(0)), [(2, busy)]);
    rig.comes(5);
    assert_eq!(rig.update(), rig.granted(1));
}

#[test]
fn a_holder_is_warned_before_its_longest_time_ends_and_dropped_then() {
    let mut rig = Rig::has_token(5);
    let request = LockRequest {
        max_hold_ms: Some(200),
        ..LockRequest::default()
    };
    rig.wants_so(1, request);
    let end = rig.now + Duration::from_millis(200);
    assert_eq!(rig.later(Duration::from_millis(149)), []);
    let (why, until) = (LossReason::MaxHold, end);
    let told = rig.later(Duration::from_millis(1));
    assert_eq!(told, [(1, Notice::Lost { why, until })]);
    assert_eq!(rig.locks.held(), None, "it may no longer be used");
    assert!(rig.locks.is_held(), "but it is waited for");
    assert_eq!(rig.later(Duration::from_millis(50)), []);
    assert!(rig.locks.is_held(), "it may not have heard of it");
    assert_eq!(rig.locks.deadline(), Some(rig.machine.lease_until));
    assert_eq!(rig.later(LEASE - Duration::from_millis(200)), []);
    assert!(!rig.locks.is_held(), "what it was told before ends it");
    assert_eq!(rig.commands.last(), Some(&Command::WorkDone));
}

#[test]
fn a_token_that_is_to_go_goes_once_its_holder_has_let_go() {
    let mut rig = Rig::has_token(5);
    rig.wants(1);
    rig.wants(2);
    rig.locks.yield_to(None);
    let told = rig.update();
    let (why, until) = (LossReason::Yield, rig.machine.lease_until);
    assert_eq!(told, [(1, Notice::Lost { why, until })]);
    assert_eq!(rig.release(1), []);
    assert_eq!(rig.commands, [Command::WantToken, Command::Yield(None)]);
    rig.comes(9);
    assert_eq!(rig.update(), rig.granted(2), "it still waits");
}

#[test]
fn a_shutdown_ends_the_work_and_the_waiting() {
    let mut rig = Rig::has_token(5);
    rig.wants(1);
    rig.wants(2);
    rig.locks.leave();
    let (why, until) = (LossReason::Shutdown, rig.machine.lease_until);
    let leaving = Notice::Refused(RefusalReason::Leaving);
    let told = [(1, Notice::Lost { why, until }), (2, leaving.clone())];
    assert_eq!(rig.update(), told);
    assert_eq!(rig.wants(3), [(3, leaving)]);
}

#[test]
fn so_many_may_wait_and_no_more() {
    let mut rig = Rig::new();
    for id in 0..MAX_WAITING as u64 {
        assert_eq!(rig.wants(id), []);
    }
    let crowded = Notice::Refused(RefusalReason::Crowded);
    assert_eq!(rig.wants(9_999), [(9_999, crowded)]);
    assert_eq!(rig.locks.clients(rig.now).count(), MAX_WAITING);
}

#[test]
fn a_yield_waits_until_the_token_may_be_granted() {
    let mut rig = Rig::new();
    rig.machine.state = State::Owner;
    rig.locks.yield_to(None);
    rig.update();
    assert_eq!(rig.commands, []);
    rig.comes(7);
    rig.update();
    assert_eq!(rig.commands, [Command::Yield(None)]);
}

#[test]
fn a_yield_is_forgotten_where_the_token_is_gone_before() {
    let mut rig = Rig::new();
    rig.machine.state = State::Owner;
    rig.locks.yield_to(None);
    rig.update();
    rig.goes(State::Waiter);
    rig.update();
    rig.comes(8);
    rig.update();
    assert_eq!(rig.commands, [], "another token is not meant");
}
