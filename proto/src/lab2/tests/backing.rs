//! Tests of the backing (`docs/reference/lab2/grades.md B1` to B8): between two owners, confirmations by members count
//! more than a stronger token.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Backing, FRAME_LEN_MAX, Frame, NO_IP, PROGRESS_MAX, Profile, Token};

use super::grade::{
    beat, constants_expecting_three, heartbeat_with_beat, member, message_with_promise, owner,
    promise, reliable_part,
};
use super::network::Network;
use super::once_rig::nightly;
use super::rig::{
    BLANK, HEARTBEAT, Rig, TAKE_TIMEOUT, WAITER_TIMEOUT, constants, decode, here, mac, ms, ping,
    take, token, token_of, was_here, with_digest,
};
use crate::lab2::{Command, Constants, Event, FOREVER, Grade, Reason, State, StoredState};

/// A token of another chain that is much stronger than 11-n3-1, because of a wrong clock.
const ALONE: Token = token_of(1_000_000, 7, 1);
/// The first heartbeat with the token that the owner mints to outbid [`ALONE`].
const OUTBID: &str = "TOKEN_IS_HERE 1001024-n5-1";

/// Receives a broadcast TOKEN_IS_HERE of an owner with this backing.
pub(super) fn hear_owner(
    rig: &mut Rig,
    from: u8,
    token: Token,
    backing: Option<Backing>,
) -> Vec<String> {
    let flags = backing.map_or(0, |backing| Profile::with_backing(0, backing));
    let frame = Frame {
        destination: MacAddr::BROADCAST,
        author: mac(from),
        message: with_digest(here(token), rig.machine.digest()),
        card: None,
        locks: None,
        preference: 0,
        profile: Some(Profile {
            flags,
            ..rig.machine.profile()
        }),
    };
    let mut buf = [0; FRAME_LEN_MAX];
    let len = frame.encode(0x88b5, &mut buf).expect("a legal frame");
    rig.hear_bytes(&buf[..len], ms(0))
}

/// Returns the backing in this node's last heartbeat.
fn announced_backing(rig: &Rig) -> Option<Backing> {
    decode(rig.frames.last()?).profile?.backing()
}

/// Returns an OWNER of 11-n3-1 with work. n3 confirms the tenure of this OWNER. So the tenure has two confirmations, in
/// a ring of `members` members.
fn confirmed_owner(members: usize) -> Rig {
    let expect = Some(members);
    let mut rig = owner(Constants {
        expect,
        ..constants()
    });
    let number = beat(&rig);
    rig.hear(3, message_with_promise(token(11), number));
    let quorum = members == 3;
    assert_eq!(rig.machine.grade() == Grade::Quorum, quorum);
    rig.events.clear();
    rig
}

/// Returns an elected OWNER without work. It has been the only member for a long time.
fn elected_owner() -> Rig {
    let constants = Constants {
        idle_hold: FOREVER,
        ..constants_expecting_three()
    };
    let durable = StoredState {
        known: Some(token(99)),
        ..BLANK
    };
    let mut rig = Rig::start(constants, durable).0;
    rig.hear(3, ping(NO_IP));
    rig.pass_time(WAITER_TIMEOUT);
    assert_eq!(rig.state(), State::Owner);
    rig
}

#[test]
fn an_owner_with_a_quorum_outbids_all_but_another_quorum() {
    for theirs in [
        None,
        Some(Backing::Unused),
        Some(Backing::Used),
        Some(Backing::Confirmed),
    ] {
        let mut rig = confirmed_owner(3);
        let until = rig.machine.grade_until();
        assert_eq!(
            hear_owner(&mut rig, 7, ALONE, theirs),
            [format!("{OUTBID} to all")]
        );
        assert_eq!(
            rig.machine.grade_until(),
            until,
            "{theirs:?}: the promises count"
        );
        assert_eq!(rig.machine.grade(), Grade::Quorum);
        assert!(
            rig.machine.is_lock_good(token(11)),
            "the lock stays granted"
        );
        assert_eq!(announced_backing(&rig), Some(Backing::Quorum));
        let number = beat(&rig);
        rig.hear(3, message_with_promise(token_of(1_001_024, 5, 1), number));
        let renewed = rig.now.monotonic + reliable_part(WAITER_TIMEOUT);
        assert_eq!(
            rig.machine.grade_until(),
            Some(renewed),
            "members continue to confirm the tenure"
        );
    }
    let mut rig = confirmed_owner(3);
    hear_owner(&mut rig, 7, ALONE, Some(Backing::Quorum));
    assert_eq!(rig.state(), State::Waiter);
}

#[test]
fn a_confirmed_owner_outbids_one_whose_token_is_unused() {
    let mut rig = confirmed_owner(5);
    let sent = hear_owner(&mut rig, 7, ALONE, Some(Backing::Unused));
    assert_eq!(sent, [format!("{OUTBID} to all")]);
    assert!(rig.machine.is_lock_good(token(11)));
    assert_eq!(announced_backing(&rig), Some(Backing::Confirmed));
    for theirs in [None, Some(Backing::Used), Some(Backing::Confirmed)] {
        let mut rig = confirmed_owner(5);
        hear_owner(&mut rig, 7, ALONE, theirs);
        assert_eq!(rig.state(), State::Waiter, "{theirs:?}");
    }
}

#[test]
fn a_confirmed_owner_gives_way_only_to_broadcasts() {
    let mut rig = confirmed_owner(5);
    assert_eq!(rig.hear(7, here(ALONE)), [""; 0]);
    assert_eq!(rig.state(), State::Owner);
    let sent = hear_owner(&mut rig, 7, ALONE, Some(Backing::Unused));
    assert_eq!(sent, [format!("{OUTBID} to all")]);
    let mut rig = Rig::owner();
    rig.hear(7, here(ALONE));
    assert_eq!(rig.state(), State::Waiter, "no member confirms the tenure");
}

#[test]
fn a_confirmed_owner_gives_way_to_unicasts_after_two_heartbeats() {
    let mut rig = confirmed_owner(5);
    for _ in 0..4 {
        rig.hear(7, here(ALONE));
        assert_eq!(rig.state(), State::Owner);
        rig.pass_time(HEARTBEAT / 2);
    }
    rig.hear(7, here(ALONE));
    assert_eq!(rig.state(), State::Waiter);
}

#[test]
fn of_two_unconfirmed_owners_the_stronger_token_wins() {
    let mut rig = elected_owner();
    rig.hear(7, ping(NO_IP));
    hear_owner(&mut rig, 7, ALONE, Some(Backing::Unused));
    assert_eq!(rig.state(), State::Waiter);
}

#[test]
fn a_quorum_that_has_ended_does_not_outbid() {
    let mut rig = confirmed_owner(3);
    let until = rig.machine.grade_until().expect("a quorum");
    rig.stall(until.since(rig.now.monotonic));
    hear_owner(&mut rig, 7, ALONE, Some(Backing::Unused));
    assert_eq!(rig.state(), State::Waiter);
}

#[test]
fn an_owner_with_a_quorum_refuses_a_stronger_offer_and_answers_it() {
    let mut rig = confirmed_owner(3);
    let sent = rig.hear(7, take(ALONE));
    assert_eq!(
        sent,
        [format!("{OUTBID} to all"), format!("{OUTBID} to n7")]
    );
    assert!(rig.machine.is_lock_good(token(11)));
    let mut rig = confirmed_owner(5);
    rig.hear(7, take(ALONE));
    assert!(
        !rig.machine.is_lock_good(token(11)),
        "TAKE_TOKEN announces no backing"
    );
}

#[test]
fn objections_with_a_lost_token_do_not_end_a_quorum() {
    let mut rig = confirmed_owner(3);
    assert_eq!(
        rig.hear(7, was_here(ALONE, 7)),
        [format!("{OUTBID} to all")]
    );
    assert!(rig.machine.is_lock_good(token(11)) && rig.machine.grade() == Grade::Quorum);
    let again = token_of(2_000_000, 7, 2);
    assert_eq!(
        rig.hear(7, was_here(again, 7)),
        ["TOKEN_IS_HERE 2001024-n5-2 to all"]
    );
    assert!(
        rig.machine.is_lock_good(token(11)),
        "a token in between also counts"
    );
    assert!(rig.machine.is_lock_good(token_of(1_001_024, 5, 1)));
    assert!(
        !rig.machine.is_lock_good(token(10)),
        "an earlier token does not count"
    );
}

#[test]
fn an_owner_gives_way_to_the_largest_progress() {
    let mut rig = confirmed_owner(3);
    hear_owner(
        &mut rig,
        7,
        token_of(PROGRESS_MAX, 7, 1),
        Some(Backing::Unused),
    );
    assert_eq!(rig.state(), State::Waiter);
    let mut rig = confirmed_owner(3);
    let nearly = token_of(PROGRESS_MAX - 1, 7, 1);
    hear_owner(&mut rig, 7, nearly, Some(Backing::Unused));
    assert_eq!(rig.token(), format!("{PROGRESS_MAX}-n5-1"));
}

#[test]
fn a_giver_does_not_outbid() {
    let mut rig = confirmed_owner(3);
    rig.command(Command::Yield(Some(mac(3))));
    hear_owner(&mut rig, 7, ALONE, Some(Backing::Unused));
    assert_eq!(rig.state(), State::Waiter);
}

#[test]
fn a_job_goes_on_as_its_lock_does() {
    let mut rig = confirmed_owner(3);
    rig.command(Command::Once(nightly()));
    hear_owner(&mut rig, 7, ALONE, Some(Backing::Unused));
    assert!(rig.machine.once_progress().is_some());
}

#[test]
fn a_heartbeat_announces_its_backing() {
    let rig = owner(constants_expecting_three());
    assert_eq!(
        announced_backing(&rig),
        Some(Backing::Used),
        "before the first answer"
    );
    let mut rig = confirmed_owner(3);
    rig.pass_time(HEARTBEAT);
    assert_eq!(announced_backing(&rig), Some(Backing::Quorum));
    let mut rig = confirmed_owner(5);
    rig.pass_time(HEARTBEAT);
    assert_eq!(announced_backing(&rig), Some(Backing::Confirmed));
    let mut rig = elected_owner();
    assert_eq!(announced_backing(&rig), Some(Backing::Unused));
    rig.hear(3, ping(NO_IP));
    rig.command(Command::WantToken);
    rig.pass_time(HEARTBEAT);
    assert_eq!(
        announced_backing(&rig),
        Some(Backing::Used),
        "a program has wanted the token"
    );
}

#[test]
fn an_owner_gives_way_to_a_better_backed_owner_that_does_not_outbid_it() {
    let weaker = token_of(11, 3, 1);
    let mut rig = elected_owner();
    let own = rig.token();
    let answers = [
        format!("TOKEN_IS_HERE {own} to n3"),
        format!("TOKEN_IS_HERE {own} to all"),
    ];
    assert_eq!(
        hear_owner(&mut rig, 3, weaker, Some(Backing::Quorum)),
        answers
    );
    rig.stall(HEARTBEAT / 2 - ms(1));
    assert_eq!(
        hear_owner(&mut rig, 3, weaker, Some(Backing::Quorum)),
        answers
    );
    rig.stall(ms(1));
    let sent = hear_owner(&mut rig, 3, weaker, Some(Backing::Quorum));
    assert_eq!(
        sent[0],
        format!("TOKEN_WAS_HERE_RECENTLY {own} at n5 to n3"),
        "{sent:?}"
    );
    assert_eq!(rig.state(), State::Waiter);
    let is_better_backed = |event: &Event| match event {
        Event::StateChanged { reason, .. } => *reason == Reason::BetterBackedOwner,
        _ => false,
    };
    assert!(rig.events.iter().any(is_better_backed));
}

#[test]
fn an_owner_keeps_its_token_against_equal_backing() {
    for theirs in [None, Some(Backing::Unused), Some(Backing::Used)] {
        let mut rig = elected_owner();
        for _ in 0..4 {
            hear_owner(&mut rig, 3, token(11), theirs);
            rig.pass_time(HEARTBEAT / 2);
        }
        assert_eq!(rig.token(), "100-n5-1", "{theirs:?}");
        assert_eq!(rig.state(), State::Owner, "{theirs:?}");
    }
}

#[test]
fn a_member_goes_on_confirming_its_promised_tenure_despite_a_stronger_token() {
    let mut rig = member();
    rig.hear_all(3, heartbeat_with_beat(token(10), 7));
    assert!(promise(&rig).is_some());
    rig.hear_all(7, here(ALONE));
    rig.stall(HEARTBEAT + 2 * TAKE_TIMEOUT);
    let sent = rig.hear_all(3, heartbeat_with_beat(token(10), 8));
    assert_eq!(
        sent,
        [
            "TOKEN_WAS_HERE_RECENTLY 1000000-n7-1 at n7 to n3",
            "PING to n3"
        ],
        "this node objects"
    );
    assert_eq!(promise(&rig).map(|promise| promise.beat), Some(8));
    rig.hear_all(7, heartbeat_with_beat(ALONE, 0));
    assert_eq!(promise(&rig), None, "this node confirms no other tenure");
    rig.stall(WAITER_TIMEOUT);
    rig.hear_all(7, heartbeat_with_beat(ALONE, 1));
    rig.hear_all(3, heartbeat_with_beat(token(10), 9));
    assert_eq!(promise(&rig), None, "the promise has ended");
}

/// Returns a ring in which only the owner has work. Also returns the owner's index and the owner's token.
fn ring_with_busy_owner(nodes: u8, seed: u64) -> (Network, usize, Token) {
    let constants = Constants {
        expect: Some(nodes.into()),
        idle_hold: FOREVER,
        ..constants()
    };
    let mut network = Network::new(nodes, constants, seed);
    network.run(ms(2_000));
    let owner = (0..nodes.into()).find(|&at| network.nodes[at].token().is_some());
    let owner = owner.expect("a ring has an owner");
    network.command(owner, Command::WantToken);
    network.run(HEARTBEAT);
    let token = network.nodes[owner].token().expect("the owner works");
    (network, owner, token)
}

/// Separates a node from the other nodes while another node works, and then reconnects the node.
fn check_return_of_lone_node(seed: u64, alone: Duration, late_link: bool) {
    let (mut network, owner, token) = ring_with_busy_owner(3, seed);
    let lone = (owner + 1) % 3;
    let keeps = |network: &Network| {
        let machine = network.nodes[owner]
            .machine
            .as_ref()
            .expect("the node runs");
        let kept = machine.is_lock_good(token) && machine.grade() == Grade::Quorum;
        assert!(kept, "seed {seed}, {alone:?}:\n{}", network.trace());
    };
    network.nodes[lone].island = true;
    if late_link {
        network.kill(lone);
        network.restart(lone);
    }
    network.run_checking(alone, keeps);
    network.nodes[lone].island = false;
    network.run_checking(ms(2_000), keeps);
    assert_eq!(network.owners().count(), 1, "{}", network.trace());
    let now = network.nodes[owner].token();
    assert!(now.is_some_and(|now| !token.is_stronger_than(&now)));
}

#[test]
fn a_holder_with_a_quorum_goes_on_when_a_lone_machine_is_back() {
    for seed in 0..8 {
        for alone in [50, 300, 450, 550, 600, 650, 700, 800, 1_000, 3_000] {
            check_return_of_lone_node(seed, ms(alone), false);
            check_return_of_lone_node(seed, ms(alone), true);
        }
    }
}
