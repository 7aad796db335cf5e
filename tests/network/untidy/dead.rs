//! Members that are gone.

use anyhow::{Context, Result, ensure};
use ring_segment::{Daemon, Digest, Layout, MacAddr, Member, Message, Ring, Test, tests};
use serde_json::Value;

use super::{BINARIES, PATIENCE, ringctl, timing};

/// So many stations are gone.
const DEAD: u16 = 2_000;
/// Members in one frame.
const PART: usize = 66;

pub fn tests() -> Vec<Test> {
    tests![thousands_of_dead_members_are_offered_nothing_and_one_of_them_is_forgotten]
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
    let (done, said) = ringctl(daemon, &["run", "-w", "20", "--", "true"])?;
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
