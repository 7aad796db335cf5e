//! The member table: its members, the frames that change the table, and the way in which tables become equal.

use std::time::Duration;

use anyhow::{Result, ensure};
use ring_proto::lab2::Constants;
use ring_segment::{
    LONG_IDLE_HOLD, MacAddr, Member, Message, OTHER_DIGEST, Seen, Timing, digest_of, token_is_here,
};

use super::stand::{AT_ONCE, NO_IP, Stand};

pub(super) const HEARTBEAT: Duration = Duration::from_millis(200);
pub(super) const SOME_IP: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3];

pub(super) fn timing() -> Timing {
    Timing::tolerant(HEARTBEAT).idle_hold(LONG_IDLE_HOLD)
}

pub(super) fn stand() -> Stand {
    Stand::new(timing())
}

pub(super) fn is_ping(seen: &Seen) -> bool {
    matches!(seen.message, Message::Ping { .. })
}

fn is_table(seen: &Seen) -> bool {
    matches!(seen.message, Message::RingMembers { .. })
}

pub(super) fn member(mac: MacAddr, ip: [u8; 16]) -> Member {
    Member { mac, ip }
}

#[test]
fn the_daemon_greets_the_unknown_sender_of_a_broadcast() -> Result<()> {
    let stand = stand();
    stand.elect()?;
    stand.high.broadcast(&Message::WantToken);
    let ping = stand.high.expect(AT_ONCE, |seen| {
        seen.dst == stand.high.mac() && is_ping(seen)
    })?;
    let expected = stand.digest_with(&[member(stand.high.mac(), NO_IP)]);
    ensure!(
        ping.message
            == Message::Ping {
                digest: expected,
                ip: NO_IP
            },
        "{ping:?}"
    );
    Ok(())
}

#[test]
fn the_daemon_does_not_greet_the_known_sender_of_a_broadcast() -> Result<()> {
    let stand = stand();
    stand.elect()?;
    stand.high.broadcast(&Message::Leaving);
    stand.high.expect(AT_ONCE, is_ping)?;
    stand.pass(HEARTBEAT);
    stand.high.forget();
    stand.high.broadcast(&Message::Leaving);
    let again = stand.high.collect(HEARTBEAT).into_iter().find(is_ping);
    ensure!(
        again.is_none(),
        "the daemon greeted the peer again: {again:?}"
    );
    Ok(())
}

#[test]
fn an_owner_answers_a_ping_with_its_table() -> Result<()> {
    let stand = stand();
    stand.elect()?;
    stand.high.send(
        stand.mac(),
        &Message::Ping {
            digest: OTHER_DIGEST,
            ip: SOME_IP,
        },
    );
    let table = stand.high.expect(AT_ONCE, is_table)?;
    ensure!(table.dst == stand.high.mac(), "{table:?}");
    let members = vec![
        member(stand.mac(), NO_IP),
        member(stand.high.mac(), SOME_IP),
    ];
    let digest = digest_of(&members);
    ensure!(
        table.message == Message::RingMembers { digest, members },
        "{table:?}"
    );
    Ok(())
}

#[test]
fn an_owner_does_not_answer_a_ping_that_has_its_own_digest() -> Result<()> {
    let stand = stand();
    stand.elect()?;
    let digest = stand.digest_with(&[member(stand.high.mac(), SOME_IP)]);
    stand.high.send(
        stand.mac(),
        &Message::Ping {
            digest,
            ip: SOME_IP,
        },
    );
    let answer = stand.high.collect(HEARTBEAT).into_iter().find(is_table);
    ensure!(answer.is_none(), "the tables are equal: {answer:?}");
    stand.wait_for_digest(digest)
}

#[test]
fn a_peer_gets_the_table_at_most_once_per_heartbeat() -> Result<()> {
    let stand = stand();
    stand.elect()?;
    let ping = Message::Ping {
        digest: OTHER_DIGEST,
        ip: NO_IP,
    };
    let mark = stand.mark();
    for _ in 0..9 {
        stand.high.send(stand.mac(), &ping);
        stand.pass(HEARTBEAT / 10);
    }
    // The limit is separate for each peer.
    stand.low.send(stand.mac(), &ping);
    stand.low.expect(AT_ONCE, is_table)?;
    let nanosecond = Duration::from_nanos(1);
    stand.pass((HEARTBEAT / 10).saturating_sub(AT_ONCE + nanosecond));
    // One ping arrives shortly before the limit ends, and one shortly after.
    stand.high.send(stand.mac(), &ping);
    stand.pass(nanosecond);
    stand.high.send(stand.mac(), &ping);
    stand.pass(AT_ONCE);
    let mut tables = stand.sent_from(mark);
    tables.retain(|seen| is_table(seen) && seen.dst == stand.high.mac());
    let times: Vec<Duration> = tables.iter().map(|seen| seen.at).collect();
    ensure!(
        times.len() == 2 && times[1].saturating_sub(times[0]) == HEARTBEAT,
        "the daemon answered eleven PINGs in a heartbeat with tables at {times:?}"
    );
    Ok(())
}

#[test]
fn a_waiter_pings_a_holder_with_another_digest_once_per_heartbeat() -> Result<()> {
    let stand = stand();
    let token = stand.follow()?;
    stand.pass(HEARTBEAT);
    let mark = stand.mark();
    let rounds = 5;
    for _ in 0..10 * rounds {
        stand.low.broadcast(&token_is_here(token));
        stand.pass(HEARTBEAT / 10);
    }
    let mut pings = stand.sent_from(mark);
    pings.retain(is_ping);
    ensure!(
        pings.len() == rounds && pings.iter().all(|seen| seen.dst == stand.low.mac()),
        "in {rounds} heartbeats: {pings:?}"
    );
    for pair in pings.windows(2) {
        let apart = pair[1].at.saturating_sub(pair[0].at);
        ensure!(
            apart == HEARTBEAT,
            "the time between two pings was {apart:?}"
        );
    }
    Ok(())
}

#[test]
fn tables_are_merged_and_sent_back_while_they_differ() -> Result<()> {
    let stand = stand();
    stand.elect()?;
    let far = member(MacAddr::new(2, 0, 0, 0, 9, 9), SOME_IP);
    let own = member(stand.high.mac(), NO_IP);
    // The digest counts more members than the frame has, so the tables still differ.
    stand.high.send(
        stand.mac(),
        &Message::RingMembers {
            digest: OTHER_DIGEST,
            members: vec![own, far],
        },
    );
    let table = stand.high.expect(AT_ONCE, is_table)?;
    let members = vec![member(stand.mac(), NO_IP), own, far];
    let digest = digest_of(&members);
    ensure!(
        table.message == Message::RingMembers { digest, members },
        "{table:?}"
    );
    // The tables are equal, so the daemon has nothing to send.
    let members = vec![member(stand.mac(), NO_IP), own, far];
    stand.pass(HEARTBEAT);
    stand.high.forget();
    stand
        .high
        .send(stand.mac(), &Message::RingMembers { digest, members });
    let back = stand.high.collect(HEARTBEAT).into_iter().find(is_table);
    ensure!(
        back.is_none(),
        "the daemon sent a table back although the tables are equal: {back:?}"
    );
    Ok(())
}

fn many_members(count: u16) -> Vec<Member> {
    let mac = |number: u16| {
        let [high, low] = number.to_be_bytes();
        MacAddr::new(2, 0, 0, 1, high, low)
    };
    (0..count)
        .map(|number| member(mac(number), SOME_IP))
        .collect()
}

#[test]
fn a_large_table_is_sent_in_parts() -> Result<()> {
    let stand = stand();
    stand.elect()?;
    let crowd = many_members(300);
    for members in crowd.chunks(66) {
        let members = members.to_vec();
        stand.high.send(
            stand.mac(),
            &Message::RingMembers {
                digest: OTHER_DIGEST,
                members,
            },
        );
    }
    let all = [
        &crowd[..],
        &[member(stand.high.mac(), NO_IP), member(stand.mac(), NO_IP)],
    ]
    .concat();
    let digest = digest_of(&all);
    stand.wait_for_digest(digest)?;
    let mut received_members: Vec<Member> = Vec::new();
    // 302 members need five frames of 66.
    for _ in 0..3 {
        stand.pass(HEARTBEAT);
        let mark = stand.mark();
        stand.high.send(
            stand.mac(),
            &Message::Ping {
                digest: OTHER_DIGEST,
                ip: NO_IP,
            },
        );
        stand.pass(AT_ONCE);
        let sent = stand.sent_from(mark);
        let tables: Vec<&Seen> = sent.iter().filter(|seen| is_table(seen)).collect();
        ensure!(
            tables.len() == 2,
            "the daemon answered a ping with {} frames",
            tables.len()
        );
        for table in tables {
            ensure!(table.bytes.len() <= 1514, "{} bytes", table.bytes.len());
            ensure!(table.message.digest() == Some(digest), "{table:?}");
            if let Message::RingMembers { members, .. } = &table.message {
                received_members.extend(members);
            }
        }
        received_members.sort_unstable();
        received_members.dedup();
    }
    ensure!(
        received_members.len() == all.len(),
        "the answers to three PINGs had only {} of {} members",
        received_members.len(),
        all.len()
    );
    Ok(())
}

#[test]
fn the_size_of_the_table_is_limited() -> Result<()> {
    let stand = Stand::with(timing(), NO_IP, |constants| Constants {
        max_members: 4,
        ..constants
    });
    let token = stand.elect()?;
    for number in 1..=20 {
        let author = MacAddr::new(2, 0, 0, 0, 7, number);
        let nothing = Message::Ping {
            digest: OTHER_DIGEST,
            ip: [0; 16],
        };
        stand.high.send_as(author, stand.mac(), &nothing);
    }
    let members = many_members(66);
    stand.high.send(
        stand.mac(),
        &Message::RingMembers {
            digest: OTHER_DIGEST,
            members,
        },
    );
    stand.pass(AT_ONCE);
    ensure!(
        stand.daemon.members() == 4,
        "{} members",
        stand.daemon.members()
    );
    // The table refuses seventeen authors, and the author and the 66 members of the last frame. The daemon has just
    // heard all members of its table, so it removes none.
    let refused = stand.daemon.counters().table_full;
    ensure!(
        refused == 17 + 1 + 66,
        "the table had no space for {refused} members"
    );
    // The daemon also answers authors that are not in the table.
    stand.low.send(stand.mac(), &Message::WhereIsToken);
    let answer = stand
        .low
        .expect(AT_ONCE, |seen| seen.dst == stand.low.mac())?;
    ensure!(
        answer
            .message
            .token()
            .is_some_and(|it| it.progress >= token.progress),
        "{answer:?}"
    );
    Ok(())
}

#[test]
fn dead_members_stay_in_the_table() -> Result<()> {
    let timing = Timing::tolerant(HEARTBEAT);
    let stand = Stand::new(timing);
    stand.high.send(stand.mac(), &Message::WhereIsToken);
    stand.elect()?;
    stand.high.broadcast(&Message::Leaving);
    stand.pass(2 * timing.waiter_timeout());
    let penalty = stand.daemon.penalty(stand.high.mac())?;
    ensure!(
        penalty > 900,
        "the daemon skips the member for {penalty} turns"
    );
    stand.wait_for_digest(stand.digest_with(&[member(stand.high.mac(), NO_IP)]))
}
