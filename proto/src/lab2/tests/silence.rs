//! Tests of silent members (`docs/reference/lab2/membership.md S1` to S10): a silent member costs the other members
//! nothing, and they forget the silent member.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Message, NO_IP, Token};

use super::rig::{
    HAND_OVER, HEARTBEAT, IDLE_HOLD, OTHER, Rig, SAME, WAITER_TIMEOUT, constants, here, mac,
    member, ms, ping, take, token, token_of,
};
use crate::lab2::{Command, Constants, Event, Presence, State};

/// The time after which a member of a small ring is silent.
const SILENCE: Duration = Duration::from_millis(12_800);
/// The time for which [`forgetful`] remembers a silent member.
const FORGET: Duration = Duration::from_secs(20);

fn forgetful() -> Constants {
    Constants {
        forget: Some(FORGET),
        ..constants()
    }
}

fn offers(sent: &[String]) -> Vec<&String> {
    let mut offers: Vec<_> = sent
        .iter()
        .filter(|line| line.starts_with("TAKE_TOKEN"))
        .collect();
    offers.dedup();
    offers
}

/// Gives the OWNER work, and lets time pass. Meanwhile the OWNER hears only n3. Returns the OWNER's frames.
fn hear_only_n3(rig: &mut Rig, time: Duration) -> Vec<String> {
    let mut sent = rig.command(Command::WantToken);
    let end = rig.now.monotonic + time;
    while rig.now.monotonic < end {
        rig.hear(3, ping(NO_IP));
        sent.extend(rig.pass_time(HEARTBEAT));
    }
    sent
}

fn hear_table_with(rig: &mut Rig, n: u8) -> Vec<String> {
    let members = &[member(n, NO_IP)];
    rig.hear(
        3,
        Message::RingMembers {
            digest: SAME,
            members,
        },
    )
}

fn forget(members: &[MacAddr]) -> Message<'_> {
    Message::Forget { members }
}

#[test]
fn a_member_of_tables_is_offered_the_token_once_it_is_heard() {
    let mut rig = Rig::owner();
    hear_table_with(&mut rig, 6);
    assert_eq!(rig.presence_of(6), Presence::Silent);
    assert_eq!(rig.pass_time(IDLE_HOLD), ["TAKE_TOKEN 12-n3-1 to n7"]);

    let mut rig = Rig::owner();
    hear_table_with(&mut rig, 6);
    rig.hear(6, ping(NO_IP));
    assert_eq!(rig.presence_of(6), Presence::Alive);
    assert_eq!(rig.pass_time(IDLE_HOLD), ["TAKE_TOKEN 12-n3-1 to n6"]);
}

#[test]
fn a_silent_member_is_not_offered_the_token_until_it_is_heard() {
    let mut rig = Rig::owner();
    hear_only_n3(&mut rig, SILENCE - ms(200));
    assert_eq!(rig.presence_of(7), Presence::Alive);
    hear_only_n3(&mut rig, ms(400));
    assert_eq!(rig.presence_of(7), Presence::Silent);
    rig.hear_all(3, Message::WantToken);
    assert_eq!(rig.command(Command::WorkDone), ["TAKE_TOKEN 12-n3-1 to n3"]);
    rig.hear(3, here(token(12)));
    rig.hear(3, take(token(13)));
    assert_eq!(
        offers(&rig.pass_time(HEARTBEAT))[0],
        "TAKE_TOKEN 14-n3-1 to n3"
    );

    let mut rig = Rig::owner();
    hear_only_n3(&mut rig, SILENCE + ms(200));
    let sent = rig.hear_all(7, Message::WantToken);
    assert_eq!(sent, [""; 0], "there is work");
    assert_eq!(rig.command(Command::WorkDone), ["TAKE_TOKEN 12-n3-1 to n7"]);
}

#[test]
fn after_three_failures_in_a_row_only_members_heard_since_are_tried() {
    let mut rig = Rig::owner();
    for n in 10..60 {
        rig.hear(n, ping(NO_IP));
    }
    let sent = rig.pass_time(IDLE_HOLD + 3 * HAND_OVER);
    assert_eq!(offers(&sent).len(), 3, "{sent:?}");
    assert!(
        sent.last().unwrap().starts_with("TOKEN_IS_HERE"),
        "{sent:?}"
    );
    assert!(rig.machine.may_use_token());
    rig.hear(40, ping(NO_IP));
    let sent = rig.pass_time(IDLE_HOLD);
    assert!(offers(&sent)[0].ends_with("to n40"), "{sent:?}");
}

#[test]
fn a_waiter_broadcasts_an_answer_from_time_to_time() {
    let mut rig = Rig::waiter();
    let mut to_all = Vec::new();
    for beat in 0..300 {
        rig.pass_time(HEARTBEAT);
        let sent = rig.hear_all(3, here(token(10)));
        assert_eq!(sent.len(), 1, "{sent:?}");
        if sent[0] == "PING to all" {
            to_all.push(beat);
        }
    }
    let apart: Vec<_> = to_all.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(apart.len() >= 3, "{to_all:?}");
    assert!(
        apart.iter().all(|beats| (32..=64).contains(beats)),
        "{apart:?}"
    );
}

#[test]
fn a_holder_forgets_silent_members_and_announces_it() {
    let mut rig = Rig::owner_with(forgetful());
    let sent = hear_only_n3(&mut rig, FORGET + SILENCE);
    let told = sent.iter().filter(|line| line.starts_with("FORGET"));
    assert_eq!(told.collect::<Vec<_>>(), ["FORGET n7 to all"]);
    assert_eq!(rig.members(), [3, 5]);
    let (mac, members) = (mac(7), 2);
    let forgotten = Event::MemberForgotten { mac, members };
    assert!(rig.events.contains(&forgotten));
}

#[test]
fn a_member_of_tables_is_remembered_from_then_on() {
    let mut rig = Rig::owner_with(forgetful());
    hear_only_n3(&mut rig, FORGET / 2);
    hear_table_with(&mut rig, 9);
    rig.hear(7, ping(NO_IP));
    hear_only_n3(&mut rig, FORGET - ms(500));
    assert_eq!(rig.members(), [3, 5, 7, 9]);
    hear_only_n3(&mut rig, SILENCE);
    assert_eq!(rig.members(), [3, 5]);
}

#[test]
fn without_forget_after_members_stay() {
    let mut rig = Rig::owner_with(Constants {
        forget: None,
        ..constants()
    });
    hear_only_n3(&mut rig, 10 * FORGET);
    assert_eq!(rig.members(), [3, 5, 7]);
}

#[test]
fn a_table_does_not_bring_back_forgotten_members() {
    let mut rig = Rig::owner_with(forgetful());
    hear_only_n3(&mut rig, FORGET + SILENCE / 2);
    assert_eq!(rig.members(), [3, 5]);
    hear_table_with(&mut rig, 7);
    assert_eq!(rig.members(), [3, 5]);
    let sent = hear_only_n3(&mut rig, 2 * HEARTBEAT);
    assert!(sent.contains(&"FORGET n7 to all".into()), "{sent:?}");
    hear_only_n3(&mut rig, 16 * WAITER_TIMEOUT);
    hear_table_with(&mut rig, 7);
    assert_eq!(rig.members(), [3, 5, 7]);
}

#[test]
fn a_forgotten_member_is_back_with_its_first_frame() {
    let mut rig = Rig::owner_with(forgetful());
    hear_only_n3(&mut rig, FORGET + SILENCE / 2);
    assert_eq!(rig.members(), [3, 5]);
    rig.hear(7, ping(NO_IP));
    assert_eq!(rig.members(), [3, 5, 7]);
    let sent = hear_only_n3(&mut rig, 2 * HEARTBEAT);
    assert!(
        !sent.iter().any(|line| line.starts_with("FORGET")),
        "{sent:?}"
    );
}

#[test]
fn forget_removes_members_that_are_silent_here_or_have_left() {
    let mut rig = Rig::waiter();
    hear_table_with(&mut rig, 6);
    rig.hear(7, ping(NO_IP));
    rig.hear(8, ping(NO_IP));
    rig.hear_all(8, Message::Leaving);
    assert_eq!(rig.presence_of(8), Presence::Left);
    let named = [mac(8), mac(7), mac(6), mac(99)];
    assert_eq!(rig.hear_all(3, forget(&named)), [""; 0]);
    assert_eq!(rig.members(), [3, 5, 7]);
}

#[test]
fn a_present_member_that_forget_names_announces_itself() {
    let mut rig = Rig::waiter();
    rig.pass_time(HEARTBEAT);
    let named = [mac(5)];
    assert_eq!(rig.hear_all(3, forget(&named)), ["PING to all"]);
    assert_eq!(rig.hear_all(3, forget(&named)), [""; 0], "once a period");
    assert_eq!(rig.members(), [3, 5]);
}

#[test]
fn an_operator_can_remove_only_members_that_are_gone() {
    let mut rig = Rig::waiter();
    hear_table_with(&mut rig, 6);
    let sent = rig.command(Command::Forget(mac(6)));
    assert_eq!(sent, ["FORGET n6 to all"]);
    assert_eq!(rig.members(), [3, 5]);
    for there in [3, 5, 99] {
        assert_eq!(rig.command(Command::Forget(mac(there))), [""; 0]);
    }
    assert_eq!(rig.members(), [3, 5]);
}

#[test]
fn in_a_full_table_an_author_replaces_the_member_silent_longest() {
    let full = Constants {
        max_members: 5,
        ..constants()
    };
    let mut rig = Rig::owner_with(full.clone());
    hear_table_with(&mut rig, 8);
    rig.pass_time(ms(5));
    hear_table_with(&mut rig, 9);
    assert_eq!(rig.members(), [3, 5, 7, 8, 9]);
    let sent = rig.hear_all(4, Message::WantToken);
    assert_eq!(sent[0], "TAKE_TOKEN 12-n3-1 to n4", "{sent:?}");
    assert_eq!(rig.members(), [3, 4, 5, 7, 9]);
    rig.hear(4, here(token(12)));
    assert_eq!(rig.state(), State::Waiter);

    // Only the holder removes a member.
    let mut rig = Rig::waiter_with(full);
    for n in 7..=9 {
        hear_table_with(&mut rig, n);
    }
    rig.hear_all(4, Message::WantToken);
    assert_eq!(rig.members(), [3, 5, 7, 8, 9]);
    assert!(rig.events.contains(&Event::TableFull { author: mac(4) }));
}

#[test]
fn a_replacement_is_announced_with_the_next_heartbeat() {
    let mut rig = Rig::owner_with(Constants {
        max_members: 4,
        ..constants()
    });
    hear_table_with(&mut rig, 8);
    rig.command(Command::WantToken);
    rig.hear_all(4, Message::WantToken);
    let sent = rig.pass_time(HEARTBEAT);
    assert!(sent.contains(&"FORGET n8 to all".into()), "{sent:?}");
}

#[test]
fn a_returned_table_does_not_list_forgotten_members() {
    let mut rig = Rig::owner_with(forgetful());
    hear_only_n3(&mut rig, FORGET + SILENCE / 2);
    let members = &[
        member(3, NO_IP),
        member(5, super::rig::ip(5)),
        member(7, NO_IP),
    ];
    let sent = rig.hear(
        3,
        Message::RingMembers {
            digest: OTHER,
            members,
        },
    );
    assert_eq!(sent, ["RING_MEMBERS 2 to n3"]);
}

/// A member repeatedly asks for the token, but never takes it.
#[test]
fn frames_without_a_profile_do_not_count_as_signs_of_life() {
    let mut rig = Rig::waiter();
    let (mut held, mut to_all) = (token(10), 0);
    for number in 1..=128 {
        rig.pass_time(HEARTBEAT - HAND_OVER);
        let sent = rig.hear_all(3, here(held));
        to_all += usize::from(sent == ["PING to all"]);
        rig.hear_all(7, Message::WantToken);
        let next = Token {
            progress: held.progress + 1,
            ..held
        };
        rig.hear(3, take(next));
        let sent = rig.pass_time(HAND_OVER);
        let in_vain = |line: &String| line.starts_with("TOKEN_WAS_HERE_RECENTLY");
        assert!(sent.iter().any(in_vain), "{sent:?}");
        held = token_of(next.progress + 3, 5, number);
        rig.hear(3, here(held));
        assert_eq!(rig.state(), State::Waiter, "{sent:?}");
    }
    assert!(to_all >= 2, "the node broadcasts from time to time");
}
