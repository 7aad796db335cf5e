//! The last frames that a node leaves to its guardian (`docs/reference/lab2/faults.md Z11` to Z15).

use ring_codec::lab2::{Message, NO_IP};

use super::rig::*;
use crate::LinkState;
use crate::lab2::{Command, LastFrames, State};

/// Returns the last frames of a node as text. The guardian of the node does not learn when programs end.
fn last_frames(rig: &Rig) -> Vec<String> {
    let (frames, after_programs) = last_frames_with_reports(rig, false);
    assert!(!after_programs);
    frames
}

/// Returns the last frames of a node as text, and whether the guardian must wait until programs have ended.
fn last_frames_with_reports(rig: &Rig, reports_ends: bool) -> (Vec<String>, bool) {
    let (mut offer, mut leaving) = ([0; 1600], [0; 64]);
    let frames = (rig.machine).last_frames(reports_ends, &mut offer, &mut leaving);
    let Some(LastFrames {
        offer: offered,
        leaving_len,
        after_programs,
    }) = frames
    else {
        return (Vec::new(), false);
    };
    let offered = offered.map(|it| {
        assert_stored(&offer[..it.len], it.state);
        line(&offer[..it.len])
    });
    let frames = offered.into_iter().chain([line(&leaving[..leaving_len])]);
    (frames.collect(), after_programs)
}

const OFFER: &str = "TAKE_TOKEN 12-n3-1 to n7";
const LEAVING: &str = "LEAVING to all";

#[test]
fn an_owner_leaves_the_offer_that_it_would_make_now() {
    let rig = Rig::owner();
    assert_eq!(last_frames(&rig), [OFFER, LEAVING]);
}

#[test]
fn a_member_that_did_not_take_the_token_gets_no_last_offer() {
    let mut rig = Rig::owner();
    rig.pass_time(IDLE_HOLD + 2 * HAND_OVER);
    assert_eq!(rig.token(), "15-n5-2");
    assert_eq!(last_frames(&rig), [""; 0]);
    rig.hear(3, ping(NO_IP));
    assert_eq!(last_frames(&rig), ["TAKE_TOKEN 16-n5-2 to n3", LEAVING]);
}

#[test]
fn the_offer_ends_with_the_lease() {
    let rig = Rig::owner();
    let frames = (rig.machine).last_frames(false, &mut [0; 1600], &mut [0; 64]);
    let offer = frames.and_then(|frames| frames.offer).expect("an offer");
    assert_eq!(Some(offer.until), rig.machine.lease_until());
    let constants = rig.machine.constants();
    assert_eq!(offer.attempts, constants.take_attempts);
    assert_eq!(offer.interval, constants.take_timeout);
}

#[test]
fn a_working_owner_leaves_an_offer_for_the_time_after_its_programs() {
    let mut rig = Rig::owner();
    let offer: Vec<_> = [OFFER, LEAVING].map(str::to_owned).into();
    assert_eq!(
        last_frames_with_reports(&rig, true),
        (offer.clone(), false),
        "an idle owner waits for no program"
    );
    rig.command(Command::WantToken);
    assert_eq!(last_frames(&rig), [""; 0]);
    assert_eq!(last_frames_with_reports(&rig, true), (offer, true));
    rig.command(Command::WorkDone);
    assert_eq!(last_frames(&rig), [OFFER, LEAVING]);
}

#[test]
fn a_member_that_wants_the_token_leaves_without_waiting_for_programs() {
    let mut rig = Rig::waiter();
    rig.command(Command::WantToken);
    let leaving = vec![LEAVING.to_owned()];
    assert_eq!(last_frames_with_reports(&rig, true), (leaving, false));
}

#[test]
fn a_giver_leaves_nothing() {
    assert_eq!(last_frames(&Rig::giver()), [""; 0]);
}

#[test]
fn an_owner_that_owes_its_acknowledgement_leaves_nothing() {
    let mut rig = Rig::waiter();
    rig.hear(7, ping(NO_IP));
    rig.refuse = |frame| frame.starts_with("TOKEN_IS_HERE");
    rig.hear(3, take(token(11)));
    assert_eq!(rig.state(), State::Owner);
    assert_eq!(last_frames(&rig), [""; 0]);
}

#[test]
fn an_owner_without_an_eligible_member_leaves_nothing() {
    let mut rig = Rig::owner();
    for n in [3, 7] {
        rig.hear_all(n, Message::Leaving);
    }
    assert_eq!(last_frames(&rig), [""; 0]);
}

#[test]
fn a_waiter_and_a_looser_leave_only_leaving_and_a_candidate_leaves_nothing() {
    assert_eq!(last_frames(&Rig::waiter()), [LEAVING]);
    assert_eq!(last_frames(&Rig::looser()), [LEAVING]);
    assert_eq!(last_frames(&Rig::candidate()), [""; 0]);
}

#[test]
fn a_node_that_has_left_or_has_no_link_leaves_nothing() {
    let mut rig = Rig::waiter();
    rig.command(Command::ShutDown);
    assert_eq!(last_frames(&rig), [""; 0]);
    let mut rig = Rig::waiter();
    rig.link(LinkState::Down);
    assert_eq!(last_frames(&rig), [""; 0]);
}
