//! Members that are gone.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{
    Daemon, Digest, FOR_GOOD, Layout, MacAddr, Member, Message, Peer, Ring, Test, Timing, WAIT,
    binaries, tests,
};
use serde_json::Value;

use super::{HEARTBEAT, PATIENCE, ringctl, timing};
use crate::locks::Client;

/// So many stations are gone.
const DEAD: u16 = 2_000;
/// Members in one frame.
const PART: usize = 66;

pub(super) fn tests() -> Vec<Test> {
    tests![
        thousands_of_dead_members_are_offered_nothing_and_one_of_them_is_forgotten,
        a_member_that_is_killed_is_told_of_and_when_it_is_back,
        a_member_that_was_stopped_in_order_has_left,
        exclusive a_full_table_of_dead_members_costs_the_live_ones_nothing,
    ]
}

fn address(number: u16) -> MacAddr {
    let [high, low] = number.to_be_bytes();
    MacAddr::new(2, 0xfe, 0, 0, high, low)
}

/// What a status says of a member; `None`: it is none.
fn state_of(status: &Value, mac: MacAddr) -> Option<String> {
    let members = status["members"].as_array()?;
    let member = members.iter().find(|it| it["mac"] == mac.to_string())?;
    member["state"].as_str().map(str::to_owned)
}

fn wait_until_all(ring: &Ring, so: impl Fn(&Value) -> bool) -> Result<()> {
    for daemon in &ring.daemons {
        daemon.wait_for_status(PATIENCE, &so)?;
    }
    Ok(())
}

/// All members learn of so many that are gone, from one that is another.
fn tell_of_dead(ring: &Ring, peer: &Peer, count: u16) -> Result<()> {
    let member = |number| Member {
        mac: address(number),
        ip: [0; 16],
    };
    let dead: Vec<Member> = (0..count).map(member).collect();
    for members in dead.chunks(PART) {
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

fn works(daemon: &Daemon) -> Result<()> {
    let (done, said) = ringctl(daemon, &["run", "-w", WAIT, "--", "true"])?;
    ensure!(done, "{said}");
    Ok(())
}

fn thousands_of_dead_members_are_offered_nothing_and_one_of_them_is_forgotten() -> Result<()> {
    let segment = Layout::new(4).bridge()?;
    let ring = Ring::start(segment, 3, timing(), binaries())?;
    ring.wait_until_formed()?;
    let peer = ring.segment.node(3).peer()?;
    tell_of_dead(&ring, &peer, DEAD)?;
    let mark = ring.segment.capture().mark();
    for _ in 0..5 {
        ring.daemons.iter().try_for_each(works)?;
    }
    let frames = ring.segment.capture().frames_from(mark);
    let is_dead = |mac: MacAddr| mac.octets()[..4] == [2, 0xfe, 0, 0];
    let offer = frames.iter().find(|seen| is_dead(seen.dst));
    ensure!(offer.is_none(), "{offer:?}");
    let [first, second, _] = ring.daemons.as_slice() else {
        anyhow::bail!("there are three");
    };
    let gone = address(DEAD / 2);
    let silent = state_of(&first.status()?, gone);
    ensure!(silent.as_deref() == Some("silent"), "{silent:?}");
    let there = second.node().mac();
    let (done, said) = ringctl(first, &["forget", &there.to_string()])?;
    ensure!(!done && said.contains("is alive"), "{said}");
    let (done, said) = ringctl(first, &["forget", &gone.to_string()])?;
    ensure!(done, "{said}");
    wait_until_all(&ring, |status| state_of(status, gone).is_none())?;
    let status = first.status()?;
    let alive = state_of(&status, there).context("it is a member")?;
    ensure!(alive == "alive", "{alive}");
    Ok(())
}

/// It may be no owner's successor, and fail at nothing.
fn a_member_that_is_killed_is_told_of_and_when_it_is_back() -> Result<()> {
    let timing = Timing::forbearing(HEARTBEAT / 4).idle_hold(FOR_GOOD);
    let segment = Layout::new(3).bridge()?;
    let mut ring = Ring::start(segment, 3, timing, binaries())?;
    ring.wait_until_formed()?;
    let gone = ring.daemons[2].node().mac();
    ring.daemons[2].kill()?;
    let left = &ring.daemons[..2];
    let says = |what: &str| {
        let begin = format!("member {gone} is {what}");
        let said = |line: &str| line.contains(&begin);
        for daemon in left {
            daemon.wait_for_line(PATIENCE, said)?;
        }
        let lines = left.iter().flat_map(Daemon::output);
        ensure!(lines.filter(|line| said(line)).count() == 2);
        Ok(())
    };
    says("silent: no frame of it has come for")?;
    let silent = state_of(&left[0].status()?, gone);
    ensure!(silent.as_deref() == Some("silent"), "{silent:?}");
    let back = ring.segment.node(2).ringd(binaries()).timing(&timing);
    let _back = back.spawn()?;
    says("heard again")
}

fn a_member_that_was_stopped_in_order_has_left() -> Result<()> {
    let segment = Layout::new(3).bridge()?;
    let mut ring = Ring::start(segment, 3, timing(), binaries())?;
    ring.wait_until_formed()?;
    let gone = ring.daemons[2].node().mac();
    ring.daemons[2].signal(Signal::SIGTERM)?;
    ring.daemons[2].wait_exit(PATIENCE)?;
    for daemon in &ring.daemons[..2] {
        let left = |status: &Value| state_of(status, gone).as_deref() == Some("left");
        daemon.wait_for_status(PATIENCE, left)?;
        let (done, said) = ringctl(daemon, &["status"])?;
        let line = said.lines().find(|line| line.contains(&gone.to_string()));
        ensure!(
            done && line.is_some_and(|line| line.contains("left")),
            "{said}"
        );
    }
    Ok(())
}

/// How long a lock on each node takes, one after the other, so that the token has to come each time: the median. And
/// how often the token is handed over in a second of rest.
fn pace(ring: &Ring) -> Result<(Duration, usize)> {
    const LOCKS: usize = 60;
    let mut clients = Vec::new();
    for daemon in &ring.daemons {
        clients.push(Client::connect(&daemon.control())?);
    }
    let mut took = Vec::new();
    for at in 0..LOCKS {
        let client = clients
            .get_mut(at % ring.daemons.len())
            .context("one each")?;
        let asked = Instant::now();
        client.lock("pace")?;
        client.hears("granted")?;
        took.push(asked.elapsed());
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

/// Measured beside the same ring without them: the rest is the machine's.
fn a_full_table_of_dead_members_costs_the_live_ones_nothing() -> Result<()> {
    let segment = Layout::new(4).bridge()?;
    let ring = Ring::start(segment, 3, timing(), binaries())?;
    ring.wait_until_formed()?;
    let (before, hops_before) = pace(&ring)?;
    let peer = ring.segment.node(3).peer()?;
    tell_of_dead(&ring, &peer, 4_092)?;
    let (after, hops) = pace(&ring)?;
    let most = before + Duration::from_millis(5);
    ensure!(
        after <= most,
        "a lock takes {after:?}, and {before:?} without dead members"
    );
    ensure!(
        hops * 4 >= hops_before * 3,
        "{hops} hand-overs a second, and {hops_before} without dead members"
    );
    Ok(())
}
