//! An interface that disappears, comes back or changes while a daemon runs.

use std::time::Duration;

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{
    LONG_IDLE_HOLD, MacAddr, Message, Ring, Seen, Segment, Test, Timing, WAIT_LIMIT, binaries,
    is_claim, now, tests,
};

const HEARTBEAT: Duration = Duration::from_millis(100);

/// Maximum number of failures until one is noticed.
const FAILURES_MAX: usize = 20;

pub(super) fn tests() -> Vec<Test> {
    tests![
        an_interface_set_down_and_up_is_survived,
        an_interface_that_loses_its_carrier_is_survived,
        an_interface_that_flaps_is_survived,
        an_interface_that_was_down_unnoticed_is_opened_again,
        an_interface_that_disappears_is_waited_for,
        a_new_mac_is_a_new_member,
        a_new_mtu_and_address_do_not_disturb,
        a_renamed_interface_is_waited_for,
    ]
}

fn timing() -> Timing {
    Timing::tolerant(HEARTBEAT)
}

fn ring() -> Result<Ring> {
    let ring = Ring::start(Segment::bridge(3)?, 3, timing(), binaries())?;
    ring.wait_until_formed()?;
    Ok(ring)
}

/// Waits until the daemon logs why it has no link.
fn wait_for_link_loss(ring: &Ring, place: usize) -> Result<()> {
    let daemon = &ring.daemons[place];
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("waiting for its return"))?;
    let lost = daemon.wait_for_status(WAIT_LIMIT, |status| status["link"] != "up")?;
    ensure!(lost["state"] == "LOOSER", "{lost:#}");
    Ok(())
}

/// Checks that the ring has one owner again, and the daemon gets the token.
fn check_rejoins(ring: &Ring, place: usize, back: Duration) -> Result<()> {
    ring.segment.wait_for_link(place)?;
    ring.daemons[place].wait_for_status(WAIT_LIMIT, |status| status["link"] == "up")?;
    ring.wait_for_one_owner(back)?;
    let takes_part = |seen: &Seen| seen.port == place && is_claim(seen);
    ring.segment.capture().wait_for(WAIT_LIMIT, takes_part)?;
    ring.check()
}

fn an_interface_set_down_and_up_is_survived() -> Result<()> {
    let ring = ring()?;
    let ns = ring.segment.node(0).ns().clone();
    ns.ip("link set eth0 down\n")?;
    wait_for_link_loss(&ring, 0)?;
    let back = now();
    ns.ip("link set eth0 up\n")?;
    check_rejoins(&ring, 0, back)
}

fn an_interface_that_loses_its_carrier_is_survived() -> Result<()> {
    let ring = ring()?;
    ring.segment.lose_carrier(1)?;
    wait_for_link_loss(&ring, 1)?;
    let back = now();
    ring.segment.regain_carrier(1)?;
    check_rejoins(&ring, 1, back)
}

fn an_interface_that_flaps_is_survived() -> Result<()> {
    let ring = ring()?;
    let ns = ring.segment.node(2).ns().clone();
    for _ in 0..20 {
        ns.ip("link set eth0 down\nlink set eth0 up\n")?;
    }
    check_rejoins(&ring, 2, now())
}

/// The socket fails although the interface works again. If frames wait to be read, a send may consume the error,
/// and the daemon does not notice. Then the failure is repeated.
fn an_interface_that_was_down_unnoticed_is_opened_again() -> Result<()> {
    let ring = ring()?;
    let daemon = &ring.daemons[1];
    let ns = ring.segment.node(1).ns().clone();
    let failed = |line: &&String| line.contains("cannot receive on eth0");
    let mut back = now();
    for _ in 0..FAILURES_MAX {
        daemon.signal(Signal::SIGSTOP)?;
        ns.ip("link set eth0 down\nlink set eth0 up\n")?;
        daemon.signal(Signal::SIGCONT)?;
        back = now();
        daemon.wait_for_status(WAIT_LIMIT, |status| status["link"] == "up")?;
        if daemon.output().iter().any(|line| failed(&line)) {
            break;
        }
    }
    let lines = daemon.output();
    let line = lines.iter().find(failed);
    ensure!(line.is_some_and(|line| line.contains("WARN")), "{lines:#?}");
    check_rejoins(&ring, 1, back)
}

fn an_interface_that_disappears_is_waited_for() -> Result<()> {
    let mut ring = ring()?;
    for _ in 0..2 {
        ring.segment.unplug(1)?;
        wait_for_link_loss(&ring, 1)?;
        let back = now();
        ring.segment.plug(1)?;
        check_rejoins(&ring, 1, back)?;
    }
    Ok(())
}

fn a_new_mac_is_a_new_member() -> Result<()> {
    let ring = ring()?;
    let (old, new) = (ring.macs()[1], MacAddr::new(2, 0, 0, 0, 0, 0x77));
    let back = now();
    ring.segment
        .node(1)
        .ns()
        .ip(&format!("link set eth0 address {new}\n"))?;
    ring.daemons[1].wait_for_status(WAIT_LIMIT, |status| status["mac"] == new.to_string())?;
    check_rejoins(&ring, 1, back)?;
    let claim = ring
        .segment
        .capture()
        .wait_for(WAIT_LIMIT, |seen| seen.port == 1 && is_claim(seen))?;
    ensure!(claim.src == new && claim.author == new, "{claim:?}");
    let members = ring.daemons[0].status()?["members"].to_string();
    ensure!(
        members.contains(&old.to_string()) && members.contains(&new.to_string()),
        "{members}"
    );
    // The daemon has sent LEAVING for its old address, and with that address as the source.
    for place in [0, 2] {
        let has_left = |status: &serde_json::Value| {
            let members = status["members"].as_array();
            let mut gone = members.into_iter().flatten();
            gone.any(|member| member["mac"] == old.to_string() && member["state"] == "left")
        };
        ring.daemons[place].wait_for_status(WAIT_LIMIT, has_left)?;
    }
    Ok(())
}

fn a_new_mtu_and_address_do_not_disturb() -> Result<()> {
    let timing = Timing::stall_tolerant(HEARTBEAT).idle_hold(LONG_IDLE_HOLD);
    let ring = Ring::start(Segment::bridge(2)?, 2, timing, binaries())?;
    ring.wait_until_formed()?;
    let owner = ring.owner()?;
    let (from, mark) = (now(), ring.segment.capture().mark());
    let ns = ring.segment.node(owner).ns().clone();
    ns.ip("link set eth0 mtu 1400\naddr add 10.9.9.9/24 dev eth0\n")?;
    ring.segment.capture().wait_from(mark, WAIT_LIMIT, |seen| {
        seen.port == owner
            && matches!(seen.message, Message::Ping { ip, .. } if ip[12..] == [10, 9, 9, 9])
    })?;
    ring.wait_for_one_owner(from)?;
    ensure!(ring.owner()? == owner, "the owner lost its token");
    ring_segment::invariants::check_one_owner(&ring.segment.capture().frames(), from)?;
    ring.check()
}

fn a_renamed_interface_is_waited_for() -> Result<()> {
    let ring = ring()?;
    let ns = ring.segment.node(0).ns().clone();
    ns.ip("link set eth0 down\nlink set eth0 name other0\nlink set other0 up\n")?;
    wait_for_link_loss(&ring, 0)?;
    let back = now();
    ns.ip("link set other0 down\nlink set other0 name eth0\nlink set eth0 up\n")?;
    check_rejoins(&ring, 0, back)
}
