//! Behavior of an OWNER (`docs/reference/lab2/states.md O1` to O12).

use std::time::Duration;

use anyhow::{Result, ensure};
use ring_segment::{
    LONG_IDLE_HOLD, Message, Seen, Timing, Token, is_claim, is_heartbeat, take_token, token_is_here,
};

use super::stand::{AT_ONCE, FLIGHT, Stand, wall};

const HEARTBEAT: Duration = Duration::from_millis(100);
const NANOSECOND: Duration = Duration::from_nanos(1);

fn timing() -> Timing {
    Timing::tolerant(HEARTBEAT).idle_hold(LONG_IDLE_HOLD)
}

fn stand() -> Stand {
    Stand::new(timing())
}

#[test]
fn an_owner_sends_a_heartbeat_every_period() -> Result<()> {
    let stand = stand();
    let token = stand.elect()?;
    let mark = stand.mark();
    stand.pass(10 * HEARTBEAT);
    let beats = stand.sent_from(mark);
    ensure!(
        beats.len() == 10 && beats.iter().all(is_heartbeat),
        "in ten periods: {beats:?}"
    );
    for pair in beats.windows(2) {
        let apart = pair[1].at.saturating_sub(pair[0].at);
        ensure!(
            apart == HEARTBEAT,
            "the time between two heartbeats was {apart:?}"
        );
    }
    ensure!(
        beats.iter().all(|seen| seen.message.token() == Some(token)),
        "{beats:?}"
    );
    Ok(())
}

#[test]
fn the_progress_of_the_first_token_is_the_time_of_the_clock() -> Result<()> {
    let stand = stand();
    let heartbeat = stand.wait_from(0, is_heartbeat)?;
    let expected = Token {
        progress: wall(heartbeat.at),
        author: stand.mac(),
        number: 1,
    };
    ensure!(heartbeat.message.token() == Some(expected), "{heartbeat:?}");
    Ok(())
}

/// Checks that the daemon claims no token during several periods.
fn check_claims_nothing(stand: &Stand) -> Result<()> {
    stand.wait_for_state("WAITER")?;
    let claims: Vec<Seen> = stand
        .watch(2 * HEARTBEAT)
        .into_iter()
        .filter(is_claim)
        .collect();
    ensure!(
        claims.is_empty(),
        "the daemon continues to claim its token: {claims:?}"
    );
    Ok(())
}

#[test]
fn an_owner_that_hears_a_stronger_holder_gives_up_its_token_and_pings() -> Result<()> {
    let stand = stand();
    let token = stand.elect()?;
    let mark = stand.mark();
    stand
        .high
        .broadcast(&token_is_here(stand.high.token(token.progress + 1)));
    let to_high = |seen: &Seen| seen.dst == stand.high.mac();
    stand.wait_in(AT_ONCE, mark, |seen| {
        to_high(seen) && matches!(seen.message, Message::Ping { .. })
    })?;
    check_claims_nothing(&stand)
}

#[test]
fn at_equal_progress_the_token_of_the_smaller_author_wins() -> Result<()> {
    let stand = stand();
    let token = stand.elect()?;
    // A larger address is weaker.
    stand
        .high
        .broadcast(&token_is_here(stand.high.token(token.progress)));
    let refusal = stand
        .high
        .expect(AT_ONCE, |seen| !seen.is_broadcast() && is_claim(seen))?;
    ensure!(refusal.message.token() == Some(token), "{refusal:?}");
    stand
        .low
        .broadcast(&token_is_here(stand.low.token(token.progress)));
    check_claims_nothing(&stand)
}

/// Sends a message from `high`. Checks that the daemon answers with a unicast about its token. The daemon must also
/// send a broadcast at once if and only if `broadcast` is true.
fn check_is_told(message: &Message, broadcast: bool) -> Result<()> {
    let stand = stand();
    let token = stand.give()?;
    // The next heartbeat is due half a period later, so an immediate broadcast is an answer.
    stand.pass(HEARTBEAT / 2);
    stand.high.forget();
    let mark = stand.mark();
    stand.high.broadcast(message);
    let answer = stand.high.expect(AT_ONCE, |seen| {
        seen.dst == stand.high.mac() && is_claim(seen)
    })?;
    ensure!(answer.message.token() == Some(token), "{answer:?}");
    stand.pass(HEARTBEAT / 4);
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

#[test]
fn an_owner_answers_a_weaker_holder_with_a_unicast_and_a_broadcast() -> Result<()> {
    let author = [2, 0, 0, 0, 0, 3].into();
    check_is_told(
        &token_is_here(Token {
            progress: 5,
            author,
            number: 1,
        }),
        true,
    )
}

#[test]
fn an_owner_answers_where_is_token_with_a_unicast() -> Result<()> {
    check_is_told(&Message::WhereIsToken, false)
}

#[test]
fn an_owner_answers_generating_token_with_a_unicast_and_a_broadcast() -> Result<()> {
    let author = [2, 0, 0, 0, 0, 3].into();
    check_is_told(
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

#[test]
fn an_owner_takes_a_stronger_offer_instead_of_its_own_token() -> Result<()> {
    let stand = stand();
    let token = stand.elect()?;
    let offered = stand.high.token(token.progress + 1);
    let answer = stand.offer(&stand.high, &take_token(offered), |seen| {
        seen.message.token() == Some(offered)
    })?;
    ensure!(
        matches!(answer.message, Message::TokenIsHere { .. }),
        "{answer:?}"
    );
    let mark = stand.mark();
    let beat = stand.wait_in(HEARTBEAT, mark, is_heartbeat)?;
    ensure!(beat.message.token() == Some(offered), "{beat:?}");
    Ok(())
}

#[test]
fn an_owner_refuses_a_weaker_offer_with_its_own_token() -> Result<()> {
    let stand = stand();
    let token = stand.elect()?;
    let weaker = take_token(stand.high.token(token.progress - 1));
    let answer = stand.offer(&stand.high, &weaker, |seen| {
        seen.dst == stand.high.mac() && is_claim(seen)
    })?;
    ensure!(answer.message.token() == Some(token), "{answer:?}");
    Ok(())
}

#[test]
fn an_owner_acknowledges_a_repeated_offer_again() -> Result<()> {
    let stand = stand();
    let token = stand.give()?;
    for _ in 0..3 {
        let ack = stand.offer(&stand.low, &take_token(token), |seen| {
            seen.dst == stand.low.mac() && is_claim(seen)
        })?;
        ensure!(ack.message.token() == Some(token), "{ack:?}");
    }
    Ok(())
}

#[test]
fn an_owner_that_knows_no_other_member_keeps_its_token() -> Result<()> {
    let stand = Stand::new(Timing::tolerant(HEARTBEAT));
    let token = stand.elect()?;
    let sent = stand.watch(5 * HEARTBEAT);
    ensure!(sent.iter().all(is_heartbeat), "{sent:?}");
    ensure!(
        sent.iter().all(|seen| seen.message.token() == Some(token)),
        "{sent:?}"
    );
    ensure!(sent.len() == 5, "{} heartbeats in five periods", sent.len());
    Ok(())
}

/// After the end of the lease, the other members may have elected a new owner.
#[test]
fn an_owner_that_wakes_up_after_its_lease_has_no_token() -> Result<()> {
    let lease = timing().waiter_timeout();
    let shorter = lease.saturating_sub(NANOSECOND);
    for (asleep, state) in [(shorter, "OWNER"), (lease, "LOOSER")] {
        let stand = stand();
        stand.give()?;
        // The lease runs from the heartbeat that arrived with the token.
        stand.daemon.stop();
        stand.pass(asleep.saturating_sub(FLIGHT));
        let mark = stand.mark();
        // The first frame that the daemon reads is a question that a holder would answer with a claim.
        stand.high.broadcast(&Message::WhereIsToken);
        stand.pass(FLIGHT);
        stand.daemon.resume();
        stand.pass(AT_ONCE);
        stand.daemon.expect_state(state)?;
        let claim = stand.sent_from(mark).into_iter().find(is_claim);
        ensure!(claim.is_some() == (state == "OWNER"), "{claim:?}");
    }
    Ok(())
}

#[test]
fn a_token_with_the_largest_progress_stays_at_its_owner() -> Result<()> {
    let stand = Stand::new(Timing::tolerant(HEARTBEAT));
    let last = stand.low.token((1 << 63) - 1);
    stand.offer(&stand.low, &take_token(last), |seen| {
        seen.message.token() == Some(last)
    })?;
    let sent = stand.watch(4 * HEARTBEAT);
    let offer = sent
        .iter()
        .find(|seen| matches!(seen.message, Message::TakeToken { .. }));
    ensure!(
        offer.is_none(),
        "the daemon offers a token although its progress cannot grow: {offer:?}"
    );
    ensure!(
        sent.iter().any(|seen| seen.message.token() == Some(last)),
        "{sent:?}"
    );
    Ok(())
}

#[test]
fn a_token_keeps_its_data_when_an_owner_takes_it() -> Result<()> {
    let stand = stand();
    let data: Vec<u8> = (0..1024_u16)
        .map(|number| number.to_le_bytes()[0])
        .collect();
    let token = stand.low.token(1000);
    let digest = ring_segment::OTHER_DIGEST;
    let offer = Message::TakeToken {
        token,
        digest,
        data: data.clone(),
    };
    let beat = stand.offer(&stand.low, &offer, is_heartbeat)?;
    let Message::TokenIsHere { data: held, .. } = beat.message else {
        anyhow::bail!("the frame is not a heartbeat: {beat:?}");
    };
    ensure!(held == data, "the data was changed to {held:?}");
    // The data also stay the same when the daemon hands the token over.
    stand.high.broadcast(&Message::WantToken);
    let offer = stand.high.expect(AT_ONCE, |seen| {
        matches!(seen.message, Message::TakeToken { .. })
    })?;
    let Message::TakeToken { data: passed, .. } = offer.message else {
        anyhow::bail!("the frame is not an offer: {offer:?}");
    };
    ensure!(passed == data, "the data was changed to {passed:?}");
    Ok(())
}
