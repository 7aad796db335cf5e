//! A flood of forged frames.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Result, ensure};
use ring_segment::{
    Daemon, KeyFiles, Layout, MacAddr, Peer, Test, binaries, forged_signature, tests,
};
use serde_json::json;

use super::wait_for_key;
use crate::locks::{Client, timing};

const MEMBERS: usize = 2;
/// The number of locks that the programs take during the flood.
const ROUNDS: usize = 5;

pub(super) fn tests() -> Vec<Test> {
    tests![exclusive locks_are_kept_and_granted_during_a_flood_of_forged_frames]
}

/// Sends frames with wrong signatures from many addresses, as fast as one core permits. Returns their number.
fn flood(attacker: &Peer, is_over: &AtomicBool) -> u64 {
    let mut sent: u64 = 0;
    while !is_over.load(Ordering::Relaxed) {
        let [.., a, b, c] = sent.to_be_bytes();
        let source = MacAddr::new(2, 0, 1, a, b, c);
        let kinds = [5_u8, 8, 9];
        let kind = kinds[usize::from(c) % kinds.len()];
        let payload = [&[kind, 0][..], &source.octets()].concat();
        let mut frame = ring_segment::frame(
            MacAddr::broadcast(),
            source,
            ring_segment::ETHERTYPE,
            &payload,
        );
        frame.extend(forged_signature(1));
        // A full queue refuses a frame.
        if attacker.send_frame(&frame).is_ok() {
            sent += 1;
        }
    }
    sent
}

fn take_token(daemon: &Daemon) -> Result<()> {
    let mut client = Client::connect(&daemon.control())?;
    client.lock("during the flood")?;
    client.expect("granted")?;
    client.unlock()
}

fn locks_are_kept_and_granted_during_a_flood_of_forged_frames() -> Result<()> {
    let segment = Layout::new(MEMBERS + 1)
        .addresses()
        .without_capture()
        .bridge()?;
    segment.hub().ip(&format!(
        "link set p{MEMBERS} type bridge_slave learning off\n"
    ))?;
    let files = KeyFiles::with_keys("ring", &[1])?;
    let timing = timing();
    let daemons: Result<Vec<Daemon>> = (0..MEMBERS)
        .map(|at| {
            let ringd = segment.node(at).ringd(binaries()).timing(&timing);
            files.add_to(ringd).option("--ring-size", "2").spawn()
        })
        .collect();
    let daemons = daemons?;
    for daemon in &daemons {
        wait_for_key(daemon, 1)?;
    }
    let mut holder = Client::connect(&daemons[0].control())?;
    holder.send(&json!({"request": "named_lock", "name": "held", "require": "quorum"}))?;
    holder.expect("granted")?;
    let attacker = segment.node(MEMBERS).peer()?;
    let is_over = AtomicBool::new(false);
    let sent = thread::scope(|scope| {
        let flood = scope.spawn(|| flood(&attacker, &is_over));
        let taken = (0..ROUNDS).try_for_each(|_| daemons.iter().try_for_each(take_token));
        is_over.store(true, Ordering::Relaxed);
        let sent = flood.join().expect("the thread does not panic");
        taken?;
        Ok::<u64, anyhow::Error>(sent)
    })?;
    holder.unlock()?;
    let status = daemons[0].status()?;
    let wrong = status["counters"]["unproven"]["wrong_mac"].as_u64();
    ensure!(
        wrong.is_some_and(|wrong| wrong > 0),
        "{sent} frames, but {wrong:?} arrived"
    );
    ensure!(status["quorum"]["present"] == 2, "{status:#}");
    Ok(())
}
