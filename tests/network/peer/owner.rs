//! How an OWNER behaves: the protocol's section 4, seen from beside it.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use ring_segment::{
    Binaries, FOR_GOOD, Message, SLACK, Seen, Stand, Test, Timing, Token, binaries, holds,
    is_claim, is_heartbeat, offers, tests,
};

const BINARIES: Binaries = binaries!();
/// A peer has as long to give the daemon a token before that elects itself, twice over.
const HEARTBEAT: Duration = Duration::from_millis(300);

pub fn tests() -> Vec<Test> {
    tests![
        it_sends_a_heartbeat_every_period,
        its_first_token_has_the_clock_as_progress,
        a_stronger_holder_makes_it_destroy_its_token_and_ping,
        of_equal_progress_the_smaller_author_wins,
        a_weaker_holder_is_told_by_unicast_and_broadcast,
        where_is_token_is_answered_by_unicast,
        generating_token_is_answered_by_unicast_and_broadcast,
        a_stronger_offer_is_taken_instead,
        a_weaker_offer_is_refused_with_its_own_token,
        a_repeated_offer_is_acknowledged_again,
        an_owner_that_knows_nobody_keeps_its_token,
        at_the_largest_progress_the_token_stays,
        a_token_taken_keeps_its_data,
    ]
}

fn stand() -> Result<Stand> {
    Stand::new(BINARIES, Timing::patient(HEARTBEAT).idle_hold(FOR_GOOD))
}

fn it_sends_a_heartbeat_every_period() -> Result<()> {
    let stand = stand()?;
    let token = stand.elect()?;
    let mark = stand.mark();
    let mut beats: Vec<Seen> = Vec::new();
    // What a busy machine adds to each is added up.
    let end = Instant::now() + 10 * HEARTBEAT + SLACK;
    while beats.len() < 10 {
        ensure!(
            Instant::now() < end,
            "only {} heartbeats in ten periods",
            beats.len()
        );
        thread::sleep(HEARTBEAT / 10);
        beats = stand.sent_from(mark);
        beats.retain(is_heartbeat);
    }
    let apart = beats
        .windows(2)
        .map(|pair| pair[1].at.saturating_sub(pair[0].at));
    let least = apart.min().unwrap_or_default();
    ensure!(
        least >= HEARTBEAT * 3 / 4,
        "two heartbeats came {least:?} apart"
    );
    ensure!(
        beats.iter().all(|seen| seen.message.token() == Some(token)),
        "{beats:?}"
    );
    Ok(())
}

fn its_first_token_has_the_clock_as_progress() -> Result<()> {
    let stand = stand()?;
    let token = stand.elect()?;
    let clock = Duration::from_nanos(token.progress);
    let age = SystemTime::now()
        .duration_since(UNIX_EPOCH + clock)
        .context("from the future")?;
    ensure!(
        age < stand.patience(),
        "progress {} is {age:?} ago",
        token.progress
    );
    ensure!(
        token.author == stand.mac() && token.number == 1,
        "{token:?}"
    );
    Ok(())
}

/// The daemon has no token any more: it claims none for some periods.
fn is_over(stand: &Stand) -> Result<()> {
    stand.wait_for_state("WAITER")?;
    let claims: Vec<Seen> = stand
        .watch(2 * HEARTBEAT)
        .into_iter()
        .filter(is_claim)
        .collect();
    ensure!(claims.is_empty(), "it goes on with its token: {claims:?}");
    Ok(())
}

fn a_stronger_holder_makes_it_destroy_its_token_and_ping() -> Result<()> {
    let stand = stand()?;
    let token = stand.elect()?;
    let mark = stand.mark();
    stand
        .high
        .broadcast(&holds(stand.token_of(&stand.high, token.progress + 1)))?;
    let to_high = |seen: &Seen| seen.dst == stand.high.mac();
    let pinged = stand.wait_from(mark, |seen| {
        to_high(seen) && matches!(seen.message, Message::Ping { .. })
    });
    pinged?;
    is_over(&stand)
}

fn of_equal_progress_the_smaller_author_wins() -> Result<()> {
    let stand = stand()?;
    let token = stand.elect()?;
    // Larger than its author: weaker.
    stand
        .high
        .broadcast(&holds(stand.token_of(&stand.high, token.progress)))?;
    let refusal = stand
        .high
        .expect(SLACK, |seen| !seen.is_broadcast() && is_claim(seen))?;
    ensure!(refusal.message.token() == Some(token), "{refusal:?}");
    stand
        .low
        .broadcast(&holds(stand.token_of(&stand.low, token.progress)))?;
    is_over(&stand)
}

/// Sends a message from `high` and checks that the token's state comes back by unicast, and at
/// once by broadcast too or not.
fn is_told(message: &Message, broadcast: bool) -> Result<()> {
    // With a heartbeat far off, a broadcast at once is no coincidence.
    let timing = Timing::patient(Duration::from_secs(600)).idle_hold(FOR_GOOD);
    let stand = Stand::new(BINARIES, timing)?;
    let token = stand.give()?;
    stand.high.forget()?;
    let mark = stand.mark();
    stand.high.broadcast(message)?;
    let answer = stand
        .high
        .expect(SLACK, |seen| seen.dst == stand.high.mac() && is_claim(seen))?;
    ensure!(answer.message.token() == Some(token), "{answer:?}");
    if broadcast {
        stand.wait_from(mark, is_heartbeat)?;
    }
    stand.high.collect(Duration::from_millis(100))?;
    let beats: Vec<Seen> = stand
        .sent_from(mark)
        .into_iter()
        .filter(is_heartbeat)
        .collect();
    ensure!(
        beats.len() == usize::from(broadcast),
        "broadcasts: {beats:?}"
    );
    ensure!(
        beats.iter().all(|seen| seen.message.token() == Some(token)),
        "{beats:?}"
    );
    Ok(())
}

fn a_weaker_holder_is_told_by_unicast_and_broadcast() -> Result<()> {
    let author = [2, 0, 0, 0, 0, 3].into();
    is_told(
        &holds(Token {
            progress: 5,
            author,
            number: 1,
        }),
        true,
    )
}

fn where_is_token_is_answered_by_unicast() -> Result<()> {
    is_told(&Message::WhereIsToken, false)
}

fn generating_token_is_answered_by_unicast_and_broadcast() -> Result<()> {
    let author = [2, 0, 0, 0, 0, 3].into();
    is_told(
        &Message::GeneratingToken {
            token: Token {
                progress: 5,
                author,
                number: 1,
            },
        },
        true,
    )
}

fn a_stronger_offer_is_taken_instead() -> Result<()> {
    let stand = stand()?;
    let token = stand.elect()?;
    let offered = stand.token_of(&stand.high, token.progress + 1);
    let answer = stand.offer_until(&stand.high, &offers(offered), |seen| {
        seen.message.token() == Some(offered)
    })?;
    ensure!(
        matches!(answer.message, Message::TokenIsHere { .. }),
        "{answer:?}"
    );
    let mark = stand.mark();
    let beat = stand.wait_from(mark, is_heartbeat)?;
    ensure!(beat.message.token() == Some(offered), "{beat:?}");
    Ok(())
}

fn a_weaker_offer_is_refused_with_its_own_token() -> Result<()> {
    let stand = stand()?;
    let token = stand.elect()?;
    let weaker = offers(stand.token_of(&stand.high, token.progress - 1));
    let answer = stand.offer_until(&stand.high, &weaker, |seen| {
        seen.dst == stand.high.mac() && is_claim(seen)
    })?;
    ensure!(answer.message.token() == Some(token), "{answer:?}");
    Ok(())
}

fn a_repeated_offer_is_acknowledged_again() -> Result<()> {
    let stand = stand()?;
    let token = stand.give()?;
    for _ in 0..3 {
        let ack = stand.offer_until(&stand.low, &offers(token), |seen| {
            seen.dst == stand.low.mac() && is_claim(seen)
        })?;
        ensure!(ack.message.token() == Some(token), "{ack:?}");
    }
    Ok(())
}

fn an_owner_that_knows_nobody_keeps_its_token() -> Result<()> {
    let stand = Stand::new(BINARIES, Timing::patient(HEARTBEAT))?;
    let token = stand.elect()?;
    let sent = stand.watch(5 * HEARTBEAT);
    ensure!(sent.iter().all(is_heartbeat), "{sent:?}");
    ensure!(
        sent.iter().all(|seen| seen.message.token() == Some(token)),
        "{sent:?}"
    );
    ensure!(sent.len() <= 6, "{} heartbeats in five periods", sent.len());
    Ok(())
}

fn at_the_largest_progress_the_token_stays() -> Result<()> {
    let stand = Stand::new(BINARIES, Timing::patient(HEARTBEAT))?;
    let last = stand.token_of(&stand.low, (1 << 63) - 1);
    stand.wait_from(0, |seen| seen.message == Message::WhereIsToken)?;
    stand.offer_until(&stand.low, &offers(last), |seen| {
        seen.message.token() == Some(last)
    })?;
    let sent = stand.watch(4 * HEARTBEAT);
    let offer = sent
        .iter()
        .find(|seen| matches!(seen.message, Message::TakeToken { .. }));
    ensure!(
        offer.is_none(),
        "there is no progress left to offer: {offer:?}"
    );
    ensure!(
        sent.iter().any(|seen| seen.message.token() == Some(last)),
        "{sent:?}"
    );
    Ok(())
}

fn a_token_taken_keeps_its_data() -> Result<()> {
    let stand = stand()?;
    stand.wait_from(0, |seen| seen.message == Message::WhereIsToken)?;
    let data: Vec<u8> = (0..1024_u16)
        .map(|number| number.to_le_bytes()[0])
        .collect();
    let token = stand.token_of(&stand.low, 1000);
    let digest = ring_segment::ALIEN;
    let offer = Message::TakeToken {
        token,
        digest,
        data: data.clone(),
    };
    let beat = stand.offer_until(&stand.low, &offer, is_heartbeat)?;
    let Message::TokenIsHere { data: held, .. } = beat.message else {
        anyhow::bail!("no heartbeat: {beat:?}");
    };
    ensure!(held == data, "the data was changed to {held:?}");
    // It goes on with the token.
    stand.high.broadcast(&Message::WantToken)?;
    let offer = stand.high.expect(stand.patience(), |seen| {
        matches!(seen.message, Message::TakeToken { .. })
    })?;
    let Message::TakeToken { data: passed, .. } = offer.message else {
        anyhow::bail!("no offer: {offer:?}");
    };
    ensure!(passed == data, "the data was changed to {passed:?}");
    Ok(())
}
