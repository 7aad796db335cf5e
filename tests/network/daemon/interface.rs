//! An interface that disappears, returns or changes while a daemon runs.

use std::time::Duration;

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{
    LONG_IDLE_HOLD, MacAddr, Message, Ring, Seen, Segment, Test, Timing, WAIT_LIMIT, binaries,
    is_claim, now, tests,
};

const HEARTBEAT: Duration = Duration::from_millis(100);

/// Maximum number of times that the test makes the socket fail before the daemon notices a failure.
const FAILURES_MAX: usize = 20;

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_daemon_survives_an_interface_that_goes_down_and_up,
        a_daemon_survives_an_interface_that_loses_its_carrier,
        a_daemon_survives_an_interface_that_flaps,
        an_interface_that_was_down_while_the_daemon_did_not_notice_is_opened_again,
        a_daemon_waits_for_an_interface_that_has_disappeared,
        a_new_mac_is_a_new_member,
        a_new_mtu_and_address_do_not_disturb,
        a_daemon_waits_for_its_renamed_interface,
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

/// Waits until the daemon logs the reason for the loss of its link.
fn wait_for_link_loss(ring: &Ring, place: usize) -> Result<()> {
    let daemon = &ring.daemons[place];
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("waiting for its return"))?;
    let lost = daemon.wait_for_status(WAIT_LIMIT, |status| status["link"] != "up")?;
    ensure!(lost["state"] == "LOOSER", "{lost:#}");
    Ok(())
}

/// Checks that the ring has one owner again, and that the daemon gets the token.
fn check_rejoins(ring: &Ring, place: usize, back: Duration) -> Result<()> {
    ring.segment.wait_for_link(place)?;
    ring.daemons[place].wait_for_status(WAIT_LIMIT, |status| status["link"] == "up")?;
    ring.wait_for_one_owner(back)?;
    let takes_part = |seen: &Seen| seen.port == place && is_claim(seen);
    ring.segment.capture().wait_for(WAIT_LIMIT, takes_part)?;
    ring.check()
}

fn a_daemon_survives_an_interface_that_goes_down_and_up() -> Result<()> {
    let ring = ring()?;
    let ns = ring.segment.node(0).ns().clone();
    ns.ip("link set eth0 down\n")?;
    wait_for_link_loss(&ring, 0)?;
    let back = now();
    ns.ip("link set eth0 up\n")?;
    check_rejoins(&ring, 0, back)
}

fn a_daemon_survives_an_interface_that_loses_its_carrier() -> Result<()> {
    let ring = ring()?;
    ring.segment.lose_carrier(1)?;
    wait_for_link_loss(&ring, 1)?;
    let back = now();
    ring.segment.regain_carrier(1)?;
    check_rejoins(&ring, 1, back)
}

fn a_daemon_survives_an_interface_that_flaps() -> Result<()> {
    let ring = ring()?;
    let ns = ring.segment.node(2).ns().clone();
    for _ in 0..20 {
        ns.ip("link set eth0 down\nlink set eth0 up\n")?;
    }
    check_rejoins(&ring, 2, now())
}

/// The socket fails although the interface works again. If frames wait in the socket, sending a frame may consume the
/// error. If sending consumes the error, the daemon does not notice the failure. If the daemon does not notice the
/// failure, the test repeats the failure.
fn an_interface_that_was_down_while_the_daemon_did_not_notice_is_opened_again() -> Result<()> {
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

fn a_daemon_waits_for_an_interface_that_has_disappeared() -> Result<()> {
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
    // The daemon has sent LEAVING for its old address, with the old address as the source.
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

fn a_daemon_waits_for_its_renamed_interface() -> Result<()> {
    let ring = ring()?;
    let ns = ring.segment.node(0).ns().clone();
    ns.ip("link set eth0 down\nlink set eth0 name other0\nlink set other0 up\n")?;
    wait_for_link_loss(&ring, 0)?;
    let back = now();
    ns.ip("link set other0 down\nlink set other0 name eth0\nlink set eth0 up\n")?;
    check_rejoins(&ring, 0, back)
}
