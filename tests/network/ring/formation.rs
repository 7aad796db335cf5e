//! Rings that form, grow, rotate and restart. The tests judge the frames of the rings.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::Signal;
use ring_segment::invariants::{
    check_all, check_fair_rotation, check_one_owner, owner_changes, tenures,
};
use ring_segment::{
    LONG_IDLE_HOLD, Layout, MacAddr, Message, Ring, Seen, Segment, SharedRing, Test, Timing,
    WAIT_LIMIT, binaries, is_claim, is_heartbeat, now, tests,
};

const HEARTBEAT: Duration = Duration::from_millis(100);
/// Maximum number of windows. A busy machine may disturb some of these windows.
const WINDOWS_MAX: usize = 6;

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_ring_of_two_has_one_owner_and_equal_tables,
        a_ring_of_eight_has_one_owner_and_equal_tables,
        a_ring_forms_with_the_defaults,
        a_ring_forms_with_a_heartbeat_of_one_millisecond,
        the_token_rotates_fairly_among_eight_members,
        the_token_goes_to_the_next_larger_mac,
        exclusive a_fast_rotation_costs_one_frame_per_hop,
        a_node_joins_during_rotation,
        a_ring_forms_again_after_a_restart_of_all_daemons_at_once,
        a_leaving_owner_hands_over_without_a_gap,
        a_leaving_member_of_a_rotating_ring_leaves_no_gap,
    ]
}

fn form(count: usize) -> Result<Ring> {
    form_with(count, Timing::tolerant(HEARTBEAT))
}

fn form_with(count: usize, timing: Timing) -> Result<Ring> {
    let segment = Layout::new(count).addresses().bridge()?;
    let ring = Ring::start(segment, count, timing, binaries())?;
    ring.wait_until_formed()?;
    Ok(ring)
}

/// Checks that frames and `ringctl` show one owner and equal hashes.
fn check_forms(count: usize) -> Result<()> {
    let ring = form(count)?;
    let macs: Vec<String> = ring.macs().iter().map(MacAddr::to_string).collect();
    for (daemon, status) in ring.daemons.iter().zip(ring.statuses()?) {
        ensure!(
            status["mac"] == daemon.node().mac().to_string(),
            "{status:#}"
        );
        ensure!(status["interface"] == "eth0", "{status:#}");
        let members = status["members"].as_array().context("members is a list")?;
        let digests: Vec<_> = members
            .iter()
            .filter_map(|member| member["mac"].as_str())
            .collect();
        ensure!(digests == macs, "{status:#}");
        ensure!(
            status["owner"]
                .as_str()
                .is_some_and(|mac| digests.contains(&mac)),
            "{status:#}"
        );
    }
    ring.check()
}

fn a_ring_of_two_has_one_owner_and_equal_tables() -> Result<()> {
    check_forms(2)
}

fn a_ring_of_eight_has_one_owner_and_equal_tables() -> Result<()> {
    check_forms(8)
}

fn a_ring_forms_with_the_defaults() -> Result<()> {
    let segment = Segment::bridge(3)?;
    let nodes = segment.nodes().iter();
    let daemons = nodes
        .map(|node| node.ringd(binaries()).spawn())
        .collect::<Result<Vec<_>>>()?;
    let every = |frames: &[_]| {
        let owners = owner_changes(frames, Duration::ZERO);
        daemons
            .iter()
            .all(|one| owners.iter().any(|(_, mac)| *mac == one.node().mac()))
            .then_some(())
    };
    segment.capture().wait_until(WAIT_LIMIT, every)?;
    check_all(&segment.capture().frames())
}

/// With this heartbeat, the ring may lose its token on a busy machine, but the ring must stay safe.
fn a_ring_forms_with_a_heartbeat_of_one_millisecond() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let start =
        |node: &ring_segment::Node| node.ringd(binaries()).option("--heartbeat", "1ms").spawn();
    let _daemons = segment
        .nodes()
        .iter()
        .map(start)
        .collect::<Result<Vec<_>>>()?;
    let tokens = |frames: &[_]| (tenures(frames).len() > 200).then_some(());
    segment.capture().wait_until(WAIT_LIMIT, tokens)?;
    check_all(&segment.capture().frames())
}

/// Runs the ring for one window of time after another. Stops after two successive windows in which the ring gave up no
/// token. Returns all frames, and the number of frames before the second window. If a member stalls longer than an
/// offer is valid, it misses this offer and the next offer. The giver then gives the token up, and continues with a
/// chain with a new number.
fn run_undisturbed(
    ring: &Ring,
    pass_window: impl Fn(usize) -> Result<()>,
) -> Result<(Vec<Seen>, usize)> {
    let chains = |frames: &[Seen]| -> HashSet<_> {
        let tokens = frames.iter().filter_map(|seen| seen.message.token());
        tokens.map(|token| token.chain()).collect()
    };
    let mut was_calm = false;
    for _ in 0..WINDOWS_MAX {
        let mark = ring.segment.capture().mark();
        pass_window(mark)?;
        let frames = ring.segment.capture().frames();
        let (before, window) = frames.split_at(mark);
        let is_calm = chains(window).is_subset(&chains(before));
        if is_calm && was_calm {
            return Ok((frames, mark));
        }
        was_calm = is_calm;
    }
    bail!(
        "a token was given up too often: {WINDOWS_MAX} windows have no two calm ones in succession"
    )
}

fn check_fair_rotation_of(count: usize) -> Result<()> {
    let layout = Layout::new(count).addresses();
    let ring = SharedRing::on(layout, Timing::stall_tolerant(HEARTBEAT), binaries(), &[])?;
    let rounds = 10;
    let turns = (rounds + 2) * count;
    let (frames, mark) = run_undisturbed(&ring, |mark| {
        let enough = |frames: &[Seen]| (tenures(&frames[mark..]).len() >= turns).then_some(());
        ring.segment.capture().wait_until(WAIT_LIMIT, enough)
    })?;
    check_fair_rotation(&tenures(&frames[mark..]), &ring.macs(), rounds, 2)?;
    check_one_owner(&frames, frames[mark].at)?;
    ring.check()
}

fn the_token_rotates_fairly_among_eight_members() -> Result<()> {
    check_fair_rotation_of(8)
}

fn the_token_goes_to_the_next_larger_mac() -> Result<()> {
    let segment = Layout::new(5).random_macs(7).bridge()?;
    let ring = Ring::start(segment, 5, Timing::stall_tolerant(HEARTBEAT), binaries())?;
    ring.wait_until_formed()?;
    let mut order = ring.macs();
    order.sort_unstable();
    let is_offer = |seen: &&Seen| matches!(seen.message, Message::TakeToken { .. });
    let (frames, mark) = run_undisturbed(&ring, |mark| {
        let enough = |frames: &[Seen]| {
            let offers = frames[mark..].iter().filter(is_offer);
            (offers.count() >= 2 * order.len()).then_some(())
        };
        ring.segment.capture().wait_until(WAIT_LIMIT, enough)
    })?;
    for offer in frames[mark..].iter().filter(is_offer) {
        let place = order
            .iter()
            .position(|mac| *mac == offer.src)
            .context("a member")?;
        ensure!(
            offer.dst == order[(place + 1) % order.len()],
            "an offer to a member out of order: {offer:?}"
        );
    }
    ring.check()
}

fn a_fast_rotation_costs_one_frame_per_hop() -> Result<()> {
    let heartbeat = Duration::from_millis(500);
    let timing = Timing::tolerant(heartbeat).idle_hold(Duration::ZERO);
    let segment = Segment::bridge(3)?;
    // The buffer of the capture's socket has ample space for the frames of a fifth of a heartbeat. The buffer has no
    // space for all frames of the ring's formation.
    segment.capture().record_only_broadcasts()?;
    let ring = Ring::start(segment, 3, timing, binaries())?;
    ring.wait_for_one_owner(now())?;
    let table = format!("{:016x}", ring.digest().hash);
    for daemon in &ring.daemons {
        daemon.wait_for_status(WAIT_LIMIT, |status| status["ring_hash"] == table)?;
    }
    let (capture, from) = (ring.segment.capture(), now());
    let broadcasts = capture.watch(heartbeat);
    let in_time = |seen: &&Seen| is_heartbeat(seen) && seen.at < from + heartbeat;
    let broadcasts = broadcasts.iter().filter(in_time).count();
    ensure!(broadcasts <= 6, "{broadcasts} broadcasts in one heartbeat");
    capture.record_all()?;
    let frames = capture.watch(heartbeat / 5);
    capture.stop()?;
    let (hops, total) = (tenures(&frames).len(), frames.len());
    ensure!(hops > 50, "only {hops} hops in a tenth of a second");
    // The ring sends one frame per hop, one broadcast per heartbeat, and acknowledgements when the machine is busy.
    ensure!(
        total <= hops + hops / 10 + 10,
        "{total} frames for {hops} hops"
    );
    ring.check()
}

fn a_node_joins_during_rotation() -> Result<()> {
    let segment = Layout::new(4).addresses().bridge()?;
    let mut ring = Ring::start(segment, 3, Timing::stall_tolerant(HEARTBEAT), binaries())?;
    ring.wait_until_formed()?;
    let joined = now();
    ring.join()?;
    ring.wait_for_equal_tables()?;
    let newcomer = ring.macs()[3];
    let has_it = |seen: &Seen| seen.src == newcomer && is_claim(seen);
    ring.segment.capture().wait_from(0, WAIT_LIMIT, has_it)?;
    // A new member does not disturb the existing token.
    check_one_owner(&ring.segment.capture().frames(), joined)?;
    let elected = ring
        .frames_since(joined)
        .into_iter()
        .find(|seen| matches!(seen.message, Message::GeneratingToken { .. }));
    ensure!(
        elected.is_none(),
        "the newcomer called an election: {elected:?}"
    );
    ring.check()
}

fn a_ring_forms_again_after_a_restart_of_all_daemons_at_once() -> Result<()> {
    let mut ring = form(3)?;
    let progress = |frames: &[_]| tenures(frames).iter().map(|held| held.token.progress).max();
    let before = progress(&ring.segment.capture().frames()).context("there was a token")?;
    for daemon in &mut ring.daemons {
        daemon.kill()?;
    }
    let restart = now();
    for daemon in &mut ring.daemons {
        daemon.start()?;
    }
    ring.wait_until_formed()?;
    let first = tenures(&ring.frames_since(restart))[0].token.progress;
    ensure!(
        first > before,
        "the fencing number went back from {before} to {first}"
    );
    ring.check()
}

fn a_leaving_owner_hands_over_without_a_gap() -> Result<()> {
    let timing = Timing::stall_tolerant(HEARTBEAT).idle_hold(LONG_IDLE_HOLD);
    let mut ring = Ring::start(Segment::bridge(3)?, 3, timing, binaries())?;
    ring.wait_until_formed()?;
    let (owner, left) = (ring.owner()?, now());
    ring.daemons[owner].signal(Signal::SIGTERM)?;
    let status = ring.daemons[owner].wait_exit(WAIT_LIMIT)?;
    ensure!(status.code() == Some(0), "the daemon exited with {status}");
    let frames = ring.frames_since(left);
    let last = frames
        .iter()
        .rfind(|seen| seen.port == owner)
        .context("the daemon sent no frame")?;
    ensure!(
        last.message == Message::Leaving && last.is_broadcast(),
        "the daemon's last frame was {last:?}"
    );
    check_no_gap(&ring, left)?;
    let owners = owner_changes(&frames, left);
    ensure!(
        owners.iter().any(|(_, mac)| *mac != last.src),
        "no member took the token: {owners:?}"
    );
    ring.check()
}

fn a_leaving_member_of_a_rotating_ring_leaves_no_gap() -> Result<()> {
    let timing = Timing::stall_tolerant(HEARTBEAT);
    let mut ring = form_with(3, timing)?;
    for _ in 0..2 {
        let left = now();
        let mut daemon = ring.daemons.pop().context("a member claims the token")?;
        daemon.signal(Signal::SIGINT)?;
        let status = daemon.wait_exit(WAIT_LIMIT)?;
        ensure!(status.code() == Some(0), "the daemon exited with {status}");
        check_no_gap(&ring, left)?;
    }
    ring.check()
}

/// Checks that the token moved without a gap: there was one owner, no election, and no handover to the member that
/// left.
fn check_no_gap(ring: &Ring, left: Duration) -> Result<()> {
    let timing = Timing::stall_tolerant(HEARTBEAT);
    let frames = ring.segment.capture().watch(2 * timing.waiter_timeout());
    let missed = frames.iter().find(|seen| {
        matches!(
            seen.message,
            Message::WhereIsToken | Message::GeneratingToken { .. }
        )
    });
    ensure!(
        missed.is_none(),
        "a member searched for the token: {missed:?}"
    );
    check_one_owner(&ring.segment.capture().frames(), left)
}
