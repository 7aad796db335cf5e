//! How a token is handed on: to whom, how often, and what is done when nobody takes it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{
    Binaries, Digest, FOR_GOOD, MacAddr, Member, Message, Peer, SLACK, Seen, Stand, Test, Timing,
    Token, binaries, holds, is_heartbeat, offers, tests,
};

const BINARIES: Binaries = binaries!();
/// A peer has as long to give the daemon a token before that elects itself, twice over.
const HEARTBEAT: Duration = Duration::from_millis(300);

pub fn tests() -> Vec<Test> {
    tests![
        the_next_member_is_offered_one_more_after_the_idle_hold,
        an_offer_is_repeated_then_the_chain_is_given_up,
        no_chain_is_offered_to_two_members,
        heartbeats_go_on_while_passing,
        token_is_here_completes_a_hand_over,
        token_was_here_recently_completes_a_hand_over,
        the_takers_own_offer_completes_a_hand_over,
        a_weaker_answer_does_not_complete_a_hand_over,
        the_offered_token_sent_back_is_not_taken,
        a_failed_member_is_passed_over_and_tried_again_later,
        a_sign_of_life_makes_a_failed_member_eligible,
        a_member_that_left_is_passed_over,
        a_wanting_member_is_served_at_once,
        wanting_members_are_served_in_ring_order,
        a_waiter_that_wants_gets_the_token_from_the_one_who_heard,
        an_ending_owner_hands_over_and_leaves,
        an_ending_owner_leaves_even_if_nobody_takes_the_token,
        an_ending_owner_with_too_many_dead_members_to_try_says_leaving,
    ]
}

/// Attempts that together last longer than a peer may be held up before it acknowledges one, and
/// are still within the waiters' patience.
fn timing(idle_hold: Duration) -> Timing {
    Timing {
        take_timeout: HEARTBEAT,
        ..Timing::patient(HEARTBEAT).idle_hold(idle_hold)
    }
}

/// A stand whose daemon holds a token and knows both peers, in that order.
fn with_members(idle_hold: Duration) -> Result<(Stand, Token)> {
    with_members_at(timing(idle_hold))
}

fn with_members_at(timing: Timing) -> Result<(Stand, Token)> {
    let stand = Stand::new(BINARIES, timing)?;
    stand.wait_from(0, |seen| seen.message == Message::WhereIsToken)?;
    // Any valid frame makes its author a member.
    stand.high.send(stand.mac(), &Message::WhereIsToken)?;
    let token = stand.give()?;
    Ok((stand, token))
}

fn is_offer(seen: &Seen) -> bool {
    matches!(seen.message, Message::TakeToken { .. })
}

fn expect_offer(stand: &Stand, to: &Peer) -> Result<(Seen, Token)> {
    let offer = to.expect(stand.patience(), |seen| {
        seen.dst == to.mac() && is_offer(seen)
    })?;
    let token = offer.message.token().context("an offer has a token")?;
    Ok((offer, token))
}

fn acknowledge(stand: &Stand, by: &Peer, token: Token) -> Result<()> {
    by.send(stand.mac(), &holds(token))?;
    Ok(())
}

/// The token's next tenure in the same chain.
fn next(token: Token) -> Token {
    Token {
        progress: token.progress + 1,
        ..token
    }
}

fn the_next_member_is_offered_one_more_after_the_idle_hold() -> Result<()> {
    let idle_hold = HEARTBEAT;
    let (stand, token) = with_members(idle_hold)?;
    let began = stand.wait_from(0, |seen| seen.message.token() == Some(token))?;
    let (offer, offered) = expect_offer(&stand, &stand.high)?;
    ensure!(offered == next(token), "{offer:?}");
    let held = offer.at.saturating_sub(began.at);
    let least = idle_hold.saturating_sub(Duration::from_millis(5));
    ensure!(
        held >= least && held <= idle_hold + SLACK,
        "it held the token for {held:?}"
    );
    Ok(())
}

fn an_offer_is_repeated_then_the_chain_is_given_up() -> Result<()> {
    let (stand, token) = with_members(HEARTBEAT)?;
    let (first, offered) = expect_offer(&stand, &stand.high)?;
    let (_, minted) = expect_offer(&stand, &stand.low)?;
    let capture = stand.segment.capture().frames();
    let to_high: Vec<&Seen> = capture
        .iter()
        .filter(|seen| is_offer(seen) && seen.dst == stand.high.mac())
        .collect();
    ensure!(to_high.len() == 3, "not three attempts: {to_high:?}");
    ensure!(
        to_high
            .iter()
            .all(|seen| seen.message.token() == Some(offered)),
        "{to_high:?}"
    );
    for pair in to_high.windows(2) {
        let apart = pair[1].at.saturating_sub(pair[0].at);
        let least = stand
            .timing
            .take_timeout
            .saturating_sub(Duration::from_millis(5));
        ensure!(
            apart >= least && apart <= stand.timing.take_timeout + SLACK,
            "{apart:?} apart"
        );
    }
    ensure!(offered == next(token), "{first:?}");
    // The new chain's token has two more than the one that was given up, and is offered as one more.
    let expected = Token {
        progress: token.progress + 3,
        author: stand.mac(),
        number: 1,
    };
    ensure!(minted == expected, "{minted:?} is not {expected:?}");
    Ok(())
}

fn no_chain_is_offered_to_two_members() -> Result<()> {
    let (stand, _) = with_members(HEARTBEAT / 10)?;
    let frames = stand.watch(5 * stand.timing.waiter_timeout());
    let offers: Vec<&Seen> = frames.iter().filter(|seen| is_offer(seen)).collect();
    ensure!(offers.len() > 6, "only {} offers", offers.len());
    for (index, offer) in offers.iter().enumerate() {
        let chain = |seen: &Seen| seen.message.token().map(|token| token.chain());
        let other = offers[..index]
            .iter()
            .find(|earlier| chain(earlier) == chain(offer) && earlier.dst != offer.dst);
        ensure!(
            other.is_none(),
            "one chain, two members: {other:?} and {offer:?}"
        );
    }
    Ok(())
}

fn heartbeats_go_on_while_passing() -> Result<()> {
    let stand = Stand::new(BINARIES, timing(Duration::ZERO))?;
    stand.high.broadcast(&Message::WhereIsToken)?;
    let token = stand.elect()?;
    stand.high.send(stand.mac(), &Message::WhereIsToken)?;
    let (first, _) = expect_offer(&stand, &stand.high)?;
    stand.high.collect(3 * HEARTBEAT)?;
    let frames = stand.sent_from(0);
    let beats = frames.iter().filter(|seen| {
        is_heartbeat(seen) && seen.at > first.at && seen.message.token() == Some(token)
    });
    ensure!(beats.count() >= 2, "its heartbeats stopped: {frames:?}");
    Ok(())
}

/// Offers end with this answer of `high`'s to the offered token.
fn completes(answer: impl FnOnce(&Stand, Token) -> Message) -> Result<()> {
    let (stand, _) = with_members(HEARTBEAT)?;
    let (_, offered) = expect_offer(&stand, &stand.high)?;
    stand.high.send(stand.mac(), &answer(&stand, offered))?;
    stand.wait_for_state("WAITER")?;
    let mark = stand.mark();
    stand.high.broadcast(&holds(offered))?;
    let sent = stand.watch(2 * HEARTBEAT);
    let claim = stand
        .sent_from(mark)
        .into_iter()
        .chain(sent)
        .find(ring_segment::is_claim);
    ensure!(claim.is_none(), "it goes on with the token: {claim:?}");
    Ok(())
}

fn token_is_here_completes_a_hand_over() -> Result<()> {
    completes(|_, offered| holds(offered))
}

fn token_was_here_recently_completes_a_hand_over() -> Result<()> {
    completes(|stand, token| Message::TokenWasHereRecently {
        token,
        holder: stand.high.mac(),
    })
}

fn the_takers_own_offer_completes_a_hand_over() -> Result<()> {
    let (stand, _) = with_members(HEARTBEAT)?;
    let (_, offered) = expect_offer(&stand, &stand.high)?;
    let returned = next(offered);
    let claim = stand.offer_until(&stand.high, &offers(returned), |seen| {
        seen.message.token() == Some(returned)
    })?;
    ensure!(
        matches!(claim.message, Message::TokenIsHere { .. }),
        "{claim:?}"
    );
    Ok(())
}

fn a_weaker_answer_does_not_complete_a_hand_over() -> Result<()> {
    let (stand, token) = with_members(HEARTBEAT)?;
    expect_offer(&stand, &stand.high)?;
    // What the giver holds itself is less than what it offered.
    stand.high.send(
        stand.mac(),
        &Message::TokenWasHereRecently {
            token,
            holder: stand.mac(),
        },
    )?;
    expect_offer(&stand, &stand.high)?;
    expect_offer(&stand, &stand.low)?;
    Ok(())
}

fn the_offered_token_sent_back_is_not_taken() -> Result<()> {
    let (stand, _) = with_members(HEARTBEAT)?;
    let (_, offered) = expect_offer(&stand, &stand.high)?;
    stand.offer_until(&stand.high, &offers(offered), |seen| {
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

/// Lets `high` be dead and `low` return the token at once, and lists the members that were tried.
fn tried(
    stand: &Stand,
    turns: usize,
    mut each: impl FnMut(usize) -> Result<()>,
) -> Result<Vec<MacAddr>> {
    let mark = stand.mark();
    let mut returned: Option<Token> = None;
    for turn in 0..turns {
        // One that was repeated before it was answered is over.
        let is_new = |token: Token| returned.is_none_or(|last| token.beats(&last));
        let offer = stand.low.expect(stand.patience(), |seen| {
            is_offer(seen) && seen.message.token().is_some_and(is_new)
        })?;
        let offered = offer.message.token().context("an offer has a token")?;
        each(turn)?;
        let back = next(offered);
        stand.offer_until(&stand.low, &offers(back), |seen| {
            seen.message.token() == Some(back)
        })?;
        returned = Some(back);
    }
    let mut offers: Vec<Seen> = stand.sent_from(mark).into_iter().filter(is_offer).collect();
    offers.dedup_by_key(|seen| seen.message.token());
    Ok(offers.into_iter().map(|seen| seen.dst).collect())
}

fn a_failed_member_is_passed_over_and_tried_again_later() -> Result<()> {
    let (stand, _) = with_members(HEARTBEAT / 10)?;
    let (high, low) = (stand.high.mac(), stand.low.mac());
    let order = tried(&stand, 7, |_| Ok(()))?;
    // Passed over for 2^1 - 1 turns, then for 2^2 - 1, then tried again.
    let expected = [high, low, low, high, low, low, low, low, high, low];
    let length = order.len().min(expected.len());
    ensure!(
        length >= 9 && order[..length] == expected[..length],
        "the order was {order:?}"
    );
    Ok(())
}

fn a_sign_of_life_makes_a_failed_member_eligible() -> Result<()> {
    let (stand, _) = with_members(HEARTBEAT / 10)?;
    let (high, low) = (stand.high.mac(), stand.low.mac());
    let alive = |_| {
        stand
            .high
            .send(stand.mac(), &Message::WhereIsToken)
            .map(|_| ())
    };
    let order = tried(&stand, 4, alive)?;
    ensure!(
        order.starts_with(&[high, low, high, low, high, low]),
        "the order was {order:?}"
    );
    Ok(())
}

fn a_member_that_left_is_passed_over() -> Result<()> {
    // Long enough for the daemon to hear of it first.
    let (stand, _) = with_members(5 * HEARTBEAT)?;
    stand.high.broadcast(&Message::Leaving)?;
    expect_offer(&stand, &stand.low)?;
    let frames = stand.sent_from(0);
    let offer = frames
        .iter()
        .find(|seen| is_offer(seen) && seen.dst == stand.high.mac());
    ensure!(offer.is_none(), "it was offered the token: {offer:?}");
    Ok(())
}

fn a_wanting_member_is_served_at_once() -> Result<()> {
    let (stand, token) = with_members(FOR_GOOD)?;
    // Not the next in ring order: the one that wants it.
    stand.low.broadcast(&Message::WantToken)?;
    let (_, offered) = expect_offer(&stand, &stand.low)?;
    ensure!(offered == next(token), "{offered:?}");
    let frames = stand.sent_from(0);
    let other = frames
        .iter()
        .find(|seen| is_offer(seen) && seen.dst == stand.high.mac());
    ensure!(other.is_none(), "it went another way: {other:?}");
    Ok(())
}

fn wanting_members_are_served_in_ring_order() -> Result<()> {
    let (stand, _) = with_members(FOR_GOOD)?;
    // Wishes that are there before the token: the next in ring order comes first.
    stand.high.broadcast(&holds(Token {
        progress: 5000,
        author: stand.high.mac(),
        number: 1,
    }))?;
    stand.wait_for_state("WAITER")?;
    stand.low.broadcast(&Message::WantToken)?;
    stand.high.broadcast(&Message::WantToken)?;
    let token = Token {
        progress: 6000,
        author: stand.low.mac(),
        number: 2,
    };
    stand.offer_until(&stand.low, &offers(token), |seen| {
        seen.message.token() == Some(token)
    })?;
    // `low` had it just now: its wish is fulfilled, and `high` is the one left.
    let (_, offered) = expect_offer(&stand, &stand.high)?;
    ensure!(offered == next(token), "{offered:?}");
    Ok(())
}

fn a_waiter_that_wants_gets_the_token_from_the_one_who_heard() -> Result<()> {
    let (stand, token) = with_members(FOR_GOOD)?;
    stand.high.broadcast(&Message::WantToken)?;
    let (_, offered) = expect_offer(&stand, &stand.high)?;
    ensure!(offered == next(token), "{offered:?}");
    acknowledge(&stand, &stand.high, offered)?;
    stand.wait_for_state("WAITER")?;
    // The wish is fulfilled: the token that comes back stays.
    let back = next(offered);
    stand.offer_until(&stand.high, &offers(back), |seen| {
        seen.message.token() == Some(back)
    })?;
    stand.wait_for_state("OWNER")?;
    let sent = stand.watch(2 * HEARTBEAT);
    let offer = sent.iter().find(|seen| is_offer(seen));
    ensure!(offer.is_none(), "the wish was fulfilled already: {offer:?}");
    Ok(())
}

fn an_ending_owner_hands_over_and_leaves() -> Result<()> {
    let (mut stand, token) = with_members(FOR_GOOD)?;
    stand.daemon.signal(Signal::SIGTERM)?;
    let (_, offered) = expect_offer(&stand, &stand.high)?;
    ensure!(offered == next(token), "{offered:?}");
    acknowledge(&stand, &stand.high, offered)?;
    let status = stand.daemon.wait_exit(stand.patience())?;
    ensure!(status.code() == Some(0), "it ended with {status}");
    let last = stand.sent_from(0).pop().context("it has sent frames")?;
    ensure!(
        last.message == Message::Leaving && last.is_broadcast(),
        "its last was {last:?}"
    );
    let again = stand
        .sent_from(0)
        .into_iter()
        .filter(|seen| seen.dst == stand.low.mac());
    let again = again.filter(is_offer).count();
    ensure!(
        again == 0,
        "the token was offered again, though it was taken"
    );
    Ok(())
}

/// An ending owner has a limited time for its attempts.
fn quick_to_end() -> Timing {
    Timing::patient(HEARTBEAT).idle_hold(FOR_GOOD)
}

fn an_ending_owner_leaves_even_if_nobody_takes_the_token() -> Result<()> {
    let (mut stand, _) = with_members_at(quick_to_end())?;
    stand.daemon.signal(Signal::SIGINT)?;
    let status = stand.daemon.wait_exit(stand.patience())?;
    ensure!(status.code() == Some(0), "it ended with {status}");
    let sent = stand.sent_from(0);
    for peer in [&stand.high, &stand.low] {
        let count = sent
            .iter()
            .filter(|seen| is_offer(seen) && seen.dst == peer.mac())
            .count();
        ensure!(
            count == 3,
            "{} was offered the token {count} times",
            peer.mac()
        );
    }
    ensure!(
        sent.last()
            .is_some_and(|seen| seen.message == Message::Leaving),
        "{sent:?}"
    );
    Ok(())
}

fn an_ending_owner_with_too_many_dead_members_to_try_says_leaving() -> Result<()> {
    let (mut stand, _) = with_members_at(quick_to_end())?;
    let dead = |last| Member {
        mac: MacAddr::new(6, 0, 0, 0, 0, last),
        ip: [0; 16],
    };
    let message = Message::RingMembers {
        digest: Digest { size: 0, hash: 0 },
        members: (0..60).map(dead).collect(),
    };
    stand.high.send(stand.mac(), &message)?;
    stand.high.expect(SLACK, |seen| {
        matches!(seen.message, Message::RingMembers { .. })
    })?;
    stand.daemon.signal(Signal::SIGTERM)?;
    let status = stand.daemon.wait_exit(stand.patience())?;
    ensure!(status.code() == Some(0), "it ended with {status}");
    let last = stand.sent_from(0).pop().context("it has sent frames")?;
    ensure!(
        last.message == Message::Leaving && last.is_broadcast(),
        "its last was {last:?}"
    );
    Ok(())
}
