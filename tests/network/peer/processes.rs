//! A process that is stopped, killed, restarted and asked to end.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{
    Digest, LONG_IDLE_HOLD, MacAddr, Member, Message, Stand, Test, Timing, Token, WAIT_LIMIT,
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
    stand.daemon.wait_for_status(WAIT_LIMIT, late)?;
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
    stand.daemon.wait_for_status(WAIT_LIMIT, dropped)?;
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

/// The ending daemon makes the attempts that its state machine would make later.
fn an_ending_owner_with_too_many_dead_members_to_try_says_leaving() -> Result<()> {
    let mut stand = stand()?;
    stand.wait_from(0, |seen| seen.message == Message::WhereIsToken)?;
    stand.high.send(stand.mac(), &Message::WhereIsToken)?;
    stand.give()?;
    let dead = |last| Member {
        mac: MacAddr::new(6, 0, 0, 0, 0, last),
        ip: [0; 16],
    };
    let message = Message::RingMembers {
        digest: Digest { size: 0, hash: 0 },
        members: (0..60).map(dead).collect(),
    };
    stand.high.send(stand.mac(), &message)?;
    stand.high.expect(WAIT_LIMIT, |seen| {
        matches!(seen.message, Message::RingMembers { .. })
    })?;
    stand.daemon.signal(Signal::SIGTERM)?;
    let status = stand.daemon.wait_exit(WAIT_LIMIT)?;
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
