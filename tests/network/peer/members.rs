//! The member table: who is in it, who says so, and how tables become equal.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{
    ALIEN, Binaries, FOR_GOOD, Layout, MacAddr, Member, Message, SLACK, Seen, Stand, Test, Timing,
    binaries, digest_of, holds, tests,
};

const BINARIES: Binaries = binaries!();
const HEARTBEAT: Duration = Duration::from_millis(200);
const NONE: [u8; 16] = [0; 16];
const SOME: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3];

pub fn tests() -> Vec<Test> {
    tests![
        an_unknown_broadcaster_is_greeted,
        a_known_broadcaster_is_not_greeted,
        an_owner_answers_ping_with_its_table,
        an_owner_does_not_answer_ping_with_its_own_digest,
        the_table_is_sent_once_a_heartbeat_for_one_peer,
        a_waiter_pings_a_holder_with_another_digest_once_a_heartbeat,
        tables_are_merged_and_sent_back_while_they_differ,
        a_large_table_is_sent_in_parts,
        the_table_is_bounded,
        the_dead_stay_in_the_table,
    ]
}

/// Long enough for several frames of a test within one period.
fn stand() -> Result<Stand> {
    Stand::new(
        BINARIES,
        Timing::patient(Duration::from_secs(1)).idle_hold(FOR_GOOD),
    )
}

fn is_ping(seen: &Seen) -> bool {
    matches!(seen.message, Message::Ping { .. })
}

fn is_table(seen: &Seen) -> bool {
    matches!(seen.message, Message::RingMembers { .. })
}

fn member(mac: MacAddr, ip: [u8; 16]) -> Member {
    Member { mac, ip }
}

fn an_unknown_broadcaster_is_greeted() -> Result<()> {
    let stand = stand()?;
    stand.elect()?;
    stand.high.broadcast(&Message::WantToken)?;
    let ping = stand
        .high
        .expect(SLACK, |seen| seen.dst == stand.high.mac() && is_ping(seen))?;
    let expected = stand.digest_with(&[member(stand.high.mac(), NONE)]);
    ensure!(
        ping.message
            == Message::Ping {
                digest: expected,
                ip: NONE
            },
        "{ping:?}"
    );
    Ok(())
}

fn a_known_broadcaster_is_not_greeted() -> Result<()> {
    let stand = stand()?;
    stand.elect()?;
    stand.high.broadcast(&Message::Leaving)?;
    stand.high.expect(SLACK, is_ping)?;
    thread::sleep(stand.timing.heartbeat);
    stand.high.forget()?;
    stand.high.broadcast(&Message::Leaving)?;
    let again = stand
        .high
        .collect(Duration::from_millis(200))?
        .into_iter()
        .find(is_ping);
    ensure!(again.is_none(), "it was greeted again: {again:?}");
    Ok(())
}

fn an_owner_answers_ping_with_its_table() -> Result<()> {
    let stand = stand()?;
    stand.elect()?;
    stand.high.send(
        stand.mac(),
        &Message::Ping {
            digest: ALIEN,
            ip: SOME,
        },
    )?;
    let table = stand.high.expect(SLACK, is_table)?;
    ensure!(table.dst == stand.high.mac(), "{table:?}");
    let members = vec![member(stand.mac(), NONE), member(stand.high.mac(), SOME)];
    let digest = digest_of(&members);
    ensure!(
        table.message == Message::RingMembers { digest, members },
        "{table:?}"
    );
    Ok(())
}

fn an_owner_does_not_answer_ping_with_its_own_digest() -> Result<()> {
    let stand = stand()?;
    stand.elect()?;
    let digest = stand.digest_with(&[member(stand.high.mac(), SOME)]);
    stand
        .high
        .send(stand.mac(), &Message::Ping { digest, ip: SOME })?;
    let answer = stand
        .high
        .collect(Duration::from_millis(200))?
        .into_iter()
        .find(is_table);
    ensure!(answer.is_none(), "the tables are equal: {answer:?}");
    stand.wait_for_digest(digest)
}

fn the_table_is_sent_once_a_heartbeat_for_one_peer() -> Result<()> {
    let stand = stand()?;
    stand.elect()?;
    let mark = stand.mark();
    for _ in 0..10 {
        stand.high.send(
            stand.mac(),
            &Message::Ping {
                digest: ALIEN,
                ip: NONE,
            },
        )?;
    }
    stand.high.collect(stand.timing.heartbeat / 2)?;
    let tables = stand
        .sent_from(mark)
        .iter()
        .filter(|seen| is_table(seen))
        .count();
    ensure!(
        tables == 1,
        "{tables} tables for ten pings in half a heartbeat"
    );
    // Another peer has a right of its own.
    stand.low.send(
        stand.mac(),
        &Message::Ping {
            digest: ALIEN,
            ip: NONE,
        },
    )?;
    stand.low.expect(stand.timing.heartbeat / 2, is_table)?;
    thread::sleep(stand.timing.heartbeat);
    stand.high.forget()?;
    stand.high.send(
        stand.mac(),
        &Message::Ping {
            digest: ALIEN,
            ip: NONE,
        },
    )?;
    stand.high.expect(SLACK, is_table)?;
    Ok(())
}

fn a_waiter_pings_a_holder_with_another_digest_once_a_heartbeat() -> Result<()> {
    // Were every other ping left out, it would cost more than a busy machine adds to all of them.
    let heartbeat = Duration::from_millis(400);
    let timing = Timing::patient(heartbeat).idle_hold(FOR_GOOD);
    let stand = Stand::new(BINARIES, timing)?;
    let token = stand.follow()?;
    thread::sleep(heartbeat);
    let mark = stand.mark();
    let to_low = |seen: &Seen| is_ping(seen) && seen.dst == stand.low.mac();
    let rounds = 5;
    let end = Instant::now() + rounds * heartbeat + SLACK;
    let mut sent = stand.sent_from(mark);
    while sent.iter().filter(|seen| to_low(seen)).count() < 5 {
        ensure!(
            Instant::now() < end,
            "too few pings in {rounds} heartbeats: {sent:?}"
        );
        for _ in 0..10 {
            stand.low.broadcast(&holds(token))?;
            thread::sleep(heartbeat / 10);
        }
        sent = stand.sent_from(mark);
    }
    let times: Vec<Duration> = sent
        .iter()
        .filter(|seen| is_ping(seen))
        .map(|it| it.at)
        .collect();
    let apart = times
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]))
        .min();
    let least = heartbeat.saturating_sub(Duration::from_millis(20));
    ensure!(
        apart.is_none_or(|apart| apart >= least),
        "two pings came {apart:?} apart"
    );
    Ok(())
}

fn tables_are_merged_and_sent_back_while_they_differ() -> Result<()> {
    let stand = stand()?;
    stand.elect()?;
    let far = member(MacAddr::new(2, 0, 0, 0, 9, 9), SOME);
    let own = member(stand.high.mac(), NONE);
    // A digest of more than is told: the tables still differ afterwards.
    stand.high.send(
        stand.mac(),
        &Message::RingMembers {
            digest: ALIEN,
            members: vec![own, far],
        },
    )?;
    let table = stand.high.expect(SLACK, is_table)?;
    let members = vec![member(stand.mac(), NONE), own, far];
    let digest = digest_of(&members);
    ensure!(
        table.message == Message::RingMembers { digest, members },
        "{table:?}"
    );
    // Now they are equal: there is nothing to send back.
    let members = vec![member(stand.mac(), NONE), own, far];
    thread::sleep(stand.timing.heartbeat);
    stand.high.forget()?;
    stand
        .high
        .send(stand.mac(), &Message::RingMembers { digest, members })?;
    let back = stand
        .high
        .collect(Duration::from_millis(200))?
        .into_iter()
        .find(is_table);
    ensure!(back.is_none(), "equal tables were sent back: {back:?}");
    Ok(())
}

fn crowd(count: u16) -> Vec<Member> {
    let mac = |number: u16| {
        let [high, low] = number.to_be_bytes();
        MacAddr::new(2, 0, 0, 1, high, low)
    };
    (0..count).map(|number| member(mac(number), SOME)).collect()
}

fn a_large_table_is_sent_in_parts() -> Result<()> {
    let timing = Timing::patient(HEARTBEAT).idle_hold(FOR_GOOD);
    let stand = Stand::new(BINARIES, timing)?;
    stand.elect()?;
    let crowd = crowd(300);
    for members in crowd.chunks(66) {
        let members = members.to_vec();
        stand.high.send(
            stand.mac(),
            &Message::RingMembers {
                digest: ALIEN,
                members,
            },
        )?;
    }
    let all = [
        &crowd[..],
        &[member(stand.high.mac(), NONE), member(stand.mac(), NONE)],
    ]
    .concat();
    let digest = digest_of(&all);
    stand.wait_for_digest(digest)?;
    let mut told: Vec<Member> = Vec::new();
    for _ in 0..20 {
        thread::sleep(HEARTBEAT + Duration::from_millis(20));
        stand.high.forget()?;
        let mark = stand.mark();
        stand.high.send(
            stand.mac(),
            &Message::Ping {
                digest: ALIEN,
                ip: NONE,
            },
        )?;
        stand.wait_from(mark, is_table)?;
        stand.high.collect(HEARTBEAT / 2)?;
        let sent = stand.sent_from(mark);
        let tables: Vec<&Seen> = sent.iter().filter(|seen| is_table(seen)).collect();
        ensure!(
            (1..=2).contains(&tables.len()),
            "{} frames for a ping",
            tables.len()
        );
        for table in tables {
            ensure!(table.bytes.len() <= 1514, "{} bytes", table.bytes.len());
            ensure!(table.message.digest() == Some(digest), "{table:?}");
            if let Message::RingMembers { members, .. } = &table.message {
                told.extend(members);
            }
        }
        told.sort_unstable();
        told.dedup();
        if told.len() == all.len() {
            return Ok(());
        }
    }
    anyhow::bail!(
        "only {} of {} members were told in 20 pings",
        told.len(),
        all.len()
    )
}

fn the_table_is_bounded() -> Result<()> {
    let timing = Timing::patient(HEARTBEAT).idle_hold(FOR_GOOD);
    let bounded = |ringd: ring_segment::Ringd| ringd.option("--max-members", "4");
    let stand = Stand::with(BINARIES, timing, Layout::new(3), bounded)?;
    let token = stand.elect()?;
    for number in 1..=20 {
        let author = MacAddr::new(2, 0, 0, 0, 7, number);
        stand
            .high
            .send_as(author, stand.mac(), &Message::WantToken)?;
        stand.high.send_as(author, stand.mac(), &Message::Leaving)?;
    }
    let members = crowd(66);
    stand.high.send(
        stand.mac(),
        &Message::RingMembers {
            digest: ALIEN,
            members,
        },
    )?;
    let full = |status: &serde_json::Value| {
        let refused = status["counters"]["table_full"].as_u64().unwrap_or(0);
        refused >= 17
            && status["members"]
                .as_array()
                .is_some_and(|table| table.len() == 4)
    };
    stand.daemon.wait_for_status(stand.patience(), full)?;
    // Those who found no room are answered all the same.
    stand.low.send(stand.mac(), &Message::WhereIsToken)?;
    let answer = stand
        .low
        .expect(SLACK, |seen| seen.dst == stand.low.mac())?;
    ensure!(
        answer
            .message
            .token()
            .is_some_and(|it| it.progress >= token.progress),
        "{answer:?}"
    );
    Ok(())
}

fn the_dead_stay_in_the_table() -> Result<()> {
    let timing = Timing::patient(HEARTBEAT);
    let stand = Stand::new(BINARIES, timing)?;
    stand.high.send(stand.mac(), &Message::WhereIsToken)?;
    stand.elect()?;
    stand.high.broadcast(&Message::Leaving)?;
    thread::sleep(2 * timing.waiter_timeout());
    let status = stand.daemon.status()?;
    let members = status["members"].as_array().context("members is a list")?;
    let dead = members
        .iter()
        .find(|it| it["mac"] == stand.high.mac().to_string());
    let penalty = dead.and_then(|dead| dead["penalty"].as_u64());
    ensure!(penalty.is_some_and(|turns| turns > 900), "{status:#}");
    stand.wait_for_digest(stand.digest_with(&[member(stand.high.mac(), NONE)]))
}
