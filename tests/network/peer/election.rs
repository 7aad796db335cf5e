//! How a node without a token behaves: LOOSER and GENERATING.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{
    Binaries, FOR_GOOD, Message, Peer, SLACK, Seen, Stand, Test, Timing, Token, binaries, holds,
    is_claim, is_heartbeat, now, offers, tests,
};

const BINARIES: Binaries = binaries!();
/// A peer has as long to speak before a LOOSER stands for election, and before a candidate owns.
const HEARTBEAT: Duration = Duration::from_millis(600);

pub fn tests() -> Vec<Test> {
    tests![
        a_lone_node_asks_then_stands_then_owns,
        word_of_a_token_puts_the_election_off,
        a_looser_that_hears_the_token_waits,
        a_looser_takes_a_stronger_offer,
        a_looser_takes_no_offer_that_is_not_stronger,
        a_looser_stands_against_a_weaker_candidate,
        a_looser_is_quiet_after_a_stronger_candidate,
        a_candidate_gives_way_to_a_stronger_one,
        a_candidate_answers_a_weaker_one_and_wins,
        a_candidate_gives_way_to_word_of_a_token,
        a_candidate_that_hears_the_token_waits,
        a_candidate_takes_a_stronger_offer,
        a_candidate_has_one_more_than_the_strongest_token_known,
        chains_are_numbered_on_after_a_restart,
        fencing_numbers_grow_after_the_loss_of_the_state,
    ]
}

fn timing() -> Timing {
    Timing::patient(HEARTBEAT).idle_hold(FOR_GOOD)
}

fn stand() -> Result<Stand> {
    Stand::new(BINARIES, timing())
}

fn asks(seen: &Seen) -> bool {
    seen.message == Message::WhereIsToken && seen.is_broadcast()
}

fn stands(seen: &Seen) -> bool {
    matches!(seen.message, Message::GeneratingToken { .. }) && seen.is_broadcast()
}

/// A stand whose daemon has just asked for the first time.
fn looser() -> Result<Stand> {
    looser_at(timing())
}

fn looser_at(timing: Timing) -> Result<Stand> {
    let stand = Stand::new(BINARIES, timing)?;
    stand.wait_from(0, asks)?;
    Ok(stand)
}

/// A stand whose daemon stands for election, and its candidate.
fn candidate() -> Result<(Stand, Token)> {
    let stand = stand()?;
    let seen = stand.wait_from(0, stands)?;
    let token = seen.message.token().context("a candidate")?;
    Ok((stand, token))
}

fn assert_between(what: &str, span: Duration, least: Duration) -> Result<()> {
    // A busy node sends later than it decided to, and its time-outs run from the decision.
    let (least, most) = (least * 3 / 4, least + SLACK);
    ensure!(
        span >= least && span <= most,
        "{what} took {span:?}, not {least:?} to {most:?}"
    );
    Ok(())
}

fn a_lone_node_asks_then_stands_then_owns() -> Result<()> {
    let stand = stand()?;
    stand.elect()?;
    let frames = stand.sent_from(0);
    ensure!(
        asks(&frames[0]) && stands(&frames[1]) && is_heartbeat(&frames[2]),
        "{frames:?}"
    );
    let answer_timeout = timing().answer_timeout();
    let (asked, stood, owned) = (frames[0].at, frames[1].at, frames[2].at);
    assert_between(
        "waiting for an answer",
        stood.saturating_sub(asked),
        answer_timeout,
    )?;
    assert_between(
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

fn word_of_a_token_puts_the_election_off() -> Result<()> {
    let stand = stand()?;
    let token = stand.token_of(&stand.high, 50);
    let mut asked = Vec::new();
    for _ in 0..4 {
        asked.push(stand.high.expect(stand.patience(), asks)?.at);
        stand.high.send(
            stand.mac(),
            &Message::TokenWasHereRecently {
                token,
                holder: stand.low.mac(),
            },
        )?;
    }
    for pair in asked.windows(2) {
        assert_between(
            "asking again",
            pair[1].saturating_sub(pair[0]),
            timing().looser_timeout(),
        )?;
    }
    let stood = stand.sent_from(0).into_iter().find(stands);
    ensure!(stood.is_none(), "it stood for election: {stood:?}");
    Ok(())
}

/// After what `becomes` sends, the daemon is a WAITER that does not go on with an election.
fn becomes_waiter(stand: &Stand) -> Result<()> {
    let token = stand.token_of(&stand.high, 50);
    stand.high.broadcast(&holds(token))?;
    stand.wait_for_state("WAITER")?;
    let mark = stand.mark();
    for _ in 0..4 {
        stand.high.broadcast(&holds(token))?;
        stand.high.collect(timing().answer_timeout() / 2)?;
    }
    let sent = stand.sent_from(mark);
    let unrest = sent
        .iter()
        .find(|seen| asks(seen) || stands(seen) || is_claim(seen));
    ensure!(unrest.is_none(), "it does not wait: {unrest:?}");
    Ok(())
}

fn a_looser_that_hears_the_token_waits() -> Result<()> {
    becomes_waiter(&looser()?)
}

fn a_candidate_that_hears_the_token_waits() -> Result<()> {
    becomes_waiter(&candidate()?.0)
}

fn takes(stand: &Stand) -> Result<()> {
    let token = stand.token_of(&stand.high, 50);
    let ack = stand.offer_until(&stand.high, &offers(token), |seen| {
        seen.dst == stand.high.mac() && is_claim(seen)
    })?;
    ensure!(ack.message.token() == Some(token), "{ack:?}");
    stand.wait_for_state("OWNER")
}

fn a_looser_takes_a_stronger_offer() -> Result<()> {
    takes(&looser()?)
}

fn a_candidate_takes_a_stronger_offer() -> Result<()> {
    takes(&candidate()?.0)
}

fn a_looser_takes_no_offer_that_is_not_stronger() -> Result<()> {
    let stand = looser()?;
    let token = stand.token_of(&stand.high, 50);
    let word = Message::TokenWasHereRecently {
        token,
        holder: stand.low.mac(),
    };
    stand.high.send(stand.mac(), &word)?;
    stand.high.send(stand.mac(), &offers(token))?;
    stand.high.collect(timing().looser_timeout())?;
    let claims = |seen: &Seen| is_claim(seen) && seen.message.token() == Some(token);
    let claim = stand.sent_from(0).into_iter().find(claims);
    ensure!(
        claim.is_none(),
        "it took a token that it knew already: {claim:?}"
    );
    Ok(())
}

fn stand_for_election(peer: &Peer, progress: u64) -> Result<Token> {
    let token = Token {
        progress,
        author: peer.mac(),
        number: 1,
    };
    peer.broadcast(&Message::GeneratingToken { token })?;
    Ok(token)
}

fn a_looser_stands_against_a_weaker_candidate() -> Result<()> {
    // Half of its patience is longer than a busy machine is late.
    let timing = Timing::patient(Duration::from_secs(2)).idle_hold(FOR_GOOD);
    let stand = looser_at(timing)?;
    let sent = now();
    stand_for_election(&stand.high, 1)?;
    let broadcast = stand.wait_from(0, stands)?;
    let soon = broadcast.at.saturating_sub(sent);
    ensure!(soon < timing.answer_timeout() / 2, "it waited for {soon:?}");
    let to_high = |seen: &Seen| {
        matches!(seen.message, Message::GeneratingToken { .. }) && seen.dst == stand.high.mac()
    };
    stand.high.expect(SLACK, to_high)?;
    let owner = stand.elect()?;
    ensure!(owner.author == stand.mac(), "{owner:?}");
    Ok(())
}

fn is_quiet_for_a_looser_timeout(stand: &Stand, since: Duration, mark: usize) -> Result<()> {
    let asked = stand.wait_from(mark, asks)?;
    assert_between(
        "being quiet",
        asked.at.saturating_sub(since),
        timing().looser_timeout(),
    )?;
    let between = stand
        .sent_from(mark)
        .into_iter()
        .filter(|seen| seen.at < asked.at);
    let noise = between
        .into_iter()
        .find(|seen| stands(seen) || is_claim(seen));
    ensure!(noise.is_none(), "it was not quiet: {noise:?}");
    Ok(())
}

fn a_looser_is_quiet_after_a_stronger_candidate() -> Result<()> {
    let stand = looser()?;
    // It counts from its question, and not from what it hears then.
    let (since, mark) = (stand.wait_from(0, asks)?.at, stand.mark());
    stand_for_election(&stand.low, 1)?;
    is_quiet_for_a_looser_timeout(&stand, since, mark)
}

fn a_candidate_gives_way_to_a_stronger_one() -> Result<()> {
    let (stand, _) = candidate()?;
    let (since, mark) = (now(), stand.mark());
    stand_for_election(&stand.low, 1)?;
    is_quiet_for_a_looser_timeout(&stand, since, mark)
}

fn a_candidate_answers_a_weaker_one_and_wins() -> Result<()> {
    let (stand, token) = candidate()?;
    stand_for_election(&stand.high, 1)?;
    let to_high = |seen: &Seen| seen.dst == stand.high.mac() && seen.message.token().is_some();
    let answer = stand.high.expect(SLACK, to_high)?;
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

fn a_candidate_gives_way_to_word_of_a_token() -> Result<()> {
    let (stand, _) = candidate()?;
    let (since, mark) = (now(), stand.mark());
    let token = stand.token_of(&stand.high, 50);
    let word = Message::TokenWasHereRecently {
        token,
        holder: stand.low.mac(),
    };
    stand.high.send(stand.mac(), &word)?;
    is_quiet_for_a_looser_timeout(&stand, since, mark)
}

fn a_candidate_has_one_more_than_the_strongest_token_known() -> Result<()> {
    let stand = looser()?;
    let future = u64::MAX / 4;
    let token = stand.token_of(&stand.high, future);
    let word = Message::TokenWasHereRecently {
        token,
        holder: stand.low.mac(),
    };
    stand.high.send(stand.mac(), &word)?;
    let seen = stand.wait_from(0, stands)?;
    ensure!(
        seen.message
            .token()
            .is_some_and(|it| it.progress == future + 1),
        "{seen:?}"
    );
    // It is ahead of the clock: nothing is raised.
    let owner = stand.elect()?;
    ensure!(owner.progress == future + 1, "{owner:?}");
    Ok(())
}

/// Elects the daemon once more after a restart, and gives both tokens.
fn elected_twice(between: impl FnOnce(&Stand) -> Result<()>) -> Result<(Token, Token)> {
    let mut stand = stand()?;
    let first = stand.elect()?;
    stand.daemon.kill()?;
    between(&stand)?;
    let mark = stand.mark();
    stand.daemon.start()?;
    let beat = stand.wait_from(mark, is_heartbeat)?;
    Ok((
        first,
        beat.message.token().context("a heartbeat has a token")?,
    ))
}

fn chains_are_numbered_on_after_a_restart() -> Result<()> {
    let (first, second) = elected_twice(|_| Ok(()))?;
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

fn fencing_numbers_grow_after_the_loss_of_the_state() -> Result<()> {
    let (first, second) = elected_twice(|stand| {
        std::fs::remove_dir_all(stand.daemon.state_dir()).context("cannot lose the state")
    })?;
    ensure!(
        second.progress > first.progress,
        "{second:?} after {first:?}"
    );
    Ok(())
}
