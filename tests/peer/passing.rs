//! Handover of a token: the next member, the attempts, and a token that no member takes.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{
    LONG_IDLE_HOLD, MacAddr, Message, Seen, Timing, Token, is_claim, is_heartbeat, take_token,
    token_is_here,
};

use super::stand::{AT_ONCE, FLIGHT, Peer, Stand};

const HEARTBEAT: Duration = Duration::from_millis(100);

/// Returns constants that make all attempts together take several heartbeats, but less than WAITER_TIMEOUT.
fn timing(idle_hold: Duration) -> Timing {
    Timing {
        take_timeout: HEARTBEAT,
        ..Timing::tolerant(HEARTBEAT).idle_hold(idle_hold)
    }
}

/// Returns a stand whose daemon holds a token and knows both peers.
pub(crate) fn with_members(idle_hold: Duration) -> Result<(Stand, Token)> {
    with_members_at(timing(idle_hold))
}

pub(crate) fn with_members_at(timing: Timing) -> Result<(Stand, Token)> {
    let stand = Stand::new(timing);
    // Any valid frame adds its author to the table.
    stand.high.send(stand.mac(), &Message::WhereIsToken);
    let token = stand.give()?;
    Ok((stand, token))
}

pub(crate) fn is_offer(seen: &Seen) -> bool {
    matches!(seen.message, Message::TakeToken { .. })
}

pub(crate) fn expect_offer(to: &Peer, timeout: Duration) -> Result<(Seen, Token)> {
    let offer = to.expect(timeout, |seen| seen.dst == to.mac() && is_offer(seen))?;
    let token = offer.message.token().context("an offer has a token")?;
    Ok((offer, token))
}

/// Returns the token of the next tenure in the same chain.
pub(crate) fn next_tenure(token: Token) -> Token {
    Token {
        progress: token.progress + 1,
        ..token
    }
}

#[test]
fn after_the_idle_hold_the_next_member_is_offered_a_token_with_one_more_progress() -> Result<()> {
    let idle_hold = HEARTBEAT;
    let (stand, token) = with_members(idle_hold)?;
    let began = stand.wait_from(0, |seen| seen.message.token() == Some(token))?;
    let offer = stand.wait_from(0, is_offer)?;
    ensure!(
        offer.dst == stand.high.mac() && offer.message.token() == Some(next_tenure(token)),
        "{offer:?}"
    );
    let held = offer.at.saturating_sub(began.at);
    ensure!(held == idle_hold, "the daemon held the token for {held:?}");
    Ok(())
}

#[test]
fn an_offer_is_repeated_before_the_giver_gives_the_chain_up() -> Result<()> {
    let (stand, token) = with_members(HEARTBEAT)?;
    let (first, offered) = expect_offer(&stand.high, stand.patience())?;
    let (to_low, minted) = expect_offer(&stand.low, stand.patience())?;
    let mut to_high = stand.sent_from(0);
    to_high.retain(|seen| is_offer(seen) && seen.dst == stand.high.mac());
    ensure!(
        to_high.len() == 3,
        "the daemon did not make three attempts: {to_high:?}"
    );
    ensure!(
        to_high
            .iter()
            .all(|seen| seen.message.token() == Some(offered)),
        "{to_high:?}"
    );
    // After the last attempt the daemon waits for one and a half times TAKE_TIMEOUT.
    let take_timeout = stand.timing.take_timeout;
    let given_up = to_low.at.saturating_sub(FLIGHT + take_timeout / 2);
    let times = to_high.iter().map(|seen| seen.at);
    let times: Vec<Duration> = times.chain([given_up]).collect();
    for pair in times.windows(2) {
        let apart = pair[1].saturating_sub(pair[0]);
        ensure!(
            apart == take_timeout,
            "the time between two offers was {apart:?}"
        );
    }
    ensure!(offered == next_tenure(token), "{first:?}");
    // The progress of the new chain's token is the progress of the lost token plus two. The progress of the offer is
    // one more.
    let expected = Token {
        progress: token.progress + 3,
        author: stand.mac(),
        number: 1,
    };
    ensure!(
        minted == expected,
        "the new token is {minted:?} instead of {expected:?}"
    );
    Ok(())
}

#[test]
fn no_chain_is_offered_to_two_members() -> Result<()> {
    let (stand, _) = with_members(HEARTBEAT / 10)?;
    let mut frames = Vec::new();
    for _ in 0..20 {
        // The daemon soon stops offering the token to a silent member.
        for peer in [&stand.high, &stand.low] {
            peer.send(stand.mac(), &Message::WhereIsToken);
        }
        frames.extend(stand.watch(stand.timing.waiter_timeout() / 4));
    }
    let offers: Vec<&Seen> = frames.iter().filter(|seen| is_offer(seen)).collect();
    ensure!(offers.len() > 6, "only {} offers", offers.len());
    for (index, offer) in offers.iter().enumerate() {
        let chain = |seen: &Seen| seen.message.token().map(|token| token.chain());
        let other = offers[..index]
            .iter()
            .find(|earlier| chain(earlier) == chain(offer) && earlier.dst != offer.dst);
        ensure!(
            other.is_none(),
            "the daemon offers one chain to two members: {other:?} and {offer:?}"
        );
    }
    Ok(())
}

#[test]
fn heartbeats_continue_during_a_handover() -> Result<()> {
    let stand = Stand::new(timing(Duration::ZERO));
    stand.high.broadcast(&Message::WhereIsToken);
    let token = stand.elect()?;
    stand.high.send(stand.mac(), &Message::WhereIsToken);
    let (first, _) = expect_offer(&stand.high, stand.patience())?;
    // The wait ends just before the daemon gives the offer up.
    stand.pass((3 * HEARTBEAT).saturating_sub(AT_ONCE));
    let frames = stand.sent_from(0);
    let beats = frames.iter().filter(|seen| {
        is_heartbeat(seen) && seen.at > first.at && seen.message.token() == Some(token)
    });
    ensure!(
        beats.count() == 2,
        "the daemon stopped its heartbeats: {frames:?}"
    );
    Ok(())
}

/// Checks that this answer of `high` completes the handover.
fn check_completes(answer: impl FnOnce(&Stand, Token) -> Message) -> Result<()> {
    let (stand, _) = with_members(HEARTBEAT)?;
    let (_, offered) = expect_offer(&stand.high, stand.patience())?;
    stand.high.send(stand.mac(), &answer(&stand, offered));
    stand.wait_for_state("WAITER")?;
    stand.high.broadcast(&token_is_here(offered));
    let claim = stand.watch(2 * HEARTBEAT).into_iter().find(is_claim);
    ensure!(
        claim.is_none(),
        "the daemon still claims the token: {claim:?}"
    );
    Ok(())
}

#[test]
fn token_is_here_completes_a_handover() -> Result<()> {
    check_completes(|_, offered| token_is_here(offered))
}

#[test]
fn token_was_here_recently_completes_a_handover() -> Result<()> {
    check_completes(|stand, token| Message::TokenWasHereRecently {
        token,
        holder: stand.high.mac(),
    })
}

#[test]
fn the_takers_own_offer_completes_a_handover() -> Result<()> {
    let (stand, _) = with_members(HEARTBEAT)?;
    let (_, offered) = expect_offer(&stand.high, stand.patience())?;
    let returned = next_tenure(offered);
    let claim = stand.offer(&stand.high, &take_token(returned), |seen| {
        seen.message.token() == Some(returned)
    })?;
    ensure!(
        matches!(claim.message, Message::TokenIsHere { .. }),
        "{claim:?}"
    );
    Ok(())
}

#[test]
fn a_weaker_answer_does_not_complete_a_handover() -> Result<()> {
    let (stand, token) = with_members(HEARTBEAT)?;
    expect_offer(&stand.high, stand.patience())?;
    // The token that the giver holds has less progress than its offer, so it does not complete the handover.
    stand.high.send(
        stand.mac(),
        &Message::TokenWasHereRecently {
            token,
            holder: stand.mac(),
        },
    );
    expect_offer(&stand.high, stand.patience())?;
    expect_offer(&stand.low, stand.patience())?;
    Ok(())
}

#[test]
fn a_giver_does_not_take_its_own_offer_back() -> Result<()> {
    let (stand, _) = with_members(HEARTBEAT)?;
    let (_, offered) = expect_offer(&stand.high, stand.patience())?;
    stand.offer(&stand.high, &take_token(offered), |seen| {
        let word = matches!(seen.message, Message::TokenWasHereRecently { .. });
        word && seen.dst == stand.high.mac()
    })?;
    stand.wait_for_state("WAITER")?;
    let frames = stand.sent_from(0);
    let claim = frames.iter().find(
        |seen| matches!(seen.message, Message::TokenIsHere { token, .. } if token == offered),
    );
    ensure!(
        claim.is_none(),
        "giver and taker hold equal tokens: {claim:?}"
    );
    Ok(())
}

/// Keeps `high` dead and makes `low` return the token at once. Returns the members to which the daemon offered the
/// token.
fn tried_members(stand: &Stand, turns: usize, each: impl Fn()) -> Result<Vec<MacAddr>> {
    let mark = stand.mark();
    for _ in 0..turns {
        let (_, offered) = expect_offer(&stand.low, stand.patience())?;
        each();
        stand
            .low
            .send(stand.mac(), &take_token(next_tenure(offered)));
        stand.wait_for_state("OWNER")?;
    }
    let mut offers: Vec<Seen> = stand.sent_from(mark).into_iter().filter(is_offer).collect();
    offers.dedup_by_key(|seen| seen.message.token());
    Ok(offers.into_iter().map(|seen| seen.dst).collect())
}

#[test]
fn a_failed_member_is_skipped_and_tried_again_later() -> Result<()> {
    let (stand, _) = with_members(HEARTBEAT / 10)?;
    let (high, low) = (stand.high.mac(), stand.low.mac());
    let order = tried_members(&stand, 7, || ())?;
    // The daemon skips `high` for 2^1 - 1 turns, tries it again, and then skips it for 2^2 - 1 turns.
    let expected = [high, low, low, high, low, low, low, low, high, low];
    ensure!(order == expected, "the order was {order:?}");
    Ok(())
}

#[test]
fn a_failed_member_that_sends_a_frame_is_no_longer_skipped() -> Result<()> {
    let (stand, _) = with_members(HEARTBEAT / 10)?;
    let (high, low) = (stand.high.mac(), stand.low.mac());
    let alive = || {
        stand.high.send(stand.mac(), &Message::WhereIsToken);
    };
    let order = tried_members(&stand, 4, alive)?;
    let expected = [high, low, high, low, high, low, high, low];
    ensure!(order == expected, "the order was {order:?}");
    Ok(())
}

#[test]
fn a_member_that_left_is_skipped() -> Result<()> {
    let (stand, _) = with_members(HEARTBEAT)?;
    stand.high.broadcast(&Message::Leaving);
    expect_offer(&stand.low, stand.patience())?;
    let frames = stand.sent_from(0);
    let offer = frames
        .iter()
        .find(|seen| is_offer(seen) && seen.dst == stand.high.mac());
    ensure!(
        offer.is_none(),
        "the daemon offered the token to a member that left: {offer:?}"
    );
    Ok(())
}

#[test]
fn a_member_that_wants_the_token_is_served_at_once() -> Result<()> {
    let (stand, token) = with_members(LONG_IDLE_HOLD)?;
    // The daemon prefers a member that wants the token to the next member in ring order.
    stand.low.broadcast(&Message::WantToken);
    let (_, offered) = expect_offer(&stand.low, AT_ONCE)?;
    ensure!(offered == next_tenure(token), "{offered:?}");
    let frames = stand.sent_from(0);
    let other = frames
        .iter()
        .find(|seen| is_offer(seen) && seen.dst == stand.high.mac());
    ensure!(
        other.is_none(),
        "the daemon offered the token to another peer: {other:?}"
    );
    Ok(())
}

#[test]
fn members_that_want_the_token_are_served_in_ring_order() -> Result<()> {
    let (stand, _) = with_members(LONG_IDLE_HOLD)?;
    // If several members want the token before the daemon gets it, the next member in ring order is served first.
    stand.high.broadcast(&token_is_here(Token {
        progress: 5000,
        author: stand.high.mac(),
        number: 1,
    }));
    stand.wait_for_state("WAITER")?;
    stand.low.broadcast(&Message::WantToken);
    stand.high.broadcast(&Message::WantToken);
    let token = Token {
        progress: 6000,
        author: stand.low.mac(),
        number: 2,
    };
    let mark = stand.mark();
    stand.low.send(stand.mac(), &take_token(token));
    // `low` just had the token, so its request is fulfilled. Only the request of `high` is left.
    let (_, offered) = expect_offer(&stand.high, AT_ONCE)?;
    ensure!(offered == next_tenure(token), "{offered:?}");
    // The daemon sends `low` a frame before `low` repeats its request.
    stand.wait_in(stand.timing.take_timeout / 4, mark, |seen| {
        seen.dst == stand.low.mac() && seen.message.token() == Some(token)
    })?;
    Ok(())
}

#[test]
fn a_waiter_that_wants_the_token_gets_it_from_the_member_that_heard_it() -> Result<()> {
    let (stand, token) = with_members(LONG_IDLE_HOLD)?;
    stand.high.broadcast(&Message::WantToken);
    let (_, offered) = expect_offer(&stand.high, AT_ONCE)?;
    ensure!(offered == next_tenure(token), "{offered:?}");
    stand.high.send(stand.mac(), &token_is_here(offered));
    stand.wait_for_state("WAITER")?;
    // The request is fulfilled, so the token rests after it comes back.
    let back = next_tenure(offered);
    stand.offer(&stand.high, &take_token(back), |seen| {
        seen.message.token() == Some(back)
    })?;
    stand.wait_for_state("OWNER")?;
    let sent = stand.watch(2 * HEARTBEAT);
    let offer = sent.iter().find(|seen| is_offer(seen));
    ensure!(
        offer.is_none(),
        "the request was already fulfilled: {offer:?}"
    );
    Ok(())
}
