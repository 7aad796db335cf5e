//! Events about holders of tokens.

use ring_codec::ftn::Message;

use super::rig::*;
use crate::ftn::server::TokenHold;

/// Returns the events about holders since the last call.
fn take_holding_events(rig: &mut Rig) -> Vec<(&'static str, TokenHold)> {
    let told = rig.events.drain(..).filter_map(|event| match event {
        Event::TokenGranted(it) => Some(("granted", *it)),
        Event::TokenReturned(it) => Some(("returned", *it)),
        Event::TokenLost(it) => Some(("lost", *it)),
        _ => None,
    });
    told.collect()
}

#[test]
fn each_grant_and_its_end_are_reported_with_program_and_fencing_number() {
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
    assert_eq!(introduced(&mut rig), 0, "the introduction is not new");
    rig.request(1, 1, "a", X);
    let [("granted", first)] = &take_holding_events(&mut rig)[..] else {
        panic!("the test expects one grant");
    };
    assert_eq!(&*first.name, b"a");
    assert_eq!(first.program.as_deref(), Some("backup"));
    // A repeated GRANT is not reported again.
    rig.request(1, 1, "a", X);
    assert_eq!(take_holding_events(&mut rig), []);
    rig.request(2, 1, "a", X);
    assert_eq!(take_holding_events(&mut rig), [], "the session waits");
    rig.deassign(1, 2, "a");
    let [("returned", returned), ("granted", second)] = &take_holding_events(&mut rig)[..] else {
        panic!("the test expects a return and a grant");
    };
    assert_eq!(returned, first);
    assert_eq!(second.program, None);
    assert!(second.number > first.number);
    // A RETURN of a session that does not hold the token is not reported.
    rig.deassign(1, 3, "a");
    assert_eq!(take_holding_events(&mut rig), []);
    let second = second.clone();
    rig.send(2, Message::Logout);
    assert_eq!(take_holding_events(&mut rig), [("lost", second)]);
}

#[test]
fn a_follower_reports_tokens_of_a_session_that_its_leader_has_ended() {
    let mut rig = Rig::follower(2);
    let name = name_of(1, &[R; 3], 0);
    rig.request(1, 1, &name, X);
    let [("granted", first)] = &take_holding_events(&mut rig)[..] else {
        panic!("the test expects one grant");
    };
    let first = first.clone();
    rig.state_of(9, 2, &[R; 3], [2]);
    assert_eq!(take_holding_events(&mut rig), [("lost", first)]);
}
