//! Rings whose members die, stop, are cut off and return.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::invariants::{check_one_owner, owner_changes, tenures};
use ring_segment::{
    Case, LONG_IDLE_HOLD, Layout, Message, Ring, SLACK, Seen, Segment, Test, Timing, WAIT_LIMIT,
    binaries, is_claim, is_heartbeat, now, side_by_side, tests,
};

const HEARTBEAT: Duration = Duration::from_millis(100);

pub(super) fn tests() -> Vec<Test> {
    tests![
        exclusive a_killed_owner_is_replaced_in_time,
        exclusive an_owner_that_is_stopped_cut_off_or_without_carrier_is_replaced_in_time,
        a_killed_owner_comes_back_as_a_member,
        a_killed_member_is_skipped,
        an_owner_that_was_stopped_does_not_use_its_old_token,
        a_member_that_was_stopped_during_rotation_does_not_continue_with_an_old_token,
        two_rings_merge_and_the_weaker_token_is_destroyed,
        two_halves_of_a_ring_merge,
        an_owner_without_carrier_gives_up_and_rejoins,
    ]
}

/// Returns constants that make a stall of half a second harmless.
fn timing() -> Timing {
    Timing::stall_tolerant(HEARTBEAT)
}

/// Returns shorter constants, for tests that wait until the ring has settled and for exclusive tests.
fn short_timing() -> Timing {
    Timing::tolerant(HEARTBEAT)
}

/// Forms a ring whose token rests. Returns the ring and the owner's index.
fn with_resting_token(segment: Segment) -> Result<(Ring, usize)> {
    form_resting(segment, timing())
}

fn form_resting(segment: Segment, timing: Timing) -> Result<(Ring, usize)> {
    let count = segment.nodes().len();
    let ring = Ring::start(segment, count, timing.idle_hold(LONG_IDLE_HOLD), binaries())?;
    ring.wait_until_formed()?;
    let owner = ring.owner()?;
    Ok((ring, owner))
}

fn with_rotating_token(count: usize, timing: Timing) -> Result<Ring> {
    let segment = Layout::new(count).addresses().bridge()?;
    let ring = Ring::start(segment, count, timing, binaries())?;
    ring.wait_until_formed()?;
    Ok(ring)
}

/// Waits for a heartbeat of any node except `former`, and returns the frame. Only an exclusive test may judge the time
/// of the frame.
fn wait_for_successor(ring: &Ring, mark: usize, former: usize) -> Result<Seen> {
    ring.segment.capture().wait_from(mark, WAIT_LIMIT, |seen| {
        seen.port != former && is_heartbeat(seen)
    })
}

fn a_killed_owner_is_replaced_in_time() -> Result<()> {
    let (mut ring, owner) = with_resting_token(Segment::bridge(3)?)?;
    let mark = ring.segment.capture().mark();
    let killed = now();
    ring.daemons[owner].kill()?;
    let heartbeat = wait_for_successor(&ring, mark, owner)?;
    let took = heartbeat.at.saturating_sub(killed);
    ensure!(
        took <= timing().new_owner_bound() + SLACK,
        "it took {took:?}"
    );
    // The members wait until the old owner's timeout has passed.
    let patience = timing().waiter_timeout().saturating_sub(HEARTBEAT);
    ensure!(
        took >= patience,
        "the members replaced the owner after {took:?}"
    );
    ring.wait_for_one_owner_in_time(killed)?;
    // An election needs O(n) broadcasts: each member asks for the token and stands for election, and the winner claims
    // the token.
    let broadcasts = ring
        .segment
        .capture()
        .frames_from(mark)
        .into_iter()
        .filter(|seen| seen.is_broadcast() && seen.at <= heartbeat.at);
    let broadcasts = broadcasts.count();
    ensure!(
        broadcasts <= 5 * 3,
        "{broadcasts} broadcasts for an election among two"
    );
    ring.check()
}

/// When the fault ends, the parts of the ring merge in time. Three rings run in parallel, so that their waits overlap.
fn an_owner_that_is_stopped_cut_off_or_without_carrier_is_replaced_in_time() -> Result<()> {
    let cases: [Case; 3] = [
        ("stopped", || {
            check_replaced_in_time(
                |ring, owner| ring.daemons[owner].signal(Signal::SIGSTOP),
                |ring, owner| ring.daemons[owner].signal(Signal::SIGCONT),
            )
        }),
        ("cut off", || {
            check_replaced_in_time(
                |ring, owner| ring.segment.cut(owner),
                |ring, owner| ring.segment.heal(owner),
            )
        }),
        ("without carrier", || {
            check_replaced_in_time(
                |ring, owner| ring.segment.lose_carrier(owner),
                |ring, owner| {
                    ring.segment.regain_carrier(owner)?;
                    ring.segment.wait_for_link(owner)
                },
            )
        }),
    ];
    side_by_side(&cases)
}

type Change = fn(&Ring, usize) -> Result<()>;

fn check_replaced_in_time(begin: Change, end: Change) -> Result<()> {
    let segment = Layout::new(3).addresses().bridge()?;
    let (ring, owner) = form_resting(segment, short_timing())?;
    let (mark, at) = (ring.segment.capture().mark(), now());
    begin(&ring, owner)?;
    let heartbeat = wait_for_successor(&ring, mark, owner)?;
    let took = heartbeat.at.saturating_sub(at);
    ensure!(
        took <= short_timing().new_owner_bound() + SLACK,
        "it took {took:?}"
    );
    end(&ring, owner)?;
    ring.wait_for_one_owner_in_time(now())?;
    ring.wait_for_equal_tables_in_time()?;
    ring.check()
}

fn a_killed_owner_comes_back_as_a_member() -> Result<()> {
    let (mut ring, owner) = with_resting_token(Layout::new(3).addresses().bridge()?)?;
    let mark = ring.segment.capture().mark();
    ring.daemons[owner].kill()?;
    wait_for_successor(&ring, mark, owner)?;
    let back = now();
    ring.daemons[owner].start()?;
    let from = ring.wait_for_one_owner(back)?;
    ring.wait_for_equal_tables()?;
    let own = ring
        .frames_since(from)
        .into_iter()
        .find(|seen| seen.port == owner && is_claim(seen));
    ensure!(own.is_none(), "the owner used its old token again: {own:?}");
    ring.check()
}

fn a_killed_member_is_skipped() -> Result<()> {
    let mut ring = with_rotating_token(4, timing())?;
    let dead = ring
        .daemons
        .pop()
        .context("there are four daemons")?
        .node()
        .mac();
    // If the killed member had the token, the ring elects a new owner first.
    thread::sleep(timing().new_owner_bound());
    let from = ring.wait_for_one_owner(now())?;
    let mark = ring.segment.capture().mark();
    let turns = |frames: &[Seen]| (tenures(&frames[mark..]).len() > 40).then_some(());
    ring.segment.capture().wait_until(WAIT_LIMIT, turns)?;
    // The penalty of the dead member doubles, so owners try it only a few times, with three attempts each.
    let frames = ring.segment.capture().frames_from(mark);
    let tried = frames
        .iter()
        .filter(|seen| seen.dst == dead && is_claim(seen))
        .count();
    ensure!(
        tried <= 3 * 6,
        "a dead member got {tried} offers in 40 turns"
    );
    check_one_owner(&ring.segment.capture().frames(), from)?;
    ring.check()
}

fn an_owner_that_was_stopped_does_not_use_its_old_token() -> Result<()> {
    let (ring, owner) = with_resting_token(Segment::bridge(3)?)?;
    let mark = ring.segment.capture().mark();
    ring.daemons[owner].signal(Signal::SIGSTOP)?;
    let successor = wait_for_successor(&ring, mark, owner)?;
    let newer = successor
        .message
        .token()
        .context("a heartbeat has a token")?;
    ring.wait_for_one_owner(successor.at)?;
    let woken = now();
    ring.daemons[owner].signal(Signal::SIGCONT)?;
    thread::sleep(2 * timing().waiter_timeout());
    let claims: Vec<Seen> = ring
        .frames_since(woken)
        .into_iter()
        .filter(is_claim)
        .collect();
    let old = claims
        .iter()
        .find(|seen| seen.message.token().is_some_and(|it| newer.beats(&it)));
    ensure!(
        old.is_none(),
        "the owner continued with its old token after a stop: {old:?}"
    );
    check_one_owner(&ring.segment.capture().frames(), woken)?;
    ring.daemons[owner].wait_for_status(WAIT_LIMIT, |status| status["state"] == "WAITER")?;
    ring.check()
}

fn a_member_that_was_stopped_during_rotation_does_not_continue_with_an_old_token() -> Result<()> {
    let ring = with_rotating_token(3, short_timing())?;
    for place in [0, 1, 2, 0, 1, 2] {
        let stopped = &ring.daemons[place];
        stopped.signal(Signal::SIGSTOP)?;
        thread::sleep(short_timing().new_owner_bound());
        ring.wait_for_one_owner(now())?;
        let woken = now();
        stopped.signal(Signal::SIGCONT)?;
        ring.wait_for_one_owner(woken)?;
        // An offer may be waiting for the stopped member. The test ignores frames before this time.
        let limit = woken.saturating_sub(short_timing().take_timeout);
        let claims: Vec<Seen> = ring
            .frames_since(Duration::ZERO)
            .into_iter()
            .filter(is_claim)
            .collect();
        let progress = |seen: &Seen| seen.message.token().map(|token| token.progress);
        let before = claims
            .iter()
            .filter(|seen| seen.at < limit)
            .filter_map(progress)
            .max();
        let after = claims
            .iter()
            .filter(|seen| seen.port == place && seen.at >= woken);
        let old = after.clone().find(|seen| progress(seen) < before);
        ensure!(
            old.is_none(),
            "the member continued with an old token after a stop: {old:?}"
        );
    }
    ring.check()
}

fn two_rings_merge_and_the_weaker_token_is_destroyed() -> Result<()> {
    let (ring, owner) = with_resting_token(Layout::new(3).addresses().bridge()?)?;
    let mark = ring.segment.capture().mark();
    ring.segment.cut(owner)?;
    // Both sides have an owner, because the isolated node has elected itself.
    let elected = wait_for_successor(&ring, mark, owner)?;
    let newer = elected.message.token().context("a heartbeat has a token")?;
    let from = ring.segment.capture().mark();
    let own = |seen: &Seen| seen.port == owner && is_heartbeat(seen);
    let older = ring
        .segment
        .capture()
        .wait_from(from, WAIT_LIMIT, own)?
        .message
        .token();
    let older = older.context("a heartbeat has a token")?;
    let healed = now();
    ring.segment.heal(owner)?;
    let settled = ring.wait_for_one_owner(healed)?;
    let weaker = if newer.beats(&older) { older } else { newer };
    let alive = ring.frames_since(settled).into_iter().find(|seen| {
        is_claim(seen)
            && seen
                .message
                .token()
                .is_some_and(|it| it.chain() == weaker.chain())
    });
    ensure!(alive.is_none(), "the weaker token lives on: {alive:?}");
    ring.wait_for_equal_tables()?;
    ring.check()
}

fn two_halves_of_a_ring_merge() -> Result<()> {
    let segment = Layout::new(4).addresses().switch(11)?;
    let ring = Ring::start(segment, 4, short_timing(), binaries())?;
    ring.wait_until_formed()?;
    ring.segment
        .rules()
        .set(|rules| rules.partition = vec![0, 0, 1, 1]);
    let apart = now();
    let both = |frames: &[Seen]| {
        let owners = owner_changes(frames, apart + short_timing().new_owner_bound());
        let claims = |mac| owners.iter().any(|(_, owner)| *owner == mac);
        ring.macs().into_iter().all(claims).then_some(())
    };
    // Each half has a token that moves.
    ring.segment.capture().wait_until(WAIT_LIMIT, both)?;
    ring.segment
        .rules()
        .set(|rules| rules.partition = vec![0; 4]);
    ring.wait_for_one_owner(now())?;
    ring.wait_for_equal_tables()?;
    ring.check()
}

fn an_owner_without_carrier_gives_up_and_rejoins() -> Result<()> {
    let (ring, owner) = with_resting_token(Segment::bridge(3)?)?;
    let mark = ring.segment.capture().mark();
    ring.segment.lose_carrier(owner)?;
    wait_for_successor(&ring, mark, owner)?;
    ring.daemons[owner].wait_for_status(WAIT_LIMIT, |status| status["state"] == "LOOSER")?;
    let back = now();
    ring.segment.regain_carrier(owner)?;
    ring.segment.wait_for_link(owner)?;
    ring.wait_for_one_owner(back)?;
    let asks = |seen: &Seen| seen.port == owner && seen.message == Message::WhereIsToken;
    let has_asked = ring.frames_since(back).into_iter().any(|seen| asks(&seen));
    ensure!(
        has_asked,
        "the node did not ask for the token when its link came up"
    );
    ring.daemons[owner].wait_for_status(WAIT_LIMIT, |status| status["state"] == "WAITER")?;
    ring.check()
}
