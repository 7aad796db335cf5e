//! What reaches the machine from outside: time, options, and the interface's addresses.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{
    ALIEN, Binaries, FOR_GOOD, Layout, MacAddr, Member, Message, Ringd, SLACK, Seen, Stand, Test,
    Timing, Token, binaries, is_heartbeat, offers, tests,
};

const BINARIES: Binaries = binaries!();
/// A peer has as long to give the daemon a token before that elects itself, twice over.
const HEARTBEAT: Duration = Duration::from_millis(300);
const SOME: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3];

pub fn tests() -> Vec<Test> {
    tests![
        a_lone_node_asks_then_stands_then_owns,
        an_owner_sends_a_heartbeat_every_period,
        exclusive a_waiter_takes_a_stronger_offer_and_acknowledges_in_time,
        a_wrong_ip_of_its_own_is_corrected_by_broadcast,
        a_new_ip_is_announced,
        the_table_is_bounded,
    ]
}

fn timing() -> Timing {
    Timing::patient(HEARTBEAT).idle_hold(FOR_GOOD)
}

fn stand() -> Result<Stand> {
    Stand::new(BINARIES, timing())
}

/// A busy node may be late; by when it speaks is seen in virtual time, by `tests/peer`.
fn assert_not_before(what: &str, span: Duration, expected: Duration) -> Result<()> {
    let least = expected * 3 / 4;
    ensure!(span >= least, "{what} took {span:?}, not {least:?}");
    Ok(())
}

fn a_lone_node_asks_then_stands_then_owns() -> Result<()> {
    let stand = stand()?;
    let token = stand.elect()?;
    let frames = stand.sent_from(0);
    let [asked, stood, owned, ..] = &frames[..] else {
        anyhow::bail!("{frames:?}");
    };
    ensure!(
        asked.message == Message::WhereIsToken && asked.is_broadcast(),
        "{asked:?}"
    );
    let candidate = Token {
        progress: 1,
        author: stand.mac(),
        number: 1,
    };
    ensure!(
        stood.message == Message::GeneratingToken { token: candidate } && stood.is_broadcast(),
        "{stood:?}"
    );
    ensure!(is_heartbeat(owned), "{owned:?}");
    let patience = timing().answer_timeout();
    let question = stood.at.saturating_sub(asked.at);
    assert_not_before("waiting for an answer", question, patience)?;
    let election = owned.at.saturating_sub(stood.at);
    assert_not_before("waiting for objections", election, patience)?;
    // Its progress is the wall clock's time.
    let clock = Duration::from_nanos(token.progress);
    let now = ring_segment::epoch() + ring_segment::now();
    let age = now.checked_sub(clock).context("from the future")?;
    ensure!(age < stand.patience(), "its progress is {age:?} ago");
    Ok(())
}

fn an_owner_sends_a_heartbeat_every_period() -> Result<()> {
    let stand = stand()?;
    let token = stand.elect()?;
    stand.high.forget()?;
    let mark = stand.mark();
    for _ in 0..5 {
        let beat = stand.high.expect(stand.patience(), is_heartbeat)?;
        ensure!(beat.message.token() == Some(token), "{beat:?}");
    }
    let beats = stand.sent_from(mark);
    for pair in beats.windows(2) {
        let apart = pair[1].at.saturating_sub(pair[0].at);
        ensure!(
            apart >= HEARTBEAT * 3 / 4,
            "two heartbeats came {apart:?} apart"
        );
    }
    Ok(())
}

fn a_waiter_takes_a_stronger_offer_and_acknowledges_in_time() -> Result<()> {
    let eternal = Timing::patient(Duration::from_secs(600)).idle_hold(FOR_GOOD);
    let stand = Stand::new(BINARIES, eternal)?;
    let mut offered = stand.follow()?;
    let mut delays = Vec::new();
    for _ in 0..9 {
        offered.progress += 1;
        let sent = stand.low.send(stand.mac(), &offers(offered))?;
        let ack = stand
            .low
            .expect(SLACK, |seen| seen.message.token() == Some(offered))?;
        ensure!(ack.dst == stand.low.mac(), "not by unicast: {ack:?}");
        ensure!(
            matches!(ack.message, Message::TokenIsHere { .. }),
            "{ack:?}"
        );
        delays.push(ack.at.saturating_sub(sent));
    }
    stand.wait_for_state("OWNER")?;
    // One in the middle, since a busy machine may be late for any.
    delays.sort_unstable();
    // A quarter of the TAKE_TIMEOUT that goes with the heartbeat by default.
    let least_patient = HEARTBEAT / 20 / 4;
    ensure!(
        delays[4] <= least_patient,
        "the acknowledgements took {delays:?}"
    );
    Ok(())
}

fn is_ping_to_all(seen: &Seen) -> bool {
    seen.is_broadcast() && matches!(seen.message, Message::Ping { .. })
}

fn a_wrong_ip_of_its_own_is_corrected_by_broadcast() -> Result<()> {
    let layout = Layout::new(3).addresses();
    let stand = Stand::with(BINARIES, timing(), layout, |ringd| ringd)?;
    stand.elect()?;
    stand.high.forget()?;
    let wrong = Member {
        mac: stand.mac(),
        ip: SOME,
    };
    stand.high.send(
        stand.mac(),
        &Message::RingMembers {
            digest: ALIEN,
            members: vec![wrong],
        },
    )?;
    let ping = stand.high.expect(SLACK, is_ping_to_all)?;
    let own = stand.daemon.node().ip();
    let own = own.context("the layout has addresses")?;
    let own = own.to_ipv6_mapped().octets();
    ensure!(
        matches!(ping.message, Message::Ping { ip, .. } if ip == own),
        "{ping:?}"
    );
    Ok(())
}

fn a_new_ip_is_announced() -> Result<()> {
    let stand = stand()?;
    stand.elect()?;
    stand.high.forget()?;
    let ns = stand.daemon.node().ns();
    ns.ip("addr add 10.1.2.3/24 dev eth0\n")?;
    let ping = stand.high.expect(stand.patience(), is_ping_to_all)?;
    ensure!(
        matches!(ping.message, Message::Ping { ip, .. } if ip == SOME),
        "{ping:?}"
    );
    Ok(())
}

fn the_table_is_bounded() -> Result<()> {
    let bounded = |ringd: Ringd| ringd.option("--max-members", "4");
    let stand = Stand::with(BINARIES, timing(), Layout::new(3), bounded)?;
    stand.elect()?;
    for number in 1..=20 {
        let author = MacAddr::new(2, 0, 0, 0, 7, number);
        stand
            .high
            .send_as(author, stand.mac(), &Message::WantToken)?;
    }
    let full = |status: &serde_json::Value| {
        let members = status["members"].as_array().map(Vec::len);
        status["counters"]["table_full"] == 17 && members == Some(4)
    };
    stand.daemon.wait_for_status(stand.patience(), full)?;
    Ok(())
}
