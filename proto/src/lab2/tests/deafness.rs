//! Tests of deaf members (`docs/reference/lab2/faults.md H1` to H9), and of owners that give the token up (Y1 to Y7).
//! Members ignore a node that hears no member. An owner gives the token up if no member takes it.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{FRAME_LEN_MAX, Frame, Message, NO_IP, Profile};

use super::grade::heartbeat_with_beat;
use super::rig::{
    ANSWER_TIMEOUT, HAND_OVER, HEARTBEAT, IDLE_HOLD, Rig, TAKE_TIMEOUT, WAITER_TIMEOUT, decode,
    generating, here, mac, ms, ping, take, token, token_of, with_digest,
};
use crate::lab2::{Command, DropReason, Event, Presence, Reason, State};

const WANT: &str = "WANT_TOKEN to all";
/// The time without a frame after which a node is deaf.
const EARSHOT: Duration = Duration::from_millis(500);

/// Receives a broadcast in which a member announces whether it is deaf.
fn hear_deafness(rig: &mut Rig, from: u8, message: Message<'_>, deaf: bool) -> Vec<String> {
    let flags = if deaf { Profile::DEAF } else { 0 };
    let frame = Frame {
        destination: MacAddr::BROADCAST,
        author: mac(from),
        message: with_digest(message, rig.machine.digest()),
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
    rig.hear_bytes(&buf[..len], Duration::ZERO)
}

/// Whether the last broadcast announces that its author is deaf.
fn announces_deafness(rig: &Rig) -> bool {
    let frame = rig.frames.last().expect("a frame");
    decode(frame).profile.expect("a profile").is_deaf()
}

fn is_last_frame_ignored(rig: &Rig) -> bool {
    let reason = DropReason::AuthorDeaf;
    rig.events.contains(&Event::Dropped { reason })
}

#[test]
fn a_deaf_node_announces_it_in_broadcasts_until_it_hears_a_member() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    rig.pass_time(EARSHOT - ms(1));
    assert!(!rig.machine.is_deaf() && !announces_deafness(&rig));
    rig.pass_time(HEARTBEAT + ms(1));
    assert!(rig.machine.is_deaf() && announces_deafness(&rig));
    let heard_before = true;
    let deaf = true;
    let told = Event::HearingChanged { deaf, heard_before };
    assert!(rig.events.contains(&told));
    rig.hear(3, ping(NO_IP));
    assert!(!rig.machine.is_deaf());
    rig.pass_time(HEARTBEAT);
    assert!(!announces_deafness(&rig));
    let deaf = false;
    let told = Event::HearingChanged { deaf, heard_before };
    assert!(rig.events.contains(&told));
}

/// The broadcast announces that this node hears again. Without this broadcast, the members would accept no offer from
/// this node until the next broadcast of this node.
#[test]
fn a_waiter_that_hears_again_broadcasts_its_next_answer() {
    let mut rig = Rig::waiter();
    assert_eq!(
        rig.hear_all(3, heartbeat_with_beat(token(11), 0)),
        ["PING to n3"]
    );
    rig.stall(EARSHOT);
    assert_eq!(
        rig.hear_all(3, heartbeat_with_beat(token(13), 0)),
        ["PING to all"]
    );
    assert!(!announces_deafness(&rig));
    assert_eq!(
        rig.hear_all(3, heartbeat_with_beat(token(14), 0)),
        ["PING to n3"]
    );
}

#[test]
fn a_node_that_was_always_alone_announces_to_be_deaf() {
    let mut rig = Rig::looser();
    rig.pass_time(3 * EARSHOT);
    assert_eq!(rig.state(), State::Owner);
    assert!(rig.machine.is_deaf() && rig.machine.may_use_token());
    let told = |event: &&Event| matches!(event, Event::HearingChanged { .. });
    let told: Vec<_> = rig.events.iter().filter(told).collect();
    let (deaf, heard_before) = (true, false);
    assert_eq!(told, [&Event::HearingChanged { deaf, heard_before }]);
}

#[test]
fn a_deaf_owner_keeps_the_token_and_offers_it_only_when_it_hears_again() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    rig.pass_time(EARSHOT);
    rig.command(Command::WorkDone);
    let sent = rig.pass_time(5 * HEARTBEAT);
    assert!(
        sent.iter().all(|line| line.starts_with("TOKEN_IS_HERE")),
        "{sent:?}"
    );
    rig.hear(3, ping(NO_IP));
    let sent = rig.pass_time(IDLE_HOLD + HEARTBEAT);
    assert!(
        sent.iter().any(|line| line.starts_with("TAKE_TOKEN")),
        "{sent:?}"
    );
}

#[test]
fn a_deaf_member_sends_no_want_token() {
    let mut rig = Rig::waiter();
    rig.command(Command::WantToken);
    let sent = rig.pass_time(WAITER_TIMEOUT + 2 * ANSWER_TIMEOUT);
    let wants = sent.iter().filter(|line| *line == WANT).count();
    assert!((4..=5).contains(&wants), "{sent:?}");
    assert_eq!(rig.state(), State::Owner);
}

#[test]
fn a_candidate_that_hears_no_member_announces_to_be_deaf() {
    let mut rig = Rig::waiter();
    let sent = rig.pass_time(EARSHOT);
    assert_eq!(sent.last().unwrap(), "GENERATING_TOKEN 11-n5-1 to all");
    assert!(announces_deafness(&rig));
}

#[test]
fn claims_and_candidacies_of_a_deaf_member_are_ignored() {
    let claims = [
        here(token_of(99, 7, 1)),
        generating(token_of(99, 7, 1)),
        Message::WhereIsToken,
        Message::WantToken,
    ];
    for claim in claims {
        for mut rig in vec![Rig::owner(), Rig::waiter(), Rig::asking(), Rig::candidate()] {
            let (state, token) = (rig.state(), rig.token());
            let sent = hear_deafness(&mut rig, 7, claim, true);
            assert!(!sent.iter().any(|line| line.contains("TOKEN")), "{sent:?}");
            assert_eq!((rig.state(), rig.token()), (state, token), "{claim:?}");
            assert!(is_last_frame_ignored(&rig));
        }
    }
}

/// Only few frames reach the deaf member, and all of them are unicast. If no member answered, the deaf member would be
/// elected although there is an owner.
#[test]
fn a_deaf_member_that_asks_for_the_token_is_sent_ping() {
    for mut rig in [Rig::owner(), Rig::waiter()] {
        let sent = hear_deafness(&mut rig, 7, Message::WhereIsToken, true);
        assert_eq!(sent, ["PING to n7"]);
        assert_eq!(
            hear_deafness(&mut rig, 7, Message::WhereIsToken, true),
            [""; 0]
        );
    }
}

#[test]
fn an_offer_of_a_deaf_member_is_ignored() {
    let mut rig = Rig::waiter();
    hear_deafness(&mut rig, 7, ping(NO_IP), true);
    assert_eq!(rig.hear(7, take(token_of(99, 7, 1))), [""; 0]);
    assert_eq!(rig.state(), State::Waiter);
    hear_deafness(&mut rig, 7, ping(NO_IP), false);
    rig.hear(7, take(token_of(99, 7, 1)));
    assert_eq!(rig.state(), State::Owner);
}

#[test]
fn a_deaf_member_is_offered_nothing_until_it_hears() {
    let mut rig = Rig::owner();
    hear_deafness(&mut rig, 7, ping(NO_IP), true);
    assert_eq!(rig.presence_of(7), Presence::Alive);
    assert_eq!(rig.pass_time(IDLE_HOLD), ["TAKE_TOKEN 12-n3-1 to n3"]);

    let mut rig = Rig::owner();
    hear_deafness(&mut rig, 7, ping(NO_IP), true);
    hear_deafness(&mut rig, 7, ping(NO_IP), false);
    assert_eq!(rig.pass_time(IDLE_HOLD), ["TAKE_TOKEN 12-n3-1 to n7"]);
}

/// Runs an OWNER. Its members ask for the token but never take it. Returns the frames that the OWNER sends during a
/// little more than WAITER_TIMEOUT.
fn owner_failing_at_all(rig: &mut Rig) -> Vec<String> {
    let mut sent = Vec::new();
    for _ in 0..8 {
        for n in [3, 7] {
            sent.extend(rig.hear(n, ping(NO_IP)));
            sent.extend(rig.hear_all(n, Message::WantToken));
        }
        sent.extend(rig.pass_time(HEARTBEAT));
    }
    sent
}

#[test]
fn an_owner_whose_handovers_all_fail_while_members_ask_lets_go() {
    let mut rig = Rig::owner();
    rig.command(Command::Yield(None));
    owner_failing_at_all(&mut rig);
    assert_ne!(rig.state(), State::Owner);
    assert!(rig.machine.is_unfit() && !rig.machine.may_use_token());
    let unfit = true;
    assert!(rig.events.contains(&Event::FitnessChanged { unfit }));
    let let_go = |event: &Event| {
        let reason = Reason::NoTaker;
        matches!(event, Event::StateChanged { reason: why, .. } if *why == reason)
    };
    assert!(rig.events.iter().any(let_go));
    // n7 is offered the token, and announces that it is paused.
    let sent = rig.hear(3, take(token_of(1 << 40, 3, 9)));
    assert_eq!(sent, ["PING to n3"]);
}

#[test]
fn an_owner_keeps_owning_if_one_member_takes_the_token() {
    let mut rig = Rig::owner();
    for _ in 0..8 {
        rig.hear(3, ping(NO_IP));
        rig.hear(7, ping(NO_IP));
        rig.hear_all(7, Message::WantToken);
        rig.pass_time(HAND_OVER);
        let held = rig.machine.token().expect("held");
        let after = |hops| ring_codec::lab2::Token {
            progress: held.progress + hops,
            ..held
        };
        rig.hear(3, here(after(1)));
        rig.pass_time(HEARTBEAT);
        rig.hear(3, take(after(2)));
        assert_eq!(rig.state(), State::Owner);
    }
    assert!(!rig.machine.is_unfit());
}

#[test]
fn an_unfit_member_may_own_after_a_unicast_answer_to_its_unicast_question() {
    let mut rig = Rig::owner();
    rig.command(Command::Yield(None));
    owner_failing_at_all(&mut rig);
    assert!(rig.machine.is_unfit());
    let strong = token_of(1 << 40, 3, 9);
    let mut sent = Vec::new();
    for _ in 0..20 {
        rig.hear_all(3, here(strong));
        sent.extend(rig.pass_time(HEARTBEAT));
    }
    assert!(sent.contains(&"WHERE_IS_TOKEN to n3".into()), "{sent:?}");
    assert!(rig.machine.is_unfit(), "a broadcast proves nothing");
    assert_eq!(
        rig.hear(3, here(strong)),
        [""; 0],
        "the node does not answer this"
    );
    assert_eq!(rig.pass_time(ms(0)), ["PING to all"]);
    assert!(!rig.machine.is_unfit());
    let unfit = false;
    assert!(rig.events.contains(&Event::FitnessChanged { unfit }));
}

#[test]
fn an_unfit_member_that_hears_no_owner_may_own_again() {
    let mut rig = Rig::owner();
    rig.command(Command::Yield(None));
    owner_failing_at_all(&mut rig);
    assert!(rig.machine.is_unfit());
    rig.pass_time(10 * EARSHOT);
    assert!(!rig.machine.is_unfit());
    assert_eq!(rig.state(), State::Owner);
}

#[test]
fn an_unfit_member_without_an_owner_waits_for_one_more_waiter_timeout() {
    let mut rig = Rig::owner();
    rig.command(Command::Yield(None));
    owner_failing_at_all(&mut rig);
    let strong = token_of(1 << 40, 3, 9);
    let mut asked = false;
    while !asked {
        rig.hear_all(3, here(strong));
        asked = rig
            .pass_time(HEARTBEAT)
            .contains(&"WHERE_IS_TOKEN to n3".into());
    }
    rig.pass_time(3 * HEARTBEAT);
    assert_eq!(rig.state(), State::Looser);
    rig.pass_time(3 * HEARTBEAT);
    assert!(
        rig.machine.is_unfit(),
        "a member that is not deaf stands first"
    );
    rig.pass_time(HEARTBEAT);
    assert!(!rig.machine.is_unfit());
}

#[test]
fn handovers_that_failed_while_a_member_was_away_do_not_count() {
    let mut rig = Rig::owner();
    rig.command(Command::Yield(None));
    rig.hear_all(3, Message::WantToken);
    rig.pass_time(HEARTBEAT);
    rig.hear_all(3, Message::WantToken);
    rig.pass_time(10 * EARSHOT);
    for _ in 0..2 {
        rig.hear_all(3, Message::WantToken);
        rig.pass_time(HEARTBEAT);
    }
    assert_eq!(rig.state(), State::Owner);
    assert!(!rig.machine.is_unfit());
}

#[test]
fn a_frame_without_a_profile_does_not_end_being_deaf() {
    let mut rig = Rig::owner();
    hear_deafness(&mut rig, 7, ping(NO_IP), true);
    rig.hear_all(7, Message::Forget { members: &[] });
    assert_eq!(rig.pass_time(IDLE_HOLD), ["TAKE_TOKEN 12-n3-1 to n3"]);
}

#[test]
fn the_operator_can_end_being_unfit() {
    let mut rig = Rig::owner();
    rig.command(Command::Yield(None));
    owner_failing_at_all(&mut rig);
    assert_eq!(rig.command(Command::Pause(None)), ["PING to all"]);
    assert!(!rig.machine.is_unfit());
    rig.hear(3, take(token(1 << 40)));
    assert_eq!(rig.state(), State::Owner);
}

/// Runs a node that always has work, and a member that wants the token. `takes` states whether the third member takes
/// the token.
fn busy_owner(takes: bool) -> Rig {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    for _ in 0..20 {
        rig.hear_all(7, Message::WantToken);
        for member in [3, 7] {
            rig.hear(member, ping(NO_IP));
        }
        rig.pass_time(HEARTBEAT / 2);
        rig.command(Command::WorkDone);
        rig.command(Command::WantToken);
        for _ in 0..6 {
            let sent = rig.pass_time(TAKE_TIMEOUT);
            let is_offered = sent.iter().any(|line| line.ends_with("to n3"));
            if let (true, true, Some(held)) = (takes, is_offered, rig.machine.token()) {
                let after = |hops| ring_codec::lab2::Token {
                    progress: held.progress + hops,
                    ..held
                };
                rig.hear(3, here(after(1)));
                rig.hear(3, take(after(2)));
            }
        }
    }
    rig
}

/// A node with work offers the token only to members that want it. If the node made no other offers, the node would
/// never learn that no member takes the token.
#[test]
fn a_busy_owner_lets_go_if_no_member_takes_the_token() {
    assert!(busy_owner(false).machine.is_unfit());
}

#[test]
fn a_busy_owner_keeps_owning_if_one_member_takes_the_token() {
    let rig = busy_owner(true);
    assert!(!rig.machine.is_unfit());
    assert_eq!(rig.state(), State::Owner);
}

/// Returns an owner of 11-n3-1. Its process was stalled for a second and resumes now.
fn stalled_owner() -> Rig {
    let mut rig = Rig::owner();
    rig.stall(ms(1_000));
    rig.events.clear();
    rig
}

#[test]
fn a_stalled_owner_reads_waiting_frames_before_it_asks_as_deaf() {
    let mut rig = stalled_owner();
    for age in [450, 350, 250, 150, 50] {
        let sent = rig.hear_late(7, here(token_of(50, 7, 1)), ms(age));
        let asks = sent.iter().any(|line| line.starts_with("WHERE_IS_TOKEN"));
        assert!(!asks, "{sent:?}");
    }
    assert_eq!(rig.state(), State::Waiter);
    let deaf = |event: &Event| matches!(event, Event::HearingChanged { .. });
    assert!(!rig.events.iter().any(deaf), "{:?}", rig.events);
    assert_eq!(rig.wake(), [""; 0], "nothing is due");
}

#[test]
fn a_stalled_owner_does_not_stand_in_an_old_election() {
    for (age, stands) in [(ms(500), false), (ANSWER_TIMEOUT, false), (ms(99), true)] {
        let mut rig = stalled_owner();
        let sent = rig.hear_late(3, generating(token_of(2, 3, 9)), age);
        let candidate = sent.iter().any(|line| line.starts_with("GENERATING_TOKEN"));
        assert_eq!(candidate, stands, "{sent:?}");
    }
}

#[test]
fn a_stalled_owner_asks_when_no_frame_waits() {
    let mut rig = stalled_owner();
    assert_eq!(rig.hear_late(7, ping(NO_IP), ms(700)), [""; 0]);
    assert_eq!(rig.state(), State::Looser);
    assert_eq!(rig.wake(), ["WHERE_IS_TOKEN to all"]);
    assert!(rig.machine.is_deaf(), "the last frame is old");
}
