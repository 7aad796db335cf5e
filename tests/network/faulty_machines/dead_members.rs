//! Rings with dead members.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{
    Daemon, Digest, LONG_IDLE_HOLD, Layout, MacAddr, Member, Message, Peer, Ring, Test, Timing,
    WAIT, binaries, tests,
};
use serde_json::Value;

use super::{HEARTBEAT, WAIT_LIMIT, check_ringctl, ringctl, timing};
use crate::locks::Client;

const DEAD_MEMBERS: u16 = 2_000;
const MEMBERS_PER_FRAME: usize = 66;

pub(super) fn tests() -> Vec<Test> {
    tests![
        two_thousand_dead_members_get_no_offers_and_ringctl_can_remove_one,
        a_killed_member_is_reported_and_so_is_its_return,
        a_member_whose_daemon_was_stopped_properly_has_left,
        exclusive a_full_table_of_dead_members_does_not_slow_the_live_members_down,
    ]
}

fn address(number: u16) -> MacAddr {
    let [high, low] = number.to_be_bytes();
    MacAddr::new(2, 0xfe, 0, 0, high, low)
}

/// Returns the state that a status shows for a member. Returns `None` if the status does not contain the member.
fn state_of(status: &Value, mac: MacAddr) -> Option<String> {
    let members = status["members"].as_array()?;
    let member = members.iter().find(|it| it["mac"] == mac.to_string())?;
    member["state"].as_str().map(str::to_owned)
}

fn wait_until_all(ring: &Ring, so: impl Fn(&Value) -> bool) -> Result<()> {
    for daemon in &ring.daemons {
        daemon.wait_for_status(WAIT_LIMIT, &so)?;
    }
    Ok(())
}

/// Makes a peer announce `count` dead members to all members.
fn announce_dead_members(ring: &Ring, peer: &Peer, count: u16) -> Result<()> {
    let member = |number| Member {
        mac: address(number),
        ip: [0; 16],
    };
    let dead: Vec<Member> = (0..count).map(member).collect();
    for members in dead.chunks(MEMBERS_PER_FRAME) {
        peer.broadcast(&Message::RingMembers {
            digest: Digest { size: 1, hash: 1 },
            members: members.to_vec(),
        })?;
    }
    let all = usize::from(count) + ring.daemons.len() + 1;
    wait_until_all(ring, |status| {
        status["members"].as_array().map(Vec::len) == Some(all)
    })
}

fn check_works(daemon: &Daemon) -> Result<()> {
    check_ringctl(daemon, &["run", "-w", WAIT, "--", "true"])
}

fn two_thousand_dead_members_get_no_offers_and_ringctl_can_remove_one() -> Result<()> {
    let segment = Layout::new(4).bridge()?;
    let ring = Ring::start(segment, 3, timing(), binaries())?;
    ring.wait_until_formed()?;
    let peer = ring.segment.node(3).peer()?;
    announce_dead_members(&ring, &peer, DEAD_MEMBERS)?;
    let mark = ring.segment.capture().mark();
    for _ in 0..5 {
        ring.daemons.iter().try_for_each(check_works)?;
    }
    let frames = ring.segment.capture().frames_from(mark);
    let is_dead = |mac: MacAddr| mac.octets()[..4] == [2, 0xfe, 0, 0];
    let offer = frames.iter().find(|seen| is_dead(seen.dst));
    ensure!(offer.is_none(), "{offer:?}");
    let [first, second, _] = ring.daemons.as_slice() else {
        anyhow::bail!("there are three daemons");
    };
    let gone = address(DEAD_MEMBERS / 2);
    let silent = state_of(&first.status()?, gone);
    ensure!(silent.as_deref() == Some("silent"), "{silent:?}");
    let there = second.node().mac();
    let (done, text) = ringctl(first, &["forget", &there.to_string()])?;
    ensure!(!done && text.contains("is alive"), "{text}");
    check_ringctl(first, &["forget", &gone.to_string()])?;
    wait_until_all(&ring, |status| state_of(status, gone).is_none())?;
    let status = first.status()?;
    let alive = state_of(&status, there).context("the dead member is in the table")?;
    ensure!(alive == "alive", "{alive}");
    Ok(())
}

/// The owners may never offer the token to this member, because a different member may be next. So the report must not
/// depend on a failed offer.
fn a_killed_member_is_reported_and_so_is_its_return() -> Result<()> {
    let timing = Timing::stall_tolerant(HEARTBEAT / 4).idle_hold(LONG_IDLE_HOLD);
    let segment = Layout::new(3).bridge()?;
    let mut ring = Ring::start(segment, 3, timing, binaries())?;
    ring.wait_until_formed()?;
    let gone = ring.daemons[2].node().mac();
    ring.daemons[2].kill()?;
    let left = &ring.daemons[..2];
    let says = |what: &str| {
        let begin = format!("member {gone} is {what}");
        let is_report = |line: &str| line.contains(&begin);
        for daemon in left {
            daemon.wait_for_line(WAIT_LIMIT, is_report)?;
        }
        let lines = left.iter().flat_map(Daemon::output);
        ensure!(lines.filter(|line| is_report(line)).count() == 2);
        Ok(())
    };
    says("silent: no frame from it has arrived for")?;
    let silent = state_of(&left[0].status()?, gone);
    ensure!(silent.as_deref() == Some("silent"), "{silent:?}");
    let back = ring.segment.node(2).ringd(binaries()).timing(&timing);
    let _back = back.spawn()?;
    says("heard again")
}

fn a_member_whose_daemon_was_stopped_properly_has_left() -> Result<()> {
    let segment = Layout::new(3).bridge()?;
    let mut ring = Ring::start(segment, 3, timing(), binaries())?;
    ring.wait_until_formed()?;
    let gone = ring.daemons[2].node().mac();
    ring.daemons[2].signal(Signal::SIGTERM)?;
    ring.daemons[2].wait_exit(WAIT_LIMIT)?;
    for daemon in &ring.daemons[..2] {
        let left = |status: &Value| state_of(status, gone).as_deref() == Some("left");
        daemon.wait_for_status(WAIT_LIMIT, left)?;
        let (done, text) = ringctl(daemon, &["status"])?;
        let line = text.lines().find(|line| line.contains(&gone.to_string()));
        ensure!(
            done && line.is_some_and(|line| line.contains("left")),
            "{text}"
        );
    }
    Ok(())
}

/// Returns the median time of a lock, and the handovers per second of an idle ring. The locks are taken on each node in
/// turn, so that the token must move.
fn measure_pace(ring: &Ring) -> Result<(Duration, usize)> {
    const LOCKS: usize = 60;
    let mut clients = Vec::new();
    for daemon in &ring.daemons {
        clients.push(Client::connect(&daemon.control())?);
    }
    let mut took = Vec::new();
    for at in 0..LOCKS {
        let client = clients
            .get_mut(at % ring.daemons.len())
            .context("one lock per daemon")?;
        let start = Instant::now();
        client.lock("pace")?;
        client.expect("granted")?;
        took.push(start.elapsed());
        client.unlock()?;
    }
    took.sort_unstable();
    let mark = ring.segment.capture().mark();
    std::thread::sleep(Duration::from_secs(1));
    let frames = ring.segment.capture().frames_from(mark);
    let is_offer = |message: &Message| matches!(message, Message::TakeToken { .. });
    let offers = frames.iter().filter(|seen| is_offer(&seen.message)).count();
    Ok((took[LOCKS / 2], offers))
}

/// The test compares the ring with the same ring without dead members, so a busy machine does not matter.
fn a_full_table_of_dead_members_does_not_slow_the_live_members_down() -> Result<()> {
    let segment = Layout::new(4).bridge()?;
    let ring = Ring::start(segment, 3, timing(), binaries())?;
    ring.wait_until_formed()?;
    let (before, hops_before) = measure_pace(&ring)?;
    let peer = ring.segment.node(3).peer()?;
    announce_dead_members(&ring, &peer, 4_092)?;
    let (after, hops) = measure_pace(&ring)?;
    let most = before + Duration::from_millis(5);
    ensure!(
        after <= most,
        "a lock takes {after:?}, and {before:?} without dead members"
    );
    ensure!(
        hops * 4 >= hops_before * 3,
        "{hops} handovers per second, but {hops_before} without dead members"
    );
    Ok(())
}
