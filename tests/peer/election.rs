//! Behavior of a node without a token, in the states LOOSER and GENERATING.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{
    LONG_IDLE_HOLD, Message, Seen, Timing, Token, is_claim, is_heartbeat, take_token, token_is_here,
};

use super::stand::{AT_ONCE, FLIGHT, Peer, Stand};

const HEARTBEAT: Duration = Duration::from_millis(100);

fn timing() -> Timing {
    Timing::tolerant(HEARTBEAT).idle_hold(LONG_IDLE_HOLD)
}

fn stand() -> Stand {
    Stand::new(timing())
}

fn is_question(seen: &Seen) -> bool {
    seen.message == Message::WhereIsToken && seen.is_broadcast()
}

fn is_candidacy(seen: &Seen) -> bool {
    matches!(seen.message, Message::GeneratingToken { .. }) && seen.is_broadcast()
}

/// Returns a stand whose daemon has just asked for the token for the first time.
fn with_looser() -> Result<Stand> {
    let stand = stand();
    stand.wait_from(0, is_question)?;
    Ok(stand)
}

/// Returns a stand whose daemon stands for election, and the daemon's candidate.
fn with_candidate() -> Result<(Stand, Token)> {
    let stand = stand();
    let seen = stand.wait_from(0, is_candidacy)?;
    let token = seen.message.token().context("a candidate")?;
    Ok((stand, token))
}

fn check_duration(what: &str, span: Duration, expected: Duration) -> Result<()> {
    ensure!(
        span == expected,
        "{what} took {span:?} instead of {expected:?}"
    );
    Ok(())
}

#[test]
fn a_lone_node_asks_for_the_token_then_stands_for_election_then_becomes_owner() -> Result<()> {
    let stand = stand();
    stand.elect()?;
    let frames = stand.sent_from(0);
    ensure!(
        frames.len() == 3
            && is_question(&frames[0])
            && is_candidacy(&frames[1])
            && is_heartbeat(&frames[2]),
        "{frames:?}"
    );
    let answer_timeout = timing().answer_timeout();
    let (question_times, stood, owned) = (frames[0].at, frames[1].at, frames[2].at);
    check_duration(
        "the wait for an answer",
        stood.saturating_sub(question_times),
        answer_timeout,
    )?;
    check_duration(
        "waiting for objections",
        owned.saturating_sub(stood),
        answer_timeout,
    )?;
    let expected = Token {
        progress: 1,
        author: stand.mac(),
        number: 1,
    };
    ensure!(
        frames[1].message.token() == Some(expected),
        "{:?}",
        frames[1]
    );
    Ok(())
}

#[test]
fn news_of_a_token_delays_the_election() -> Result<()> {
    let stand = stand();
    let token = stand.high.token(50);
    let mut question_times = Vec::new();
    for _ in 0..4 {
        question_times.push(stand.high.expect(stand.patience(), is_question)?.at);
        stand.high.send(
            stand.mac(),
            &Message::TokenWasHereRecently {
                token,
                holder: stand.low.mac(),
            },
        );
    }
    for pair in question_times.windows(2) {
        check_duration(
            "asking again",
            pair[1].saturating_sub(pair[0]),
            timing().looser_timeout(),
        )?;
    }
    let stood = stand.sent_from(0).into_iter().find(is_candidacy);
    ensure!(stood.is_none(), "the daemon stood for election: {stood:?}");
    Ok(())
}

/// Checks that the frames of `becomes` make the daemon a WAITER that takes no further part in the election.
fn check_becomes_waiter(stand: &Stand) -> Result<()> {
    let token = stand.high.token(50);
    stand.high.broadcast(&token_is_here(token));
    stand.wait_for_state("WAITER")?;
    let mark = stand.mark();
    for _ in 0..4 {
        stand.high.broadcast(&token_is_here(token));
        stand.high.collect(timing().answer_timeout() / 2);
    }
    let sent = stand.sent_from(mark);
    let unrest = sent
        .iter()
        .find(|seen| is_question(seen) || is_candidacy(seen) || is_claim(seen));
    ensure!(
        unrest.is_none(),
        "the daemon does not wait, but sends {unrest:?}"
    );
    Ok(())
}

#[test]
fn a_looser_that_hears_a_heartbeat_becomes_a_waiter() -> Result<()> {
    check_becomes_waiter(&with_looser()?)
}

#[test]
fn a_candidate_that_hears_a_heartbeat_becomes_a_waiter() -> Result<()> {
    check_becomes_waiter(&with_candidate()?.0)
}

fn check_takes_offer(stand: &Stand) -> Result<()> {
    let token = stand.high.token(50);
    let ack = stand.offer(&stand.high, &take_token(token), |seen| {
        seen.dst == stand.high.mac() && is_claim(seen)
    })?;
    ensure!(ack.message.token() == Some(token), "{ack:?}");
    stand.wait_for_state("OWNER")
}

#[test]
fn a_looser_takes_a_stronger_offer() -> Result<()> {
    check_takes_offer(&with_looser()?)
}

#[test]
fn a_candidate_takes_a_stronger_offer() -> Result<()> {
    check_takes_offer(&with_candidate()?.0)
}

#[test]
fn a_looser_takes_no_offer_that_is_not_stronger() -> Result<()> {
    let stand = with_looser()?;
    let token = stand.high.token(50);
    let word = Message::TokenWasHereRecently {
        token,
        holder: stand.low.mac(),
    };
    stand.high.send(stand.mac(), &word);
    stand.high.send(stand.mac(), &take_token(token));
    stand.high.collect(timing().looser_timeout());
    let claims = |seen: &Seen| is_claim(seen) && seen.message.token() == Some(token);
    let claim = stand.sent_from(0).into_iter().find(claims);
    ensure!(
        claim.is_none(),
        "the daemon took a token that it already knew: {claim:?}"
    );
    Ok(())
}

/// Makes a peer stand for election. Returns the time of its candidacy.
fn stand_for_election(peer: &Peer, progress: u64) -> Duration {
    let token = Token {
        progress,
        author: peer.mac(),
        number: 1,
    };
    peer.broadcast(&Message::GeneratingToken { token })
}

#[test]
fn a_looser_stands_against_a_weaker_candidate() -> Result<()> {
    let stand = with_looser()?;
    let sent = stand_for_election(&stand.high, 1);
    let broadcast = stand.wait_from(0, is_candidacy)?;
    let soon = broadcast.at.saturating_sub(sent);
    ensure!(
        soon == FLIGHT,
        "the daemon stood for election only after {soon:?}"
    );
    let to_high = |seen: &Seen| {
        matches!(seen.message, Message::GeneratingToken { .. }) && seen.dst == stand.high.mac()
    };
    stand.high.expect(AT_ONCE, to_high)?;
    let owner = stand.elect()?;
    ensure!(owner.author == stand.mac(), "{owner:?}");
    Ok(())
}

fn is_quiet_for_a_looser_timeout(stand: &Stand, since: Duration, mark: usize) -> Result<()> {
    let question = stand.wait_from(mark, is_question)?;
    check_duration(
        "being quiet",
        question.at.saturating_sub(since),
        timing().looser_timeout(),
    )?;
    let between = stand
        .sent_from(mark)
        .into_iter()
        .filter(|seen| seen.at < question.at);
    let noise = between
        .into_iter()
        .find(|seen| is_candidacy(seen) || is_claim(seen));
    ensure!(noise.is_none(), "the daemon was not silent: {noise:?}");
    Ok(())
}

#[test]
fn a_looser_is_silent_after_it_hears_a_stronger_candidate() -> Result<()> {
    let stand = with_looser()?;
    // The timeout of the daemon runs from its question, even if it hears frames later.
    let (since, mark) = (stand.wait_from(0, is_question)?.at, stand.mark());
    stand_for_election(&stand.low, 1);
    is_quiet_for_a_looser_timeout(&stand, since, mark)
}

#[test]
fn a_candidate_gives_way_to_a_stronger_candidate() -> Result<()> {
    let (stand, _) = with_candidate()?;
    let mark = stand.mark();
    let since = stand_for_election(&stand.low, 1) + FLIGHT;
    is_quiet_for_a_looser_timeout(&stand, since, mark)
}

#[test]
fn a_candidate_answers_a_weaker_candidate_and_wins() -> Result<()> {
    let (stand, token) = with_candidate()?;
    stand_for_election(&stand.high, 1);
    let to_high = |seen: &Seen| seen.dst == stand.high.mac() && seen.message.token().is_some();
    let answer = stand.high.expect(AT_ONCE, to_high)?;
    ensure!(
        answer.message == Message::GeneratingToken { token },
        "{answer:?}"
    );
    let owner = stand.elect()?;
    ensure!(
        owner.author == token.author && owner.number == token.number,
        "{owner:?}"
    );
    Ok(())
}

#[test]
fn a_candidate_gives_way_to_news_of_a_token() -> Result<()> {
    let (stand, _) = with_candidate()?;
    let mark = stand.mark();
    let token = stand.high.token(50);
    let word = Message::TokenWasHereRecently {
        token,
        holder: stand.low.mac(),
    };
    let since = stand.high.send(stand.mac(), &word) + FLIGHT;
    is_quiet_for_a_looser_timeout(&stand, since, mark)
}

#[test]
fn the_progress_of_a_candidate_is_one_more_than_that_of_the_strongest_known_token() -> Result<()> {
    let stand = with_looser()?;
    let future = u64::MAX / 4;
    let token = stand.high.token(future);
    let word = Message::TokenWasHereRecently {
        token,
        holder: stand.low.mac(),
    };
    stand.high.send(stand.mac(), &word);
    let seen = stand.wait_from(0, is_candidacy)?;
    ensure!(
        seen.message
            .token()
            .is_some_and(|it| it.progress == future + 1),
        "{seen:?}"
    );
    // The progress in the frame is ahead of the clock, so the daemon does not raise its candidate to the clock's value.
    let owner = stand.elect()?;
    ensure!(owner.progress == future + 1, "{owner:?}");
    Ok(())
}

/// Waits until the daemon is elected, restarts the daemon, and waits until it is elected again. Returns both tokens.
fn elect_twice(between: impl FnOnce(&Stand)) -> Result<(Token, Token)> {
    let stand = stand();
    let first = stand.elect()?;
    stand.daemon.kill();
    between(&stand);
    let mark = stand.mark();
    stand.daemon.start();
    let beat = stand.wait_from(mark, is_heartbeat)?;
    Ok((
        first,
        beat.message.token().context("a heartbeat has a token")?,
    ))
}

#[test]
fn the_numbers_of_chains_continue_after_a_restart() -> Result<()> {
    let (first, second) = elect_twice(|_| ())?;
    ensure!(
        second.number == first.number + 1,
        "{second:?} after {first:?}"
    );
    ensure!(
        second.progress > first.progress,
        "{second:?} after {first:?}"
    );
    Ok(())
}

#[test]
fn fencing_numbers_grow_after_the_loss_of_the_state() -> Result<()> {
    let (first, second) = elect_twice(|stand| stand.daemon.lose_state())?;
    ensure!(
        second.progress > first.progress,
        "{second:?} after {first:?}"
    );
    Ok(())
}
