//! Bounds on the numbers (`docs/ftn.md`, section 4).

use ring_codec::ftn::{Flags, Message, ServerState};

use super::rig::*;
use crate::ftn::MAX_NUMBER;

/// What others may move the number by in an HB, for three servers.
const STEP: u64 = 3 * (162_000 + 1_024);

fn renewal(rig: &mut Rig, number: &str) -> Vec<String> {
    let message = Message::Return {
        msgnum: 7,
        token: token("", number),
        flags: Flags::Deassign,
    };
    rig.say(1, message)
}

/// One datagram of any client ended the service: the number went to its limit, and was stored.
#[test]
fn a_client_moves_no_number() {
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
        assert_eq!(renewal(&mut rig, number), NONE, "{number}");
        assert_eq!((rig.snapshot().configuration, rig.durable), known);
        assert_eq!(rig.dropped(Reason::Ahead), 1);
        // Its own renewal is confirmed all the same.
        assert_eq!(rig.renew(1, 8), ["CONFIRM 8 to k1"]);
    }
}

/// Nor does it as a stranger, or at a follower.
#[test]
fn a_client_moves_no_number_of_who_does_not_lead() {
    let mut rig = Rig::follower(1);
    let known = rig.durable;
    renewal(&mut rig, "2147483640");
    rig.say_as(
        9,
        1 << 21,
        Message::Return {
            msgnum: 7,
            token: token("", "2147483640"),
            flags: Flags::Deassign,
        },
    );
    rig.pass(10 * ST);
    assert!(rig.durable.configuration <= known.configuration + 6);
}

/// Whatever another server says, the number moves by a step in an HB, and the server still leads.
#[test]
fn another_server_moves_the_number_by_a_step_in_an_hb() {
    let extreme = [
        9 + STEP + 10,
        1 << 31,
        (1 << 32) - 1,
        (1 << 33) - 1,
        MAX_NUMBER,
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
            assert_eq!(told.count(), 1, "it is told once");
        }
    }
}

/// A leader that knows nothing is a month beyond the clock, and changes its configuration at once. Its followers know as little.
#[test]
fn the_first_changes_of_a_new_service_are_heeded() {
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
    assert_eq!(follower.dropped(Reason::Ahead), 0);
}

/// Who is far behind catches up, a step in each HB, and follows.
#[test]
fn who_is_far_behind_catches_up() {
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

/// A clock of 2388 adds 30 days to a number that is known, and is not believed where none is.
#[test]
fn a_clock_far_ahead_does_not_end_the_service() {
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

/// State files are lost: what is counted on from the clock is above what any server had.
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
    // Its clock goes 29 days ahead for a while.
    let ahead = lead(first, wall + 29 * day).durable;
    let lost = lead(Durable::default(), wall + day).durable;
    assert!(lost.configuration > ahead.configuration);
}

/// "When numbers have run into a limit": the steps of the page.
#[test]
fn a_service_whose_numbers_have_run_out_leads_again_without_its_state_files() {
    let exhausted = |event: &Event| matches!(event, Event::NumbersExhausted);
    let durable = Durable {
        configuration: MAX_NUMBER,
    };
    let mut rig = Rig::start(3, 0, options(), durable);
    rig.pass(10 * ST);
    assert_eq!(rig.role(), RoleKind::Electing);
    assert!(rig.events.iter().any(exhausted));
    // One of three whose file is wrong does not keep the others.
    let mut other = Rig::leader(3);
    other.heartbeat(1, seq(MAX_NUMBER, 0), D);
    other.pass(ST);
    assert_eq!(
        (other.role(), other.snapshot().state),
        (RoleKind::Leader, R)
    );
    // All are stopped, their files are removed, and they are started again.
    let mut rig = Rig::start(3, 0, options(), Durable::default());
    rig.pass(ST + 2 * HB);
    assert_eq!((rig.role(), rig.snapshot().state), (RoleKind::Leader, R));
    assert!(!rig.events.iter().any(exhausted));
}

/// A fencing number under the largest configuration still grows with each grant.
#[test]
fn fencing_numbers_grow_beyond_64_bits() {
    let mut rig = Rig::start(
        1,
        0,
        options(),
        Durable {
            configuration: MAX_NUMBER - 4,
        },
    );
    rig.pass(HB);
    rig.begin(1);
    let mut fence = |m: i64| {
        let message = Message::Request {
            msgnum: m,
            token: token("t", "fence"),
            access: X,
        };
        let said = rig.say(1, message);
        let data = said[0].split('=').nth(1).unwrap();
        let digits = data.split(' ').next().unwrap();
        digits.parse::<u128>().unwrap()
    };
    let [first, again, second] = [fence(1), fence(1), fence(2)];
    assert!(first > u128::from(u64::MAX), "{first}");
    assert_eq!((again, second), (first, first + 1));
}
