//! How a WAITER behaves: what it answers, what it takes, and how long it is patient.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{
    Binaries, FOR_GOOD, MacAddr, Message, SLACK, Seen, Stand, Test, Timing, Token, binaries, holds,
    is_claim, is_heartbeat, offers, tests,
};

const BINARIES: Binaries = binaries!();
/// A peer has as long to give the daemon a token before that elects itself, twice over.
const HEARTBEAT: Duration = Duration::from_millis(300);

pub fn tests() -> Vec<Test> {
    tests![
        it_answers_where_is_token_with_what_it_knows,
        it_answers_generating_token_with_what_it_knows,
        it_answers_with_the_strongest_token_that_it_has_heard_of,
        it_takes_a_stronger_offer_and_acknowledges_in_time,
        it_broadcasts_if_no_heartbeat_was_heard_lately,
        a_passed_token_is_acknowledged_even_if_it_does_not_stay,
        it_refuses_an_offer_that_is_not_stronger,
        it_does_not_take_one_offer_twice,
        it_does_not_take_one_offer_again_after_its_lease,
        it_does_not_take_one_offer_again_after_a_restart,
        it_ignores_an_offer_to_everybody,
        it_is_patient_for_a_waiter_timeout,
        heartbeats_keep_it_waiting,
        heartbeats_that_came_while_it_was_stopped_keep_it_waiting,
        word_of_a_token_does_not_keep_it_waiting,
        it_takes_no_offer_that_waited_too_long,
        it_leaves_with_a_word,
    ]
}

fn timing() -> Timing {
    Timing::patient(HEARTBEAT).idle_hold(FOR_GOOD)
}

/// A WAITER with eternal time-outs, and the token that it follows.
fn settled() -> Result<(Stand, Token)> {
    let eternal = Timing::patient(Duration::from_secs(600)).idle_hold(FOR_GOOD);
    let stand = Stand::new(BINARIES, eternal)?;
    let token = stand.follow()?;
    Ok((stand, token))
}

/// Whether the daemon says something of a token.
fn tells(stand: &Stand, seen: &Seen) -> bool {
    seen.src == stand.mac() && seen.message.token().is_some()
}

fn answers(message: &Message) -> Result<()> {
    let (stand, token) = settled()?;
    stand.high.broadcast(message)?;
    let answer = stand.high.expect(SLACK, |seen| tells(&stand, seen))?;
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

fn it_answers_where_is_token_with_what_it_knows() -> Result<()> {
    answers(&Message::WhereIsToken)
}

fn it_answers_generating_token_with_what_it_knows() -> Result<()> {
    let author = MacAddr::new(2, 0, 0, 0, 0, 3);
    answers(&Message::GeneratingToken {
        token: Token {
            progress: 1,
            author,
            number: 1,
        },
    })
}

fn it_answers_with_the_strongest_token_that_it_has_heard_of() -> Result<()> {
    let (stand, token) = settled()?;
    let stronger = Token {
        progress: token.progress + 9,
        author: stand.high.mac(),
        number: 4,
    };
    let word = Message::TokenWasHereRecently {
        token: stronger,
        holder: stand.low.mac(),
    };
    stand.high.send(stand.mac(), &word)?;
    // A weaker one is no news.
    stand.low.broadcast(&holds(Token {
        progress: 3,
        ..token
    }))?;
    stand.high.send(stand.mac(), &Message::WhereIsToken)?;
    let answer = stand.high.expect(SLACK, |seen| tells(&stand, seen))?;
    ensure!(answer.message == word, "{answer:?}");
    Ok(())
}

fn it_takes_a_stronger_offer_and_acknowledges_in_time() -> Result<()> {
    let (stand, token) = settled()?;
    let mut offered = token;
    let mut delays = Vec::new();
    for _ in 0..9 {
        offered.progress += 1;
        let sent = stand.low.send(stand.mac(), &offers(offered))?;
        let ack = stand
            .low
            .expect(SLACK, |seen| seen.message.token() == Some(offered))?;
        ensure!(ack.dst == stand.low.mac(), "not by unicast: {ack:?}");
        ensure!(
            matches!(ack.message, Message::TokenIsHere { .. }),
            "{ack:?}"
        );
        delays.push(ack.at.saturating_sub(sent));
    }
    stand.wait_for_state("OWNER")?;
    // One in the middle, since a busy machine may be late for any.
    delays.sort_unstable();
    let least_patient = HEARTBEAT / 20 / 4;
    ensure!(
        delays[4] <= least_patient,
        "the acknowledgements took {delays:?}"
    );
    Ok(())
}

fn it_broadcasts_if_no_heartbeat_was_heard_lately() -> Result<()> {
    // Half of it is longer than a busy machine is late.
    let heartbeat = Duration::from_secs(2);
    let stand = Stand::new(BINARIES, Timing::patient(heartbeat).idle_hold(FOR_GOOD))?;
    let token = stand.follow()?;
    thread::sleep(heartbeat + heartbeat / 4);
    let offered = Token {
        progress: token.progress + 1,
        ..token
    };
    let mark = stand.mark();
    let sent = stand.low.send(stand.mac(), &offers(offered))?;
    let beat = stand.wait_from(mark, is_heartbeat)?;
    ensure!(beat.message.token() == Some(offered), "{beat:?}");
    let took = beat.at.saturating_sub(sent);
    ensure!(
        took < heartbeat / 2,
        "the broadcast came after {took:?}: not at once"
    );
    Ok(())
}

fn a_passed_token_is_acknowledged_even_if_it_does_not_stay() -> Result<()> {
    // Attempts that together last longer than `high` may be held up before it acknowledges one.
    let timing = Timing {
        take_timeout: HEARTBEAT,
        ..timing().idle_hold(Duration::ZERO)
    };
    let stand = Stand::new(BINARIES, timing)?;
    let token = stand.follow()?;
    stand.high.send(stand.mac(), &Message::WhereIsToken)?;
    let offered = Token {
        progress: token.progress + 1,
        ..token
    };
    let mark = stand.mark();
    let is_passed = |seen: &Seen| matches!(seen.message, Message::TakeToken { .. });
    let passed = stand.offer_until(&stand.low, &offers(offered), is_passed)?;
    ensure!(passed.dst == stand.high.mac(), "{passed:?}");
    let next = passed.message.token().context("an offer has a token")?;
    stand.high.send(stand.mac(), &holds(next))?;
    let ack = stand.wait_from(mark, |seen| {
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

fn it_refuses_an_offer_that_is_not_stronger() -> Result<()> {
    let (stand, token) = settled()?;
    for progress in [token.progress, token.progress - 1] {
        stand.low.forget()?;
        stand
            .low
            .send(stand.mac(), &offers(Token { progress, ..token }))?;
        let answer = stand.low.expect(SLACK, |seen| tells(&stand, seen))?;
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

fn it_does_not_take_one_offer_twice() -> Result<()> {
    let (stand, token) = settled()?;
    let offered = Token {
        progress: token.progress + 1,
        ..token
    };
    stand.low.send(stand.mac(), &offers(offered))?;
    stand.wait_for_state("OWNER")?;
    // It meets a stronger token, and then the old offer once more.
    let stronger = Token {
        progress: token.progress + 5,
        author: stand.high.mac(),
        number: 1,
    };
    stand.high.broadcast(&holds(stronger))?;
    stand.wait_for_state("WAITER")?;
    stand.low.forget()?;
    stand.low.send(stand.mac(), &offers(offered))?;
    let answer = stand.low.expect(SLACK, |seen| tells(&stand, seen))?;
    ensure!(
        matches!(answer.message, Message::TokenWasHereRecently { .. }),
        "{answer:?}"
    );
    stand.wait_for_state("WAITER")
}

/// The token that the daemon had is offered once more, by a late copy of the offer.
fn does_not_take_again(stand: &Stand, offered: Token) -> Result<()> {
    let mark = stand.mark();
    stand.low.send(stand.mac(), &offers(offered))?;
    // A holder acknowledges at once.
    stand.low.collect(HEARTBEAT / 2)?;
    let claims = |seen: &Seen| is_claim(seen) && seen.message.token() == Some(offered);
    // One of its own, after an election, is no such claim.
    let claim = stand.sent_from(mark).into_iter().find(claims);
    ensure!(
        claim.is_none(),
        "it took the token that it had lost: {claim:?}"
    );
    Ok(())
}

fn it_does_not_take_one_offer_again_after_its_lease() -> Result<()> {
    let stand = Stand::new(BINARIES, timing())?;
    let token = stand.give()?;
    stand.daemon.signal(Signal::SIGSTOP)?;
    thread::sleep(timing().waiter_timeout() + HEARTBEAT);
    let mark = stand.mark();
    stand.daemon.signal(Signal::SIGCONT)?;
    stand.wait_from(mark, |seen| seen.message == Message::WhereIsToken)?;
    does_not_take_again(&stand, token)
}

fn it_does_not_take_one_offer_again_after_a_restart() -> Result<()> {
    let mut stand = Stand::new(BINARIES, timing())?;
    let token = stand.give()?;
    stand.daemon.kill()?;
    let mark = stand.mark();
    stand.daemon.start()?;
    stand.wait_from(mark, |seen| seen.message == Message::WhereIsToken)?;
    does_not_take_again(&stand, token)
}

fn it_ignores_an_offer_to_everybody() -> Result<()> {
    let (stand, token) = settled()?;
    let mark = stand.mark();
    stand.low.broadcast(&offers(Token {
        progress: token.progress + 1,
        ..token
    }))?;
    stand.low.collect(Duration::from_millis(150))?;
    let sent = stand.sent_from(mark);
    ensure!(sent.is_empty(), "it answered: {sent:?}");
    stand.wait_for_state("WAITER")
}

fn it_is_patient_for_a_waiter_timeout() -> Result<()> {
    let stand = Stand::new(BINARIES, timing())?;
    stand.follow()?;
    let heard = stand
        .low
        .broadcast(&holds(stand.token_of(&stand.low, 2000)))?;
    let mark = stand.mark();
    let asks = |seen: &Seen| seen.message == Message::WhereIsToken && seen.is_broadcast();
    let asked = stand.wait_from(mark, asks)?.at.saturating_sub(heard);
    let patience = timing().waiter_timeout();
    ensure!(asked >= patience, "it asked after {asked:?}");
    ensure!(asked <= patience + SLACK, "it asked after {asked:?}");
    Ok(())
}

fn heartbeats_keep_it_waiting() -> Result<()> {
    let stand = Stand::new(BINARIES, timing())?;
    let token = stand.follow()?;
    let mark = stand.mark();
    for _ in 0..8 {
        thread::sleep(HEARTBEAT);
        stand.low.broadcast(&holds(token))?;
    }
    let asked = stand
        .sent_from(mark)
        .into_iter()
        .find(|it| it.message == Message::WhereIsToken);
    ensure!(asked.is_none(), "it asked: {asked:?}");
    Ok(())
}

fn late_wake_ups(status: &serde_json::Value) -> Option<u64> {
    status["counters"]["late_wake_ups"].as_u64()
}

/// Its patience has run out by its clock, but not by what lies in its socket.
fn heartbeats_that_came_while_it_was_stopped_keep_it_waiting() -> Result<()> {
    let stand = Stand::new(BINARIES, timing())?;
    let token = stand.follow()?;
    // A busy machine may have woken it late already.
    let before = late_wake_ups(&stand.daemon.status()?);
    let mark = stand.mark();
    stand.daemon.signal(Signal::SIGSTOP)?;
    thread::sleep(timing().waiter_timeout() + HEARTBEAT);
    stand.low.broadcast(&holds(token))?;
    stand.daemon.signal(Signal::SIGCONT)?;
    let late = |status: &serde_json::Value| late_wake_ups(status) > before;
    stand.daemon.wait_for_status(SLACK, late)?;
    let mut sent = stand.sent_from(mark).into_iter();
    let asked = sent.find(|seen| seen.message == Message::WhereIsToken);
    ensure!(asked.is_none(), "it acted on its own lateness: {asked:?}");
    stand.wait_for_state("WAITER")
}

/// Only TOKEN_IS_HERE and hand-overs say that the token is alive.
fn word_of_a_token_does_not_keep_it_waiting() -> Result<()> {
    let stand = Stand::new(BINARIES, timing())?;
    let token = stand.follow()?;
    let mark = stand.mark();
    let word = Message::TokenWasHereRecently {
        token,
        holder: stand.low.mac(),
    };
    let rounds = (timing().waiter_timeout() + SLACK).as_millis() / HEARTBEAT.as_millis();
    for _ in 0..rounds {
        stand.high.send(stand.mac(), &word)?;
        thread::sleep(HEARTBEAT);
    }
    stand.wait_from(mark, |seen| seen.message == Message::WhereIsToken)?;
    Ok(())
}

fn it_takes_no_offer_that_waited_too_long() -> Result<()> {
    let stand = Stand::new(BINARIES, timing())?;
    let token = stand.follow()?;
    stand.low.broadcast(&holds(token))?;
    let mark = stand.mark();
    stand.daemon.signal(Signal::SIGSTOP)?;
    let offered = Token {
        progress: token.progress + 1,
        ..token
    };
    stand.low.send(stand.mac(), &offers(offered))?;
    // Longer than a giver waits, and shorter than the daemon's patience.
    thread::sleep(timing().hand_over_timeout() + HEARTBEAT / 4);
    stand.daemon.signal(Signal::SIGCONT)?;
    let dropped = |status: &serde_json::Value| status["counters"]["dropped"]["stale_offer"] == 1;
    stand.daemon.wait_for_status(SLACK, dropped)?;
    let claim = stand.sent_from(mark).into_iter().find(is_claim);
    ensure!(claim.is_none(), "it took an offer that was over: {claim:?}");
    Ok(())
}

fn it_leaves_with_a_word() -> Result<()> {
    let (mut stand, _) = settled()?;
    let mark = stand.mark();
    stand.daemon.signal(Signal::SIGTERM)?;
    let status = stand.daemon.wait_exit(stand.patience())?;
    ensure!(status.code() == Some(0), "it ended with {status}");
    let sent = stand.sent_from(mark);
    let leaves = |seen: &Seen| seen.message == Message::Leaving && seen.is_broadcast();
    ensure!(sent.len() == 1 && leaves(&sent[0]), "{sent:?}");
    Ok(())
}
