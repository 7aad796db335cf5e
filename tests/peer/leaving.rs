//! Behavior of a daemon that is asked to end.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{LONG_IDLE_HOLD, Message, Seen, Timing, token_is_here};

use super::passing::{expect_offer, is_offer, next_tenure, with_members, with_members_at};
use super::stand::{FLIGHT, Stand};

const HEARTBEAT: Duration = Duration::from_millis(100);

#[test]
fn an_ending_owner_hands_the_token_over_and_sends_leaving() -> Result<()> {
    let (stand, token) = with_members(LONG_IDLE_HOLD)?;
    stand.daemon.shut_down();
    let (_, offered) = expect_offer(&stand.high, FLIGHT)?;
    ensure!(offered == next_tenure(token), "{offered:?}");
    stand.high.send(stand.mac(), &token_is_here(offered));
    stand.daemon.wait_exit(FLIGHT)?;
    let last = stand
        .sent_from(0)
        .pop()
        .context("the daemon has sent frames")?;
    ensure!(
        last.message == Message::Leaving && last.is_broadcast(),
        "the daemon's last frame was {last:?}"
    );
    let again = stand
        .sent_from(0)
        .into_iter()
        .filter(|seen| seen.dst == stand.low.mac());
    let again = again.filter(is_offer).count();
    ensure!(
        again == 0,
        "the daemon offered the token again, although the member had taken it"
    );
    Ok(())
}

/// Returns constants with short attempts of a handover, because an ending owner has only a limited time for all
/// attempts.
fn short_handover_timing() -> Timing {
    Timing::tolerant(HEARTBEAT).idle_hold(LONG_IDLE_HOLD)
}

#[test]
fn an_ending_owner_sends_leaving_even_if_no_member_takes_the_token() -> Result<()> {
    let (stand, _) = with_members_at(short_handover_timing())?;
    let began = stand.now();
    stand.daemon.shut_down();
    let ended = stand.daemon.wait_exit(stand.patience())?;
    let took = ended.saturating_sub(began);
    let attempts = 2 * stand.timing.hand_over_timeout();
    ensure!(took == attempts, "the daemon ended after {took:?}");
    let sent = stand.sent_from(0);
    for peer in [&stand.high, &stand.low] {
        let count = sent
            .iter()
            .filter(|seen| is_offer(seen) && seen.dst == peer.mac())
            .count();
        ensure!(
            count == 3,
            "the daemon offered the token to {} {count} times",
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

#[test]
fn an_ending_waiter_sends_leaving() -> Result<()> {
    let stand = Stand::new(short_handover_timing());
    stand.follow()?;
    let mark = stand.mark();
    stand.daemon.shut_down();
    stand.daemon.wait_exit(Duration::ZERO)?;
    let sent = stand.sent_from(mark);
    let leaves = |seen: &Seen| seen.message == Message::Leaving && seen.is_broadcast();
    ensure!(sent.len() == 1 && leaves(&sent[0]), "{sent:?}");
    Ok(())
}
