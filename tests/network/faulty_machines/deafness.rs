//! Members that do not hear some or all other members, and members whose unicast frames are lost.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use ring_segment::{Daemon, LONG_IDLE_HOLD, Layout, Ring, Test, WAIT, binaries, tests};
use serde_json::Value;

use super::watcher::{Watcher, has_trouble, watch};
use super::{
    WAIT_LIMIT, check_ringctl, form, form_behind_a_switch, ringctl, stall_tolerant_timing,
};
use crate::locks::Client;

pub(super) fn tests() -> Vec<Test> {
    // A stalled owner could lose the token before the test drops its frames.
    let held = tests![
        a_member_that_does_not_hear_the_owner_names_the_owner,
        an_owner_whose_offers_no_member_accepts_gives_the_token_up_and_owns_again_later,
        an_owner_whose_interface_refuses_unicast_gives_the_token_up_and_owns_again_later,
    ];
    let others = tests![
        all_members_name_a_member_that_hears_no_other_and_the_others_continue,
        a_node_that_hears_no_other_from_its_start_is_named_too,
        a_member_that_no_broadcast_reaches_does_not_starve_others_and_is_named,
        members_ask_a_holder_that_gets_no_broadcasts_with_a_unicast_for_its_resting_token,
        a_holder_that_does_not_hear_one_member_does_not_starve_it,
    ];
    let held = held.into_iter().map(Test::without_stalls);
    held.chain(others).collect()
}

/// Drops all frames to a member. Frames from this member arrive.
fn make_deaf(ring: &Ring, place: usize) {
    let others = (0..ring.segment.nodes().len()).filter(|&port| port != place);
    let ways = others.map(|port| (port, place));
    ring.segment.rules().set(|rules| rules.blocked.extend(ways));
}

fn undo_faults(ring: &Ring) {
    ring.segment.rules().set(|rules| {
        rules.blocked.clear();
        rules.broadcasts_only.clear();
    });
}

/// Returns the state that a daemon's status shows for another member.
fn member_state<'a>(status: &'a Value, other: &Daemon) -> Option<&'a str> {
    let mac = other.node().mac().to_string();
    let mut members = status["members"].as_array()?.iter();
    let member = members.find(|member| member["mac"] == mac.as_str())?;
    member["state"].as_str()
}

fn check_locks(daemon: &Daemon) -> Result<()> {
    check_ringctl(daemon, &["run", "-w", WAIT, "--", "true"])
}

/// Checks that the other members report a deaf member, continue without it, and report its recovery.
fn check_others_report(ring: &Ring, deaf: &Daemon, mut others: Vec<Watcher<'_>>) -> Result<()> {
    let mac = deaf.node().mac();
    for other in &mut others {
        let words = format!("member {mac} reports that it hears no member");
        other.expect_report("member_deaf", &words)?;
        other.daemon.wait_for_status(WAIT_LIMIT, |status| {
            member_state(status, deaf) == Some("deaf") && has_trouble(status, "hears no member")
        })?;
        check_locks(other.daemon)?;
    }
    undo_faults(ring);
    for other in &mut others {
        let words = format!("the trouble with member {mac} is over: it hears others again");
        other.expect_report("member_hears", &words)?;
        other.daemon.wait_for_status(WAIT_LIMIT, |status| {
            member_state(status, deaf) == Some("alive") && !has_trouble(status, "hears no member")
        })?;
    }
    for daemon in &ring.daemons {
        check_locks(daemon)?;
    }
    Ok(())
}

fn all_members_name_a_member_that_hears_no_other_and_the_others_continue() -> Result<()> {
    let ring = form_behind_a_switch(3)?;
    let others = Watcher::of_all(&ring.daemons[..2])?;
    let mut own = Watcher::of(&ring.daemons[2])?;
    make_deaf(&ring, 2);
    own.expect_report("receives_nothing", "this node no longer hears any member")?;
    own.daemon
        .wait_for_status(WAIT_LIMIT, |status| status["deaf"] == true)?;
    check_others_report(&ring, own.daemon, others)?;
    own.expect_report("receives", "this node hears other members")
}

fn a_node_that_hears_no_other_from_its_start_is_named_too() -> Result<()> {
    let segment = Layout::new(3).switch(1)?;
    let mut ring = Ring::start(segment, 2, stall_tolerant_timing(), binaries())?;
    ring.wait_until_formed()?;
    let clients = [watch(&ring.daemons[0])?, watch(&ring.daemons[1])?];
    make_deaf(&ring, 2);
    ring.join()?;
    let (others, deaf) = (&ring.daemons[..2], &ring.daemons[2]);
    let others = others.iter().zip(clients);
    let others = others.map(|(daemon, client)| Watcher { daemon, client });
    let others = others.collect();
    deaf.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("this node hears no member: it is the only node on its segment, or")
    })?;
    check_others_report(&ring, deaf, others)
}

fn an_owner_whose_offers_no_member_accepts_gives_the_token_up_and_owns_again_later() -> Result<()> {
    let ring = form_behind_a_switch(3)?;
    let lose = || {
        ring.segment.rules().set(|rules| {
            rules.broadcasts_only.insert(1);
        });
        Ok(())
    };
    let restore = || {
        undo_faults(&ring);
        Ok(())
    };
    check_release_and_return(&ring, lose, restore)
}

/// The kernel of the owner refuses to send the owner's unicast frames.
fn an_owner_whose_interface_refuses_unicast_gives_the_token_up_and_owns_again_later() -> Result<()>
{
    let ring = form_behind_a_switch(3)?;
    let refuse = || {
        tc(&ring, 1, "qdisc add dev eth0 clsact")?;
        // This filter drops frames whose destination begins with the first two bytes of the stations' addresses.
        let unicast = "4,40 0 0 0,21 0 1 512,6 0 0 2,6 0 0 4294967295,";
        let filter = "filter add dev eth0 egress bpf direct-action bytecode";
        tc_with(&ring, 1, filter, &[unicast])
    };
    let restore = || tc(&ring, 1, "qdisc del dev eth0 clsact");
    check_release_and_return(&ring, refuse, restore)?;
    let mut log = ring.daemons[1].output().into_iter();
    let named = |line: String| line.contains("cannot send the token to 02:00:00:00:00:0");
    ensure!(
        log.any(named),
        "the log names the frames that the kernel refused"
    );
    Ok(())
}

fn tc(ring: &Ring, place: usize, arguments: &str) -> Result<()> {
    tc_with(ring, place, arguments, &[])
}

fn tc_with(ring: &Ring, place: usize, arguments: &str, more: &[&str]) -> Result<()> {
    let mut tc = Command::new("tc");
    tc.args(arguments.split(' ')).args(more);
    let ended = ring.segment.node(place).ns().spawn(&mut tc)?.wait()?;
    ensure!(ended.success(), "tc {arguments}: {ended}");
    Ok(())
}

/// Calls `lose` to make the unicast frames of owner 1 disappear. Later calls `restore` to let the frames pass again.
fn check_release_and_return(
    ring: &Ring,
    lose: impl FnOnce() -> Result<()>,
    restore: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let mut unfit = Watcher::of(&ring.daemons[1])?;
    let mut work = Client::connect(&unfit.daemon.control())?;
    work.lock("work")?;
    work.expect("granted")?;
    lose()?;
    let mut others = Vec::new();
    for other in [0, 2] {
        let mut client = Client::connect(&ring.daemons[other].control())?;
        client.lock("next")?;
        others.push(client);
    }
    work.unlock()?;
    unfit.expect_report("unicast_lost", "no member takes the token from this node")?;
    unfit
        .daemon
        .wait_for_status(WAIT_LIMIT, |status| status["unfit"] == true)?;
    for other in &mut others {
        other.expect("granted")?;
        other.unlock()?;
    }
    restore()?;
    unfit.expect_report("unicast_restored", "this node may own the token again")?;
    for daemon in &ring.daemons {
        check_locks(daemon)?;
    }
    Ok(())
}

fn a_member_that_does_not_hear_the_owner_names_the_owner() -> Result<()> {
    let ring = form_behind_a_switch(3)?;
    let owner = &ring.daemons[0];
    let mut partly = Watcher::of(&ring.daemons[2])?;
    let mut work = Client::connect(&owner.control())?;
    work.lock("work")?;
    work.expect("granted")?;
    let mac = owner.node().mac();
    let knows = |status: &Value| status["owner"] == mac.to_string().as_str();
    partly.daemon.wait_for_status(WAIT_LIMIT, knows)?;
    ring.segment.rules().set(|rules| {
        rules.blocked.insert((0, 2));
    });
    let words = format!("other members report that {mac} holds the token");
    partly.expect_report("owner_unheard", &words)?;
    partly
        .daemon
        .wait_for_status(WAIT_LIMIT, |status| has_trouble(status, &words))?;
    // During this time no other member owns the token.
    let status = owner.status()?;
    ensure!(status["state"] == "OWNER", "{status:#}");
    undo_faults(&ring);
    partly.expect_report(
        "owner_heard",
        &format!("the trouble with {mac} is over: this node hears it again"),
    )?;
    work.unlock()?;
    check_locks(partly.daemon)
}

/// Drops broadcasts at the bridge's port to a node.
fn lose_broadcasts_to(ring: &Ring, place: usize) -> Result<()> {
    // The filter compares only the first two bytes with the first two bytes of the broadcast address.
    drop_towards(
        ring,
        place,
        "4,40 0 0 0,21 0 1 65535,6 0 0 2,6 0 0 4294967295,",
    )
}

/// Drops all frames from one node to another.
fn lose_all_from(ring: &Ring, from: usize, to: usize) -> Result<()> {
    let [.., fifth, last] = ring.segment.node(from).mac().octets();
    let ending = u16::from_be_bytes([fifth, last]);
    let filter = format!("4,40 0 0 10,21 0 1 {ending},6 0 0 2,6 0 0 4294967295,");
    drop_towards(ring, to, &filter)
}

fn drop_towards(ring: &Ring, place: usize, filter: &str) -> Result<()> {
    let port = format!("p{place}");
    hub_tc(ring, &["qdisc", "add", "dev", &port, "clsact"])?;
    let rule = [
        "filter",
        "add",
        "dev",
        &port,
        "egress",
        "bpf",
        "direct-action",
        "bytecode",
        filter,
    ];
    hub_tc(ring, &rule)
}

fn forward_towards(ring: &Ring, place: usize) -> Result<()> {
    let port = format!("p{place}");
    hub_tc(ring, &["qdisc", "del", "dev", &port, "clsact"])
}

fn hub_tc(ring: &Ring, arguments: &[&str]) -> Result<()> {
    let mut tc = Command::new("tc");
    let ended = ring.segment.hub().spawn(tc.args(arguments))?.wait()?;
    ensure!(ended.success(), "tc {arguments:?}: {ended}");
    Ok(())
}

/// A program on one node locks, works and unlocks repeatedly, while other nodes want the lock. Returns the number of
/// times that the program got the lock.
fn count_locks_against_others(ring: &Ring, place: usize) -> Result<usize> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut client = Client::connect(&ring.daemons[place].control())?;
        let over = &over;
        let program = scope.spawn(move || -> Result<usize> {
            let mut grants = 0;
            while !over.load(Ordering::Relaxed) {
                client.lock("again and again")?;
                client.expect("granted")?;
                grants += 1;
                thread::sleep(Duration::from_millis(10));
                client.unlock_or_lose()?;
            }
            Ok(grants)
        });
        let others = ring.daemons.iter().enumerate();
        let mut others = others
            .filter(|&(at, _)| at != place)
            .cycle()
            .take(3 * (ring.daemons.len() - 1));
        let served = others.try_for_each(|(at, daemon)| {
            let (done, text) = ringctl(daemon, &["run", "-w", "8", "--", "true"])?;
            ensure!(done, "node {at}: {text}");
            Ok(())
        });
        over.store(true, Ordering::Relaxed);
        let grants = program
            .join()
            .map_err(|_| anyhow::anyhow!("the thread panicked"))??;
        served.map(|()| grants)
    })
}

fn a_member_that_no_broadcast_reaches_does_not_starve_others_and_is_named() -> Result<()> {
    let ring = form(4)?;
    lose_broadcasts_to(&ring, 2)?;
    let grants = count_locks_against_others(&ring, 2)?;
    ensure!(grants > 2, "the node had the lock {grants} times");
    let mut own = Watcher::of(&ring.daemons[2])?;
    let mut others = Watcher::of_all(&ring.daemons[..2])?;
    others.push(Watcher::of(&ring.daemons[3])?);
    let words = "this node receives frames that are addressed to it, but no broadcasts";
    own.expect_trouble("broadcasts_unheard", words)?;
    let mac = own.daemon.node().mac();
    let words = format!("member {mac} reports that it receives frames that are addressed to it");
    for other in &mut others {
        other.expect_trouble("member_unreached", &words)?;
    }
    forward_towards(&ring, 2)?;
    own.expect_report("broadcasts_heard", "broadcasts reach this node again")?;
    for other in &mut others {
        let words = format!("the trouble with member {mac} is over: broadcasts reach it again");
        other.expect_report("member_reached", &words)?;
        other
            .daemon
            .wait_for_status(WAIT_LIMIT, |status| !has_trouble(status, "reach"))?;
    }
    Ok(())
}

fn members_ask_a_holder_that_gets_no_broadcasts_with_a_unicast_for_its_resting_token() -> Result<()>
{
    let segment = Layout::new(3).bridge()?;
    let ring = Ring::start(
        segment,
        3,
        stall_tolerant_timing().idle_hold(LONG_IDLE_HOLD),
        binaries(),
    )?;
    ring.wait_until_formed()?;
    check_locks(&ring.daemons[2])?;
    lose_broadcasts_to(&ring, 2)?;
    for daemon in [&ring.daemons[0], &ring.daemons[2], &ring.daemons[1]] {
        check_ringctl(daemon, &["run", "-w", "8", "--", "true"])?;
    }
    Ok(())
}

/// The holder hears all members except one, so it does not hear the requests of this one member.
fn a_holder_that_does_not_hear_one_member_does_not_starve_it() -> Result<()> {
    let ring = form(4)?;
    lose_all_from(&ring, 0, 2)?;
    let grants = count_locks_against_others(&ring, 2)?;
    ensure!(grants > 2, "the node had the lock {grants} times");
    Ok(())
}
