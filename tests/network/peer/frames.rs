//! Frames that arrive at the state machine through the kernel and the socket, and the form of the daemon's frames.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{
    ETHERTYPE, LONG_IDLE_HOLD, MacAddr, Message, Seen, Segment, Stand, Test, Timing, WAIT_LIMIT,
    binaries, frame, is_heartbeat, tests,
};

/// Period of heartbeats. It is so long that the daemon sends nothing by itself during a test.
const HEARTBEAT: Duration = Duration::from_secs(1);
const ANSWER_TIME: Duration = Duration::from_millis(150);

pub(super) fn tests() -> Vec<Test> {
    tests![invalid_frames_are_dropped_counted_and_not_answered,]
}

fn counter(stand: &Stand, reason: &str) -> Result<u64> {
    let status = stand.daemon.status()?;
    status["counters"]["dropped"][reason]
        .as_u64()
        .with_context(|| format!("{reason}: {status:#}"))
}

/// Returns payloads at the limits of the format. Each payload comes with its source, and with the name of the reason in
/// the counters.
fn invalid_frames(author: MacAddr) -> Vec<(&'static str, MacAddr, Vec<u8>)> {
    let of = |author| Message::WhereIsToken.payload(author);
    let longest = {
        let mut payload = of(author);
        payload[0] = 0xff;
        payload.resize(1500, 0);
        payload
    };
    // The Ethernet source is forged like the author.
    let forged = [MacAddr::zero(), MacAddr::broadcast()];
    let [nobody, everybody] = forged.map(|mac| ("author_not_a_station", mac, of(mac)));
    vec![
        ("truncated", author, Vec::new()),
        ("truncated", author, of(author)[..7].to_vec()),
        ("unknown_kind", author, longest),
        nobody,
        everybody,
    ]
}

fn invalid_frames_are_dropped_counted_and_not_answered() -> Result<()> {
    // The kernel's bridge drops frames whose source is not unicast. The tests' switch forwards them.
    let timing = Timing::tolerant(HEARTBEAT).idle_hold(LONG_IDLE_HOLD);
    let stand = Stand::on(Segment::switch(3, 1)?, binaries(), timing, |ringd| ringd)?;
    let token = stand.elect()?;
    // The daemon greets the peer before the test, so that the test does not mistake a greeting for an answer.
    stand.high.broadcast(&Message::WhereIsToken)?;
    stand.high.collect(ANSWER_TIME)?;
    for (reason, station, payload) in invalid_frames(stand.high.mac()) {
        let (before, mark) = (counter(&stand, reason)?, stand.mark());
        let bytes = frame(MacAddr::broadcast(), station, ETHERTYPE, &payload);
        stand.high.send_frame(&bytes)?;
        let counted =
            |status: &serde_json::Value| status["counters"]["dropped"][reason] == before + 1;
        stand.daemon.wait_for_status(WAIT_LIMIT, counted)?;
        let others: Vec<Seen> = stand
            .sent_from(mark)
            .into_iter()
            .filter(|seen| !is_heartbeat(seen))
            .collect();
        ensure!(
            others.is_empty(),
            "the daemon answered a frame that is invalid ({reason}) with {others:?}"
        );
    }
    let mark = stand.mark();
    stand.high.send(stand.mac(), &Message::WhereIsToken)?;
    let answer = stand.wait_from(mark, |seen| !seen.is_broadcast())?;
    ensure!(
        answer.message.token() == Some(token),
        "the daemon's state changed: {answer:?}"
    );
    Ok(())
}
