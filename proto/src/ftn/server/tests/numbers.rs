//! The limits of configuration numbers (N9 to N12).

use ring_codec::ftn::ServerState;

use super::rig::*;
use crate::ftn::CONFIGURATION_NUMBER_MAX;

/// Maximum amount by which the messages of other servers may raise the number in one HB, with three servers.
const STEP: u64 = 3 * (162_000 + 1_024);

#[test]
fn a_client_does_not_move_the_number_of_a_leader() {
    for number in [
        "100",
        "2147483640",
        "2147483647",
        "4294967295",
        "72057594037927935",
        "18446744073709551615",
    ] {
        let mut rig = Rig::alone();
        rig.begin(1);
        let known = (rig.snapshot().configuration, rig.durable);
        assert_eq!(rig.send(1, renewal(7, number)), NONE, "{number}");
        assert_eq!((rig.snapshot().configuration, rig.durable), known);
        assert_eq!(rig.drop_count(DropReason::Ahead), 1);
        // A renewal with the server's number is confirmed all the same.
        assert_eq!(rig.renew(1, 8), ["CONFIRM 8 to k1"]);
    }
}

#[test]
fn a_client_or_a_stranger_does_not_move_the_number_of_a_follower() {
    let mut rig = Rig::follower(1);
    let known = rig.durable;
    rig.send(1, renewal(7, "2147483640"));
    rig.send_as(9, 1 << 21, renewal(7, "2147483640"));
    rig.pass(10 * ST);
    assert!(rig.durable.configuration <= known.configuration + 6);
}

#[test]
fn another_server_moves_the_number_by_at_most_a_step_in_each_hb() {
    let extreme = [
        9 + STEP + 10,
        1 << 31,
        (1 << 32) - 1,
        (1 << 33) - 1,
        CONFIGURATION_NUMBER_MAX,
    ];
    for number in extreme {
        for kind in 0..3 {
            let mut rig = Rig::leader(3);
            let known = rig.durable.configuration;
            for _ in 0..10 {
                match kind {
                    0 => rig.elect(1, seq(number, 1), 1),
                    1 => rig.heartbeat(1, seq(number, 1), D),
                    _ => {
                        let number = number - number % 3 - 2;
                        rig.state(number, 1, &[D, R, D], 0)
                    }
                };
            }
            let moved = rig.durable.configuration - known;
            assert!(moved <= STEP + 3, "{number} by message {kind}: {moved}");
            let is_honest = number < 1 << 32;
            assert_eq!(moved > 0, is_honest, "{number} by message {kind}: {moved}");
            rig.pass(ST);
            assert_eq!((rig.role(), rig.snapshot().state), (RoleKind::Leader, R));
            let told = rig
                .events
                .iter()
                .filter(|event| matches!(event, Event::NumberAhead { .. }));
            assert_eq!(told.count(), 1, "the server is reported once");
        }
    }
}

/// The leader starts with a number a month ahead of the clock, and changes its configuration at once. Like the leader,
/// the followers know no number.
#[test]
fn the_first_numbers_of_a_new_service_are_accepted() {
    let wall = 1_800_000_000 * 1_000_000_000;
    let mut leader = Rig::start(3, 0, options(), Durable::default());
    leader.now.wall = wall;
    leader.pass(ST + 2 * HB);
    assert_eq!(leader.role(), RoleKind::Leader);
    let first = leader.snapshot().configuration;
    let mut follower = Rig::start(3, 1, options(), Durable::default());
    follower.now.wall = wall;
    for number in [first, first + 3, first + 6] {
        follower.state(
            number,
            1,
            &[ServerState::Booting, ServerState::Booting, D],
            0,
        );
        assert_eq!(follower.snapshot().configuration, number);
    }
    assert_eq!(follower.drop_count(DropReason::Ahead), 0);
}

#[test]
fn a_server_that_is_far_behind_catches_up_a_step_in_each_hb() {
    let mut rig = Rig::start(3, 1, options(), Durable::default());
    let number = 3 * 1_000_000;
    let mut rounds = 0;
    while rig.role() != RoleKind::Follower {
        rounds += 1;
        assert!(rounds < 10, "{:?}", rig.durable);
        rig.state(number, rounds, &[R, D, D], 0);
        rig.pass(HB);
    }
    assert!(rounds > 6, "{rounds}");
}

/// The clock shows 2388. The clock may raise a known number by at most 162,000, which is 30 days.
#[test]
fn a_clock_far_ahead_does_not_exhaust_the_numbers() {
    let late = 13_200_000_000 * 1_000_000_000;
    for (known, at_most) in [(5_329_840, 5_329_840 + STEP), (0, 1 << 32)] {
        let durable = Durable {
            configuration: known,
        };
        let mut rig = Rig::start(3, 0, options(), durable);
        rig.now.wall = late;
        rig.pass(ST + 2 * HB);
        assert_eq!(rig.role(), RoleKind::Leader);
        let number = rig.snapshot().configuration;
        assert!(number > known && number <= at_most + 9, "{number}");
    }
}

/// After the loss of the state file, the number from the clock is larger than the numbers of all servers.
#[test]
fn a_lost_state_file_takes_no_number_back() {
    let wall = 1_800_000_000 * 1_000_000_000;
    let lead = |durable, wall| {
        let mut rig = Rig::start(3, 0, options(), durable);
        rig.now.wall = wall;
        rig.pass(ST + 2 * HB);
        assert_eq!(rig.role(), RoleKind::Leader);
        rig
    };
    let first = lead(Durable::default(), wall).durable;
    let day = 86_400_000_000_000;
    // The clock is 29 days ahead for some time.
    let ahead = lead(first, wall + 29 * day).durable;
    let lost = lead(Durable::default(), wall + day).durable;
    assert!(lost.configuration > ahead.configuration);
}

/// Follows the steps of "When numbers have run into a limit" in `docs/token-service/operate.md`.
#[test]
fn a_service_without_numbers_leads_again_after_its_state_files_are_removed() {
    let exhausted = |event: &Event| matches!(event, Event::NumbersExhausted);
    let durable = Durable {
        configuration: CONFIGURATION_NUMBER_MAX,
    };
    let mut rig = Rig::start(3, 0, options(), durable);
    rig.pass(10 * ST);
    assert_eq!(rig.role(), RoleKind::Electing);
    assert!(rig.events.iter().any(exhausted));
    // The wrong file of one server does not stop the other servers.
    let mut other = Rig::leader(3);
    other.heartbeat(1, seq(CONFIGURATION_NUMBER_MAX, 0), D);
    other.pass(ST);
    assert_eq!(
        (other.role(), other.snapshot().state),
        (RoleKind::Leader, R)
    );
    // All servers are stopped, their files are removed, and they start again.
    let mut rig = Rig::start(3, 0, options(), Durable::default());
    rig.pass(ST + 2 * HB);
    assert_eq!((rig.role(), rig.snapshot().state), (RoleKind::Leader, R));
    assert!(!rig.events.iter().any(exhausted));
}

#[test]
fn fencing_numbers_grow_beyond_64_bits() {
    let mut rig = Rig::start(
        1,
        0,
        options(),
        Durable {
            configuration: CONFIGURATION_NUMBER_MAX - 4,
        },
    );
    rig.pass(HB);
    rig.begin(1);
    let mut fence = |m: i64| {
        let said = rig.send(1, fence_request(m, "t"));
        let data = said[0].split('=').nth(1).unwrap();
        let digits = data.split(' ').next().unwrap();
        digits.parse::<u128>().unwrap()
    };
    let [first, again, second] = [fence(1), fence(1), fence(2)];
    assert!(first > u128::from(u64::MAX), "{first}");
    assert_eq!((again, second), (first, first + 1));
}
