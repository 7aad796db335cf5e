//! Behavior of a WAITER: its answers, the tokens that it takes, and its timeout.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{
    LONG_IDLE_HOLD, MacAddr, Message, Seen, Timing, Token, is_claim, is_heartbeat, take_token,
    token_is_here,
};

use super::stand::{AT_ONCE, FLIGHT, Stand};

const HEARTBEAT: Duration = Duration::from_millis(100);
const NANOSECOND: Duration = Duration::from_nanos(1);

fn timing() -> Timing {
    Timing::tolerant(HEARTBEAT).idle_hold(LONG_IDLE_HOLD)
}

/// Returns a stand whose daemon is a WAITER, and the token that the daemon follows.
fn with_waiter() -> Result<(Stand, Token)> {
    let stand = Stand::new(timing());
    let token = stand.follow()?;
    Ok((stand, token))
}

/// Whether a frame of the daemon contains news of a token.
fn is_about_token(stand: &Stand, seen: &Seen) -> bool {
    seen.src == stand.mac() && seen.message.token().is_some()
}

fn check_answer(message: &Message) -> Result<()> {
    let (stand, token) = with_waiter()?;
    stand.high.broadcast(message);
    let answer = stand
        .high
        .expect(AT_ONCE, |seen| is_about_token(&stand, seen))?;
    let expected = Message::TokenWasHereRecently {
        token,
        holder: stand.low.mac(),
    };
    ensure!(
        answer.message == expected && answer.dst == stand.high.mac(),
        "{answer:?}"
    );
    Ok(())
}

#[test]
fn a_waiter_answers_where_is_token_with_its_known_token() -> Result<()> {
    check_answer(&Message::WhereIsToken)
}

#[test]
fn a_waiter_answers_generating_token_with_its_known_token() -> Result<()> {
    let author = MacAddr::new(2, 0, 0, 0, 0, 3);
    check_answer(&Message::GeneratingToken {
        token: Token {
            progress: 1,
            author,
            number: 1,
        },
    })
}

#[test]
fn a_waiter_answers_with_the_strongest_token_of_which_it_has_heard() -> Result<()> {
    let (stand, token) = with_waiter()?;
    let stronger = Token {
        progress: token.progress + 9,
        author: stand.high.mac(),
        number: 4,
    };
    let word = Message::TokenWasHereRecently {
        token: stronger,
        holder: stand.low.mac(),
    };
    stand.high.send(stand.mac(), &word);
    // A weaker token does not change the daemon's answer.
    stand.low.broadcast(&token_is_here(Token {
        progress: 3,
        ..token
    }));
    stand.high.send(stand.mac(), &Message::WhereIsToken);
    let answer = stand
        .high
        .expect(AT_ONCE, |seen| is_about_token(&stand, seen))?;
    ensure!(answer.message == word, "{answer:?}");
    Ok(())
}

#[test]
fn a_waiter_takes_a_stronger_offer_and_acknowledges_it_in_time() -> Result<()> {
    let (stand, token) = with_waiter()?;
    let mut offered = token;
    for _ in 0..9 {
        offered.progress += 1;
        let sent = stand.low.send(stand.mac(), &take_token(offered));
        let ack = stand
            .low
            .expect(AT_ONCE, |seen| seen.message.token() == Some(offered))?;
        ensure!(
            ack.dst == stand.low.mac(),
            "the acknowledgement is not a unicast: {ack:?}"
        );
        ensure!(
            matches!(ack.message, Message::TokenIsHere { .. }),
            "{ack:?}"
        );
        let delay = ack.at.saturating_sub(sent);
        ensure!(delay == AT_ONCE, "the acknowledgement took {delay:?}");
    }
    stand.daemon.expect_state("OWNER")
}

#[test]
fn a_new_owner_broadcasts_if_it_has_heard_no_recent_heartbeat() -> Result<()> {
    let (stand, token) = with_waiter()?;
    stand.pass(HEARTBEAT + HEARTBEAT / 4);
    let offered = Token {
        progress: token.progress + 1,
        ..token
    };
    let mark = stand.mark();
    let sent = stand.low.send(stand.mac(), &take_token(offered));
    let beat = stand.wait_from(mark, is_heartbeat)?;
    ensure!(beat.message.token() == Some(offered), "{beat:?}");
    let took = beat.at.saturating_sub(sent);
    ensure!(took == FLIGHT, "the broadcast arrived only after {took:?}");
    Ok(())
}

#[test]
fn a_received_token_is_acknowledged_even_if_the_daemon_hands_it_over_at_once() -> Result<()> {
    let stand = Stand::new(timing().idle_hold(Duration::ZERO));
    let token = stand.follow()?;
    stand.high.send(stand.mac(), &Message::WhereIsToken);
    let offered = Token {
        progress: token.progress + 1,
        ..token
    };
    let mark = stand.mark();
    let is_passed = |seen: &Seen| matches!(seen.message, Message::TakeToken { .. });
    let passed = stand.offer(&stand.low, &take_token(offered), is_passed)?;
    ensure!(passed.dst == stand.high.mac(), "{passed:?}");
    let next = passed.message.token().context("an offer has a token")?;
    stand.high.send(stand.mac(), &token_is_here(next));
    // A giver repeats its offer after TAKE_TIMEOUT, so an answer must arrive within a quarter of TAKE_TIMEOUT.
    let ack = stand.wait_in(stand.timing.take_timeout / 4, mark, |seen| {
        let word = matches!(
            seen.message,
            Message::TokenIsHere { .. } | Message::TokenWasHereRecently { .. }
        );
        word && (seen.dst == stand.low.mac() || seen.is_broadcast())
    })?;
    ensure!(
        ack.message
            .token()
            .is_some_and(|told| !offered.beats(&told)),
        "{ack:?}"
    );
    Ok(())
}

#[test]
fn a_waiter_refuses_an_offer_that_is_not_stronger() -> Result<()> {
    let (stand, token) = with_waiter()?;
    for progress in [token.progress, token.progress - 1] {
        stand.low.forget();
        stand
            .low
            .send(stand.mac(), &take_token(Token { progress, ..token }));
        let answer = stand
            .low
            .expect(AT_ONCE, |seen| is_about_token(&stand, seen))?;
        let expected = Message::TokenWasHereRecently {
            token,
            holder: stand.low.mac(),
        };
        ensure!(
            answer.message == expected && answer.dst == stand.low.mac(),
            "{answer:?}"
        );
    }
    stand.wait_for_state("WAITER")
}

#[test]
fn a_waiter_does_not_take_one_offer_twice() -> Result<()> {
    let (stand, token) = with_waiter()?;
    let offered = Token {
        progress: token.progress + 1,
        ..token
    };
    stand.low.send(stand.mac(), &take_token(offered));
    stand.wait_for_state("OWNER")?;
    // The daemon hears of a stronger token, and then gets the old offer again.
    let stronger = Token {
        progress: token.progress + 5,
        author: stand.high.mac(),
        number: 1,
    };
    stand.high.broadcast(&token_is_here(stronger));
    stand.wait_for_state("WAITER")?;
    stand.low.forget();
    stand.low.send(stand.mac(), &take_token(offered));
    let answer = stand
        .low
        .expect(AT_ONCE, |seen| is_about_token(&stand, seen))?;
    ensure!(
        matches!(answer.message, Message::TokenWasHereRecently { .. }),
        "{answer:?}"
    );
    stand.wait_for_state("WAITER")
}

/// Checks that a late copy of an offer does not return the token.
fn check_is_not_taken_again(stand: &Stand, offered: Token) -> Result<()> {
    let mark = stand.mark();
    let before = stand.daemon.counters();
    stand.low.send(stand.mac(), &take_token(offered));
    // A holder would acknowledge the offer at once, or send a heartbeat if the token rests for a long time.
    stand.pass(HEARTBEAT);
    let claims = |seen: &Seen| is_claim(seen) && seen.message.token() == Some(offered);
    // A claim of the daemon's own token after an election does not count.
    let claim = stand.sent_from(mark).into_iter().find(claims);
    ensure!(
        claim.is_none(),
        "the daemon took the token that it had lost: {claim:?}"
    );
    let counters = stand.daemon.counters();
    ensure!(counters != before, "the daemon has not heard of the token");
    Ok(())
}

#[test]
fn a_waiter_does_not_take_one_offer_again_after_its_lease() -> Result<()> {
    let stand = Stand::new(timing());
    let token = stand.give()?;
    // The last heartbeat was the heartbeat that arrived with the token.
    stand.daemon.stop();
    stand.pass(timing().waiter_timeout());
    let mark = stand.mark();
    stand.daemon.resume();
    stand.wait_in(Duration::ZERO, mark, |seen| {
        seen.message == Message::WhereIsToken
    })?;
    check_is_not_taken_again(&stand, token)
}

#[test]
fn a_waiter_does_not_take_one_offer_again_after_a_restart() -> Result<()> {
    let stand = Stand::new(timing());
    let token = stand.give()?;
    stand.daemon.kill();
    let mark = stand.mark();
    stand.daemon.start();
    stand.wait_in(AT_ONCE, mark, |seen| seen.message == Message::WhereIsToken)?;
    check_is_not_taken_again(&stand, token)
}

#[test]
fn a_waiter_ignores_a_broadcast_offer() -> Result<()> {
    let (stand, token) = with_waiter()?;
    let mark = stand.mark();
    stand.low.broadcast(&take_token(Token {
        progress: token.progress + 1,
        ..token
    }));
    stand.pass(HEARTBEAT);
    let sent = stand.sent_from(mark);
    ensure!(sent.is_empty(), "the daemon answered: {sent:?}");
    stand.wait_for_state("WAITER")
}

#[test]
fn a_waiter_asks_for_the_token_after_a_waiter_timeout() -> Result<()> {
    let stand = Stand::new(timing());
    stand.follow()?;
    let heartbeat = stand.low.broadcast(&token_is_here(stand.low.token(2000)));
    let mark = stand.mark();
    let asks = |seen: &Seen| seen.message == Message::WhereIsToken && seen.is_broadcast();
    let wait = stand.wait_from(mark, asks)?.at.saturating_sub(heartbeat);
    let patience = timing().waiter_timeout();
    ensure!(wait == FLIGHT + patience, "the daemon asked after {wait:?}");
    Ok(())
}

#[test]
fn a_waiter_that_hears_heartbeats_does_not_ask_for_the_token() -> Result<()> {
    let stand = Stand::new(timing());
    let token = stand.follow()?;
    let mark = stand.mark();
    let almost = timing().waiter_timeout();
    let almost = almost.saturating_sub(FLIGHT + NANOSECOND);
    for _ in 0..8 {
        stand.pass(almost);
        stand.low.broadcast(&token_is_here(token));
    }
    let question = stand
        .sent_from(mark)
        .into_iter()
        .find(|it| it.message == Message::WhereIsToken);
    ensure!(question.is_none(), "the daemon asked: {question:?}");
    Ok(())
}

/// The clock shows that the daemon's timeout has expired, but newer heartbeats wait at the daemon's link.
#[test]
fn a_waiter_that_was_stopped_handles_waiting_heartbeats_before_its_timeout() -> Result<()> {
    let (stand, token) = with_waiter()?;
    let patience = timing().waiter_timeout();
    let mark = stand.mark();
    stand.daemon.stop();
    stand.pass(patience + HEARTBEAT);
    let heartbeat = stand.low.broadcast(&token_is_here(token)) + FLIGHT;
    stand.pass(HEARTBEAT);
    stand.daemon.resume();
    let asks = |seen: &Seen| seen.message == Message::WhereIsToken;
    let wait = stand.wait_from(mark, asks)?.at.saturating_sub(heartbeat);
    ensure!(wait == patience, "the daemon asked after {wait:?}");
    Ok(())
}

/// Other messages about the token do not restart the timeout: only TOKEN_IS_HERE and handovers show that the token is
/// alive.
#[test]
fn a_waiter_that_hears_only_news_of_the_token_asks_for_it() -> Result<()> {
    let (stand, token) = with_waiter()?;
    let (start, mark) = (stand.now(), stand.mark());
    let word = Message::TokenWasHereRecently {
        token,
        holder: stand.low.mac(),
    };
    let patience = timing().waiter_timeout();
    for _ in 0..8 {
        stand.high.send(stand.mac(), &word);
        stand.pass(patience / 8);
    }
    let asks = |seen: &Seen| seen.message == Message::WhereIsToken;
    let question = stand.wait_in(Duration::ZERO, mark, asks)?;
    let after = question.at.saturating_sub(start);
    ensure!(after == patience, "the daemon asked after {after:?}");
    Ok(())
}

#[test]
fn a_waiter_takes_no_offer_that_has_waited_for_too_long() -> Result<()> {
    let take_timeout = timing().take_timeout;
    // After TAKE_TIMEOUT the giver repeats its offer, or no longer waits for this node.
    for (waited, takes) in [(take_timeout, true), (take_timeout + NANOSECOND, false)] {
        let (stand, token) = with_waiter()?;
        let mark = stand.mark();
        stand.daemon.stop();
        let offered = Token {
            progress: token.progress + 1,
            ..token
        };
        stand.low.send(stand.mac(), &take_token(offered));
        stand.pass(FLIGHT + waited);
        stand.daemon.resume();
        stand.pass(HEARTBEAT);
        let claim = stand.sent_from(mark).into_iter().find(is_claim);
        ensure!(
            claim.is_some() == takes,
            "the daemon took an offer that had waited for {waited:?}: {claim:?}"
        );
        let stale = stand.daemon.counters().dropped["stale_offer"];
        ensure!(
            stale == u64::from(!takes),
            "the daemon counts {stale} expired offers"
        );
    }
    Ok(())
}
