//! Members that are gone.

use anyhow::{Context, Result, ensure};
use ring_segment::{
    Daemon, Digest, FOR_GOOD, Layout, MacAddr, Member, Message, Ring, Test, Timing, WAIT, tests,
};
use serde_json::Value;

use super::{BINARIES, HEARTBEAT, PATIENCE, ringctl, timing};

/// So many stations are gone.
const DEAD: u16 = 2_000;
/// Members in one frame.
const PART: usize = 66;

pub fn tests() -> Vec<Test> {
    tests![
        thousands_of_dead_members_are_offered_nothing_and_one_of_them_is_forgotten,
        a_member_that_is_killed_is_told_of_and_when_it_is_back,
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

fn works(daemon: &Daemon) -> Result<()> {
    let (done, said) = ringctl(daemon, &["run", "-w", WAIT, "--", "true"])?;
    ensure!(done, "{said}");
    Ok(())
}

fn thousands_of_dead_members_are_offered_nothing_and_one_of_them_is_forgotten() -> Result<()> {
    let segment = Layout::new(4).bridge()?;
    let ring = Ring::start(segment, 3, timing(), BINARIES)?;
    ring.wait_until_formed()?;
    let peer = ring.segment.node(3).peer()?;
    let member = |number| Member {
        mac: address(number),
        ip: [0; 16],
    };
    let dead: Vec<Member> = (0..DEAD).map(member).collect();
    for members in dead.chunks(PART) {
        peer.broadcast(&Message::RingMembers {
            digest: Digest { size: 1, hash: 1 },
            members: members.to_vec(),
        })?;
    }
    let all = usize::from(DEAD) + 4;
    wait_until_all(&ring, |status| {
        status["members"].as_array().map(Vec::len) == Some(all)
    })?;
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
    let mut ring = Ring::start(segment, 3, timing, BINARIES)?;
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
    says("silent: nothing of it has come for")?;
    let silent = state_of(&left[0].status()?, gone);
    ensure!(silent.as_deref() == Some("silent"), "{silent:?}");
    let back = ring.segment.node(2).ringd(BINARIES).timing(&timing);
    let _back = back.spawn()?;
    says("heard again")
}
