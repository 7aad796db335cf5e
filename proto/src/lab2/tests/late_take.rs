//! Tests of `docs/reference/lab2/passing.md U1` to U7: a token that was acknowledged too late.

use std::time::Duration;

use ring_codec::lab2::{Message, NO_IP};

use super::rig::{
    HEARTBEAT, IDLE_HOLD, IN_VAIN, Rig, SAME, TAKE_TIMEOUT, constants, here, mac, ms, ping, take,
    token, token_of, was_here,
};
use crate::lab2::{Command, Constants, Diagnostic, DropReason, Event, Pause, State};

/// If a token was acknowledged too late, no program may rely on the token for some time. Returns this time.
fn unsure_time() -> Duration {
    HEARTBEAT + 3 * TAKE_TIMEOUT
}

/// Returns a WAITER whose applications may rely on a token immediately.
fn settled_waiter() -> Rig {
    let mut rig = Rig::waiter();
    settle(&mut rig);
    rig
}

fn settle(rig: &mut Rig) {
    while rig.settles_in() > Duration::ZERO {
        rig.hear_all(3, here(token(10)));
        rig.stall(HEARTBEAT);
    }
    rig.hear_all(3, here(token(10)));
}

#[test]
fn an_acknowledgement_in_time_leaves_no_unsure_time() {
    let mut rig = settled_waiter();
    rig.stalls = TAKE_TIMEOUT;
    assert_eq!(
        rig.hear(3, take(token(11))),
        ["TOKEN_IS_HERE 11-n3-1 to n3"]
    );
    assert_eq!(rig.settles_in(), Duration::ZERO);
}

#[test]
fn no_program_relies_on_a_token_acknowledged_too_late() {
    let mut rig = settled_waiter();
    rig.stalls = TAKE_TIMEOUT + ms(1);
    rig.hear(3, take(token(11)));
    rig.stalls = Duration::ZERO;
    assert!(rig.machine.may_use_token());
    assert_eq!(rig.settles_in(), unsure_time());
    assert_eq!(
        rig.wake(),
        ["TOKEN_IS_HERE 11-n3-1 to all"],
        "members must be able to object"
    );
    let late = Some(ms(1));
    assert_eq!(late_reports(&rig), [(late, None)]);
    rig.hear(4, was_here(token_of(15, 3, 2), 4));
    assert_eq!(
        (rig.state(), rig.token().as_str()),
        (State::Waiter, "15-n3-2"),
        "the giver has minted the token"
    );
}

#[test]
fn an_unsure_owner_mints_beyond_another_nodes_token_and_stays_unsure() {
    let mut rig = settled_waiter();
    rig.stalls = TAKE_TIMEOUT + ms(1);
    rig.hear(3, take(token(11)));
    rig.stalls = Duration::ZERO;
    rig.wake();
    rig.pass_time(TAKE_TIMEOUT / 2);
    let sent = rig.hear(4, was_here(token_of(15, 4, 1), 6));
    assert_eq!(sent, ["TOKEN_IS_HERE 17-n5-1 to all"]);
    assert_eq!(
        rig.state(),
        State::Owner,
        "the token's holder has been silent"
    );
    assert_eq!(rig.settles_in(), unsure_time());
}

#[test]
fn the_time_that_an_offer_waited_before_it_was_read_counts() {
    let mut rig = settled_waiter();
    rig.stalls = ms(1);
    rig.hear_late(3, take(token(11)), TAKE_TIMEOUT);
    assert_eq!(rig.settles_in(), unsure_time());
}

#[test]
fn no_program_relies_on_a_token_that_could_not_be_announced() {
    let mut rig = settled_waiter();
    rig.refuse = |line| line.starts_with("TOKEN_IS_HERE");
    rig.hear(3, take(token(11)));
    assert_eq!(late_reports(&rig), [(None, None)]);
    assert_eq!(
        rig.pass_time(2 * unsure_time()),
        [""; 0],
        "the node does not offer the token either"
    );
    assert_eq!(rig.settles_in(), unsure_time());
    rig.refuse = |_| false;
    let sent = rig.timeline(2 * TAKE_TIMEOUT);
    let told = sent
        .iter()
        .find(|(_, line)| line.ends_with("11-n3-1 to all"));
    let (told, _) = told.expect("the token is announced");
    let offered = sent.iter().find(|(_, line)| line.starts_with("TAKE_TOKEN"));
    let (offered, _) = offered.expect("the node hands the token over");
    assert_eq!(*offered, *told + TAKE_TIMEOUT, "{sent:?}");
}

/// The node delays its acknowledgement, because it will soon hand the token over. If a program asks for the token
/// before the node hands the token over, the node first sends the acknowledgement.
#[test]
fn the_giver_is_told_before_a_program_relies_on_the_token() {
    let mut rig = Rig::waiter_with(Constants {
        idle_hold: TAKE_TIMEOUT / 4,
        ..constants()
    });
    settle(&mut rig);
    assert_eq!(rig.hear(3, take(token(11))), [""; 0]);
    assert!(rig.settles_in() > Duration::ZERO);
    assert_eq!(
        rig.command(Command::WantToken),
        ["TOKEN_IS_HERE 11-n3-1 to n3"]
    );
    assert_eq!(rig.settles_in(), Duration::ZERO);
}

#[test]
fn waiting_work_has_its_idle_hold_after_the_unsure_time() {
    let mut rig = settled_waiter();
    rig.command(Command::WantToken);
    rig.stalls = TAKE_TIMEOUT + ms(1);
    rig.hear(3, take(token(11)));
    rig.stalls = Duration::ZERO;
    rig.pass_time(unsure_time() + IDLE_HOLD - ms(1));
    let turn_is_over = |rig: &Rig| rig.machine.is_hold_over(rig.now.monotonic);
    assert_eq!((rig.state(), turn_is_over(&rig)), (State::Owner, false));
    rig.pass_time(ms(1));
    assert!(turn_is_over(&rig));
}

#[test]
fn a_minted_token_is_announced_again_if_the_link_refuses_it() {
    let mut rig = settled_waiter();
    rig.stalls = TAKE_TIMEOUT + ms(1);
    rig.hear(3, take(token(11)));
    rig.stalls = Duration::ZERO;
    rig.wake();
    rig.refuse = |line| line.ends_with("to all");
    assert_eq!(rig.hear(4, was_here(token_of(15, 4, 1), 6)), [""; 0]);
    rig.refuse = |_| false;
    let again = "TOKEN_IS_HERE 17-n5-1 to all";
    assert_eq!(
        rig.timeline(TAKE_TIMEOUT),
        [(TAKE_TIMEOUT, again.to_owned())]
    );
}

/// A member that takes the token in time surely holds the token.
#[test]
fn an_unsure_token_is_not_offered_before_members_could_object() {
    let mut rig = settled_waiter();
    rig.stalls = TAKE_TIMEOUT + ms(1);
    rig.hear(3, take(token(11)));
    rig.stalls = Duration::ZERO;
    assert_eq!(rig.wake(), ["TOKEN_IS_HERE 11-n3-1 to all"]);
    let offer = "TAKE_TOKEN 12-n3-1 to n3";
    assert_eq!(rig.hear_all(3, Message::WantToken), [""; 0]);
    for to in [None, Some(mac(3))] {
        assert_eq!(rig.command(Command::Yield(to)), [""; 0]);
    }
    rig.command(Command::ShutDown);
    assert_eq!(rig.timeline(TAKE_TIMEOUT), [(TAKE_TIMEOUT, offer.into())]);
}

/// This node is about to hand the token over, so it delays two frames: the acknowledgement, and the announcement of the
/// unsure token.
#[test]
fn a_late_token_that_has_gone_on_is_reported() {
    let mut rig = settled_waiter();
    rig.hear_all(7, Message::WantToken);
    rig.stalls = TAKE_TIMEOUT + ms(1);
    assert_eq!(rig.hear(3, take(token(11))), ["TAKE_TOKEN 12-n3-1 to n7"]);
    assert_eq!(late_reports(&rig), [(Some(ms(1)), Some(7))]);
    rig.stalls = Duration::ZERO;
    // n7 does not take the token. This node mints a new token, and first announces the minted token.
    let sent = rig.timeline(5 * TAKE_TIMEOUT);
    let after = |begins: &str| {
        let found = sent.iter().find(|(_, line)| line.starts_with(begins));
        found.unwrap_or_else(|| panic!("{begins} in {sent:?}")).0
    };
    let told = after("TOKEN_IS_HERE 13-n5-1 to all");
    assert_eq!(after("TAKE_TOKEN 14-n5-1 to n3"), told + TAKE_TIMEOUT);
}

#[test]
fn an_interrupted_round_goes_on_when_members_could_object() {
    let mut rig = settled_waiter();
    rig.hear(4, ping(NO_IP));
    for member in [4, 7] {
        rig.hear_all(member, Message::WantToken);
    }
    rig.stalls = TAKE_TIMEOUT + ms(1);
    assert_eq!(rig.hear(3, take(token(11))), ["TAKE_TOKEN 12-n3-1 to n7"]);
    rig.stalls = Duration::ZERO;
    rig.command(Command::WantToken);
    let sent = rig.pass_time(5 * TAKE_TIMEOUT);
    assert!(
        sent.contains(&"TAKE_TOKEN 14-n5-1 to n4".into()),
        "{sent:?}"
    );
}

/// If this node handed the token over, TOKEN_WAS_HERE_RECENTLY replaces the acknowledgement. If a heartbeat is due, the
/// heartbeat replaces the acknowledgement.
#[test]
fn a_frame_that_replaces_the_acknowledgement_must_be_in_time_too() {
    let mut rig = settled_waiter();
    rig.hear_all(7, Message::WantToken);
    rig.hear(3, take(token(11)));
    rig.command(Command::WantToken);
    rig.stall(TAKE_TIMEOUT / 5);
    rig.stalls = TAKE_TIMEOUT;
    assert_eq!(rig.wake(), ["TOKEN_WAS_HERE_RECENTLY 12-n3-1 at n7 to n3"]);
    assert_eq!(late_reports(&rig), [(Some(ms(1)), Some(7))]);

    let mut rig = settled_waiter();
    rig.hear_all(3, Message::WantToken);
    rig.stall(HEARTBEAT);
    rig.hear_all(7, Message::WantToken);
    rig.stalls = TAKE_TIMEOUT + ms(1);
    let sent = rig.hear(3, take(token(11)));
    assert_eq!(sent[0], "TOKEN_IS_HERE 11-n3-1 to all", "{sent:?}");
    assert_eq!(late_reports(&rig).len(), 1);
}

#[test]
fn a_frame_that_replaces_the_acknowledgement_in_time_suffices() {
    let mut rig = Rig::waiter_with(Constants {
        idle_hold: TAKE_TIMEOUT / 4,
        ..constants()
    });
    settle(&mut rig);
    rig.stall(HEARTBEAT);
    assert_eq!(
        rig.hear(3, take(token(11))),
        ["TOKEN_IS_HERE 11-n3-1 to all"]
    );
    assert_eq!(rig.settles_in(), Duration::ZERO);

    let mut rig = settled_waiter();
    rig.hear_all(7, Message::WantToken);
    rig.hear(3, take(token(11)));
    rig.command(Command::WantToken);
    let sent = rig.pass_time(TAKE_TIMEOUT / 5);
    assert_eq!(sent, ["TOKEN_WAS_HERE_RECENTLY 12-n3-1 at n7 to n3"]);
    rig.stalls = TAKE_TIMEOUT;
    assert_eq!(rig.pass_time(TAKE_TIMEOUT), ["TAKE_TOKEN 12-n3-1 to n7"]);
    assert_eq!(
        late_reports(&rig),
        [],
        "the giver received its answer in time"
    );
}

/// The node stalls each time that it sends a frame. So the node's announcement of the token is also late.
#[test]
fn members_have_their_time_from_when_they_were_told() {
    let mut rig = settled_waiter();
    rig.stalls = 4 * TAKE_TIMEOUT;
    rig.hear(3, take(token(11)));
    rig.hear_all(3, Message::WantToken);
    assert_eq!(rig.wake(), ["TOKEN_IS_HERE 11-n3-1 to all"]);
    assert_eq!(rig.settles_in(), unsure_time());
    assert_eq!(rig.wake(), [""; 0], "no member could object yet");
    rig.stalls = Duration::ZERO;
    assert_eq!(rig.pass_time(TAKE_TIMEOUT), ["TAKE_TOKEN 12-n3-1 to n3"]);
}

/// The giver waits for the acknowledgement even if this node cannot hand the token on.
#[test]
fn a_delayed_acknowledgement_is_due_although_the_token_could_not_go_on() {
    let paused = Message::Ping {
        digest: SAME,
        ip: NO_IP,
        promise: None,
        paused: true,
    };
    let mut rig = settled_waiter();
    rig.hear_all(7, Message::WantToken);
    assert_eq!(rig.hear(3, take(token(11))), ["TAKE_TOKEN 12-n3-1 to n7"]);
    rig.command(Command::WantToken);
    assert_eq!(
        rig.hear_all(7, paused),
        [IN_VAIN, "TOKEN_IS_HERE 13-n5-1 to n3"],
        "the acknowledgement precedes the work"
    );
    assert_eq!(rig.settles_in(), Duration::ZERO);

    let mut rig = settled_waiter();
    rig.hear_all(7, Message::WantToken);
    rig.hear(3, take(token(11)));
    rig.command(Command::WantToken);
    rig.stall(4 * TAKE_TIMEOUT);
    rig.stalls = ms(1);
    rig.hear_all(7, paused);
    assert!(rig.settles_in() > Duration::ZERO);
    assert_eq!(late_reports(&rig), [(Some(3 * TAKE_TIMEOUT + ms(2)), None)]);
}

/// The node first acknowledges the token, and then announces the pause with a PING. In the opposite order, the giver
/// would mistake the PING for the answer to its offer. If the PING came first, the giver would mint a second token.
#[test]
fn a_pending_acknowledgement_precedes_the_announcement_of_a_pause() {
    for (command, news) in [
        (Command::Pause(Some(Pause::PLAIN)), "PING"),
        (Command::ShutDown, "LEAVING"),
    ] {
        let mut rig = settled_waiter();
        rig.hear_all(7, Message::WantToken);
        rig.hear(3, take(token(11)));
        rig.hear(7, here(token(12)));
        assert_eq!(rig.state(), State::Waiter);
        let sent = rig.command(command);
        assert_eq!(sent[0], "TOKEN_WAS_HERE_RECENTLY 12-n3-1 at n7 to n3");
        assert!(sent[1].starts_with(news), "{sent:?}");
    }
}

#[test]
fn a_pending_acknowledgement_precedes_the_announcement_of_a_failed_write() {
    let mut rig = settled_waiter();
    rig.hear_all(7, Message::WantToken);
    rig.hear(3, take(token(11)));
    rig.hear(7, here(token(12)));
    rig.disk_full = true;
    let sent = rig.hear_all(7, here(token(13)));
    // The holder is not stored.
    assert_eq!(sent, ["TOKEN_WAS_HERE_RECENTLY 12-n3-1 at n3 to n3"]);
    assert_eq!(rig.wake(), ["PING to all"]);
}

/// The node does not send the pending acknowledgement as an answer to the frame that it receives, because the node may
/// ignore this frame.
#[test]
fn a_pending_acknowledgement_before_leaving_answers_no_other_frame() {
    let mut rig = settled_waiter();
    rig.hear_all(7, Message::WantToken);
    rig.hear(3, take(token(11)));
    rig.command(Command::ShutDown);
    assert_eq!(rig.hear(7, here(token(12))), [""; 0]);
    assert_eq!(rig.hear_bytes(b"garbage", Duration::ZERO), [""; 0]);
    assert_eq!(
        rig.wake(),
        [
            "TOKEN_WAS_HERE_RECENTLY 12-n3-1 at n7 to n3",
            "LEAVING to all"
        ]
    );
}

#[test]
fn a_waiter_that_acknowledges_too_late_names_the_holder() {
    let mut rig = settled_waiter();
    rig.hear_all(7, Message::WantToken);
    rig.hear(3, take(token(11)));
    rig.stall(TAKE_TIMEOUT + ms(2));
    rig.hear(7, here(token(12)));
    assert_eq!(rig.wake(), ["TOKEN_WAS_HERE_RECENTLY 12-n3-1 at n7 to n3"]);
    assert_eq!(late_reports(&rig), [(Some(ms(2)), Some(7))]);
}

/// The driver reads its clock once for all arrived frames.
#[test]
fn the_time_spent_on_sending_adds_to_the_age_of_waiting_frames() {
    let mut rig = settled_waiter();
    rig.hear_all(7, Message::WantToken);
    let now = rig.now;
    rig.stalls = 2 * TAKE_TIMEOUT;
    rig.hear(3, take(token(11)));
    rig.stalls = Duration::ZERO;
    rig.now = now;
    rig.hear(4, take(token(20)));
    let stale = Event::Dropped {
        reason: DropReason::StaleOffer,
    };
    assert!(rig.events.contains(&stale));
}

/// The successor's time to answer begins when the offer is sent, not when this node reads its clock before the sending.
#[test]
fn a_successor_has_its_time_from_when_the_offer_has_left() {
    let mut rig = Rig::owner();
    rig.pass_time(IDLE_HOLD - ms(1));
    rig.stall(ms(1));
    rig.stalls = ms(20);
    assert_eq!(rig.wake(), ["TAKE_TOKEN 12-n3-1 to n7"]);
    rig.stalls = Duration::ZERO;
    assert_eq!(rig.wake(), [""; 0], "the successor has had no time yet");
    assert_eq!(
        rig.timeline(TAKE_TIMEOUT),
        [(TAKE_TIMEOUT, "TAKE_TOKEN 12-n3-1 to n7".into())]
    );
}

/// Returns the reports of late tokens. Each report has two values: the delay of the acknowledgement, and the member to
/// which this node had already offered the token.
fn late_reports(rig: &Rig) -> Vec<(Option<Duration>, Option<u8>)> {
    let told = rig.events.iter().filter_map(|event| match event {
        Event::DiagnosticChanged {
            trouble: Diagnostic::TakenLate { late, offered_to },
            ..
        } => Some((*late, offered_to.map(|to| to.0[5]))),
        _ => None,
    });
    told.collect()
}
