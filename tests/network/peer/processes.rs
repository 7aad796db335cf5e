//! A daemon process that is stopped, killed, restarted or asked to end.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{
    Digest, LONG_IDLE_HOLD, MacAddr, Member, Message, Stand, Test, Timing, Token, WAIT_LIMIT,
    binaries, is_claim, is_heartbeat, take_token, tests, token_is_here,
};
use serde_json::Value;

/// Period of heartbeats. The period is so long that a peer has twice the handover time before the daemon elects itself.
const HEARTBEAT: Duration = Duration::from_millis(300);

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_waiter_that_was_stopped_handles_waiting_heartbeats_before_its_timeout,
        a_waiter_takes_no_offer_that_has_waited_for_too_long,
        the_numbers_of_chains_continue_after_a_restart,
        an_ending_owner_with_too_many_dead_members_sends_leaving,
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

/// The clock shows that the timeout has expired, but the socket contains newer heartbeats.
fn a_waiter_that_was_stopped_handles_waiting_heartbeats_before_its_timeout() -> Result<()> {
    let stand = stand()?;
    let token = stand.follow()?;
    // On a busy machine, the daemon may already have been late before the stop.
    let before = late_wake_ups(&stand.daemon.status()?);
    let mark = stand.mark();
    stand.daemon.signal(Signal::SIGSTOP)?;
    thread::sleep(timing().waiter_timeout() + HEARTBEAT);
    stand.low.broadcast(&token_is_here(token))?;
    stand.daemon.signal(Signal::SIGCONT)?;
    let late = |status: &Value| late_wake_ups(status) > before;
    stand.daemon.wait_for_status(WAIT_LIMIT, late)?;
    let mut sent = stand.sent_from(mark).into_iter();
    let question = sent.find(|seen| seen.message == Message::WhereIsToken);
    ensure!(
        question.is_none(),
        "the daemon did not read the waiting heartbeats: {question:?}"
    );
    stand.wait_for_state("WAITER")
}

fn a_waiter_takes_no_offer_that_has_waited_for_too_long() -> Result<()> {
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
    // The stop is longer than a giver waits, and shorter than the daemon's timeout.
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

/// The daemon reads the last number from its state file.
fn the_numbers_of_chains_continue_after_a_restart() -> Result<()> {
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

/// The state machine would make the attempts of this handover one by one. An ending daemon makes all attempts at once.
fn an_ending_owner_with_too_many_dead_members_sends_leaving() -> Result<()> {
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
        "the daemon's last frame was {last:?}"
    );
    Ok(())
}
