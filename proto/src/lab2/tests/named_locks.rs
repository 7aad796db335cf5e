//! Named locks on several nodes.

use std::time::Duration;

use ring_codec::lab2::{Kind, LockMode, LocksPurpose, Message, Token};

use super::network::Network;
use super::notation::{TAKE_TIMEOUT, WAITER_TIMEOUT, constants, here, ms, token};
use super::rig::Rig;
use crate::lab2::{
    Command, Constants, FOREVER, Grade, Lab2, LockName, LockProgram, LockRequest, LockView, State,
};

/// The length of a lease with the default constants.
const LEASE: Duration = Duration::from_millis(1_600);
/// After this time, the members of a ring have stored every change, and may agree to the table.
const SETTLED: Duration = Duration::from_secs(4);

fn request(session: u64, name: &str, mode: LockMode, grade: Grade) -> Command {
    Command::TakeLock(LockRequest {
        session,
        name: LockName::new(name).expect("a name"),
        mode,
        grade,
        program: LockProgram::new("test"),
    })
}

fn exclusive(session: u64, name: &str, grade: Grade) -> Command {
    request(session, name, LockMode::Exclusive, grade)
}

/// Returns a ring whose members have known each other for a while.
fn ring(n: u8) -> Network {
    let constants = Constants {
        expect: Some(n.into()),
        ..constants()
    };
    let mut ring = Network::new(n, constants, 1);
    ring.run(SETTLED);
    ring
}

fn machine(ring: &Network, at: usize) -> &Lab2 {
    ring.nodes[at].machine.as_ref().expect("a live node")
}

fn holds(ring: &Network, at: usize, session: u64) -> bool {
    let machine = ring.nodes[at].machine.as_ref();
    machine.is_some_and(|it| it.lock_lease_end(session) > Some(ring.now.monotonic))
}

fn views(ring: &Network, at: usize) -> Vec<LockView> {
    machine(ring, at).locks().collect()
}

fn owner(ring: &Network) -> usize {
    let owns = |it: &Lab2| it.state() == State::Owner;
    let mut places = 0..ring.nodes.len();
    let found = places.find(|&at| ring.nodes[at].machine.as_ref().is_some_and(owns));
    found.expect("an owner")
}

fn wait_for(ring: &mut Network, at: usize, session: u64, limit: Duration) -> Duration {
    ring.run_until(limit, |ring| holds(ring, at, session))
}

const GRADES: [Grade; 3] = [Grade::Alone, Grade::AllHeard, Grade::Quorum];

#[test]
fn a_lock_is_granted_while_another_node_holds_the_token() {
    for grade in GRADES {
        let mut ring = ring(3);
        ring.command(0, Command::WantToken);
        ring.run(WAITER_TIMEOUT);
        assert_eq!(owner(&ring), 0);
        ring.command(1, exclusive(7, "backup", grade));
        wait_for(&mut ring, 1, 7, 4 * TAKE_TIMEOUT);
        ring.command(2, exclusive(8, "index", grade));
        wait_for(&mut ring, 2, 8, 4 * TAKE_TIMEOUT);
        assert_eq!(owner(&ring), 0, "{grade:?}");
    }
}

/// Whether a node leaves to its guardian an offer that waits for no program.
fn has_last_offer(ring: &Network) -> bool {
    has_last_offer_with_reports(ring, false)
}

/// Whether a node leaves an offer to its guardian. `after_programs` is whether the guardian must wait for programs.
fn has_last_offer_with_reports(ring: &Network, after_programs: bool) -> bool {
    let offers = |at| {
        let machine = machine(ring, at);
        let frames = machine.last_frames(after_programs, &mut [0; 1600], &mut [0; 64]);
        frames.is_some_and(|it| it.offer.is_some() && it.after_programs == after_programs)
    };
    (0..ring.nodes.len()).any(offers)
}

/// The next owner may not know a lock that its giver has just granted.
#[test]
fn an_owner_whose_program_has_a_lock_leaves_an_offer_only_for_the_time_after_the_program() {
    let mut ring = ring(3);
    ring.run_until(WAITER_TIMEOUT, has_last_offer);
    for (at, name) in [(0, "a"), (1, "b"), (2, "c")] {
        ring.command(at, exclusive(7, name, Grade::Alone));
        wait_for(&mut ring, at, 7, WAITER_TIMEOUT);
    }
    for _ in 0..100 {
        assert!(!has_last_offer(&ring));
        ring.run(TAKE_TIMEOUT);
    }
    ring.run_until(WAITER_TIMEOUT, |ring| {
        has_last_offer_with_reports(ring, true)
    });
    for at in 0..3 {
        ring.command(at, Command::ReleaseLock(7));
    }
    ring.run_until(WAITER_TIMEOUT, has_last_offer);
}

#[test]
fn frames_have_no_standing_before_the_first_lock() {
    for grade in GRADES {
        let mut ring = ring(3);
        assert_eq!(ring.standings, 0, "{grade:?}");
        ring.command(0, exclusive(7, "backup", grade));
        wait_for(&mut ring, 0, 7, 4 * TAKE_TIMEOUT);
        ring.run(WAITER_TIMEOUT);
        assert!(ring.standings > 0, "{grade:?}");
    }
}

#[test]
fn a_second_session_waits_until_the_first_ends() {
    for grade in GRADES {
        let mut ring = ring(3);
        ring.command(0, exclusive(7, "backup", grade));
        wait_for(&mut ring, 0, 7, WAITER_TIMEOUT);
        ring.command(1, exclusive(8, "backup", grade));
        ring.run(WAITER_TIMEOUT);
        ring.command(2, exclusive(9, "backup", grade));
        ring.run(2 * LEASE);
        assert!(holds(&ring, 0, 7) && !holds(&ring, 1, 8) && !holds(&ring, 2, 9));
        ring.command(0, Command::ReleaseLock(7));
        wait_for(&mut ring, 1, 8, WAITER_TIMEOUT);
        assert!(!holds(&ring, 0, 7) && !holds(&ring, 2, 9));
        ring.command(1, Command::ReleaseLock(8));
        wait_for(&mut ring, 2, 9, WAITER_TIMEOUT);
        ring.command(2, Command::ReleaseLock(9));
        ring.run(WAITER_TIMEOUT);
        for at in 0..3 {
            assert_eq!(views(&ring, at), [], "{grade:?}");
        }
    }
}

#[test]
fn a_session_that_waited_gets_its_lock_after_a_majority_has_stored_it() {
    let mut ring = ring(5);
    // The owner knows its change before all other members.
    ring.command(1, Command::WantToken);
    ring.run(WAITER_TIMEOUT);
    assert_eq!(owner(&ring), 1);
    ring.command(0, exclusive(7, "backup", Grade::Quorum));
    wait_for(&mut ring, 0, 7, WAITER_TIMEOUT);
    ring.command(1, exclusive(8, "backup", Grade::Quorum));
    // In this time, the session that waits renews its lease several times.
    ring.run(LEASE);
    ring.command(0, Command::ReleaseLock(7));
    let has_stored = |ring: &Network, at| {
        let views = views(ring, at);
        views.iter().any(|it| it.session == 8 && it.is_held)
    };
    ring.run_checking(WAITER_TIMEOUT, |ring| {
        let stored = (0..5).filter(|&at| has_stored(ring, at)).count();
        assert!(!holds(ring, 1, 8) || stored > 2, "{stored} of 5");
    });
    assert!(holds(&ring, 1, 8));
}

#[test]
fn shared_sessions_hold_together_and_an_exclusive_one_waits() {
    let mut ring = ring(3);
    let shared = |session| request(session, "index", LockMode::Shared, Grade::Quorum);
    ring.command(0, shared(7));
    ring.command(1, shared(8));
    wait_for(&mut ring, 0, 7, WAITER_TIMEOUT);
    wait_for(&mut ring, 1, 8, WAITER_TIMEOUT);
    ring.command(2, exclusive(9, "index", Grade::Quorum));
    ring.run(WAITER_TIMEOUT);
    // A later shared session must not overtake the waiting session.
    ring.command(0, shared(10));
    ring.run(WAITER_TIMEOUT);
    assert!(!holds(&ring, 2, 9) && !holds(&ring, 0, 10));
    ring.command(0, Command::ReleaseLock(7));
    ring.command(1, Command::ReleaseLock(8));
    wait_for(&mut ring, 2, 9, WAITER_TIMEOUT);
    assert!(!holds(&ring, 0, 10));
    ring.command(2, Command::ReleaseLock(9));
    wait_for(&mut ring, 0, 10, WAITER_TIMEOUT);
}

#[test]
fn a_lock_survives_the_owner() {
    for grade in [Grade::Alone, Grade::Quorum] {
        let mut ring = ring(3);
        let dies = owner(&ring);
        let (holder, other) = ((dies + 1) % 3, (dies + 2) % 3);
        ring.command(holder, exclusive(7, "backup", grade));
        wait_for(&mut ring, holder, 7, WAITER_TIMEOUT);
        let dies = owner(&ring);
        if dies == holder {
            continue;
        }
        ring.kill(dies);
        ring.command(other, exclusive(8, "backup", grade));
        ring.run_checking(4 * LEASE, |ring| {
            assert!(holds(ring, holder, 7), "{grade:?}:\n{}", ring.trace());
        });
        ring.command(holder, Command::ReleaseLock(7));
        if other != dies {
            wait_for(&mut ring, other, 8, LEASE);
        }
    }
}

#[test]
fn the_lock_of_a_dead_node_is_granted_after_its_lease() {
    for grade in GRADES {
        let mut ring = ring(3);
        ring.command(0, exclusive(7, "backup", grade));
        wait_for(&mut ring, 0, 7, WAITER_TIMEOUT);
        ring.command(1, exclusive(8, "backup", grade));
        ring.run(WAITER_TIMEOUT);
        let end = machine(&ring, 0).lock_lease_end(7).expect("a lease");
        ring.kill(0);
        wait_for(&mut ring, 1, 8, 3 * LEASE);
        assert!(ring.now.monotonic > end, "{grade:?}");
    }
}

#[test]
fn an_isolated_holder_loses_its_lock_before_another_node_gets_it() {
    let mut ring = ring(3);
    ring.command(0, exclusive(7, "backup", Grade::Quorum));
    wait_for(&mut ring, 0, 7, WAITER_TIMEOUT);
    ring.command(1, exclusive(8, "backup", Grade::Quorum));
    ring.run(WAITER_TIMEOUT);
    ring.stall(0);
    wait_for(&mut ring, 1, 8, 3 * LEASE);
    assert!(!holds(&ring, 0, 7));
    ring.resume(0);
    ring.run(LEASE);
    assert!(holds(&ring, 1, 8) && machine(&ring, 0).lock_lease_end(7).is_none());
}

#[test]
fn a_lock_outlasts_its_lease_while_another_node_keeps_the_token() {
    for grade in [Grade::Alone, Grade::Quorum] {
        let mut ring = ring(3);
        ring.command(2, Command::WantToken);
        ring.run(WAITER_TIMEOUT);
        ring.command(0, exclusive(7, "backup", grade));
        wait_for(&mut ring, 0, 7, WAITER_TIMEOUT);
        ring.run(3 * LEASE);
        assert!(holds(&ring, 0, 7), "{grade:?}");
    }
}

#[test]
fn fencing_tokens_grow_with_each_grant_of_a_name() {
    let mut ring = ring(3);
    let mut last: Option<Token> = None;
    for session in 1..20 {
        let at = usize::try_from(session % 3).expect("small");
        ring.command(at, exclusive(session, "backup", Grade::Quorum));
        wait_for(&mut ring, at, session, WAITER_TIMEOUT);
        let held = views(&ring, at).into_iter().find(|it| it.is_held);
        let fence = held.expect("a held lock").fence;
        assert!(last.is_none_or(|last| fence.is_stronger_than(&last)));
        last = Some(fence);
        ring.command(at, Command::ReleaseLock(session));
    }
}

#[test]
fn a_thousand_locks_reach_a_restarted_node() {
    let mut ring = ring(3);
    for session in 0..1_000 {
        ring.command(
            0,
            exclusive(session, &format!("job-{session}"), Grade::Alone),
        );
        if session % 50 == 0 {
            ring.run(ms(1));
        }
    }
    ring.run(WAITER_TIMEOUT);
    ring.kill(2);
    ring.restart(2);
    ring.run(SETTLED);
    for at in 0..3 {
        let held = views(&ring, at).iter().filter(|it| it.is_held).count();
        assert_eq!(held, 1_000, "n{}", at + 1);
    }
}

fn fence(ring: &Network, at: usize) -> Token {
    let held = views(ring, at).into_iter().find(|it| it.is_held);
    held.expect("a held lock").fence
}

#[test]
fn a_program_gets_the_released_lock_of_its_node_again_without_a_frame() {
    for grade in GRADES {
        let mut ring = ring(3);
        ring.command(0, exclusive(7, "backup", grade));
        wait_for(&mut ring, 0, 7, WAITER_TIMEOUT);
        let (first, sent) = (fence(&ring, 0), ring.broadcasts_of(Kind::Locks));
        ring.command(0, Command::ReleaseLock(7));
        assert_eq!(
            views(&ring, 0),
            [],
            "a program that has ended holds nothing"
        );
        ring.command(0, exclusive(8, "backup", grade));
        assert!(holds(&ring, 0, 8) && !holds(&ring, 0, 7), "{grade:?}");
        assert_eq!(ring.broadcasts_of(Kind::Locks), sent, "{grade:?}");
        assert!(fence(&ring, 0).is_stronger_than(&first), "{grade:?}");
        ring.run(2 * LEASE);
        assert!(holds(&ring, 0, 8), "{grade:?}");
        ring.command(0, Command::ReleaseLock(8));
        ring.run(WAITER_TIMEOUT);
        for at in 0..3 {
            assert_eq!(views(&ring, at), [], "{grade:?}");
        }
    }
}

#[test]
fn a_released_lock_goes_to_another_node_before_take_timeout() {
    let mut ring = ring(3);
    ring.command(0, exclusive(7, "backup", Grade::Alone));
    wait_for(&mut ring, 0, 7, WAITER_TIMEOUT);
    let first = fence(&ring, 0);
    ring.command(0, Command::ReleaseLock(7));
    ring.command(1, exclusive(8, "backup", Grade::Alone));
    wait_for(&mut ring, 1, 8, TAKE_TIMEOUT - ms(1));
    assert!(fence(&ring, 1).is_stronger_than(&first));
}

#[test]
fn a_node_that_shuts_down_keeps_no_released_lock() {
    for grade in GRADES {
        let mut ring = ring(3);
        ring.command(0, exclusive(7, "backup", grade));
        wait_for(&mut ring, 0, 7, WAITER_TIMEOUT);
        ring.command(0, Command::ReleaseLock(7));
        ring.command(0, Command::ShutDown);
        ring.command(1, exclusive(8, "backup", grade));
        wait_for(&mut ring, 1, 8, WAITER_TIMEOUT);
    }
}

#[test]
fn fencing_tokens_grow_although_the_node_that_reused_a_lock_restarted() {
    for grade in GRADES {
        let mut ring = ring(3);
        let at = (owner(&ring) + 1) % 3;
        ring.command(at, exclusive(7, "backup", grade));
        wait_for(&mut ring, at, 7, WAITER_TIMEOUT);
        for session in 8..600 {
            ring.command(at, Command::ReleaseLock(session - 1));
            ring.command(at, exclusive(session, "backup", grade));
        }
        let last = fence(&ring, at);
        ring.kill(at);
        ring.restart(at);
        ring.run(WAITER_TIMEOUT);
        // This session renews the leases of the node, so its old record gets no flag.
        ring.command(at, exclusive(1_000, "index", grade));
        let other = (at + 1) % 3;
        ring.command(other, exclusive(1_001, "backup", grade));
        wait_for(&mut ring, other, 1_001, 4 * LEASE);
        let mut held = views(&ring, other).into_iter();
        let next = held.find(|it| it.session == 1_001).expect("the held lock");
        assert!(next.fence.is_stronger_than(&last), "{grade:?}");
    }
}

#[test]
fn a_program_does_not_overtake_an_earlier_one_of_its_node() {
    let mut ring = ring(3);
    let at = (owner(&ring) + 1) % 3;
    ring.command(at, exclusive(7, "backup", Grade::Quorum));
    wait_for(&mut ring, at, 7, WAITER_TIMEOUT);
    ring.command(at, request(8, "backup", LockMode::Shared, Grade::Quorum));
    ring.command(at, Command::ReleaseLock(7));
    ring.command(at, exclusive(9, "backup", Grade::Quorum));
    assert!(!holds(&ring, at, 9), "session 8 asked earlier");
}

#[test]
fn a_refused_request_is_not_granted_later() {
    const NAMES_MAX: u64 = 1_024;
    let mut ring = ring(3);
    for session in 0..NAMES_MAX {
        let name = format!("job-{session}");
        ring.command(0, exclusive(session, &name, Grade::Alone));
        if session % 50 == 0 {
            ring.run(ms(1));
        }
    }
    ring.run(WAITER_TIMEOUT);
    ring.run_until(LEASE, |ring| machine(ring, 0).state() == State::Owner);
    ring.command(1, exclusive(5_000, "more", Grade::Alone));
    // The refusal has arrived. The third node has stored the request, and has not owned the token since.
    ring.run(ms(1));
    ring.command(0, Command::ReleaseLock(0));
    let more = LockName::new("more").expect("a name");
    ring.run_checking(2 * WAITER_TIMEOUT, |ring| {
        for at in 0..3 {
            assert!(views(ring, at).iter().all(|it| it.name != more));
        }
    });
    let at_last = views(&ring, 2).len();
    assert_eq!(at_last, 1_023, "there was room");
}

#[test]
fn a_second_copy_of_a_part_causes_no_second_question() {
    let mut waiter = Rig::waiter();
    let part = |from, to| Message::Locks {
        token: token(9),
        serial: 5,
        purpose: LocksPurpose::Part,
        grade: 2,
        digest: 1,
        from,
        to,
        locks: &[],
    };
    let mut questions = |part| {
        let mut said = waiter.hear(3, part);
        said.extend(waiter.pass_time(ms(1)));
        let asks = |line: &&String| line.starts_with("LOCKS_QUESTION");
        said.iter().filter(asks).count()
    };
    assert_eq!(questions(part(0, 99)), 1);
    assert_eq!(questions(part(0, 99)), 0);
    assert_eq!(questions(part(100, 199)), 1);
    assert_eq!(questions(part(0, 99)), 0);
}

#[test]
fn a_lock_that_waited_long_begins_with_at_least_half_of_its_lease() {
    let constants = Constants {
        expect: Some(3),
        ..constants()
    };
    let mut ring = Network::new(3, constants, 1);
    ring.run(ms(900));
    ring.command(0, exclusive(7, "backup", Grade::Quorum));
    let waited = wait_for(&mut ring, 0, 7, SETTLED);
    let end = machine(&ring, 0).lock_lease_end(7).expect("a lease");
    let left = end.since(ring.now.monotonic);
    assert!(waited > LEASE / 2, "the members agreed after {waited:?}");
    assert!(left > LEASE / 32 * 31 / 2, "{left:?} are left");
}

#[test]
fn a_renewal_that_an_owner_did_not_answer_is_sent_to_the_next_owner() {
    let mut node = Rig::owner_with(Constants {
        idle_hold: FOREVER,
        ..constants()
    });
    node.pass_time(2 * WAITER_TIMEOUT);
    node.command(exclusive(1, "backup", Grade::Alone));
    node.pass_time(WAITER_TIMEOUT);
    assert!(node.machine.lock_lease_end(1).is_some());
    let said = node.hear_all(7, Message::WantToken);
    assert_eq!(said, ["TAKE_TOKEN 12-n3-1 to n7"]);
    node.hear_all(7, here(token(12)));
    assert_eq!(node.state(), State::Waiter);
    let is_renewal = |line: &&String| line.starts_with("LOCKS Renew ");
    let renewals = |said: Vec<String>| said.iter().filter(is_renewal).count();
    assert_eq!(renewals(node.pass_time(WAITER_TIMEOUT / 2)), 1);
    let mut after = |owner, progress| {
        let mut said = node.hear_all(owner, here(token(progress)));
        said.extend(node.pass_time(TAKE_TIMEOUT / 4));
        renewals(said)
    };
    assert_eq!(after(7, 12), 0, "the owner may still answer");
    assert_eq!(after(3, 13), 1);
    assert_eq!(after(7, 14), 1);
}

#[test]
fn an_owner_waits_for_claims_after_a_failed_handover_to_a_live_member() {
    let mut owner = Rig::owner_with(Constants {
        idle_hold: FOREVER,
        ..constants()
    });
    owner.pass_time(2 * WAITER_TIMEOUT);
    let said = owner.hear_all(7, Message::WantToken);
    assert_eq!(said, ["TAKE_TOKEN 12-n3-1 to n7"]);
    owner.command(exclusive(1, "backup", Grade::Alone));
    // All attempts end within this time.
    owner.pass_time(6 * TAKE_TIMEOUT);
    assert_eq!(owner.state(), State::Owner);
    let lease = owner.machine.lock_lease_end(1);
    assert_eq!(lease, None, "n7 may have granted the lock");
    owner.pass_time(WAITER_TIMEOUT);
    assert!(owner.machine.lock_lease_end(1).is_some());
}
