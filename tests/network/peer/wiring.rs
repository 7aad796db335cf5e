//! Inputs of the state machine from its environment: the time, the options, and the interface's addresses.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{
    LONG_IDLE_HOLD, Message, Seen, Stand, Test, Timing, WAIT_LIMIT, binaries, take_token, tests,
};

/// Period of heartbeats. Before the daemon elects itself, a peer has twice the time of a handover.
const HEARTBEAT: Duration = Duration::from_millis(300);
const SOME_IP: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3];

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_token_of_a_lone_node_has_the_time_of_the_wall_clock,
        exclusive a_waiter_takes_a_stronger_offer_and_acknowledges_in_time,
        a_new_ip_is_announced,
    ]
}

fn timing() -> Timing {
    Timing::tolerant(HEARTBEAT).idle_hold(LONG_IDLE_HOLD)
}

fn stand() -> Result<Stand> {
    Stand::new(binaries(), timing())
}

fn the_token_of_a_lone_node_has_the_time_of_the_wall_clock() -> Result<()> {
    let stand = stand()?;
    let token = stand.elect()?;
    let clock = Duration::from_nanos(token.progress);
    let now = ring_segment::epoch() + ring_segment::now();
    let age = now.checked_sub(clock).context("from the future")?;
    ensure!(
        age < WAIT_LIMIT,
        "the token's progress is {age:?} behind the clock"
    );
    Ok(())
}

fn a_waiter_takes_a_stronger_offer_and_acknowledges_in_time() -> Result<()> {
    let eternal = Timing::tolerant(Duration::from_secs(600)).idle_hold(LONG_IDLE_HOLD);
    let stand = Stand::new(binaries(), eternal)?;
    let mut offered = stand.follow()?;
    let mut delays = Vec::new();
    for _ in 0..9 {
        offered.progress += 1;
        let sent = stand.low.send(stand.mac(), &take_token(offered))?;
        let ack = stand
            .low
            .expect(WAIT_LIMIT, |seen| seen.message.token() == Some(offered))?;
        ensure!(
            ack.dst == stand.low.mac(),
            "the acknowledgement is not a unicast: {ack:?}"
        );
        ensure!(
            matches!(ack.message, Message::TokenIsHere { .. }),
            "{ack:?}"
        );
        delays.push(ack.at.saturating_sub(sent));
    }
    stand.wait_for_state("OWNER")?;
    // The test judges the median, because a busy machine may delay single answers.
    delays.sort_unstable();
    // The bound is a quarter of the default TAKE_TIMEOUT for this heartbeat.
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

fn a_new_ip_is_announced() -> Result<()> {
    let stand = stand()?;
    stand.elect()?;
    stand.high.forget()?;
    let ns = stand.daemon.node().ns();
    ns.ip("addr add 10.1.2.3/24 dev eth0\n")?;
    let ping = stand.high.expect(WAIT_LIMIT, is_ping_to_all)?;
    ensure!(
        matches!(ping.message, Message::Ping { ip, .. } if ip == SOME_IP),
        "{ping:?}"
    );
    Ok(())
}
