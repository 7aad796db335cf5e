//! Which frames get through the kernel and the socket to the machine, and in which form.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{
    Binaries, ETHERTYPE, FOR_GOOD, MacAddr, Message, Rng, Seen, Segment, Stand, Test, Timing,
    Token, binaries, frame, holds, is_heartbeat, offers, tests,
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

/// Payloads at the borders of what a frame can be, each with the source that it comes from and the
/// reason under which it is counted.
fn invalid_frames(author: MacAddr) -> Vec<(&'static str, MacAddr, Vec<u8>)> {
    let of = |author| Message::WhereIsToken.payload(author);
    let longest = {
        let mut payload = of(author);
        payload[0] = 0xff;
        payload.resize(1500, 0);
        payload
    };
    // The source is as forged as the author.
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
    // The kernel's bridge lets no frame by whose source is no station. The tests' switch does.
    let timing = Timing::patient(HEARTBEAT).idle_hold(FOR_GOOD);
    let stand = Stand::on(Segment::switch(3, 1)?, BINARIES, timing, |ringd| ringd)?;
    let token = stand.elect()?;
    // The peer is greeted before, so that a greeting is not mistaken for an answer.
    stand.high.broadcast(&Message::WhereIsToken)?;
    stand.high.collect(ANSWER)?;
    for (reason, station, payload) in invalid_frames(stand.high.mac()) {
        let (before, mark) = (counter(&stand, reason)?, stand.mark());
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
