//! Frames that a daemon must drop, and limits on the number of its answers.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_control::lab2::Counters;
use ring_segment::{
    Digest, LONG_IDLE_HOLD, MacAddr, Member, Message, Rng, Timing, Token, take_token, token_is_here,
};

use super::stand::{AT_ONCE, Stand};

/// Period of heartbeats. It is so long that the daemon sends nothing by itself during a test.
const HEARTBEAT: Duration = Duration::from_secs(600);
/// Time that exceeds the delay of every answer. All waits of a test together are shorter than the daemon's timeouts.
const ANSWER_DELAY_MAX: Duration = Duration::from_secs(5);

fn stand() -> Stand {
    Stand::new(Timing::tolerant(HEARTBEAT).idle_hold(LONG_IDLE_HOLD))
}

/// Returns the number of received frames, including dropped frames.
fn received_frames(counters: &Counters) -> u64 {
    counters.received.values().sum::<u64>() + counters.dropped.values().sum::<u64>()
}

/// Returns frames that `docs/reference/lab2/states.md R4` forbids. Each frame comes with the name of the reason in the
/// counters.
fn invalid_frames(author: MacAddr, daemon: MacAddr) -> Vec<(&'static str, Vec<u8>)> {
    let valid = token_is_here(Token {
        progress: u64::MAX / 4,
        author,
        number: 1,
    })
    .payload(author);
    let with = |offset: usize, bytes: &[u8]| {
        let mut payload = valid.clone();
        payload[offset..offset + bytes.len()].copy_from_slice(bytes);
        payload
    };
    let ring_members = |members: Vec<Member>| {
        Message::RingMembers {
            digest: Digest { size: 9, hash: 9 },
            members,
        }
        .payload(author)
    };
    let everybody = Member {
        mac: MacAddr::broadcast(),
        ip: [0; 16],
    };
    let too_many = vec![
        Member {
            mac: author,
            ip: [0; 16]
        };
        67
    ];
    vec![
        ("truncated", valid[..39].to_vec()),
        ("truncated", valid[..7].to_vec()),
        ("truncated", Vec::new()),
        ("truncated", with(38, &[0, 200])),
        ("unknown_kind", with(0, &[0])),
        ("unknown_kind", with(0, &[18])),
        ("unknown_kind", with(0, &[0xff])),
        ("reserved", with(1, &[1])),
        ("progress_too_large", with(8, &[0x80])),
        ("author_not_source", with(2, &daemon.octets())),
        ("author_not_source", with(7, &[0x77])),
        ("author_not_a_station", with(2, &[0; 6])),
        ("author_not_a_station", with(2, &[0xff; 6])),
        ("data_too_long", [with(38, &[4, 1]), vec![0; 1025]].concat()),
        ("too_many_members", ring_members(too_many)),
        ("member_not_a_station", ring_members(vec![everybody])),
        ("broadcast_take_token", with(0, &[1])),
    ]
}

#[test]
fn invalid_frames_are_dropped_counted_and_not_answered() -> Result<()> {
    let stand = stand();
    let token = stand.give()?;
    // The daemon greets the peer before the test, so that the test does not mistake a greeting for an answer.
    stand.high.broadcast(&Message::WhereIsToken);
    stand.pass(ANSWER_DELAY_MAX);
    for (reason, payload) in invalid_frames(stand.high.mac(), stand.mac()) {
        let (before, mark) = (stand.daemon.counters(), stand.mark());
        let station = match reason {
            // The Ethernet source is forged like the author.
            "author_not_a_station" => MacAddr::from(<[u8; 6]>::try_from(&payload[2..8])?),
            _ => stand.high.mac(),
        };
        let everybody = MacAddr::broadcast();
        stand.high.send_payload(station, everybody, &payload);
        stand.pass(ANSWER_DELAY_MAX);
        let mut expected = before;
        *expected.dropped.get_mut(reason).context(reason)? += 1;
        let counters = stand.daemon.counters();
        ensure!(counters == expected, "{reason}: {counters:?}");
        let sent = stand.sent_from(mark);
        ensure!(
            sent.is_empty(),
            "the daemon answered a frame that is invalid ({reason}) with {sent:?}"
        );
    }
    let mark = stand.mark();
    stand.high.send(stand.mac(), &Message::WhereIsToken);
    let answer = stand.wait_in(AT_ONCE, mark, |seen| !seen.is_broadcast())?;
    ensure!(
        answer.message.token() == Some(token),
        "the daemon's state changed: {answer:?}"
    );
    Ok(())
}

/// Returns one message of every kind from a station. The tokens in the messages are weaker than the daemon's token.
fn every_kind(author: MacAddr) -> Vec<Message> {
    let token = Token {
        progress: 1,
        author,
        number: 1,
    };
    let digest = Digest { size: 7, hash: 7 };
    let members = vec![Member {
        mac: MacAddr::new(2, 0, 0, 0, 0x50, 1),
        ip: [1; 16],
    }];
    vec![
        token_is_here(token),
        take_token(token),
        Message::Ping {
            digest,
            ip: [7; 16],
        },
        Message::TokenWasHereRecently {
            token,
            holder: author,
        },
        Message::WhereIsToken,
        Message::GeneratingToken { token },
        Message::RingMembers { digest, members },
        Message::WantToken,
        Message::Leaving,
    ]
}

/// Sends a message of one kind from an unknown station, and counts the answers.
fn check_at_most_two_answers(stand: &Stand, dst: MacAddr, kind: u8) -> Result<()> {
    let group = u8::from(dst == MacAddr::broadcast());
    let author = MacAddr::new(2, 0, 0, 0, 0x40 + group, kind);
    let message = &every_kind(author)[usize::from(kind)];
    let mark = stand.mark();
    let before = received_frames(&stand.daemon.counters());
    stand.high.send_as(author, dst, message);
    stand.pass(ANSWER_DELAY_MAX);
    let more = received_frames(&stand.daemon.counters()) - before;
    ensure!(more == 1, "the daemon received {more} frames");
    let sent = stand.sent_from(mark);
    ensure!(
        sent.len() <= 2,
        "the daemon answered {message:?} to {dst} with {sent:?}"
    );
    Ok(())
}

fn check_answers_to_all_kinds(stand: &Stand) -> Result<()> {
    for dst in [stand.mac(), MacAddr::broadcast()] {
        (0..9).try_for_each(|kind| check_at_most_two_answers(stand, dst, kind))?;
    }
    Ok(())
}

#[test]
fn an_owner_answers_no_frame_more_than_twice() -> Result<()> {
    let stand = stand();
    stand.give()?;
    check_answers_to_all_kinds(&stand)?;
    stand.wait_for_state("OWNER")
}

#[test]
fn a_waiter_answers_no_frame_more_than_twice() -> Result<()> {
    let stand = stand();
    stand.follow()?;
    check_answers_to_all_kinds(&stand)?;
    stand.wait_for_state("WAITER")
}

#[test]
fn a_looser_answers_no_frame_more_than_twice() -> Result<()> {
    let stand = stand();
    for dst in [stand.mac(), MacAddr::broadcast()] {
        for kind in 0..9 {
            // Some kinds of message end the LOOSER's state, so each kind gets a new daemon.
            stand.daemon.kill();
            stand.daemon.start();
            stand.daemon.expect_state("LOOSER")?;
            check_at_most_two_answers(&stand, dst, kind)?;
        }
    }
    Ok(())
}

#[test]
fn padding_is_ignored() -> Result<()> {
    let stand = stand();
    let token = stand.give()?;
    let author = stand.high.mac();
    // The daemon greets the station before the test, so that the test does not mistake a greeting for an answer.
    stand.high.broadcast(&Message::WhereIsToken);
    stand.pass(ANSWER_DELAY_MAX);
    for length in [46, 64, 1500] {
        let mark = stand.mark();
        let mut payload = Message::WhereIsToken.payload(author);
        payload.resize(length, 0xaa);
        stand.high.send_payload(author, stand.mac(), &payload);
        let answer = stand.wait_in(AT_ONCE, mark, |_| true)?;
        ensure!(
            answer.message.token() == Some(token) && answer.dst == author,
            "{length}: {answer:?}"
        );
    }
    Ok(())
}

/// Sends random frames of all kinds. The fields that the daemon checks first are valid.
#[test]
fn random_frames_do_not_stop_a_daemon() -> Result<()> {
    let stand = stand();
    stand.give()?;
    let (author, mut dice) = (stand.high.mac(), Rng::with_seed(3));
    let before = received_frames(&stand.daemon.counters());
    for _ in 0..20_000 {
        let mut payload: Vec<u8> = (0..dice.usize(8..200)).map(|_| dice.u8(..)).collect();
        payload[0] = dice.u8(..18);
        payload[1] = 0;
        payload[2..8].copy_from_slice(&author.octets());
        let dst = if dice.bool() {
            stand.mac()
        } else {
            MacAddr::broadcast()
        };
        stand.high.send_payload(author, dst, &payload);
        stand.pass(AT_ONCE);
    }
    let more = received_frames(&stand.daemon.counters()) - before;
    ensure!(more == 20_000, "the daemon received {more} frames");
    let mark = stand.mark();
    let token = Token {
        progress: 1,
        author,
        number: 1,
    };
    stand
        .high
        .send(stand.mac(), &Message::GeneratingToken { token });
    let answer = stand.wait_in(AT_ONCE, mark, |seen| seen.dst == author)?;
    ensure!(answer.message.token().is_some(), "{answer:?}");
    Ok(())
}
