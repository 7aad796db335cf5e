//! Rings whose daemons die while their guardians live.

use std::thread;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use nix::sys::signal::Signal;
use ring_segment::{
    KeyFiles, LONG_IDLE_HOLD, Layout, Message, Ring, Ringd, Seen, Segment, Test, Timing,
    WAIT_LIMIT, binaries, is_claim, is_heartbeat, now, tests,
};

use crate::locks::Client;

/// The time in which a daemon handles the answers to its heartbeat.
const SETTLE_TIME: Duration = Duration::from_millis(50);

pub(super) fn tests() -> Vec<Test> {
    // A stall of a daemon may end its lease.
    let tests = tests![
        the_guardian_of_a_crashed_owner_hands_the_token_over,
        the_guardian_signs_like_its_daemon,
        the_guardian_of_a_crashed_member_sends_leaving,
        the_guardian_of_a_working_owner_sends_nothing,
        the_guardian_offers_no_token_after_the_lease,
        a_crashed_daemon_is_started_again_at_once,
    ];
    tests.into_iter().map(Test::without_stalls).collect()
}

/// Returns constants with which the members notice the silence of an owner only after 3 s.
fn slow_timing() -> Timing {
    Timing::stall_tolerant(Duration::from_millis(250)).idle_hold(LONG_IDLE_HOLD)
}

pub(super) fn quick_timing() -> Timing {
    Timing::stall_tolerant(Duration::from_millis(100)).idle_hold(LONG_IDLE_HOLD)
}

pub(super) fn form(
    timing: Timing,
    options: impl Fn(Ringd) -> Ringd + Send + Sync + 'static,
) -> Result<(Ring, usize)> {
    let segment = Layout::new(3).addresses().bridge()?;
    let ring = Ring::start_with(segment, 3, timing, binaries(), options)?;
    ring.wait_until_formed()?;
    let owner = ring.owner()?;
    Ok((ring, owner))
}

/// Waits until a daemon has handled all input. It has just sent a heartbeat, so no input follows for some time.
pub(super) fn wait_until_idle(ring: &Ring, owner: usize) -> Result<()> {
    let capture = ring.segment.capture();
    let own = |seen: &Seen| seen.port == owner && is_heartbeat(seen);
    capture.wait_from(capture.mark(), WAIT_LIMIT, own)?;
    thread::sleep(SETTLE_TIME);
    Ok(())
}

/// Returns the frames of a node since a mark.
pub(super) fn frames_of(ring: &Ring, mark: usize, node: usize) -> Vec<Seen> {
    let frames = ring.segment.capture().frames_from(mark);
    frames.into_iter().filter(|it| it.port == node).collect()
}

/// Kills the daemon of the owner, and checks that its guardian hands the token over. Then starts the daemon again.
fn check_handed_over(ring: &mut Ring, owner: usize) -> Result<()> {
    wait_until_idle(ring, owner)?;
    let mark = ring.segment.capture().mark();
    let killed = now();
    ring.daemons[owner].crash()?;
    let taken = ring.segment.capture().wait_from(mark, WAIT_LIMIT, |seen| {
        seen.port != owner && matches!(seen.message, Message::TokenIsHere { .. })
    })?;
    let took = taken.at.saturating_sub(killed);
    println!("the next owner answered {took:?} after the kill");
    // Without the guardian, it would take a whole WAITER_TIMEOUT.
    ensure!(
        took < slow_timing().waiter_timeout() / 2,
        "it took {took:?}"
    );
    let is_leaving = |seen: &Seen| seen.port == owner && seen.message == Message::Leaving;
    let capture = ring.segment.capture();
    capture.wait_from(mark, WAIT_LIMIT, is_leaving)?;
    let last: Vec<Seen> = frames_of(ring, mark, owner);
    let Some((leaving, offers)) = last.split_last() else {
        bail!("the guardian sent nothing");
    };
    ensure!(is_leaving(leaving), "{leaving:?} came last");
    let held = taken.message.token();
    let is_offer = |seen: &Seen| {
        matches!(seen.message, Message::TakeToken { .. }) && seen.message.token() == held
    };
    ensure!(
        offers.len() == 3 && offers.iter().all(is_offer),
        "{held:?} was taken, and {offers:?} sent"
    );
    ring.daemons[owner].start()?;
    ring.wait_for_one_owner(now())?;
    ring.wait_for_equal_tables()
}

fn the_guardian_of_a_crashed_owner_hands_the_token_over() -> Result<()> {
    let (mut ring, owner) = form(slow_timing(), |ringd| ringd)?;
    check_handed_over(&mut ring, owner)?;
    let next = ring.owner()?;
    ensure!(next != owner, "the restarted node owns the token");
    check_handed_over(&mut ring, next)?;
    ring.check()
}

fn the_guardian_signs_like_its_daemon() -> Result<()> {
    let files = KeyFiles::with_keys("ring", &[1])?;
    let (mut ring, owner) = form(slow_timing(), move |ringd| files.add_to(ringd))?;
    check_handed_over(&mut ring, owner)?;
    ring.check()
}

fn the_guardian_of_a_crashed_member_sends_leaving() -> Result<()> {
    let (mut ring, owner) = form(slow_timing(), |ringd| ringd)?;
    let (member, other) = ((owner + 1) % 3, (owner + 2) % 3);
    let mac = ring.daemons[member].node().mac().to_string();
    wait_until_idle(&ring, owner)?;
    ring.daemons[member].crash()?;
    for at in [owner, other] {
        ring.daemons[at].wait_for_status(WAIT_LIMIT, |status| {
            let members = status["members"].as_array();
            members.is_some_and(|members| {
                let mut members = members.iter();
                members.any(|it| it["mac"] == mac.as_str() && it["state"] == "left")
            })
        })?;
    }
    ring.daemons[member].start()?;
    ring.wait_for_equal_tables()?;
    ring.check()
}

/// The program may work until the end of its lease. It has no life line, so the guardian does not learn of its end.
fn the_guardian_of_a_working_owner_sends_nothing() -> Result<()> {
    let (mut ring, owner) = form(quick_timing(), |ringd| ringd)?;
    let mut client = Client::connect(&ring.daemons[owner].control())?;
    client.lock("works")?;
    client.expect("granted")?;
    let (mark, killed) = (ring.segment.capture().mark(), now());
    ring.daemons[owner].crash()?;
    let heartbeat = ring.segment.capture().wait_from(mark, WAIT_LIMIT, |seen| {
        seen.port != owner && is_heartbeat(seen)
    })?;
    let took = heartbeat.at.saturating_sub(killed);
    let silence = quick_timing().waiter_timeout() - quick_timing().heartbeat;
    ensure!(took >= silence, "the owner was replaced after {took:?}");
    let sent = frames_of(&ring, mark, owner);
    let last = sent.iter().find(|seen| seen.at > killed);
    ensure!(last.is_none(), "the guardian sent {last:?}");
    Ok(())
}

fn the_guardian_offers_no_token_after_the_lease() -> Result<()> {
    let (mut ring, owner) = form(quick_timing(), |ringd| ringd)?;
    wait_until_idle(&ring, owner)?;
    let mark = ring.segment.capture().mark();
    ring.daemons[owner].signal(Signal::SIGSTOP)?;
    ring.segment.capture().wait_from(mark, WAIT_LIMIT, |seen| {
        seen.port != owner && is_heartbeat(seen)
    })?;
    let mark = ring.segment.capture().mark();
    ring.daemons[owner].crash()?;
    let capture = ring.segment.capture();
    let leaving = |seen: &Seen| seen.port == owner && seen.message == Message::Leaving;
    capture.wait_from(mark, WAIT_LIMIT, leaving)?;
    let claim = frames_of(&ring, mark, owner).into_iter().find(is_claim);
    ensure!(claim.is_none(), "the guardian sent {claim:?}");
    ring.check()
}

/// The guardian keeps the lock of the ring, but only until it has sent its frames.
fn a_crashed_daemon_is_started_again_at_once() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let mut daemon = segment.node(0).ringd(binaries()).spawn()?;
    for _ in 0..5 {
        daemon.wait_for_status(WAIT_LIMIT, |_| true)?;
        daemon.crash()?;
        daemon.start()?;
    }
    daemon.wait_for_status(WAIT_LIMIT, |_| true)?;
    Ok(())
}
