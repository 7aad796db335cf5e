//! Tests of pause notices (`docs/reference/lab2/membership.md E7`, `E8`).

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::card::{Card, Version};
use ring_codec::lab2::{FRAME_LEN_MAX, Frame, Message, NO_IP, PauseNotice};

use super::data::{frame_with_profile, profile};
use super::rig::*;
use crate::lab2::{Command, Event, Pause, PauseReason};

const VERSION: Version = Version {
    major: 1,
    minor: 2,
    patch: 3,
};
const HOUR: Duration = Duration::from_secs(3_600);

fn reason(text: &str) -> PauseReason {
    PauseReason::new(text).expect("a legal reason")
}

fn with_version(mut rig: Rig) -> Rig {
    rig.machine = rig.machine.with_version(VERSION);
    rig
}

/// Pauses the node for the time `left`.
fn pause(rig: &mut Rig, left: Option<Duration>, text: &str) -> Vec<String> {
    let until = left.map(|left| rig.now.monotonic + left);
    rig.command(Command::Pause(Some(Pause {
        until,
        reason: reason(text),
    })))
}

/// Returns the pause notice of each frame of the last input that caused frames.
fn notices(rig: &Rig) -> Vec<Option<(Option<Duration>, String)>> {
    let frames = rig.last_frames.iter();
    let frames = frames.map(|bytes| Frame::decode(bytes).expect("a legal frame"));
    let notice = |frame: Frame<'_>| {
        let PauseNotice { left, reason } = frame.card?.pause?;
        Some((left.map(Duration::from_nanos), reason.to_owned()))
    };
    frames.map(notice).collect()
}

fn paused_ping(paused: bool) -> Message<'static> {
    Message::Ping {
        digest: SAME,
        ip: NO_IP,
        promise: None,
        paused,
    }
}

/// Receives a frame of n3 with a card and this notice.
fn hear(rig: &mut Rig, to: MacAddr, message: Message<'_>, pause: Option<PauseNotice<'_>>) {
    let frame = Frame {
        destination: to,
        author: mac(3),
        message,
        profile: Some(profile(1500)),
        card: Some(Card {
            version: VERSION,
            unheard: None,
            work: None,
            host_name: None,
            pause,
        }),
        locks: None,
        preference: 0,
    };
    let mut bytes = [0; FRAME_LEN_MAX];
    let len = frame.encode(0x88b5, &mut bytes).expect("a legal frame");
    rig.hear_bytes(&bytes[..len], Duration::ZERO);
}

/// Returns the time until the end of the pause of n3, and its reason.
fn known_pause(rig: &Rig) -> Option<(Option<Duration>, String)> {
    let mut members = rig.machine.members();
    let pause = members.find(|it| it.mac == mac(3))?.pause?;
    let left = pause.left(rig.now.monotonic);
    Some((left, pause.reason.as_str().to_owned()))
}

/// Returns two numbers: the reports that n3 is paused, and the reports that n3 resumed.
fn reports(rig: &Rig) -> (usize, usize) {
    let count = |is: fn(&Event) -> bool| rig.events.iter().filter(|it| is(it)).count();
    (
        count(|it| matches!(it, Event::MemberPaused { .. })),
        count(|it| matches!(it, Event::MemberResumed { .. })),
    )
}

#[test]
fn a_paused_node_announces_the_time_that_is_left_and_the_reason() {
    let mut rig = with_version(Rig::waiter());
    assert_eq!(pause(&mut rig, Some(HOUR), "disk"), ["PING to all"]);
    assert_eq!(notices(&rig), [Some((Some(HOUR), "disk".to_owned()))]);
    rig.pass_time(HEARTBEAT);
    assert_eq!(rig.hear_all(3, here(token(10))), ["PING to n3"]);
    assert_eq!(notices(&rig), [None], "a frequent frame has no notice");
    rig.hear_all(8, Message::WhereIsToken);
    let left = HOUR - HEARTBEAT;
    assert_eq!(
        notices(&rig).last(),
        Some(&Some((Some(left), "disk".to_owned()))),
        "the greeting of a new member"
    );
    assert_eq!(rig.command(Command::Pause(None)), ["PING to all"]);
    assert_eq!(notices(&rig), [None]);
}

#[test]
fn another_end_or_reason_is_announced_and_an_equal_pause_is_not() {
    let mut rig = with_version(Rig::waiter());
    let start = rig.now.monotonic;
    pause(&mut rig, Some(HOUR), "disk");
    assert_eq!(pause(&mut rig, Some(HOUR), "disk"), [""; 0]);
    assert_eq!(pause(&mut rig, Some(HOUR), "cable"), ["PING to all"]);
    assert_eq!(pause(&mut rig, None, "cable"), ["PING to all"]);
    assert_eq!(notices(&rig), [Some((None, "cable".to_owned()))]);
    assert_eq!(rig.now.monotonic, start);
}

#[test]
fn signs_of_life_repeat_the_pause() {
    let mut rig = with_version(Rig::waiter());
    pause(&mut rig, None, "disk");
    let mut broadcasts = 0;
    for _ in 0..64 {
        rig.pass_time(HEARTBEAT);
        let is_to_all = rig.hear_all(3, here(token(10))) == ["PING to all"];
        assert_eq!(notices(&rig)[0].is_some(), is_to_all);
        broadcasts += usize::from(is_to_all);
    }
    assert!(broadcasts > 0);
}

#[test]
fn a_notice_that_does_not_fit_the_mtu_is_omitted() {
    // The PING has 71 bytes with its trailer, the profile 43, the card 25 and the notice 17.
    for (mtu, expected) in [(156, true), (155, false)] {
        let mut rig = with_version(Rig::waiter());
        let frame = frame_with_profile(3, Message::WantToken, profile(mtu));
        rig.hear_bytes(&frame, Duration::ZERO);
        pause(&mut rig, None, "disk");
        assert_eq!(notices(&rig)[0].is_some(), expected, "{mtu}");
    }
}

#[test]
fn members_know_the_last_notice_until_the_pause_ends() {
    let notice = |seconds: u64, reason| PauseNotice {
        left: Some(seconds * 1_000_000_000),
        reason,
    };
    let known =
        |seconds, reason: &str| Some((Some(Duration::from_secs(seconds)), reason.to_owned()));
    let mut rig = with_version(Rig::waiter());
    let all = MacAddr::BROADCAST;
    hear(&mut rig, all, paused_ping(true), Some(notice(60, "disk")));
    assert_eq!(known_pause(&rig), known(60, "disk"));
    rig.pass_time(Duration::from_secs(1));
    assert_eq!(known_pause(&rig), known(59, "disk"));
    hear(&mut rig, mac(ME), paused_ping(true), None);
    assert_eq!(known_pause(&rig), known(59, "disk"), "an answer has none");
    assert_eq!(reports(&rig), (1, 0));
    hear(&mut rig, all, paused_ping(true), Some(notice(59, "disk")));
    assert_eq!(reports(&rig), (1, 0), "the same end");
    hear(&mut rig, all, paused_ping(true), Some(notice(120, "disk")));
    assert_eq!(reports(&rig), (2, 0), "another end");
    rig.pass_time(Duration::from_secs(121));
    assert_eq!(
        known_pause(&rig),
        known(0, "disk"),
        "only the member ends it"
    );
    hear(&mut rig, mac(ME), paused_ping(false), None);
    assert_eq!((known_pause(&rig), reports(&rig)), (None, (2, 1)));
}

#[test]
fn the_notice_ends_with_a_broadcast_ping_without_one_and_when_the_member_leaves() {
    let notice = PauseNotice {
        left: None,
        reason: "",
    };
    let all = MacAddr::BROADCAST;
    let mut rig = with_version(Rig::waiter());
    hear(&mut rig, all, paused_ping(true), Some(notice));
    assert_eq!(known_pause(&rig), Some((None, String::new())));
    hear(&mut rig, all, paused_ping(true), None);
    assert_eq!((known_pause(&rig), reports(&rig)), (None, (1, 1)));
    hear(&mut rig, all, paused_ping(true), Some(notice));
    rig.hear_all(3, Message::Leaving);
    hear(&mut rig, mac(ME), paused_ping(true), None);
    assert_eq!((known_pause(&rig), reports(&rig)), (None, (2, 1)));
}
