//! Frames that pass the kernel and the socket to the state machine, and their form.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{
    ETHERTYPE, LONG_IDLE_HOLD, MacAddr, Message, PATIENCE, Seen, Segment, Stand, Test, Timing,
    Token, binaries, frame, is_heartbeat, take_token, tests, token_is_here,
};

/// So long that the daemon sends nothing on its own during a test.
const HEARTBEAT: Duration = Duration::from_secs(1);
const ANSWER_TIME: Duration = Duration::from_millis(150);

pub(super) fn tests() -> Vec<Test> {
    tests![
        invalid_frames_are_dropped_counted_and_not_answered,
        frames_for_others_are_not_answered,
        another_ethertype_is_not_heard,
    ]
}

fn stand() -> Result<Stand> {
    Stand::new(
        binaries(),
        Timing::tolerant(HEARTBEAT).idle_hold(LONG_IDLE_HOLD),
    )
}

fn counter(stand: &Stand, reason: &str) -> Result<u64> {
    let status = stand.daemon.status()?;
    status["counters"]["dropped"][reason]
        .as_u64()
        .with_context(|| format!("{reason}: {status:#}"))
}

/// Returns payloads at the limits of the format, each with its source and the reason under which it is counted.
fn invalid_frames(author: MacAddr) -> Vec<(&'static str, MacAddr, Vec<u8>)> {
    let of = |author| Message::WhereIsToken.payload(author);
    let longest = {
        let mut payload = of(author);
        payload[0] = 0xff;
        payload.resize(1500, 0);
        payload
    };
    // The source is forged like the author.
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
    // The daemon greets the peer first, so a greeting is not mistaken for an answer.
    stand.high.broadcast(&Message::WhereIsToken)?;
    stand.high.collect(ANSWER_TIME)?;
    for (reason, station, payload) in invalid_frames(stand.high.mac()) {
        let (before, mark) = (counter(&stand, reason)?, stand.mark());
        let bytes = frame(MacAddr::broadcast(), station, ETHERTYPE, &payload);
        stand.high.send_frame(&bytes)?;
        let counted =
            |status: &serde_json::Value| status["counters"]["dropped"][reason] == before + 1;
        stand.daemon.wait_for_status(PATIENCE, counted)?;
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
        "the daemon's state changed: {answer:?}"
    );
    Ok(())
}

fn frames_for_others_are_not_answered() -> Result<()> {
    let stand = stand()?;
    let token = stand.elect()?;
    let nobody = MacAddr::new(2, 0, 0, 0, 0x99, 1);
    let mark = stand.mark();
    // The bridge floods these frames, since no station has this address.
    stand.high.send(nobody, &Message::WhereIsToken)?;
    let stronger = Token {
        progress: token.progress + 5,
        author: stand.high.mac(),
        number: 1,
    };
    stand.high.send(nobody, &take_token(stronger))?;
    stand.high.send(nobody, &token_is_here(stronger))?;
    stand.high.collect(ANSWER_TIME)?;
    let sent = stand.sent_from(mark);
    ensure!(
        sent.iter().all(is_heartbeat),
        "the daemon answered: {sent:?}"
    );
    stand.high.send(stand.mac(), &Message::WhereIsToken)?;
    let answer = stand.wait_from(mark, |seen| !seen.is_broadcast())?;
    ensure!(
        answer.message.token() == Some(token),
        "the daemon's state changed: {answer:?}"
    );
    Ok(())
}

fn another_ethertype_is_not_heard() -> Result<()> {
    let stand = stand()?;
    let token = stand.elect()?;
    // The daemon greets the peer first, so a greeting is not mistaken for an answer.
    stand.high.broadcast(&Message::WhereIsToken)?;
    stand.high.collect(ANSWER_TIME)?;
    let mark = stand.mark();
    let payload = Message::WhereIsToken.payload(stand.high.mac());
    for ethertype in [0x88b6, 0x0800, 0x86dd] {
        stand
            .high
            .send_frame(&frame(stand.mac(), stand.high.mac(), ethertype, &payload))?;
    }
    // The answer to this frame shows that the frames before it were handled.
    stand.high.send(stand.mac(), &Message::WhereIsToken)?;
    let answer = stand.wait_from(mark, |seen| !is_heartbeat(seen))?;
    ensure!(answer.message.token() == Some(token), "{answer:?}");
    let answers = stand.high.collect(ANSWER_TIME)?;
    let answers = answers.iter().filter(|seen| !is_heartbeat(seen));
    ensure!(
        answers.count() == 1,
        "the daemon answered {:?}",
        stand.sent_from(mark)
    );
    Ok(())
}
