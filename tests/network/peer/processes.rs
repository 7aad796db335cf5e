//! A process that is stopped, killed, restarted and asked to end.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{
    Digest, LONG_IDLE_HOLD, MacAddr, Member, Message, PATIENCE, Seen, Stand, Test, Timing, Token,
    binaries, is_claim, is_heartbeat, take_token, tests, token_is_here,
};
use serde_json::Value;

/// Until the daemon elects itself, a peer has twice the time that it needs to hand over a token.
const HEARTBEAT: Duration = Duration::from_millis(300);

pub(super) fn tests() -> Vec<Test> {
    tests![
        heartbeats_that_came_while_it_was_stopped_keep_it_waiting,
        it_takes_no_offer_that_waited_too_long,
        chains_are_numbered_on_after_a_restart,
        a_waiter_leaves_with_a_word,
        an_ending_owner_hands_over_and_leaves,
        an_ending_owner_with_too_many_dead_members_to_try_says_leaving,
    ]
}

fn timing() -> Timing {
    Timing::tolerant(HEARTBEAT).idle_hold(LONG_IDLE_HOLD)
}

fn stand() -> Result<Stand> {
    Stand::new(binaries(), timing())
}

fn late_wake_ups(status: &Value) -> Option<u64> {
    status["counters"]["late_wake_ups"].as_u64()
}

/// The timeout has expired by the clock, but the socket contains newer heartbeats.
fn heartbeats_that_came_while_it_was_stopped_keep_it_waiting() -> Result<()> {
    let stand = stand()?;
    let token = stand.follow()?;
    // A busy machine may already have woken it late.
    let before = late_wake_ups(&stand.daemon.status()?);
    let mark = stand.mark();
    stand.daemon.signal(Signal::SIGSTOP)?;
    thread::sleep(timing().waiter_timeout() + HEARTBEAT);
    stand.low.broadcast(&token_is_here(token))?;
    stand.daemon.signal(Signal::SIGCONT)?;
    let late = |status: &Value| late_wake_ups(status) > before;
    stand.daemon.wait_for_status(PATIENCE, late)?;
    let mut sent = stand.sent_from(mark).into_iter();
    let asked = sent.find(|seen| seen.message == Message::WhereIsToken);
    ensure!(
        asked.is_none(),
        "the daemon did not read the waiting heartbeats: {asked:?}"
    );
    stand.wait_for_state("WAITER")
}

fn it_takes_no_offer_that_waited_too_long() -> Result<()> {
    let stand = stand()?;
    let token = stand.follow()?;
    stand.low.broadcast(&token_is_here(token))?;
    let mark = stand.mark();
    stand.daemon.signal(Signal::SIGSTOP)?;
    let offered = Token {
        progress: token.progress + 1,
        ..token
    };
    stand.low.send(stand.mac(), &take_token(offered))?;
    // Longer than a giver waits, and shorter than the daemon's timeout.
    thread::sleep(timing().hand_over_timeout() + HEARTBEAT / 4);
    stand.daemon.signal(Signal::SIGCONT)?;
    let dropped = |status: &Value| status["counters"]["dropped"]["stale_offer"] == 1;
    stand.daemon.wait_for_status(PATIENCE, dropped)?;
    let claim = stand.sent_from(mark).into_iter().find(is_claim);
    ensure!(
        claim.is_none(),
        "the daemon took an expired offer: {claim:?}"
    );
    Ok(())
}

/// It reads the number from its state file.
fn chains_are_numbered_on_after_a_restart() -> Result<()> {
    let mut stand = stand()?;
    let first = stand.elect()?;
    stand.daemon.kill()?;
    let mark = stand.mark();
    stand.daemon.start()?;
    let beat = stand.wait_from(mark, is_heartbeat)?;
    let second = beat.message.token().context("a heartbeat has a token")?;
    ensure!(
        second.number == first.number + 1 && second.progress > first.progress,
        "{second:?} after {first:?}"
    );
    Ok(())
}

/// Makes a stand whose daemon holds a token and knows both peers.
fn with_members(timing: Timing) -> Result<(Stand, Token)> {
    let stand = Stand::new(binaries(), timing)?;
    stand.wait_from(0, |seen| seen.message == Message::WhereIsToken)?;
    stand.high.send(stand.mac(), &Message::WhereIsToken)?;
    let token = stand.give()?;
    Ok((stand, token))
}

/// Sends the daemon a signal that asks it to end, runs `meanwhile`, and checks its exit.
fn check_exit(
    stand: &mut Stand,
    signal: Signal,
    meanwhile: impl FnOnce(&Stand) -> Result<()>,
) -> Result<()> {
    stand.daemon.signal(signal)?;
    meanwhile(stand)?;
    let status = stand.daemon.wait_exit(PATIENCE)?;
    ensure!(status.code() == Some(0), "the daemon exited with {status}");
    let last = stand
        .sent_from(0)
        .pop()
        .context("the daemon has sent frames")?;
    ensure!(
        last.message == Message::Leaving && last.is_broadcast(),
        "its last frame was {last:?}"
    );
    Ok(())
}

fn a_waiter_leaves_with_a_word() -> Result<()> {
    // Only the signal makes it send frames.
    let eternal = Timing::tolerant(Duration::from_secs(600)).idle_hold(LONG_IDLE_HOLD);
    let mut stand = Stand::new(binaries(), eternal)?;
    stand.follow()?;
    let mark = stand.mark();
    stand.daemon.signal(Signal::SIGTERM)?;
    let status = stand.daemon.wait_exit(PATIENCE)?;
    ensure!(status.code() == Some(0), "the daemon exited with {status}");
    let sent = stand.sent_from(mark);
    let leaves = |seen: &Seen| seen.message == Message::Leaving && seen.is_broadcast();
    ensure!(sent.len() == 1 && leaves(&sent[0]), "{sent:?}");
    Ok(())
}

fn an_ending_owner_hands_over_and_leaves() -> Result<()> {
    // All attempts together take longer than a peer's acknowledgement may be delayed.
    let timing = Timing {
        take_timeout: HEARTBEAT,
        ..timing()
    };
    let (mut stand, token) = with_members(timing)?;
    check_exit(&mut stand, Signal::SIGINT, |stand| {
        let offer = stand.high.expect(PATIENCE, |seen| {
            matches!(seen.message, Message::TakeToken { .. })
        })?;
        let offered = offer.message.token().context("an offer has a token")?;
        ensure!(offered.progress == token.progress + 1, "{offer:?}");
        stand.high.send(stand.mac(), &token_is_here(offered))?;
        Ok(())
    })
}

/// The ending daemon makes the attempts that its state machine would make later.
fn an_ending_owner_with_too_many_dead_members_to_try_says_leaving() -> Result<()> {
    let (mut stand, _) = with_members(timing())?;
    let dead = |last| Member {
        mac: MacAddr::new(6, 0, 0, 0, 0, last),
        ip: [0; 16],
    };
    let message = Message::RingMembers {
        digest: Digest { size: 0, hash: 0 },
        members: (0..60).map(dead).collect(),
    };
    stand.high.send(stand.mac(), &message)?;
    stand.high.expect(PATIENCE, |seen| {
        matches!(seen.message, Message::RingMembers { .. })
    })?;
    check_exit(&mut stand, Signal::SIGTERM, |_| Ok(()))
}
