//! Rings on a segment that loses, duplicates and delays frames, and carries garbage.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::invariants::{check_one_owner, tenures};
use ring_segment::{
    ETHERTYPE, Layout, MacAddr, Peer, Ring, Rng, Rules, Seen, Test, Timing, WAIT_LIMIT, binaries,
    frame, now, proc, tests,
};

const HEARTBEAT: Duration = Duration::from_millis(100);
const FAULT_TIME: Duration = Duration::from_secs(5);

/// The maximum size of the two buffers for a recording, in KiB.
const RECORDING_KIB: u64 = 3 * 1024;

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_ring_survives_the_loss_of_one_frame_in_a_hundred,
        a_ring_survives_the_loss_of_three_frames_in_ten,
        a_ring_survives_a_network_that_duplicates_every_frame,
        a_ring_survives_lost_duplicated_and_reordered_frames,
        garbage_at_full_speed_does_not_stop_a_ring,
    ]
}

fn timing() -> Timing {
    Timing::tolerant(HEARTBEAT)
}

/// Checks that a ring stays safe during a fault, continues if it can, and recovers after the fault.
fn check_survives(seed: u64, least_turns: usize, trouble: impl FnOnce(&mut Rules)) -> Result<()> {
    let segment = Layout::new(4).addresses().switch(seed)?;
    let ring = Ring::start(segment, 4, timing(), binaries())?;
    ring.wait_until_formed()?;
    let mut harmless = None;
    ring.segment.rules().set(|rules| {
        harmless = Some(rules.clone());
        trouble(rules);
    });
    let mark = ring.segment.capture().mark();
    thread::sleep(FAULT_TIME);
    // The token must move during the fault, but it may move slowly on a busy machine.
    let enough = |frames: &[Seen]| (tenures(&frames[mark..]).len() >= least_turns).then_some(());
    let goes_on = ring.segment.capture().wait_until(WAIT_LIMIT, enough);
    let harmless = harmless.context("the fault was set")?;
    ring.segment.rules().set(|rules| *rules = harmless);
    let end = now();
    goes_on.with_context(|| format!("fewer than {least_turns} tenures during the fault"))?;
    ring.wait_for_one_owner(end)?;
    ring.wait_for_equal_tables()?;
    ring.check()
}

fn a_ring_survives_the_loss_of_one_frame_in_a_hundred() -> Result<()> {
    check_survives(1, 50, |rules| rules.loss = 0.01)
}

fn a_ring_survives_the_loss_of_three_frames_in_ten() -> Result<()> {
    check_survives(3, 5, |rules| rules.loss = 0.3)
}

fn a_ring_survives_a_network_that_duplicates_every_frame() -> Result<()> {
    check_survives(4, 50, |rules| rules.duplication = 1.0)
}

fn a_ring_survives_lost_duplicated_and_reordered_frames() -> Result<()> {
    check_survives(5, 5, |rules| {
        rules.loss = 0.1;
        rules.duplication = 0.2;
        rules.delay = Duration::ZERO..HEARTBEAT / 4;
    })
}

fn garbage_at_full_speed_does_not_stop_a_ring() -> Result<()> {
    let segment = Layout::new(4).addresses().bridge()?;
    let ring = Ring::start(segment, 3, timing(), binaries())?;
    ring.wait_until_formed()?;
    let before = ring
        .daemons
        .iter()
        .map(|daemon| proc::resident_kib(daemon.pid()))
        .collect::<Result<Vec<_>>>()?;
    ring.segment.capture().ignore(3)?;
    let (peer, over) = (ring.segment.node(3).peer()?, AtomicBool::new(false));
    let (goes_on, sent) = thread::scope(|scope| {
        let storm = scope.spawn(|| send_invalid_frames(&peer, &ring.macs(), &over));
        let mark = ring.segment.capture().mark();
        thread::sleep(FAULT_TIME);
        let enough = |frames: &[Seen]| (tenures(&frames[mark..]).len() > 20).then_some(());
        let goes_on = ring.segment.capture().wait_until(WAIT_LIMIT, enough);
        over.store(true, Ordering::Relaxed);
        (goes_on, storm.join())
    });
    let sent = sent
        .ok()
        .context("the thread that floods the segment panicked")??;
    ensure!(sent > 10_000, "only {sent} frames were sent");
    goes_on.context("the token does not move during the flood")?;
    let settled = ring.wait_for_one_owner(now())?;
    check_one_owner(&ring.segment.capture().frames(), settled)?;
    for (daemon, before) in ring.daemons.iter().zip(before) {
        let dropped = &daemon.status()?["counters"]["dropped"];
        let count = |reason: &str| dropped[reason].as_u64().unwrap_or(0);
        ensure!(
            count("truncated") > 0 && count("unknown_kind") > 0,
            "{dropped:#}"
        );
        let after = proc::resident_kib(daemon.pid())?;
        // During the flood, the daemon fills the buffers of its recording.
        ensure!(
            after < before + RECORDING_KIB + 2048,
            "resident memory grew from {before} to {after} KiB"
        );
    }
    ring.check()
}

/// Until `over` is set, broadcasts frames that are almost valid, and also sends them to each single node. No node may
/// act on these frames. Returns the number of frames.
fn send_invalid_frames(peer: &Peer, victims: &[MacAddr], over: &AtomicBool) -> Result<u64> {
    let mut rng = Rng::with_seed(6);
    let mut sent = 0;
    while !over.load(Ordering::Relaxed) {
        let dst = *rng
            .choice(victims)
            .filter(|_| rng.bool())
            .unwrap_or(&MacAddr::broadcast());
        let mut payload: Vec<u8> = (0..rng.usize(..120)).map(|_| rng.u8(..)).collect();
        match payload.as_mut_slice() {
            [_, reserved, rest @ ..] if rng.bool() => {
                *reserved = 0;
                let author = peer.mac().octets();
                let length = author.len().min(rest.len());
                rest[..length].copy_from_slice(&author[..length]);
                // The kind of the message is the only error.
                payload[0] |= 0x10;
            }
            [_, reserved, ..] => *reserved |= 1,
            _ => {}
        }
        peer.send_frame(&frame(dst, peer.mac(), ETHERTYPE, &payload))?;
        sent += 1;
    }
    Ok(sent)
}
