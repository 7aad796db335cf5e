//! Which frames a daemon listens to, and how much it answers, whatever is sent to it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{
    Binaries, Digest, ETHERTYPE, FOR_GOOD, MacAddr, Member, Message, Rng, Seen, Segment, Stand,
    Test, Timing, Token, binaries, frame, holds, is_heartbeat, offers, tests,
};

const BINARIES: Binaries = binaries!();
/// So long that the daemon says nothing of its own accord while a test listens to its answer.
const HEARTBEAT: Duration = Duration::from_secs(1);
const ANSWER: Duration = Duration::from_millis(150);

pub fn tests() -> Vec<Test> {
    tests![
        invalid_frames_are_dropped_counted_and_not_answered,
        frames_for_others_are_not_answered,
        another_ethertype_is_not_heard,
        padding_is_ignored,
        an_owner_answers_no_frame_more_than_twice,
        a_waiter_answers_no_frame_more_than_twice,
        a_looser_answers_no_frame_more_than_twice,
        random_frames_do_not_stop_a_daemon,
    ]
}

fn stand() -> Result<Stand> {
    Stand::new(BINARIES, Timing::patient(HEARTBEAT).idle_hold(FOR_GOOD))
}

fn counter(stand: &Stand, reason: &str) -> Result<u64> {
    let status = stand.daemon.status()?;
    status["counters"]["dropped"][reason]
        .as_u64()
        .with_context(|| format!("{reason}: {status:#}"))
}

/// How many frames the daemon has heard: those that it dropped, too.
fn heard(status: &serde_json::Value) -> u64 {
    let counters = [
        &status["counters"]["received"],
        &status["counters"]["dropped"],
    ];
    let kinds = counters.into_iter().filter_map(|kinds| kinds.as_object());
    let counts = kinds.flat_map(|kinds| kinds.values());
    counts.filter_map(serde_json::Value::as_u64).sum()
}

/// Frames that section 1 forbids, and the reason under which each is counted.
fn invalid_frames(author: MacAddr, daemon: MacAddr) -> Vec<(&'static str, Vec<u8>)> {
    let valid = holds(Token {
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
        ("unknown_kind", with(0, &[10])),
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

fn invalid_frames_are_dropped_counted_and_not_answered() -> Result<()> {
    // The kernel's bridge lets no frame by whose source is no station. The tests' switch does.
    let timing = Timing::patient(HEARTBEAT).idle_hold(FOR_GOOD);
    let stand = Stand::on(Segment::switch(3, 1)?, BINARIES, timing, |ringd| ringd)?;
    let token = stand.elect()?;
    // The peer is greeted before, so that a greeting is not mistaken for an answer.
    stand.high.broadcast(&Message::WhereIsToken)?;
    stand.high.collect(ANSWER)?;
    for (reason, payload) in invalid_frames(stand.high.mac(), stand.mac()) {
        let (before, mark) = (counter(&stand, reason)?, stand.mark());
        let station = match reason {
            // The source is as forged as the author.
            "author_not_a_station" => MacAddr::from(<[u8; 6]>::try_from(&payload[2..8])?),
            _ => stand.high.mac(),
        };
        let bytes = frame(MacAddr::broadcast(), station, ETHERTYPE, &payload);
        stand.high.send_frame(&bytes)?;
        let counted =
            |status: &serde_json::Value| status["counters"]["dropped"][reason] == before + 1;
        stand.daemon.wait_for_status(stand.patience(), counted)?;
        let others: Vec<Seen> = stand
            .sent_from(mark)
            .into_iter()
            .filter(|seen| !is_heartbeat(seen))
            .collect();
        ensure!(others.is_empty(), "{reason} was answered: {others:?}");
    }
    let mark = stand.mark();
    stand.high.send(stand.mac(), &Message::WhereIsToken)?;
    let answer = stand.wait_from(mark, |seen| !seen.is_broadcast())?;
    ensure!(
        answer.message.token() == Some(token),
        "its state changed: {answer:?}"
    );
    Ok(())
}

fn frames_for_others_are_not_answered() -> Result<()> {
    let stand = stand()?;
    let token = stand.elect()?;
    let nobody = MacAddr::new(2, 0, 0, 0, 0x99, 1);
    let mark = stand.mark();
    // The bridge floods these: nobody has this address.
    stand.high.send(nobody, &Message::WhereIsToken)?;
    let stronger = Token {
        progress: token.progress + 5,
        author: stand.high.mac(),
        number: 1,
    };
    stand.high.send(nobody, &offers(stronger))?;
    stand.high.send(nobody, &holds(stronger))?;
    stand.high.collect(ANSWER)?;
    let sent = stand.sent_from(mark);
    ensure!(sent.iter().all(is_heartbeat), "it answered: {sent:?}");
    stand.high.send(stand.mac(), &Message::WhereIsToken)?;
    let answer = stand.wait_from(mark, |seen| !seen.is_broadcast())?;
    ensure!(
        answer.message.token() == Some(token),
        "its state changed: {answer:?}"
    );
    Ok(())
}

fn another_ethertype_is_not_heard() -> Result<()> {
    let stand = stand()?;
    stand.elect()?;
    let mark = stand.mark();
    let payload = Message::WhereIsToken.payload(stand.high.mac());
    for ethertype in [0x88b6, 0x0800, 0x86dd] {
        stand
            .high
            .send_frame(&frame(stand.mac(), stand.high.mac(), ethertype, &payload))?;
    }
    stand.high.collect(ANSWER)?;
    let sent = stand.sent_from(mark);
    ensure!(sent.iter().all(is_heartbeat), "it answered: {sent:?}");
    Ok(())
}

fn padding_is_ignored() -> Result<()> {
    let stand = stand()?;
    let token = stand.elect()?;
    for length in [46, 64, 1500] {
        let mark = stand.mark();
        let mut payload = Message::WhereIsToken.payload(stand.high.mac());
        payload.resize(length, 0xaa);
        stand.high.send_payload(stand.mac(), &payload)?;
        let answer = stand.wait_from(mark, |seen| !seen.is_broadcast())?;
        ensure!(answer.message.token() == Some(token) && answer.dst == stand.high.mac());
    }
    Ok(())
}

/// One message of every kind by a station, with a token that the daemon must find weaker.
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
        holds(token),
        offers(token),
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

/// Sends one kind by a station that nobody knows, and counts what it brings about.
fn is_answered_at_most_twice(stand: &Stand, dst: MacAddr, kind: u8) -> Result<()> {
    let group = u8::from(dst == MacAddr::broadcast());
    let author = MacAddr::new(2, 0, 0, 0, 0x40 + group, kind);
    let message = &every_kind(author)[usize::from(kind)];
    let mark = stand.mark();
    let before = heard(&stand.daemon.status()?);
    stand.high.send_as(author, dst, message)?;
    // A late answer would be counted as one to the next frame.
    let has_heard = |status: &serde_json::Value| heard(status) > before;
    stand.daemon.wait_for_status(stand.patience(), has_heard)?;
    stand.high.collect(ANSWER)?;
    let sent = stand.sent_from(mark);
    ensure!(
        sent.len() <= 2,
        "{message:?} to {dst} was answered with {sent:?}"
    );
    Ok(())
}

/// A daemon that says nothing in its own time, between every two frames of a test's.
fn silent_stand() -> Result<Stand> {
    let eternal = Timing::patient(Duration::from_secs(600)).idle_hold(FOR_GOOD);
    Stand::new(BINARIES, eternal)
}

fn answers_no_frame_more_than_twice(stand: &Stand) -> Result<()> {
    for dst in [stand.mac(), MacAddr::broadcast()] {
        (0..9).try_for_each(|kind| is_answered_at_most_twice(stand, dst, kind))?;
    }
    Ok(())
}

fn an_owner_answers_no_frame_more_than_twice() -> Result<()> {
    let stand = silent_stand()?;
    stand.give()?;
    answers_no_frame_more_than_twice(&stand)?;
    stand.wait_for_state("OWNER")
}

fn a_waiter_answers_no_frame_more_than_twice() -> Result<()> {
    let stand = silent_stand()?;
    stand.follow()?;
    answers_no_frame_more_than_twice(&stand)?;
    stand.wait_for_state("WAITER")
}

fn a_looser_answers_no_frame_more_than_twice() -> Result<()> {
    let mut stand = silent_stand()?;
    for dst in [stand.mac(), MacAddr::broadcast()] {
        for kind in 0..9 {
            // Some kinds end the state: each meets a new daemon in it.
            stand.daemon.kill()?;
            let mark = stand.mark();
            stand.daemon.start()?;
            stand.wait_from(mark, |seen| seen.message == Message::WhereIsToken)?;
            is_answered_at_most_twice(&stand, dst, kind)?;
        }
    }
    Ok(())
}

fn random_frames_do_not_stop_a_daemon() -> Result<()> {
    let stand = stand()?;
    stand.elect()?;
    let mut dice = Rng::with_seed(3);
    for _ in 0..20_000 {
        let author = stand.high.mac();
        let mut payload: Vec<u8> = (0..dice.usize(8..200)).map(|_| dice.u8(..)).collect();
        payload[0] = dice.u8(..12);
        payload[1] = 0;
        payload[2..8].copy_from_slice(&author.octets());
        let dst = if dice.bool() {
            stand.mac()
        } else {
            MacAddr::broadcast()
        };
        stand.high.send_payload(dst, &payload)?;
    }
    let mark = stand.mark();
    stand.high.send(
        stand.mac(),
        &Message::GeneratingToken {
            token: Token {
                progress: 1,
                author: stand.high.mac(),
                number: 1,
            },
        },
    )?;
    let answer = stand.wait_from(mark, |seen| seen.dst == stand.high.mac())?;
    ensure!(answer.message.token().is_some(), "{answer:?}");
    Ok(())
}
