//! The events about holders of tokens.

use ring_codec::ftn::Message;

use super::rig::*;
use crate::ftn::server::Holding;

/// Takes what was told of holders since the last call.
fn told(rig: &mut Rig) -> Vec<(&'static str, Holding)> {
    let told = rig.events.drain(..).filter_map(|event| match event {
        Event::TokenGranted(it) => Some(("granted", *it)),
        Event::TokenReturned(it) => Some(("returned", *it)),
        Event::TokenLost(it) => Some(("lost", *it)),
        _ => None,
    });
    told.collect()
}

#[test]
fn each_grant_and_its_end_are_told_with_the_program_and_the_number() {
    let mut rig = Rig::alone();
    rig.begin(1);
    rig.begin(2);
    let introduced = |rig: &mut Rig| {
        let events = rig.events.drain(..);
        events
            .filter(|it| matches!(it, Event::SessionIntroduced { .. }))
            .count()
    };
    introduced(&mut rig);
    rig.introduce(1, "backup");
    assert_eq!(introduced(&mut rig), 1);
    rig.introduce(1, "backup");
    assert_eq!(introduced(&mut rig), 0, "it is not new");
    rig.request(1, 1, "a", X);
    let [("granted", first)] = &told(&mut rig)[..] else {
        panic!("one grant is told");
    };
    assert_eq!(&*first.name, b"a");
    assert_eq!(first.program.as_deref(), Some("backup"));
    // What is sent again is told once.
    rig.request(1, 1, "a", X);
    assert_eq!(told(&mut rig), []);
    rig.request(2, 1, "a", X);
    assert_eq!(told(&mut rig), [], "it waits");
    rig.deassign(1, 2, "a");
    let [("returned", returned), ("granted", second)] = &told(&mut rig)[..] else {
        panic!("a return and a grant are told");
    };
    assert_eq!(returned, first);
    assert_eq!(second.program, None);
    assert!(second.number > first.number);
    // A RETURN of a session that does not hold the token tells nobody anything.
    rig.deassign(1, 3, "a");
    assert_eq!(told(&mut rig), []);
    let second = second.clone();
    rig.say(2, Message::Logout);
    assert_eq!(told(&mut rig), [("lost", second)]);
}

#[test]
fn a_follower_tells_of_tokens_whose_session_its_leader_has_ended() {
    let mut rig = Rig::follower(2);
    let name = name_of(1, &[R; 3], 0);
    rig.request(1, 1, &name, X);
    let [("granted", first)] = &told(&mut rig)[..] else {
        panic!("one grant is told");
    };
    let first = first.clone();
    rig.state_of(9, 2, &[R; 3], [2]);
    assert_eq!(told(&mut rig), [("lost", first)]);
}
